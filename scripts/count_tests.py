#!/usr/bin/env python3
"""Counts the tests in a report of ctest.

  scripts/count_tests.py tests.xml

A test of ctest is one test, but for a suite of GoogleTest, which says itself how many it had. A test whose program was
not built has failed. Prints 'PASSED FAILED SKIPPED' and then, a line each, what failed and how many seconds it took.
"""

import re
import sys
import xml.etree.ElementTree as xml

OF_GTEST = "[==========] Running "
PASSED, SKIPPED, OK = (re.compile(pattern, re.MULTILINE) for pattern in (
    r"^\[  PASSED  \] (\d+) tests?\.", r"^\[  SKIPPED \] (\d+) tests?, listed below", r"^\[       OK \] "))
FAILED = re.compile(r"^\[  FAILED  \] ([\w./]+)(?:, where .*)?$", re.MULTILINE)
BEGUN = re.compile(r"^\[ RUN      \] (\S+)", re.MULTILINE)


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def fail(self, name, seconds):
        self.failed += 1
        self.failures.append(f"{name} ({seconds:.0f} s)")

    def add_test(self, case):
        """A program that is a test by itself."""
        if case.get("status") == "fail" or "Unable to find executable" in outcome(case):
            self.fail(case.get("name"), seconds_of(case))
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            self.skipped += 1
        else:
            self.passed += 1

    def add_suite(self, case, output):
        """A suite of GoogleTest, which may have ended in the middle of a test."""
        summary = PASSED.search(output)
        self.passed += int(summary.group(1)) if summary else len(OK.findall(output))
        skipped = SKIPPED.search(output)
        self.skipped += int(skipped.group(1)) if skipped else 0
        if case.get("status") != "fail":
            return
        folder = case.get("name").split(".")[0]
        failed = list(dict.fromkeys(FAILED.findall(output)))
        if not summary:
            failed += BEGUN.findall(output)[-1:]  # what a signal or the time limit has ended
        for test in failed or ["the program, after its tests"]:
            self.fail(f"{folder}.{test}", seconds_of(case))


def seconds_of(case):
    return float(case.get("time") or 0)


def outcome(case):
    """The message of what was passed over."""
    skipped = case.find("skipped")
    return "" if skipped is None else skipped.get("message") or ""


def count(report):
    counts = Counts()
    for case in xml.parse(report).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        if OF_GTEST in output or PASSED.search(output):
            counts.add_suite(case, output)
        else:
            counts.add_test(case)
    return counts


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    counts = count(sys.argv[1])
    print(counts.passed, counts.failed, counts.skipped)
    for failure in counts.failures:
        print(failure)


if __name__ == "__main__":
    main()
