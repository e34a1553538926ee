#!/usr/bin/env python3
"""How fast a database of JPEGs feeds a net, beside what the decoder alone manages.

Makes JPEGs of 256 x 256 pixels, an LMDB of them by `convert_imageset -encoded`, and times `caffe time` on a net that is
a Data layer with a crop and mirroring, fed by N threads. Beside it: libjpeg-turbo alone (the wheel simplejpeg) on the
same bytes in as many processes, and PyTorch's DataLoader with as many workers where --torch names an interpreter that has
it. Images per second, and the ratio of ours to each. Wants an idle machine.

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
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from robusta_readers import environments  # noqa: E402 (needs the path)

NET = """name: "feed"
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: 224 mirror: true mean_value: 110 }
  data_param { source: "db" backend: LMDB batch_size: 64 prefetch: 4 } }
layer { name: "silence" type: "Silence" bottom: "data" bottom: "label" }
"""
BATCH = 64


def timed_caffe(tools, folder, iterations, threads):
    """Images per second of a net that does nothing but read."""
    (folder / "net.prototxt").write_text(NET)
    start = time.monotonic()
    done = subprocess.run([tools / "caffe", "time", "-model", "net.prototxt", "-phase", "TRAIN", "-forward_only",
                           "-iterations", str(iterations), "-data_threads", str(threads)], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(threads), "XDG_CACHE_HOME": str(folder)})
    per_pass = float(re.findall(r"Average Forward pass: (\S+) ms", done.stdout)[-1])
    return BATCH * 1000 / per_pass, time.monotonic() - start


def worker(python, task, **fields):
    script = ROOT / "scripts/robusta_readers/jpeg_worker.py"
    done = subprocess.run([python, script], input=json.dumps({"do": task, **fields}), text=True, capture_output=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{task}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools", help="folder of the programs")
    parser.add_argument("--images", type=int, default=2048, help="how many JPEGs")
    parser.add_argument("--threads", type=int, default=2, help="that decode, everywhere")
    parser.add_argument("--torch", help="a Python with torch and Pillow")
    options = parser.parse_args()
    tools = options.tools.resolve()
    try:
        python, _ = environments.environment("jpeg")
    except environments.Unavailable as why:
        print(f"SKIPPED: {why}")
        return 77
    with tempfile.TemporaryDirectory(prefix="bench-data-") as own:
        folder = pathlib.Path(own)
        (folder / "images").mkdir()
        made = worker(python, "make", folder=str(folder / "images"), count=options.images)
        names = "".join(f"{index:05d}.jpg {index % 10}\n" for index in range(options.images))
        (folder / "list.txt").write_text(names)
        subprocess.run([tools / "convert_imageset", "-encoded", "images/", "list.txt", "db"], cwd=folder, check=True,
                       capture_output=True)
        rows = {}
        # Ours and the decoder in turns, so that a machine that changes its pace changes both.
        for _ in range(3):
            ours, _ = timed_caffe(tools, folder, 3 * options.images // BATCH, options.threads)
            alone = worker(python, "decode", folder=str(folder / "images"), processes=options.threads, rounds=3)
            rows.setdefault("Robusta, Data with crop and mirror", []).append(ours)
            rows.setdefault("libjpeg-turbo alone", []).append(alone["rate"])
        if options.torch:
            loader = worker(options.torch, "loader", folder=str(folder / "images"), processes=options.threads, rounds=3)
            rows["PyTorch's DataLoader, Pillow, crop and flip"] = [loader["rate"]]
    ours = max(rows["Robusta, Data with crop and mirror"])
    print(f"{options.images} JPEGs of {made['bytes'] // options.images} bytes each, {options.threads} threads")
    print("| what | images per second | ours by this |\n| --- | --- | --- |")
    for what, rates in rows.items():
        print(f"| {what} | {max(rates):.0f} | {ours / max(rates):.2f} |")
    print(f"{ours / max(rows['libjpeg-turbo alone']):.2f} of libjpeg-turbo alone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
