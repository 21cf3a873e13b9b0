# A cluster of one node that has no others: `load helpers`, then `load lone-cluster`.

# start_lone_cluster [OPTION...]
start_lone_cluster() {
	start_server --cluster-enabled yes --cluster-port "$(free_port)" "$@"
	become_lone_cluster
}

# become_lone_cluster: has the server, which is a node, take all slots
become_lone_cluster() {
	cli CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
	wait_until cluster_is_up
}

cluster_is_up() {
	cli CLUSTER INFO | grep -q '^cluster_state:ok'
}
