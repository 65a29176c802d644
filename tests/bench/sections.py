"""doc/bench.md in sections: each measurement replaces its own."""
import os

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "doc", "bench.md")


def put(text):
    """text begins with its heading: "# …" is what stands above all "## …"."""
    old = open(PATH).read() if os.path.exists(PATH) else "# Measurements\n"
    parts, heading = [], text.split("\n", 1)[0]
    for line in old.splitlines(keepends=True):
        if line.startswith("## ") or not parts:
            parts.append("")
        parts[-1] += line
    parts = [p.rstrip("\n") + "\n" for p in parts]
    at = next((i for i, p in enumerate(parts) if p.split("\n", 1)[0] == heading), None)
    if at is None:
        parts.append(text)
    else:
        parts[at] = text.rstrip("\n") + "\n"
    with open(PATH, "w") as f:
        f.write("\n".join(parts))
