#!/usr/bin/env python3
"""Lists, databases and annotations that lead to what is no file: FIFOs that nobody writes, devices without an end,
folders, links in a circle, files that claim a terabyte. Each is an error with the code of data, in seconds, and takes little
memory."""

import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools")).resolve()
DATA = 3
PATIENCE = 60  # seconds, on a busy machine too; none of these takes one by itself
MEMORY = 3 << 30  # address space
SOLVER = "net: 'net.prototxt' base_lr: 0.01 lr_policy: 'fixed' max_iter: 2 snapshot_after_train: false\n"
NET = """layer {{ name: 'data' type: '{type}' top: 'data' top: 'label' {fields} }}
layer {{ name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param {{ num_output: 2 }} }}
layer {{ name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }}
"""
SANITIZED = bool(os.environ.get("ASAN_OPTIONS") or os.environ.get("TSAN_OPTIONS"))


def png():
    """A white image of 4 x 4."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + b"\xff" * 4 for _ in range(4))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def limit():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
class StrangeInputs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkfifo(self.folder / "fifo")
        os.mkdir(self.folder / "folder")
        os.symlink("circle", self.folder / "circle")
        with open(self.folder / "vast", "w", encoding="ascii") as file:
            file.truncate(1 << 40)
        (self.folder / "image.png").write_bytes(png())
        (self.folder / "solver.prototxt").write_text(SOLVER)

    STRANGE = ("fifo", "folder", "circle", "vast", "/dev/zero", "none")

    def run_tool(self, tool, *words):
        env = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(self.folder)}
        done = subprocess.run([TOOLS / tool, *map(str, words)], cwd=self.folder, capture_output=True, text=True, env=env,
                              timeout=PATIENCE, preexec_fn=limit, check=False)
        return done.returncode, done.stderr

    def refused(self, name, tool, *words, code=DATA):
        ended, said = self.run_tool(tool, *words)
        self.assertEqual(ended, code, f"{tool} {words}: {said[-2000:]}")
        self.assertIn(name, said.split("error: ", 1)[-1])

    def train(self, layer, fields):
        (self.folder / "net.prototxt").write_text(NET.format(type=layer, fields=fields))
        return "caffe", "train", "-solver", "solver.prototxt"

    def test_lists_of_images(self):
        for name in self.STRANGE:
            if name != "none":  # then `caffe` would train with synthetic data, and says so
                self.refused(name, *self.train("ImageData", f"image_data_param {{ source: '{name}' batch_size: 2 }}"))
            self.refused(name, "convert_imageset", "./", name, "made_lmdb")

    def test_images_of_a_list(self):
        for name in self.STRANGE:
            (self.folder / "list").write_text(f"image.png 0\n{name} 1\n")
            self.refused(name, *self.train("ImageData", "image_data_param { source: 'list' batch_size: 2 }"))

    def test_lists_of_hdf5_files(self):
        fields = "hdf5_data_param {{ source: '{}' batch_size: 2 }}"
        ended, said = self.run_tool(*self.train("HDF5Data", fields.format("folder")))
        if "HDF5" in said and ended == 9:
            self.skipTest("this build has no HDF5")
        for name in self.STRANGE:
            if name != "none":
                self.refused(name, *self.train("HDF5Data", fields.format(name)))
            (self.folder / "list").write_text(f"{name}\n")
            self.refused(name, *self.train("HDF5Data", fields.format("list")))
        # A list is a list of HDF5 files, and not of lists.
        (self.folder / "list").write_text("list\n")
        self.refused("list", *self.train("HDF5Data", fields.format("list")))

    def test_files_of_a_leveldb(self):
        words = self.train("Data", "data_param { source: 'level' batch_size: 2 backend: LEVELDB }")
        level = self.folder / "level"
        level.mkdir()

        def put(path, name):
            path.unlink(missing_ok=True)
            path.symlink_to(name if name.startswith("/") else self.folder / name)

        for name in self.STRANGE:
            if name not in ("none", "circle"):  # no LevelDB, then
                put(level / "CURRENT", name)
                self.refused("CURRENT", *words)
        (level / "CURRENT").unlink()
        for text in ("MANIFEST-../../fifo\n", "/etc/passwd\n", "", "MANIFEST-" + "9" * 2000, "MANIFEST-\0\n"):
            (level / "CURRENT").write_text(text)
            self.refused("level/", *words)
        (level / "CURRENT").write_text("MANIFEST-000001\n")
        for name in self.STRANGE:
            put(level / "MANIFEST-000001", name)
            self.refused("MANIFEST-000001", *words)

    def test_annotations(self):
        (self.folder / "labels").write_text("item { name: 'cat' label: 1 }\n")
        for name in self.STRANGE:
            (self.folder / "list").write_text(f"image.png {name}\n")
            words = ["--anno_type=detection", "--label_type=json", "--label_map_file=labels", "./"]
            self.refused(name, "convert_annoset", *words, "list", "made_lmdb")
            self.refused(name, "convert_annoset", *words, name, "made_lmdb")
        (self.folder / "deep").write_text("[" * 1000000)
        (self.folder / "list").write_text("image.png deep\n")
        self.refused("deep", "convert_annoset", "--anno_type=detection", "--label_type=json", "--label_map_file=labels", "./",
                     "list", "made_lmdb")
        for name in self.STRANGE:
            ended, said = self.run_tool("convert_annoset", "--anno_type=detection", "--label_type=json",
                                        f"--label_map_file={name}", "./", "list", "made_lmdb")
            self.assertIn(ended, (2, DATA), said)
            self.assertIn(name, said)

    def test_files_of_flags(self):
        for name in self.STRANGE:
            self.refused(name, "caffe", "train", f"-flagfile={name}", code=1)

    def test_lists_of_names_to_write(self):
        for name in self.STRANGE:
            (self.folder / "net.prototxt").write_text(
                "layer { name: 'data' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 2 } } }\n"
                "layer { name: 'write' type: 'MatWrite' bottom: 'x' "
                f"mat_write_param {{ prefix: 'm' source: '{name}' }} }}\n")
            if name not in ("none", "circle"):  # which `caffe plan` warns of
                self.refused(name, "caffe", "plan", "-model", "net.prototxt")

    def test_caches_are_passed_over(self):
        words = self.train("DummyData", "dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 } }")
        for name in ("fifo", "folder", "circle", "vast"):
            ended, said = self.run_tool(*words, f"-tune_cache={name}")
            self.assertEqual(ended, 0, said)

    def test_lists_of_a_batch_system(self):
        words = self.train("DummyData", "dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 } }")
        self.addCleanup(os.environ.pop, "PBS_NODEFILE", None)
        for name in self.STRANGE:
            os.environ["PBS_NODEFILE"] = name
            ended, said = self.run_tool(*words)
            self.assertEqual(ended, 0, said)

    def test_sizes_that_are_none(self):
        for sizes in ("", ",", "-1", "0", "abc", "1,x", "18446744073709551615", "9" * 20):
            self.refused("-kilobytes", "bench_allreduce", f"-kilobytes={sizes}", code=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
