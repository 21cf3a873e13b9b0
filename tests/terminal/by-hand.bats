#!/usr/bin/env bats
# acquire by hand on a terminal: what it tells the person there, and what the waiting line tells others.
load ../lib/helpers
load ../lib/one_server
load ../lib/screens

setup() {
	begin
	find_view
}

# commands: prints the commands that acquire has told, each on one line
commands() { screen | sed -n 's/^    \(fairlock .*\)/\1/p'; }

# run_told VERB [WORDS]: runs the command for this verb that acquire has told, and WORDS behind it, with a shell
run_told() {
	ln -sf "$FAIRLOCK" fairlock
	PATH=$PWD:$PATH bash -c "$(commands | grep "^fairlock $1 ") ${2-}"
}

acquires() {
	terminal "${WIDTH-200}"
	type_line "clear; $*"
	wait_until shows '^    fairlock renew '
}

@test "acquire on a terminal tells until when the lock is held, and commands that renew it and give it back" {
	acquires '"$FAIRLOCK" acquire -l 2h job'
	wait_until shows '^fairlock: lock job is held by hand until ([A-Z][a-z]{2} .. )?[0-9]{2}:[0-9]{2}; give it back, or renew it:$'
	cli PEXPIRE job 60000 >/dev/null
	run_told renew
	[ "$(cli PTTL job)" -gt 3600000 ]
	run_told release
	is_free job
}

@test "the commands that acquire tells on a terminal work for names with blanks, quotes and dashes" {
	local name

	for name in "it's \"a\" \$job; {x}" '-n' $'\xc3\xa9t\xc3\xa9'; do
		export NAME=$name
		acquires '"$FAIRLOCK" acquire -l 2h -- "$NAME"'
		run_told renew
		run_told release
		is_free "$name"
		on_terminal kill-server
	done
}

@test "the commands that acquire tells on a terminal name the server of --url, without its password, and the file of --config" {
	cli CONFIG SET requirepass SECRET >/dev/null
	touch 'my conf'
	acquires 'env -u FAIRLOCK_URL "$FAIRLOCK" acquire --config "my conf" --url "unix:$SERVER_SOCKET" --password-file <(echo SECRET) job'
	screen | grep -qF -- "--config 'my conf' job"
	unset FAIRLOCK_URL
	run_told release "--password-file <(echo SECRET)"
	[ "$("$CLI" -s "$SERVER_SOCKET" -a SECRET EXISTS job 2>/dev/null)" = 0 ]
	commands >told
	refute grep -q SECRET told
	"$CLI" -s "$SERVER_SOCKET" -a SECRET CONFIG SET requirepass '' 2>/dev/null
}

@test "the commands that acquire tells on a terminal name the files of --tls-..., and --tls-insecure" {
	load ../lib/tls
	make_certificates
	cp "$TLS_DIR/client.crt" 'my client.crt'
	start_tls_server expired --tls-auth-clients yes
	export URL=rediss://localhost:$TLS_PORT
	WIDTH=1000 acquires 'env -u FAIRLOCK_URL "$FAIRLOCK" acquire --tls-insecure --tls-cert "my client.crt" --tls-key "$TLS_DIR/client.key" -u "$URL" job'
	unset FAIRLOCK_URL
	mkdir elsewhere
	cd elsewhere
	run_told renew
	run_told release
	is_free job
}

@test "acquire tells nothing with --quiet, without a terminal, and with --while-pid" {
	terminal 200
	type_line 'clear; "$FAIRLOCK" acquire -q job; "$FAIRLOCK" acquire two 2>said; "$FAIRLOCK" acquire --while-pid $$ three; echo done'
	wait_until shows '^done$'
	shows_not '^fairlock: '
	shows_not 'release'
	[ ! -s said ]
}

@test "the owner id that a script reads from acquire is alone, also on a terminal" {
	terminal 200
	type_line 'clear; owner=$("$FAIRLOCK" acquire job); echo "<$owner>"; "$FAIRLOCK" release --owner "$owner" job; echo ended $?'
	wait_until shows '^<[0-9a-f-]{36}:[0-9]+>$'
	wait_until shows '^ended 0$'
}

@test "the waiting line says until when who holds the lock by hand, and why" {
	terminal 120
	"$FAIRLOCK" acquire -l 2h --reason 'postgres 17 upgrade' job
	wait_on_terminal
	wait_until shows "^fairlock: job: 1st of 1, waited .*; held by hand until ([A-Z][a-z]{2} .. )?[0-9]{2}:[0-9]{2}, $(id -un)@$(uname -n): postgres 17 upgrade"
	resize 60
	wait_until shows '; held by hand until '
	"$FAIRLOCK" release --force job
	wait_until shows '^got it$'
}

@test "on a terminal, release without an owner gives back the hold that this user took by hand, and says whose it was" {
	local owner

	owner=$("$FAIRLOCK" acquire -l 10s job)
	terminal 200
	type_line 'clear; "$FAIRLOCK" renew -l 2h job; echo renewed $?'
	wait_until shows '^renewed 0$'
	[ "$(cli PTTL job)" -gt 3600000 ]
	type_line 'clear; "$FAIRLOCK" release job </dev/null; echo ended $?'
	wait_until shows '^ended 64$'
	type_line 'clear; sh -c "\$FAIRLOCK release job; echo script ended \$?"'
	wait_until shows '^script ended 64$'
	type_line 'clear; "$FAIRLOCK" release job; echo ended $?'
	wait_until shows '^ended 0$'
	shows "^lock job was held by fairlock acquire \\(pid [0-9]+, $(id -un)@$(uname -n)\\) as $owner\$"
	is_free job
}

@test "on a terminal, release gives back no hold of another user, of a keeper or a wrap, and none of two" {
	local name

	LOGNAME=anna "$FAIRLOCK" acquire hers
	"$FAIRLOCK" acquire --while-pid $$ kept
	background "$FAIRLOCK" wrap run sleep 600
	wait_until "$FAIRLOCK" status -q run
	"$FAIRLOCK" acquire --slots 2 two
	"$FAIRLOCK" acquire --slots 2 two
	terminal 200
	for name in hers kept run two; do
		type_line "clear; \"\$FAIRLOCK\" release $name; echo $name ended \$?"
		wait_until shows "^$name ended 64\$"
		shows "^fairlock: cannot release lock $name: say who you are"
		"$FAIRLOCK" status -q "$name"
	done
}
