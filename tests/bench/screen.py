#!/usr/bin/env python3
"""screen.py BUILD: measures the screen against its peers in one run and prints one table (and puts it into doc/bench.md with --write).

hutchd is tests/lib/flood_hutchd (no machine is needed); every program runs in the terminal of tests/lib/screen_drive, which types keys and
knows from libvterm when the screen has what they asked for. bench.py runs this too. Peers: htop, tig, tmux (Debian's packages).
"""
import json, os, shutil, statistics, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sections

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADING = "## The screen"
PROJECTS, EVENTS, RATE = 200, 100000, 1000
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
KEYS = int(os.environ.get("BENCH_KEYS", "190"))
SIZE = int(os.environ.get("BENCH_PANE_BYTES", str(100 << 20)))
FRAME_MS = 16
SOCKET_S = 20


class Drive:
    """A program in a terminal of our own; see tests/lib/screen_drive.c for what can be told to it."""

    def __init__(self, bench, argv, rows=24, columns=80, **env):
        first = ["nice", "-n", "-20"] if bench.busy else []
        self.process = subprocess.Popen([*first, bench.program("tests/lib/screen_drive"), str(rows), str(columns), *argv],
                                        env=dict(bench.env, **env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.tell(line)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"screen_drive ended at \"{line}\"")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Bench:
    def __init__(self, build):
        self.build = build
        self.rows, self.notes = [], []
        self.work = tempfile.mkdtemp(prefix="hutch-bench-screen.")
        self.env = {k: v for k, v in os.environ.items() if k not in ("TMUX", "COLORTERM", "NO_COLOR", "HUTCH_UI_SCRIPT")}
        self.env.update(TERM="xterm-256color", LC_ALL="C.UTF-8", HUTCH_HOME=os.path.join(self.work, "home"))
        self.load = os.getloadavg()[0]
        # Other work on the host: what is measured, hutch and peers alike, goes before it, if that is allowed.
        self.busy = self.load > os.cpu_count() / 4 and os.geteuid() == 0

    def program(self, name):
        path = os.path.join(self.build, name)
        if not os.access(path, os.X_OK):
            raise SystemExit(f"{path} is not built: make -C {self.build} {name}")
        return path

    def peer(self, name):
        if shutil.which(name):
            return True
        self.notes.append(f"{name} is missing, so it was not measured: apt-get install {name}")
        print(self.notes[-1], flush=True)
        return False

    def row(self, what, ours, peer, theirs, unit, higher_is_better=False):
        ratio = ours / theirs if higher_is_better else theirs / ours if ours else float("inf")
        self.rows.append((what, f"{ours:.4g} {unit}", peer, f"{theirs:.4g} {unit}", f"{ratio:.2f}"))
        print(f"{what}: {ours:.4g} {unit}; {peer}: {theirs:.4g} {unit}; {ratio:.2f} times as good", flush=True)


class Flood:
    """The hutchd that is asked, and the screen in front of it."""

    def __init__(self, bench, **env):
        self.bench = bench
        home = bench.env["HUTCH_HOME"]
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(os.path.join(home, "run"), mode=0o700)
        self.process = subprocess.Popen([bench.program("tests/lib/flood_hutchd")],
                                        env=dict(bench.env, FLOOD_PROJECTS=str(PROJECTS), FLOOD_EVENTS=str(EVENTS - 1), **env))
        until = time.monotonic() + SOCKET_S
        while not os.path.exists(os.path.join(home, "run", "hutchd.sock")):
            if time.monotonic() > until:
                raise SystemExit("flood_hutchd does not start")
            time.sleep(0.02)

    def screen(self, rows=24, columns=80):
        return Drive(self.bench, [self.bench.program("hutch")], rows, columns)

    def close(self):
        self.process.kill()
        self.process.wait()


def cpu_s(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def git_repository(bench, commits=1000):
    """What tig shows."""
    repo = os.path.join(bench.work, "repo")
    subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True)
    stream = "".join(f"commit refs/heads/main\ncommitter bench <bench@localhost> {1700000000 + i} +0000\ndata {len(text)}\n{text}\n"
                     f"M 644 inline file-{i}\ndata 2\nx\n\n" for i in range(1, commits + 1) for text in [f"number {i} of the history"])
    subprocess.run(["git", "-C", repo, "fast-import", "--quiet"], input=stream, text=True, check=True)
    return repo


def peers_of_screens(bench):
    """(name, argv, what its first full frame ends with, the key for its help, what help shows, the key back)"""
    found = []
    if bench.peer("htop"):
        found.append(("htop", ["htop"], "F10Quit", "h", "GPL", "q"))
    if bench.peer("tig"):
        repo = git_repository(bench)
        found.append(("tig", ["env", "-C", repo, "tig"], "number 1000 of", "h", "[help]", "q"))
    return found


def start(bench, argv, text, rounds=None):
    """Median of ms to the first full frame, and of the process's own memory in MB a moment later."""
    times, memory = [], []
    for _ in range(rounds or ROUNDS):
        drive = Drive(bench, argv)
        times.append(drive.ask("see " + text)["see"])
        drive.tell("rest 500")
        memory.append(drive.ask("usage")["own_kb"] / 1024)
        drive.close()
    return statistics.median(times), statistics.median(memory)


def measure_start(bench, peers):
    flood = Flood(bench)
    ours = start(bench, [bench.program("hutch")], "part-99")
    flood.close()
    for name, argv, text, *_ in peers:
        theirs = start(bench, argv, text)
        bench.row("start to the first full frame", ours[0], name, theirs[0], "ms")
        bench.row("memory of its own after the start", ours[1], name, theirs[1], "MB")


def measure_keys(bench, peers):
    flood = Flood(bench, FLOOD_RATE=str(RATE), FLOOD_WHOLE="1")
    for rows, columns in ((24, 80), (60, 200)):
        drive = flood.screen(rows, columns)
        drive.ask("see > p000")
        drive.tell("rest 3000")  # all of the store is there
        drive.ask("usage")
        keys = drive.ask(f"walk {KEYS} j > p%d")
        cpu = drive.ask("usage")["cpu_ms"]
        what = f"key to frame, {PROJECTS} projects, {EVENTS} events and {RATE} a second, {columns}x{rows}"
        bound = "what must hold at p99"
        bench.row(what + ", median", keys["median_ms"], bound, FRAME_MS, "ms")
        bench.row(what + ", p99", keys["p99_ms"], bound, FRAME_MS, "ms")
        bench.row(what + ", processor time a key, the events' included", cpu / KEYS, bound, FRAME_MS, "ms")
        drive.close()
    flood.close()
    flood = Flood(bench, FLOOD_RATE=str(RATE), FLOOD_BYTES=str(1 << 40))
    drive = flood.screen()
    drive.ask("see > p000")
    drive.tell("type !")
    drive.tell("rest 1000")
    keys = drive.ask(f"toggle {KEYS // 2} \\x1d sends \\x1d")  # what the escape key can do, under the session's own rows
    drive.close()
    flood.close()
    what = f"key to frame while a session prints without end and {RATE} events come a second, 80x24"
    bench.row(what + ", median", keys["median_ms"], "what must hold at p99", FRAME_MS, "ms")
    bench.row(what + ", p99", keys["p99_ms"], "what must hold at p99", FRAME_MS, "ms")
    flood = Flood(bench)
    drive = flood.screen()
    drive.ask("see > p000")
    drive.tell("rest 500")
    toggles = drive.ask(f"toggle {KEYS // 4} ? Help q")
    drive.close()
    flood.close()
    for name, argv, text, on, shown, off in peers:
        drive = Drive(bench, argv)
        drive.ask("see " + text)
        drive.tell("rest 500")
        theirs = drive.ask(f"toggle {KEYS // 4} {on} {shown} {off}")
        drive.close()
        bench.row("key to frame at rest: help opened and closed, median", toggles["median_ms"], name, theirs["median_ms"], "ms")


def build_output(bench):
    """A build's output: plain lines, coloured ones, long and wide ones. Ends of lines as cat writes them, and as a terminal has them."""
    lines = []
    for i in range(20000):
        kind = i % 10
        if kind < 6:
            lines.append(f"  CC       src/base/part-{i * 7}.o\n")
        elif kind == 6:
            lines.append(f"\033[1m\033[32m   Compiling\033[0m crate-{i} v0.{i % 9}.{i % 17} (/home/agent/src/crate-{i})\n")
        elif kind == 7:
            lines.append(f"src/file-{i}.c:{i % 900}:{i % 70}: \033[35mwarning:\033[0m unused variable \u2018tmp{i}\u2019 [-Wunused-variable] "
                         "in a function of a name that is so long that it wraps around\n")
        elif kind == 8:
            lines.append(f"ok {i} - t{i:04}-basic.sh: \u2714 \u6d4b\u8bd5 passes\n")
        else:
            lines.append("\n")
    text = "".join(lines)
    times = max(1, SIZE // len(text.encode()))
    plain, terminal = os.path.join(bench.work, "cat.txt"), os.path.join(bench.work, "terminal.txt")
    with open(plain, "wb") as f:
        f.write(text.encode() * times)
    with open(terminal, "wb") as f:
        f.write(text.replace("\n", "\r\n").encode() * times)
    return plain, terminal


def measure_pane(bench):
    """Seconds from the key that starts it to its last line on the screen; of the processor, the program that has the pane."""
    plain, terminal = build_output(bench)
    size = os.path.getsize(plain) / 1e6
    ours, ours_cpu, theirs, theirs_cpu = [], [], [], []
    tmux = bench.peer("tmux")
    socket = os.path.join(bench.work, "tmux.sock")
    for _ in range(max(1, ROUNDS // 2)):
        flood = Flood(bench, FLOOD_FILE=terminal, FLOOD_BYTES=str(os.path.getsize(terminal)))
        drive = flood.screen()
        drive.ask("see > p000")
        drive.tell("rest 500")
        drive.ask("usage")
        drive.tell("type !")
        ours.append(size / drive.ask("see the flood is over")["see"] * 1000)
        ours_cpu.append(drive.ask("usage")["cpu_ms"] / 1000)
        drive.close()
        flood.close()
        if not tmux:
            continue
        drive = Drive(bench, ["tmux", "-S", socket, "-f", "/dev/null", "new", f"read -r key; cat {plain}; echo the flood is over; sleep 60"],
                      SCREEN_DRIVE_S="120")
        drive.tell("rest 1000")
        drive.ask("usage")
        pid = int(subprocess.run(["tmux", "-S", socket, "display", "-p", "#{pid}"], stdout=subprocess.PIPE, env=bench.env, check=True).stdout)
        before = cpu_s(pid)
        drive.tell("type \\r")
        theirs.append(size / drive.ask("see the flood is over")["see"] * 1000)
        theirs_cpu.append(cpu_s(pid) - before)
        subprocess.run(["tmux", "-S", socket, "kill-server"], env=bench.env, stderr=subprocess.DEVNULL)
        drive.close()
    if tmux:
        what = f"{size:.0f} MB of a build's output through a terminal's pane"
        bench.row(what, statistics.median(ours), "cat in tmux's pane", statistics.median(theirs), "MB/s", True)
        bench.row(what + ", processor time", statistics.median(ours_cpu), "tmux's server", statistics.median(theirs_cpu), "s")


def measure_hour(bench):
    """Bytes that the screen writes in an hour of a busy project: the model's clock is the test's, an hour takes seconds."""
    seconds = 20
    hour = json.loads(subprocess.run([bench.program("tests/bench/screen_hour")], env=bench.env, stdout=subprocess.PIPE, check=True).stdout)
    bench.notes.append(f"The hour is replayed with a clock of its own: {hour['events']} events of one project, {hour['frames']} frames.")
    if not bench.peer("htop"):
        return
    drive = Drive(bench, ["htop"])
    drive.ask("see F10Quit")
    drive.tell("rest 1000")
    drive.ask("usage")
    drive.tell(f"rest {seconds * 1000}")
    theirs = drive.ask("usage")["bytes"] * 3600 / seconds
    drive.close()
    bench.row("bytes written to the terminal in an hour of a busy project, 80x24", hour["bytes"] / 1e6, f"htop, {seconds} s times {3600 // seconds}",
              theirs / 1e6, "MB")


def measure(build):
    """All of it; the section of doc/bench.md."""
    bench = Bench(build)
    try:
        peers = peers_of_screens(bench)
        measure_start(bench, peers)
        measure_keys(bench, peers)
        measure_pane(bench)
        measure_hour(bench)
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    load = max(bench.load, os.getloadavg()[0])
    busy = f" Other work ran on the host meanwhile (load {load:.1f} on {os.cpu_count()} cores): times on the clock are longer than they would be"
    busy += ", though all programs that are measured ran at nice -20." if bench.busy else "."
    lines = [HEADING, "", "Made by `make bench-screen` (and `make bench`): real programs in a terminal that types keys and sees by libvterm when the "
             "answer is there; hutchd is the tests' `flood_hutchd`." + (busy if load > os.cpu_count() / 2 else ""), ""]
    lines += [f"{time.strftime('%Y-%m-%d')}. {note}" for note in bench.notes] + ([""] if bench.notes else [])
    lines += ["| what | hutch | peer | peer's | times as good |", "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(r) + " |" for r in bench.rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = measure(os.path.abspath(sys.argv[1]))
    print("\n" + text)
    if "--write" in sys.argv:
        sections.put(text)
