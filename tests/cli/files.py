#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of sandboxes by the program alineo: cp and files, on the local provider.

usage: files.py BUILD_DIR [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="alineo-files-")
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith("ALINEO_") or k == "ALINEO_PLUGIN_PATH"}
        cls.env.update(ALINEO_HOME=os.path.join(cls.folder, "home"), HOME=cls.folder)
        cls.good(cls.alineo("create", "--name", "box"))

    @classmethod
    def tearDownClass(cls):
        cls.alineo("kill", "box")
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def alineo(cls, *words, **more):
        if "input" not in more:
            more["stdin"] = subprocess.DEVNULL
        return subprocess.run([os.path.join(BUILD, "bin", "alineo"), *words], cwd=cls.folder, env=cls.env,
                              capture_output=True, timeout=60, **more)

    @staticmethod
    def good(done):
        if done.returncode != 0:
            raise AssertionError(f"exit code {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def run_good(self, *words, **more):
        return self.good(self.alineo(*words, **more))

    def host(self, *parts):
        path = os.path.join(self.folder, self.id(), *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def box(self, *parts):
        return "box:/" + "/".join(["t", self.id(), *parts])

    def rows(self, *words):
        return [json.loads(line) for line in self.run_good(*words, "--json").splitlines()]

    def put(self, text, *parts):
        with open(self.host(*parts), "wb") as f:
            f.write(text)
        return self.host(*parts)

    # --- cp

    def test_a_file_goes_in_and_out_as_it_is(self):
        data = os.urandom(300_000)
        source = self.put(data, "x")
        os.chmod(source, 0o751)
        self.run_good("cp", source, self.box("y"))
        self.run_good("cp", self.box("y"), self.host("z"))
        with open(self.host("z"), "rb") as f:
            self.assertEqual(f.read(), data)
        self.assertEqual(os.stat(self.host("z")).st_mode & 0o7777, 0o751)

    def test_a_folder_that_is_there_is_copied_into(self):
        source = self.put(b"x", "x")
        self.run_good("files", "mkdir", self.box("d"))
        self.run_good("cp", source, self.box("d"))
        self.assertEqual(self.run_good("files", "cat", self.box("d", "x")), b"x")
        self.run_good("cp", source, self.box("new") + "/")
        self.assertEqual(self.run_good("files", "cat", self.box("new", "x")), b"x")
        os.mkdir(self.host("out"))
        self.run_good("cp", self.box("d"), self.host("out"))
        self.assertTrue(os.path.isfile(self.host("out", "d", "x")))
        self.run_good("cp", self.box("d") + "/.", self.host("out"))
        self.assertTrue(os.path.isfile(self.host("out", "x")))

    def test_trees_keep_odd_names_links_and_modes(self):
        self.put(b"1", "tree", "new\nline")
        self.put(b"2", "tree", "d", "-rf $HOME")
        os.chmod(self.host("tree", "d"), 0o750)
        os.symlink("d/-rf $HOME", self.host("tree", "link"))
        told = self.rows("cp", "--json", self.host("tree"), self.box("tree"))
        self.assertEqual(told, [{"files": 2, "folders": 2, "links": 1, "skipped": 0, "bytes": 2}])
        self.run_good("cp", self.box("tree"), self.host("back"))
        self.assertEqual(sorted(os.listdir(self.host("back"))), ["d", "link", "new\nline"])
        self.assertEqual(os.readlink(self.host("back", "link")), "d/-rf $HOME")
        self.assertEqual(os.stat(self.host("back", "d")).st_mode & 0o7777, 0o750)

    def test_what_is_neither_file_nor_folder_is_passed_over_with_a_word(self):
        self.put(b"x", "tree", "x")
        os.mkfifo(self.host("tree", "fifo"))
        done = self.alineo("cp", self.host("tree"), self.box("tree"))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"passed over 1", done.stderr)

    def test_streams_go_in_and_out(self):
        data = bytes(range(256)) * 1000
        self.run_good("cp", "-", self.box("x"), input=data)
        self.assertEqual(self.run_good("cp", self.box("x"), "-"), data)

    def test_from_one_sandbox_to_another(self):
        self.good(self.alineo("create", "--name", "other"))
        try:
            self.run_good("files", "write", self.box("x"), input=b"bundle")
            self.run_good("cp", self.box("x"), "other:/n/x")
            self.assertEqual(self.run_good("files", "cat", "other:/n/x"), b"bundle")
        finally:
            self.alineo("kill", "other")

    def test_no_clobber_keeps_what_is_there(self):
        source = self.put(b"new", "x")
        self.run_good("files", "write", self.box("x"), input=b"old")
        done = self.alineo("cp", "-n", source, self.box("x"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"FILE_EXISTS", done.stderr)
        self.assertEqual(self.run_good("files", "cat", self.box("x")), b"old")

    def test_a_copy_needs_a_sandbox(self):
        done = self.alineo("cp", "a", "b")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"SANDBOX:/PATH", done.stderr)

    # --- files

    def test_a_folder_is_listed_in_order(self):
        for name in ("b", "a", "d/deep"):
            self.run_good("files", "write", self.box(name), input=b"12345")
        listed = self.run_good("files", "ls", self.box()).decode().splitlines()
        self.assertEqual([line.split()[-1] for line in listed], ["NAME", "a", "b", "d"])
        self.assertEqual(listed[1].split()[0], "-rw-r--r--")
        rows = self.rows("files", "ls", "-R", self.box())
        self.assertEqual({row["path"].rsplit(self.id())[-1]: row["type"] for row in rows},
                         {"/a": "file", "/b": "file", "/d": "directory", "/d/deep": "file"})
        self.assertEqual(len(self.rows("files", "ls", "--depth", "2", self.box())), 4)

    def test_a_file_is_told_of(self):
        self.run_good("files", "write", "--mode", "4755", self.box("x"), input=b"12345")
        row, = self.rows("files", "stat", self.box("x"))
        self.assertEqual((row["type"], row["mode"], row["size"]), ("file", "4755", 5))
        self.assertIn(b"mode:     4755", self.run_good("files", "stat", self.box("x")))
        self.run_good("files", "ln", "x y", self.box("l"))
        row, = self.rows("files", "stat", self.box("l"))
        self.assertEqual((row["type"], row["target"]), ("symlink", "x y"))

    def test_names_that_are_no_text_are_told_in_base64(self):
        name = os.fsencode(self.box()) + b"/\xff"
        self.run_good("files", "write", os.fsdecode(name), input=b"x")
        row, = self.rows("files", "ls", self.box())
        self.assertIn("pathBase64", row)
        done = self.alineo("files", "cat", "--json", os.fsdecode(name + b"\xff"))
        self.assertEqual(json.loads(done.stderr)["error"]["code"], "FILE_NOT_FOUND")

    def test_files_are_found(self):
        for name in ("src/a.ts", "src/b.c", "c.ts"):
            self.run_good("files", "write", self.box(name), input=b"")
        found = self.run_good("files", "find", self.box(), "*.ts").decode().split()
        self.assertEqual(sorted(path.rsplit(self.id())[-1] for path in found), ["/c.ts", "/src/a.ts"])
        self.assertEqual(self.run_good("files", "find", "-0", self.box(), "*/src/*.ts").count(b"\0"), 1)

    def test_parts_are_printed_and_appended(self):
        self.run_good("files", "write", self.box("x"), input=b"0123456789")
        self.assertEqual(self.run_good("files", "cat", "--offset", "2", "--length", "3", self.box("x")), b"234")
        self.run_good("files", "write", "--append", self.box("x"), input=b"abc")
        self.assertEqual(self.run_good("files", "cat", "--offset", "8", self.box("x")), b"89abc")
        done = self.alineo("files", "write", "--exclusive", self.box("x"), input=b"")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"FILE_EXISTS", done.stderr)

    def test_names_are_changed(self):
        self.run_good("files", "mkdir", "-m", "0700", self.box("d"))
        row, = self.rows("files", "stat", self.box("d"))
        self.assertEqual(row["mode"], "0700")
        self.run_good("files", "write", self.box("x"), input=b"x")
        self.run_good("files", "mv", self.box("x"), self.box("d", "y"))
        self.run_good("files", "mv", self.box("d", "y"), "/" + self.box("z").split(":/")[1])
        self.run_good("files", "chmod", "0600", self.box("z"))
        self.run_good("files", "chown", "0:0", self.box("z"))
        row, = self.rows("files", "stat", self.box("z"))
        self.assertEqual(row["mode"], "0600")
        self.assertEqual(self.alineo("files", "rm", self.box("d")).returncode, 1)
        self.run_good("files", "rm", "-r", self.box("d"), self.box("z"))
        self.assertEqual(self.run_good("files", "find", self.box(), "*"), b"")

    def test_text_is_replaced_and_counted(self):
        self.run_good("files", "write", self.box("x"), input=b"one two one")
        self.run_good("files", "write", self.box("y"), input=b"none")
        rows = self.rows("files", "replace", "--json", "one", "three", self.box("x"), self.box("y"))
        self.assertEqual([row["count"] for row in rows], [2, 1])
        self.assertEqual(self.run_good("files", "cat", self.box("x")), b"three two three")

    def test_mistakes_are_told(self):
        for words, text in ((["files"], "missing"), (["files", "lss"], "did you mean 'ls'"),
                            (["files", "chmod", "rw", "box:/x"], "no mode"), (["files", "ls"], "needed"),
                            (["files", "ls", "--depth", "0", "box:/"], "no depth")):
            done = self.alineo(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr.decode())
        done = self.alineo("files", "cat", "box")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"SANDBOX:/PATH", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
