#!/usr/bin/env python3
"""Resizes images so that their short side has one length, and cuts a square out of their middle.

  scripts/resize_and_crop_images.py --input_file_list LIST --input_folder FROM --output_folder TO
                                    [--output_side_length 256] [--workers N]

LIST names an image in each line, from FROM on (what follows a last blank and a label is passed over). Needs Pillow.
Images that cannot be read are named and left out; then the exit code is 3.
"""

import argparse
import concurrent.futures
import os
import sys

from robusta_files.inputs import explained, read_text

try:
    from PIL import Image
except ImportError:
    Image = None
NO_LIBRARY, BROKEN = 9, 3  # as docs/errors.md has them


def middle_square(image, side):
    """Bilinear, as Caffe's script asks OpenCV for."""
    width, height = image.size
    scale = side / min(width, height)
    image = image.convert("RGB").resize((max(side, round(width * scale)), max(side, round(height * scale))),
                                        Image.BILINEAR)
    left, top = (image.size[0] - side) // 2, (image.size[1] - side) // 2
    return image.crop((left, top, left + side, top + side))


def path_in(line):
    """Of "a b.jpg 7" the path "a b.jpg"."""
    path, blank, label = line.rpartition(" ")
    return path if blank and label.lstrip("+-").isdigit() else line


def place_of(folder, name):
    """Where the image goes: never outside of the folder."""
    place = os.path.normpath(os.path.join(folder, name.lstrip("/")))
    if os.path.relpath(place, folder).startswith(".."):
        raise ValueError("its path leads out of the folder")
    return place


def convert(name, args):
    """None, or why the image was left out."""
    try:
        place = place_of(args.output_folder, name)
        with Image.open(os.path.join(args.input_folder, name)) as image:
            square = middle_square(image, args.output_side_length)
        os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        square.save(place)
    except Exception as error:  # whatever Pillow says of a damaged file
        return f"{name}: {error}"
    return None


def main():
    parser = argparse.ArgumentParser(description="Resizes images and cuts out their middle.")
    parser.add_argument("--input_file_list", required=True)
    parser.add_argument("--input_folder", default="")
    parser.add_argument("--output_folder", required=True)
    parser.add_argument("--output_side_length", type=int, default=256)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    if not 0 < args.output_side_length <= 10000:
        parser.error("--output_side_length is from 1 to 10000")
    if Image is None:
        print("resize_and_crop_images.py: Pillow is not installed (package python3-pil); convert_imageset -resize_width "
              "and -resize_height need nothing else", file=sys.stderr)
        sys.exit(NO_LIBRARY)
    try:
        names = [path_in(line) for line in read_text(args.input_file_list).split("\n") if line.strip()]
    except OSError as error:
        sys.exit(f"resize_and_crop_images.py: {explained(error)}")
    with concurrent.futures.ThreadPoolExecutor(max(1, args.workers or 1)) as pool:
        failures = [failure for failure in pool.map(lambda name: convert(name, args), names) if failure]
    for failure in failures:
        print(f"resize_and_crop_images.py: left out {failure}", file=sys.stderr)
    print(f"{len(names) - len(failures)} images written, {len(failures)} left out")
    sys.exit(BROKEN if failures else 0)


if __name__ == "__main__":
    main()
