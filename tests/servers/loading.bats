# A master behind sentinels that loads its data.
load ../lib/nodes

is_loading() { node_cli "$1" PING 2>&1 | grep -q LOADING; }

@test "status and log of all locks wait while the master loads its data, as those of one do" {
	start_sentinels --enable-debug-command yes --loading-process-events-interval-bytes 1024
	port=$(master_port)
	node_cli "$port" DEBUG POPULATE 200 key 100
	node_cli "$port" CONFIG SET key-load-delay 10000
	for words in status log 'status job'; do
		node_cli "$port" DEBUG RELOAD 3>&- 4>&- &
		wait_until is_loading "$port"
		run -0 "$FAIRLOCK" $words -u "redis+sentinel://$SENTINELS/mymaster"
		wait "$!"
	done
}
