# What the tests of `fairlock log` share: `load helpers`, then `load history`. The lock is "job".

key='fairlock_log:{job}'
base=1795230000 # Nov 21 03:00:00 2026

ann=$'db1\t100\tann\tbackup.sh'
bob=$'web2\t200\tbob\t/usr/bin/report --monthly'
cleo=$'build1\t300\tcleo\tdeploy.sh production'

setup() {
	cli FLUSHALL >/dev/null
	export TZ=UTC LC_ALL=C.UTF-8
	unset COLUMNS NO_COLOR
}

# The server's time
now_ms() {
	cli TIME | paste -sd ' ' | awk '{ printf "%.0f\n", $1 * 1000 + int($2 / 1000) }'
}

# entries: adds those that stand in the standard input, one a line, to the log, in one go:
#   SECONDS EVENT TOKEN BY WAITED HELD
# so long after 03:00; BY is the name of a variable, durations are in seconds, and - is nothing.
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

# at SECONDS EVENT [TOKEN [BY [WAITED [HELD]]]]: one entry
at() {
	echo "$1" "$2" "${3:--}" "${4:--}" "${5:--}" "${6:--}" | entries
}
