#!/usr/bin/env python3
"""Writes the families of nets of tests/zoo/zoo_nets/ to tests/zoo/families/; what is there and odd lies in forms/.

`--check` only compares, and fails on a difference.

  tests/zoo/make_nets.py [--check]
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))

from zoo_nets import classifiers, detection, faces, others, recurrent, segmentation  # noqa: E402 (needs the path)

FAMILIES = (classifiers, segmentation, detection, recurrent, faces, others)


def all_files():
    """Name of a file -> content."""
    files = {}
    for family in FAMILIES:
        for build in family.NETS:
            files[f"{build.__name__}.prototxt"] = build().file("train")
        for build in family.DEPLOYED:
            files[f"{build.__name__}_deploy.prototxt"] = build().file("deploy")
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    options = parser.parse_args()
    folder, files = HERE / "families", all_files()
    there = {path.name: path.read_text() for path in folder.glob("*.prototxt")}
    if options.check:
        stale = sorted(name for name in files.keys() | there.keys() if files.get(name) != there.get(name))
        for name in stale:
            print(f"{folder / name}: differs from what tests/zoo/make_nets.py writes; run it and commit the result")
        return 1 if stale else 0
    folder.mkdir(exist_ok=True)
    for name in there.keys() - files.keys():
        (folder / name).unlink()
    for name, content in files.items():
        (folder / name).write_text(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
