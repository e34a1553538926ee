"""scripts/nightly.sh: which parts it runs, and what it writes of them; scripts/sanitizers.sh: that none is forgotten."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class NightlyTest(unittest.TestCase):
    """In a tree of its own, whose scripts only say that they were called."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nightly ")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        self.calls = self.tree / "calls"
        for name in ("scripts", "build/tools", "elsewhere"):
            (self.tree / name).mkdir(parents=True)
        for name in ("nightly.sh", "lib.sh", "sanitizers.sh"):
            shutil.copy(ROOT / "scripts" / name, self.tree / "scripts")
        shutil.copytree(ROOT / "scripts/nightly", self.tree / "scripts/nightly")
        self.program("build/tools/caffe", "")
        self.program("scripts/bench_startup.py", "echo first; echo 'best 1 s, median 2 s'")
        self.program("scripts/bench_busy.py", "echo 'idle 1 s | busy 2 s'")
        self.program("scripts/bench_allreduce.sh", "echo 'met:    a'; echo 'MISSED: b'; exit 1")

    def program(self, name, text):
        path = self.tree / name
        path.write_text(f'#!/bin/sh\necho "{path.name} $*" >> "$CALLS"\n{text}\n')
        path.chmod(0o755)

    def nightly(self, *arguments, **environment):
        return subprocess.run([self.tree / "scripts/nightly.sh", *arguments], text=True, capture_output=True,
                              cwd=self.tree / "elsewhere",
                              env={"PATH": os.environ["PATH"], "CALLS": str(self.calls), "ROBUSTA_BUILD": "../build",
                                   "ROBUSTA_SHARED_DIR": str(self.tree / "shared"), **environment})

    def cells(self, text):
        """Part, result and seconds of each row but the first two."""
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        self.assertEqual(rows[0], "| date | processor | commit | part | result | seconds |", text)
        return [re.split(r" \| ", row.strip("| "))[3:] for row in rows[2:]]

    def test_runs_the_parts_that_are_named(self):
        done = self.nightly("startup", "busy")
        self.assertEqual(done.returncode, 0, done.stderr)
        caffe = self.tree / "build/tools/caffe"
        self.assertEqual(self.calls.read_text().splitlines(),
                         [f"bench_startup.py --caffe {caffe}", f"bench_busy.py --caffe {caffe}"])
        self.assertRegex(done.stdout, r"(?s)== startup\nfirst\n.*-- startup: \d+ s\n.*== busy\n.*-- busy: \d+ s\n")
        rows = self.cells(done.stdout)
        self.assertEqual([row[:2] for row in rows],
                         [["startup", "best 1 s, median 2 s"], ["busy", "idle 1 s \\| busy 2 s"]])
        self.assertTrue(all(row[2].isdigit() for row in rows), rows)

    def test_one_that_fails_or_lacks_something_stops_no_other(self):
        self.program("scripts/bench_startup.py", "echo oh; exit 3")
        done = self.nightly("startup", "accuracy", "busy")
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: startup\n", done.stderr)
        self.assertEqual([row[:2] for row in self.cells(done.stdout)], [
            ["startup", "FAILED"],
            ["accuracy", f"skipped: there are no digits in {self.tree}/shared/data/mnist-t10k"],
            ["busy", "idle 1 s \\| busy 2 s"]])

    def test_a_failed_part_tells_its_result(self):
        self.program("cluster.sh", "")  # its hosts are up
        done = self.nightly("allreduce", CLUSTER_SH=str(self.tree / "cluster.sh"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.cells(done.stdout)[0][:2], ["allreduce", "FAILED: 1 goals met, 1 missed"])
        self.assertEqual(self.calls.read_text().splitlines(), ["cluster.sh exec node1 true", "bench_allreduce.sh "])

    def test_makes_hosts_where_none_are_up(self):
        self.program("cluster.sh", '[ "$1" != exec ]')
        self.nightly("allreduce", CLUSTER_SH=str(self.tree / "cluster.sh"))
        self.assertEqual(self.calls.read_text().splitlines(),
                         ["cluster.sh exec node1 true", "cluster.sh up 4", "bench_allreduce.sh ", "cluster.sh down"])

    def test_adds_to_a_table(self):
        for _ in range(2):
            self.assertEqual(self.nightly("--table", "table.md", "startup").returncode, 0)
        self.assertNotIn("| date |", self.nightly("startup", "--table", "table.md").stdout)
        text = (self.tree / "elsewhere/table.md").read_text()
        self.assertEqual(text.count("| date |"), 1)
        self.assertEqual([row[0] for row in self.cells(text)], 3 * ["startup"])

    def test_refuses_before_anything_runs(self):
        for arguments, why in ((["startup", "statrup"], r"unknown part statrup \(known: accuracy .* tsan\)"),
                               (["--fast"], "unknown option --fast"), (["startup", "--table"], "--table wants a file"),
                               (["--table", "no/such/file", "startup"], "cannot write the table")):
            done = self.nightly(*arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertRegex(done.stderr, why)
        self.assertFalse(self.calls.exists())

    def test_help_names_every_part(self):
        done = self.nightly("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("scripts/nightly.sh [--table FILE] [PART...]", done.stdout)
        functions = [name for file in (ROOT / "scripts/nightly").iterdir()
                     for name in re.findall(r"^part_(\w+)\(\)", file.read_text(), re.MULTILINE)]
        self.assertGreater(len(functions), 5)
        told = re.findall(r"^  (\w+)  +\w", done.stdout.split("Parts:")[1], re.MULTILINE)
        self.assertEqual(sorted(told), sorted(functions))


class SanitizersTest(unittest.TestCase):
    def shell(self, command):
        return subprocess.run(["bash", "-ec", f"cd '{ROOT}'; . scripts/lib.sh; . scripts/sanitizers.sh; {command}"],
                              text=True, capture_output=True, check=True).stdout.split()

    def test_each_test_runs_in_ci_or_at_night(self):
        folders = {path.parent.name for path in (ROOT / "tests").glob("*/*_test.cpp")}
        for kind in ("asan", "tsan"):
            in_ci = self.shell(f"echo ${{sanitized_folders[{kind}]}}")
            at_night = self.shell(f"folders_left_out {kind}")
            self.assertEqual(sorted(in_ci + at_night), sorted(folders))
            pattern = re.compile(self.shell(f"tests_left_out {kind}")[0])
            too_slow = re.compile(self.shell(f'echo "${{too_slow[{kind}]}}"')[0])
            for folder in folders:
                self.assertEqual(bool(pattern.search(f"{folder}.ATest.Works")), folder in at_night, folder)
                for name in ("AccuracyTest.KnowsMnist", "DataLayerGoldenTest.RecordedPasses"):
                    self.assertTrue(too_slow.search(name))
                    self.assertTrue(pattern.search(f"{folder}.{name}"), folder)
            self.assertTrue(pattern.search("golden"))
            self.assertFalse(pattern.search("scripts.nightly_test"))


if __name__ == "__main__":
    unittest.main()
