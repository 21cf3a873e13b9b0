#!/usr/bin/env bats
# Records in our hash that others have damaged: every script answers, whichever meets the damage first, and leaves no key
# behind for ever.

load ../lib/helpers
load ../lib/scripts

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# Puts back what keep_state has copied, and writes a field. ARGV: field, number of the column, or 0 for all of it, value,
# how many columns there are.
damage='
for i = 1, 6 do
	redis.call("DEL", KEYS[i])
	redis.call("COPY", KEYS[i + 6], KEYS[i])
end
local field, number, value, most = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local rest, words = redis.call("HGET", KEYS[4], field), {}
if number > 0 then
	while #words < most - 1 and string.find(rest, " ", 1, true) do
		words[#words + 1], rest = string.match(rest, "^([^ ]*) (.*)$")
	end
	words[#words + 1] = rest
	words[number] = value
	value = table.concat(words, " ")
elseif number < 0 then
	redis.call("HDEL", KEYS[4], field)
	return "damaged"
end
redis.call("HSET", KEYS[4], field, value)
return "damaged"'

# Whether all keys have times to live that anybody can have asked for: three years are more. A queue has none while there is
# somebody in it who is none of ours.
lasting='
local is_ours = true
for _, id in ipairs(redis.call("LRANGE", KEYS[2], 0, -1)) do
	local state, ticket, seen = string.match(redis.call("HGET", KEYS[4], "w:" .. id) or "",
		"^(%l+) (%d+) (%d+) [%d-]%d* %S+ %l [%d-]%d* %S+ ")
	is_ours = is_ours and (state == "waits" or state == "new") and #ticket < 17 and #seen < 17
end
KEYS[6] = "fairlock_holders:" .. string.match(KEYS[5], "^fairlock_log:(.*)$")
for i, key in ipairs(KEYS) do
	local ttl = redis.call("PTTL", key)
	if ttl > 3 * 365 * 86400000 or ttl == -1 and (is_ours or i ~= 2 and i ~= 3) then
		return "a key would stay for ever: " .. key
	end
end
return "none lasts"'

odd_values=(x '' - -1 0 1.5 1e3 nan inf 1e300 9007199254740991 9007199254740992 12345678901234567890 99999999999999999999999999999999 '\xff\x00\n\t' ',' '%d')

# Each may be the first to meet the damage.
first_calls=('acquire anna' 'acquire anna again=1' 'acquire anna period=60000' 'acquire ben again=1' 'asks ben' 'asks ben handed=1'
	'acquire zoe' 'acquire zoe mode=try' 'acquire zoe limit=1' 'acquire zoe period=60000' 'acquire zoe again=1 strays=1'
	'acquire inner inherited=anna' 'acquire req inherited=anna' 'renew anna' 'renew anna kind= lease=' 'renew anna holder_token=1'
	'renew anna request=req' 'release anna' 'release anna min=60000' 'release anna mode=any request=other' 'release anna request=req'
	'release anna mode=unused' 'release x mode=force request=req' 'release x mode=force request=other'
	'release anna again=1' 'leave ben' 'leave anna' 'leave cleo strays=1' 'remove ben request=req' 'remove ben' 'status' 'queue'
	'view ben' 'log')
# All of them deal with what the first has left.
later_calls=('acquire zoe' 'asks ben handed=1' 'renew anna' 'release anna' 'renew anna' 'asks cleo handed=1' 'release ben'
	'release cleo' 'acquire zoe mode=try' 'acquire yuri' 'release zoe' 'release yuri' 'leave ben' 'leave cleo' 'leave zoe'
	'release x mode=force request=last' 'acquire xaver' 'release xaver')

# as_lines CALL...: each call as a line for redis-cli
as_lines() (
	script() { script_line "$@"; }
	asks() { acquire "$1" "old_ticket=${ticket[$1]}" "${@:2}"; }
	status() { script status; }
	queue() { script queue; }
	view() { script view "$1" ''; }
	log() { script log '' '' 1; }
	for call; do
		reply=(none)
		$call
	done
)

# keep_state: what the keys hold is where each damage begins
keep_state() {
	local key kept=1

	sha_damage=$(cli SCRIPT LOAD "$damage")
	sha_lasting=$(cli SCRIPT LOAD "$lasting")
	keys="job $(key_queue) $(key_timeouts) $(key_state) $(key_log) $(key_holders)"
	saved=''
	for key in $keys; do
		cli COPY "$key" "{job}kept$kept" >/dev/null
		saved+=" {job}kept$((kept++))"
	done
	as_lines "${first_calls[@]}" >first
	as_lines "${later_calls[@]}" >later
}

# damages FIELD...: one line for each damage: the field, the number of the column, how many columns there are, the value. A
# number of -1 deletes the field.
damages() {
	local field record columns value number

	for field; do
		record=$(field "$field")
		[ -n "$record" ] || fail "there is no record $field"
		read -ra columns <<<"${columns_of[${field%%:*}]-}"
		for value in "${odd_values[@]}"; do
			for ((number = 0; number <= ${#columns[@]}; number++)); do
				echo "$field $number ${#columns[@]} $value"
			done
		done
		# the record is cut behind each column
		while [[ $record = *' '* ]]; do
			record=${record% *}
			echo "$field 0 0 $record"
		done
		echo "$field -1 0 "
	done
}

# bears_damage FIELD...: all scripts bear any damage of these records, and count on with no number that is not exact
bears_damage() {
	damages "$@" | awk -v damage="EVALSHA $sha_damage 12 $keys $saved" -v check="EVALSHA $sha_lasting 6 $keys" '
		FILENAME != "-" && FILENAME != "" {
			if (FILENAME ~ /first$/)
				first[++firsts] = $0
			else
				later = later $0 "\n"
			next
		}
		{
			match($0, /^[^ ]+ [^ ]+ [^ ]+ /)
			value = substr($0, RLENGTH + 1)
			line = damage " \"" $1 "\" " $2 " \"" value "\" " $3
			for (i = 1; i <= firsts; i++)
				print "ECHO \"damage " FNR ", call " i "\"\n" line "\n" first[i] "\n" check
			print "ECHO \"damage " FNR ", all calls\"\n" line "\n" later check
		}' first later - >lines
	cli <lines >answers
	[ "$(grep -c '^damaged$' answers)" -ge 100 ] || fail 'nothing was damaged'
	run awk '/^damage [0-9]+, / { damage = $0 }
		/^(ERR|WRONGTYPE|NOPERM|NOSCRIPT|a key would stay)/ ||
			/^[0-9]+$/ && length() > 16 && !/^(12345678901234567890|9+)$/ { print damage ": " $0 }' answers
	[ -z "$output" ] || damages "$@" | cat -n
	assert_output ''
	assert_equal "$(grep -c '^none lasts$' answers)" "$(grep -c '^damaged$' answers)"
}

@test "the scripts bear damaged records of a lock that is held and waited for" {
	acquire anna
	acquire req inherited=anna
	acquire inner inherited=anna kind=a
	queue_up ben
	present cleo
	acquire cleo handed=1
	release anna request=req
	keep_state
	bears_damage h:anna w:ben w:cleo r:req run started ours holder token ticket n:granted name v
}

@test "the scripts bear damaged records of a lock that can be handed over" {
	acquire anna
	present ben cleo
	acquire ben handed=1
	acquire cleo handed=1
	keep_state
	bears_damage h:anna w:ben w:cleo run started ours holder token ticket n:granted
}

@test "the scripts bear damaged records of a lock that only one holds" {
	acquire anna
	keep_state
	bears_damage h:anna run started ours holder token n:granted name v
}

@test "the scripts bear damaged records of a lock that nobody uses" {
	acquire anna
	release anna
	acquire anna lease=60000
	release x mode=force request=req
	cli HSET "$(key_state)" turn "zoe $(now_ms)" back 1 tended "$(now_ms) 1 1 1" >/dev/null
	keep_state
	bears_damage h:anna r:req run turn started tended back ours token n:granted name v n:forced
}

@test "the scripts bear damaged records of a lock that is kept" {
	acquire anna
	queue_up ben cleo
	release anna min=60000
	keep_state
	bears_damage h:anna
}

@test "the scripts bear damaged records of a lock whose first waiter has its turn" {
	acquire anna
	queue_up ben cleo
	release x mode=force request=req
	told ben 0
	keep_state
	bears_damage turn w:ben r:req h:anna started
}

@test "the scripts bear damaged records of a lock that an older server process left" {
	acquire anna
	queue_up ben cleo
	absent ben
	release anna
	change run id=0123456789012345678901234567890123456789
	cli HSET "$(key_state)" back "$(now_ms)" tended "1 1 1 1" head "1 1 r1 r2" theirs 'r1 1 1 1' >/dev/null
	keep_state
	bears_damage run back w:ben tended head theirs
}

several_hold() {
	odd_values=(x s "=a" "${odd_values[@]}")
	first_calls=('acquire zoe want=s' 'acquire zoe want=#2' 'acquire inner inherited=anna want==a' 'renew anna hold_mode==a'
		'release x mode=force only==a request=other' "${first_calls[@]}")
}

@test "the scripts bear damaged records of a lock that two slots' owners hold" {
	several_hold
	acquire anna want='=a,b'
	acquire req inherited=anna want='=a'
	acquire zara want='#1'
	present ben cleo
	acquire ben want='#1'
	acquire cleo handed=1 want='=a'
	release anna request=req
	keep_state
	bears_damage h:anna w:ben s:a run holder
}

@test "the scripts bear damaged records of a lock that is shared, with a writer first in the queue" {
	several_hold
	acquire anna want=s
	acquire zara want=s
	queue_up ben
	present cleo
	acquire cleo handed=1 want=s
	keep_state
	bears_damage h:anna w:cleo holder
}

@test "the scripts bear a damaged sorted set of holders" {
	local score

	several_hold
	for score in 1.5 1e30 inf -inf none; do
		cli FLUSHALL >/dev/null
		acquire anna want='=a,b'
		acquire zara want='=a,b'
		acquire ben want='=a,b'
		if [ "$score" = none ]; then
			cli DEL "$(key_holders)" >/dev/null
		else
			cli ZADD "$(key_holders)" "$score" anna "$(now_ms)" nobody >/dev/null
		fi
		keep_state
		bears_damage s:a
	done
}

@test "a turn that makes no sense is not that of a waiter with an empty id" {
	local lock=job

	cli ZADD "$(key_timeouts)" 1e300 '' >/dev/null
	cli HSET "$(key_state)" turn nonsense >/dev/null
	acquire anna
	answered granted
	queue_is
}
