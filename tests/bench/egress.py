#!/usr/bin/env python3
"""egress.py BUILD: measures the way out of a machine against its peers in one run and prints one table (and puts it into doc/bench.md
with --write).

The server is on this host's loopback. hutch's machine reaches it as a host port, through hutch-guest, the channel, hutch-worker and
hutchd's decision. The peers: the same image under plain libvirt with a card of QEMU's user-mode network, and the raw virtio-serial port.
tests/bench/net_client runs in both guests.
"""
import json, os, socket, statistics, subprocess, sys, threading, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common, sections
from common import BUILD, ENV, HOME, HUTCH, ROUNDS, Peer, run, setup_template

HEADING = "## The way out"
SIZE = int(os.environ.get("BENCH_NET_BYTES", str(1 << 30)))
CONNECTIONS = int(os.environ.get("BENCH_CONNECTIONS", "300"))
STREAMS = (1, 50, 256)
CLIENT = "/var/tmp/net_client"
GATEWAY = "10.0.2.2"  # of QEMU's user-mode network: this host's loopback
table, notes = [], []


def line(what, ours, peer_name, peer, unit, ratio):
    table.append((what, f"{ours:.4g} {unit}", peer_name, f"{peer:.4g} {unit}" if peer is not None else "", f"{ratio:.2f}" if ratio else ""))
    print(" | ".join(table[-1]), flush=True)


class Server:
    """The first byte says what a connection is for: d sends without end, u takes all and answers one byte, e answers one byte."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.block = bytes(1 << 20)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            s, _ = self.listener.accept()
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        with s:
            try:
                letter = s.recv(1)
                if letter == b"d":
                    while True:
                        s.sendall(self.block)
                elif letter == b"u":
                    room = bytearray(1 << 20)
                    while s.recv_into(room):
                        pass
                if letter in (b"u", b"e"):
                    s.sendall(b"k")
            except OSError:
                pass


class Ours:
    name = "hutch"

    def __init__(self, port):
        run(HUTCH, "host-port", "rm", "bench", "load", check=False)
        run(HUTCH, "host-port", "add", "bench", f"load=127.0.0.1:{port}")
        self.port = port
        run(HUTCH, "cp", os.path.join(BUILD, "tests/bench/net_client"), f"bench:{CLIENT}")
        self.address = run(HUTCH, "exec", "bench", "--", "getent", "ahostsv4", "load.hutch.internal").split()[0].decode()
        self.daemon = json.loads(run(HUTCH, "version", "--json"))["daemon"]["pid"]
        self.ours = [self.daemon] + [p for p in children(self.daemon) if comm(p) == "hutch-worker"]

    def client(self, *words):
        return run(HUTCH, "exec", "bench", "--", CLIENT, words[0], self.address, str(self.port), str(words[1])).decode()

    def hold(self, count):
        return subprocess.Popen([HUTCH, "exec", "bench", "--", CLIENT, "hold", self.address, str(self.port), str(count)], env=ENV,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)


class Card:
    name = "QEMU's user-mode network"

    def __init__(self, peer, port):
        self.peer, self.port = peer, port
        # What hutch-guest does to the network of its own machines is not for this one.
        peer.execute("/bin/sh", "-c", "systemctl stop hutch-guest; nft flush ruleset; modprobe virtio_net; udevadm settle; "
                     "card=$(ls /sys/class/net | grep -v -e lo -e dummy | head -n1); ip addr add 10.0.2.15/24 dev $card; ip link set $card up; "
                     "ip route replace default via 10.0.2.2 dev $card")
        peer.put(os.path.join(BUILD, "tests/bench/net_client"), CLIENT)

    def client(self, *words):
        text = self.peer.execute(CLIENT, words[0], GATEWAY, str(self.port), str(words[1]), **{"capture-output": True})
        if not text:
            raise SystemExit("the peer's client failed: no network card that works?")
        return text


def comm(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return ""


def children(pid):
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and parent(p) == pid]


def parent(pid):
    try:
        return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def cpu_s(pids):
    """Processor time so far, of each process with its threads."""
    total = 0
    for pid in pids:
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def memory(pids):
    """Bytes that are no other process's too."""
    total = 0
    for pid in pids:
        for text in open(f"/proc/{pid}/smaps_rollup"):
            if text.startswith("Private_"):
                total += int(text.split()[1]) << 10
    return total


def qemu(name):
    for p in os.listdir("/proc"):
        try:
            words = open(f"/proc/{p}/cmdline", "rb").read().split(b"\0") if p.isdigit() else []
        except OSError:
            continue
        if words and b"qemu" in words[0] and any(w.startswith(b"guest=" + name.encode()) for w in words):
            return int(p)
    raise SystemExit(f"no QEMU of {name}")


def rates(side, verb, pids):
    """MB/s of each round, and processor seconds a GB of the processes."""
    speed, cpu = [], []
    for _ in range(ROUNDS):
        before = cpu_s(pids)
        speed.append(SIZE / float(side.client(verb, SIZE)) / 1e6)
        cpu.append((cpu_s(pids) - before) / (SIZE / 1e9))
    return speed, cpu


def measure_memory(ours):
    base = memory(ours.ours)
    for count in STREAMS:
        held = ours.hold(count)
        assert held.stdout.readline() == b"held\n"
        time.sleep(3)
        now = memory(ours.ours)
        line(f"memory of hutchd and the worker, {count} streams whose reader is slow", now / 1e6, "the same with none", base / 1e6, "MB", None)
        held.stdin.close()
        held.wait()
        time.sleep(1)


def measure_decide():
    result = json.loads(run(os.path.join(BUILD, "tests/bench/decide")))
    line(f"decisions a second, {result['rules']} rules, a tenth of them wildcards", result["ours"], "fnmatch(3) over the same list", result["peer"], "/s",
         result["ours"] / result["peer"])


def median(values):
    return statistics.median(values)


def measure(base):
    """hutch's machine "bench" runs; base: the folder of its base."""
    server = Server()
    ours = Ours(server.port)
    all_of_ours = ours.ours + [qemu("hutch-bench-")]
    got = {}
    for verb in ("down", "up"):
        got[verb] = rates(ours, verb, ours.ours)
    whole = {verb: rates(ours, verb, all_of_ours)[1] for verb in ("down", "up")}
    times = sorted(float(t) / 1000 for t in ours.client("connect", CONNECTIONS).split())
    measure_memory(ours)
    run(HUTCH, "stop", "bench")
    peer = Peer(base, card=True)
    try:
        peer.start_to_login()
        peer.wait_agent()
        card = Card(peer, server.port)
        pids = [qemu(peer.name)]
        theirs = {verb: rates(card, verb, pids) for verb in ("down", "up")}
        card_times = sorted(float(t) / 1000 for t in card.client("connect", CONNECTIONS).split())
        common.SIZE = SIZE
        raw = {"down": [peer.raw_in() for _ in range(ROUNDS)], "up": [peer.raw_out() for _ in range(ROUNDS)]}
    finally:
        peer.remove()
        run(HUTCH, "start", "bench", check=False)
    for verb, words in (("down", "download"), ("up", "upload")):
        mine = median(got[verb][0])
        line(f"{words} of {SIZE >> 20} MiB", mine, card.name, median(theirs[verb][0]), "MB/s", mine / median(theirs[verb][0]))
        line(f"{words} of {SIZE >> 20} MiB", mine, "raw virtio-serial port", median(raw[verb]), "MB/s", mine / median(raw[verb]))
        line(f"{words}: processor time a GB, the whole (QEMU, worker, hutchd)", median(whole[verb]), card.name, median(theirs[verb][1]), "s",
             median(theirs[verb][1]) / median(whole[verb]))
        line(f"{words}: processor time a GB, of it worker and hutchd", median(got[verb][1]), "", None, "s", None)
    line("new connections, one after another", 1000 / statistics.mean(times), card.name, 1000 / statistics.mean(card_times), "/s",
         statistics.mean(card_times) / statistics.mean(times))
    for name, at in (("median", 0.5), ("p99", 0.99)):
        a, b = times[int(at * len(times))], card_times[int(at * len(card_times))]
        line(f"connect to first byte, {name}", a, card.name, b, "ms", b / a)


def section():
    lines = [HEADING, "", "Made by `make bench-egress` (and `make bench`): a server on this host's loopback; the same client program in the same image, in "
             "hutch's machine by a host port, and under plain libvirt with a card of QEMU's user-mode network. Memory: private pages. "
             f"{time.strftime('%Y-%m-%d')}, load at the start {notes[0] if notes else '?'}.", "",
             "| what | hutch | peer | peer's | times as good |", "|---|---|---|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in table]) + "\n"


def main():
    """By itself: with a machine of its own."""
    notes.append(f"{os.getloadavg()[0]:.1f}")
    measure_decide()
    os.makedirs(HOME, exist_ok=True)
    os.chmod(HOME, 0o711)
    setup_template()
    run(HUTCH, "template", "build", "bench")
    run(HUTCH, "rm", "bench", "--yes", "--discard-work", check=False)
    run(HUTCH, "up", "bench", "-t", "bench", "--memory", "1G", "--cpus", "2")
    try:
        measure(os.path.join(HOME, "data", "bases", json.loads(run(HUTCH, "show", "bench", "--json"))["base"]))
    finally:
        run(HUTCH, "rm", "bench", "--yes", "--discard-work", check=False)


if __name__ == "__main__":
    main()
    print("\n" + section())
    if common.WRITE:
        sections.put(section())
