#!/usr/bin/env python3
"""caffe train under mpirun: N ranks train as one rank does with the global batch, to float rounding.

  equality_test.py Mnist    on the test images of MNIST, in ROBUSTA_SHARED_DIR (default ../shared); skipped without them
  equality_test.py Digits   on digits that make_digits draws, with fewer ranks

Compared are the loss of every iteration, the means of a test, and every parameter of the last snapshot.
"""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import compare  # noqa: E402

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools"))
MNIST = pathlib.Path(os.environ.get("ROBUSTA_SHARED_DIR", ROOT.parent / "shared")) / "data" / "mnist-t10k"
MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
GLOBAL_BATCH, ITERATIONS = 32, 12
# Relative to the loss, and to the largest weight of a parameter: some roundings of f32.
LOSS_TOLERANCE, WEIGHT_TOLERANCE = 5e-6, 2e-5

ENVIRONMENT = {
    **os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def data(batch, transform="scale: 0.00390625"):
    """The layers of data; tests take five batches of eight."""
    def layer(phase, size, how):
        return f"""layer {{ name: "data" type: "Data" top: "data" top: "label" include {{ phase: {phase} }}
  data_param {{ source: "digits" batch_size: {size} backend: LMDB }} transform_param {{ {how} }} }}
"""
    central = transform.replace("mirror: true", "")
    return layer("TRAIN", batch, transform) + layer("TEST", 8, central)


def convolution(name, bottom, outputs, settings=""):
    return f"""layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{name}"
  convolution_param {{ num_output: {outputs} kernel_size: 5 weight_filler {{ type: "xavier" }} {settings} }} }}
layer {{ name: "pool_{name}" type: "Pooling" bottom: "{name}" top: "pool_{name}"
  pooling_param {{ pool: MAX kernel_size: 2 stride: 2 }} }}
"""


def inner_product(name, bottom, outputs):
    return f"""layer {{ name: "{name}" type: "InnerProduct" bottom: "{bottom}" top: "{name}"
  inner_product_param {{ num_output: {outputs} weight_filler {{ type: "xavier" }} }} }}
"""


def in_place(layer_type, blob, settings=""):
    return f'layer {{ name: "{layer_type}_{blob}" type: "{layer_type}" bottom: "{blob}" top: "{blob}" {settings} }}\n'


def loss(bottom, settings=""):
    return f"""layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "{bottom}" bottom: "label" top: "loss" {settings} }}
"""


def lenet(batch):
    """That of models/lenet, with its accuracy."""
    text = (ROOT / "models" / "lenet" / "train_val.prototxt").read_text()
    return data(batch) + text[text.index('layer {\n  name: "conv1"'):]


def dropped(batch):
    """Dropout, random crops and mirror images."""
    return (data(batch, "scale: 0.00390625 crop_size: 24 mirror: true") + convolution("conv1", "data", 16) +
            in_place("ReLU", "pool_conv1") + inner_product("ip1", "pool_conv1", 64) + in_place("ReLU", "ip1") +
            in_place("Dropout", "ip1") + inner_product("ip2", "ip1", 10) + loss("ip2"))


def normalised(batch):
    """BatchNorm over the batches of all ranks. Biases before it would learn from rounding errors alone."""
    text = data(batch)
    bottom = "data"
    for name, outputs in (("conv1", 16), ("conv2", 24)):
        text += convolution(name, bottom, outputs, "bias_term: false")
        bottom = "pool_" + name
        text += in_place("BatchNorm", bottom, "batch_norm_param { sync: true }")
        text += in_place("Scale", bottom, "scale_param { bias_term: true }") + in_place("ReLU", bottom)
    return text + inner_product("ip", bottom, 10) + loss("ip")


def ignoring(batch):
    """Digits 3 are left out: each rank has another number of labels that count."""
    return (data(batch) + convolution("conv1", "data", 16) + in_place("ReLU", "pool_conv1") +
            inner_product("ip", "pool_conv1", 10) + loss("ip", "loss_param { ignore_label: 3 }"))


class Training(unittest.TestCase):
    pooling = "MAX"

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.environment = {**ENVIRONMENT, "TMPDIR": str(cls.folder), "XDG_CACHE_HOME": str(cls.folder)}
        cls.make_digits()
        cls.do([TOOLS / "convert_mnist_data", "images", "labels", "digits"])

    @classmethod
    def do(cls, command):
        done = subprocess.run(command, cwd=cls.folder, env=cls.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"{command} returned {done.returncode}:\n{done.stdout[-4000:]}")
        return done.stdout

    def train(self, name, net, settings, launcher, options):
        """Returns losses and means of the test, by iteration; the snapshot is NAME_iter_<ITERATIONS>.caffemodel."""
        (self.folder / f"{name}.net").write_text(net)
        (self.folder / f"{name}.solver").write_text(
            f'net: "{name}.net" test_iter: 5 test_interval: {ITERATIONS} test_initialization: false base_lr: 0.01 '
            f'lr_policy: "fixed" momentum: 0.9 weight_decay: 0.0005 display: 1 max_iter: {ITERATIONS} random_seed: 1 '
            f'snapshot_prefix: "{name}" {settings}')
        self.do(launcher + [TOOLS / "caffe", "train", "-solver", f"{name}.solver", "-deterministic", "-log_json",
                            f"{name}.json"] + options)
        numbers = {}
        for line in (self.folder / f"{name}.json").read_text().splitlines():
            event = json.loads(line)
            if event["event"] in ("train", "final"):
                numbers[event["event"], event["iter"]] = [event["loss"]]
            elif event["event"] == "test":
                numbers["test", event["iter"]] = list(event["outputs"].values())
        self.assertEqual(len(numbers), ITERATIONS + 2, "losses, the last loss and a test")
        return numbers

    def expect_equal(self, make_net, ranks, settings="", iter_size=1):
        """`settings` of the solver; batches are GLOBAL_BATCH / iter_size."""
        def definition(size):
            return make_net(size).replace("pool: MAX", f"pool: {self.pooling}")

        net = make_net.__name__ + ("" if iter_size == 1 else f"_{iter_size}")
        batch = GLOBAL_BATCH // iter_size
        settings += f" iter_size: {iter_size}"
        alone = self.train(net, definition(batch), settings, [], [])
        for count in ranks:
            with self.subTest(net=net, ranks=count):
                name = f"{net}_{count}"
                together = self.train(name, definition(batch // count), settings, [MPIEXEC, "-n", str(count)], [])
                far, where = compare.difference(alone, together)
                weights = [compare.parameters(self.folder / f"{run}_iter_{ITERATIONS}.caffemodel")
                           for run in (net, name)]
                weights_far, parameter = compare.difference(*weights)
                print(f"{net}, {count} ranks: losses and tests differ by {far:.2g} {where or ''}, "
                      f"weights by {weights_far:.2g} {parameter or ''}", flush=True)
                self.assertLessEqual(far, LOSS_TOLERANCE)
                self.assertLessEqual(weights_far, WEIGHT_TOLERANCE)
                if count == 1:
                    self.assertEqual((far, weights_far), (0, 0), "one rank under mpirun is one rank")


class Mnist(Training):
    """All nets, on real digits."""

    @classmethod
    def setUpClass(cls):
        if not (MNIST / "t10k-images-idx3-ubyte.gz").exists():
            raise unittest.SkipTest(f"there are no digits in {MNIST}")
        super().setUpClass()

    @classmethod
    def make_digits(cls):
        for what, name in (("images", "t10k-images-idx3-ubyte.gz"), ("labels", "t10k-labels-idx1-ubyte.gz")):
            (cls.folder / what).write_bytes(gzip.decompress((MNIST / name).read_bytes()))

    def test_lenet(self):
        self.expect_equal(lenet, (1, 2, 4, 8))

    def test_dropout_crop_and_mirror(self):
        self.expect_equal(dropped, (1, 2, 4, 8))

    def test_synchronised_batch_norm(self):
        self.expect_equal(normalised, (1, 2, 4, 8))

    def test_ignored_labels(self):
        self.expect_equal(ignoring, (1, 2, 4, 8))

    def test_sub_iterations_and_clipping(self):
        self.expect_equal(dropped, (1, 2, 4, 8), "clip_gradients: 0.5", iter_size=2)


class Digits(Training):
    """The same, on drawn digits, which need no files. Rounding decides which pixel of their even strokes is the largest,
    hence average pooling."""
    pooling = "AVE"

    @classmethod
    def make_digits(cls):
        cls.do([TOOLS / "make_digits", ".", "--train=200", "--test=1"])
        for what, name in (("images", "train-images-idx3-ubyte"), ("labels", "train-labels-idx1-ubyte")):
            (cls.folder / name).rename(cls.folder / what)

    def test_all_nets(self):
        for net in (lenet, dropped, normalised, ignoring):
            self.expect_equal(net, (2,))


if __name__ == "__main__":
    unittest.main()
