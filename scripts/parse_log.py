#!/usr/bin/env python3
"""Makes tables of a training's log, as Caffe's script of this name does.

  scripts/parse_log.py LOGFILE OUTPUT_DIR [--verbose] [--delimiter ,]

Writes OUTPUT_DIR/LOGFILE.train and OUTPUT_DIR/LOGFILE.test: a row for each iteration that displayed something, with
NumIters, Seconds since training began, LearningRate, and the outputs of the net.
"""

import argparse
import csv
import os
import sys

from robusta_files import caffe_log


def write_table(path, rows, delimiter, verbose):
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, rows.columns(), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    if verbose:
        print(f"Wrote {path}: {len(rows.by_iteration)} rows")


def main():
    parser = argparse.ArgumentParser(description="Makes tables of a training's log.")
    parser.add_argument("logfile_path", metavar="LOGFILE")
    parser.add_argument("output_dir", metavar="OUTPUT_DIR")
    parser.add_argument("--verbose", action="store_true", help="say what was written")
    parser.add_argument("--delimiter", default=",", help="between columns [,]")
    args = parser.parse_args()
    if len(args.delimiter) != 1:
        parser.error("--delimiter is one character")
    try:
        log = caffe_log.parse(caffe_log.lines_of(args.logfile_path))
        stem = os.path.join(args.output_dir, os.path.basename(args.logfile_path))
        write_table(stem + ".train", log.train, args.delimiter, args.verbose)
        write_table(stem + ".test", log.test, args.delimiter, args.verbose)
    except (OSError, caffe_log.LogError) as error:
        sys.exit(f"parse_log.py: {args.logfile_path}: {error}")


if __name__ == "__main__":
    main()
