#!/usr/bin/env python3
"""bench.py BUILD: measures hutch against its peers in one run and prints one table (and writes doc/bench.md with --write).

Everything runs on this host, in one hutch of its own under HUTCH_HOME and one libvirt domain of its own, made from the same base:
the peers (sshd, qemu-guest-agent, the raw virtio-serial port, a plain `virsh start`) are those of that image.
"""
import json, os, re, shutil, socket, statistics, subprocess, sys, tempfile, threading, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import screen

BUILD = os.path.abspath(sys.argv[1])
WRITE = "--write" in sys.argv
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SIZE = int(os.environ.get("BENCH_BYTES", str(256 << 20)))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOT = os.geteuid() == 0
HOME = os.environ.get("HUTCH_HOME") or ("/var/lib/hutch-bench" if ROOT else os.path.expanduser("~/.hutch-bench"))
URI = "qemu:///system" if ROOT else "qemu:///session"
ENV = dict(os.environ, HUTCH_HOME=HOME)
HUTCH = os.path.join(BUILD, "hutch")
rows = []


def run(*argv, check=True, **kw):
    result = subprocess.run(argv, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=kw.pop("stdin", subprocess.DEVNULL), **kw)
    if check and result.returncode != 0:
        raise SystemExit(f"{' '.join(argv)}: status {result.returncode}\n{result.stderr.decode(errors='replace')[-2000:]}")
    return result.stdout


def timed(fn, rounds=None):
    """Seconds of each round; the median is what counts."""
    out = []
    for _ in range(rounds or ROUNDS):
        start = time.monotonic()
        fn()
        out.append(time.monotonic() - start)
    return out


def row(what, ours, peer_name, peer, unit, higher_is_better=False):
    a, b = statistics.median(ours), statistics.median(peer)
    ratio = a / b if higher_is_better else b / a
    rows.append((what, f"{a:.4g} {unit}", peer_name, f"{b:.4g} {unit}", f"{ratio:.2f}", len(ours)))
    print(f"{what}: {a:.4g} {unit}; {peer_name}: {b:.4g} {unit}; {ratio:.2f} times as good", flush=True)


def setup_template():
    folder = os.path.join(HOME, "config", "templates")
    os.makedirs(folder, exist_ok=True)
    text = open(os.path.join(TOP, "templates", "debian-13.ini")).read()
    text = text.replace("\n    openssh-client\n", "\n    openssh-client\n    openssh-server\n    qemu-guest-agent\n")
    # For the peer, who is found by its login prompt; hutch's machine has it too then. sshd makes its keys when it is asked
    # for, not in each first boot that is measured.
    text += "\n[setup getty]\nrun = rm -f /etc/systemd/system/serial-getty@ttyS0.service; systemctl disable ssh.service\n"
    with open(os.path.join(folder, "bench.ini"), "w") as f:
        f.write(text)


class Peer:
    """The same base under plain libvirt: qemu-guest-agent and a raw port instead of hutch's channel."""

    def __init__(self, base):
        self.dir = os.path.join(HOME, "peer")
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir, mode=0o755)
        self.disk = os.path.join(self.dir, "disk.qcow2")
        self.raw = os.path.join(self.dir, "raw.sock")
        self.console = os.path.join(self.dir, "console.log")
        self.name = "hutch-bench-peer"
        self.base = base
        self.fresh_disk()
        kvm = os.access("/dev/kvm", os.R_OK | os.W_OK)
        # the same processor as hutch's machines have: doc/decisions/machine.md says why not all of it
        cpu = "<cpu mode='host-passthrough'/>" if kvm else "<cpu mode='maximum'>" + "".join(
            f"<feature policy='disable' name='{name}'/>" for name in ("la57", "svm", "vmx")) + "</cpu>"
        xml = f"""<domain type='{'kvm' if kvm else 'qemu'}'><name>{self.name}</name><memory unit='MiB'>1024</memory><vcpu>2</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type><kernel>{base}/kernel</kernel><initrd>{base}/initrd</initrd>
<cmdline>root=/dev/vda rw console=ttyS0 quiet rootflags=noinit_itable</cmdline></os><features><acpi/></features>
{cpu}<devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='{self.disk}'/><target dev='vda' bus='virtio'/></disk>
<serial type='file'><source path='{self.console}'/><target port='0'/></serial>
<channel type='unix'><source mode='bind'/><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
<channel type='unix'><source mode='bind' path='{self.raw}'/><target type='virtio' name='org.bench.raw'/></channel>
<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
</devices></domain>"""
        path = os.path.join(self.dir, "peer.xml")
        open(path, "w").write(xml)
        run("virsh", "-q", "-c", URI, "destroy", self.name, check=False)
        run("virsh", "-q", "-c", URI, "define", path)

    def fresh_disk(self):
        if os.path.exists(self.disk):
            os.unlink(self.disk)
        run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", os.path.join(self.base, "disk.qcow2"), self.disk)
        os.chmod(self.disk, 0o666)

    def virsh(self, *argv, check=True):
        return run("virsh", "-q", "-c", URI, *argv, check=check)

    def start_to_login(self):
        """A first start, as hutch's `up` is one; returns its seconds."""
        self.virsh("destroy", self.name, check=False)
        self.fresh_disk()
        begin = time.monotonic()
        if os.path.exists(self.console):
            os.unlink(self.console)
        self.virsh("start", self.name)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                if "login:" in open(self.console, errors="replace").read():
                    return time.monotonic() - begin
            except FileNotFoundError:
                pass
            time.sleep(0.02)
        raise SystemExit("the peer's login prompt did not come")

    def agent(self, command, **arguments):
        text = json.dumps({"execute": command, **({"arguments": arguments} if arguments else {})})
        return json.loads(self.virsh("qemu-agent-command", self.name, text))["return"]

    def wait_agent(self):
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            if subprocess.run(["virsh", "-q", "-c", URI, "qemu-agent-command", self.name, '{"execute":"guest-ping"}'],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.2)
        raise SystemExit("qemu-guest-agent did not come up")

    def execute(self, path, *args):
        pid = self.agent("guest-exec", path=path, arg=list(args))["pid"]
        while not self.agent("guest-exec-status", pid=pid)["exited"]:
            time.sleep(0.005)

    def start_command(self, shell):
        self.agent("guest-exec", path="/bin/sh", arg=["-c", shell])

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.raw)
        return s

    def raw_out(self):
        """Guest to host: bytes a second of the raw port, /dev/zero through dd in 64 KiB."""
        s = self.connect()
        self.start_command(f"dd if=/dev/zero of=/dev/virtio-ports/org.bench.raw bs=65536 count={SIZE // 65536} 2>/dev/null")
        got, start = 0, None
        while got < SIZE:
            data = s.recv(1 << 20)
            start = start or time.monotonic()
            got += len(data)
        s.close()
        return SIZE / (time.monotonic() - start) / 1e6

    def raw_in(self):
        s = self.connect()
        self.start_command(f"head -c {SIZE} </dev/virtio-ports/org.bench.raw >/dev/null; echo done >/dev/virtio-ports/org.bench.raw")
        time.sleep(1)  # the reader must have the port open: what is written before is the same, only buffered
        block, sent, start = b"\0" * (1 << 20), 0, time.monotonic()
        while sent < SIZE:
            sent += s.send(block[:SIZE - sent])
        s.recv(64)
        s.close()
        return SIZE / (time.monotonic() - start) / 1e6

    def remove(self):
        self.virsh("destroy", self.name, check=False)
        self.virsh("undefine", self.name, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


def ssh_setup():
    key = os.path.join(HOME, "bench-key")
    if not os.path.exists(key):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    run(HUTCH, "exec", "bench", "--", "mkdir", "-p", "-m", "700", "/home/agent/.ssh")
    run(HUTCH, "cp", key + ".pub", "bench:/home/agent/.ssh/authorized_keys")
    run(HUTCH, "exec", "-u", "root", "bench", "--", "sh", "-c", "systemctl start ssh; systemctl is-active ssh")
    return ["ssh", "-F", "none", "-i", key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
            "-o", f"ProxyCommand={HUTCH} nc bench 22"]


def exec_rates():
    """Bytes through `exec cat` each way, MB/s."""
    def out():
        p = subprocess.Popen([HUTCH, "exec", "bench", "--", "head", "-c", str(SIZE), "/dev/zero"], env=ENV, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        got, start = 0, None
        while True:
            data = p.stdout.read1(1 << 20)
            if not data:
                break
            start = start or time.monotonic()
            got += len(data)
        assert p.wait() == 0 and got == SIZE
        return SIZE / (time.monotonic() - start) / 1e6

    def into():
        with tempfile.TemporaryFile() as f:
            f.truncate(SIZE)
            start = time.monotonic()
            p = subprocess.run([HUTCH, "exec", "bench", "--", "wc", "-c"], env=ENV, stdin=f, stdout=subprocess.PIPE)
            assert p.returncode == 0 and int(p.stdout) == SIZE
            return SIZE / (time.monotonic() - start) / 1e6
    return [out() for _ in range(ROUNDS)], [into() for _ in range(ROUNDS)]


def source_tree():
    """A real source tree as a repository: the first of some Debian source packages that the host's apt can fetch."""
    repo = os.path.join(HOME, "cache", "bench-source")
    if os.path.isdir(os.path.join(repo, ".git")):
        return repo
    work = tempfile.mkdtemp(dir=HOME)
    sources = ""
    for root, _, files in os.walk("/etc/apt"):
        for name in files:
            if name.endswith(".sources"):
                sources += open(os.path.join(root, name), errors="replace").read() + "\n\n"
    match = re.search(r"^URIs:\s*(\S+/debian)/?\s*$", sources, re.M)
    suite = re.search(r"^Suites:\s*(\S+)", sources, re.M)
    if not match:
        raise SystemExit("no Debian archive in the host's apt sources (deb822)")
    with open(os.path.join(work, "list"), "w") as f:
        f.write(f"deb-src {match.group(1)} {suite.group(1)} main\n")
    os.makedirs(os.path.join(work, "lists", "partial"))
    options = ["-o", f"Dir::Etc::SourceList={work}/list", "-o", "Dir::Etc::SourceParts=/dev/null", "-o", f"Dir::State::Lists={work}/lists"]
    run("apt-get", *options, "-qq", "update")
    run("apt-get", *options, "-qq", "source", "--download-only", "git", cwd=work)
    archive = [n for n in os.listdir(work) if ".orig.tar" in n and not n.endswith(".asc")][0]
    os.makedirs(repo, exist_ok=True)
    run("tar", "-C", repo, "--strip-components=1", "-xf", os.path.join(work, archive))
    run("git", "-C", repo, "init", "-q", "-b", "main")
    run("git", "-C", repo, "add", "-A", "-f")
    run("git", "-C", repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "import")
    shutil.rmtree(work)
    return repo


def main():
    os.makedirs(HOME, exist_ok=True)
    os.chmod(HOME, 0o711)
    setup_template()
    run(HUTCH, "template", "build", "bench")
    for name in ("bench", "clone"):
        run(HUTCH, "rm", name, "--yes", "--discard-work", check=False)
    run(HUTCH, "up", "bench", "-t", "bench", "--memory", "1G", "--cpus", "2")
    base = os.path.join(HOME, "data", "bases", json.loads(run(HUTCH, "show", "bench", "--json"))["base"])
    peer = Peer(base)
    try:
        measure(peer)
    finally:
        peer.remove()
        for name in ("bench", "clone"):
            run(HUTCH, "rm", name, "--yes", "--discard-work", check=False)
    report()


def measure(peer):
    ssh = ssh_setup()
    true = timed(lambda: run(HUTCH, "exec", "bench", "--", "true"), 4 * ROUNDS)
    row("exec true, round trip", [x * 1000 for x in true], "ssh VM true (sshd over a bulk stream)",
        [x * 1000 for x in timed(lambda: run(*ssh, "agent@bench", "true"))], "ms")
    kept = ssh + ["-o", "ControlPath=" + os.path.join(HOME, "kept"), "-o", "ControlMaster=auto", "-o", "ControlPersist=60"]
    run(*kept, "agent@bench", "true")
    row("exec true, round trip", [x * 1000 for x in true], "ssh VM true on a kept connection (ControlMaster)",
        [x * 1000 for x in timed(lambda: run(*kept, "agent@bench", "true"), 4 * ROUNDS)], "ms")
    run(*kept, "-O", "exit", "agent@bench", check=False)
    out, into = exec_rates()
    repo = source_tree()

    def clone():
        run(HUTCH, "rm", "clone", "--yes", "--discard-work", check=False)
        run(HUTCH, "up", "clone", "-t", "bench", "--memory", "1G")
        start = time.monotonic()
        run(HUTCH, "up", "clone", "--repo", repo)
        return time.monotonic() - start

    def clone_ssh():
        run(*ssh, "agent@bench", "rm -rf peer.git peer; git init -q --bare peer.git")
        start = time.monotonic()
        subprocess.run(["git", "-C", repo, "push", "-q", "ssh://agent@bench/home/agent/peer.git", "main"],
                       env=dict(ENV, GIT_SSH_COMMAND=" ".join(f"'{a}'" for a in ssh)), check=True)
        run(*ssh, "agent@bench", "git clone -q peer.git peer -b main")
        return time.monotonic() - start
    ours = [clone() for _ in range(ROUNDS)]
    run(HUTCH, "rm", "clone", "--yes", "--discard-work", check=False)
    row("clone of git's source tree into the VM", ours, "git over ssh into the same VM", [clone_ssh() for _ in range(ROUNDS)], "s")

    def up():
        run(HUTCH, "rm", "clone", "--yes", "--discard-work", check=False)
        start = time.monotonic()
        run(HUTCH, "up", "clone", "-t", "bench", "--memory", "1G", "--cpus", "2")
        run(HUTCH, "exec", "clone", "--", "true")
        return time.monotonic() - start
    run(HUTCH, "stop", "bench")
    ups = [up() for _ in range(ROUNDS)]
    run(HUTCH, "rm", "clone", "--yes", "--discard-work", check=False)
    row("up of a ready base to first command", ups, "virsh start of the same image to its login prompt", [peer.start_to_login() for _ in range(ROUNDS)], "s")
    peer.wait_agent()
    row("exec true, round trip", [x * 1000 for x in true], "qemu-guest-agent guest-exec",
        [x * 1000 for x in timed(lambda: peer.execute("/bin/true"), 4 * ROUNDS)], "ms")
    row(f"{SIZE >> 20} MiB out of the VM through exec", out, "raw virtio-serial port", [peer.raw_out() for _ in range(ROUNDS)], "MB/s", True)
    row(f"{SIZE >> 20} MiB into the VM through exec", into, "raw virtio-serial port", [peer.raw_in() for _ in range(ROUNDS)], "MB/s", True)


def report():
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    versions = run("virsh", "-c", URI, "version").decode()
    qemu = re.search(r"hypervisor: (.*)", versions).group(1)
    libvirt = re.search(r"library: (.*)", versions).group(1)
    kvm = "KVM" if os.access("/dev/kvm", os.R_OK | os.W_OK) else "no /dev/kvm: software emulation"
    lines = ["# Measurements", "", "Made by `make bench`: each line against its peer in the same run, on the same image, median of the rounds.",
             "\"times as good\" over 1 means that hutch is the better one.", "",
             f"Host: {cpu}, {os.cpu_count()} cores, {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 30} GiB, Linux {os.uname().release.split('-')[0]}, "
             f"{qemu}, {libvirt}, {URI}, {kvm}. Guests: 1 GiB, 2 CPUs. {time.strftime('%Y-%m-%d')}.", "",
             "| what | hutch | peer | peer's | times as good | rounds |", "|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(str(c) for c in r) + " |" for r in rows]
    text = "\n".join(lines) + "\n"
    print("\n" + text)
    if WRITE:
        screen.put_machines(text)


main()
section = screen.measure(BUILD)
print("\n" + section)
if WRITE:
    screen.put(section)
