#!/usr/bin/env python3
"""Writes the seconds since training began at each line of a log that names an iteration.

  scripts/extract_seconds.py LOGFILE OUTPUT
"""

import sys

from robusta_files import caffe_log
from robusta_files.inputs import explained


def seconds_of_iterations(lines):
    clock = caffe_log.Clock()
    for line in lines:
        seconds = clock.read(line)
        if seconds is not None and caffe_log.ITERATION.search(line):
            yield seconds
    if clock.start is None:
        raise caffe_log.LogError("no line says \"Solving\": this is no log of a training")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: extract_seconds.py LOGFILE OUTPUT")
    try:
        seconds = list(seconds_of_iterations(caffe_log.lines_of(sys.argv[1])))
        with open(sys.argv[2], "w", encoding="utf-8") as out:
            out.writelines(f"{second:f}\n" for second in seconds)
    except (OSError, caffe_log.LogError) as error:
        sys.exit(f"extract_seconds.py: {explained(error, sys.argv[1])}")


if __name__ == "__main__":
    main()
