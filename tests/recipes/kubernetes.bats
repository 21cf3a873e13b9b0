#!/usr/bin/env bats
# man/examples/kubernetes-*.yml: the manifests are valid, and their containers run as the kubelet starts them
# (tests/lib/kubernetes_pod.py).

load ../lib/helpers
load ../lib/machine

setup() {
	/usr/bin/python3 -c 'import kubernetes' 2>/dev/null || skip 'there is no python3-kubernetes here'
	begin
	chmod 777 . # for the user of the pods
	cp "$EXAMPLES"/kubernetes-*.yml .
}

# start_pod FILE CONTAINER: runs the container in the background, which writes `log`. Sets POD, and FIRST, its first process.
start_pod() {
	background "$HOST" unshare --mount --uts --pid --fork --kill-child --mount-proc \
		"$TESTS_DIR/lib/kubernetes_pod.py" run "$@" >>log 2>&1
	POD=$!
	wait_until pgrep -P $POD
	FIRST=$(pgrep -P $POD)
}

pod() { start_pod "$@" && wait "$POD"; }

# is_fairlock PID: succeeds if the container has started
is_fairlock() { [[ $(cat "/proc/$1/comm") = fairlock* ]]; }

# delete_pod: sends SIGTERM to its first process, as the kubelet does
delete_pod() {
	wait_until is_fairlock "$FIRST"
	kill -TERM "$FIRST"
}

# The text of a migration that ends when there is a file `end`
MIGRATES='echo started >>ran; until [ -e end ]; do sleep 0.05; done'

has_migrated() { [ "$(wc -l <ran)" = "$1" ]; }

@test "the manifests of Kubernetes are valid, and a mistake in them is found" {
	local file

	for file in kubernetes-*.yml; do
		run -0 "$TESTS_DIR/lib/kubernetes_pod.py" check "$file"
		sed 's/readOnlyRootFilesystem/readOnlyRoot/' "$file" >mistake.yml
		run -1 "$TESTS_DIR/lib/kubernetes_pod.py" check mistake.yml
		assert_output --partial 'V1SecurityContext has no readOnlyRoot'
	done
}

@test "one of four pods migrates, and all start; later pods start at once, and those of a new version migrate" {
	local pods=() pod

	user shop
	program migrate "$MIGRATES"
	for _ in 1 2 3 4; do
		start_pod kubernetes-migration.yml migrate
		pods+=("$POD")
	done
	wait_until in_queue migrate-shop-7 3
	touch end
	for pod in "${pods[@]}"; do
		ends_with 0 "$pod"
	done
	pod kubernetes-migration.yml migrate
	has_migrated 1
	sed 's/value: "7"/value: "8"/' kubernetes-migration.yml >new.yml
	pod new.yml migrate
	has_migrated 2
	"$FAIRLOCK" release --forget-run migrate-shop-8
}

@test "if the migration of one pod fails, the next pod tries" {
	local first

	user shop
	program migrate '[ ! -e ran ] || exec touch migrated; echo started >>ran; until [ -e end ]; do sleep 0.05; done; exit 3'
	start_pod kubernetes-migration.yml migrate
	first=$POD
	wait_until test -s ran
	start_pod kubernetes-migration.yml migrate
	wait_until in_queue migrate-shop-7 1
	touch end
	ends_with 3 "$first"
	ends_with 0 "$POD"
	[ -e migrated ]
}

@test "a pod that is deleted while it waits leaves the queue" {
	user shop
	hold migrate-shop-7
	start_pod kubernetes-migration.yml migrate
	wait_until in_queue migrate-shop-7 1
	delete_pod
	ends_with 143 "$POD"
	in_queue migrate-shop-7 0
}

@test "the migration of a pod that is deleted gets SIGTERM, and the lock is free when it has ended" {
	user shop
	program migrate "trap 'sleep 0.3; touch told; exit 4' TERM; $MIGRATES"
	start_pod kubernetes-migration.yml migrate
	wait_until test -s ran
	delete_pod
	wait_until is_free migrate-shop-7
	[ -e told ]
	ends_with 4 "$POD"
}

@test "if a node dies during the migration, the next pod migrates when the lease has ended" {
	local first

	user shop
	put /etc/fairlock.conf <<<'lease = 3s'
	program migrate "$MIGRATES"
	start_pod kubernetes-migration.yml migrate
	first=$FIRST
	wait_until test -s ran
	start_pod kubernetes-migration.yml migrate
	wait_until in_queue migrate-shop-7 1
	kill -KILL "$first" # the kernel kills all processes of the pod
	wait_until has_migrated 2
	touch end
	ends_with 0 "$POD"
}

@test "the cron job runs its report in one of two clusters, not as root, and shows it no password" {
	user report
	# shellcheck disable=SC2016
	program report 'echo "$(id -u) $*" >>ran; ! env | grep =secret >>ran; touch /usr/local/bin/x 2>/dev/null && echo writes >>ran; exit 0'
	pod kubernetes-cronjob.yml report
	pod kubernetes-cronjob.yml report
	assert_equal "$(<ran)" '1000 --night'
	assert_equal "$(<log)" ''
}

@test "the cron job of a cluster ends at once while the report runs in another one, and the report ends on SIGTERM" {
	user report
	program report "$MIGRATES"
	start_pod kubernetes-cronjob.yml report
	wait_until test -s ran
	(pod kubernetes-cronjob.yml report)
	delete_pod
	ends_with 143 "$POD"
	is_free nightly-report
	has_migrated 1
}
