"""The servers of a round: one server, with or without TLS; a master that sentinels watch; a cluster.

A ground has nodes; `server_of` is the one that serves a lock, or None. `kill` kills the node of a lock, `revive` begins
to bring it back, and `is_back` tells when a node serves again; it did not before `up`. If `loses`, data that was not
replicated is lost."""

import binascii
import os
import subprocess

from machine import S, now
from server import Proxy, Server, free_port, unless_away

DOWN_MS = 3000  # on a machine with dozens of jobs a server answers late
APART_S = 15  # the time between two failovers, at least
SLOTS = 16384


class Ground:
    loses = True
    numsub = "NUMSUB"
    proxy = None
    fails_over = False
    shards, count = 1, 1  # masters, and nodes in all

    def __init__(self, machine, program, folder, environment):
        self.machine, self.program, self.folder, self.environment = machine, program, folder, environment
        self.variables = {}  # for the jobs
        self.nodes = [Server(machine, program, folder, [], environment) for _ in range(self.count)]
        self.server, self.sentinels = self.nodes[0], []
        self.owners = [(0, SLOTS - 1, self.server)]  # of slots: (first, last, node)
        self.up = self.last = 0
        self.killed = None

    def start(self):
        for node in self.nodes:
            self.follow(node)

    def follow(self, node):
        node.start()

    def server_of(self, lock):
        # if there is text in the first braces of a key, only that counts
        inside = lock.partition("{")[2].partition("}")
        slot = binascii.crc_hqx((inside[0] if inside[0] and inside[1] else lock).encode(), 0) % SLOTS
        owner = next(node for first, last, node in self.owners if first <= slot <= last)
        return owner if owner is not self.killed else None

    def masters(self):
        return list({id(node): node for _, _, node in self.owners}.values())

    def kill(self, lock):
        self.killed = self.server_of(lock)
        self.killed.kill()
        self.up = self.last = now()

    def awake(self):
        return [node for node in self.nodes if node is not self.killed]

    def signal(self, signo):
        for node in self.awake():
            os.kill(node.pid, signo)

    def ports(self):
        """The nodes by the ports on which clients reach them."""
        return {port: node for node in self.nodes for port in node.ports}

    def may_be_killed(self):
        return True

    def end(self):
        for server in self.nodes + self.sentinels:
            if server.pid:
                server.kill()
        if self.proxy:
            self.machine.kill(self.proxy.pid)


class Single(Ground):
    """One server with a proxy before it. It keeps its data on disk, or loses it when it is killed."""

    scheme = "redis"

    def __init__(self, *where, keeps):
        super().__init__(*where)
        self.loses = not keeps
        # A server that is killed has written all that it answered. So it need not wait for the disk, which on a busy machine may
        # take longer than a third of a lease.
        self.server.options += ["--appendonly", "yes", "--appendfsync", "no"] if keeps else []

    def is_up(self):
        return self.server.is_up()

    def open_proxy(self, folder):
        self.proxy = Proxy(self.machine, folder, self.server.ports[-1])

    def urls(self):
        return {
            "direct": f"{self.scheme}://127.0.0.1:{self.server.ports[-1]}",
            "proxy": f"{self.scheme}://{self.proxy.address}",
        }

    def revive(self):
        self.up = now()
        self.server.start()

    def is_back(self):
        if not self.server.is_up():
            return False
        self.killed = None
        return True


class Tls(Single):
    """The same with TLS for fairlock; the looker connects without."""

    scheme = "rediss"

    def __init__(self, *where, keeps):
        super().__init__(*where, keeps=keeps)
        certificate, key = os.path.join(self.folder, "certificate"), os.path.join(self.folder, "key")
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
        subprocess.run(
            ["openssl", *words.split(), "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
            + ["-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        port = free_port()
        self.server.ports.append(port)
        self.server.options += ["--tls-port", str(port), "--tls-auth-clients", "no"]
        self.server.options += ["--tls-cert-file", certificate, "--tls-key-file", key]
        self.server.options += ["--tls-ca-cert-file", certificate]
        self.variables = {"FAIRLOCK_TLS_CA": certificate}


class FailingOver(Ground):
    """Servers that fail over: a node that is killed comes back empty, as a replica."""

    fails_over = True
    options = ["--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-diskless-load", "swapdb"]

    def __init__(self, *where, keeps):
        super().__init__(*where)
        for node in self.nodes:
            node.options += self.options

    def may_be_killed(self):
        return now() - self.last > APART_S * S and self.is_up()

    def revive(self):
        pass  # the other nodes do it

    @unless_away(False)
    def is_master(self, node):
        return node.ask("ROLE")[0] == "master"

    @unless_away(False)
    def learn(self):
        """Reads which node serves which slots. Returns whether those that are awake agree, and serve all slots."""
        said = self.said()
        by_port = {node.port: node for node in self.awake() if self.is_master(node)}
        if any(one != said[0] for one in said) or any(port not in by_port for _, _, port in said[0]):
            return False
        self.owners = [(first, last, by_port[port]) for first, last, port in said[0]]
        return True

    def is_back(self):
        at = now()
        if sum(map(self.is_master, self.awake())) < self.shards:
            self.up = at
            return False
        if not self.learn():
            return False
        killed, self.killed = self.killed, None
        self.follow(killed)
        return True

    def has_moved(self):
        """Whether another node serves than we thought, without a fault."""
        before = self.owners
        if self.killed or not self.learn() or self.owners == before:
            return False
        self.last = now()
        return True


class Sentinel(FailingOver):
    """A master, two replicas, and three sentinels."""

    count = 3

    def __init__(self, *where, keeps):
        super().__init__(*where, keeps=keeps)
        self.sentinels = [Server(self.machine, self.program, self.folder, [], {}) for _ in range(3)]

    def start(self):
        super().start()
        for sentinel in self.sentinels:
            path = os.path.join(self.folder, f"{sentinel.port}.conf")
            with open(path, "w", encoding="ascii") as file:
                file.write(
                    f"port {sentinel.port}\nbind 127.0.0.1\ndir {self.folder}\n"
                    f"sentinel monitor mymaster 127.0.0.1 {self.masters()[0].port} 2\n"
                    f"sentinel down-after-milliseconds mymaster {DOWN_MS}\n"
                    "sentinel failover-timeout mymaster 3000\nsentinel parallel-syncs mymaster 2\n"
                )
            sentinel.start([path, "--sentinel"])

    def follow(self, node):
        """Starts a node as the master or as a replica."""
        (master,) = self.masters()
        node.start(extra=[] if node is master else ["--replicaof", f"127.0.0.1 {master.port}"])

    @unless_away(False)
    def is_up(self):
        (master,) = self.masters()
        for sentinel in self.sentinels:
            sentinel.ask("SENTINEL", "DEBUG", "INFO-PERIOD", 500, "PUBLISH-PERIOD", 250, "TILT-PERIOD", 1000)
            said = sentinel.ask("SENTINEL", "MASTER", "mymaster")
            facts = dict(zip(said[::2], said[1::2]))
            if (facts["num-slaves"], facts["num-other-sentinels"], facts["flags"]) != ("2", "2", "master"):
                return False
            if int(facts["port"]) != master.port:
                return False
        role = master.ask("ROLE")
        return role[0] == "master" and len(role[2]) == 2

    def said(self):
        words = "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"
        return [[(0, SLOTS - 1, int(sentinel.ask(*words)[1]))] for sentinel in self.sentinels]

    def urls(self):
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return {"direct": f"redis+sentinel://{hosts}/mymaster"}


class Cluster(FailingOver):
    """Three masters, each with a replica."""

    numsub = "SHARDNUMSUB"
    shards, count = 3, 6

    def __init__(self, *where, keeps):
        super().__init__(*where, keeps=keeps)
        for node in self.nodes:
            node.options += ["--cluster-enabled", "yes", "--cluster-config-file", f"{node.port}.nodes"]
            node.options += ["--cluster-node-timeout", str(DOWN_MS), "--cluster-replica-validity-factor", "0"]
        self.joined = 0

    def join(self):
        """Makes the cluster, step by step: slots, meetings, replicas."""
        nodes = self.nodes
        if self.joined == 0:
            for index, node in enumerate(nodes[:3]):
                node.ask("CLUSTER", "SET-CONFIG-EPOCH", index + 1)
                first, last = SLOTS * index // 3, SLOTS * (index + 1) // 3 - 1
                node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
            for node in nodes[1:]:
                node.ask("CLUSTER", "MEET", "127.0.0.1", nodes[0].port)
            self.joined = 1
        while self.joined <= 3:
            master, replica = nodes[self.joined - 1], nodes[self.joined + 2]
            replica.ask("CLUSTER", "REPLICATE", master.ask("CLUSTER", "MYID"))
            self.joined += 1

    @unless_away(False)
    def is_up(self):
        """Whether all nodes know each other, all slots are served, and no replica waits for its master."""
        if not all(node.is_up() for node in self.nodes):
            return False
        self.join()
        for node in self.nodes:
            said = node.ask("CLUSTER", "NODES")
            if "fail" in said or "handshake" in said or said.count("\n") != 6 or said.count(" slave ") < 2:
                return False
            role = node.ask("ROLE")
            if role[0] == "slave" and role[3] != "connected" or role[0] == "master" and not role[2]:
                return False
        return self.learn()

    def said(self):
        if not all("cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in self.awake()):
            raise RuntimeError("not all slots are served")
        replies = (node.ask("CLUSTER", "SLOTS") for node in self.awake())
        return [sorted((part[0], part[1], part[2][1]) for part in reply) for reply in replies]

    def urls(self):
        return {"direct": "redis://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)}


def new_ground(name, *where):
    return {"sentinel": Sentinel, "cluster": Cluster, "tls": Tls}.get(name, Single)(*where, keeps=name != "volatile")
