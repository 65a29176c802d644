#!/usr/bin/env python3
"""git.py BUILD: measures git into and out of a machine against git over ssh with the same machine, and what a review shows against git, less
and tig, in one run; prints one table (and puts it into doc/bench.md with --write).

A repository of many commits and one of many bytes come in (`hutch up --repo`: mirror, push, work tree) and what was made in the machine
comes out (`hutch git fetch`: collected, checked object by object, measured). The peer pushes and clones by ssh through `hutch nc`, so that
both use the same channel; it checks nothing. Peers of the review: Debian's git, less, tig.
"""
import json, os, random, shutil, statistics, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common, sections
from common import BUILD, ENV, HOME, HUTCH, run, setup_template, timed
from screen import Drive

HEADING = "## Git"
ROUNDS = int(os.environ.get("BENCH_GIT_ROUNDS", "3"))
COMMITS = int(os.environ.get("BENCH_COMMITS", "10000"))
BYTES = int(os.environ.get("BENCH_REPO_BYTES", str(500 << 20)))
DIFF_BYTES = int(os.environ.get("BENCH_DIFF_BYTES", str(5 << 20)))
FILES = int(os.environ.get("BENCH_FILES", "10000"))
BLOB = 1 << 20
PORT = 22
table, notes = [], []


def line(what, ours, peer_name, peer, unit="s"):
    """Less is better."""
    a, b = statistics.median(ours), statistics.median(peer)
    table.append((what, f"{a:.4g} {unit}", peer_name, f"{b:.4g} {unit}", f"{b / a:.2f}"))
    print(" | ".join(table[-1]), flush=True)


# ---- repositories ----


def stream(path, text):
    run("git", "init", "-q", "--bare", "-b", "main", path)
    subprocess.run(["git", "--git-dir", path, "fast-import", "--quiet"], input=text, check=True, stdout=subprocess.DEVNULL)


def commit(number, ref, files, base=None):
    head = f"commit {ref}\ncommitter b <b@localhost> {1700000000 + number} +0000\ndata 8\ncommit.\n\n".encode()
    out = [head, f"from {base}\n".encode() if base else b""]
    for name, data in files:
        out.append(f"M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n")
    return b"".join(out)


def many_commits(path, count, ref="refs/heads/main", first=0, base=None):
    """Fast-import's words of so many small commits."""
    return b"".join(commit(first + n, ref, [(f"d{n % 50}/f{n % 997}", f"{first + n}\n".encode() * 20)], base if n == 0 else None)
                    for n in range(count))


def make_repositories(work):
    """The two that come in; each round takes a copy of another name, for which the objects are hard links."""
    rnd = random.Random(1)
    commits, large = os.path.join(work, "commits.git"), os.path.join(work, "large.git")
    stream(commits, many_commits(commits, COMMITS))
    run("git", "init", "-q", "--bare", "-b", "main", large)
    blobs = max(1, BYTES // BLOB)
    with subprocess.Popen(["git", "--git-dir", large, "fast-import", "--quiet"], stdin=subprocess.PIPE) as feed:
        feed.stdin.write(b"commit refs/heads/main\ncommitter b <b@localhost> 1700000000 +0000\ndata 5\nlarge\n")
        for n in range(blobs):
            data = rnd.randbytes(min(BLOB, BYTES))
            feed.stdin.write(f"M 100644 inline blob{n}\ndata {len(data)}\n".encode() + data + b"\n")
        feed.stdin.write(b"done\n")
    return {"commits": commits, "large": large}


def copies(work, name, source):
    out = []
    for n in range(ROUNDS):
        out.append(os.path.join(work, f"{name}{n}.git"))
        run("git", "clone", "-q", "--bare", "--local", source, out[-1])
    return out


# ---- both ways ----


def guest(script, *words, user="agent"):
    return run(HUTCH, "exec", "bench", "-u", user, "--", "sh", "-ec", script, "sh", *words).decode().strip()


class Ssh:
    """The peer: an sshd of the machine, reached through hutch's own channel."""

    name = "git over ssh, the same machine"

    def __init__(self, work):
        self.key = os.path.join(work, "key")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        guest("mkdir -p ~/.ssh && printf '%s\\n' \"$1\" >~/.ssh/authorized_keys && chmod -R go= ~/.ssh", open(self.key + ".pub").read().strip())
        guest("ssh-keygen -A >/dev/null; mkdir -p /run/sshd; pgrep -x sshd >/dev/null || /usr/sbin/sshd", user="root")
        self.env = dict(ENV, GIT_SSH_COMMAND=f"ssh -i {self.key} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
                        f"-o ProxyCommand='{HUTCH} nc bench {PORT}'")

    def url(self, path):
        return f"ssh://agent@bench{path}"

    def git(self, *words):
        subprocess.run(["git", *words], env=self.env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def clone_in(self, source, name):
        guest("git init -q --bare -b main \"$1\"", f"/home/agent/peer/{name}.git")
        self.git("--git-dir", source, "push", "-q", self.url(f"/home/agent/peer/{name}.git"), "main")
        guest("git clone -q \"$1.git\" \"$1\"", f"/home/agent/peer/{name}")


def measure_in(work, ssh, sources):
    for what, source, words in (("commits", sources["commits"], f"clone in of {COMMITS} commits"),
                                ("large", sources["large"], f"clone in of {BYTES >> 20} MiB")):
        ours, theirs = [], []
        for n, path in enumerate(copies(work, what, source)):
            ours += timed(lambda: run(HUTCH, "up", "bench", "--repo", path), 1)
            theirs += timed(lambda: ssh.clone_in(path, f"{what}{n}"), 1)
        line(words, ours, ssh.name, theirs)


def measure_out(work, ssh):
    """A branch with as many commits, and one with as many bytes, that were made in the machine."""
    feed = os.path.join(work, "feed")
    for what, size, words in (("commits", 0, f"fetch out of {COMMITS} commits"), ("large", BYTES, f"fetch out of {BYTES >> 20} MiB")):
        ours, theirs = [], []
        for n in range(ROUNDS):
            tree, ref = f"/home/agent/{what}{n}", "refs/heads/made"
            if size:
                guest("cd \"$1\" && git switch -qc made && head -c \"$2\" /dev/urandom | split -b 1M - new && git add -A && git -c user.name=b -c "
                      "user.email=b@localhost commit -qm made", tree, str(size))
            else:
                base = run("git", "--git-dir", os.path.join(work, f"{what}{n}.git"), "rev-parse", "main").decode().strip()
                open(feed, "wb").write(many_commits(None, COMMITS, ref, COMMITS, base))
                run(HUTCH, "cp", feed, "bench:/tmp/feed")
                guest("cd \"$1\" && git fast-import --quiet </tmp/feed", tree)
            guest("cd \"$1\" && git -c core.hooksPath=/dev/null push -q /var/lib/hutch/git/$2.git made", tree, f"{what}{n}")
            mirror = os.path.join(work, f"out-{what}{n}.git")
            run("git", "clone", "-q", "--bare", "--local", os.path.join(work, f"{what}{n}.git"), mirror)
            theirs += timed(lambda: ssh.git("--git-dir", mirror, "fetch", "-q", ssh.url(f"/var/lib/hutch/git/{what}{n}.git"), "made:made"), 1)
            ours += timed(lambda: run(HUTCH, "git", "fetch", "bench"), 1)
        line(words, ours, ssh.name + ", nothing checked", theirs)


# ---- the review ----


def make_review(work):
    """A repository whose branch "wide" changes many files and whose branch "long" has a large diff; both are pushed in the machine."""
    path = os.path.join(work, "review.git")
    names = [f"dir{n % 100}/file{n}" for n in range(FILES)]
    length = DIFF_BYTES // 40
    feed = commit(0, "refs/heads/main", [(n, b"one\n") for n in names] + [("long", b"".join(b"line %08d of the text\n" % n for n in range(length)))])
    feed += commit(1, "refs/heads/wide", [(n, b"two\n") for n in names], "refs/heads/main")
    feed += commit(2, "refs/heads/long", [("long", b"".join(b"row %08d of the text\n" % n for n in range(length)))], "refs/heads/main")
    stream(path, feed)
    source = os.path.join(work, "source", "review.git")
    os.makedirs(os.path.dirname(source))
    run("git", "clone", "-q", "--bare", "--single-branch", path, source)
    run(HUTCH, "up", "bench", "--repo", source)
    run(HUTCH, "cp", path, "bench:/tmp/")
    guest("git -c safe.directory='*' --git-dir /tmp/review.git push -q /var/lib/hutch/git/review.git wide long")
    run(HUTCH, "git", "fetch", "bench")
    return path


class Bench:
    """What Drive asks of a bench."""

    busy, env = False, dict(ENV, TERM="xterm-256color", LC_ALL="C.UTF-8")

    def program(self, name):
        return os.path.join(BUILD, name)


END, TOP_KEY = "\\x1bOF", "\\x1bOH"  # the keys End and Home, which less and tig both have


def scene(argv, shown, search, found):
    """Milliseconds until the first screen is there, until its end after a key, and until a text is found from the top."""
    drive = Drive(Bench(), ["sh", "-c", argv], 40, 120)
    times = [drive.ask("see " + shown)["see"]]
    for keys, text in ((END, f"{found:08d}"), (TOP_KEY, shown), (search + "\\r", f"{found:08d}")):
        drive.tell("rest 200")
        drive.ask("usage")  # it is over
        begin = time.monotonic()
        drive.tell("type " + keys)
        drive.ask("see " + text)
        times.append((time.monotonic() - begin) * 1000)
    drive.close()
    return [times[0], times[1], times[3]]


def measure_review(work):
    path = make_review(work)
    git = ("git", "--git-dir", path)
    quiet = {"stdout": subprocess.DEVNULL, "check": True, "env": ENV}
    line(f"list of {FILES} changed files", timed(lambda: subprocess.run([HUTCH, "git", "diff", "bench", "wide", "--repo", "review", "--stat"], **quiet), ROUNDS),
         "git diff --stat", timed(lambda: subprocess.run([*git, "diff", "--stat", "main", "wide"], **quiet), ROUNDS))
    line(f"a diff of {DIFF_BYTES >> 10} KiB, whole", timed(lambda: subprocess.run([HUTCH, "git", "diff", "bench", "long", "--repo", "review"], **quiet), ROUNDS),
         "git diff", timed(lambda: subprocess.run([*git, "diff", "main", "long"], **quiet), ROUNDS))
    last = DIFF_BYTES // 40 - 1
    views = {"hutch": f"{HUTCH} git diff bench long --repo review | less",
             "git diff in less": f"git --git-dir {path} diff main long | less"}
    if shutil.which("tig"):
        views["tig"] = f"GIT_DIR={path} tig show long"
    got = {name: [scene(argv, "00000000", f"/row {last:08d}", last) for _ in range(ROUNDS)] for name, argv in views.items()}
    for n, words in enumerate(("open", "go to its end", "search its last line")):
        for name in views:
            if name != "hutch":
                line(f"a diff of {DIFF_BYTES >> 10} KiB: {words}", [t[n] for t in got["hutch"]], name, [t[n] for t in got[name]], "ms")


def section():
    lines = [HEADING, "", "Made by `make bench-git`: repositories into hutch's machine and out of it, against git over ssh with that machine, through the same "
             "channel; hutch checks each object that comes out (fsck, limits), the peer none. Reviews: `hutch git diff` in less against git's and tig. Medians "
             f"of {ROUNDS} rounds. {time.strftime('%Y-%m-%d')}, load at the start {notes[0] if notes else '?'}.", "",
             "| what | hutch | peer | peer's | times as good |", "|---|---|---|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in table]) + "\n"


def main():
    notes.append(f"{os.getloadavg()[0]:.1f}")
    os.makedirs(HOME, exist_ok=True)
    os.chmod(HOME, 0o711)
    setup_template()
    run(HUTCH, "template", "build", "bench")
    run(HUTCH, "rm", "bench", "--yes", "--discard-work", check=False)
    run(HUTCH, "up", "bench", "-t", "bench", "--memory", "2G", "--cpus", "2")
    work = tempfile.mkdtemp(prefix="hutch-bench-git.", dir="/var/tmp")
    try:
        ssh = Ssh(work)
        measure_in(work, ssh, make_repositories(work))
        measure_out(work, ssh)
        measure_review(work)
    finally:
        run(HUTCH, "rm", "bench", "--yes", "--discard-work", check=False)
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
    print("\n" + section())
    if common.WRITE:
        sections.put(section())
