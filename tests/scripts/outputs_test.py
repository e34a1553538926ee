#!/usr/bin/env python3
"""Programs told to write to devices: the devices stay. Runs in a mount namespace with a /dev of its own."""

import os
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
INSIDE, OUTER_DEVICE = "ROBUSTA_OWN_DEV", "ROBUSTA_OUTER_DEV"
SKIP = 3  # of the inner process: no /dev of its own is to be had
NET = """layer { name: "data" type: "DummyData" top: "data" top: "label"
        dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 1 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 2 snapshot_prefix: "toy" display: 1\n'


def own_dev():
    """A /dev for this mount namespace alone."""
    done = subprocess.run(["mount", "-t", "tmpfs", "robusta-test", "/dev"], stderr=subprocess.PIPE, check=False)
    if done.returncode != 0 or os.stat("/dev").st_dev == int(os.environ[OUTER_DEVICE]):
        sys.exit(SKIP)
    try:
        for name, numbers in NODES.items():
            os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, os.makedev(*numbers))
    except OSError:
        sys.exit(SKIP)
    for name, target in LINKS.items():
        os.symlink(target, f"/dev/{name}")
    os.mkdir("/dev/shm")


class Outputs(unittest.TestCase):
    def setUp(self):
        self.assertNotEqual(os.stat("/dev").st_dev, int(os.environ[OUTER_DEVICE]), "never on the machine's own /dev")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "net.prototxt").write_text(NET)
        (self.folder / "solver.prototxt").write_text(SOLVER)

    def tearDown(self):
        for name, numbers in NODES.items():
            status = os.lstat(f"/dev/{name}")
            self.assertTrue(stat.S_ISCHR(status.st_mode), f"/dev/{name} is no device any more")
            self.assertEqual((os.major(status.st_rdev), os.minor(status.st_rdev)), numbers)
        for name, target in LINKS.items():
            self.assertEqual(os.readlink(f"/dev/{name}"), target)
        self.assertEqual(set(os.listdir("/dev")), {*NODES, *LINKS, "shm"})

    def run_tool(self, tool, *words, want=0):
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([TOOLS / tool, *words], cwd=self.folder, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=100, check=False)
        self.assertEqual(done.returncode, want, done.stderr)
        return done

    def make_database(self):
        (self.folder / "images").write_bytes(struct.pack(">4i", 2051, 2, 4, 4) + bytes(range(32)))
        (self.folder / "labels").write_bytes(struct.pack(">2i", 2049, 2) + bytes(2))
        self.run_tool("convert_mnist_data", "images", "labels", "db")

    def test_upgrades(self):
        self.run_tool("upgrade_net_proto_text", "net.prototxt", "/dev/null")
        self.assertIn("EuclideanLoss", self.run_tool("upgrade_net_proto_text", "net.prototxt", "/dev/stdout").stdout)
        self.assertIn("base_lr", self.run_tool("upgrade_solver_proto_text", "solver.prototxt", "/dev/fd/1").stdout)
        full = self.run_tool("upgrade_net_proto_text", "net.prototxt", "/dev/full", want=7)
        self.assertIn("No space left on device", full.stderr)

    def test_mean(self):
        self.make_database()
        self.run_tool("compute_image_mean", "db", "/dev/null")
        self.run_tool("convert_mnist_data", "images", "labels", "/dev/null", want=7)

    def test_training(self):
        self.run_tool("caffe", "train", "-solver", "solver.prototxt", "-timeline", "/dev/null", "-tune_cache",
                      "/dev/null", "-log_json", "/dev/null")
        (self.folder / "toy_iter_2.caffemodel").unlink()
        (self.folder / "toy_iter_2.caffemodel").symlink_to("/dev/null")
        self.run_tool("caffe", "train", "-solver", "solver.prototxt")
        self.assertTrue((self.folder / "toy_iter_2.caffemodel").is_symlink())

    def test_models(self):
        self.run_tool("caffe", "train", "-solver", "solver.prototxt", "-log_json", "log.json")
        model = "toy_iter_2.caffemodel"
        self.run_tool("upgrade_net_proto_binary", model, "/dev/null")
        self.run_tool("caffe", "surgery", model, "-output", "/dev/null", "-rename", "ip=other")
        (self.folder / "deploy.prototxt").write_text(
            'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }\n'
            'layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 1 } }\n')
        self.run_tool("caffe", "export", "-onnx", "/dev/null", "-model", "deploy.prototxt", "-weights", model, "-check", "off")
        self.run_tool("caffe", "report", "log.json", "-o", "/dev/null")
        full = self.run_tool("caffe", "report", "log.json", "-o", "/dev/full", want=7)
        self.assertIn("No space left on device", full.stderr)

    def test_names(self):
        (self.folder / "names").write_text("cat 1\n")
        self.run_tool("create_label_map", "names", "/dev/null")
        (self.folder / "list").write_text("")
        done = self.run_tool("get_image_size", "./", "list", "/dev/stdout")
        self.assertEqual(done.stdout, "")


def main():
    if os.environ.get(INSIDE):
        own_dev()
        unittest.main()
    env = {**os.environ, INSIDE: "1", OUTER_DEVICE: str(os.stat("/dev").st_dev)}
    try:
        code = subprocess.run(["unshare", "-m", "--propagation", "private", sys.executable, __file__], env=env,
                              check=False).returncode
        skipped = code == SKIP or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.PIPE,
                                                 check=False).returncode != 0
    except FileNotFoundError:
        code, skipped = 0, True
    if skipped:
        print("SKIPPED: no mount namespace with a /dev of its own can be had here")
        return 77
    return code


if __name__ == "__main__":
    sys.exit(main())
