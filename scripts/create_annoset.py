#!/usr/bin/env python3
"""SSD's script of this name: a database of images and their boxes, made by convert_annoset, and a link to it.

  scripts/create_annoset.py [OPTIONS] ROOT LIST OUT_DB EXAMPLE_FOLDER

LIST has lines "image annotation-file" (or "image class", --anno-type=classification) from ROOT on. OUT_DB is made, with
the folders above it, and EXAMPLE_FOLDER gets a link of its name. What is there already is an error without --redo.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
USAGE, OUTPUT = 1, 7  # as docs/errors.md has them
FLAGS = ("check-size", "encoded", "gray", "check-label", "shuffle")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", help="put in front of each path of the list")
    parser.add_argument("listfile")
    parser.add_argument("outdir", help="the database to make")
    parser.add_argument("exampledir", help="folder for a link to it")
    parser.add_argument("--redo", action="store_true", help="make it again where it is there")
    parser.add_argument("--anno-type", default="classification", choices=["classification", "detection"])
    parser.add_argument("--label-type", default="xml", choices=["xml", "json", "txt"])
    parser.add_argument("--backend", default="lmdb", choices=["lmdb", "leveldb"])
    parser.add_argument("--encode-type", default="", help="png or jpg; default: as each file is named")
    parser.add_argument("--label-map-file", default="")
    for name in ("min-dim", "max-dim", "resize-height", "resize-width"):
        parser.add_argument(f"--{name}", type=int, default=0, metavar="PIXELS")
    for name in FLAGS:
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args()


def program():
    """convert_annoset of the build that ROBUSTA_BUILD names, of build, or of PATH."""
    built = pathlib.Path(os.environ.get("ROBUSTA_BUILD", ROOT / "build"), "tools/convert_annoset")
    return str(built) if built.is_file() else shutil.which("convert_annoset")


def command(path, options):
    words = [path]
    for name in ("anno_type", "label_type", "backend", "encode_type", "label_map_file", "min_dim", "max_dim",
                 "resize_height", "resize_width"):
        value = getattr(options, name)
        if value:
            words += [f"-{name}", str(value)]
    words += [f"-{name.replace('-', '_')}" for name in FLAGS if getattr(options, name.replace("-", "_"))]
    return words + [os.path.join(options.root, ""), options.listfile, options.outdir]


def stop(code, message):
    print(f"create_annoset.py: error: {message}", file=sys.stderr)
    return code


def clear_way(path, redo):
    """Whether nothing is at `path`, or no longer is. A folder of something else than a database stays."""
    if not os.path.lexists(path):
        return True
    if not redo:
        return False
    if path.is_symlink():
        path.unlink()
    elif path.is_dir() and {entry.name for entry in path.iterdir()} <= {"data.mdb", "lock.mdb"}:
        shutil.rmtree(path)
    return not os.path.lexists(path)


def main():
    options = arguments()
    made, folder = pathlib.Path(options.outdir).absolute(), pathlib.Path(options.exampledir)
    link = folder / made.name
    path = program()
    if not path:
        return stop(USAGE, "convert_annoset is not built; build first, or set ROBUSTA_BUILD to a build's folder")
    if not clear_way(made, options.redo):
        return stop(OUTPUT, f"{made} is there already; give --redo to make it again, or remove it")
    made.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command(path, options), check=False)
    if done.returncode != 0:
        return done.returncode
    folder.mkdir(parents=True, exist_ok=True)
    if link.absolute() == made:
        return 0
    if not clear_way(link, True):
        return stop(OUTPUT, f"{link} is there and no link; remove it, or name another folder")
    link.symlink_to(made)
    print(f"made {made}, linked from {link}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
