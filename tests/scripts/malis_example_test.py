#!/usr/bin/env python3
"""examples/malis: the loss and its gradient against all pairs of pixels, one by one, and a training with it."""

import itertools
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools")).resolve()
COMPILER = shutil.which(os.environ.get("CXX", "c++"))
MARGIN = 0.2
NET = """name: "malis" force_backward: true
layer {{ name: "data" type: "DummyData" top: "affinity" top: "truth" top: "components"
  dummy_data_param {{ shape {{ {edges} }} shape {{ {edges} }} shape {{ {pixels} }}
    data_filler {{ type: "uniform" min: 0 max: 1 }} data_filler {{ type: "uniform" min: 0 max: 1 }}
    data_filler {{ type: "uniform" min: 0 max: {components} }} }} }}
layer {{ name: "same" type: "Power" bottom: "affinity" top: "predicted" }}
layer {{ name: "loss" type: "MalisLoss" bottom: "predicted" bottom: "truth" bottom: "components" top: "loss"
  plugin_param {{ key: "margin" value: "0.2" }} }}
"""


def floats(path):
    """Of a BlobProto: field 5, packed."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        size, at = varint(data, at)  # packed numbers and messages
        if tag == 5 << 3 | 2:
            return list(struct.unpack(f"<{size // 4}f", data[at:at + size]))
        at += size
    return []


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def edges_of(extents):
    """Index of each edge in an array of [axes, pixels] -> its two pixels. Channel 0 is the last axis."""
    places = list(itertools.product(*map(range, extents)))
    number = {place: i for i, place in enumerate(places)}
    found = {}
    for channel, axis in enumerate(reversed(range(len(extents)))):
        for place in places:
            other = place[:axis] + (place[axis] + 1,) + place[axis + 1:]
            if other in number:
                found[channel * len(places) + number[place]] = (number[place], number[other])
    return found


def weakest_edges(edges, graph, pixels):
    """Of each pair of pixels the weakest edge of its strongest path: paths through ever more pixels."""
    best = {}
    for edge, (a, b) in edges.items():
        best[a, b] = best[b, a] = edge
    for k, i, j in itertools.product(range(pixels), repeat=3):
        if len({i, j, k}) == 3 and (i, k) in best and (k, j) in best:
            through = min(best[i, k], best[k, j], key=lambda edge: graph[edge])
            if (i, j) not in best or graph[through] > graph[best[i, j]]:
                best[i, j] = through
    return best


def pair_by_pair(extents, predicted, truth, components):
    """Loss and gradient of one image."""
    edges, pixels = edges_of(extents), len(components)
    loss, gradient = 0, [0] * len(predicted)
    for same, pick, sign in ((True, min, -1), (False, max, 1)):
        graph = [pick(pair) for pair in zip(predicted, truth)]
        weakest = weakest_edges(edges, graph, pixels)
        pairs = [(i, j) for i in range(pixels) for j in range(i)
                 if components[i] and components[j] and (components[i] == components[j]) == same]
        for pair in pairs:
            edge = weakest[pair]
            cost = MARGIN + sign * (graph[edge] - 0.5)
            if cost > 0:
                loss += 0.5 * cost / len(pairs)
                gradient[edge] += 0.5 * sign / len(pairs) if graph[edge] == predicted[edge] else 0
    return loss, gradient


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
@unittest.skipUnless(COMPILER, "there is no compiler")
class Malis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.plugin = cls.folder / "libmalis_loss.so"
        subprocess.run([COMPILER, "-std=c++20", "-O1", "-shared", "-fPIC", "-I", ROOT / "include", "-o", cls.plugin,
                        ROOT / "examples/malis/malis_loss.cpp"], check=True)
        cls.plugin.chmod(0o755)

    def caffe(self, *words, want=0):
        done = subprocess.run([TOOLS / "caffe", *words, "-plugin", self.plugin], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.folder), "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, want, done.stderr)
        return done.stderr

    def compare(self, extents, components, images=2):
        spatial = " ".join(f"dim: {extent}" for extent in extents)
        (self.folder / "net.prototxt").write_text(NET.format(
            edges=f"dim: {images} dim: {len(extents)} {spatial}", pixels=f"dim: {images} dim: 1 {spatial}",
            components=components))
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        self.caffe("collect", "-model", "net.prototxt", "-collect_dir", "out")
        arrays = {}
        for line in (self.folder / "out/INDEX.txt").read_text().splitlines():
            file, kind, layer, blob = line.split("\t")
            arrays[kind, layer, blob] = floats(self.folder / "out" / file)
        predicted, truth = arrays["top", "same", "predicted"], arrays["top", "data", "truth"]
        marks = [int(mark) for mark in arrays["top", "data", "components"]]
        edges, pixels = len(predicted) // images, len(marks) // images
        want = [pair_by_pair(extents, predicted[n * edges:][:edges], truth[n * edges:][:edges], marks[n * pixels:][:pixels])
                for n in range(images)]
        self.assertAlmostEqual(arrays["top", "loss", "loss"][0], sum(loss for loss, _ in want) / images, places=6)
        gradient = [slope / images for _, slopes in want for slope in slopes]
        self.assertTrue(any(gradient))
        for got, slope in zip(arrays["bottom gradient", "loss", "predicted"], gradient, strict=True):
            self.assertAlmostEqual(got, slope, places=6)

    def test_images(self):
        self.compare((4, 5), 3.99)

    def test_volumes(self):
        self.compare((2, 3, 4), 2.99, images=1)

    def test_one_component_has_no_pairs_of_two(self):
        self.compare((3, 3), 1.99)

    def test_trains(self):
        log = self.caffe("train", "-solver", ROOT / "examples/malis/solver.prototxt")
        losses = [float(line.rsplit("= ", 1)[1]) for line in log.splitlines() if ", loss = " in line]
        self.assertLess(losses[-1], 0.5 * losses[0], log)

    def test_says_what_is_wrong(self):
        (self.folder / "net.prototxt").write_text(NET.format(edges="dim: 1 dim: 3 dim: 4 dim: 4", pixels="dim: 16",
                                                             components=2))
        self.assertIn("a channel for each spatial axis", self.caffe("collect", "-model", "net.prototxt", want=2))
        (self.folder / "net.prototxt").write_text(NET.format(edges="dim: 1 dim: 2 dim: 2 dim: 2", pixels="dim: 4",
                                                             components=90))
        self.assertIn("a component of sample 0 is", self.caffe("collect", "-model", "net.prototxt", want=3))


if __name__ == "__main__":
    unittest.main()
