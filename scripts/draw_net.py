#!/usr/bin/env python3
"""Draws a net, in the colours of Caffe's script of this name.

  scripts/draw_net.py NET.prototxt PICTURE [--rankdir LR] [--phase ALL] [--display_lrm]

PICTURE.dot is Graphviz' own form and needs nothing else; every other ending (png, svg, pdf) is drawn by `dot`, which
Debian has in the package graphviz.
"""

import argparse
import sys

from robusta_files.inputs import explained, read_text
from robusta_files.net_drawing import drawing
from robusta_files.text_proto import parse

NO_DOT = 9  # as docs/errors.md has it: not to be had here


def main():
    parser = argparse.ArgumentParser(description="Draws a net.")
    parser.add_argument("input_net_proto_file", metavar="NET.prototxt")
    parser.add_argument("output_image_file", metavar="PICTURE")
    parser.add_argument("--rankdir", default="LR", choices=drawing.DIRECTIONS, help="direction of the drawing [LR]")
    parser.add_argument("--phase", default="ALL", choices=("TRAIN", "TEST", "ALL"), help="phase to draw [ALL]")
    parser.add_argument("--display_lrm", action="store_true", help="factors of the learning rate stand in the boxes")
    args = parser.parse_args()
    try:
        text = drawing.dot_of(parse(read_text(args.input_net_proto_file, "replace")), args.rankdir, args.phase,
                              with_rates=args.display_lrm)
    except (OSError, ValueError) as error:
        sys.exit(f"draw_net.py: {explained(error, args.input_net_proto_file)}")
    try:
        picture = drawing.rendered(text, drawing.kind_of(args.output_image_file))
        with open(args.output_image_file, "wb") as out:
            out.write(picture)
    except drawing.NoGraphviz as error:
        print(f"draw_net.py: {error}", file=sys.stderr)
        sys.exit(NO_DOT)
    except (OSError, ValueError) as error:
        sys.exit(f"draw_net.py: {explained(error)}")


if __name__ == "__main__":
    main()
