#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program alineo as people and scripts use it, on the local provider and SQLite.

usage: run.py BUILD_DIR [unittest arguments]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="alineo-cli-")
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith("ALINEO_") or k == "ALINEO_PLUGIN_PATH"}
        cls.env.update(ALINEO_HOME=os.path.join(cls.folder, "home"), HOME=cls.folder)

    @classmethod
    def tearDownClass(cls):
        left = cls.alineo("ps", "--json")
        for line in left.stdout.splitlines():
            cls.alineo("kill", json.loads(line)["sandboxId"])
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def argv(cls, *words):
        return [os.path.join(BUILD, "bin", "alineo"), *words]

    @classmethod
    def alineo(cls, *words, **more):
        more.setdefault("stdin", None if "input" in more else subprocess.DEVNULL)
        if "input" in more:
            more.pop("stdin")
        return subprocess.run(cls.argv(*words), cwd=cls.folder, env=cls.env, capture_output=True, timeout=60,
                              text=more.pop("text", True), **more)

    def states(self, *words):
        done = self.alineo("ps", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["sandboxId"]: row["state"] for row in map(json.loads, done.stdout.splitlines())}

    def session(self, name):
        done = self.alineo("logs", name, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    # --- run

    def test_output_and_exit_code_of_a_command_are_passed_on(self):
        done = self.alineo("run", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "out\n", "err\n"))

    def test_a_command_runs_without_a_shell_unless_asked_for(self):
        done = self.alineo("run", "--", "echo", "$HOME", "a  b")
        self.assertEqual((done.returncode, done.stdout), (0, "$HOME a  b\n"))

    def test_any_bytes_go_in_and_come_out(self):
        data = bytes(range(256)) * 4096
        done = self.alineo("run", "-i", "--", "cat", input=data, text=False)
        self.assertEqual((done.returncode, done.stdout), (0, data))

    def test_a_missing_program_is_127_with_its_name(self):
        done = self.alineo("run", "--", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-program", done.stderr)

    def test_a_signal_is_128_and_its_number(self):
        self.assertEqual(self.alineo("run", "-c", "kill -TERM $$").returncode, 143)

    def test_a_stream_that_is_closed_is_not_taken_for_another_file(self):
        command = "cat; echo out; echo err >&2; exit 3"
        for closed, code, out, err in ((0, 3, "out\n", "err\n"), (1, 125, "", "Bad file descriptor"), (2, 125, None, "")):
            for words in (("run", "-c"), ("run", "-i", "-c")):
                with self.subTest(closed=closed, words=words):
                    done = self.alineo(*words, command, preexec_fn=lambda: os.close(closed))
                    self.assertEqual(done.returncode, code)
                    self.assertIn(done.stdout, [out] if out is not None else ["", "out\n"])
                    self.assertIn(err, done.stderr)
        self.assertEqual(self.alineo("run", "-i", "-c", command, preexec_fn=lambda: os.closerange(0, 3)).returncode, 125)
        self.assertEqual(self.alineo("ps").returncode, 0)

    def test_a_command_whose_sandbox_is_killed_says_so(self):
        sandbox = self.alineo("create").stdout.strip()
        command = subprocess.Popen(self.argv("exec", sandbox, "-c", "echo on; sleep 60"), cwd=self.folder, env=self.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(command.stdout.readline(), "on\n")
        self.assertEqual(self.alineo("kill", sandbox).returncode, 0)
        errors = command.communicate(timeout=20)[1]
        self.assertEqual(command.returncode, 125)
        self.assertIn("ended with its sandbox", errors)

    def test_a_timeout_is_124(self):
        self.assertEqual(self.alineo("run", "--timeout", "300ms", "--", "sleep", "30").returncode, 124)

    def test_what_fails_in_alineo_itself_is_125_with_code_and_hint(self):
        done = self.alineo("run", "--image", "no-such-image", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"^alineo: [A-Z_]+: ")

    def test_json_lines_hold_the_output_and_the_outcome(self):
        done = self.alineo("run", "--json", "-c", "echo hello; printf '\\377' >&2; exit 3")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 3)
        self.assertIn({"event": "stdout", "text": "hello\n"}, lines)
        self.assertIn({"event": "stderr", "encoding": "base64", "data": "/w=="}, lines)
        self.assertEqual((lines[-1]["event"], lines[-1]["exitCode"], lines[-1]["outcome"]), ("exit", 3, "exited"))

    def test_a_run_leaves_a_completed_session(self):
        self.alineo("run", "--name", "completed", "-c", "echo kept")
        events = [row["event"] for row in self.session("completed")]
        self.assertEqual(events[0], "sandbox_created")
        self.assertEqual(events[-1], "sandbox_closed")
        self.assertIn("exec_complete", events)

    def interrupt(self, number):
        name = f"interrupted-{number}"
        running = subprocess.Popen(self.argv("run", "--name", name, "-c", "echo ready; sleep 60"), cwd=self.folder,
                                   env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(running.stdout.readline(), b"ready\n")
        running.send_signal(number)
        running.communicate(timeout=20)
        return name, running.returncode

    def test_an_interrupt_ends_the_command_and_closes_the_sandbox(self):
        name, code = self.interrupt(signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertEqual([row["event"] for row in self.session(name)][-1], "sandbox_closed")

    def test_a_killed_run_takes_its_sandbox_with_it(self):
        name, _ = self.interrupt(signal.SIGKILL)
        deadline = time.monotonic() + 10
        sandbox = self.session(name)[0]["sandboxId"]
        while self.states().get(sandbox) != "gone" and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.states().get(sandbox), "gone")
        found = self.alineo("reconcile", "--json")
        self.assertEqual(found.returncode, 1)
        self.assertIn(sandbox, found.stdout)
        self.assertEqual(self.alineo("reconcile", "--repair").returncode, 0)
        self.assertEqual([row["event"] for row in self.session(name)][-1], "sandbox_closed")
        self.assertNotIn(sandbox, self.states())

    # --- create, exec, kill

    def test_a_created_sandbox_stays_until_it_is_killed(self):
        sandbox = self.alineo("create", "--name", "stays").stdout.strip()
        self.assertEqual(self.states()[sandbox], "running")
        self.assertEqual(self.alineo("exec", sandbox, "-c", "echo mine > /tmp/file").returncode, 0)
        self.assertEqual(self.alineo("exec", "stays", "--", "cat", "/tmp/file").stdout, "mine\n")
        self.assertEqual(self.alineo("exec", "stays", "ls", "-d", "/tmp").stdout, "/tmp\n")
        self.assertEqual(self.alineo("kill", "stays").returncode, 0)
        self.assertNotIn(sandbox, self.states())
        self.assertEqual(self.alineo("exec", sandbox, "true").returncode, 125)

    def test_renew_moves_the_end(self):
        sandbox = self.alineo("create", "--lifetime", "1m").stdout.strip()
        done = self.alineo("renew", sandbox, "1h", "--json")
        left = json.loads(done.stdout)["expiresAt"] / 1000 - time.time()
        self.assertTrue(3500 < left <= 3601, left)
        self.assertEqual(self.alineo("renew", sandbox, "soon").returncode, 2)
        self.alineo("kill", sandbox)

    def test_a_lifetime_that_is_over_ends_the_sandbox(self):
        sandbox = self.alineo("create", "--lifetime", "1s").stdout.strip()
        deadline = time.monotonic() + 10
        while self.states().get(sandbox) != "gone" and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.states().get(sandbox), "gone")
        self.assertEqual(self.alineo("reconcile", "--repair").returncode, 0)

    def test_info_tells_ledger_and_provider_apart(self):
        sandbox = self.alineo("create", "--name", "told").stdout.strip()
        told = json.loads(self.alineo("info", "told", "--json").stdout)
        self.assertEqual((told["sandboxId"], told["state"], told["status"]), (sandbox, "running", "running"))
        self.alineo("kill", sandbox)
        told = json.loads(self.alineo("info", sandbox, "--json").stdout)
        self.assertEqual((told["state"], told["status"]), ("gone", "completed"))

    def test_a_background_command_is_found_by_other_processes(self):
        sandbox = self.alineo("create").stdout.strip()
        command = self.alineo("exec", sandbox, "--detach", "-c", "echo here; sleep 0.5; echo later; exit 9").stdout.strip()
        listed = [json.loads(line) for line in self.alineo("bg", sandbox, "--json").stdout.splitlines()]
        self.assertEqual([(row["execId"], row["outcome"]) for row in listed], [(command, "running")])
        done = self.alineo("attach", sandbox, command)
        self.assertEqual((done.stdout, done.returncode), ("here\nlater\n", 9))
        self.assertEqual(self.alineo("attach", sandbox, "never-was").returncode, 125)
        command = self.alineo("exec", sandbox, "-d", "--", "sleep", "1000").stdout.strip()
        attached = subprocess.Popen(self.argv("attach", sandbox, command), cwd=self.folder, env=self.env)
        time.sleep(0.3)
        attached.send_signal(signal.SIGINT)
        self.assertEqual(attached.wait(timeout=20), -signal.SIGINT)
        self.assertIn("running", self.alineo("bg", sandbox).stdout)
        self.assertEqual(self.alineo("bg", sandbox, "--kill", command).returncode, 0)
        self.assertEqual(self.alineo("attach", sandbox, command).returncode, 125)
        self.assertNotIn("running", self.alineo("bg", sandbox).stdout)
        self.alineo("kill", sandbox)

    def test_a_paused_sandbox_is_unpaused_or_ended(self):
        sandbox = self.alineo("create").stdout.strip()
        self.assertEqual(self.alineo("pause", sandbox).returncode, 0)
        self.assertEqual(self.states()[sandbox], "paused")
        self.assertEqual(self.alineo("exec", sandbox, "true").returncode, 125)
        self.assertEqual(self.alineo("unpause", sandbox).returncode, 0)
        self.assertEqual(self.alineo("exec", sandbox, "true").returncode, 0)
        self.alineo("pause", sandbox)
        self.assertEqual(self.alineo("kill", sandbox).returncode, 0)

    def test_a_port_has_a_url_that_stays(self):
        sandbox = self.alineo("create").stdout.strip()
        first = self.alineo("port", sandbox, "8000")
        self.assertRegex(first.stdout, "^http://127.0.0.1:[0-9]+\n$")
        self.assertEqual(self.alineo("port", sandbox, "8000").stdout, first.stdout)
        self.assertNotEqual(self.alineo("port", sandbox, "8001").stdout, first.stdout)
        self.assertEqual(self.alineo("port", sandbox, "70000").returncode, 2)
        self.alineo("kill", sandbox)

    def test_stats_tell_what_a_sandbox_uses(self):
        sandbox = self.alineo("create", "--memory", "64Mi").stdout.strip()
        told = json.loads(self.alineo("stats", sandbox, "--json").stdout)
        self.assertEqual(told["memoryTotal"], 64 << 20)
        self.assertEqual(told["processes"], 0)
        self.assertEqual(self.alineo("stats", sandbox, "--watch", "soon").returncode, 2)
        self.alineo("kill", sandbox)

    # --- the rest

    def test_logs_give_back_what_was_printed(self):
        self.alineo("run", "--name", "printed", "-c", "echo one; printf '\\000\\377'; echo two", text=False)
        done = self.alineo("logs", "printed", "--output", text=False)
        self.assertEqual(done.stdout, b"one\n\x00\xfftwo\n")

    def test_every_command_has_help(self):
        done = self.alineo("--help")
        self.assertEqual(done.returncode, 0)
        commands = [line.split()[0] for line in done.stdout.split("commands:")[1].split("\n\n")[0].splitlines() if line.strip()]
        self.assertGreater(len(commands), 10)
        for command in commands:
            done = self.alineo(command, "--help")
            self.assertEqual(done.returncode, 0, command)
            self.assertTrue(done.stdout.startswith(f"usage: alineo {command} "), command)
            for option in ("--json", "--config", "--help"):
                self.assertIn(option, done.stdout, command)

    def test_mistakes_in_usage_are_exit_code_2_and_point_to_help(self):
        for words in (["frobnicate"], ["run"], ["run", "--no-such"], ["exec", "x"], ["renew", "x"], ["logs"], ["kill"],
                      ["config"], ["run", "--timeout", "5", "--", "true"], ["run", "--env", "A", "--", "true"],
                      ["ps", "--limit", "0"], []):
            done = self.alineo(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("alineo", done.stderr, words)

    def test_a_near_miss_is_suggested(self):
        self.assertIn("did you mean 'create'", self.alineo("craete").stderr)

    def test_a_wrong_option_is_told_apart_from_one_without_its_value(self):
        for words, told in ((["run", "--memry", "1Gi"], "there is no option --memry; did you mean --memory?"),
                            (["run", "--zzzzzzzz=1"], "there is no option --zzzzzzzz\n"),
                            (["run", "-q", "--", "true"], "there is no option -q\n"),
                            (["ps", "--config"], "--config needs a value: FILE"),
                            (["run", "-w"], "--cwd needs a value: PATH"),
                            (["ps", "--all=yes"], "--all takes no value"),
                            (["help", "frobnicate"], "there is no command 'frobnicate'")):
            done = self.alineo(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(told, done.stderr, words)

    def test_messages_name_what_was_asked_for_and_what_to_do(self):
        for words, told in ((["run", "-w", "/not/there", "--", "true"], "working directory /not/there: No such file"),
                            (["run", "--user", "nobodyknows", "--", "true"], 'user "nobodyknows" in the sandbox'),
                            (["run", "--require", "snapshot=memory", "--", "true"], "`alineo providers` shows"),
                            (["run", "--name", "", "--", "true"], "name must be 1 to 255 bytes of UTF-8 without control characters; it is empty"),
                            (["logs", "never-there-0000"], "`alineo ps --all` lists"),
                            (["info", "never-there-0000"], "`alineo ps` lists")):
            self.assertIn(told, self.alineo(*words).stderr, words)

    def test_a_ledger_that_cannot_be_opened_is_told_once(self):
        path = os.path.join(self.folder, "nowhere.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"storage": {"adapter": "sqlite", "path": "/proc/x/ledger.db"}}, f)
        done = self.alineo("--config", path, "ps")
        self.assertIn("STORAGE_UNAVAILABLE: open storage sqlite: make the folder", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "root can be somebody else")
    def test_a_user_who_may_not_make_sandboxes_is_told_to_be_root(self):
        home = os.path.join(self.folder, "other")
        os.mkdir(home)
        os.chown(home, 65534, 65534)
        os.chmod(self.folder, 0o755)
        done = subprocess.run(self.argv("run", "--", "true"), cwd=home, env={**self.env, "ALINEO_HOME": home},
                              capture_output=True, timeout=60, text=True, user=65534, group=65534, extra_groups=[],
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 125)
        self.assertIn("PERMISSION_DENIED: make sandboxes as user 65534", done.stderr)
        self.assertIn("hint: run as root", done.stderr)

    def test_the_manual_knows_every_command_and_option(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "man", "alineo.1")
        with open(page, encoding="utf-8") as f:
            manual = f.read()
        overview = self.alineo("--help").stdout.split("commands:")[1].split("\n\n")[0]
        for command in (line.split()[0] for line in overview.splitlines() if line.strip()):
            self.assertIn(f".It Cm {command}", manual, command)
            for option in re.findall(r"^ +(?:-\w, |    )--([a-z-]+)", self.alineo(command, "--help").stdout, re.M):
                self.assertRegex(manual, rf"Fl -{option}(?![a-z-])", f"{command} --{option}")

    def test_errors_are_json_for_programs(self):
        done = self.alineo("--json", "info", "never-there-0000")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stderr)["error"]["code"], "SANDBOX_NOT_FOUND")

    def test_providers_and_plugins_are_listed(self):
        rows = [json.loads(line) for line in self.alineo("providers", "--json").stdout.splitlines()]
        self.assertIn("local", [row.get("provider") for row in rows])
        values = {row["capability"]: row["value"] for row in rows if "capability" in row}
        self.assertEqual((values["stdin"], values["isolation"]), ("yes", "namespace"))
        rows = [json.loads(line) for line in self.alineo("plugins", "--json").stdout.splitlines()]
        self.assertIn(("storage", "sqlite"), [(row["kind"], row["id"]) for row in rows])
        path = [row["path"] for row in rows if row["id"] == "sqlite"][0]
        self.assertIn("sqlite", self.alineo("plugins", "inspect", path).stdout)
        self.assertEqual(self.alineo("plugins", "inspect", "/bin/true").returncode, 1)

    def test_a_bad_config_is_told_with_its_place(self):
        path = os.path.join(self.folder, "bad.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write('{\n  "provider": "local",\n  "storrage": {}\n}\n')
        done = self.alineo("config", "check", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("CONFIG_INVALID", done.stderr)
        self.assertIn("3", done.stderr)
        self.assertIn("storage", done.stderr)

    def test_a_reader_that_goes_away_does_not_leave_a_sandbox(self):
        done = subprocess.run(["bash", "-c", f"{self.argv()[0]} run --name gone-reader -c 'yes' | head -n 1"], cwd=self.folder,
                              env=self.env, capture_output=True, timeout=60, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.stdout, "y\n")
        deadline = time.monotonic() + 20
        while self.states("--all", "--name", "gone-reader") and time.monotonic() < deadline:
            if list(self.states("--all", "--name", "gone-reader").values()) == ["completed"]:
                break
            time.sleep(0.2)
        self.assertEqual(list(self.states("--all", "--name", "gone-reader").values()), ["completed"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
