#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal.py BUILD_DIR: the program `alineo` on a terminal, as a person has it."""
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
import unittest


class Terminal:
    """The program with a terminal of its own, of which we hold the other end."""

    def __init__(self, build, env, *args):
        self.master, self.slave = pty.openpty()
        self.resize(40, 100)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.closerange(3, 64)
            os.execve(os.path.join(build, "bin", "alineo"), ["alineo", *args], env)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, text, seconds=20):
        seen, end = "", time.monotonic() + seconds
        while text not in seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"waited for {text!r}, got {seen!r}")
            seen += os.read(self.master, 4096).decode(errors="replace")
        return seen

    def end(self, seconds=20):
        """The exit code, once it has ended; what it still prints is read, as a terminal does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            while select.select([self.master], [], [], 0)[0]:
                os.read(self.master, 4096)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("it did not end")

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        os.close(self.master)
        os.close(self.slave)


class Terminals(unittest.TestCase):
    build = ""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="alineo-terminal-")
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.home, "ALINEO_HOME": os.path.join(self.home, "state"),
                    "TERM": "vt100"}

    def tearDown(self):
        shutil.rmtree(self.home, ignore_errors=True)

    def run_in_terminal(self, *args):
        terminal = Terminal(self.build, self.env, *args)
        self.addCleanup(terminal.close)
        return terminal

    def test_what_is_typed_goes_in_and_the_exit_code_comes_out(self):
        terminal = self.run_in_terminal("run", "-t", "--", "/bin/sh", "-i")
        terminal.until("# ")
        self.assertFalse(terminal.is_as_before())
        terminal.type("stty size; echo $TERM\n")
        terminal.until("40 100\r\nvt100\r\n")
        terminal.type("exit 7\n")
        self.assertEqual(terminal.end(), 7)
        self.assertTrue(terminal.is_as_before())

    def test_ctrl_c_goes_to_the_command(self):
        terminal = self.run_in_terminal("run", "-t", "--", "/bin/sh", "-i")
        terminal.until("# ")
        terminal.type("sleep 100\n")
        terminal.until("sleep 100\r\n")
        time.sleep(0.3)
        terminal.type("\x03")
        terminal.until("# ")
        terminal.type("exit\n")
        self.assertEqual(terminal.end(), 130)

    def test_a_change_of_the_window_is_passed_on(self):
        terminal = self.run_in_terminal("run", "-t", "-c", "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.1; done")
        terminal.until("ready")
        terminal.resize(50, 132)
        terminal.until("50 132")
        self.assertEqual(terminal.end(), 0)

    def test_signals_end_it_with_the_terminal_restored(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            terminal = self.run_in_terminal("run", "-t", "-c", "echo ready; sleep 100")
            terminal.until("ready")
            self.assertFalse(terminal.is_as_before())
            os.kill(terminal.pid, number)
            self.assertEqual(terminal.end(), 128 + number)
            self.assertTrue(terminal.is_as_before())

    def test_a_failure_restores_the_terminal(self):
        terminal = self.run_in_terminal("run", "-t", "--", "no-such-program")
        self.assertEqual(terminal.end(), 127)
        self.assertTrue(terminal.is_as_before())


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("sandboxes need root here")
        sys.exit(77)
    Terminals.build = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
