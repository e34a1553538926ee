#!/usr/bin/env python3
"""Writes the definitions in models/: one train_val, deploy and solver prototxt per network.

The networks are described once, in scripts/robusta_models/, so that train_val and deploy cannot drift apart. `--check`
only compares and fails on a difference.

  scripts/make_models.py [--check] [--root FOLDER]
"""

import argparse
import pathlib
import sys

from robusta_models import multinode, networks
from robusta_models.solvers import SOLVERS

NETS = {
    "lenet": lambda: networks.lenet("data/digits"),
    "cifar10_quick": networks.cifar10_quick,
    "bvlc_alexnet": networks.alexnet,
    "bvlc_googlenet": networks.googlenet,
    "vgg16": networks.vgg16,
    "resnet50": networks.resnet50,
    "mobilenet_v1": networks.mobilenet,
    "mobilenet_v2": networks.mobilenet_v2,
    "squeezenet": networks.squeezenet,
}


def all_files():
    """Path below models/ -> content."""
    files = {}
    for folder, build in NETS.items():
        files[f"{folder}/train_val.prototxt"] = build().file("train", "Training and validation.")
        files[f"{folder}/deploy.prototxt"] = build().file("deploy", "Inference: feed `data`, read `prob`.")
    files["lenet/mnist_train_val.prototxt"] = networks.lenet("data/mnist").file("train", "Training and test on MNIST.")
    for name, (comment, body) in SOLVERS.items():
        files[f"{name}.prototxt"] = f"# {comment}\n{body}"
    return files | multinode.files()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "models")
    options = parser.parse_args()
    stale = []
    for name, content in all_files().items():
        path = options.root / name
        if options.check:
            if not path.exists() or path.read_text() != content:
                stale.append(str(path))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    for path in stale:
        print(f"{path}: differs from what scripts/make_models.py writes; run it and commit the result")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
