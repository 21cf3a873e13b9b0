#!/usr/bin/env bats
# fairlock doctor: how it prints settings and findings.

load ../lib/helpers
load ../lib/doctor

# ---- Settings ----

# setting NAME FIELD: prints this field of a setting in $output
setting() {
	jq -r --arg name "$1" ".settings[] | select(.name == \$name) | .$2" <<<"$output"
}

@test "doctor prints each setting with its source" {
	start_well
	cli ACL SETUSER default on '>SECRET'
	printf '%s\n' '# ours' "url = unix:$SERVER_SOCKET" 'password = SECRET' 'lease = 1m' 'wait = 7' 'lease = 2m' \
		>"$HOME/.config/fairlock.conf"
	unset FAIRLOCK_URL
	export FAIRLOCK_WAIT=8s FAIRLOCK_SIGNAL=int
	doctor 0 --replicas 0
	assert_equal "$(setting url where)" "$HOME/.config/fairlock.conf:2"
	assert_equal "$(setting lease where)" "$HOME/.config/fairlock.conf:6"
	assert_equal "$(setting lease value)" 2m
	assert_equal "$(setting wait where)" FAIRLOCK_WAIT
	assert_equal "$(setting wait value)" 8s
	assert_equal "$(setting signal value)" int
	assert_equal "$(setting replicas where)" --replicas
	assert_equal "$(setting replicas source)" flag
	assert_equal "$(setting connect-timeout source)" default
	assert_equal "$(setting connect-timeout where)" null
	assert_equal "$(setting password where)" "$HOME/.config/fairlock.conf:3"
	assert_equal "$(setting password value)" null
	[[ $output != *SECRET* ]]
	run -0 "$FAIRLOCK" doctor
	[[ $output != *SECRET* ]]
	assert_line --regexp "^  password +\(not shown\) +$HOME/.config/fairlock.conf:3$"
	refute_line --regexp '^  connect-timeout'
	run -0 --separate-stderr "$FAIRLOCK" doctor -v
	assert_line --regexp '^  connect-timeout +5s +default$'
}

@test "doctor prints the source of the password, whatever that is, and never the password" {
	start_well
	cli ACL SETUSER default on '>SECRET'
	tcp=$(free_port)
	cli -a SECRET --no-auth-warning CONFIG SET port "$tcp"
	url=redis://127.0.0.1:$tcp
	echo SECRET >"$HOME/secret"
	comes_from() {
		assert_equal "$(setting password source) $(setting password where)" "$1"
		[[ $output$stderr != *SECRET* ]]
	}

	doctor 0 -u "redis://:SECRET@127.0.0.1:$tcp"
	comes_from 'url --url'
	assert_equal "$(setting url value)" "$url"
	FAIRLOCK_URL=redis://:SECRET@127.0.0.1:$tcp doctor 0
	comes_from 'url FAIRLOCK_URL'
	FAIRLOCK_PASSWORD=SECRET FAIRLOCK_URL=$url doctor 0
	comes_from 'environment FAIRLOCK_PASSWORD'
	REDISCLI_AUTH=SECRET FAIRLOCK_URL=$url doctor 0
	comes_from 'environment REDISCLI_AUTH'
	FAIRLOCK_PASSWORD_FILE=$HOME/secret FAIRLOCK_URL=$url doctor 0
	comes_from 'environment FAIRLOCK_PASSWORD_FILE'
	FAIRLOCK_PASSWORD=wrong doctor 0 -u "$url" --password-file "$HOME/secret"
	comes_from 'flag --password-file'
	doctor 77 -u "$url"
	comes_from 'default null'
}

# ---- Findings ----

@test "doctor prints the worst finding first, and no line wider than the terminal" {
	start_server --maxmemory 100mb --maxmemory-policy allkeys-lru
	for columns in 60 80 100; do
		COLUMNS=$columns run -2 "$FAIRLOCK" doctor
		assert_output --regexp $'Findings\n  error +memory'
		for line in "${lines[@]}"; do
			[ "${#line}" -le "$columns" ] || [[ $line = '  url'* || $line = '  address'* ]] ||
				fail "wider than $columns: $line"
		done
	done
	assert_line '1 error, 1 warning, 1 note, 5 ok'
	[[ $output != *$'\033'* ]]
}

@test "doctor --quiet prints only warnings and errors, and nothing if there are none" {
	start_well
	run -0 "$FAIRLOCK" doctor -q
	assert_output ''
	cli CONFIG SET maxmemory 100mb maxmemory-policy allkeys-lru
	run -2 "$FAIRLOCK" doctor -q
	assert_line --index 0 --regexp '^  error +memory'
	refute_output --partial ' ok '
}

@test "doctor prints remedies that a shell can run, whatever the lock's name is" {
	start_well
	for name in "a'b" 'a; touch oops; $(touch oops)' -n '{x}'; do
		key=$name
		[[ $name = *{* ]] || key="{$name}"
		cli HSET "fairlock:$key" name "$name" v 1
		cli HSET "$name" owner:1 1
		doctor 1
		remedy=$(jq -r '.findings[] | select(.check == "leases") | .remedy' <<<"$output")
		[[ $remedy = 'fairlock release --force '* ]]
		(cd "$BATS_TEST_TMPDIR" && sh -c "${remedy/fairlock/\"$FAIRLOCK\"}")
		[ ! -e "$BATS_TEST_TMPDIR/oops" ]
		doctor 0
		cli DEL "fairlock:$key"
	done
}
