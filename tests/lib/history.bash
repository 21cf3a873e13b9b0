# The log of the lock "job", real or made up, for the tests of `fairlock log`: `load helpers`, then
# `load history`.

key='fairlock_log:{job}'
base=1795230000 # Nov 21 03:00:00 2026

ann=$'db1\t100\tann\tbackup.sh'
bob=$'web2\t200\tbob\t/usr/bin/report --monthly'
cleo=$'build1\t300\tcleo\tdeploy.sh production'

setup_file() { start_server; }

setup() {
	cli FLUSHALL >/dev/null
	export TZ=UTC LC_ALL=C.UTF-8
	unset COLUMNS NO_COLOR
}

# events .FILTER: prints this part of the log as JSON
events() { "$FAIRLOCK" log --json job | jq -c ".log$1"; }

# entries: adds the entries of the standard input to the log in one go. Each is a line
#   SECONDS EVENT TOKEN BY WAITED HELD
# SECONDS after 03:00. BY is the name of a variable, durations are in seconds, - stands for nothing.
entries() {
	local at event token by waited held count=0

	while read -r at event token by waited held; do
		count=$((count + 1))
		printf 'XADD %s %s-%s event %s time %s owner aa:1 token "%s" by "%s" waited "%s" held "%s"\n' \
			"$key" "$((base + at))000" "$count" "$event" "$((base + at))000" "${token#-}" \
			"$([ "$by" = - ] || sed 's/\t/\\t/g' <<<"${!by}")" \
			"$([ "$waited" = - ] || echo "${waited}000")" "$([ "$held" = - ] || echo "${held}000")"
	done | cli >"$BATS_TEST_TMPDIR/added"
	! grep -E '^(ERR|\(error)' "$BATS_TEST_TMPDIR/added"
}

# at SECONDS EVENT [TOKEN [BY [WAITED [HELD]]]]: adds one entry
at() { echo "$1" "$2" "${3:--}" "${4:--}" "${5:--}" "${6:--}" | entries; }

# ago SECONDS EVENT [WRITTEN]: adds an event that happened SECONDS ago and was written WRITTEN
# seconds ago, by default when it happened
ago() {
	local now

	now=$(now_ms)
	cli XADD "$key" "$((now - ${3-$1} * 1000))-*" event "$2" time $((now - $1 * 1000)) owner aa:1 \
		token '' by '' waited '' held '' >/dev/null
}
