#!/usr/bin/env python3
"""caffe report and caffe watch: one page that a browser draws without a complaint, and curves in a terminal.

Where chromium is installed (Debian's package, or ROBUSTA_CHROMIUM) the page is opened in it, and its pixels are looked at.
"""

import base64
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import zlib

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
CHROMIUM = os.environ.get("ROBUSTA_CHROMIUM") or shutil.which("chromium")
MOST = 3_000_000

TEXT = """I1122 09:15:02.000000 4711 solver.cpp:280] Solving toy
I1122 09:15:02.500000 4711 solver.cpp:340] Iteration 0, Testing net (#0)
I1122 09:15:03.000000 4711 solver.cpp:400]     Test net output #0: accuracy = 0.25
I1122 09:15:03.250000 4711 solver.cpp:228] Iteration 0 (2 iter/s, 0.5s/5 iters), loss = 1.75
I1122 09:15:03.250000 4711 solver.cpp:244]     Train net output #0: loss = 1.75 (* 1 = 1.75 loss)
I1122 09:15:03.250000 4711 sgd_solver.cpp:106] Iteration 0, lr = 0.01
W1122 09:15:04.000000 4711 reader.cpp:10] the disk is slow <script>alert(1)</script>
I1122 09:15:05.000000 4711 solver.cpp:228] Iteration 5 (4 iter/s, 0.5s/5 iters), loss = 1.25
I1122 09:15:05.250000 4711 sgd_solver.cpp:106] Iteration 5, lr = 0.005
I1122 09:15:05.500000 4711 solver.cpp:1] Optimization Done.
"""


def grey_png(side=8):
    """A picture in one shade."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress((b"\0" + b"\x60" * side) * side)) + chunk(b"IEND", b""))


PNG = base64.b64encode(grey_png()).decode()


def event(kind, second=0, **members):
    hours, rest = divmod(second, 3600)
    at = f"2026-11-23T{int(hours):02}:{int(rest // 60):02}:{rest % 60:06.3f}Z"
    return json.dumps({"event": kind, "time": at, **members}) + "\n"


def training(iterations, every=1, outputs=1):
    """The events of one, as -log_json has them."""
    lines = [event("start", net="toy", iter=0, max_iter=iterations, ranks=4, command="caffe train -solver 's s'",
                   directory="/here", solver="base_lr: 0.1\n")]
    for i in range(0, iterations, every):
        lines.append(event("train", i * 0.1, iter=i, loss=2.5 / (1 + i / 50) + 0.1 * (i * 7919 % 13) / 13, lr=0.1,
                           iter_per_s=10, img_per_s=640, data_wait=0.2, comm=0.1, slowest_rank=i % 3,
                           outputs={f"out[{k}]": 1.0 / (k + 1) for k in range(outputs)}))
        if i % (50 * every) == 0:
            lines.append(event("test", i * 0.1, iter=i, net=0, seconds=1, outputs={"accuracy": i / iterations}))
    lines.append(event("snapshot", iterations * 0.1, iter=iterations, model="toy.caffemodel"))
    lines.append(event("confusion", scores="ip", matrix=[[9, 1, 0], [2, 7, 1], [0, 0, 10]]))
    lines.append(event("top_losses", samples=[{"record": "7.png </script><b>", "label": 1, "prediction": 2, "loss": 4.5,
                                               "png": PNG}]))
    lines.append(event("layer_times", layers=[{"name": "conv1", "type": "Convolution", "forward_ms": 1.5,
                                               "backward_ms": 3, "bytes": 1000000}]))
    lines.append(event("end", iterations * 0.1, iter=iterations, reason="max_iter"))
    return "".join(lines)


def pixels(png):
    """The rows of an 8-bit picture in RGB or RGBA, each a list of colors."""
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, _, color = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            data += body
        at += 12 + size
    step = 4 if color == 6 else 3
    raw, rows, before = zlib.decompress(data), [], bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        line = bytearray(raw[start + 1:start + 1 + width * step])
        for i in range(len(line)):
            a, b = line[i - step] if i >= step else 0, before[i]
            c = before[i - step] if i >= step else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, nearest)[raw[start]]) & 255
        rows.append([tuple(line[x:x + 3]) for x in range(0, len(line), step)])
        before = line
    return rows


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def caffe(self, *words, want=0):
        done = subprocess.run([TOOLS / "caffe", *words], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, want, done.stderr)
        return done


class Report(Folder):
    def page(self, *runs, **texts):
        for name, text in texts.items():
            (self.folder / name.replace("_", ".")).write_text(text)
        self.caffe("report", *(runs or [name.replace("_", ".") for name in texts]))
        page = (self.folder / "report.html").read_bytes()
        self.assertLess(len(page), MOST)
        found = re.search(rb'<script type="application/json" id="data">(.*?)</script>', page, re.S)
        return page, json.loads(found.group(1))

    def test_holds_what_the_log_holds(self):
        _, data = self.page(run_json=training(100))
        (run,) = data["runs"]
        self.assertEqual(run["series"]["train/loss"]["value"][0], 2.5)
        self.assertEqual(len(run["series"]["train/loss"]["iter"]), 100)
        self.assertEqual(run["series"]["test/output/accuracy"]["value"], [0, 0.5])
        self.assertEqual(run["series"]["speed/communication"]["value"][3], 0.1)
        self.assertEqual(run["slowest"], [[0, 34], [1, 33], [2, 33]])
        self.assertEqual(run["repeat"], "cd /here\n# on 4 ranks; how they were started is not known\n"
                                        "caffe train -solver 's s'\n")
        self.assertEqual(run["confusion"]["cells"][1], [0, 1, 1])
        self.assertEqual((run["top_losses"][0]["png"], run["layers"][0]["forward_ms"]), (PNG, 1.5))
        self.assertIn(["max_iter", "100"], run["facts"])
        self.assertEqual([e["kind"] for e in data["events"]], ["snapshot", "end"])

    def test_reads_logs_for_people_too(self):
        _, data = self.page(run_log=TEXT)
        (run,) = data["runs"]
        self.assertEqual(run["series"]["train/loss"]["value"], [1.75, 1.25])
        self.assertEqual(run["series"]["train/loss"]["seconds"], [1.25, 3])
        self.assertEqual(run["series"]["train/lr"]["value"], [0.01, 0.005])
        self.assertEqual(run["series"]["test/output/accuracy"]["value"], [0.25])
        self.assertEqual(run["series"]["speed/iterations_per_second"]["value"], [2, 4])
        self.assertEqual([(e["kind"], e["iter"]) for e in data["events"]], [("warning", 0), ("end", 5)])

    def test_nothing_in_a_log_becomes_a_part_of_the_page(self):
        page, _ = self.page(run_log=TEXT, more_json=training(50))
        self.assertNotIn(b"<script>alert", page)
        self.assertNotIn(b"</script><b>", page)
        self.assertNotRegex(page, rb'(src|href)="?https?:|@import|fetch\(|XMLHttpRequest')

    def test_a_folder_is_the_logs_in_it(self):
        (self.folder / "runs").mkdir()
        (self.folder / "runs" / "a.json").write_text(training(20))
        (self.folder / "runs" / "b.log").write_text(TEXT)
        (self.folder / "runs" / "c.txt").write_text("no log\n")
        _, data = self.page("runs")
        self.assertEqual([run["name"] for run in data["runs"]], ["a.json", "b.log"])

    def test_a_resume_goes_on_and_a_new_start_is_another_run(self):
        resumed = (training(60).split('{"event": "snapshot"')[0] + event("start", 9, net="toy", iter=30, max_iter=60) +
                   event("train", 9, iter=30, loss=9, lr=1, outputs={}) + training(10))
        _, data = self.page(run_json=resumed)
        self.assertEqual([run["name"] for run in data["runs"]], ["run.json", "run.json #2"])
        self.assertEqual(data["runs"][0]["series"]["train/loss"]["iter"], list(range(31)))
        self.assertEqual(data["runs"][0]["series"]["train/loss"]["value"][-1], 9)

    def test_100000_iterations_fit_with_their_peaks(self):
        text = training(100_000, outputs=5).replace('"iter": 77777, "loss": ', '"iter": 77777, "loss": 50')
        page, data = self.page(run_json=text, other_json=training(100_000))
        self.assertGreater(len(page), 100_000)
        losses = data["runs"][1]["series"]["train/loss"]["value"]
        self.assertTrue(any(loss > 50 for run in data["runs"] for loss in run["series"]["train/loss"]["value"]))
        self.assertGreater(len(losses), 500)

    def test_a_resume_takes_the_test_of_an_abandoned_branch_away(self):
        text = (event("start", net="toy", iter=0) + "".join(event("train", i, iter=i, loss=1, outputs={}) for i in range(60)) +
                event("test", 50, iter=50, net=0, outputs={"accuracy": 0.9}) + event("start", 100, net="toy", iter=30) +
                "".join(event("train", 100 + i, iter=i, loss=1, outputs={}) for i in range(30, 45)))
        _, data = self.page(run_json=text)
        series = data["runs"][0]["series"]
        self.assertNotIn("test/output/accuracy", series)
        self.assertEqual(series["train/loss"]["iter"], list(range(45)))

    def test_a_training_that_failed_at_once_is_shown(self):
        failed = event("start", net="toy", iter=0, command="caffe train") + event("error", 1, exit_code=4, message="not finite")
        _, data = self.page(run_json=failed)
        self.assertEqual([e["text"] for e in data["events"]], ["not finite"])
        _, data = self.page(good_json=training(5), bad_json=failed)
        self.assertEqual([run["name"] for run in data["runs"]], ["good.json", "bad.json"])
        # What failed before it does not delay a training.
        later = event("start", 4000, net="toy", iter=0) + event("train", 4001, iter=0, loss=1, outputs={})
        _, data = self.page(again_json=failed + later)
        self.assertEqual([run["series"]["train/loss"]["seconds"] for run in data["runs"]], [[1]])
        self.assertEqual([e["kind"] for e in data["events"]], ["error"])

    def test_a_run_without_a_log_does_not_hide_the_others(self):
        (self.folder / "c.txt").write_text("nothing\n")
        (self.folder / "good.json").write_text(training(5))
        said = self.caffe("report", "good.json", "c.txt")
        self.assertIn("c.txt holds no log of a training", said.stderr)
        self.assertIn("1 run", said.stdout)

    def test_all_commands_are_repeated_as_a_shell_takes_them(self):
        folder = self.folder / "a b'; touch hacked; '"
        folder.mkdir()
        first = event("start", net="toy", iter=0, command="pwd", directory=str(folder))
        resumed = event("start", 9, net="toy", iter=30, command="echo second", directory=str(folder))
        loss = event("train", 9, iter=30, loss=9, lr=1, outputs={})
        _, data = self.page(run_json=first + loss + resumed + loss)
        done = subprocess.run(["sh", "-c", data["runs"][0]["repeat"]], cwd=self.folder, stdout=subprocess.PIPE, text=True,
                              check=True)
        self.assertEqual(done.stdout.splitlines(), [str(folder), "second"])
        self.assertIn("# from iteration 30\n", data["runs"][0]["repeat"])
        self.assertFalse((folder / "hacked").exists() or (self.folder / "hacked").exists())

    def test_text_logs_that_were_resumed_are_one_run(self):
        more = (TEXT.replace("I1122 09:15:0", "I1122 09:25:0").replace("Iteration 5", "Iteration 10")
                .replace("Iteration 0", "Iteration 5"))
        solving = "I1122 09:25:02.000000 4711 solver.cpp:280] Solving toy\n"
        words = "I1122 09:25:02.000000 4711 solver.cpp:1] {} toy_iter_5.solverstate\n"
        bvlc = more.replace(solving, solving + words.format("Restoring previous solver status from"))
        ours = more.replace(solving, words.format("Resuming from") + solving)
        for resumed in (bvlc, ours):
            _, data = self.page(run_log=TEXT + resumed)
            (run,) = data["runs"]
            self.assertEqual(run["series"]["train/loss"]["iter"], [0, 5, 10])
            self.assertEqual(run["series"]["train/loss"]["seconds"][1], 601.25)
            self.assertIn(["resume", 5], [[e["kind"], e["iter"]] for e in data["events"]])
        self.assertEqual(len(self.page(run_log=TEXT + more)[1]["runs"]), 2)

    def test_losses_of_tests_are_read(self):
        words = "I1122 09:15:02.700000 4711 solver.cpp:1] {}est loss: {}\n"
        first = "I1122 09:15:03.000000 4711 solver.cpp:400]     Test"
        text = TEXT.replace(first, words.format("T", 1.5) + words.format("Averaged t", 1.25) + first)
        _, data = self.page(run_log=text)
        self.assertEqual(data["runs"][0]["series"]["test/loss"]["value"], [1.5])
        self.assertEqual(data["runs"][0]["series"]["averaged_test/loss"]["value"], [1.25])
        _, data = self.page(run_json=training(5) + event("test", 9, iter=5, net=0, loss=None, outputs={}))
        self.assertEqual(data["runs"][0]["series"]["test/loss"]["value"], [None])

    def test_lines_that_a_launcher_has_marked_are_read(self):
        for mark in ("0: ", " 3: ", "[1,0]<stderr>:", "[1,12]<stdout>: "):
            _, data = self.page(run_log="".join(mark + line for line in TEXT.splitlines(True)))
            self.assertEqual(data["runs"][0]["series"]["train/loss"]["value"], [1.75, 1.25], mark)

    def test_what_is_warned_before_a_training_is_of_it(self):
        warning = "W1122 09:20:00.000000 4711 x.cpp:1] of the second\n"
        second = TEXT.replace("I1122 09:15:0", "I1122 09:25:0")
        _, data = self.page(run_log=TEXT + warning + second)
        self.assertEqual([(e["run"], e["kind"]) for e in data["events"]],
                         [(0, "warning"), (0, "end"), (1, "warning"), (1, "warning"), (1, "end")])

    def test_the_log_itself_is_not_written_over(self):
        (self.folder / "run.json").write_text(training(5))
        os.link(self.folder / "run.json", self.folder / "other_name")
        for name in ("run.json", "other_name"):
            self.assertIn("is one of the logs", self.caffe("report", "run.json", "-o", name, want=1).stderr)
        self.assertEqual((self.folder / "run.json").read_text(), training(5))
        (self.folder / "runs").mkdir()
        (self.folder / "runs" / "a.json").write_text(training(5))
        self.caffe("report", "runs", "-o", "runs/a.json", want=1)

    def test_links_that_lead_nowhere_are_no_logs(self):
        (self.folder / "runs").mkdir()
        (self.folder / "runs" / "a.json").write_text(training(5))
        (self.folder / "runs" / "loop.json").symlink_to("loop.json")
        (self.folder / "runs" / "gone.json").symlink_to("nowhere")
        self.assertEqual(len(self.page("runs")[1]["runs"]), 1)

    def test_lines_without_an_end_take_no_memory(self):
        with open(self.folder / "big.log", "wb") as log:
            log.truncate(3 << 30)
            log.seek(0, os.SEEK_END)
            log.write(b"\n" + TEXT.encode())
        limited = ["bash", "-c", 'ulimit -v 1500000; exec "$@"', "-", TOOLS / "caffe", "report", "big.log"]
        done = subprocess.run(limited, cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_curves_that_matter_are_there_whatever_else_is(self):
        many = (event("start", net="toy", iter=0) + "".join(event("train", i, iter=i, loss=1, lr=1, outputs={}) for i in range(50)) +
                event("test", 9, iter=40, net=0, loss=3, outputs={f"prob[{k}]": 0.1 for k in range(600)}))
        _, data = self.page(run_json=many)
        for tag in ("train/loss", "train/lr", "test/loss", "test/output/prob[0]"):
            self.assertIn(tag, data["runs"][0]["series"])
        self.assertIn("further curves", data["left_out"])
        for k in range(120):
            (self.folder / f"run{k}.json").write_text(training(5))
        _, data = self.page(*[f"run{k}.json" for k in range(120)])
        for run in data["runs"]:
            self.assertEqual({"train/loss", "train/lr"} - set(run["series"]), set())

    def test_no_run_takes_the_events_of_another(self):
        noisy = training(5) + "".join(event("snapshot_failed", i, iter=i, message="x" * 200) for i in range(3000))
        other = noisy.replace("xxx", "yyy") + event("error", 9, iter=0, message="the important one")
        _, data = self.page(a_json=noisy, b_json=other)
        self.assertEqual(data["events"][-1]["text"], "the important one")
        shares = [sum(e["run"] == run for e in data["events"]) for run in (0, 1)]
        self.assertGreater(min(shares), 100)
        self.assertLess(max(shares) - min(shares), 5)
        self.assertIn("the earliest events", data["left_out"])

    def test_20000_starts_stay_small(self):
        text = "".join(event("start", k % 3600, net="<" * 50, iter=0, command="<" * 3000) +
                       event("train", k % 3600, iter=0, loss=1, outputs={}) for k in range(20_000))
        _, data = self.page(run_json=text)
        self.assertEqual(data["runs"][-1]["name"], "run.json #20000")
        self.assertIn("earlier runs", data["left_out"])
        (self.folder / "runs").mkdir()
        for k in range(400):
            (self.folder / "runs" / ("<" * 200 + f"{k}.json")).write_text(training(5))
        self.page("runs")

    def test_the_pictures_of_50_samples_fit(self):
        samples = [{"record": "x", "label": 1, "prediction": 2, "loss": 4.5, "png": "A" * 16_600}] * 50
        _, data = self.page(run_json=training(5) + event("top_losses", samples=samples))
        self.assertTrue(all(sample["png"] for sample in data["runs"][0]["top_losses"]))

    def test_whatever_comes_the_page_stays_small(self):
        rows = [[k] * 1000 for k in range(1000)]
        samples = [{"record": "x" * 5000, "label": 1, "prediction": 2, "loss": 4.5, "png": "A" * 60000}] * 50
        text = (training(200, outputs=1000) + event("confusion", matrix=rows) + event("top_losses", samples=samples) +
                "".join(event("error", iter=i, message="<" * 5000) for i in range(2000)))
        _, data = self.page(run_json=text)
        self.assertIn("Left out", data["left_out"])

    def test_damaged_logs_are_read_as_far_as_they_go(self):
        whole = training(40)
        (self.folder / "a.json").write_bytes(whole.encode()[:1500] + b"\xff\x00{]\n" + whole.encode()[-3000:] + b'{"event": ')
        _, data = self.page("a.json")
        self.assertEqual(len(data["runs"]), 1)
        (self.folder / "b.json").write_text(event("train", iter="x", loss=[1], lr={}, outputs=7) + event("confusion",
                                            matrix=[[1, 2], [3]]) + event("train", iter=1e300, loss=None, outputs={}))
        self.caffe("report", "a.json", "b.json")
        (self.folder / "c.json").write_text("nothing\n")
        self.assertIn("holds no log of a training", self.caffe("report", "c.json", want=1).stderr)
        self.caffe("report", "absent", want=1)
        self.caffe("report", "a.json", "-o", "no/folder.html", want=7)

    def shot(self, page):
        """(what the console said, the rows of pixels)"""
        (self.folder / "page.html").write_bytes(page)
        done = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               "--window-size=1100,3000", "--virtual-time-budget=3000", "--enable-logging=stderr",
                               f"--user-data-dir={self.folder}/profile", "--screenshot=shot.png",
                               f"file://{self.folder}/page.html"],
                              cwd=self.folder, stderr=subprocess.PIPE, text=True, timeout=200, check=False)
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return console, pixels((self.folder / "shot.png").read_bytes())

    @unittest.skipUnless(CHROMIUM, "chromium is not installed; ROBUSTA_CHROMIUM names one")
    def test_a_browser_draws_it_without_a_complaint(self):
        page, _ = self.page(run_json=training(300), other_log=TEXT)
        console, rows = self.shot(page)
        self.assertEqual(console, [])
        counts = {}
        for row in rows:
            for color in row:
                counts[color] = counts.get(color, 0) + 1
        # Curves of the first and the second run, and the areas of computing, data and communication.
        for color in ((0x1f, 0x6f, 0xb4), (0xd9, 0x54, 0x1e), (0x6b, 0xa3, 0xd0), (0xf0, 0xb3, 0x5e), (0xcf, 0x6a, 0x6a)):
            self.assertGreater(counts.get(color, 0), 200, color)
        areas = [counts[color] for color in ((0x6b, 0xa3, 0xd0), (0xf0, 0xb3, 0x5e), (0xcf, 0x6a, 0x6a))]
        self.assertGreater(areas[0], areas[1])  # 70, 20 and 10 % of an iteration
        self.assertGreater(areas[1], areas[2])

    @unittest.skipUnless(CHROMIUM, "chromium is not installed; ROBUSTA_CHROMIUM names one")
    def test_a_complaint_would_be_seen(self):
        page, _ = self.page(run_json=training(30))
        console, _ = self.shot(page.replace(b"build();\n</script>", b"build(); no_such_function();\n</script>"))
        self.assertTrue(any("no_such_function" in line for line in console), console)


class Watch(Folder):
    def test_writes_lines_where_there_is_no_terminal(self):
        (self.folder / "run.json").write_text(training(4))
        said = self.caffe("watch", "run.json").stdout.splitlines()
        self.assertEqual(len(said), 4)
        self.assertTrue(said[0].startswith("iteration 0  speed/communication 0.1  "), said[0])
        self.assertIn("  test/output/accuracy 0  train/loss 2.5  train/lr 0.1", said[0])

    def test_follows_until_the_training_ends(self):
        text = training(60)
        half = len(text) // 2
        (self.folder / "run.json").write_text(text[:half])
        with subprocess.Popen([TOOLS / "caffe", "watch", "run.json"], cwd=self.folder, stdout=subprocess.PIPE,
                              text=True) as watch:
            time.sleep(1)
            self.assertIsNone(watch.poll())
            with open(self.folder / "run.json", "a", encoding="utf-8") as log:
                log.write(text[half:])
            said, _ = watch.communicate(timeout=60)
        self.assertEqual([int(line.split()[1]) for line in said.splitlines()], list(range(60)))
        self.assertEqual(watch.returncode, 0)

    def test_does_not_wait_where_that_is_not_wanted(self):
        (self.folder / "run.log").write_text(TEXT.replace("Optimization Done", "not yet"))
        self.assertEqual(len(self.caffe("watch", "run.log", "-nofollow").stdout.splitlines()), 2)
        self.caffe("watch", "absent", want=1)

    def losses(self, values, begin=0, second=0, start=True, end=True):
        """A short training: a display per iteration."""
        text = event("start", second, net="toy", iter=begin, max_iter=30) if start else ""
        text += "".join(event("train", second + i, iter=begin + i, loss=v, outputs={}) for i, v in enumerate(values))
        return text + (event("end", second + 99, iter=30, reason="max_iter") if end else "")

    def follow(self, first, then):
        """The lines of a watch that begins with the log `first`, beside which then() does something."""
        (self.folder / "run.json").write_text(first)
        with subprocess.Popen([TOOLS / "caffe", "watch", "run.json"], cwd=self.folder, stdout=subprocess.PIPE,
                              text=True) as watch:
            time.sleep(1)
            then(self.folder / "run.json")
            said, _ = watch.communicate(timeout=60)
        return [(int(line.split()[1]), float(line.split("train/loss ")[1].split()[0])) for line in said.splitlines()]

    def append(self, text):
        return lambda log: log.open("a").write(text)

    def test_a_resume_is_followed(self):
        lines = self.follow(self.losses([5] * 20, end=False), self.append(self.losses([7] * 15, begin=10, second=200)))
        # Values may follow of the latest iteration, 19: it is no more when its line would be due.
        self.assertEqual(lines, [(i, 5) for i in range(19)] + [(i, 7) for i in range(10, 25)])

    def test_a_second_training_is_followed(self):
        lines = self.follow(self.losses([5] * 20, end=False),
                            self.append(self.losses([6] * 3, begin=20, start=False) + self.losses([7] * 5, second=500)))
        self.assertEqual(lines, [(i, 5) for i in range(20)] + [(i, 6) for i in range(20, 23)] + [(i, 7) for i in range(5)])

    def test_a_log_that_is_written_anew_is_followed(self):
        anew = self.losses([7] * 5, second=3000)
        def replace(log):
            log.rename(log.with_suffix(".old"))
            log.write_text(anew)
        long_one = self.losses([7] * 60, second=3000)
        for then, count in ((lambda log: log.write_text(anew), 5), (replace, 5), (lambda log: log.write_text(long_one), 60)):
            lines = self.follow(self.losses([5] * 20, end=False), then)
            self.assertEqual(lines[-count:], [(i, 7) for i in range(count)])
            self.assertEqual(lines[:-count], [(i, 5) for i in range(20)])

    def test_the_rest_of_a_rotated_log_is_read(self):
        def rotate(log):
            with log.open("a") as old:
                old.write(self.losses([6] * 10, begin=10, start=False, end=False))
            log.rename(log.with_suffix(".old"))
            log.write_text(self.losses([7] * 5, begin=20, start=False))
        lines = self.follow(self.losses([5] * 10, end=False), rotate)
        self.assertEqual(lines, [(i, 5 + i // 10) for i in range(25)])

    def test_a_copy_of_the_log_goes_on_where_it_was(self):
        first, rest = self.losses([5] * 10, end=False), self.losses([6] * 10, begin=10, start=False)
        def copy(log):
            log.with_suffix(".part").write_text(first + rest)
            log.with_suffix(".part").rename(log)
        self.assertEqual(self.follow(first, copy), [(i, 5 + i // 10) for i in range(20)])

    def test_a_log_for_people_ends_with_a_failure(self):
        failed = TEXT.replace("I1122 09:15:05.500000 4711 solver.cpp:1] Optimization Done.",
                              "F1122 09:15:05.500000 4711 a.cpp:1] Check failed: a == b")
        (self.folder / "run.log").write_text(failed)
        self.assertEqual(len(self.caffe("watch", "run.log").stdout.splitlines()), 2)

    def test_watching_takes_little_of_a_processor(self):
        (self.folder / "run.json").write_text(training(100_000))
        watch, leader, _ = self.terminal(80, 24)
        self.read_until(leader, lambda said: "\x1b[J" in said)
        def seconds():
            fields = pathlib.Path(f"/proc/{watch.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        before = seconds()
        time.sleep(3)
        self.assertLess(seconds() - before, 0.1)

    def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(self):
        (self.folder / "run.json").write_text(training(30))
        watch, leader, follower = self.terminal(80, 24)
        self.read_until(leader, lambda said: "\x1b[J" in said)
        watch.send_signal(signal.SIGTSTP)
        self.read_until(leader, lambda said: said.endswith("\x1b[?25h\x1b[?1049l"))
        state = lambda: pathlib.Path(f"/proc/{watch.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        self.wait_until(lambda: state() == "T")
        self.assertEqual(termios.tcgetattr(follower), self.before)
        watch.send_signal(signal.SIGCONT)
        self.read_until(leader, lambda said: said.startswith("\x1b[?1049h") and "\x1b[J" in said)
        os.write(leader, b"q")
        self.assertEqual(watch.wait(30), 0)
        self.assertEqual(termios.tcgetattr(follower), self.before)

    def test_ctrl_backslash_leaves_the_terminal_as_it_was(self):
        (self.folder / "run.json").write_text(training(30))
        watch, leader, follower = self.terminal(80, 24)
        self.read_until(leader, lambda said: "\x1b[J" in said)
        watch.send_signal(signal.SIGQUIT)
        self.read_until(leader, lambda said: said.endswith("\x1b[?25h\x1b[?1049l"))
        watch.wait(30)
        self.assertEqual(termios.tcgetattr(follower), self.before)

    def test_a_dumb_terminal_gets_lines(self):
        (self.folder / "run.json").write_text(training(4))
        watch, leader, _ = self.terminal(80, 24, TERM="dumb")
        said = self.read_until(leader, lambda said: said.count("train/loss") == 4)
        self.assertNotIn("\x1b", said)
        self.assertEqual(watch.wait(30), 0)

    def wait_until(self, done, patience=30):
        until = time.monotonic() + patience
        while not done():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def terminal(self, columns, rows, TERM="xterm"):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(follower)
        watch = subprocess.Popen([TOOLS / "caffe", "watch", "run.json"], cwd=self.folder, stdin=follower,
                                 stdout=follower, stderr=follower, process_group=0,
                                 env={**os.environ, "TERM": TERM})
        self.addCleanup(os.close, leader)
        self.addCleanup(os.close, follower)
        self.addCleanup(watch.kill)
        os.set_blocking(leader, False)
        return watch, leader, follower

    def read_until(self, leader, done, patience=30):
        said, until = "", time.monotonic() + patience
        while time.monotonic() < until:
            try:
                said += os.read(leader, 1 << 16).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.05)
            if done(said):
                return said
        self.fail(f"the terminal showed {said[-2000:]!r}")

    def test_draws_in_a_terminal_follows_and_resizes(self):
        (self.folder / "run.json").write_text(training(80).replace("toy", "to\\u001b]0;y"))
        watch, leader, follower = self.terminal(70, 20)
        screen = self.read_until(leader, lambda said: "\x1b[J" in said)
        first = screen.split("\x1b[H")[1].split("\x1b[J")[0].split("\r\n")
        self.assertEqual(len(first), 20)
        self.assertTrue(all(len(re.sub("\x1b\\[K|\r", "", line)) <= 70 for line in first), first)
        self.assertIn("iteration 79 of 80", re.sub("\x1b\\[K", "", first[0]))
        self.assertTrue(first[1].startswith("train/loss"), first[1])
        self.assertGreater(sum(0x2800 < ord(c) < 0x2900 for c in "".join(first)), 50)
        self.assertNotIn("\x1b]", screen)
        with open(self.folder / "run.json", "a", encoding="utf-8") as log:
            log.write(event("train", 99, iter=99, loss=1, lr=1, outputs={}))
        self.read_until(leader, lambda said: "iteration 99" in said)
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
        watch.send_signal(signal.SIGWINCH)
        small = self.read_until(leader, lambda said: "\x1b[J" in said).split("\x1b[H")[-1].split("\r\n")
        self.assertEqual(len(small), 10)
        os.write(leader, b"q")
        self.assertEqual(watch.wait(30), 0)
        self.read_until(leader, lambda said: said.endswith("\x1b[?25h\x1b[?1049l"))
        self.assertEqual(termios.tcgetattr(follower), self.before)

    def test_ctrl_c_leaves_the_terminal_as_it_was(self):
        (self.folder / "run.json").write_text(training(30))
        watch, leader, follower = self.terminal(80, 24)
        self.read_until(leader, lambda said: "\x1b[J" in said)
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(30), 0)
        self.assertEqual(termios.tcgetattr(follower), self.before)


if __name__ == "__main__":
    unittest.main()
