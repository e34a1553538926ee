#!/usr/bin/env python3
"""Files in the working folder that are named like modules of Python: no program of ours runs them, wherever it starts
Python itself."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools")).resolve()
MODULES = ("numpy", "onnxruntime", "json", "pathlib", "torch", "cv2", "venv", "ensurepip", "pip")
FOREIGN = "open(%r, 'a').write(__name__ + '\\n')\n"
# Says that it looks for modules where Python does, and does what the program asks for with nothing but those.
OWN_NUMPY = "open(%r, 'w').write('numpy')\nraise ImportError('no more than this')\n"
NET = """layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 } } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 2 } }
"""


class ForeignModules(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.executed, self.work = self.folder / "executed", self.folder / "work"
        self.work.mkdir()
        for name in MODULES:
            (self.work / f"{name}.py").write_text(FOREIGN % str(self.executed))

    def run_it(self, *words, **env):
        env = {"OMP_NUM_THREADS": "1", "HOME": str(self.folder), "PATH": os.environ["PATH"], **env}
        return subprocess.run([*map(str, words)], cwd=self.work, env=env, capture_output=True, text=True, timeout=120,
                              check=False)

    def assert_nothing_executed(self, done):
        self.assertFalse(self.executed.exists() and self.executed.read_text(), done.stdout + done.stderr)

    @unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
    def test_export_and_import(self):
        (self.work / "net.prototxt").write_text(NET)
        done = self.run_it(TOOLS / "caffe", "export", "-model", "net.prototxt", "-onnx", "net.onnx")
        self.assertIn("checked", done.stdout, done.stderr)
        self.assert_nothing_executed(done)
        done = self.run_it(TOOLS / "caffe", "import", "net.onnx", "-output", "again")
        self.assertIn("checked", done.stdout, done.stderr)
        self.assert_nothing_executed(done)

    @unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
    def test_modules_of_the_user_are_found(self):
        (self.work / "net.prototxt").write_text(NET)
        own = self.folder / "own"
        own.mkdir()
        (own / "numpy.py").write_text(OWN_NUMPY % str(self.folder / "found"))
        done = self.run_it(TOOLS / "caffe", "export", "-model", "net.prototxt", "-onnx", "net.onnx", PYTHONPATH=str(own))
        self.assertTrue((self.folder / "found").exists(), done.stdout + done.stderr)
        self.assertIn("no more than this", done.stdout)

    def test_the_scripts(self):
        readers = self.folder / "readers"
        for part in ("bin", "lib/python3.11/site-packages"):
            (readers / "opencv" / part).mkdir(parents=True)
        (readers / "opencv/bin/python").symlink_to(sys.executable)
        self.assert_nothing_executed(self.run_it(ROOT / "scripts/bundle_launcher.sh"))
        for call in ("robusta_readers.environments.interpreter('%d.%d')" % sys.version_info[:2],
                     "robusta_readers.environments.importable('opencv')", "bench_cpu.torch_version(sys.executable)",
                     "robusta_readers.environments.environment('opencv', make=False)"):
            code = (f"import sys; sys.path[:1] = [{str(ROOT / 'scripts')!r}]\nimport robusta_readers.environments, bench_cpu\n"
                    f"try: print({call})\nexcept robusta_readers.environments.Unavailable: print('none')")
            done = self.run_it(sys.executable, "-c", code, ROBUSTA_READERS_DIR=str(readers))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_nothing_executed(done)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
