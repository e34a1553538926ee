"""Layers of type "Python": the class that they derive from, the blobs that they see, and how a net runs them."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import traceback
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np


class LayerBlob:
    """A bottom, a top or a parameter as the code of a layer sees it: arrays of float32, in memory of its own.

    They hold what the pass brings for as long as the layer's function runs; what a layer keeps of them stays as it is.
    """

    __slots__ = ("_shape", "_data", "_diff")

    def __init__(self, shape: tuple[int, ...] | None = None) -> None:
        self._shape = shape
        self._data: np.ndarray | None = None
        self._diff: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape or ()

    @property
    def data(self) -> np.ndarray:
        """The values; zeros before a pass."""
        if self._data is None:
            self._data = np.zeros(self.shape, np.float32)
        return self._data

    @data.setter
    def data(self, values: Any) -> None:
        self.data[...] = values

    @property
    def diff(self) -> np.ndarray:
        """The gradient."""
        if self._diff is None:
            self._diff = np.zeros(self.shape, np.float32)
        return self._diff

    @diff.setter
    def diff(self, values: Any) -> None:
        self.diff[...] = values

    def reshape(self, *extents: Any) -> None:
        """reshape(2, 3, 4), or reshape((2, 3, 4)). As many numbers as before stay what they are; others become zeros.

        Raises ValueError for a negative extent.
        """
        if len(extents) == 1 and not np.isscalar(extents[0]):
            extents = tuple(extents[0])
        shape = tuple(int(extent) for extent in extents)
        if any(extent < 0 for extent in shape):
            raise ValueError(f"a shape with a negative extent: {shape}")
        if shape == self._shape:
            return
        same = self._shape is not None and int(np.prod(shape)) == int(np.prod(self._shape))
        self._data = self._data.reshape(shape) if same and self._data is not None else None
        self._diff = self._diff.reshape(shape) if same and self._diff is not None else None
        self._shape = shape

    @property
    def count(self) -> int:
        return int(np.prod(self.shape))

    def _extent(self, axis: int) -> int:
        if len(self.shape) > 4:
            raise ValueError("a blob of more than four axes has no num, channels, height and width; use shape")
        return self.shape[axis] if axis < len(self.shape) else 1

    num = property(lambda self: self._extent(0))
    channels = property(lambda self: self._extent(1))
    height = property(lambda self: self._extent(2))
    width = property(lambda self: self._extent(3))

    def __repr__(self) -> str:
        return f"<blob of a Python layer {self.shape}>"


class LayerParameter(LayerBlob):
    """A parameter: while a function of the layer runs, what the pass brings; between passes, the net's own blob.

    Before there is a net it holds what setup has written.
    """

    __slots__ = ("_called", "_of_net")

    def __init__(self, *extents: Any) -> None:
        super().__init__()
        self._called = False
        self._of_net: Callable[[], Any] = lambda: None
        self.reshape(*extents)

    def _outside(self) -> Any:
        """The net's blob; None while the layer is called, and where there is no net, or none any more."""
        return None if self._called else self._of_net()

    @property
    def data(self) -> np.ndarray:
        blob = self._outside()
        return LayerBlob.data.fget(self) if blob is None else blob.data  # type: ignore[attr-defined]

    @data.setter
    def data(self, values: Any) -> None:
        self.data[...] = values

    @property
    def diff(self) -> np.ndarray:
        blob = self._outside()
        return LayerBlob.diff.fget(self) if blob is None else blob.diff  # type: ignore[attr-defined]

    @diff.setter
    def diff(self, values: Any) -> None:
        self.diff[...] = values


class LayerBlobs:
    """A layer's parameters. setup adds them; afterwards they are fixed."""

    def __init__(self) -> None:
        self._blobs: list[LayerParameter] = []
        self._fixed = False

    def add_blob(self, *extents: Any) -> LayerParameter:
        """Adds a parameter of this shape, which holds zeros until its data is written. Raises RuntimeError after setup."""
        if self._fixed:
            raise RuntimeError("parameters are added in setup()")
        blob = LayerParameter(*extents)
        self._blobs.append(blob)
        return blob

    def _bind(self, net: Any, layer: str) -> None:
        """From now on the parameters are, between passes, those of this layer of the net, which is not kept alive."""
        known = weakref.ref(net)

        def blob_of(index: int) -> Callable[[], Any]:
            def find() -> Any:
                alive = known()
                return None if alive is None or alive.closed else alive.params[layer][index]
            return find

        for index, blob in enumerate(self._blobs):
            blob._of_net = blob_of(index)

    def __len__(self) -> int:
        return len(self._blobs)

    def __getitem__(self, index: int) -> LayerParameter:
        return self._blobs[index]

    def __iter__(self) -> Iterator[LayerParameter]:
        return iter(self._blobs)


class Layer:
    """What layers of type "Python" derive from.

    A layer has setup(bottom, top), called once; reshape(bottom, top), called before each forward, too, which gives the
    tops their shapes; forward(bottom, top), which writes top[i].data and may change a top's shape; and
    backward(top, propagate_down, bottom), which writes bottom[i].diff where propagate_down[i] is true, and adds to
    self.blobs[i].diff. It finds self.param_str, self.phase and self.blobs.
    """

    type = "Python"
    name = ""
    param_str = param_str_ = ""
    phase = 0
    blobs: LayerBlobs

    def __init__(self, *_: Any) -> None:
        pass

    def setup(self, bottom: list[LayerBlob], top: list[LayerBlob]) -> None:
        """Once, when the net is built."""

    def reshape(self, bottom: list[LayerBlob], top: list[LayerBlob]) -> None:
        """Before each forward, and when bottoms change their shapes."""


def find_module(name: str) -> None:
    """Raises ModuleNotFoundError where there is no module of this name; its packages alone are imported."""
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):  # one of its packages
            raise
        return
    except Exception:  # noqa: BLE001 (__main__ has no spec, and what packages raise is told when the layer is made)
        return
    if found is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class Running:
    """A layer of a net. The library calls these functions, with and for arrays of float32."""

    def __init__(self, settings: dict[str, Any]) -> None:
        module = importlib.import_module(settings["module"])
        made = getattr(module, settings["layer"])
        if not (isinstance(made, type) and issubclass(made, Layer)):
            raise TypeError(f"{settings['module']}.{settings['layer']} is no class that derives from caffe.Layer")
        self.layer = made(SimpleNamespace(**settings))
        self.layer.name, self.layer.phase = settings["name"], settings["phase"]
        self.layer.param_str = self.layer.param_str_ = settings["param_str"]
        self.layer.blobs = LayerBlobs()
        self.bottom = [LayerBlob() for _ in range(settings["bottoms"])]
        # A layer in place has one blob, a bottom and a top at once.
        self.top = [LayerBlob() if bottom < 0 else self.bottom[bottom] for bottom in settings["in_place_of"]]
        self.is_set_up = False

    def reshape(self, bottoms: list[tuple[int, ...]]) -> None:
        for blob, shape in zip(self.bottom, bottoms):
            blob.reshape(shape)
        with self._called():
            if not self.is_set_up:
                self.layer.setup(self.bottom, self.top)
                self.layer.blobs._fixed = True
                self.is_set_up = True
            self.layer.reshape(self.bottom, self.top)

    def tops(self) -> list[tuple[int, ...]]:
        for number, blob in enumerate(self.top):
            if blob._shape is None:
                raise RuntimeError(f"top[{number}] has no shape after setup() and reshape(): call top[{number}].reshape("
                                   "...) there")
        return [blob.shape for blob in self.top]

    def parameters(self) -> list[np.ndarray]:
        """What setup has left."""
        with self._called():
            return [blob.data for blob in self.layer.blobs]

    def forward(self, bottoms: list[np.ndarray],
                parameters: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Returns the tops and the parameters, which the layer may have changed."""
        for blob, values in zip(self.bottom, bottoms):
            blob._data = values
        with self._called(parameters):
            self.layer.forward(self.bottom, self.top)
            return [blob.data for blob in self.top], [blob.data for blob in self.layer.blobs]

    def backward(self, slopes: list[np.ndarray], propagate_down: list[bool], parameters: list[np.ndarray],
                 gradients: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
        """Returns the gradients of bottoms and parameters, and the parameters.

        A bottom's gradient is what the layer wrote last, which may have been in forward, as losses do.
        """
        for blob, values in zip(self.top, slopes):
            blob._diff = values
        with self._called(parameters):
            for blob, values in zip(self.layer.blobs, gradients):
                blob._diff = values
            self.layer.backward(self.top, propagate_down, self.bottom)
            return ([blob.diff for blob in self.bottom], [blob.diff for blob in self.layer.blobs],
                    [blob.data for blob in self.layer.blobs])

    @contextlib.contextmanager
    def _called(self, parameters: list[np.ndarray] | None = None) -> Iterator[None]:
        """A call of the layer's functions: its parameters are what the call brings."""
        for blob in self.layer.blobs:
            blob._called = True
        for blob, values in zip(self.layer.blobs, parameters or []):
            blob._data = values
        try:
            yield
        finally:
            for blob in self.layer.blobs:
                blob._called = False


def explain(error: BaseException) -> str:
    """What a message says of an exception in a layer's code: its kind and words, and where it came from."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    words = "".join(traceback.format_exception_only(type(error), error)).strip()
    where = "".join(traceback.format_list(own)).rstrip()
    return f"{words}\n{where}" if where else words
