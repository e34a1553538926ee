#!/usr/bin/env python3
"""Records what the real pycaffe gives, for the tests of this folder to compare with: run by hand, rarely.

The real one is in the environment `pycaffe` of scripts/robusta_readers/environments.py; this script starts itself anew
in there. It writes recorded/*.png, recorded/io.npz and recorded/*.json. Resizing is recorded
twice: `new` with scikit-image as it is, `old` without the blurring that scikit-image has had since 0.15.

  tests/python/record_pycaffe.py
"""

import functools
import json
import os
import pathlib
import runpy
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "recorded"
# (height, width, channels) -> (height, width)
SIZES = [((13, 17, 3), (6, 5)), ((6, 5, 3), (13, 17)), ((20, 15, 1), (8, 15)), ((9, 9, 3), (9, 9)),
         ((12, 10, 4), (5, 7)), ((5, 7, 2), (12, 10)), ((15, 10, 3), (4, 17)), ((8, 8, 5), (1, 3)), ((3, 3, 3), (1, 1))]
PICTURES = ("rgb", "rgba", "gray", "gray16", "palette", "bits", "jpeg")


def write_pictures(numbers):
    from PIL import Image
    import numpy as np

    rgba = numbers.randint(0, 256, (6, 5, 4)).astype(np.uint8)
    Image.fromarray(rgba).save(RECORDED / "rgba.png")
    Image.fromarray(rgba[:, :, :3]).save(RECORDED / "rgb.png")
    Image.fromarray(rgba[:, :, 0]).save(RECORDED / "gray.png")
    Image.fromarray(rgba[:, :, 0] > 128).save(RECORDED / "bits.png")
    Image.fromarray(rgba[:, :, :3]).quantize(8).save(RECORDED / "palette.png")
    Image.fromarray(rgba).convert("LA").save(RECORDED / "gray_alpha.png")
    Image.fromarray(rgba[:, :, 0].astype(np.uint16) * 257 + 5).save(RECORDED / "gray16.png")
    Image.fromarray(rgba[:, :, :3]).save(RECORDED / "jpeg.jpg", quality=95)


def record_pictures(out):
    import caffe.io as real

    for name in PICTURES:
        path = RECORDED / (name + (".jpg" if name == "jpeg" else ".png"))
        for color in (True, False):
            out[f"picture_{name}_{'color' if color else 'gray'}"] = real.load_image(str(path), color)


def record_sizes(out, numbers):
    import caffe.io as real
    import numpy as np
    from skimage.transform import resize

    for index, (shape, new) in enumerate(SIZES):
        image = out[f"image_{index}"] = (numbers.rand(*shape) * 255 - 20).astype(np.float32)
        for order in range(6):
            real.resize = resize
            out[f"new_{index}_{order}"] = real.resize_image(image, new, order)
            real.resize = functools.partial(resize, anti_aliasing=False)
            out[f"old_{index}_{order}"] = real.resize_image(image, new, order)
    real.resize = resize


def record_transformer(out, numbers):
    import caffe.io as real
    import numpy as np

    image = out["transformer_image"] = numbers.rand(9, 11, 3).astype(np.float32)
    out["transformer_mean"] = numbers.rand(3, 4, 5) * 200
    for name, mean in (("values", np.array([104.0, 117.0, 123.0])), ("pixels", out["transformer_mean"]),
                       ("none", None)):
        transformer = real.Transformer({"data": (1, 3, 6, 7)})
        transformer.set_transpose("data", (2, 0, 1))
        transformer.set_channel_swap("data", (2, 0, 1))
        transformer.set_raw_scale("data", 255)
        if mean is not None:
            transformer.set_mean("data", mean)
        transformer.set_input_scale("data", 0.017)
        out[f"preprocess_{name}"] = transformer.preprocess("data", image.copy())
        out[f"deprocess_{name}"] = transformer.deprocess("data", out[f"preprocess_{name}"][np.newaxis])


def record_rest(out, numbers):
    import caffe.io as real
    import numpy as np

    images = out["oversample_images"] = numbers.rand(2, 7, 8, 3).astype(np.float32)
    out["oversample_even"], out["oversample_odd"] = (real.oversample(images, crop) for crop in ((4, 4), (5, 3)))
    array = out["array"] = numbers.randn(2, 3, 4)
    octets = out["octets"] = numbers.randint(0, 256, (2, 3, 4)).astype(np.uint8)
    out["blobproto"] = np.frombuffer(real.array_to_blobproto(array, array * 2).SerializeToString(), np.uint8)
    out["vector"] = np.frombuffer(real.arraylist_to_blobprotovector_str([array, array[0]]), np.uint8)
    out["datum_floats"] = np.frombuffer(real.array_to_datum(array, 7).SerializeToString(), np.uint8)
    out["datum_octets"] = np.frombuffer(real.array_to_datum(octets).SerializeToString(), np.uint8)
    out["floats_back"] = real.datum_to_array(real.array_to_datum(array, 7))
    out["octets_back"] = real.datum_to_array(real.array_to_datum(octets))


def record_specs():
    """The text of every net of specs.py."""
    specs = runpy.run_path(str(HERE / "specs.py"))["SPECS"]
    return {name: str(make()) for name, make in specs.items()}


def record_maps():
    from caffe.coord_map import coord_map_from_to

    specs = runpy.run_path(str(HERE / "specs.py"))
    return {name: specs["numbers_of"](coord_map_from_to(*tops)) for name, tops in specs["maps"]().items()}


def record_windows(out, numbers):
    """Windows of a detector without its net. Its own code takes floating-point numbers as indices, which numpy has
    forgotten: its image is one that rounds them."""
    import caffe
    import numpy as np

    class Rounding(np.ndarray):
        def __getitem__(self, key):
            return np.asarray(super().__getitem__(tuple(slice(int(part.start), int(part.stop)) for part in key)))

    class Bare:
        blobs = {"data": types.SimpleNamespace(data=np.zeros((1, 3, 20, 20)), width=20)}
        inputs = ["data"]

    image = out["window_image"] = numbers.rand(30, 40, 3).astype(np.float32)
    out["windows"] = np.array([[5, 5, 20, 25], [0, 0, 10, 10], [20, 30, 30, 40], [0, 3, 29, 38], [12, 13, 14, 15]])
    for name, mean in (("mean", np.array([100.0, 110, 120])), ("none", None)):
        bare = Bare()
        bare.transformer = caffe.io.Transformer({"data": (1, 3, 20, 20)})
        bare.transformer.set_transpose("data", (2, 0, 1))
        bare.transformer.set_channel_swap("data", (2, 0, 1))
        bare.transformer.set_raw_scale("data", 255)
        if mean is not None:
            bare.transformer.set_mean("data", mean)
        caffe.Detector.configure_crop(bare, 4)
        for index, window in enumerate(out["windows"]):
            out[f"window_{name}_{index}"] = caffe.Detector.crop(bare, image.view(Rounding), window)


def record():
    import numpy as np

    RECORDED.mkdir(exist_ok=True)
    numbers, out = np.random.RandomState(13), {}
    write_pictures(numbers)
    record_pictures(out)
    record_sizes(out, numbers)
    record_transformer(out, numbers)
    record_rest(out, numbers)
    record_windows(out, numbers)
    np.savez_compressed(RECORDED / "io.npz", **out)
    (RECORDED / "maps.json").write_text(json.dumps(record_maps(), indent=1) + "\n")
    (RECORDED / "specs.json").write_text(json.dumps(record_specs(), indent=1) + "\n")


def main():
    sys.path.insert(0, str(HERE.parents[1] / "scripts"))
    from robusta_readers import environments

    try:
        python, variables = environments.environment("pycaffe")
    except environments.Unavailable as why:
        sys.exit(f"there is no pycaffe to ask: {why}")
    sys.exit(subprocess.run([python, __file__, "--inside"], env={**os.environ, **variables}, check=False).returncode)


if __name__ == "__main__":
    if sys.argv[1:] == ["--inside"]:
        record()
    else:
        main()
