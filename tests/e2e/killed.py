#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host program is killed at random moments. What was reported to it as done is in the ledger, the database opens
clean, and reconcile names what is left and removes it.

usage: killed.py BUILD_DIR
"""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
ROUNDS = 250 if os.environ.get("ALINEO_TEST_FULL") else 25
FOLDER = tempfile.mkdtemp(prefix="alineo-killed-")
ENV = {k: v for k, v in os.environ.items() if not k.startswith("ALINEO_") or k == "ALINEO_PLUGIN_PATH"}
ENV.update(ALINEO_HOME=os.path.join(FOLDER, "home"), HOME=FOLDER)


def alineo(*words):
    return subprocess.run([os.path.join(BUILD, "bin", "alineo"), *words], cwd=FOLDER, env=ENV, capture_output=True,
                          text=True, timeout=60, stdin=subprocess.DEVNULL)


def rows(*words):
    done = alineo(*words, "--json")
    if done.stderr:
        raise AssertionError(f"alineo {' '.join(words)}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def killed_host(after):
    """What the host was told before it was killed."""
    host = subprocess.Popen([os.path.join(BUILD, "tests", "e2e", "host")], cwd=FOLDER, env=ENV, stdout=subprocess.PIPE,
                            text=True)
    first = host.stdout.readline()
    time.sleep(after)
    host.kill()
    told = (first + host.stdout.read()).splitlines()
    host.wait()
    return told


def check_told(told):
    """Everything that was reported as done is in the ledger."""
    for line in told:
        words = line.split()
        assert words[0] != "failed", line
        if words[0] == "open":
            continue
        events = rows("logs", words[1])
        names = [(row["event"], row.get("payload", {}).get("seq")) for row in events]
        if words[0] == "created":
            assert names[0][0] == "sandbox_created", names
        elif words[0] == "ran":
            assert ("exec_complete", int(words[2])) in names, (line, names)
        elif words[0] == "closed":
            assert names[-1][0] == "sandbox_closed", (line, names)


def check_no_end_without_start():
    for session in rows("ps", "--all", "--limit", "100000"):
        if session["state"] == "not in this ledger":
            continue
        seen = set()
        for row in rows("logs", session["sandboxId"]):
            seq = row.get("payload", {}).get("seq")
            if row["event"] == "exec_start":
                seen.add(seq)
            elif seq is not None:
                assert seq in seen, row


def main():
    random.seed(int(os.environ.get("SEED", "1")))
    for number in range(ROUNDS):
        told = killed_host(random.uniform(0, 0.06))
        check_told(told)
        database = sqlite3.connect(os.path.join(FOLDER, "home", "ledger.db"))
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",), number
        database.close()
    check_no_end_without_start()
    alineo("reconcile", "--repair")
    left = rows("reconcile")
    assert not [row for row in left if row["finding"] != "foreign"], left
    # What is left now was left running on purpose, as far as anyone can tell: sandboxes with an open session.
    for session in rows("ps"):
        assert session["state"] == "running", session
        assert alineo("kill", session["sandboxId"]).returncode == 0
    assert rows("ps") == []
    print(f"{ROUNDS} rounds")


try:
    main()
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
