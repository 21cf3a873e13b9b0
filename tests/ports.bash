# TCP ports for servers that cannot be told "any": what tls, sentinel and cluster share.

# free_ports COUNT: ports of 127.0.0.1 that nobody listens on, nor on those 10000 above them, where the
# nodes of a cluster talk. Connections going out get theirs from above both.
free_ports() {
	local port ports=' '

	for ((; $1 > $(wc -w <<<"$ports"); )); do
		port=$((10000 + (RANDOM * 32768 + RANDOM) % 10000))
		[[ $ports = *" $port "* ]] || listens "$port" || listens $((port + 10000)) || ports+="$port "
	done
	echo "${ports// /$'\n'}" | grep .
}

# listens PORT: somebody does
listens() {
	(: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
