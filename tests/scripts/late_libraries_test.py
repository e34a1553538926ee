#!/usr/bin/env python3
"""Libraries that `caffe` loads when they are needed: none of them at its start, and words where one is missing."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CAFFE = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve() / "caffe"
COMMUNICATION = 8  # exit code


class LateLibraries(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        found = re.search(rb"libmpi[a-z]*\.so\.[0-9]+", CAFFE.read_bytes())
        if not found:
            self.skipTest("this build has no MPI")
        self.mpi = found[0].decode()

    def as_rank(self, **environment):
        """One of two processes that an mpirun has started, as far as variables tell."""
        (self.folder / "net.prototxt").write_text('layer { name: "x" type: "DummyData" top: "x" }')
        (self.folder / "solver.prototxt").write_text('net: "net.prototxt"')
        return subprocess.run([CAFFE, "train", "-solver", "solver.prototxt"], cwd=self.folder, text=True,
                              capture_output=True,
                              env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0",
                                   **environment})

    def test_are_not_loaded_at_the_start(self):
        loaded = subprocess.run([CAFFE], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, text=True,
                                capture_output=True, check=True).stdout
        self.assertIn("libc.so.6", loaded)
        self.assertNotRegex(loaded, "libmpi|libhdf5|libopen-(rte|pal)")

    def test_without_mpi_ranks_are_refused(self):
        (self.folder / self.mpi).write_text("no library")  # is found first, and ends the search
        done = self.as_rank(LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(done.returncode, COMMUNICATION, done.stderr)
        self.assertRegex(done.stderr, f"ranks need {re.escape(self.mpi)}, which cannot be loaded: .*invalid ELF header|"
                                      f"ranks need {re.escape(self.mpi)}, which cannot be loaded: .*file too short")
        self.assertIn("LD_LIBRARY_PATH", done.stderr)

    def test_a_library_that_is_no_mpi_is_refused(self):
        source = self.folder / "other.c"
        source.write_text("int MPI_Initialized(int* flag) { return *flag = 0; }\n"
                          "int MPI_Finalized(int* flag) { return *flag = 0; }\n")
        if subprocess.run(["cc", "-shared", "-fPIC", "-o", self.folder / self.mpi, source], check=False).returncode:
            self.skipTest("no C compiler")
        done = self.as_rank(LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(done.returncode, COMMUNICATION, done.stderr)
        self.assertIn(f"{self.mpi} lacks MPI_Init_thread", done.stderr)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    sys.exit(77 if result.skipped and not result.failures and not result.errors else not result.wasSuccessful())
