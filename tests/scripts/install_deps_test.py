#!/usr/bin/env python3
"""scripts/install_deps.sh, where it only tells what is needed: every program that the scripts start has its package."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class InstallDeps(unittest.TestCase):
    def packages(self, *options):
        """As on a system without apt-get."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        for tool in ("bash", "dirname", "env"):
            os.symlink(shutil.which(tool), f"{folder}/{tool}")
        done = subprocess.run(["bash", ROOT / "scripts" / "install_deps.sh", *options], env={"PATH": folder},
                              stdout=subprocess.PIPE, universal_newlines=True, check=True)
        return {line.strip() for line in done.stdout.splitlines()[1:]}

    def test_users_need_python_as_the_tests_do(self):
        self.assertIn("python3", self.packages())
        self.assertIn("python3", self.packages("--tests"))
        self.assertNotIn("libgtest-dev", self.packages())

    def test_tests_of_what_is_installed_have_their_programs(self):
        # make runs the Makefile of examples/c, dpkg-shlibdeps finds what the .deb depends on.
        self.assertLessEqual({"make", "dpkg-dev"}, self.packages("--tests"))
        self.assertNotIn("make", self.packages())

    def test_tests_may_make_environments_of_python(self):
        self.assertIn("python3-venv", self.packages("--tests"))


if __name__ == "__main__":
    unittest.main()
