"""scripts/gpu_visit/: visits keep within their time, to the second, go on where the last one ended, and carry what they
have made."""

import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "scripts/gpu_visit/run.py"
sys.path.insert(0, str(ROOT / "scripts/gpu_visit"))

import budget  # noqa: E402
import carried  # noqa: E402
import kernel_times  # noqa: E402
import run  # noqa: E402
import steps  # noqa: E402

def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class StubOptions:
    """What a Visit wants to know."""

    def __init__(self, folder, **others):
        self.visit, self.seconds, self.again, self.most_mb, self.environment = "A", 100, False, 13, {}
        self.out = self.carried = folder / "out"
        vars(self).update(others)


class BudgetTest(unittest.TestCase):
    """With steps that do nothing, by a clock that goes as the test wants."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpu visit ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = 0

    def visit(self, plan, seconds=None, **options):
        """One call, on a machine where nothing is left of the one before; its visit and exit code."""
        self.calls += 1
        work = self.folder / f"machine{self.calls}"
        options = StubOptions(self.folder, work=work, **options)
        visit = run.Visit(options, budget.RehearsalClock(seconds or {}))
        visit.go(plan)
        code = visit.close(plan)
        return visit, code

    def test_begins_what_can_be_done_and_ends_to_the_second(self):
        """100 s, 15 of them for packing."""
        self.plan = [steps.Step("a", ["true"], 40), steps.Step("b", ["true"], 50),
                     steps.Step("c", ["true"], 60, goes_on=True), steps.Step("d", ["true"], 1)]
        visit, code = self.visit(self.plan)
        self.assertEqual(visit.outcomes(self.plan), {"a": "done", "b": "left", "c": "cut", "d": "left"})
        self.assertEqual((visit.clock.now(), code), (85, 3))
        # b fits now; what c has kept makes the rest of it short.
        visit, code = self.visit(self.plan, {"c": 30})
        self.assertEqual(visit.outcomes(self.plan), dict.fromkeys("abcd", "done"))
        self.assertEqual((visit.clock.now(), code), (50 + 30 + 1, 0))

    def test_what_hangs_is_ended_and_not_begun_again(self):
        self.plan = [steps.Step("hangs", ["true"], 10, most=20), steps.Step("fails", ["false"], 10),
                     steps.Step("tried", ["false"], 10, attempt=True), steps.Step("last", ["true"], 10)]
        visit, code = self.visit(self.plan, {"hangs": 1000})
        self.assertEqual(visit.outcomes(self.plan), {"hangs": "late", "fails": "failed", "tried": "tried", "last": "done"})
        self.assertEqual((visit.clock.now(), code), (20 + 10 + 10 + 10, 1))
        self.assertEqual(self.visit(self.plan)[0].clock.now(), 0)
        visit, code = self.visit(self.plan, again=True)
        self.assertEqual((visit.clock.now(), visit.outcomes(self.plan)["hangs"]), (10 + 10 + 10, "done"))

    def test_nothing_follows_where_there_is_no_gpu(self):
        self.plan = [steps.Step("query", ["false"], 10, essential=True), steps.Step("tests", ["true"], 10)]
        visit, code = self.visit(self.plan)
        self.assertEqual((visit.outcomes(self.plan), code), ({"query": "failed", "tests": "left"}, 1))

    def test_a_step_learns_how_long_it_may_take(self):
        self.plan = [steps.Step("a", ["true"], 60), steps.Step("b", ["sh", "-c", "echo {left}; exit 3"], 24, goes_on=True)]
        visit, _ = self.visit(self.plan)
        self.assertEqual((visit.logs / "A_b.log").read_text(), "20\n")  # of 25, 5 to end by itself
        self.assertEqual(visit.outcomes(self.plan)["b"], "cut")  # as it says itself

    def test_programs_are_ended_with_what_they_started(self):
        """By the real clock."""
        log = self.folder / "log"
        mark = self.folder / "mark"
        line = ["sh", "-c", f"(sleep 3; touch '{mark}') & echo begun; sleep 30"]
        start = time.monotonic()
        self.assertIsNone(budget.Clock().run(None, line, log, dict(os.environ), self.folder, 1))
        self.assertLess(time.monotonic() - start, 3)
        self.assertEqual(log.read_text(), "begun\n")
        time.sleep(3)
        self.assertFalse(mark.exists())

    def test_caches_are_carried_whole_or_not_at_all(self):
        work, out = self.folder / "work", self.folder / "out"
        out.mkdir()
        for name, size in (("small", 1000), ("large", 50000)):
            (work / "caches" / name).mkdir(parents=True)
            (work / "caches" / name / "file").write_bytes(os.urandom(size))
        (work / "results").mkdir()
        (work / "results" / "row.json").write_text("{}")
        (work / "results" / "lenet.caffemodel").write_bytes(os.urandom(1000))
        self.assertEqual(carried.pack(work, out, 20000), ["large"])
        with tarfile.open(out / "visit.tar.gz") as tar:
            self.assertEqual(sorted(tar.getnames()), ["caches/small/file", "results/row.json"])
        self.assertLess((out / "visit.tar.gz").stat().st_size, 20000)

    def test_every_visit_fits_but_the_rows(self):
        """By what its steps say of themselves: A, D and E are one call each, B two, C some."""
        place = steps.Place("scripts", "caffe", "tests", "python", "results", "carried", False)
        for name, calls in (("A", 1), ("B", 2), ("C", 2), ("D", 1), ("E", 1)):
            plan = steps.VISITS[name](place)
            self.assertLessEqual(sum(step.expected for step in plan), calls * (540 - run.RESERVE), name)
            self.assertTrue(all(step.expected <= step.most <= 540 - run.RESERVE for step in plan), name)


class PrepareTest(unittest.TestCase):
    """What is carried there is small enough."""

    def prepare(self, size):
        with tempfile.TemporaryDirectory(prefix="gpu visit ") as folder:
            bundle = pathlib.Path(folder) / "robusta-0-linux.tar.xz"
            with open(bundle, "wb") as file:
                file.truncate(size)
            done = subprocess.run([ROOT / "scripts/gpu_visit/prepare.sh", "--bundle", bundle, f"{folder}/visit"], text=True,
                                  capture_output=True, env=os.environ | {"ROBUSTA_SHARED_DIR": folder})
            visit = pathlib.Path(folder, "visit")
            most = (visit / "most_mb").read_text() if done.returncode == 0 else ""
            return done, sorted(path.name for path in visit.iterdir()), most

    def test_takes_what_can_be_carried(self):
        done, files, most = self.prepare(20_000_000)
        self.assertEqual(done.returncode, 0, done.stderr)
        cupti = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include/cupti.h")
        traces = ["libkernel_trace.so"] if cupti.exists() else []
        self.assertEqual(files, [*traces, "most_mb", "robusta-0-linux.tar.xz", "start.sh"])
        self.assertEqual(most, "13\n")

    def test_less_comes_back_where_there_is_less_room(self):
        done, _, most = self.prepare(46_000_000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(int(most), 13)

    def test_refuses_more(self):
        self.assertIn("more than 50000000", self.prepare(50_000_001)[0].stderr)
        self.assertIn("more than can be carried", self.prepare(49_999_000)[0].stderr)


class EndedTest(unittest.TestCase):
    def test_results_are_packed_when_it_is_ended_from_outside(self):
        with tempfile.TemporaryDirectory(prefix="gpu visit ") as folder:
            program(pathlib.Path(folder) / "caffe", "#!/bin/sh\necho a GPU; sleep 60\n")
            child = subprocess.Popen([sys.executable, RUN, "A", "--out", f"{folder}/out", "--work", f"{folder}/work",
                                      "--programs", folder, "--carried", folder], text=True, stdout=subprocess.PIPE)
            log = pathlib.Path(folder) / "work/logs/A_query.log"
            deadline = time.monotonic() + 30
            while (not log.exists() or not log.read_text()) and time.monotonic() < deadline:
                time.sleep(0.05)
            child.send_signal(signal.SIGTERM)
            told = child.communicate(timeout=30)[0]
            self.assertIn("ended from outside", told)
            self.assertEqual(child.returncode, 3)
            with tarfile.open(f"{folder}/out/visit.tar.gz") as tar:
                self.assertIn("logs/A_query.log", tar.getnames())


class KernelTimesTest(unittest.TestCase):
    # Two iterations of 100 ns by graphs, the second one's first two kernels side by side; then a pass layer by layer.
    TRACE = "\n".join(f"{begin}\t{duration}\t{node}\t8\t256\t64\t0\t{name}" for begin, duration, node, name in (
        (1150, 30, 9, "b"), (1000, 40, 7, "a"), (1050, 20, 8, "b"), (1120, 40, 7, "a"), (1190, 30, 7, "a"),
        (1500, 90, 0, "a")))

    def test_the_last_iteration_of_graphs_counts(self):
        records = kernel_times.records_of(self.TRACE)
        last = kernel_times.last_iteration(records, 100)
        self.assertEqual([record[0] for record in last], [1120, 1150, 1190])
        self.assertEqual(kernel_times.busy(last), 90)  # 1120 to 1180, 1190 to 1220
        self.assertEqual([(k["kernel"], round(k["ms"] * 1e6), k["launches"]) for k in kernel_times.sums(last)],
                         [("a", 70, 2), ("b", 30, 1)])

    def test_without_the_library_it_says_so(self):
        done = subprocess.run([sys.executable, ROOT / "scripts/gpu_visit/kernel_times.py", "caffe", "out.json", "lenet", "2",
                               "f32", "--library", "absent.so"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no absent.so", done.stderr)


if __name__ == "__main__":
    unittest.main()
