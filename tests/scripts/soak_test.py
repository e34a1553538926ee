"""scripts/robusta_soak/: a request to end leaves no mount, whenever it comes; a killed soak's go with the next."""

import os
import pathlib
import signal
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_soak import calm, disk, ending  # noqa: E402  # after the path is set

OURS = str(ROOT / "scripts/robusta_soak")


class SoakTest(unittest.TestCase):
    """With programs that stand in for mount and umount: a file says what is mounted."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="soak test ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.mounted = self.folder / "mounted"
        self.program("mount", f'echo "$*" > "{self.mounted}"')
        self.program("umount", f'rm "{self.mounted}" 2> /dev/null')
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{self.folder}:{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        for number in ending.SIGNALS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def program(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def interrupted(self, line):
        """A soak that mounts and ends, with Ctrl-C at the `line`th of its lines. False when it has fewer lines."""
        lines = 0

        def trace(frame, event, _):
            nonlocal lines
            if not frame.f_code.co_filename.startswith(OURS):
                return None
            if event == "line":
                lines += 1
                if lines == line:
                    os.kill(os.getpid(), signal.SIGINT)
            return trace

        place, end = self.folder / f"disk{line}", ending.Ending()
        begun = False
        try:
            sys.settrace(trace)
            end.run(lambda: disk.Disk(end, place, 1))
        except (SystemExit, KeyboardInterrupt):
            begun = True
        finally:
            sys.settrace(None)
        self.assertFalse(self.mounted.exists(), f"Ctrl-C at line {line} leaves a mount")
        return begun or lines >= line

    def test_ctrl_c_at_any_line_leaves_no_mount(self):
        line = 1
        while self.interrupted(line):
            line += 1
            for number in ending.SIGNALS:
                signal.signal(number, signal.default_int_handler)
        self.assertGreater(line, 20)

    def test_what_fails_at_the_end_keeps_nothing_from_running(self):
        end, done = ending.Ending(), []

        def fails():
            raise OSError("on purpose")

        end.will(lambda: done.append("first"))
        end.will(fails)
        self.assertEqual(end.run(lambda: 7), 7)
        self.assertEqual(done, ["first"])

    def test_snapshots_that_the_chain_is_past_go(self):
        training = calm.Calm.__new__(calm.Calm)  # which would begin to train
        training.folder = self.folder / "calm"
        training.folder.mkdir()
        for name in ("net_iter_1000.caffemodel", "net_iter_2000.caffemodel", "net_iter_2000.solverstate",
                     "net_iter_1000.caffemodel.tmp.x", "net_iter_3000.solverstate.tmp.12ab"):
            (training.folder / name).touch()
        training.prune(2000)
        self.assertEqual(sorted(path.name for path in training.folder.iterdir()),
                         ["net_iter_1000.caffemodel.tmp.x", "net_iter_2000.caffemodel",
                          "net_iter_3000.solverstate.tmp.12ab"], "what is being written stays")
        self.assertEqual([calm.Calm.next(at) for at in (1, 1000, 1001)], [1000, 1000, 2000])

    def test_mounts_of_a_soak_that_is_gone_are_unmounted(self):
        self.mounted.write_text("")
        mounts = self.folder / "mounts"
        mounts.write_text(f"{disk.SOURCE}{os.getpid()} /a tmpfs\n/dev/sda / ext4\n")
        disk.unmount_abandoned(mounts)
        self.assertTrue(self.mounted.exists())
        mounts.write_text(f"{disk.SOURCE}999999999 /a tmpfs\n")
        disk.unmount_abandoned(mounts)
        self.assertFalse(self.mounted.exists())


if __name__ == "__main__":
    unittest.main()
