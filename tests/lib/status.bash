# What `status` says of one lock: `load helpers`, `load one_server`, then this.

# lock NAME .FILTER: prints this part of the lock's status as JSON
lock() {
	"$FAIRLOCK" status --json -- "$1" | jq -c ".locks[0]$2"
}

# shellcheck disable=SC2034 # tests read it
redisson=0a1b2c3d-0000-4000-8000-000000000009:42
