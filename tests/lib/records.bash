# The records in our hash of the lock `lock`, by the names of their columns: part of helpers.bash.

# By the letter in front of the colon.
declare -gA columns_of=(
	[h]='state token since ends lease longest waited keep mode holds notes by'
	[w]='seen lease secret kind period want owner by'
)

# number_of FIELD NAME: which column of the record in this field it is, from 1
number_of() {
	local number=1 name

	for name in ${columns_of[${1%%:*}]}; do
		[ "$name" != "$2" ] || break
		((number++))
	done
	[ "$name" = "$2" ] || fail "$1 has no column '$2'"
	[ "$2" != by ] || number=$number- # may contain blanks
	echo "$number"
}

# column FIELD NAME: a column of a record in our hash of `lock`, or nothing if there is no such record
column() {
	cli --raw HGET "fairlock:$(braced)" "$1" | cut -d ' ' -f "$(number_of "$1" "$2")"
}

# change FIELD NAME=VALUE...: writes columns of a record that is in our hash of `lock`
change() {
	local record words=() word number

	record=$(cli --raw HGET "fairlock:$(braced)" "$1")
	[ -n "$record" ] || fail "there is no record $1"
	# split at each blank, with empty columns
	while [ ${#words[@]} -lt $(($(wc -w <<<"${columns_of[${1%%:*}]}") - 1)) ] && [[ $record = *' '* ]]; do
		words+=("${record%% *}")
		record=${record#* }
	done
	words+=("$record")
	for word in "${@:2}"; do
		number=$(number_of "$1" "${word%%=*}")
		words[${number%-} - 1]=${word#*=}
	done
	record=$(printf '%s ' "${words[@]}")
	cli HSET "fairlock:$(braced)" "$1" "${record% }" >/dev/null
}

# The field of the present hold of `lock`.
holder_field() {
	echo "h:$(cli --raw HGET "fairlock:$(braced)" holder)"
}

braced() {
	case $lock in
	*'{'*) echo "$lock" ;;
	*) echo "{$lock}" ;;
	esac
}

# holder_column NAME COLUMN: a column of the record of who holds the lock NAME
holder_column() {
	local lock=$1

	column "$(holder_field)" "$2"
}

# describe_holder NAME BY [MS]: has the server say that BY holds the lock NAME, which is held already, and has so for MS;
# not by hand, if it was acquire that took it
describe_holder() {
	local lock=$1 holds

	holds=$(holder_column "$lock" holds)
	change "$(holder_field)" "by=$2" "holds=${holds//,h/,a}" ${3+"since=$(($(now_ms) - $3))"}
}
