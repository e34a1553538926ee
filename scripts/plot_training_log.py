#!/usr/bin/env python3
"""Draws curves of one or more logs of trainings, with the chart types of Caffe's script of this name.

  scripts/plot_training_log.py CHART_TYPE PICTURE LOG...

  0  test accuracy by iterations      4  learning rate by iterations
  1  test accuracy by seconds         5  learning rate by seconds
  2  test loss by iterations          6  train loss by iterations
  3  test loss by seconds             7  train loss by seconds

PICTURE.svg needs nothing else; for PICTURE.png and other endings matplotlib has to be installed.
"""

import os
import sys

from robusta_files import caffe_log
from robusta_files.inputs import explained
from robusta_files.svg_chart import chart

QUANTITIES = ("Test accuracy", "Test loss", "Learning rate", "Train loss")
NO_MATPLOTLIB = 9  # as docs/errors.md has it: not to be had here


def column_like(rows, word):
    """The output whose name has the word in it; the first one else, where it is a loss."""
    named = [name for name in rows.outputs if word in name.lower()]
    if not named:
        raise caffe_log.LogError(f"no output is called \"{word}\" (there are: {', '.join(rows.outputs) or 'none'})")
    return named[0]


def points(log, chart_type):
    """(x, y) of a log."""
    quantity, by = QUANTITIES[chart_type // 2], "NumIters" if chart_type % 2 == 0 else "Seconds"
    rows = log.test if quantity.startswith("Test") else log.train
    if quantity == "Learning rate":
        column = "LearningRate"
    elif quantity == "Train loss" and not any("loss" in name.lower() for name in rows.outputs):
        seconds = {row["NumIters"]: row["Seconds"] for row in rows.values()}
        return [(i if by == "NumIters" else seconds.get(i, 0), loss) for i, loss in sorted(log.losses.items())]
    else:
        column = column_like(rows, "accuracy" if "accuracy" in quantity else "loss")
    return [(row[by], row[column]) for row in rows.values() if row.get(column) is not None]


def draw_with_matplotlib(path, title, x_title, y_title, curves):
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
        matplotlib.use("Agg")
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    except ImportError:
        print(f"plot_training_log.py: matplotlib is not installed; give a picture that ends in .svg, not {path}",
              file=sys.stderr)
        sys.exit(NO_MATPLOTLIB)
    for name, curve in curves.items():
        pyplot.plot([x for x, _ in curve], [y for _, y in curve], label=name)
    pyplot.title(title)
    pyplot.xlabel(x_title)
    pyplot.ylabel(y_title)
    pyplot.legend()
    pyplot.savefig(path)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in list("01234567"):
        sys.exit(__doc__)
    chart_type, picture, logs = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    curves = {}
    for path in logs:
        try:
            log = caffe_log.parse(caffe_log.lines_of(path))
            name = os.path.basename(path)
            curves[name if name not in curves else path] = points(log, chart_type)
        except (OSError, caffe_log.LogError) as error:
            sys.exit(f"plot_training_log.py: {explained(error, path)}")
    quantity, by = QUANTITIES[chart_type // 2], "iterations" if chart_type % 2 == 0 else "seconds"
    title = f"{quantity} by {by}"
    if not picture.endswith(".svg"):
        return draw_with_matplotlib(picture, title, by, quantity, curves)
    with open(picture, "w", encoding="utf-8") as out:
        out.write(chart(title, by, quantity, curves))


if __name__ == "__main__":
    main()
