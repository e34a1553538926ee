#!/usr/bin/env python3
"""Whether nets of the zoo learn as wholes: each is trained on a few samples until it knows them by heart.

What single layers compute is tested elsewhere; here a mistake in how they go together would show: a gradient that is
lost, a label that is shifted, a state that is not carried on. Sets and nets are those of tests/zoo, TEST reads what
TRAIN has read, and `caffe train` does the rest. A net has learned when the mean loss of the last iterations is below a
tenth of the first loss, or, where it has an Accuracy, when that is at least 0.95. Prints a table in Markdown; the exit
code is 0 when all have learned.

  scripts/learn_zoo.py --caffe PROGRAM [NET...]
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/zoo"), str(ROOT / "scripts")]

from robusta_models.learning import solver  # noqa: E402 (needs the path)
import sources  # noqa: E402 (needs the path)
from nets import all_nets  # noqa: E402

FRACTION, SHARE, LAST = 0.1, 0.95, 20
# Net -> iterations, rate of Adam, samples of a batch (0: as many as the net says). Not here: SqueezeNet, whose scores
# end in a ReLU that dies for one class or two of so few samples, and ENet, which keeps no single pixels.
CLASSIFIER, PIXELS, WORDS = (400, 0.002, 8), (600, 0.002, 4), (800, 0.01, 0)
RUNS = {
    **dict.fromkeys(
        ("lenet", "googlenet", "vgg16", "resnet50", "resnext", "senet", "densenet", "inception_resnet_v2",
         "inception_v3", "dual_path", "mobilenet_v1_depthwise", "mobilenet_v2", "mobilenet_v3",
         "shufflenet_v1", "shufflenet_v2", "xception", "efficientnet", "sphereface", "normface"), CLASSIFIER),
    **dict.fromkeys(("fcn8s", "deeplab_largefov", "deeplab_v2", "pspnet", "unet", "unet_merge_crop"),
                    PIXELS),
    **dict.fromkeys(("language_model", "rnn_language_model", "encoder_decoder"), WORDS),
    "lrcn_captioner": (1500, 0.003, 0),
    "alexnet": (1500, 0.001, 8), "segnet": (1500, 0.005, 4),
    "siamese": (400, 0.001, 8), "mtcnn_onet": (400, 0.002, 8), "crnn": (600, 0.005, 0), "hed": (3000, 0.003, 2),
    "srcnn": (800, 0.002, 8), "fast_rcnn": (800, 0.002, 0), "faster_rcnn_heads": (600, 0.002, 0),
    "rfcn": (800, 0.003, 0), "rfcn_ohem": (800, 0.003, 0), "detectnet": (800, 0.005, 0),
    "recommender": (800, 0.02, 16), "text_cnn": (400, 0.01, 8), "mscnn_1st": (600, 0.003, 4),
}


def prepared(text):
    """TEST reads what TRAIN does, and nothing is dropped: what is asked is whether it can be known by heart."""
    text = re.sub(r"((?:images/|mnist_|cifar10_))test_lmdb", r"\1train_lmdb", text)
    return re.sub(r"(dropout_ratio: )[\d.]+", r"\g<1>0", text)


def train(caffe, text, run, folder):
    """The log of a training."""
    iterations, rate, batch = run
    (folder / "net.prototxt").write_text(prepared(text))
    text_of_solver = solver("net", rate, iterations) + "snapshot_after_train: false\n"
    if re.search(r'type: "Accuracy"', text):
        text_of_solver += f"test_iter: 8\ntest_interval: {iterations}\ntest_initialization: false\n"
    (folder / "solver.prototxt").write_text(text_of_solver)
    words = [caffe, "train", "-solver", "solver.prototxt", *(["-batch", str(batch)] if batch else [])]
    done = subprocess.run(words, cwd=folder, text=True, check=False,
                          env={"OMP_NUM_THREADS": "1", **os.environ, "XDG_CACHE_HOME": str(folder)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def learned(log):
    """First loss, mean of the last ones, accuracy (None where there is none)."""
    losses = [float(loss) for loss in re.findall(r"Iteration \d+ \(.*loss = (\S+)", log)]
    shares = re.findall(r"Test net output #\d+: accuracy = (\S+)", log)
    last = losses[-LAST:]
    return losses[0], sum(last) / len(last), float(shares[-1]) if shares else None


def row(caffe, name, folder):
    """A row of the table, and whether the net has learned."""
    start = time.monotonic()
    status, log = train(caffe, all_nets()[name].read_text(), RUNS[name], folder)
    seconds = time.monotonic() - start
    if status != 0:
        error = re.findall(r"caffe: error: (.*)", log)
        return f"| {name} | {RUNS[name][0]} | | | | FAILED: {error[-1] if error else status} | {seconds:.0f} |", False
    first, last, share = learned(log)
    holds = last < FRACTION * first or (share is not None and share >= SHARE)
    text = "" if share is None else f"{share:.2f}"
    outcome = "learned" if holds else "NOT learned"
    return f"| {name} | {RUNS[name][0]} | {first:.4g} | {last:.3g} | {text} | {outcome} | {seconds:.0f} |", holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--caffe", type=pathlib.Path, default=ROOT / "build/tools/caffe")
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"of these: {', '.join(RUNS)}")
    options = parser.parse_args()
    unknown = [name for name in options.nets if name not in RUNS]
    if unknown:
        sys.exit(f"unknown net {unknown[0]}; known: {', '.join(RUNS)}")
    caffe, outcomes = options.caffe.resolve(), []
    with tempfile.TemporaryDirectory(prefix="zoo-") as own:
        folder = pathlib.Path(own)
        sources.make_all(folder)
        print("| net | iterations | first loss | last loss | accuracy | outcome | seconds |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for name in options.nets or RUNS:
            line, holds = row(caffe, name, folder)
            print(line, flush=True)
            outcomes.append(holds)
    print(f"{sum(outcomes)} of {len(outcomes)} nets have learned")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
