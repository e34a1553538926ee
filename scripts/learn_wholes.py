#!/usr/bin/env python3
"""Whether published nets learn as wholes: all their layers, narrower, on a few images that they come to know by heart.

`convert_annoset` makes a database of images and boxes, `caffe train` trains, and `caffe test` says from the weights
that were written how much is known: detectors by `-detection`, the mean average precision that the program itself
finds, others by the share of pixels, words or images that are right. A net has learned when that is at least 0.9. The
nets are those of tests/zoo/whole_nets. Prints a table in Markdown; the exit code is 0 when all have learned.

  scripts/learn_wholes.py [--tools FOLDER] [--keep FOLDER] [--write FILE] [NET...]
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/zoo"), str(ROOT / "scripts")]

from robusta_models.learning import solver  # noqa: E402 (needs the path)
from whole_nets import classifiers, detectors, others, scenes, segmentations  # noqa: E402 (needs the path)

LEAST, LAST = 0.9, 20
BATCH = 2  # of the nets with regions
BEGIN, END = "<!-- written by scripts/learn_wholes.py --write -->", "<!-- wholes until here -->"
HEAD = ("net", "widths", "image", "iterations", "first loss", "last loss", "measure", "outcome", "seconds")

# iterations, rate of Adam, measure, batches of the test
Run = collections.namedtuple("Run", "build iterations rate measure tests")
DETECTION, PIXELS, IMAGES = "mAP", "pixels", "images"
RUNS = {
    "ssd_vgg": Run(detectors.ssd_vgg, 400, 0.001, DETECTION, 8),
    "ssd_mobilenet": Run(detectors.ssd_mobilenet, 400, 0.003, DETECTION, 8),
    "faster_rcnn": Run(detectors.faster_rcnn, 300, 0.001, DETECTION, 8),
    "rfcn": Run(detectors.rfcn, 500, 0.002, DETECTION, 8),
    "yolo_v2": Run(detectors.yolo_v2, 500, 0.002, DETECTION, 8),
    "yolo_v3": Run(detectors.yolo_v3, 400, 0.002, DETECTION, 8),
    "fcn8s": Run(segmentations.fcn8s, 300, 0.001, PIXELS, 2),
    "deeplab_v2": Run(segmentations.deeplab_v2, 300, 0.001, PIXELS, 2),
    "segnet": Run(segmentations.segnet, 300, 0.002, PIXELS, 2),
    "captioner": Run(others.captioner, 300, 0.001, "words", 1),
    "siamese": Run(others.siamese, 300, 0.001, "pairs", 1),
    "sphereface20": Run(others.sphereface20, 300, 0.001, "faces", 1),
    **{build.__name__: Run(build, 100, 0.002, IMAGES, 1)
       for build in (classifiers.senet50, classifiers.densenet121, classifiers.inception_resnet_v2)},
    "resnext50": Run(classifiers.resnext50, 200, 0.002, IMAGES, 1),
    **{build.__name__: Run(build, 400, 0.003, IMAGES, 1)
       for build in (classifiers.mobilenet_v1, classifiers.mobilenet_v2, classifiers.mobilenet_v3,
                     classifiers.shufflenet_v1, classifiers.shufflenet_v2)},
}


class Failure(Exception):
    pass


def run(folder, program, *words):
    """What the program prints."""
    done = subprocess.run([program, *words], cwd=folder, text=True, env={**os.environ, "XDG_CACHE_HOME": str(folder)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        error = re.findall(r"error: (.*)", done.stdout)
        raise Failure(f"{program.name} {words[0]}: {error[-1] if error else done.returncode}")
    return done.stdout


def make_scenes(tools, folder):
    """The files that the nets read, below `folder`/scenes."""
    made = folder / "scenes"
    shutil.rmtree(made, ignore_errors=True)
    scenes.write_all(made, BATCH)
    run(folder, tools / "convert_annoset", "-anno_type", "detection", "-label_map_file", "scenes/labelmap.prototxt",
        "-check_label", "scenes/", "scenes/list.txt", "scenes/scenes_lmdb")


def learned(tools, folder, name):
    """First loss, mean of the last ones, and the measure, of the weights that training has written."""
    what = RUNS[name]
    (folder / f"{name}.prototxt").write_text(what.build().file("train"))
    (folder / f"{name}_solver.prototxt").write_text(solver(name, what.rate, what.iterations))
    log = run(folder, tools / "caffe", "train", "-solver", f"{name}_solver.prototxt")
    (folder / f"{name}.log").write_text(log)
    losses = [float(loss) for loss in re.findall(r"Iteration \d+ \(.*loss = (\S+)", log)]
    words = ["-detection"] if what.measure == DETECTION else []
    log = run(folder, tools / "caffe", "test", "-model", f"{name}.prototxt", "-weights",
              f"{name}_iter_{what.iterations}.caffemodel", "-iterations", str(what.tests), *words)
    (folder / f"{name}_test.log").write_text(log)
    top = "detection_eval" if what.measure == DETECTION else "accuracy"
    return losses[0], sum(losses[-LAST:]) / len(losses[-LAST:]), float(re.findall(rf"{top} = (\S+)", log)[-1])


def row(tools, folder, name):
    """Cells of the table, and whether the net has learned."""
    start, what, net = time.monotonic(), RUNS[name], RUNS[name].build()
    cells = [name, f"1/{net.divisor}" if net.divisor > 1 else "as published", net.side, what.iterations]
    try:
        first, last, measure = learned(tools, folder, name)
        holds = measure >= LEAST
        cells += [f"{first:.4g}", f"{last:.3g}", f"{what.measure} {measure:.3f}", "learned" if holds else "NOT learned"]
    except Failure as failure:
        holds = False
        cells += ["", "", what.measure, f"FAILED: {failure}"]
    return cells + [round(time.monotonic() - start)], holds


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools", help="folder of the programs")
    parser.add_argument("--keep", type=pathlib.Path, help="leave nets, logs and weights in FOLDER/learn_wholes")
    parser.add_argument("--write", type=pathlib.Path, help="replace the table in this file, such as docs/zoo.md")
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"of these: {', '.join(RUNS)}")
    options = parser.parse_args()
    unknown = [name for name in options.nets if name not in RUNS]
    if unknown:
        sys.exit(f"unknown net {unknown[0]}; known: {', '.join(RUNS)}")
    tools, table, outcomes = options.tools.resolve(), [line(HEAD), line(["---"] * len(HEAD))], []
    with tempfile.TemporaryDirectory(prefix="wholes-") as own:
        # A folder of the script's own: what it made before is removed from there.
        folder = (options.keep or pathlib.Path(own)).resolve() / "learn_wholes"
        folder.mkdir(parents=True, exist_ok=True)
        make_scenes(tools, folder)
        print("\n".join(table))
        for name in options.nets or RUNS:
            cells, holds = row(tools, folder, name)
            table.append(line(cells))
            print(table[-1], flush=True)
            outcomes.append(holds)
    if options.write:
        text = options.write.read_text()
        before, rest = text.split(BEGIN)
        options.write.write_text(before + BEGIN + "\n\n" + "\n".join(table) + "\n\n" + END + rest.split(END)[1])
    print(f"{sum(outcomes)} of {len(outcomes)} whole nets have learned")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
