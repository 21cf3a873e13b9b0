# Users of the server with the rules of doctor --acl, or with less, on several servers: `load helpers`, then this.

# rule USER: the words of ACL SETUSER for a user, one a line, as `fairlock doctor --acl` prints them. backup locks names
# that begin with backup-, also some with braces; watcher only looks at them; jobs locks all, monitor looks at all.
rule() {
	{
		echo "ACL SETUSER fairlock on >SECRET"
		case $1 in
		backup)
			acl 'backup-*'
			acl 'backup-{db}*' | sed 's/ ~backup-{db}\*//' # backup-* has that one
			;;
		watcher) acl 'backup-*' | sed '$d' ;;
		monitor) acl | sed '$d' ;;
		jobs) acl ;;
		esac
	} | sed 's/^ACL SETUSER fairlock //' | tr ' ' '\n' | awk '!seen[$0]++'
}

acl() { env -u FAIRLOCK_PASSWORD FAIRLOCK_URL=redis://lock.example.com "$FAIRLOCK" doctor --acl "$@"; }

# permit USER WORD...: gives USER these permissions and no others
permit() {
	local user=$1

	shift
	cli ACL DELUSER "$user" >/dev/null
	assert_equal "$(cli ACL SETUSER "$user" "$@")" OK
}

# permit_as_told USER: gives USER the permissions of its rule
permit_as_told() {
	local words

	mapfile -t words < <(rule "$1")
	[ "${#words[@]}" -gt 10 ] || fail "there is no rule for $1"
	permit "$1" "${words[@]}"
}

# become USER: fairlock runs as this user from now on
become() { export FAIRLOCK_URL="unix:$SERVER_SOCKET?user=$1" FAIRLOCK_PASSWORD=SECRET; }

nothing_was_denied() { assert_equal "$(cli ACL LOG)" ''; }

# named WORD: the message in $output names what this word of a rule permits
named() {
	case $1 in
	on | '>'*) grep -q 'it refuses this user' <<<"$output" ;;
	+*'|'*) grep -qiE "'${1:1:1}[a-z]*'|'$(tr '|' ' ' <<<"${1#+}")'|'${1#+}'" <<<"${output//|/ }" ;;
	+*) grep -qiE "'${1#+}[' ]" <<<"$output" ;;
	'~*') grep -q ' key' <<<"$output" ;;
	'~'*) grep -qE "one of the keys .*, ${1:1:8}[a-z_]*\*:" <<<"$output" ||
		grep -qE "may not run '[A-Z]+ $(sed -e 's/^~//' -e 's/:.*//' <<<"$1"):" <<<"$output" ;;
	'&'*) grep -qF "redisson_lock__channel:" <<<"$output" ;;
	esac
}

# holders_are COUNT NAME: so many hold the lock
holders_are() { [ "$("$FAIRLOCK" status --raw --noheadings -o HOLDS "$2" | wc -l)" = "$1" ]; }

# use_all NAME: every command does its work on the lock NAME, alone, with slots and with shared holds
use_all() {
	local name=$1 owner waiter other slot

	"$FAIRLOCK" wrap "$name" "$FAIRLOCK" wrap "$name" true
	"$FAIRLOCK" wrap --also "$name-2" "$name" "$FAIRLOCK" wrap "$name-2" true
	owner=$("$FAIRLOCK" acquire --lease 1m "$name")
	"$FAIRLOCK" renew --owner "$owner" "$name"
	run -75 "$FAIRLOCK" wrap -n "$name" true
	background "$FAIRLOCK" wrap "$name" true
	waiter=$!
	wait_until in_queue "$name" 1
	background "$FAIRLOCK" acquire --while-pid $$ "$name" >/dev/null
	other=$!
	wait_until in_queue "$name" 2
	"$FAIRLOCK" status "$name"
	"$FAIRLOCK" log --plot "$name"
	run -0 "$FAIRLOCK" queue --raw --noheadings -o OWNER "$name"
	assert_equal "${#lines[@]}" 2
	"$FAIRLOCK" queue --remove "${lines[1]}" "$name"
	run -76 "$FAIRLOCK" queue --remove "${owner%:*}:1" "$name"
	ends_with 75 "$other"
	run -0 "$FAIRLOCK" release --owner "$owner" "$name"
	ends_with 0 "$waiter"
	"$FAIRLOCK" acquire "$name"
	"$FAIRLOCK" release --force "$name"
	background "$FAIRLOCK" wrap -l 1h "$name" sleep 600
	waiter=$!
	wait_until "$FAIRLOCK" status -q "$name"
	"$FAIRLOCK" release --stop --wait 5s "$name" # it is told, or would not hear of the end
	ends_with 124 "$waiter"
	run -1 "$FAIRLOCK" status -q "$name"
	read -r owner slot < <("$FAIRLOCK" acquire --slots 2 --lease 1m "$name")
	"$FAIRLOCK" wrap --slots 2 --min-hold 10s "$name" true
	background "$FAIRLOCK" wrap --slots 2 "$name" true
	waiter=$!
	wait_until in_queue "$name" 1
	"$FAIRLOCK" renew --owner "$owner" "$name"
	"$FAIRLOCK" status "$name"
	"$FAIRLOCK" queue "$name"
	"$FAIRLOCK" log --plot "$name"
	"$FAIRLOCK" release --owner "$owner" "$name"
	ends_with 0 "$waiter"
	"$FAIRLOCK" release --force --slot 2 "$name"
	"$FAIRLOCK" wrap --shared "$name" "$FAIRLOCK" wrap --shared "$name" true
	"$FAIRLOCK" acquire --shared --lease 1m "$name"
	"$FAIRLOCK" acquire --shared --lease 1s "$name"
	wait_until holders_are 1 "$name"
	background "$FAIRLOCK" wrap -l 1h --shared "$name" sleep 600
	waiter=$!
	wait_until holders_are 2 "$name"
	run -75 "$FAIRLOCK" release --stop "$name"
	ends_with 124 "$waiter"
	"$FAIRLOCK" release --force "$name"
	run -1 "$FAIRLOCK" status -q "$name"
}
