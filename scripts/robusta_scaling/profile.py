"""What one rank does in an iteration: the time of each layer and the bytes of its parameters.

Made from the output of `caffe time` and the prototxt that it timed, or read from JSON. Times are in seconds, sizes in
bytes of f32.
"""

import dataclasses
import json
import math
import pathlib
import re

from robusta_launch.errors import Code, LaunchError

from .messages import parse_message

F32 = 4


@dataclasses.dataclass(frozen=True)
class Layer:
    """`params`: bytes of each parameter that is learned. `inputs`, `outputs`: of its first bottom and top, where they are known."""

    name: str
    forward: float
    backward: float
    params: tuple[int, ...] = ()
    inputs: float = 0
    outputs: float = 0


@dataclasses.dataclass(frozen=True)
class Profile:
    """The layers in forward order, the batch they were timed with, and the time of one update of all parameters."""

    name: str
    batch: int
    layers: tuple[Layer, ...]
    update: float = 0

    @property
    def compute(self):
        return sum(layer.forward + layer.backward for layer in self.layers) + self.update

    @property
    def bytes(self):
        return sum(sum(layer.params) for layer in self.layers)

    def at_speed(self, images_per_second, batch=None):
        """The same net on a machine that computes so many images a second, all layers faster by one factor."""
        batch = batch or self.batch
        factor = batch / images_per_second / self.compute
        more = batch / self.batch
        layers = tuple(dataclasses.replace(layer, forward=layer.forward * factor, backward=layer.backward * factor,
                                           inputs=layer.inputs * more, outputs=layer.outputs * more)
                       for layer in self.layers)
        return Profile(self.name, batch, layers, self.update * factor)

    def to_json(self):
        layers = [[layer.name, round(layer.forward * 1e3, 4), round(layer.backward * 1e3, 4), *layer.params]
                  for layer in self.layers]
        lines = ",\n  ".join(json.dumps(layer) for layer in layers)
        activations = {layer.name: [layer.inputs, layer.outputs] for layer in self.layers if layer.inputs + layer.outputs}
        return (f'{{"name": {json.dumps(self.name)}, "batch": {self.batch}, "update_ms": {self.update * 1e3:.4f},\n'
                f' "activations": {json.dumps(activations)},\n "layers": [\n  {lines}\n ]}}\n')


def from_json(path):
    """Reads what to_json wrote: a layer is [name, forward ms, backward ms, bytes of each parameter...], and activations may
    have [bytes of its bottom, of its top]."""
    try:
        data = json.loads(pathlib.Path(path).read_text())
        moved = data.get("activations", {})
        layers = tuple(Layer(name, forward / 1e3, backward / 1e3, tuple(params), *moved.get(name, ()))
                       for name, forward, backward, *params in data["layers"])
        return Profile(data["name"], data["batch"], layers, data.get("update_ms", 0) / 1e3)
    except OSError as error:
        raise LaunchError(f"{path}: {error.strerror}", "check the path", Code.CONFIG) from None
    except (ValueError, KeyError, TypeError) as error:
        raise LaunchError(f"{path}: this is no profile ({error})", "make one with --save", Code.CONFIG) from None


LOGGED = re.compile(r"^(?:[IWEF]\d{4,8} [\d:.]+ +\d+ \S+:\d+\] )?(.*?)\s*$")


def _texts(log):
    return [LOGGED.match(line)[1] for line in log.splitlines()]


def read_shapes(log):
    """Blob -> shape, as the log tells when the net is built."""
    shapes, tops = {}, []
    for text in _texts(log):
        if text.startswith("Creating Layer "):
            tops = []
        elif made := re.fullmatch(r"(\S+) -> (\S+)(?: \(in-place\))?", text):
            tops.append(made[2])
        elif (shape := re.fullmatch(r"Top shape: ((?:\d+ )*)\(\d+\)", text)) and tops:
            shapes[tops.pop(0)] = tuple(map(int, shape[1].split()))
    return shapes


def read_times(log):
    """(layer -> [forward, backward] in seconds, in order; seconds of an update)."""
    times, update = {}, 0.0
    for text in _texts(log):
        if layer := re.fullmatch(r"\s*(\S+)\t(forward|backward): (\S+) ms\.", text):
            times.setdefault(layer[1], [0.0, 0.0])[layer[2] == "backward"] = float(layer[3]) / 1e3
        elif update_text := re.fullmatch(r"Average Update: (\S+) ms\.", text):
            update = float(update_text[1]) / 1e3
    return times, update


def _one(message, field, default=None):
    return message.get(field, [default])[0]


def param_counts(layer, shape):
    """Elements of each parameter of a layer (a parsed prototxt message), whose first bottom has `shape`."""
    kind, counts = _one(layer, "type"), []
    if kind in ("Convolution", "Deconvolution"):
        p = _one(layer, "convolution_param", {})
        sizes = [_one(p, "kernel_h"), _one(p, "kernel_w")] if "kernel_h" in p else p["kernel_size"]
        kernel = math.prod(sizes) if len(sizes) > 1 else sizes[0] ** (len(shape) - 2)
        counts = [p["num_output"][0] * shape[1] // _one(p, "group", 1) * kernel]
        counts += [p["num_output"][0]] if _one(p, "bias_term", True) else []
    elif kind == "InnerProduct":
        p = _one(layer, "inner_product_param", {})
        counts = [p["num_output"][0] * math.prod(shape[_one(p, "axis", 1):])]
        counts += [p["num_output"][0]] if _one(p, "bias_term", True) else []
    elif kind == "Scale" and len(layer.get("bottom", [])) == 1:
        counts = [shape[1]] * (2 if _one(_one(layer, "scale_param", {}), "bias_term", False) else 1)
    elif kind == "Bias" and len(layer.get("bottom", [])) == 1:
        counts = [shape[1]]
    elif kind == "PReLU":
        counts = [1 if _one(_one(layer, "prelu_param", {}), "channel_shared", False) else shape[1]]
    specs = layer.get("param", [])
    return [n for i, n in enumerate(counts) if i >= len(specs) or _one(specs[i], "lr_mult", 1) != 0]


def from_caffe_time(log_path, model_path):
    """The profile of a net from the output of `caffe time` (stderr) and the prototxt it was given."""
    try:
        log = pathlib.Path(log_path).read_text(errors="replace")
        net = parse_message(pathlib.Path(model_path).read_text(), str(model_path))
    except OSError as error:
        raise LaunchError(f"{error.filename}: {error.strerror}", "check the path", Code.CONFIG) from None
    shapes, (times, update) = read_shapes(log), read_times(log)
    if not times:
        raise LaunchError(f"{log_path}: there are no times of layers in it",
                          "give the output of `caffe time -model MODEL 2> FILE`", Code.CONFIG)
    definitions = {}
    for layer in net.get("layer", []):
        definitions.setdefault(_one(layer, "name"), layer)
    layers = []
    for name, (forward, backward) in times.items():
        layer = definitions.get(name, {})
        bottom, top = (shapes.get(layer[way][0]) if layer.get(way) else None for way in ("bottom", "top"))
        params = param_counts(layer, bottom) if bottom else []
        layers.append(Layer(name, forward, backward, tuple(F32 * count for count in params),
                            *(F32 * math.prod(shape) if shape else 0 for shape in (bottom, top))))
    if not any(layer.params for layer in layers):
        raise LaunchError(f"{log_path} and {model_path} have no learned layer in common",
                          "give the prototxt that was timed", Code.CONFIG)
    first = next((shapes[top] for top in _one(net, "layer")["top"] if top in shapes), None)
    first = first or next(iter(shapes.values()))
    return Profile(str(_one(net, "name", "net")), first[0], tuple(layers), update)
