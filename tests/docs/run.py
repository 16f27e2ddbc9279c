#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of the documentation and compares what they print.

usage: run.py SOURCE_DIR BUILD_DIR [FILE.md ...]

A fenced block whose first line is ```sh run or ```c run is run; the ```output block behind it is what it must print on
stdout. A ```json config block must pass `alineo config check`; a ```json bad block must not. Each page has a state folder of its own.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.M | re.S)


class Page:
    def __init__(self, source, build, path):
        self.source, self.build, self.path = source, build, path
        self.folder = tempfile.mkdtemp(prefix="alineo-docs-")
        self.env = dict(os.environ)
        self.env["PATH"] = os.path.join(build, "bin") + ":" + self.env["PATH"]
        self.env["ALINEO_HOME"] = os.path.join(self.folder, "home")
        self.env["HOME"] = self.folder
        for name in ("ALINEO_CONFIG", "ALINEO_PROVIDER", "ALINEO_STORAGE", "ALINEO_PLUGIN_PATH", "XDG_CONFIG_HOME"):
            self.env.pop(name, None)
        self.count = self.failed = 0

    def run(self, argv, **more):
        return subprocess.run(argv, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, **more)

    def check(self, line, result, expected):
        self.count += 1
        good = result.returncode == 0 and (expected is None or result.stdout == expected)
        if not good:
            self.failed += 1
            print(f"{self.path}:{line}: exit code {result.returncode}\n--- printed\n{result.stdout}--- expected\n"
                  f"{expected or ''}--- stderr\n{result.stderr}")

    def run_c(self, line, text, expected):
        with open(os.path.join(self.folder, "example.c"), "w", encoding="utf-8") as f:
            f.write(text)
        lib = os.path.join(self.build, "lib")
        result = self.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic",
                           "-Werror", "-I", os.path.join(self.source, "include"), "example.c", "-o", "example", "-L", lib,
                           "-lalineo", f"-Wl,-rpath,{lib}"])
        if result.returncode == 0:
            result = self.run(["./example"])
        self.check(line, result, expected)

    def run_config(self, line, text, good):
        path = os.path.join(self.folder, "example.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        result = self.run(["alineo", "config", "check", path])
        if not good:
            result.returncode = 0 if result.returncode != 0 and "CONFIG" in result.stderr else 1
        self.check(line, result, None)

    def run_all(self):
        with open(self.path, encoding="utf-8") as f:
            text = f.read()
        blocks = [(text.count("\n", 0, m.start()) + 1, m.group(1).strip(), m.group(2)) for m in FENCE.finditer(text)]
        for i, (line, info, body) in enumerate(blocks):
            expected = blocks[i + 1][2] if i + 1 < len(blocks) and blocks[i + 1][1] == "output" else None
            if info == "sh run":
                self.check(line, self.run(["bash", "-eu", "-c", body]), expected)
            elif info == "c run":
                self.run_c(line, body, expected)
            elif info in ("json config", "json bad"):
                self.run_config(line, body, info == "json config")
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    source, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    pages = sys.argv[3:]
    if not pages:
        docs = os.path.join(source, "docs")
        pages = [os.path.join(source, "README.md")] + sorted(os.path.join(docs, n) for n in os.listdir(docs)
                                                             if n.endswith(".md"))
    count = failed = 0
    for path in pages:
        page = Page(source, build, path)
        page.run_all()
        count, failed = count + page.count, failed + page.failed
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
