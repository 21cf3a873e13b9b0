# Runs `fairlock doctor` and reads its findings: `load helpers`, then `load doctor`.

setup() {
	unset FAIRLOCK_URL NO_COLOR
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.config"
}

# doctor STATUS [OPTION...]: runs it, which must end with STATUS; sets $output to its JSON
doctor() {
	run --separate-stderr "-$1" "$FAIRLOCK" doctor --json "${@:2}"
	jq -e 'has("server") and has("settings") and has("findings")' <<<"$output" >/dev/null
}

# finds SEVERITY CHECK [WORDS]: fails unless there is such a finding, with a consequence and a
# remedy if it is not "ok"
finds() {
	jq -e --arg severity "$1" --arg check "$2" --arg words "${3:-}" '
		any(.findings[]; .severity == $severity and .check == $check and
			(.finding | contains($words)) and
			($severity == "ok" or .consequence != null and .remedy != null))' \
		<<<"$output" >/dev/null || fail "no $1 of $2 with '${3:-}': $output"
}

# says FILTER VALUE: fails unless this part of the JSON is VALUE
says() { assert_equal "$(jq -r "$1" <<<"$output")" "$2"; }

# start_well [OPTION...]: starts a server in which doctor finds nothing but notes about replicas
start_well() { start_server --appendonly yes "$@"; }
