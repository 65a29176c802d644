#!/usr/bin/env python3
"""bench.py BUILD: measures hutch against its peers in one run and prints one table (and writes doc/bench.md with --write).

Everything runs on this host, in one hutch of its own under HUTCH_HOME and one libvirt domain of its own, made from the same base:
the peers (sshd, qemu-guest-agent, the raw virtio-serial port, a plain `virsh start`) are those of that image.
"""
import json, os, re, shutil, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import egress, screen, sections
from common import BUILD, ENV, HOME, HUTCH, ROUNDS, SIZE, TOP, URI, WRITE, Peer, row, rows, run, setup_template, timed


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
        sections.put(text)


main()
egress.main()
print("\n" + egress.section())
if WRITE:
    sections.put(egress.section())
section = screen.measure(BUILD)
print("\n" + section)
if WRITE:
    sections.put(section)
