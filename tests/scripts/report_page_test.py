#!/usr/bin/env python3
"""The script of a report's page: what it draws of the numbers it is given, and that it always comes to an end.

It runs in node, with a stand-in for the browser (page.js); report_test.py looks at the page in a real one.
"""

import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import unittest

from report_test import Folder, event, training

PAGE = pathlib.Path(__file__).resolve().parent / "page.js"


def display(i, loss, **more):
    return event("train", i * 0.01, **{"iter": i, "loss": loss, "lr": 0.1, "outputs": {}, **more})


def start(**more):
    return event("start", net="toy", **{"iter": 0, "max_iter": 100, "ranks": 1, **more})


@unittest.skipUnless(shutil.which("node"), "node is not installed")
class Page(Folder):
    def report(self, *texts):
        """Writes the logs run0.json, run1.json... and their report; what the report holds."""
        names = [f"run{k}.json" for k in range(len(texts))]
        for name, text in zip(names, texts):
            (self.folder / name).write_text(text)
        self.caffe("report", *names)
        page = (self.folder / "report.html").read_bytes()
        return json.loads(re.search(rb'id="data">(.*?)</script>', page, re.S).group(1))

    def run_page(self, expression):
        done = subprocess.run(["node", "--max-old-space-size=1000", PAGE, "report.html", expression], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return json.loads(done.stdout)

    def chart(self, title):
        return f"charts.find((c) => c.title === {json.dumps(title)})"

    def test_a_constant_loss_is_drawn(self):
        # 87.3365: Caffe's loss of a net that has diverged.
        for loss in (87.3365, 0.693147, 2.30259, 0.1, 1, 0, 1e-30, 3e38):
            self.report(start() + "".join(display(i, loss) for i in range(0, 1000, 20)))
            smooth = self.run_page("[0.3, 0.6, 0.9, 0.99].map((w) => { state.smooth = w; drawAll(); const c = charts[0];"
                                   "return new Set(c.front(c.curves[0]).ys).size; })")
            self.assertEqual(smooth, [1, 1, 1, 1], loss)
            places = self.run_page("(drawn(), charts[0].draw(), drawn())")
            self.assertLess(len(places), 1000)
            self.assertTrue(all(math.isfinite(v) for place in places for v in place), loss)

    def test_zooms_end(self):
        self.report(start() + "".join(display(i, 1 + i % 7) for i in range(0, 200_000, 1000)))
        spans = self.run_page("""Array.from({ length: 60 }, () => {
          const c = charts[0];
          c.canvas.onmousedown({ offsetX: 500 });
          c.canvas.onmouseup({ offsetX: 700 });
          const b = c.bounds();
          return [b.x1 - b.x0, ticks(b.x0, b.x1, 8).length]; })""")
        self.assertLess(spans[-1][0], 1)
        self.assertTrue(all(span > 0 and count <= 16 for span, count in spans), spans)

    def test_ticks_are_round_and_bounded(self):
        self.report(training(20))
        self.assertEqual(self.run_page("ticks(0, 10, 5)"), [0, 2, 4, 6, 8, 10])
        self.assertEqual(self.run_page("ticks(-0.3, 0.41, 4).map((t) => number(t))"), ["-0.2", "0", "0.2", "0.4"])
        wild = self.run_page("[[1e5, 1e5 + 1e-10], [1e16, 1e16 + 2], [-1e308, 1e308], [0, 5e-324], [3, 3], [NaN, 1]]"
                             ".map(([a, b]) => ticks(a, b, 8).length)")
        self.assertTrue(all(count <= 16 for count in wild), wild)
        labels = self.run_page("((t) => t.map((v) => number(v, digitsFor(t))))(ticks(1234567, 1234569, 8))")
        self.assertEqual(len(set(labels)), len(labels))

    def test_extreme_numbers_do_not_stop_the_page(self):
        self.report(start() + "".join(display(i, v) for i, v in enumerate([1e-320, 1e308, None, -1e308, 5, None])),
                    event("train", iter=1e300, loss=1, outputs={}) + event("train", iter=2e300, loss=2, outputs={}))
        self.assertGreater(self.run_page("(state.log.add('Training loss'), drawAll(), charts.length)"), 0)

    def test_smoothing_keeps_the_mean_of_long_logs(self):
        dice = random.Random(1)
        losses = [1 + dice.expovariate(2) ** 2 for _ in range(30_000)]
        mean = sum(losses) / len(losses)
        self.report(start() + "".join(display(i, loss) for i, loss in enumerate(losses)),
                    start() + "".join(display(i, losses[i]) for i in range(0, 30_000, 100)))
        for k in range(2):
            ys = self.run_page(f"(state.smooth = 0.99, charts[0].front(charts[0].curves[{k}]).ys)")
            later = ys[len(ys) // 2:]
            self.assertAlmostEqual(sum(later) / len(later), mean, delta=0.12 if k else 0.04)

    def test_smoothing_goes_by_iterations(self):
        step = [0.0] * 1000 + [1.0] * 1000
        self.report(*[start() + "".join(display(i, step[i]) for i in range(0, 2000, every)) for every in (1, 10)])
        rise = self.run_page("""(state.smooth = 0.9, charts[0].curves.map((c) => {
          const { xs, ys } = charts[0].front(c);
          return xs[ys.findIndex((y) => y > 0.5)]; }))""")
        # 0.9 per 10 iterations is a half after 66.
        self.assertAlmostEqual(rise[0], 1066, delta=10)
        self.assertAlmostEqual(rise[1], rise[0], delta=12)

    def test_a_loss_that_is_not_finite_leaves_a_gap(self):
        self.report(start() + "".join(display(i, None if i == 5 else 2) for i in range(10)))
        self.assertEqual(self.run_page("charts[0].front(charts[0].curves[0]).ys"), [2] * 5 + [None] + [2] * 4)

    def test_the_split_of_long_logs_is_that_of_the_log(self):
        dice, whole, waited, lines = random.Random(1), 0, 0, [start(max_iter=30_000)]
        for i in range(30_000):  # every 50th iteration waits 100 ms for data
            slow = dice.random() < 0.02
            ms = 10 * dice.uniform(0.95, 1.05) + (100 if slow else 0)
            whole, waited = whole + ms, waited + (100 if slow else 0)
            lines.append(display(i, 1, iter_per_s=1000 / ms, data_wait=100 / ms if slow else 0.0))
        self.report("".join(lines))
        computing, fed, all_of_it = self.run_page("charts.find((c) => c.options.stacked).curves.map((c) => c.value)")
        self.assertGreater(len(all_of_it), 500)
        mean = lambda values: sum(values) / len(values)
        self.assertAlmostEqual(mean(all_of_it), whole / 30_000, delta=0.02)
        self.assertAlmostEqual(mean(fed) - mean(computing), waited / 30_000, delta=0.02)
        self.assertEqual(fed, all_of_it)

    def test_curves_of_speed_and_communication_are_drawn(self):
        dimensions = {"node": {"algorithm": "ring", "seconds": 0.02, "bytes": 1, "gb_per_s": 1}}
        lines = "".join(display(i, 1, iter_per_s=10, img_per_s=640, loss_scale=1024) +
                        event("communication", i * 0.01, iter=i, iterations=10, slowest_rank=i % 3, slowest_lag=0.25,
                              dimensions=dimensions) for i in range(0, 100, 10))
        self.report(start() + lines)
        titles = self.run_page("charts.map((c) => c.title)")
        for title in ("Iterations per second", "Loss scale", "Lag of the slowest rank", "Milliseconds of the reductions"):
            self.assertIn(title, titles)
        self.assertEqual(self.run_page(self.chart("Lag of the slowest rank") + ".curves[0].value"), [25] * 10)
        self.assertEqual(self.run_page(self.chart("Milliseconds of the reductions") + ".curves[0].value"), [2] * 10)
        hover = self.run_page(f"((c) => (c.canvas.onmousemove({{ offsetX: 70 }}), c.read.textContent))"
                              f"({self.chart('Lag of the slowest rank')})")
        self.assertIn("rank 0", hover)

    def test_a_sample_without_a_finite_loss_is_no_perfect_one(self):
        self.report(start() + display(0, 1) + event("top_losses", 3, samples=[{"sample": 1, "record": "r", "label": 1,
                                                                              "prediction": 2, "loss": None}]))
        self.assertIn("label 1, predicted 2, loss not finite", self.run_page("body.text()"))

    def test_memory_of_layers_is_explained(self):
        self.report(training(20))
        self.assertIn("tops and parameters", self.run_page("body.text()"))


if __name__ == "__main__":
    unittest.main()
