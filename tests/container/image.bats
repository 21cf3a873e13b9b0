# Images built from .ci/Containerfile and man/examples/Containerfile, and containers of them, in which fairlock is the first
# process; "make check-container" makes first what these need.
load ../deb/root
load containers

setup_file() {
	start_server
	[ -z "$(why_no_root)" ] || return 0 # setup skips
	start_containers
	import_debian
	build_fairlock
	cd "$BATS_FILE_TMPDIR" || return
	printf '#!/bin/sh\necho "reported with token $FAIRLOCK_TOKEN"\n' >report
	chmod +x report
	build --file "$TESTS_DIR/../man/examples/Containerfile" --tag nightly .
}

setup() {
	[ -n "$CONTAINERS_PID" ] || skip "$(why_no_root)"
	cd "$BATS_TEST_TMPDIR" || return
	cli FLUSHALL >/dev/null
}

# start NAME [OPTION...] IMAGE [ARGUMENT...]: starts a container in the background, with its output in the file NAME. $! ends
# with its status.
start() {
	in_container --name "$1" "${@:2}" >"$1" 2>&1 &
}

# says NAME TEXT: succeeds if the container has printed this line
says() { grep -qxF "$2" "$1"; }

@test "the image has one program and licenses, is smaller than 6 MB, and runs the program" {
	podman save --quiet --format oci-dir --output saved fairlock
	run -0 podman image inspect --format '{{.Size}} {{.Config.Entrypoint}} {{len .RootFS.Layers}}' fairlock
	assert_output --regexp '^[1-5][0-9]{6} \[/bin/fairlock\] 1$'
	for layer in saved/blobs/sha256/*; do
		tar -tzf "$layer" 2>/dev/null || tar -tf "$layer" 2>/dev/null || true
	done | grep -v '/$' | sort >files
	run -0 cat files
	assert_output "$(printf '%s\n' bin/fairlock licenses/{LICENSE,SOURCES,hiredis,musl,openssl})"
	run -0 podman run --rm fairlock version
	assert_output "$("$FAIRLOCK" --version)"
}

@test "in a container with nothing but fairlock, wrap takes a lock and shows itself as holder, over a socket and over TCP" {
	local port

	run -0 in_container fairlock wrap job -- /bin/fairlock status --noheadings --raw -o NAME,STATE,PID job
	assert_output 'job held 1'
	port=$(free_port)
	cli CONFIG SET bind 127.0.0.1 port "$port"
	run -0 podman run --rm --env FAIRLOCK_URL="redis://127.0.0.1:$port" fairlock wrap job -- /bin/fairlock status -q job
	cli CONFIG SET port 0
	is_free job
}

@test "the example runs its report once a day, whatever container asks" {
	run -0 in_container nightly
	assert_output --regexp '^reported with token [0-9]+$'
	run -0 in_container nightly
	refute_output
	is_free nightly
}

@test "podman stop has the job told to end; the container ends with its status, and the lock is free" {
	start job nightly sh -c 'trap "echo told; exit 5" TERM; echo ready; while :; do sleep 0.05; done'
	wait_until says job ready
	podman stop --time 60 job >/dev/null
	ends_with 5 $!
	says job told
	is_free nightly
}

@test "a waiter in a container leaves the queue and ends with 143 if podman stops it" {
	hold nightly
	start waiter --entrypoint '["fairlock", "wrap", "nightly"]' nightly true
	wait_until in_queue nightly 1
	podman stop --time 60 waiter >/dev/null
	ends_with 143 $!
	in_queue nightly 0
}

@test "if the container is killed, its lock is free when the lease ends, and the job is gone before" {
	start job --env FAIRLOCK_LEASE=4s nightly sh -c 'echo ready; exec sleep 600'
	wait_until says job ready
	podman kill --signal KILL job >/dev/null
	ends_with 137 $!
	run -1 there pgrep -fx 'sleep 600'
	[ "$(cli EXISTS nightly)" = 1 ]
	wait_until is_free nightly
}
