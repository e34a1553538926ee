"""Pictures from files, and the ten crops that classifiers average over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._resize import Sizes

# Of red, green and blue, for what an eye takes for equally bright (ITU-R BT.709).
_LUMINANCE = (0.2125, 0.7154, 0.0721)
_ADDRESS = re.compile(r"(https?|ftps?)://", re.IGNORECASE)


def _pixels(filename: Any) -> np.ndarray:
    """A picture as stored: (H, W) or (H, W, 3 or 4) of an integer type or bool."""
    if isinstance(filename, str) and _ADDRESS.match(filename):
        raise ValueError(f"{filename} is the address of a picture; fetch it first: "
                         "load_image(io.BytesIO(urllib.request.urlopen(address).read()))")
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise ImportError("caffe.io.load_image reads pictures with Pillow, which is not installed; install it by "
                          "`pip install pillow`") from error
    try:
        with Image.open(filename) as image:
            if image.mode in ("1", "L", "RGB", "RGBA", "F") or image.mode.startswith("I"):
                return np.asarray(image)
            seen_through = image.mode in ("LA", "PA") or "transparency" in image.info
            return np.asarray(image.convert("RGBA" if seen_through else "RGB"))
    except UnidentifiedImageError as error:
        raise ValueError(f"{filename} is no picture that Pillow knows; give a JPEG or PNG") from error


def _as_fractions(pixels: np.ndarray) -> np.ndarray:
    """Integers over their type's whole range become 0 ... 1; floating-point numbers stay as they are."""
    if pixels.dtype == np.int32:  # Pillow's mode I, which holds 16 bits without a sign
        return pixels / 65535
    if pixels.dtype.kind in "iu":
        return pixels / np.iinfo(pixels.dtype).max
    return pixels.astype(np.float64)


def load_image(filename: Any, color: bool = True) -> np.ndarray:
    """A picture as an array (H, W, 3) of RGB, or with color=False (H, W, 1) of brightness: float32 in 0 ... 1.

    filename: a path or an open binary file. Of RGBA the colours are taken; its brightness is that before white.
    Raises OSError where there is no file, ValueError for what is no picture or lies elsewhere (http://), ImportError
    without Pillow.
    """
    pixels = _as_fractions(_pixels(filename))
    if pixels.ndim == 2:
        return np.repeat(pixels[:, :, np.newaxis], 3 if color else 1, axis=2).astype(np.float32)
    if color:
        return pixels[:, :, :3].astype(np.float32)
    colours = pixels[:, :, :3]
    if pixels.shape[2] == 4:
        opacity = pixels[:, :, 3:]
        colours = np.clip(colours * opacity + (1 - opacity), 0, 1)
    brightness: np.ndarray = colours @ np.array(_LUMINANCE)
    return brightness[:, :, np.newaxis].astype(np.float32)


def _crop_corners(height: int, width: int, crop: Sequence[int]) -> list[tuple[int, int]]:
    """Upper left corners of the crops: those of the four corners, then the centre."""
    down, right = height - crop[0], width - crop[1]
    return [(0, 0), (0, right), (down, 0), (down, right), (int(height / 2 - crop[0] / 2), int(width / 2 - crop[1] / 2))]


def oversample(images: Sequence[np.ndarray] | np.ndarray, crop_dims: Sizes) -> np.ndarray:
    """Ten crops of every image: the four corners and the centre, then the same five mirrored left to right.

    images: N arrays (H, W, C) of one shape. crop_dims: (height, width), at most (H, W).
    Returns (10 N, height, width, C), float32, image by image. Raises ValueError where a crop does not fit.
    """
    pictures = [np.asarray(image) for image in images]
    crop = [int(size) for size in crop_dims]
    if not pictures:
        raise ValueError("there are no images to take crops of; give at least one")
    shape = pictures[0].shape
    if any(image.shape != shape or image.ndim != 3 for image in pictures):
        raise ValueError(f"images have shapes {sorted({image.shape for image in pictures})}; give arrays (height, "
                         "width, channels) of one shape, as caffe.io.resize_image makes them")
    if len(crop) != 2 or not (1 <= crop[0] <= shape[0] and 1 <= crop[1] <= shape[1]):
        raise ValueError(f"a crop of {tuple(crop)} does not lie in an image of {shape[:2]}; give (height, width) of at "
                         "most that")
    corners = _crop_corners(shape[0], shape[1], crop)
    crops = np.empty((len(pictures), 10, crop[0], crop[1], shape[2]), dtype=np.float32)
    for number, image in enumerate(pictures):
        for index, (top, left) in enumerate(corners):
            crops[number, index] = image[top:top + crop[0], left:left + crop[1]]
    crops[:, 5:] = crops[:, :5, :, ::-1]
    return crops.reshape(-1, *crops.shape[2:])
