"""What the measurements with machines share: this hutch of theirs, and the peer, a domain of the same image under plain libvirt."""
import base64, json, os, shutil, socket, statistics, subprocess, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

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
AGENT_BLOCK = 64 << 10  # bytes of a file that go into the peer at a time


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

    def __init__(self, base, card=False):
        """card: with a network card of QEMU's user-mode network, which hutch's machines have not."""
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
{"<interface type='user'><model type='virtio'/></interface>" if card else ""}<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
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

    def execute(self, path, *args, **more):
        """Runs it to its end; what it wrote, if capture-output was asked for."""
        pid = self.agent("guest-exec", path=path, arg=list(args), **more)["pid"]
        while not (status := self.agent("guest-exec-status", pid=pid))["exited"]:
            time.sleep(0.005)
        return base64.b64decode(status.get("out-data", "")).decode()

    def put(self, path, to):
        """A program of ours into it."""
        data = open(path, "rb").read()
        for at in range(0, len(data), AGENT_BLOCK):
            self.execute("/bin/sh", "-c", f"cat {'>>' if at else '>'}{to}", **{"input-data": base64.b64encode(data[at:at + AGENT_BLOCK]).decode()})
        self.execute("/bin/chmod", "755", to)

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
