#!/usr/bin/env python3
"""One net of the zoo: planned and timed without its data, and trained for two steps with them where it is a train net.

  zoo_test.py --make FOLDER     makes the data of all nets
  zoo_test.py NET FOLDER        tests a net with them; exits with 77 where the tree lacks one of its layer types
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import sources
from nets import all_nets, built_in_types, is_trained, types_of

TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")).resolve()
SOLVER = """net: "{}"
base_lr: 0.001
momentum: 0.9
lr_policy: "fixed"
max_iter: 2
display: 1
random_seed: 1
snapshot_after_train: false
snapshot_prefix: "net"
"""
TESTED = "test_iter: 1\ntest_interval: 2\n"
# Planned and timed with their data: no layer tells how long a sentence is, boxes of zeros are none, and only the
# values of a mask tell that images are not of the size that upsample_h and upsample_w are meant for.
NEED_DATA = {"text_cnn", "ssd_train", "ssd_mobilenet_train", "v1_segnet"}
SKIPPED = 77


class Failure(Exception):
    pass


def caffe(folder, *words):
    """Runs the program and returns what it printed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run([TOOLS / "caffe", *words], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=False)
    if done.returncode != 0:
        raise Failure(f"caffe {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def require(holds, what, output):
    if not holds:
        raise Failure(f"{what}\n{output[-3000:]}")


def check_plan(folder, net):
    output = caffe(folder, "plan", "-model", net, "-autotune=false", "-memory", "1M")
    require("Largest batch" in output, "no plan was printed", output)


def check_time(folder, net):
    output = caffe(folder, "time", "-model", net, "-forward_only", "-iterations", "1", "-autotune=false")
    require(re.search(r"Average Forward pass: [\d.e-]+ ms", output), "no time was printed", output)


def check_train(folder, net):
    text = net.read_text()
    (folder / "solver.prototxt").write_text(SOLVER.format(net) + (TESTED if "phase: TEST" in text else ""))
    output = caffe(folder, "train", "-solver", "solver.prototxt", "-autotune=false")
    losses = [float(loss) for loss in re.findall(r"Iteration \d .*loss = (\S+)", output)]
    require(len(losses) >= 2 and "Optimization Done." in output, "it was not trained for two steps", output)
    require(all(abs(loss) < 1e6 for loss in losses), f"losses {losses}", output)


def check(name, data):
    net, path = all_nets()[name], pathlib.Path(data).resolve()
    absent = types_of(net, TOOLS / "upgrade_net_proto_text") - built_in_types()
    if absent:
        print(f"SKIPPED: this tree has no layer type {', '.join(sorted(absent))}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as own:
        folder = pathlib.Path(own)
        if name in NEED_DATA:
            (folder / "examples").symlink_to(path / "examples")
        check_plan(folder, net)
        check_time(folder, net)
        for written in folder.glob("*.h5"):
            written.unlink()
        if not is_trained(net.read_text()):
            return
        if name not in NEED_DATA:
            (folder / "examples").symlink_to(path / "examples")
        check_train(folder, net)


def main():
    if sys.argv[1] == "--make":
        return sources.make_all(pathlib.Path(sys.argv[2]))
    try:
        return check(sys.argv[1], sys.argv[2])
    except Failure as failure:
        sys.exit(f"{sys.argv[1]}: {failure}")


if __name__ == "__main__":
    main()
