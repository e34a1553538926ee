"""Pictures of another size, with the numbers that Caffe's Python gets of scikit-image and scipy: by numpy alone but for
splines of higher orders, which are scipy's.

Along each axis an output element is a weighted sum of input elements: a change of size is two products with a matrix, of
which most elements are zero. Images of one or three channels go the way of skimage.transform.resize(mode="constant"),
others that of scipy.ndimage.zoom: the former puts the edges of both pictures onto each other, the latter the centres of
the outermost pixels.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Union

import numpy as np

Sizes = Union[Sequence[int], np.ndarray]  # Python 3.9 computes no X | Y of types
# A Gaussian is cut off where scipy does it, in standard deviations.
_GAUSSIAN_REACH = 4.0


def _by_edges(size: int, new: int) -> np.ndarray:
    """Where the centres of `new` pixels lie among those of `size` when both rows cover the same length."""
    return (np.arange(new) + 0.5) * size / new - 0.5


def _by_centres(size: int, new: int) -> np.ndarray:
    """Where `new` points lie among `size` when the first and the last of both coincide."""
    return np.arange(new) * ((size - 1) / (new - 1) if new > 1 else 1.0)


def _interpolation(size: int, places: np.ndarray, order: int) -> np.ndarray:
    """Weights, (places, size), that read a row of `size` elements at places between them.

    Order 0 takes the nearest element, order 1 draws lines between neighbours; beyond the ends the row is 0.
    """
    weights = np.zeros((len(places), size))
    rows = np.arange(len(places))
    if order == 0:
        first, share = np.floor(places + 0.5).astype(int), np.zeros(len(places))
    else:
        first = np.floor(places).astype(int)
        share = places - first
    for at, weight in ((first, 1 - share), (first + 1, share)):
        inside = (at >= 0) & (at < size)
        weights[rows[inside], at[inside]] += weight[inside]
    return weights


def _blurred(weights: np.ndarray, sigma: float) -> np.ndarray:
    """Weights, (places, size), that read a row which a Gaussian has blurred; beyond its ends the row is 0."""
    reach, size = int(_GAUSSIAN_REACH * sigma + 0.5), weights.shape[1]
    bell = np.exp(-0.5 * (np.arange(reach + 1) / sigma) ** 2)
    bell /= bell[0] + 2 * bell[1:].sum()
    total: np.ndarray = bell[0] * weights
    for shift in range(1, min(reach, size - 1) + 1):
        total[:, shift:] += bell[shift] * weights[:, :-shift]
        total[:, :-shift] += bell[shift] * weights[:, shift:]
    return total


def _weights_by_edges(size: int, new: int, order: int, blur: bool) -> np.ndarray:
    weights = _interpolation(size, _by_edges(size, new), order)
    sigma = (size / new - 1) / 2
    return _blurred(weights, sigma) if blur and sigma > 0 else weights


def _band(weights: np.ndarray, kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """What of weights (places, size) is not zero: indices and weights, both (taps, places)."""
    some = weights != 0
    first = some.argmax(1)
    taps = int((some.shape[1] - some[:, ::-1].argmax(1) - first).max())
    at = first[:, np.newaxis] + np.arange(taps)
    inside = np.minimum(at, some.shape[1] - 1)
    found = np.where(at == inside, np.take_along_axis(weights, inside, 1), 0)
    return inside.T, found.T.astype(kind)


def _mixed(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The rows of an image (H, ...) mixed by weights (places, H): (places, ...)."""
    indices, shares = _band(weights, image.dtype)
    shape = (-1,) + (1,) * (image.ndim - 1)
    total: np.ndarray = image[indices[0]] * shares[0].reshape(shape)
    for at, share in zip(indices[1:], shares[1:]):
        total += image[at] * share.reshape(shape)
    return total


def _applied(image: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The image (H, W, C) with its rows and columns mixed: (len(rows), len(columns), C)."""
    turned = np.ascontiguousarray(_mixed(image, rows).swapaxes(0, 1))
    return _mixed(turned, columns).swapaxes(0, 1)


def _ndimage(order: int) -> Any:
    """scipy.ndimage; raises ImportError where there is none that knows pixels as areas (grid_mode)."""
    try:
        from scipy import ndimage
        if "grid_mode" in inspect.signature(ndimage.zoom).parameters:
            return ndimage
        cause = None
    except ImportError as error:
        cause = error
    raise ImportError(f"interp_order {order} is a spline, which is drawn by scipy 1.6 or newer; install it by "
                      "`pip install scipy`, or give interp_order=1") from cause


def _spline_by_edges(image: np.ndarray, size: tuple[int, int], order: int, blur: bool) -> np.ndarray:
    """As skimage.transform.resize(mode="constant") has done since 0.19. What overshoots the image's values is cut off.

    image: (H, W, C), its least value 0, which is also what lies beyond its edges.
    """
    ndimage = _ndimage(order)
    zooms = [new / old for new, old in zip((*size, image.shape[2]), image.shape)]
    sigmas = [max(0.0, (1 / zoom - 1) / 2) for zoom in zooms]
    smooth = ndimage.gaussian_filter(image, sigmas, mode="constant", truncate=_GAUSSIAN_REACH) if blur else image
    drawn: np.ndarray = ndimage.zoom(smooth, zooms, order=order, mode="grid-constant", grid_mode=True)
    drawn = np.clip(drawn, 0, image.max())
    return drawn


def _spline_by_centres(image: np.ndarray, size: tuple[int, int], order: int) -> np.ndarray:
    zooms = [new / old for new, old in zip(size, image.shape)]
    drawn: np.ndarray = _ndimage(order).zoom(image, (*zooms, 1), order=order)
    return drawn


def _checked(image: np.ndarray, new_dims: Sizes, order: int) -> tuple[int, int]:
    if image.ndim != 3 or 0 in image.shape:
        raise ValueError(f"an image of shape {image.shape} cannot be resized: give an array (height, width, channels); "
                         "image[:, :, numpy.newaxis] makes one of a single plane")
    if len(new_dims) not in (2, 3) or any(int(size) < 1 for size in new_dims):
        raise ValueError(f"new_dims is {tuple(new_dims)}: give (height, width), each at least 1")
    if len(new_dims) == 3 and int(new_dims[2]) != image.shape[2]:
        raise ValueError(f"new_dims is {tuple(new_dims)}, and the image has {image.shape[2]} channels, which stay: "
                         "give (height, width)")
    if order not in range(6):
        raise ValueError(f"interp_order is {order}: give 0 (the nearest pixel), 1 (bilinear), or 2 to 5 for a spline "
                         "of that order")
    return int(new_dims[0]), int(new_dims[1])


def resize_image(im: np.ndarray, new_dims: Sizes, interp_order: int = 1,
                 anti_aliasing: bool = True) -> np.ndarray:
    """An image in another size.

    im: (H, W, C), any real type. new_dims: (height, width), or with the channels that `im` has. interp_order: 0 takes
    the nearest pixel, 1 is bilinear, 2 to 5 are splines, which want scipy.
    anti_aliasing: images of one or three channels are blurred before they are made smaller, as scikit-image has done
    since 0.15; False gives what older versions gave. Others are never blurred.
    Returns (height, width, C), float32, in the units of `im`. Raises ValueError for other shapes and orders,
    ImportError for splines without scipy.
    """
    im = np.asarray(im)
    height, width = _checked(im, new_dims, interp_order)
    image = im.astype(np.float32 if im.dtype == np.float32 else np.float64)
    if im.shape[-1] not in (1, 3):
        if interp_order > 1:
            return _spline_by_centres(image, (height, width), interp_order).astype(np.float32)
        rows, columns = (_interpolation(size, _by_centres(size, new), interp_order)
                         for size, new in ((im.shape[0], height), (im.shape[1], width)))
        return np.ascontiguousarray(_applied(image, rows, columns), dtype=np.float32)
    low, high = image.min(), image.max()
    if not high > low:
        return np.full((height, width, im.shape[-1]), low, dtype=np.float32)
    # What lies beyond the edges counts as the darkest value: Caffe scales the picture to 0 ... 1 first.
    if interp_order > 1:
        return (_spline_by_edges(image - low, (height, width), interp_order, anti_aliasing) + low).astype(np.float32)
    rows, columns = (_weights_by_edges(size, new, interp_order, anti_aliasing)
                     for size, new in ((im.shape[0], height), (im.shape[1], width)))
    return np.ascontiguousarray(_applied(image - low, rows, columns) + low, dtype=np.float32)
