#!/usr/bin/env python3
"""scripts/count_tests.py: what it makes of reports in the form of ctest's."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import count_tests

RUNNING = "[==========] Running 3 tests from 1 test suite.\n"


def case(name, status="run", output="", inner=""):
    return f'<testcase name="{name}" status="{status}" time="2.4">{inner}<system-out>{output}</system-out></testcase>'


class CountTests(unittest.TestCase):
    def count(self, *cases):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "tests.xml"
            report.write_text("<testsuite>" + "".join(cases) + "</testsuite>")
            done = subprocess.run([sys.executable, count_tests.__file__, report], text=True, capture_output=True,
                                  check=True)
        first, *failures = done.stdout.splitlines()
        return tuple(int(word) for word in first.split()), failures

    def test_programs_are_one_test_each(self):
        self.assertEqual(self.count(case("scripts.a"), case("scripts.b", "fail"), case("scripts.c", "notrun")),
                         ((1, 1, 1), ["scripts.b (2 s)"]))

    def test_suites_say_how_many_they_are(self):
        self.assertEqual(self.count(case("base.A", output=RUNNING + "[  PASSED  ] 3 tests.\n")), ((3, 0, 0), []))
        self.assertEqual(self.count(case("base.A", output="[  PASSED  ] 1 test.\n"
                                         "[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] A.B\n")), ((1, 0, 2), []))

    def test_tests_that_failed_are_named_once(self):
        output = (RUNNING + "[ RUN      ] A.B\n[  FAILED  ] A.B (3 ms)\n[ RUN      ] A.C\n[       OK ] A.C (1 ms)\n"
                  "[  PASSED  ] 1 test.\n[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.B\n"
                  "[  FAILED  ] A.D/0, where GetParam() = 3\n")
        self.assertEqual(self.count(case("base.A", "fail", output)), ((1, 2, 0), ["base.A.B (2 s)", "base.A.D/0 (2 s)"]))

    def test_a_test_that_ends_its_program_has_failed(self):
        output = RUNNING + "[ RUN      ] A.B\n[       OK ] A.B (1 ms)\n[ RUN      ] A.C\nSegmentation fault\n"
        self.assertEqual(self.count(case("base.A", "fail", output)), ((1, 1, 0), ["base.A.C (2 s)"]))

    def test_a_program_that_fails_after_its_tests_has_failed(self):
        output = RUNNING + "[  PASSED  ] 3 tests.\nleaks were found\n"
        self.assertEqual(self.count(case("base.A", "fail", output)),
                         ((3, 1, 0), ["base.the program, after its tests (2 s)"]))

    def test_a_program_that_was_not_built_has_failed(self):
        skipped = '<skipped message="Unable to find executable: a_test"/>'
        self.assertEqual(self.count(case("a_test_NOT_BUILT", "notrun", inner=skipped)),
                         ((0, 1, 0), ["a_test_NOT_BUILT (2 s)"]))


if __name__ == "__main__":
    unittest.main()
