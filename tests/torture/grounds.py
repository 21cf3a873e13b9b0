"""The servers of a round: one server, with or without TLS; a master that sentinels watch; a cluster.

A ground has nodes; `server_of` is the one that serves a lock, or None. `kill` kills the node of a lock, `revive` begins
to bring it back, and `is_back` tells when a node serves again; it did not before `up`. If `loses`, data that was not
replicated is lost."""

import binascii
import os
import signal
import subprocess

from machine import now
from server import Proxy, Server, free_port, unless_away

S = 1_000_000_000
DOWN_MS = 3000  # on a machine with dozens of jobs a server answers late
APART_S = 15  # the time between two failovers, at least
SLOTS = 16384


class Ground:
    loses = True
    numsub = "NUMSUB"
    proxy = None
    fails_over = False

    def __init__(self, machine, program, folder, environment):
        self.machine, self.program, self.folder, self.environment = machine, program, folder, environment
        self.variables = {}  # for the jobs
        self.nodes = []
        self.up = 0
        self.killed = None

    def node(self, options, **more):
        """Adds a server, and does not start it."""
        server = Server(self.machine, self.program, self.folder, options, self.environment, **more)
        self.nodes.append(server)
        return server

    def awake(self):
        return [node for node in self.nodes if node is not self.killed]

    def signal(self, signo):
        for node in self.awake():
            node.signal(signo)

    def processes(self):
        return [node.pid for node in self.nodes if node.pid] + ([self.proxy.pid] if self.proxy else [])

    def ports(self):
        """The nodes by the ports on which clients reach them."""
        return {port: node for node in self.nodes for port in node.ports}

    def has_moved(self):
        """Whether another node serves than we thought, without a fault."""
        return False

    def may_be_killed(self):
        return True

    def forget_connections(self):
        for node in self.nodes:
            node.forget_connection()


class Single(Ground):
    """One server with a proxy before it. It keeps its data on disk, or loses it when it is killed."""

    def __init__(self, machine, program, folder, environment, keeps):
        super().__init__(machine, program, folder, environment)
        self.loses = not keeps
        # A server that is killed has written all that it answered. So it need not wait for the disk, which on a busy machine may
        # take longer than a third of a lease.
        self.server = self.node(["--appendonly", "yes", "--appendfsync", "no"] if keeps else [])

    def start(self):
        self.server.start()

    def is_up(self):
        return self.server.is_up()

    def open_proxy(self, folder):
        self.proxy = Proxy(self.machine, folder, self.server.ports[-1])

    def urls(self):
        return {
            "direct": f"redis://127.0.0.1:{self.server.port}",
            "proxy": f"redis://{self.proxy.address}",
        }

    def server_of(self, _lock):
        return self.server if self.server is not self.killed else None

    def masters(self):
        return [self.server]

    def kill(self, _lock):
        self.killed = self.server
        self.server.kill()

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

    def __init__(self, machine, program, folder, environment, keeps):
        super().__init__(machine, program, folder, environment, keeps)
        certificate, key = os.path.join(folder, "certificate"), os.path.join(folder, "key")
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

    def urls(self):
        return {
            "direct": f"rediss://127.0.0.1:{self.server.ports[-1]}",
            "proxy": f"rediss://{self.proxy.address}",
        }


REPLICATED = ["--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"]
REPLICATED += ["--repl-diskless-load", "swapdb"]


class FailingOver(Ground):
    """Servers that fail over: a node that is killed comes back empty, as a replica."""

    fails_over = True

    def __init__(self, machine, program, folder, environment):
        super().__init__(machine, program, folder, environment)
        self.last = 0

    def may_be_killed(self):
        return now() - self.last > APART_S * S and self.is_up()

    def kill(self, lock):
        self.killed = self.server_of(lock)
        self.killed.kill()
        self.up = self.last = now()

    def revive(self):
        pass  # the other nodes do it

    @unless_away([""])
    def role(self, node):
        """The node's answer to ROLE, or an empty one."""
        return node.ask("ROLE")


class Sentinel(FailingOver):
    """A master, two replicas, and three sentinels."""

    def __init__(self, machine, program, folder, environment):
        super().__init__(machine, program, folder, environment)
        for _ in range(3):
            self.node(REPLICATED)
        self.sentinels = [Server(machine, program, folder, [], {}) for _ in range(3)]
        self.master = self.nodes[0]

    def start(self):
        for node in self.nodes:
            self.follow(node)
        for sentinel in self.sentinels:
            path = os.path.join(self.folder, f"{sentinel.port}.conf")
            with open(path, "w", encoding="ascii") as file:
                file.write(
                    f"port {sentinel.port}\nbind 127.0.0.1\ndir {self.folder}\n"
                    f"sentinel monitor mymaster 127.0.0.1 {self.master.port} 2\n"
                    f"sentinel down-after-milliseconds mymaster {DOWN_MS}\n"
                    "sentinel failover-timeout mymaster 3000\nsentinel parallel-syncs mymaster 2\n"
                )
            sentinel.start([path, "--sentinel"])

    def follow(self, node):
        """Starts a node as the master or as a replica."""
        following = [] if node is self.master else ["--replicaof", f"127.0.0.1 {self.master.port}"]
        node.start(extra=following)

    def hurry(self, sentinel):
        sentinel.ask("SENTINEL", "DEBUG", "INFO-PERIOD", 500, "PUBLISH-PERIOD", 250, "TILT-PERIOD", 1000)

    @unless_away(False)
    def is_up(self):
        for sentinel in self.sentinels:
            self.hurry(sentinel)
            said = sentinel.ask("SENTINEL", "MASTER", "mymaster")
            facts = dict(zip(said[::2], said[1::2]))
            if (facts["num-slaves"], facts["num-other-sentinels"], facts["flags"]) != ("2", "2", "master"):
                return False
            if int(facts["port"]) != self.master.port:
                return False
        role = self.master.ask("ROLE")
        return role[0] == "master" and len(role[2]) == 2

    @unless_away(None)
    def named(self):
        """The port of the master that all sentinels name, or None."""
        words = "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"
        ports = {int(sentinel.ask(*words)[1]) for sentinel in self.sentinels}
        return ports.pop() if len(ports) == 1 else None

    def urls(self):
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return {"direct": f"redis+sentinel://{hosts}/mymaster"}

    def server_of(self, _lock):
        return self.master if self.master is not self.killed else None

    def masters(self):
        return [self.master]

    def processes(self):
        return super().processes() + [sentinel.pid for sentinel in self.sentinels if sentinel.pid]

    def is_back(self):
        at = now()
        roles = {node: self.role(node)[0] for node in self.awake()}
        if "master" not in roles.values():
            self.up = at
            return False
        port = self.named()
        new = next((node for node in self.awake() if node.port == port), None)
        if new is None or roles[new] != "master":
            return False
        self.master, old, self.killed = new, self.killed, None
        self.follow(old)
        return True

    def has_moved(self):
        port = self.named()
        if self.killed or port is None or port == self.master.port:
            return False
        self.master = next(node for node in self.nodes if node.port == port)
        self.last = now()
        return True

    def forget_connections(self):
        super().forget_connections()
        for sentinel in self.sentinels:
            sentinel.forget_connection()


def slot_of(key):
    """The slot of a key; if there is text in its first braces, only that counts."""
    inside = key.partition("{")[2].partition("}")
    return binascii.crc_hqx((inside[0] if inside[0] and inside[1] else key).encode(), 0) % SLOTS


class Cluster(FailingOver):
    """Three masters, each with a replica."""

    numsub = "SHARDNUMSUB"

    def __init__(self, machine, program, folder, environment):
        super().__init__(machine, program, folder, environment)
        for _ in range(6):
            node = self.node(REPLICATED)
            node.options += ["--cluster-enabled", "yes", "--cluster-config-file", f"{node.port}.nodes"]
            node.options += ["--cluster-node-timeout", str(DOWN_MS), "--cluster-replica-validity-factor", "0"]
        self.joined = 0
        self.owners = []  # of slots: (first, last, node)

    def start(self):
        for node in self.nodes:
            node.start()

    def join(self):
        """Makes the cluster, step by step: slots, meetings, replicas. Returns whether all is done."""
        nodes = self.nodes
        if not all(node.is_up() for node in nodes):
            return False
        if self.joined == 0:
            for index, node in enumerate(nodes[:3]):
                node.ask("CLUSTER", "SET-CONFIG-EPOCH", index + 1)
                first, last = SLOTS * index // 3, SLOTS * (index + 1) // 3 - 1
                node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
            for node in nodes[1:]:
                node.ask("CLUSTER", "MEET", "127.0.0.1", nodes[0].port)
            self.joined = 1
        while 1 <= self.joined <= 3:
            master, replica = nodes[self.joined - 1], nodes[self.joined + 2]
            replica.ask("CLUSTER", "REPLICATE", master.ask("CLUSTER", "MYID"))
            self.joined += 1
        return True

    @unless_away(False)
    def is_up(self):
        return self.join() and self.is_whole() and self.learn()

    def is_whole(self):
        """Whether all nodes know each other, all slots are served, and no replica waits for its master."""
        for node in self.nodes:
            said = node.ask("CLUSTER", "NODES")
            if "fail" in said or "handshake" in said or said.count("\n") != 6 or said.count(" slave ") < 2:
                return False
            if "cluster_state:ok" not in node.ask("CLUSTER", "INFO"):
                return False
            role = node.ask("ROLE")
            if role[0] == "slave" and role[3] != "connected" or role[0] == "master" and not role[2]:
                return False
        return True

    @unless_away(False)
    def learn(self):
        """Reads which node serves which slots. Returns whether the living nodes agree, and serve all slots."""
        said = []
        for node in self.awake():
            if "cluster_state:ok" not in node.ask("CLUSTER", "INFO"):
                return False
            said.append(sorted((part[0], part[1], part[2][1]) for part in node.ask("CLUSTER", "SLOTS")))
        if any(one != said[0] for one in said):
            return False
        by_port = {node.port: node for node in self.awake()}
        if any(port not in by_port for _, _, port in said[0]):
            return False
        if any(self.role(by_port[port])[0] != "master" for _, _, port in said[0]):
            return False
        self.owners = [(first, last, by_port[port]) for first, last, port in said[0]]
        return True

    def urls(self):
        return {"direct": "redis://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)}

    def server_of(self, lock):
        slot = slot_of(lock)
        owner = next(node for first, last, node in self.owners if first <= slot <= last)
        return owner if owner is not self.killed else None

    def masters(self):
        return list({id(node): node for _, _, node in self.owners}.values())

    def is_back(self):
        at = now()
        masters = [node for node in self.awake() if self.role(node)[0] == "master"]
        if len(masters) < 3:
            self.up = at
            return False
        if not self.learn():
            return False
        self.killed.start()
        self.killed = None
        return True

    def has_moved(self):
        before = [(first, node.port) for first, _, node in self.owners]
        if self.killed or not self.learn():
            return False
        moved = [(first, node.port) for first, _, node in self.owners] != before
        if moved:
            self.last = now()
        return moved


def new_ground(name, *where):
    if name in ("sentinel", "cluster"):
        return {"sentinel": Sentinel, "cluster": Cluster}[name](*where)
    return (Tls if name == "tls" else Single)(*where, keeps=name != "volatile")


def freeze(ground):
    ground.signal(signal.SIGSTOP)


def thaw(ground):
    ground.signal(signal.SIGCONT)
