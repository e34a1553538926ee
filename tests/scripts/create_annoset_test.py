#!/usr/bin/env python3
"""Databases of VOC's XML and of COCO's JSON by the scripts: lists, records, links, and what is refused."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools")).resolve()

XML = """<annotation><size><width>12</width><height>8</height></size>
<object><name>{}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>6</xmax><ymax>5</ymax></bndbox></object></annotation>
"""


def bmp(path, width=12, height=8):
    """A grey image, in a form that needs no library."""
    row = bytes(3 * width + (-3 * width) % 4)
    head = b"BM" + (54 + len(row) * height).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    info = b"".join(n.to_bytes(size, "little") for n, size in ((40, 4), (width, 4), (height, 4), (1, 2), (24, 2)))
    path.write_bytes(head + info + bytes(24) + row * height)


@unittest.skipUnless((TOOLS / "convert_annoset").exists(), "ROBUSTA_TOOLS_DIR names no folder with convert_annoset")
class CreateAnnoset(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        # The scripts write beside themselves.
        self.tree = self.folder / "tree"
        for name in ("scripts/create_annoset.py", "scripts/lib.sh", "data/VOC0712", "data/coco"):
            source, copy = ROOT / name, self.tree / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy)

    def run_script(self, name, *words, want=0):
        runner = ["bash"] if name.endswith(".sh") else [sys.executable]
        done = subprocess.run([*runner, self.tree / name, *map(str, words)], cwd=self.folder, timeout=100, check=False,
                              capture_output=True, text=True, env={**os.environ, "ROBUSTA_BUILD": str(TOOLS.parent)})
        self.assertEqual(done.returncode, want, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout + done.stderr

    def records(self, database):
        done = subprocess.run([TOOLS / "caffe", "data", database], timeout=100, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def devkit(self):
        devkit = self.folder / "VOCdevkit"
        for year, sets in (("VOC2007", {"trainval": ["000001", "000002"], "test": ["000003"]}),
                           ("VOC2012", {"trainval": ["2008_000001"]})):
            for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
                (devkit / year / name).mkdir(parents=True)
            for name, ids in sets.items():
                (devkit / year / f"ImageSets/Main/{name}.txt").write_text("".join(f"{one}\n" for one in ids))
                for one in ids:
                    bmp(devkit / year / f"JPEGImages/{one}.jpg")  # told by its bytes
                    (devkit / year / f"Annotations/{one}.xml").write_text(XML.format("dog"))
        return devkit

    def test_voc_from_the_devkit_to_databases(self):
        devkit = self.devkit()
        self.assertIn("listed 3 images for training, 1 for testing", self.run_script("data/VOC0712/create_list.sh", devkit))
        lists = self.tree / "data/VOC0712"
        trainval = (lists / "trainval.txt").read_text()
        self.assertEqual(sorted(trainval.split("\n"))[1:],
                         [f"{year}/JPEGImages/{one}.jpg {year}/Annotations/{one}.xml" for year, one in
                          (("VOC2007", "000001"), ("VOC2007", "000002"), ("VOC2012", "2008_000001"))])
        self.assertEqual((lists / "test_name_size.txt").read_text(), "000003 8 12\n")
        self.run_script("data/VOC0712/create_list.sh", devkit)
        self.assertEqual((lists / "trainval.txt").read_text(), trainval)  # the same order
        for _ in range(2):  # made again where it is there
            self.run_script("data/VOC0712/create_data.sh", devkit)
        for name, records in (("trainval", 3), ("test", 1)):
            link = self.tree / f"examples/VOC0712/VOC0712_{name}_lmdb"
            self.assertEqual(link.resolve(), (devkit / f"VOC0712/lmdb/VOC0712_{name}_lmdb").resolve())
            self.assertRegex(self.records(link), rf"\nrecords: {records} .*\nboxes: {records};")

    def test_voc_says_what_is_missing(self):
        self.assertIn("run data/VOC0712/create_list.sh first",
                      self.run_script("data/VOC0712/create_data.sh", self.devkit(), want=1))
        (self.folder / "empty").mkdir()
        self.assertIn("neither VOC2007 nor VOC2012",
                      self.run_script("data/VOC0712/create_list.sh", self.folder / "empty", want=1))

    def instances(self, **changes):
        (self.folder / "images").mkdir(exist_ok=True)
        for name in ("a", "b"):
            bmp(self.folder / f"images/{name}.jpg")
        known = {"images": [{"id": 7, "file_name": "a.jpg", "height": 8, "width": 12},
                            {"id": 9, "file_name": "b.jpg", "height": 8, "width": 12}],
                 "annotations": [{"id": 1, "image_id": 7, "category_id": 3, "bbox": [1, 1, 4, 5], "iscrowd": 0,
                                  "segmentation": []}],
                 "categories": [{"id": 3, "name": "car"}, {"id": 1, "name": "person"}], **changes}
        path = self.folder / "instances_val.json"
        path.write_text(json.dumps(known))
        return path

    def test_coco_from_one_file_to_a_database(self):
        out = self.folder / "lists"
        self.run_script("data/coco/create_list.py", self.instances(), self.folder / "images", out)
        self.assertEqual((out / "val_name_size.txt").read_text(), "a 8 12\nb 8 12\n")
        self.assertIn('{ name: "1" label: 1 display_name: "person" }', (out / "labelmap_coco.prototxt").read_text())
        words = ["--anno-type=detection", "--label-type=json", "--label-map-file", out / "labelmap_coco.prototxt",
                 "--check-label", "/", out / "val.txt", self.folder / "db/val_lmdb", self.folder / "examples/coco"]
        self.run_script("scripts/create_annoset.py", *words)
        self.assertRegex(self.records(self.folder / "examples/coco/val_lmdb"), r"\nrecords: 2 .*\nboxes: 1; images without any: 1")
        self.assertIn("is there already; give --redo", self.run_script("scripts/create_annoset.py", *words, want=7))

    def test_coco_says_what_is_wrong(self):
        images = self.folder / "images"
        wrong = self.instances(annotations=[{"id": 4, "image_id": 5, "category_id": 1, "bbox": [0, 0, 1, 1]}])
        self.assertIn("annotation 4 is of image 5, which is not there",
                      self.run_script("data/coco/create_list.py", wrong, images, self.folder / "o", want=3))
        twins = self.instances(images=[{"id": id, "file_name": f"{id}/a.jpg", "height": 8, "width": 12} for id in (7, 9)])
        self.assertIn("another image has the name a, too",
                      self.run_script("data/coco/create_list.py", twins, images, self.folder / "o", want=3))
        self.assertIn("no file of COCO's instances",
                      self.run_script("data/coco/create_list.py", images / "a.jpg", images, self.folder / "o", want=3))

    def test_a_folder_of_something_else_is_never_removed(self):
        other = self.folder / "db"
        other.mkdir()
        (other / "thesis.txt").write_text("years")
        self.run_script("scripts/create_annoset.py", "--redo", "/", "list", other, self.folder / "e", want=7)
        self.assertEqual((other / "thesis.txt").read_text(), "years")


if __name__ == "__main__":
    unittest.main()
