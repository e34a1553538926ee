#!/usr/bin/env python3
"""How fast JPEGs feed a net, beside what the decoder alone manages.

Two ways: JPEGs of 256 x 256 pixels in an LMDB (`convert_imageset -encoded`) and a Data layer with a crop and mirroring;
files of 500 x 375, as ImageNet has them, and an ImageData layer that resizes them to 256 x 256 before that. `caffe time`
times a net that is that layer alone, fed by N threads. Beside it: libjpeg-turbo alone (the wheel simplejpeg) on the same
bytes in as many processes, and, where --torch names an interpreter that has them, PyTorch's DataLoader with as many
workers: with Pillow alone, and with torchvision's ImageFolder and transforms. Images per second, and the ratio of ours to
each. Contestants take turns, and the best of three counts. Wants an idle machine.

  scripts/bench_data.py [--tools FOLDER] [--images N] [--threads N] [--torch PYTHON]
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_readers import environments  # noqa: E402 (needs the path)

LAYERS = {
    "Data": """layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: 224 mirror: true mean_value: 110 }
  data_param { source: "db" backend: LMDB batch_size: 64 prefetch: 4 } }""",
    "ImageData": """layer { name: "data" type: "ImageData" top: "data" top: "label"
  transform_param { crop_size: 224 mirror: true mean_value: 110 }
  image_data_param { source: "list.txt" root_folder: "images/class/" batch_size: 64 new_height: 256 new_width: 256 } }"""}
NET = """name: "feed"
%s
layer { name: "silence" type: "Silence" bottom: "data" bottom: "label" }
"""
BATCH = 64


def timed_caffe(tools, folder, layer, iterations, threads):
    """Images per second of a net that does nothing but read."""
    (folder / "net.prototxt").write_text(NET % LAYERS[layer])
    done = subprocess.run([tools / "caffe", "time", "-model", "net.prototxt", "-phase", "TRAIN", "-forward_only",
                           "-iterations", str(iterations), "-data_threads", str(threads)], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(threads), "XDG_CACHE_HOME": str(folder)})
    per_pass = float(re.findall(r"Average Forward pass: (\S+) ms", done.stdout)[-1])
    return BATCH * 1000 / per_pass


def worker(python, task, **fields):
    script = ROOT / "scripts/robusta_readers/jpeg_worker.py"
    done = subprocess.run([python, script], input=json.dumps({"do": task, **fields}), text=True, capture_output=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{task}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def compare(options, tools, python, layer, size, loader, loader_name):
    """Prints a table for JPEGs of this height and width, read by this layer."""
    ours_name = f"Robusta, {layer}" + (", resize" if layer == "ImageData" else "") + ", crop and mirror"
    with tempfile.TemporaryDirectory(prefix="bench-data-") as own:
        folder = pathlib.Path(own)
        images = folder / "images/class"
        images.mkdir(parents=True)
        made = worker(python, "make", folder=str(images), count=options.images, size=size)
        (folder / "list.txt").write_text("".join(f"{index:05d}.jpg {index % 10}\n" for index in range(options.images)))
        if layer == "Data":
            subprocess.run([tools / "convert_imageset", "-encoded", f"{images}/", "list.txt", "db"], cwd=folder, check=True,
                           capture_output=True)
        rows = {}
        # In turns, so that a machine that changes its pace changes all.
        for _ in range(3):
            ours = timed_caffe(tools, folder, layer, options.rounds * options.images // BATCH, options.threads)
            rows.setdefault(ours_name, []).append(ours)
            fields = {"processes": options.threads, "rounds": options.rounds}
            rows.setdefault("libjpeg-turbo alone", []).append(worker(python, "decode", folder=str(images), **fields)["rate"])
            if options.torch:
                folder_of_loader = images.parent if loader == "torchvision_loader" else images
                rate = worker(options.torch, loader, folder=str(folder_of_loader), **fields)["rate"]
                rows.setdefault(loader_name, []).append(rate)
    ours = max(rows[ours_name])
    height, width = size
    print(f"{options.images} JPEGs of {width} x {height}, {made['bytes'] // options.images} bytes each, {options.threads} "
          "threads")
    print("| what | images per second | per thread | ours by this |\n| --- | --- | --- | --- |")
    for what, rates in rows.items():
        print(f"| {what} | {max(rates):.0f} | {max(rates) / options.threads:.0f} | {ours / max(rates):.2f} |")
    print(f"{ours / max(rows['libjpeg-turbo alone']):.2f} of libjpeg-turbo alone\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools", help="folder of the programs")
    parser.add_argument("--images", type=int, default=2048, help="how many JPEGs")
    parser.add_argument("--threads", type=int, default=2, help="that decode, everywhere")
    parser.add_argument("--rounds", type=int, default=3, help="over all images in a measurement")
    parser.add_argument("--torch", help="a Python with torch, Pillow and torchvision")
    options = parser.parse_args()
    tools = options.tools.resolve()
    try:
        python, _ = environments.environment("jpeg")
    except environments.Unavailable as why:
        print(f"SKIPPED: {why}")
        return 77
    compare(options, tools, python, "Data", (256, 256), "loader", "PyTorch's DataLoader, Pillow, crop and flip")
    compare(options, tools, python, "ImageData", (375, 500), "torchvision_loader", "torchvision, resize, crop and flip")
    return 0


if __name__ == "__main__":
    sys.exit(main())
