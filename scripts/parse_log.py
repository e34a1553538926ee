#!/usr/bin/env python3
"""Makes tables of a training's log, as Caffe's script of this name does.

  scripts/parse_log.py LOGFILE OUTPUT_DIR [--verbose] [--delimiter ,] [--shell_form]

Writes OUTPUT_DIR/LOGFILE.train and OUTPUT_DIR/LOGFILE.test: a row for each iteration that displayed something, with
NumIters, Seconds since training began, LearningRate, and the outputs of the net. With --shell_form the tables are those
of Caffe's parse_log.sh, whatever the net's outputs are called: columns between blanks, one below the other.
"""

import argparse
import csv
import os
import sys

from robusta_files import caffe_log
from robusta_files.inputs import explained


def write_table(path, rows, delimiter, verbose):
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, rows.columns(), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    if verbose:
        print(f"Wrote {path}: {len(rows.by_iteration)} rows")


def write_aligned(path, rows):
    """As `column -t` does it."""
    rows = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    with open(path, "w", encoding="utf-8") as out:
        for row in rows:
            out.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n")


def write_shell_form(stem, log):
    """Of a test the first two numbers, which parse_log.sh calls accuracy and loss; of training the displayed loss."""
    tests = [[row["NumIters"], f"{row['Seconds']:f}", *(row.get(name) for name in (log.test.outputs + [None] * 2)[:2])]
             for row in log.test.values()]
    write_aligned(stem + ".test", [["#Iters", "Seconds", "TestAccuracy", "TestLoss"], *tests])
    losses = [[iteration, f"{seconds:f}", loss, rate] for iteration, (seconds, loss, rate) in sorted(log.displayed.items())]
    write_aligned(stem + ".train", [["#Iters", "Seconds", "TrainingLoss", "LearningRate"], *losses])


def main():
    parser = argparse.ArgumentParser(description="Makes tables of a training's log.")
    parser.add_argument("logfile_path", metavar="LOGFILE")
    parser.add_argument("output_dir", metavar="OUTPUT_DIR")
    parser.add_argument("--verbose", action="store_true", help="say what was written")
    parser.add_argument("--delimiter", default=",", help="between columns [,]")
    parser.add_argument("--shell_form", action="store_true", help="the tables of Caffe's parse_log.sh")
    args = parser.parse_args()
    if len(args.delimiter) != 1:
        parser.error("--delimiter is one character")
    try:
        log = caffe_log.parse(caffe_log.lines_of(args.logfile_path))
        stem = os.path.join(args.output_dir, os.path.basename(args.logfile_path))
        if args.shell_form:
            write_shell_form(stem, log)
            return
        write_table(stem + ".train", log.train, args.delimiter, args.verbose)
        write_table(stem + ".test", log.test, args.delimiter, args.verbose)
    except (OSError, caffe_log.LogError) as error:
        sys.exit(f"parse_log.py: {explained(error, args.logfile_path)}")


if __name__ == "__main__":
    main()
