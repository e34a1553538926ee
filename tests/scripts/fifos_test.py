#!/usr/bin/env python3
"""Scripts that are given a FIFO in the place of a file: one that nobody writes is an error within seconds, one that
somebody writes later is read like a file, and so is a file that begins with a byte order mark."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools")).resolve()
sys.path.insert(0, str(SCRIPTS))
from robusta_files import inputs  # noqa: E402  # pylint: disable=wrong-import-position

MARK = b"\xef\xbb\xbf"
STAND_INS = {"mpirun": "#!/bin/bash\n[ \"$1\" = --version ] && echo 'mpirun (Open MPI) 4.1.4' && exit\n"
                       "printf '%s\\n' \"$*\" >> called\n",
             "agent": "#!/bin/bash\nprintf '%s\\n' \"$*\" >> called\n", "caffe": "#!/bin/bash\ntrue\n"}
INTEL = ("run_intelcaffe.sh", "--caffe_bin", "caffe", "--output", "out", "--cpu", "skx")
# What reads FILE, once.
READERS = [("ddlrun", "-hostfile", "FILE", "caffe"), ("ddlrun", "-rankfile", "FILE", "caffe"),
           ("impi/mpirun", "-f", "FILE", "-n", "1", "caffe"), ("impi/mpirun", "-configfile", "FILE"),
           ("check_rankfile.py", "FILE"), ("parse_log.py", "FILE", "."), ("extract_seconds.py", "FILE", "out"),
           ("draw_net.py", "FILE", "out.dot"), ("plot_training_log.py", "0", "out.svg", "FILE"),
           (*INTEL, "--solver", "solver.prototxt", "--hostfile", "FILE"), (*INTEL, "--solver", "FILE"),
           (*INTEL, "--mode", "time", "--iteration", "1", "--model_file", "FILE")]


class Fifos(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkfifo(self.folder / "FILE")
        for name, text in STAND_INS.items():
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        (self.folder / "solver.prototxt").write_text('net: "net.prototxt"\n')
        (self.folder / "net.prototxt").write_text("")

    def start(self, *words, program=None):
        env = {"PATH": f"{self.folder}:{os.environ['PATH']}", "OMPI_MCA_plm_rsh_agent": str(self.folder / "agent"),
               "TMPDIR": str(self.folder), "HOME": str(self.folder)}
        process = subprocess.Popen([program or SCRIPTS / words[0], *words[1:]], cwd=self.folder, env=env, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        try:
            out, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail(f"{process.args} still waits")
        return process.returncode, said, out

    def test_nobody_writes(self):
        for words, process in [(words, self.start(*words)) for words in READERS]:  # all wait at the same time
            code, said, _ = self.end(process)
            self.assertIn(code, (1, 2, 3), (words, said))
            self.assertIn("FILE", said)
            self.assertNotIn("Traceback", said)
            self.assertRegex(said, "the pipe has brought nothing for 10 s|no regular file")
        self.assertFalse((self.folder / "called").exists())

    def written_late(self, content, *words):
        process = self.start(*words)

        def write():
            time.sleep(0.5)
            with open(self.folder / "FILE", "wb") as file:
                file.write(content)

        writer = threading.Thread(target=write)
        writer.start()
        ended = self.end(process)
        writer.join()
        return ended

    def test_somebody_writes_late(self):
        code, said, _ = self.written_late(b"h1\nh2\n", "ddlrun", "-hostfile", "FILE", "caffe")
        self.assertIn("h1", (self.folder / "called").read_text(), said)
        code, said, out = self.written_late(b"rank 0=h1 slot=0:0\n", "check_rankfile.py", "--no-resolve", "FILE")
        self.assertEqual((code, out), (0, "FILE: 1 rank on 1 host, no fault found\n"), said)

    def test_other_places(self):
        with self.assertRaisesRegex(OSError, "Is a directory"):
            inputs.read_text(self.folder)
        with self.assertRaisesRegex(OSError, "neither a file nor a pipe"):
            inputs.read_text("/dev/zero")
        with self.assertRaisesRegex(OSError, "nothing for 0.1 s"):
            inputs.read_text(self.folder / "FILE", patience=0.1)

    def test_byte_order_marks(self):
        (self.folder / "hosts").write_bytes(MARK + b"h1\r\nh2\n")
        self.assertEqual(inputs.read_text(self.folder / "hosts"), "h1\nh2\n")
        for words in (("ddlrun", "-hostfile", "hosts", "caffe"), ("impi/mpirun", "-f", "hosts", "-n", "2", "caffe"),
                      (*INTEL, "--solver", "solver.prototxt", "--hostfile", "hosts")):
            (self.folder / "called").unlink(missing_ok=True)
            _, said, _ = self.end(self.start(*words))
            self.assertTrue((self.folder / "called").exists(), (words, said))
            self.assertIn("h1", (self.folder / "called").read_text())
            self.assertNotIn("\ufeff", (self.folder / "called").read_text())

    @unittest.skipUnless((TOOLS / "create_label_map").exists(), "ROBUSTA_TOOLS_DIR names no folder with create_label_map")
    def test_byte_order_marks_of_programs(self):
        (self.folder / "names").write_bytes(MARK + b"cat 1\ndog 2\n")
        code, said, _ = self.end(self.start("", "names", "map", program=TOOLS / "create_label_map"))
        self.assertEqual(code, 0, said)
        self.assertIn(b'"cat"', (self.folder / "map").read_bytes())
        (self.folder / "list").write_bytes(MARK + b"absent.png 0\n")
        code, said, _ = self.end(self.start("", "./", "list", "made_lmdb", program=TOOLS / "convert_imageset"))
        self.assertIn("./absent.png", said.replace("//", "/"))
        (self.folder / "flags").write_bytes(MARK + b"-iterations=3\n")
        code, said, _ = self.end(self.start("", "--flagfile=flags", "--version", program=TOOLS / "caffe"))
        self.assertEqual(code, 0, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
