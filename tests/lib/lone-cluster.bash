# A cluster of one node that has no others: `load helpers`, then `load lone-cluster`.

start_lone_cluster() {
	start_server --cluster-enabled yes --cluster-port "$(free_port)"
	cli CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
	wait_until cluster_is_up
}

cluster_is_up() {
	cli CLUSTER INFO | grep -q '^cluster_state:ok'
}
