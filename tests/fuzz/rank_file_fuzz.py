#!/usr/bin/env python3
"""Rank files and host files, whatever their bytes are: read, looked at, or refused by a LaunchError.

  tests/fuzz/rank_file_fuzz.py [--seconds S] [--seed N] [--keep FOLDER]

Reads every file of corpus/rank_file/, then changes of them for S seconds (default 0). A file that ends otherwise, or takes
more than a second, is put into FOLDER (default: the working folder). Exit code 0: there was none; 1: there was.
"""

import argparse
import pathlib
import random
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_launch import hosts, lint  # noqa: E402
from robusta_launch.errors import LaunchError  # noqa: E402
from robusta_launch.rankfile import check_entries, parse_rankfile  # noqa: E402

CORPUS = ROOT / "tests/fuzz/corpus/rank_file"
MOST_SECONDS = 1
# What a change puts in: the words of both forms, and numbers at the ends of their types.
WORDS = [b"rank ", b"=", b" slot=", b":", b"-", b",", b"\n", b"#dims = ", b"#host = ", b"x", b"+n", b"[", b"]", b"\0", b"\xff",
         b"0", b"-1", b"2147483648", b"99999999999999999999", b"\xc2\xa0", b"slots="]


def attempt(call):
    try:
        return call()
    except LaunchError:
        return None


def read(path):
    def look_at_ranks():
        file = parse_rankfile(path)
        lint.check(file)
        lint.fixed(file)
        check_entries(file)

    attempt(look_at_ranks)
    attempt(lambda: hosts.parse_file(path))
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    attempt(lambda: hosts.parse_list(text))
    attempt(lambda: hosts.expand_slurm(text))


def changed(data, draw):
    data = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        at = draw.randint(0, len(data))
        way = draw.randrange(4)
        if way == 0:
            data[at:at] = draw.choice(WORDS)
        elif way == 1:
            del data[at:at + draw.randint(1, 20)]
        elif way == 2:
            data[at:at + 1] = bytes([draw.randrange(256)])
        else:
            start = draw.randint(0, len(data))
            data[at:at] = data[start:start + draw.randint(1, 40)]
    return bytes(data[:10000])


def finding(data, path):
    """What is wrong with how these bytes are read; none: nothing."""
    path.write_bytes(data)
    begin = time.process_time()
    try:
        read(path)
    except Exception as error:  # pylint: disable=broad-except
        return f"{type(error).__name__}: {error}"
    seconds = time.process_time() - begin  # of the processor: others may use it, too
    return f"{seconds:.1f} s" if seconds > MOST_SECONDS else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path())
    options = parser.parse_args()
    draw, end = random.Random(options.seed), time.monotonic() + options.seconds
    seeds = [file.read_bytes() for file in sorted(CORPUS.iterdir())]
    read_files = found = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "input"
        inputs = list(seeds)
        while inputs or time.monotonic() < end:
            data = inputs.pop() if inputs else changed(draw.choice(seeds), draw)
            fault = finding(data, path)
            read_files += 1
            if fault:
                found += 1
                kept = options.keep / f"crash-{found}"
                kept.write_bytes(data)
                print(f"{kept}: {fault}")
    print(f"{read_files} files, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
