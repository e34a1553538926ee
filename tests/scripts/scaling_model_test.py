#!/usr/bin/env python3
"""scripts/scaling_model.py: the arithmetic against cases worked out by hand, the reader against a recorded log."""

import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
MODELS = SCRIPTS.parent / "models"
sys.path.insert(0, str(SCRIPTS))

from robusta_launch.errors import LaunchError  # noqa: E402
from robusta_scaling import clusters, profile, stages  # noqa: E402
from robusta_scaling.messages import parse_message  # noqa: E402
from robusta_scaling.model import Cuts, Servers, Tier, adasum_seconds, dimension_seconds, make_buckets, predict  # noqa: E402
from robusta_scaling.profile import Layer, Profile  # noqa: E402

# `caffe time` of LeNet, without the lines of other kinds.
HEAD = "I1121 10:59:44.216732 27461 graph.cpp:63] "
LENET_LOG = "\n".join(HEAD + text for text in [
    "Creating Layer data", "data -> data", "data -> label", "Top shape: 64 1 28 28 (50176)", "Top shape: 64 (64)",
    "Creating Layer conv1", "conv1 <- data", "conv1 -> conv1", "Top shape: 64 20 24 24 (737280)",
    "Creating Layer pool1", "pool1 <- conv1", "pool1 -> pool1", "Top shape: 64 20 12 12 (184320)",
    "Creating Layer conv2", "conv2 <- pool1", "conv2 -> conv2", "Top shape: 64 50 8 8 (204800)",
    "Creating Layer pool2", "pool2 <- conv2", "pool2 -> pool2", "Top shape: 64 50 4 4 (51200)",
    "Creating Layer ip1", "ip1 <- pool2", "ip1 -> ip1", "Top shape: 64 500 (32000)",
    "Creating Layer relu1", "relu1 <- ip1", "relu1 -> ip1 (in-place)", "Top shape: 64 500 (32000)",
    "Creating Layer ip2", "ip2 <- ip1", "ip2 -> ip2", "Top shape: 64 10 (640)",
    "Creating Layer loss", "loss <- ip2", "loss <- label", "loss -> loss", "Top shape: (1)", "    with loss weight 1",
    "Average time per layer: ", "      data\tforward: 0.0114673 ms.", "      data\tbackward: 0 ms.",
    "     conv1\tforward: 2.5 ms.", "     conv1\tbackward: 3.5 ms.", "     pool1\tforward: 0.1 ms.",
    "     pool1\tbackward: 1.5 ms.", "     conv2\tforward: 0.75 ms.", "     conv2\tbackward: 3 ms.",
    "     pool2\tforward: 0.05 ms.", "     pool2\tbackward: 0.125 ms.", "       ip1\tforward: 0.25 ms.",
    "       ip1\tbackward: 2.5e-01 ms.", "     relu1\tforward: 0.002 ms.", "     relu1\tbackward: 0.01 ms.",
    "       ip2\tforward: 0.02 ms.", "       ip2\tbackward: 0.03 ms.", "      loss\tforward: 0.007 ms.",
    "      loss\tbackward: 0.001 ms.", "Average Forward pass: 6.45556 ms.", "Average Update: 4.125 ms."])


def steps(*dims):
    """Messages of an all-reduce one after the other."""
    return sum(dimension_seconds([Tier(d, math.inf, 1) for d in dims], 1.0))


class Communication(unittest.TestCase):
    def test_steps(self):
        self.assertEqual([steps(256), steps(4, 64), steps(4, 8, 8), steps(4, 4, 4, 4), steps(4, 2, 3)],
                         [510, 132, 34, 24, 12])

    def test_bytes_of_each_dimension(self):
        # 1.5, 0.25 and 1/6 of the message.
        self.assertEqual(dimension_seconds([Tier(d, 1) for d in (4, 2, 3)], 24), [36, 6, 4])
        # 4x8x8: 1.5, 0.4375, 0.0546875.
        self.assertEqual(dimension_seconds([Tier(d, 1) for d in (4, 8, 8)], 128), [192, 56, 7])

    def test_total_is_that_of_one_ring(self):
        for dims in [(24,), (4, 6), (4, 2, 3), (2, 2, 2, 3)]:
            self.assertAlmostEqual(sum(dimension_seconds([Tier(d, 1) for d in dims], 1)), 2 * 23 / 24, 12)

    def test_a_link_that_a_host_shares(self):
        # 2(H-1)/H of the message through each host's link, however many ranks the host has.
        for x in (1, 2, 4):
            tiers = [Tier(x, math.inf), Tier(4, 10, shared_by=x)]
            self.assertAlmostEqual(dimension_seconds(tiers, 80)[1], 2 * 3 / 4 * 80 / 10, 12)

    def test_half_the_bytes_and_direct_hops(self):
        self.assertEqual(dimension_seconds([Tier(4, 1, shrink=0.5)], 8), [6])
        self.assertEqual(dimension_seconds([Tier(4, 1, latency=1)], 8), [18])
        self.assertEqual(dimension_seconds([Tier(4, 1, latency=1, direct=True)], 8), [14])
        self.assertEqual(dimension_seconds([Tier(1, 1, latency=1, direct=True)], 8), [0])


A, B = Layer("a", 1, 2, (8,)), Layer("b", 1, 2, (8,))


def one_second_per_bucket():
    return [Tier(2, 8)]  # 2 * 1/2 * 8 bytes / 8 bytes per second


class Step(unittest.TestCase):
    def step(self, layers, tiers, bucket=8, update=0.0, **options):
        return predict(Profile("net", 4, tuple(layers), update), tiers, bucket, **options)

    def test_alone(self):
        result = self.step([A, B], [Tier(1, 1)])
        self.assertEqual((result.step, result.exposed, result.exposed_share, result.efficiency), (6, 0, 0, 1))

    def test_the_last_bucket_is_exposed(self):
        # forward 0..2, backward b 2..4: its bucket 4..5 beside backward a 4..6, whose bucket 6..7 nothing hides.
        result = self.step([A, B], one_second_per_bucket())
        self.assertEqual((result.step, result.compute, result.communication), (7, 6, 2))
        self.assertEqual((result.exposed_share, result.efficiency), (0.5, 6 / 7))
        self.assertEqual((result.ranks, result.images_per_second), (2, 2 * 4 / 7))

    def test_a_slow_link(self):
        # Buckets 4..8 and 8..12.
        result = self.step([A, B], [Tier(2, 2)])
        self.assertEqual((result.step, result.dimensions), (12, (8,)))

    def test_one_bucket(self):
        # Posted at 6, two seconds.
        self.assertEqual(self.step([A, B], one_second_per_bucket(), bucket=16).step, 8)

    def test_layers_before_the_first_learned_one_hide_its_bucket(self):
        # The next forward of d, 9..12, covers a's bucket 9..10.
        layers = [Layer("d", 3, 0), A, B]
        self.assertEqual(self.step(layers, one_second_per_bucket()).step, 9)
        self.assertEqual(self.step(layers, one_second_per_bucket(), wait_after_backward=True).step, 10)

    def test_updates_hide_communication(self):
        # Backward ends at 6; b is updated 6..7, while a's bucket is reduced; a 7..8.
        result = self.step([A, B], one_second_per_bucket(), update=2)
        self.assertEqual((result.step, result.compute, result.exposed), (8, 8, 0))

    def test_communication_takes_from_the_core(self):
        # Of b's bucket, 4..5, half a second is added to a's backward, 4..6.5; a's bucket 6.5..7.5.
        self.assertEqual(self.step([A, B], one_second_per_bucket(), core=0.5).step, 7.5)
        # b is updated 6.5..8, of which half belongs to a's bucket until 7.5; a 8..9.
        self.assertEqual(self.step([A, B], one_second_per_bucket(), update=2, core=0.5).step, 9)

    def test_computing_takes_from_communication(self):
        # Half a core each: b's bucket 4..6, a's backward 4..7; a's bucket has the core to itself, 7..8.
        self.assertEqual(self.step([A, B], one_second_per_bucket(), core=1).step, 8)
        # Two seconds of the core for each bucket: b's 4..8 beside half of the core, a's 8..10 with all of it.
        self.assertEqual(self.step([A, B], one_second_per_bucket(), core=2).step, 10)

    def test_a_slow_link_leaves_the_core_alone(self):
        # Buckets 4..8 and 8..12, a quarter of the core in all of them: a's backward ends at 6.67, before it is needed.
        self.assertAlmostEqual(self.step([A, B], [Tier(2, 2)], core=0.25).step, 12, 12)

    def test_the_update_shared_out(self):
        # Sums of half a second each, 4..4.5 and 6..6.5; a second of the update's two, 6.5..7.5; a's weights 7.5..8, then
        # its forward 8..9, which hides b's weights; b's forward 9..10. The next backward begins at 10: a step of 8.
        result = self.step([A, B], one_second_per_bucket(), update=2, shard="states")
        self.assertEqual((result.step, result.compute, result.communication), (8, 7, 2))
        # Alone nothing is shared out, and nothing travels.
        self.assertEqual(self.step([A, B], [Tier(1, 1)], update=2, shard="states").step, 8)

    def test_the_memory_of_two_buckets(self):
        # Sums of two seconds: c's 5..7 beside b's backward, whose sum is 7..9; a's gradients lie where c's lay, and its
        # backward, 7..9, waits for that. All of it again on the way back.
        layers = [A, B, Layer("c", 1, 2, (8,))]
        tiers = [Tier(2, 2)]
        roomy, narrow = (self.step(layers, tiers, shard=kind) for kind in ("states", "gradients"))
        self.assertEqual(roomy.communication, narrow.communication)
        self.assertEqual((roomy.step, narrow.step), (15, 15))
        # A layer that computes long at the end of backward: with memory for all it hides the sums of the first ones.
        layers = [Layer("a", 1, 20, (8,)), B, Layer("c", 1, 0, (8,)), Layer("d", 1, 0, (8,))]
        roomy, narrow = (self.step(layers, tiers, shard=kind) for kind in ("states", "gradients"))
        self.assertLess(roomy.step, narrow.step)

    def test_weights_are_not_shrunk(self):
        there, back = [Tier(2, 8, shrink=0.5)], [Tier(2, 8, shrink=0.5, shrink_back=1)]
        self.assertEqual(self.step([A, B], there).communication, 1)
        self.assertEqual(self.step([A, B], back, shard="states").communication, 1.5)

    def test_local_steps(self):
        # Two rounds of 6; then averages of a second each, a's 12..13 before its forward, 13..14, which hides b's.
        apart = [Tier(1, 1), *one_second_per_bucket()]
        result = self.step([A, B], apart, sync_every=2)
        self.assertEqual((result.step, result.compute, result.communication), (6.5, 6, 1))
        self.assertEqual(result.dimensions, (0, 1))
        self.assertEqual(self.step([A, B], apart, update=2, sync_every=2).step, 8.5)
        # Within X a sum goes beside backward as ever, b's 4..5 and a's 6..7, before its forward.
        self.assertEqual(self.step([A, B], [*one_second_per_bucket(), Tier(1, 1)], sync_every=100).step, 7.01)

    def test_parameter_servers(self):
        # Pushes of a second each, 4..5 and 6..7; the server's update, 7..9; a's weights 9..10, its forward 10..11, which
        # hides b's. The next backward begins at 12 in place of 2.
        served = Servers(1, 1, Tier(1, 8))
        result = self.step([A, B], [Tier(1, 1)], update=2, servers=served)
        self.assertEqual((result.step, result.communication, result.dimensions), (10, 4, (0, 4)))
        # Two groups meet at the server's link: b's push 4..6, a's 6..8; two servers take half as long to update, 8..9; a's
        # weights 9..11, b's 11..13, b's forward 13..14.
        result = self.step([A, B], [Tier(1, 1)], update=2, servers=Servers(2, 2, Tier(1, 8)))
        self.assertEqual((result.step, result.ranks, result.images_per_second), (12, 2, 8 / 12))
        # Gradients alone are compressed.
        half = Servers(1, 1, Tier(1, 8, shrink=0.5))
        self.assertEqual(self.step([A, B], [Tier(1, 1)], servers=half).communication, 3)

    def test_adasum(self):
        # Of 8 bytes halves are swapped, there and back, and of the halves quarters: (4 + 2) * 2; with a second for a
        # message three of the first level and four of the second.
        self.assertEqual(adasum_seconds([Tier(1, 1), Tier(4, 1)], 8), [0, 12])
        self.assertEqual(adasum_seconds([Tier(1, 1), Tier(4, math.inf, latency=1)], 8), [0, 7])
        # Two sums within X, and each rank swaps its half of what is summed.
        self.assertEqual(adasum_seconds([Tier(2, 1), Tier(2, 1, shared_by=2)], 8), [16, 8])
        self.assertEqual(self.step([A, B], [Tier(1, 1), Tier(2, 8)], adasum=True).communication, 2)

    def test_layers_that_are_cut(self):
        # Of b, in two parts, a rank sends its 4 bytes of inputs and half of its 4 of outputs, in each pass: 6 bytes at 8 a
        # second. Its gradients are half as many, and no other rank has the same part.
        cut = Layer("b", 1, 2, (8,), 4, 4)
        cuts = Cuts({"b": 2}, Tier(2, 8))
        result = self.step([A, cut], one_second_per_bucket(), cuts=cuts)
        # Forward 0..2 and 0.75 of exchange, backward of b 2.75..4.75 and 0.75, of a 5.5..7.5, its bucket 7.5..8.5.
        self.assertEqual((result.step, result.communication), (8.5, 1))
        self.assertEqual(cuts.sum_seconds(4, 2, 8), 1)
        # What is summed goes on meanwhile: c's bucket of two seconds beside b's backward and the half of its exchange.
        layers = [A, cut, Layer("c", 1, 1, (8,))]
        self.assertEqual(self.step(layers, [Tier(2, 4)], cuts=Cuts({"b": 2}, Tier(2, 4))).step,
                         3 + 1.5 + 1 + 2 + 1.5 + 2 + 2)

    def test_a_fast_network_costs_nothing_but_the_end(self):
        layers = [Layer(str(i), 1, 2, (8,)) for i in range(10)]
        self.assertAlmostEqual(self.step(layers, [Tier(2, 16)]).exposed, 0.5, 12)


class Pipeline(unittest.TestCase):
    def test_the_order(self):
        self.assertEqual([way[0] + str(m) for way, m in stages.order(0, 2, 3)], "f0 f1 b0 f2 b1 b2".split())
        self.assertEqual([way[0] + str(m) for way, m in stages.order(1, 2, 3)], "f0 b0 f1 b1 f2 b2".split())
        self.assertEqual([way[0] + str(m) for way, m in stages.order(0, 4, 2)], "f0 f1 b0 b1".split())

    def test_the_bubble(self):
        # Stages that take the same stand idle for S - 1 of M + S - 1 micro-batches (Narayanan et al.).
        for count, micro in [(2, 4), (4, 8), (3, 1)]:
            even = [stages.Stage(1, 2)] * count
            self.assertEqual(stages.pass_seconds(even, micro), 3 * (micro + count - 1))

    def test_the_slower_stage_sets_the_pace(self):
        # f0 0..1, then three of each of stage 1 without a gap, and b0 of the last one.
        self.assertEqual(stages.pass_seconds([stages.Stage(1, 1), stages.Stage(2, 3)], 3), 1 + 3 * 5 + 1)

    def test_what_travels(self):
        # f0 0..1, sent 1..3, f and b of stage 1 3..5, sent 5..7, b of stage 0 7..8; with a latency of a half each way.
        pair = [stages.Stage(1, 1, 8), stages.Stage(1, 1)]
        self.assertEqual([stages.pass_seconds(pair, 1, 4, us) for us in (0, 0.5)], [8, 9])

    def test_a_net(self):
        net = Profile("net", 4, (Layer("a", 4, 8, (8,), 0, 16), Layer("a_split", 0, 0),
                                     Layer("b", 4, 8, (24,))), 4)
        cut = stages.stages_of(net, ["b"], 4)
        self.assertEqual(cut, [stages.Stage(1, 2, 4), stages.Stage(1, 2, 0)])
        # Two pipelines: 5 micro-batches of 3, b's gradients summed, and three quarters of the update.
        result = stages.predict_pipeline(net, ["b"], 4, Tier(1, math.inf), Tier(2, 24))
        self.assertEqual((result.step, result.ranks, result.images_per_second), (15 + 1 + 3, 4, 8 / 19))


class Buckets(unittest.TestCase):
    def buckets(self, size, *params):
        layers = tuple(Layer(str(i), 1, 1, p) for i, p in enumerate(params))
        return [(b.bytes, b.layers) for b in make_buckets(Profile("net", 1, layers), size)]

    def test_closed_when_full(self):
        self.assertEqual(self.buckets(10, (4,), (), (6, 2), (5,)), [(11, [3, 2]), (6, [2, 0])])

    def test_a_large_parameter_is_not_cut(self):
        self.assertEqual(self.buckets(10, (1,), (100,), (1,)), [(101, [2, 1]), (1, [0])])

    def test_sums_to_all(self):
        self.assertEqual(self.buckets(1000, (1,), (2, 3)), [(6, [1, 0])])
        self.assertEqual(self.buckets(10), [])


class Reading(unittest.TestCase):
    def lenet(self, model=MODELS / "lenet/train_val.prototxt"):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(LENET_LOG)
            log.flush()
            return profile.from_caffe_time(log.name, model)

    def test_caffe_time(self):
        net = self.lenet()
        self.assertEqual((net.name, net.batch), ("LeNet", 64))
        self.assertAlmostEqual(net.update, 4.125e-3, 12)
        layers = {layer.name: layer for layer in net.layers}
        self.assertEqual(list(layers), "data conv1 pool1 conv2 pool2 ip1 relu1 ip2 loss".split())
        self.assertEqual((layers["conv1"].forward, layers["conv1"].backward), (2.5e-3, 3.5e-3))
        self.assertEqual({n: layer.params for n, layer in layers.items() if layer.params}, {
            "conv1": (4 * 20 * 25, 4 * 20), "conv2": (4 * 50 * 20 * 25, 4 * 50), "ip1": (4 * 500 * 800, 4 * 500),
            "ip2": (4 * 10 * 500, 4 * 10)})
        self.assertEqual(net.bytes, 4 * 431080)

    def test_the_log_of_bvlc(self):
        shapes = profile.read_shapes("I0101 00:00:00.000001  77 net.cpp:84] Creating Layer c\n"
                                     "I0101 00:00:00.000001  77 net.cpp:380] c -> c\n"
                                     "I0101 00:00:00.000001  77 net.cpp:122] Top shape: 2 3 (6)")
        self.assertEqual(shapes, {"c": (2, 3)})

    def test_another_model(self):
        with self.assertRaisesRegex(LaunchError, "no learned layer in common"):
            self.lenet(MODELS / "bvlc_googlenet/train_val.prototxt")

    def test_sizes_of_parameters(self):
        def counts(text, *shape):
            return profile.param_counts(parse_message(text), shape)

        self.assertEqual(counts('type: "Convolution" convolution_param { num_output: 6 kernel_size: 3 group: 2 }',
                                1, 4, 9, 9), [6 * 2 * 9, 6])
        self.assertEqual(counts('type: "Convolution" convolution_param { num_output: 6 kernel_h: 1 kernel_w: 7 '
                                'bias_term: false }', 1, 4, 9, 9), [6 * 4 * 7])
        self.assertEqual(counts('type: "Deconvolution" convolution_param { num_output: 4 kernel_size: 2 kernel_size: 3 }',
                                1, 6, 9, 9), [6 * 4 * 6, 4])
        self.assertEqual(counts('type: "Scale" bottom: "x" scale_param { bias_term: true }', 1, 7, 2, 2), [7, 7])
        self.assertEqual(counts('type: "PReLU" bottom: "x"', 1, 7, 2, 2), [7])
        self.assertEqual(counts('type: "BatchNorm" bottom: "x"', 1, 7, 2, 2), [])
        frozen = 'type: "InnerProduct" param { lr_mult: 0 } param { lr_mult: 2 } inner_product_param { num_output: 3 }'
        self.assertEqual(counts(frozen, 2, 5), [3])

    def test_text_format(self):
        text = """name: "a # b"  # a comment { with a brace
                  layer { x: -1.5e-3 y: [1, 2] z: true } layer: < w: MAX; > empty {}"""
        self.assertEqual(parse_message(text), {"name": ["a # b"], "layer": [{"x": [-0.0015], "y": [1, 2], "z": [True]},
                                                                            {"w": ["MAX"]}], "empty": [{}]})
        for text in ("a {", "a: 1 }", "a b", "a: 1 ^"):
            with self.assertRaises(LaunchError, msg=text):
                parse_message(text)

    def test_json_and_back(self):
        net = self.lenet()
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(net.to_json())
            file.flush()
            again = profile.from_json(file.name)
        self.assertEqual([layer.params for layer in again.layers], [layer.params for layer in net.layers])
        self.assertAlmostEqual(again.compute, net.compute, 6)

    def test_at_speed(self):
        net = self.lenet().at_speed(1000, 50)
        self.assertAlmostEqual(net.compute, 0.05, 12)
        self.assertEqual(net.batch, 50)


class Clusters(unittest.TestCase):
    def test_tiers(self):
        cluster = clusters.Cluster("c", (4, 8, 8), (clusters.Link(80, 1, shared=False), clusters.Link(8, 2)))
        x, y, z = cluster.tiers((4, 8, 2), 0.5)
        self.assertEqual((x.bandwidth, x.latency, x.shared_by, x.shrink), (1e10, 1e-6, 1, 1))
        self.assertEqual((y.bandwidth, y.latency, y.shared_by, y.shrink), (1e9, 2e-6, 4, 0.5))
        self.assertEqual((z.size, z.bandwidth, z.shared_by), (2, 1e9, 4))

    def test_grids(self):
        self.assertEqual(clusters.grids(4, 6, 3), [(4, 1, 6), (4, 2, 3), (4, 3, 2)])

    def test_profiles_that_come_along(self):
        for name, elements in (("resnet50", 25557096), ("alexnet", 60965224)):
            net = profile.from_json(SCRIPTS / f"robusta_scaling/profiles/{name}.json")
            self.assertEqual(net.bytes, 4 * elements)
            self.assertTrue(all(layer.forward >= 0 and layer.backward >= 0 for layer in net.layers))


class Program(unittest.TestCase):
    def run_with(self, *options):
        done = subprocess.run([sys.executable, SCRIPTS / "scaling_model.py", *options], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def test_links_by_flags(self):
        # 8 Gbit/s are 1 GB/s, shared by the two ranks of a host: 2 * (1/2 * half the bytes) / 0.5 GB/s.
        code, out, err = self.run_with("--profile=alexnet", "--dims=2x2", "--gbit=800,8", "--us=0")
        self.assertEqual(code, 0, err)
        self.assertIn("  Y (   2)          243.86 ms", out)
        self.assertIn("  X (   2)            2.44 ms", out)

    def test_formats(self):
        def seconds(*options):
            code, out, err = self.run_with("--profile=alexnet", "--dims=2x2x2", "--gbit=800,8,8", "--us=0", *options)
            self.assertEqual(code, 0, err)
            return [float(line.split()[-2]) for line in out.splitlines() if line.startswith(("  Y", "  Z"))]

        whole = seconds()
        self.assertEqual(seconds("--compress"), seconds("--compress=fp16"))
        self.assertAlmostEqual(sum(seconds("--compress")), sum(whole) / 2, delta=0.02)
        # Between all four hosts at once, 3/4 of the bytes there and back: as many as by two dimensions.
        self.assertAlmostEqual(seconds("--compress=int8")[0], sum(whole) * 260 / 1024, delta=0.02)
        self.assertAlmostEqual(seconds("--compress=topk:0.01")[0], sum(whole) * 0.015, delta=0.02)
        self.assertAlmostEqual(seconds("--compress=topk:0.01", "--shard")[0], sum(whole) * 1.015 / 2, delta=0.02)

    def test_one_link_for_all(self):
        _, out, _ = self.run_with("--profile=alexnet", "--dims=2x2", "--gbit=8")
        self.assertIn("  Y (   2)          243.86 ms", out)

    def test_table_of_a_preset(self):
        code, out, err = self.run_with("--preset=128-ethernet25", "--table")
        self.assertEqual(code, 0, err)
        rows = [line.split("|") for line in out.splitlines() if line.startswith("|")][2:]
        self.assertEqual([int(row[1]) for row in rows], [2 ** i for i in range(13)])
        efficiencies = [float(row[7].strip(" %")) for row in rows]
        self.assertEqual(efficiencies[0], 100)
        self.assertTrue(all(90 < e <= 100 for e in efficiencies), efficiencies)

    def test_preset_with_another_network(self):
        def efficiency(gbit):
            out = self.run_with("--preset=128-ethernet25", f"--gbit=400,{gbit}")[1]
            return float(out.split("efficiency")[1].strip().rstrip("%\n"))

        self.assertGreater(efficiency(10), 2 * efficiency(0.1))

    def test_refusals(self):
        for options, text in [((), "the cluster is not given"), (("--dims=2x2", "--gbit=8"), "no times of layers"),
                              (("--preset=4x64-p100", "--dims=8x32x32"), "8192 ranks"),
                              (("--dims=2xtwo", "--gbit=8"), "are no dimensions"),
                              (("--preset=4x64-p100", "--gbit=0"), "no number above 0"),
                              (("--preset=4x64-p100", "--core=much"), "no number from 0 on"),
                              (("--preset=4x64-p100", "--compress=zip"), '"zip" is none of none, fp16'),
                              (("--preset=4x64-p100", "--compress=topk:2"), '"topk:2" is none of none, fp16'),
                              (("--preset=4x64-p100", "--log=x"), "--log without --model")]:
            code, _, err = self.run_with(*options)
            self.assertEqual(code, 1, err)
            self.assertIn(text, err)
        code, _, err = self.run_with("--preset=4x64-p100", "--profile=./absent.json")
        self.assertEqual((code, "absent.json: No such file" in err), (2, True))


if __name__ == "__main__":
    unittest.main()
