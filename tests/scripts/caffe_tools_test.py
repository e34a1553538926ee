#!/usr/bin/env python3
"""The small programs of Caffe and SSD: features of samples, pairs of digits, maps of labels, sizes of images."""

import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
NET = """name: "toy"
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "db" batch_size: 3 backend: LMDB } }
layer { name: "twice" type: "Power" bottom: "data" top: "twice" power_param { scale: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "twice" top: "ip" inner_product_param { num_output: 2 } }
"""


def png(width, height):
    """A grey picture."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(width) for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def field(number, body):
    """A field of bytes in a protobuf message; all lengths here are below 128."""
    return bytes([*varint(number << 3 | 2), len(body)]) + body


def varint(value):
    return [value] if value < 128 else [value & 127 | 128, *varint(value >> 7)]


def caffemodel(name, kind, shapes):
    """Weights of one layer, all of them 1."""
    blobs = b""
    for shape in shapes:
        count = 1
        for extent in shape:
            count *= extent
        blobs += field(7, field(7, field(1, bytes(shape))) + field(5, struct.pack(f"<{count}f", *[1] * count)))
    return field(100, field(1, name.encode()) + field(2, kind.encode()) + blobs)


class Tools(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def run_tool(self, name, *words, want=0, threads=1):
        done = subprocess.run([TOOLS / name, *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE, timeout=100,
                              stderr=subprocess.PIPE, universal_newlines=True, check=False,
                              env={**os.environ, "OMP_NUM_THREADS": str(threads), "XDG_CACHE_HOME": str(self.folder)})
        self.assertEqual(done.returncode, want, done.stdout + done.stderr)
        return done

    def make_digits(self, labels):
        pixels = b"".join(bytes([10 * index % 250 + pixel for pixel in range(4)]) for index in range(len(labels)))
        (self.folder / "images").write_bytes(struct.pack(">4i", 2051, len(labels), 2, 2) + pixels)
        (self.folder / "labels").write_bytes(struct.pack(">2i", 2049, len(labels)) + bytes(labels))

    def test_pairs(self):
        self.make_digits([index % 2 for index in range(40)])
        self.run_tool("convert_mnist_siamese_data", "images", "labels", "pairs")
        said = self.run_tool("caffe", "data", "pairs", "-n", "1").stdout
        self.assertIn("records: 40 (0 image files, 0 of floats, 40 of bytes)", said)
        self.assertRegex(said, r"2x2x2 +40 +100\.0 %")
        self.assertIn("labels from 0 to 1", said)
        self.run_tool("convert_mnist_siamese_data", "images", "labels", "other", "-seed", "1")
        self.assertEqual((self.folder / "pairs/data.mdb").read_bytes(), (self.folder / "other/data.mdb").read_bytes())
        self.run_tool("convert_mnist_siamese_data", "images", "labels", "pairs", want=7)

    def records(self, database):
        """What `caffe data` says of a database, without its name and kind."""
        said = self.run_tool("caffe", "data", database, "-n", "1000").stdout
        return re.sub(f"^{database}: an? (LMDB|LevelDB) of", "DB of", said)

    def test_two_databases_feed_one_net(self):
        """No Caffe reads two in one layer: two layers, whose tops a Concat joins, each with a position of its own."""
        for name, labels in (("a", [1, 2, 3]), ("b", [11, 12, 13, 14, 15])):
            self.make_digits(labels)
            self.run_tool("convert_mnist_data", "images", "labels", name)
        source = 'layer {{ name: "{0}" type: "Data" top: "{0}" top: "{0}_label" data_param {{ source: "{0}" ' \
                 'batch_size: {1} backend: LMDB }} }}\n'
        joined = "".join(f'layer {{ name: "{top}" type: "Concat" bottom: "a{end}" bottom: "b{end}" top: "{top}" '
                         'concat_param { axis: 0 } }\n' for top, end in (("data", ""), ("label", "_label")))
        scores = ('layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" '
                  'inner_product_param { num_output: 20 weight_filler { type: "xavier" } } }\nlayer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" '
                  'bottom: "label" top: "loss" }\n')
        net = source.format("a", 1) + source.format("b", 2) + joined + scores
        (self.folder / "net.prototxt").write_text(net)
        solver = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" random_seed: 5 max_iter: {} snapshot: 4 ' \
                 'snapshot_prefix: "{}"\n'
        for name, iterations in (("whole", 8), ("first", 4), ("rest", 8)):
            (self.folder / f"{name}.prototxt").write_text(solver.format(iterations, name))
        self.run_tool("caffe", "check", "-solver", "whole.prototxt")
        self.run_tool("caffe", "train", "-solver", "whole.prototxt")
        self.run_tool("caffe", "train", "-solver", "first.prototxt")
        self.run_tool("caffe", "train", "-solver", "rest.prototxt", "-snapshot", "first_iter_4.solverstate")
        self.run_tool("caffe", "diff", "whole_iter_8.caffemodel", "rest_iter_8.caffemodel")
        # Four batches: 1 11 12, 2 13 14, 3 15 11, 1 12 13. Which of them are the same tells their order.
        labels = "".join(source.format(*each) for each in (("a", 1), ("b", 2))) + joined
        (self.folder / "labels.prototxt").write_text(labels)
        (self.folder / "none.caffemodel").write_bytes(caffemodel("ip", "InnerProduct", [(1,)]))
        self.run_tool("extract_features", "none.caffemodel", "labels.prototxt", "label", "found", 4, "lmdb")
        said = self.run_tool("caffe", "data", "found", "-n", "12").stdout
        same = re.findall(r"record (\d+) is record (\d+)", said)
        self.assertEqual(sorted(same), [("10", "2"), ("11", "4"), ("8", "1"), ("9", "0")], said)

        # The other way is refused where the second stands.
        (self.folder / "net.prototxt").write_text(net.replace('source: "a"', 'source: "a" source: "b"'))
        said = self.run_tool("caffe", "train", "-solver", "whole.prototxt", want=2).stderr
        self.assertIn('layer "a": "source" stands twice in data_param; a layer reads one source', said)

    def test_lists_that_lack_something_are_told_of(self):
        for name in "ab":
            (self.folder / f"{name}.png").write_bytes(png(3, 2))
        (self.folder / "list").write_text("a.png 4\nb.png four\n")
        said = self.run_tool("convert_imageset", "./", "list", "db").stderr
        self.assertIn("list:2: the last word is no number, here and in 0 more lines: as in Caffe, these images get "
                      "label 0", said)
        (self.folder / "list").write_text("a.png 4\nb.png 5\n")
        self.assertNotIn("no number", self.run_tool("convert_imageset", "./", "list", "other").stderr)
        said = self.run_tool("convert_annoset", "-anno_type", "detection", "./", "list", "boxes", want=1).stderr
        self.assertIn("--label_map_file is missing; name the label map of the classes", said)

    def test_what_is_read_is_not_written_over(self):
        (self.folder / "net.prototxt").write_text(
            'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 } } }\n'
            'layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 2 } }\n')
        (self.folder / "w.caffemodel").write_bytes(caffemodel("ip", "InnerProduct", [(2, 4), (2,)]))
        (self.folder / "linked.prototxt").symlink_to("net.prototxt")
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        given = ("-model", "net.prototxt", "-weights", "w.caffemodel")
        for words in (("deploy", *given, "-output", "net"), ("deploy", *given, "-output", "./w"),
                      ("deploy", *given, "-output", "linked"), ("export", *given, "-onnx", "w.caffemodel")):
            said = self.run_tool("caffe", *words, want=1).stderr
            self.assertIn("would take the place of what is read; give another name: nothing was written", said)
        self.assertIn("-output ./ is a folder", self.run_tool("caffe", "deploy", *given, "-output", "./", want=1).stderr)
        said = self.run_tool("caffe", "deploy", *given, "-output", "nowhere/n", want=7).stderr
        self.assertIn(": No such file or directory; give an -output in a folder that is there", said)
        self.assertEqual(before, {path: path.read_bytes() for path in self.folder.iterdir()})
        self.run_tool("caffe", "deploy", *given, "-output", "n")
        self.run_tool("caffe", "deploy", *given, "-output", "n")  # what it has written itself it writes anew
        # Weights that cannot be read are no matter of shapes, and lint says what they are.
        (self.folder / "empty").write_bytes(b"")
        said = self.run_tool("caffe", "deploy", *given[:2], "-weights", "empty", "-output", "n", want=4).stderr
        self.assertIn("empty: the file is empty\n", said)
        (self.folder / "cut.caffemodel").write_bytes(before[self.folder / "w.caffemodel"][:40])
        self.assertIn("cut or damaged at byte", self.run_tool("caffe", "deploy", "-lint", "cut.caffemodel", want=4).stderr)

    def test_leveldbs_hold_what_lmdbs_hold(self):
        self.make_digits([index % 10 for index in range(300)])
        for kind in "lmdb", "leveldb":
            self.run_tool("convert_mnist_data", "images", "labels", f"digits_{kind}", "-backend", kind)
            self.run_tool("convert_mnist_siamese_data", "images", "labels", f"pairs_{kind}", f"-backend={kind}")
        for name in "digits", "pairs":
            self.assertTrue((self.folder / f"{name}_leveldb/CURRENT").exists())
            self.assertEqual(self.records(f"{name}_leveldb"), self.records(f"{name}_lmdb"))
        self.run_tool("convert_mnist_data", "images", "labels", "digits_leveldb", "-backend=leveldb", want=7)
        self.run_tool("convert_mnist_data", "images", "labels", "x", "-backend=leveldbb", want=1)

    def test_weights_of_old_nets_are_upgraded(self):
        """V1 has its arrays and a number for the type in `layers`, V0 a layer within it."""
        shape, floats = field(7, field(1, bytes([2, 3]))), field(5, struct.pack("<6f", *range(6)))
        legacy = bytes([8, 1, 16, 1, 24, 2, 32, 3])
        (self.folder / "new").write_bytes(field(100, field(1, b"ip") + field(2, b"InnerProduct") + field(7, shape + floats)))
        olds = {"v1": field(4, b"ip") + bytes([40, 14]) + field(6, legacy + floats),
                "v0": field(1, field(1, b"ip") + field(2, b"innerproduct") + bytes([24, 2]) + field(50, legacy + floats))}
        for name, layer in olds.items():
            with self.subTest(name):
                (self.folder / name).write_bytes(field(2, layer))
                self.run_tool("upgrade_net_proto_binary", name, "upgraded")
                self.assertIn(b"InnerProduct", (self.folder / "upgraded").read_bytes())
                said = self.run_tool("caffe", "diff", "new", "upgraded").stdout
                self.assertIn("no difference", said)
                (self.folder / "cut").write_bytes((self.folder / name).read_bytes()[:-1])
                self.assertIn("cut", self.run_tool("upgrade_net_proto_binary", "cut", "none", want=4).stderr)
                self.assertFalse((self.folder / "none").exists())

    def test_cifar(self):
        for index, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
            (self.folder / f"{name}.bin").write_bytes(b"".join(bytes([record % 10]) + bytes([record % 251, index]) * 1536
                                                               for record in range(10000)))
        for kind in "lmdb", "leveldb":
            self.run_tool("convert_cifar_data", ".", ".", kind)
        for part in "train", "test":
            self.assertEqual(self.records(f"cifar10_{part}_leveldb"), self.records(f"cifar10_{part}_lmdb"))

    def make_images(self, count):
        names = [f"i{index}.png" for index in range(count)]
        for index, name in enumerate(names):
            (self.folder / name).write_bytes(png(3 + index % 7, 2 + index % 5) if index % 13 else b"no picture")
        (self.folder / "list").write_text("".join(f"{name} {index}\n" for index, name in enumerate(names)))

    def test_any_number_of_threads_makes_the_same_database(self):
        self.make_images(300)
        for flags in ["-shuffle"], ["-encoded", "-encode_type=jpg", "-resize_width=9", "-resize_height=8"]:
            made = []
            for threads in 1, 4:
                self.run_tool("convert_imageset", *flags, f"{self.folder}/", "list", f"db{threads}", threads=threads)
                made.append((self.folder / f"db{threads}/data.mdb").read_bytes())
                shutil.rmtree(self.folder / f"db{threads}")
            self.assertEqual(made[0], made[1], flags)

    def test_progress_on_a_terminal(self):
        self.make_images(40)
        here, there = pty.openpty()
        with subprocess.Popen([TOOLS / "convert_imageset", f"{self.folder}/", "list", "db"], cwd=self.folder, stderr=there,
                              env={**os.environ, "TERM": "xterm"}) as program:
            os.close(there)
            said = b""
            try:
                while piece := os.read(here, 1 << 16):
                    said += piece
            except OSError:
                pass  # the program has ended
        os.close(here)
        self.assertEqual(program.returncode, 0, said)
        self.assertRegex(said.decode(), r"40/40 \(100\.0 %\), [0-9.]+ img/s, ETA 00:00:00")

    def test_proportions_are_kept(self):
        (self.folder / "a.png").write_bytes(png(20, 10))
        (self.folder / "list").write_text("a.png 0\n")
        for flags, size in (["-min_dim=30"], "3x30x60"), (["-min_dim=30", "-max_dim=40"], "3x20x40"):
            self.run_tool("convert_imageset", *flags, f"{self.folder}/", "list", "db")
            self.assertIn(size, self.records("db"))
            shutil.rmtree(self.folder / "db")

    def test_features(self):
        self.make_digits([0, 1, 2, 3, 4, 5])
        self.run_tool("convert_mnist_data", "images", "labels", "db")
        (self.folder / "net.prototxt").write_text(NET)
        weights = "toy.caffemodel"
        (self.folder / weights).write_bytes(caffemodel("ip", "InnerProduct", [(2, 4), (2,)]))
        self.run_tool("extract_features", weights, "net.prototxt", "twice,ip", "f_twice,f_ip", 2, "lmdb")
        said = self.run_tool("caffe", "data", "f_twice", "-n", "6").stdout
        self.assertIn("records: 6 (0 image files, 6 of floats, 0 of bytes)", said)
        self.assertIn("0000000005", said)
        self.assertRegex(said, r"1x2x2 +6 +100\.0 %")
        self.assertRegex(self.run_tool("caffe", "data", "f_ip").stdout, r"2x1x1 +6 +100\.0 %")
        # Four rows of numbers 0, 2, 4, 6, then 20 more in each: their mean over six samples.
        self.run_tool("compute_image_mean", "f_twice", "mean.binaryproto")
        self.assertRegex(self.run_tool("caffe", "data", "mean.binaryproto").stdout, r"0 +50 +56 +53 +0\n")
        self.run_tool("extract_features", weights, "net.prototxt", "twice", "f_twice", 1, "lmdb", want=7)
        wrong = self.run_tool("extract_features", weights, "net.prototxt", "twise", "x", 1, "lmdb", want=1)
        self.assertIn('did you mean "twice"', wrong.stderr)
        self.run_tool("extract_features", weights, "net.prototxt", "ip", "a,b", 1, "lmdb", want=1)
        self.run_tool("extract_features", weights, "net.prototxt", "twice,ip", "l_twice,l_ip", 2, "leveldb")
        for blob in "twice", "ip":
            self.assertTrue((self.folder / f"l_{blob}/CURRENT").exists())
            self.assertEqual(self.records(f"l_{blob}"), self.records(f"f_{blob}"))
        self.run_tool("extract_features", weights, "net.prototxt", "twice", "l_twice", 1, "leveldb", want=7)
        said = self.run_tool("extract_features", weights, "net.prototxt", "ip", "a", 1, "levldb", want=1).stderr
        self.assertIn("say lmdb or leveldb or hdf5", said)
        self.assertFalse((self.folder / "x").exists())

    def test_features_in_hdf5_files(self):
        self.make_digits([0, 1, 2, 3, 4, 5])
        self.run_tool("convert_mnist_data", "images", "labels", "db")
        (self.folder / "net.prototxt").write_text(NET)
        (self.folder / "toy.caffemodel").write_bytes(caffemodel("ip", "InnerProduct", [(2, 4), (2,)]))
        words = [TOOLS / "extract_features", "toy.caffemodel", "net.prototxt", "twice,ip", "t.h5,ip.h5", "2", "hdf5"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=100, check=False)
        if done.returncode == 9:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        # The same numbers as in the databases: 0, 2, 4, 6, then 20 more in each sample.
        self.assertRegex(self.run_tool("caffe", "data", "t.h5").stdout, r"data +6 +1 2 2 \(4\) +0 +106 +53 +0\n")
        self.assertRegex(self.run_tool("caffe", "data", "ip.h5").stdout, r"data +6 +2 ")
        self.run_tool("extract_features", "toy.caffemodel", "net.prototxt", "twice", "t.h5", 1, "hdf5", want=7)

    def test_label_maps(self):
        (self.folder / "names").write_text("cat\n\ndog\r\n")
        self.run_tool("create_label_map", "names", "map", "-include_background")
        self.assertEqual((self.folder / "map").read_text().split('item {\n')[2],
                         '  name: "cat"\n  label: 1\n  display_name: "cat"\n}\n')
        (self.folder / "names").write_text("n01,7,tabby cat\nn02,8,dog\n")
        self.run_tool("create_label_map", "names", "map", "-delimiter=,")
        self.assertIn('display_name: "tabby cat"', (self.folder / "map").read_text())
        (self.folder / "names").write_text("a 1\nb 1\n")
        self.assertIn("names:2", self.run_tool("create_label_map", "names", "map", want=3).stderr)
        self.run_tool("create_label_map", "absent", "map", want=3)

    def test_image_sizes(self):
        (self.folder / "in").mkdir()
        (self.folder / "in/cat.png").write_bytes(png(7, 5))
        (self.folder / "list").write_text("in/cat.png 3\n")
        self.run_tool("get_image_size", f"{self.folder}/", "list", "sizes")
        self.assertEqual((self.folder / "sizes").read_text(), "cat 5 7\n")
        (self.folder / "ids").write_text("cat 12\n")
        self.run_tool("get_image_size", "-name_id_file=ids", f"{self.folder}/", "list", "sizes")
        self.assertEqual((self.folder / "sizes").read_text(), "12 5 7\n")
        (self.folder / "list").write_text("in/cat.png\nin/dog.png\n")
        self.assertIn("list:2", self.run_tool("get_image_size", f"{self.folder}/", "list", "sizes", want=3).stderr)

    def test_former_programs_name_the_action(self):
        for name, action in (("train_net", "caffe train"), ("finetune_net", "-weights"), ("test_net", "caffe test"),
                             ("net_speed_benchmark", "caffe time"), ("device_query", "caffe device_query")):
            done = subprocess.run([SCRIPTS / name, "solver.prototxt"], stderr=subprocess.PIPE, universal_newlines=True,
                                  timeout=100, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(action, done.stderr)


if __name__ == "__main__":
    unittest.main()
