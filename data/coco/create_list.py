#!/usr/bin/env python3
"""Cuts a file of COCO's annotations into one for each image, and lists them, as SSD trains on them.

  data/coco/create_list.py INSTANCES.json IMAGES_FOLDER OUT_FOLDER

OUT_FOLDER gets NAME.txt, with lines "image annotation-file" of absolute paths (for scripts/create_annoset.py with ROOT /
and --label-type=json), NAME_name_size.txt (for name_size_file), the files below NAME/, and labelmap_coco.prototxt: labels
count from 1 in the order of the categories' numbers, which are their names there. NAME is that of INSTANCES without
"instances_". Images without a box are listed, too. Paths with blanks are refused: lists part their words by them.
"""

import json
import pathlib
import sys

USAGE, DATA = 1, 3  # as docs/errors.md has them


class Failure(Exception):
    pass


def read_instances(path):
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
        return known["images"], known.get("annotations", []), known["categories"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path}: no file of COCO's instances ({error!r})") from error


def label_map(categories):
    lines = ['item { name: "none_of_the_above" label: 0 display_name: "background" }']
    for label, category in enumerate(sorted(categories, key=lambda one: one["id"]), 1):
        lines.append(f'item {{ name: "{category["id"]}" label: {label} display_name: {json.dumps(category["name"])} }}')
    return "\n".join(lines) + "\n"


def boxes_by_image(images, annotations):
    boxes = {image["id"]: [] for image in images}
    for one in annotations:
        if one["image_id"] not in boxes:
            raise Failure(f"annotation {one.get('id')} is of image {one['image_id']}, which is not there")
        boxes[one["image_id"]].append({key: one[key] for key in ("category_id", "bbox")} |
                                      {"iscrowd": one.get("iscrowd", 0)})
    return boxes


def write_lists(instances, folder, out):
    """Returns how many images were listed."""
    images, annotations, categories = read_instances(instances)
    boxes = boxes_by_image(images, annotations)
    name = instances.stem.removeprefix("instances_")
    (out / name).mkdir(parents=True, exist_ok=True)
    pairs, sizes, stems = [], [], set()
    for image in images:
        picture, file = folder / image["file_name"], out / name / f"{pathlib.Path(image['file_name']).stem}.json"
        if picture.stem in stems:  # its boxes would be those of the other one
            raise Failure(f"{picture}: another image has the name {picture.stem}, too")
        stems.add(picture.stem)
        if any(blank in f"{picture}{file}" for blank in " \t"):
            raise Failure(f"{picture}: a blank in a path")
        file.write_text(json.dumps({"image": {key: image[key] for key in ("file_name", "height", "width")},
                                    "annotation": boxes[image["id"]]}) + "\n", encoding="utf-8")
        pairs.append(f"{picture} {file}\n")
        sizes.append(f"{picture.stem} {image['height']} {image['width']}\n")
    (out / f"{name}.txt").write_text("".join(pairs), encoding="utf-8")
    (out / f"{name}_name_size.txt").write_text("".join(sizes), encoding="utf-8")
    (out / "labelmap_coco.prototxt").write_text(label_map(categories), encoding="utf-8")
    return len(images)


def main():
    if len(sys.argv) != 4 or "--help" in sys.argv:
        print(__doc__, file=sys.stderr)
        return 0 if "--help" in sys.argv else USAGE
    instances, folder, out = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    try:
        print(f"listed {write_lists(instances, folder, out)} images in {out}")
    except (Failure, KeyError) as error:
        cause = error if isinstance(error, Failure) else f"{instances}: {error} is missing"
        print(f"create_list.py: error: {cause}", file=sys.stderr)
        return DATA
    return 0


if __name__ == "__main__":
    sys.exit(main())
