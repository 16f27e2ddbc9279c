"""What the checks written in Python share: the files of the tree, C code without its comments, the verdict."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

TOKEN = re.compile(r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.S | re.X)


def files(*patterns):
    """The files that match, those not yet committed too, as paths from the root."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard", "--", *patterns], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    paths = sorted(set(os.fsdecode(path) for path in listed.stdout.split(b"\0") if path))
    return [path for path in paths if os.path.isfile(os.path.join(ROOT, path))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def code_of(text, keep_strings=False):
    """C code without comments and, unless asked for, without the contents of strings; every line keeps its number."""
    def blank(match):
        token = match.group()
        if token[0] in "\"'":
            return token if keep_strings else token[0] * 2
        return " " + "\n" * token.count("\n")
    return TOKEN.sub(blank, text)


def finish(faults, passed=None):
    """Prints the faults and the verdict that scripts/test reads, and ends the program. A check of the whole tree counts
    once if it passes, and as often as it found a fault if not."""
    for fault in faults:
        print(fault)
    if passed is None:
        passed = 0 if faults else 1
    print(f"{passed} passed, {len(faults)} failed")
    sys.exit(1 if faults else 0)
