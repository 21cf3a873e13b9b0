# Histories for the checker of the torture test, made by hand, and its verdict: `load helpers`, then
# `load checker`. The only lock is x, but for jobs with another "lock" and `say` with LOCK.

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	at=1000000000
	touch events history
}

# later MS [COMMAND...]: lets time pass, and then COMMAND happens
later() {
	at=$((at + $1 * 1000000))
	"${@:2}"
}

# event WHAT FIELDS: an event of the driver, from now until LASTS ms later; FIELDS are those of a JSON object
event() { echo "{\"at\":$at,\"until\":$((at + ${LASTS:-0} * 1000000)),\"what\":\"$1\",$2}" >>events; }

# job NAME [FIELDS]: a wrap begins
job() {
	event job "\"job\":\"$1\",\"kind\":\"wrap\",\"lock\":\"x\",\"lease\":3000,\"own\":0,\"wait\":null${2:+,$2}"
}

# shared_job NAME: a wrap --shared begins
shared_job() { job "$1" '"mode":"shared"'; }

# slot_job NAME [SLOTS [FIELDS]]: a wrap --slots begins; SLOTS are those of a JSON array
slot_job() { job "$1" "\"mode\":\"slots\",\"slots\":[${2:-\"1\",\"2\"}]${3:+,$3}"; }

# script_job KIND NAME: a script around acquire and release begins; KIND is script, or keeper if it
# has one
script_job() { event job "\"job\":\"$2\",\"kind\":\"$1\",\"lock\":\"x\",\"lease\":3000"; }

# script_status JOB COMMAND STATUS: a command of the script ends
script_status() {
	echo "{\"at\":$at,\"what\":\"status\",\"job\":\"$1\",\"command\":\"$2\",\"status\":$3}" >>history
}

# ends JOB STATUS
ends() { event exit "\"job\":\"$1\",\"status\":$2"; }

# finish JOB TOKEN [HOW]: its section ends, and then the job, with 0
finish() {
	say end "$@"
	ends "$1" 0
}

# fault HOW JOB ROLE [PID]: the driver harms a process of the job
fault() { event fault "\"fault\":\"$1\",\"job\":\"$2\",\"role\":\"$3\",\"pid\":${4:-7}"; }

# outage KIND FROM UNTIL [WAY]: from FROM to UNTIL, in ms from now, the server or this way to it is
# away
outage() {
	echo "{\"at\":$((at + $2 * 1000000)),\"until\":$((at + $3 * 1000000)),\"what\":\"outage\",\"kind\":\"$1\",\"path\":\"${4:-server}\"}" >>events
}

# data_kept: the server is restarted with its data
data_kept() { event outage '"kind":"killed","path":"server","up":'$at; }

# data_lost: the server is restarted without its data
data_lost() { event outage '"kind":"killed","path":"server","lost":true,"up":'$at; }

# say WHAT JOB TOKEN [HOW [OWNER]]: a line that the job's section writes into the history. HOW the job has the
# lock: exclusive, shared, slots without having one, or the slot
say() {
	local mode=slots slot=${4:-exclusive}

	case $slot in exclusive | shared | slots) mode=$slot slot= ;; esac
	echo "{\"at\":$at,\"what\":\"$1\",\"lock\":\"${LOCK:-x}\",\"token\":$3,\"job\":\"$2\",\"pid\":7,\"owner\":\"${5:-$2}:7\",\"mode\":\"$mode\",\"slot\":\"$slot\"}" >>history
}

# section JOB TOKEN [HOW]: a section of 100 ms, and the end of the job
section() {
	say start "$@"
	later 50 say beat "$@"
	later 50 finish "$@"
}

# seen HOLDERS WAITER...: a look at the lock; HOLDERS are joined by commas; a waiter with a minus is not present
seen() {
	local queue='' waiter holders=${1:+\"${1//,/:7\",\"}:7\"}
	shift

	for waiter; do
		queue+="${queue:+,}[\"${waiter#-}:7\",$([[ $waiter = -* ]]; echo $?)]"
		grep -q "\"owner\":\"${waiter#-}:7\"" events || event waiter "\"owner\":\"${waiter#-}:7\",\"job\":\"${waiter#-}\""
	done
	event seen "\"lock\":\"x\",\"holders\":[$holders],\"queue\":[$queue],\"ttl\":0,\"queue_ttl\":0,\"agree\":${AGREE:-true},\"sound\":${SOUND:-true}"
}

check() { run python3 -B "$TESTS_DIR/torture/check.py" .; }

# violated TEXT: the checker reports one violation, with this text
violated() {
	check
	assert_failure 1
	assert_line --partial "$1"
	assert_output --partial ' 1 violations, '
}

# fine: the checker reports no violation
fine() {
	check
	assert_success
}
