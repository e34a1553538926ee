"""Nets written in Python: every call of a layer's name gives its tops, and `to_proto` makes a NetParameter of them.

    from caffe import layers as L, params as P
    n = caffe.NetSpec()
    n.data, n.label = L.Data(source="train_lmdb", batch_size=64, backend=P.Data.LMDB, ntop=2)
    n.ip = L.InnerProduct(n.data, num_output=10, weight_filler=dict(type="xavier"))
    n.loss = L.SoftmaxWithLoss(n.ip, n.label)
    print(n.to_proto())

Any name that begins with a letter is a layer type, whether this Caffe has it or not, and needs nothing of a net that
runs. A keyword is a field of the type's own message (InnerProductParameter for InnerProduct) or, where that has none of
this name, of LayerParameter; dictionaries are messages, lists are repeated fields. Layers come in the order in which
they were named, each behind those it reads.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

from ._assign import assign_proto, field_of_layer, param_name_dict
from .proto import caffe_pb2

__all__ = ["Function", "Layers", "NetSpec", "Parameters", "Top", "assign_proto", "layers", "param_name_dict", "params",
           "to_proto"]


class Top:
    """One output of a layer: `fn` is the layer, `n` the output's place among `fn.tops`."""

    def __init__(self, fn: Function, n: int) -> None:
        self.fn = fn
        self.n = n

    def to_proto(self) -> Any:
        """A NetParameter of the layers that this output needs."""
        return to_proto(self)

    def _update(self, params: Mapping[str, Any]) -> None:
        self.fn._update(params)

    def __repr__(self) -> str:
        return f"<top {self.n} of {self.fn.type_name}>"


class Function:
    """A layer: its type, the tops it reads and its settings. `tops` are its outputs."""

    def __init__(self, type_name: str, inputs: Sequence[Top], params: Mapping[str, Any]) -> None:
        """Keywords of which none is a field: ntop, the number of outputs (1), and in_place (False).

        Raises TypeError for an input that is no Top.
        """
        for index, bottom in enumerate(inputs):
            if not isinstance(bottom, Top):
                raise _no_top(type_name, index, bottom)
        self.type_name = type_name
        self.inputs = tuple(inputs)
        self.params = dict(params)
        self.ntop: int = self.params.pop("ntop", 1)
        self.in_place: bool = self.params.pop("in_place", False)
        self.tops = tuple(Top(self, n) for n in range(self.ntop))

    def to_proto(self) -> Any:
        """A NetParameter of this layer and those it needs."""
        return to_proto(self)

    def _update(self, params: Mapping[str, Any]) -> None:
        self.params.update(params)

    def __repr__(self) -> str:
        return f"<layer {self.type_name} of {len(self.inputs)} bottoms and {self.ntop} tops>"


Output = Union[Top, Function]  # Python 3.9 computes no Top | Function


def _instead(given: Any) -> str:
    """What to give in place of what is no Top."""
    if isinstance(given, (tuple, list)):
        return "; a layer with several outputs gives a tuple: unpack it, or give one of its elements"
    if isinstance(given, Function):
        return "; a layer made with ntop=0 has no output to read"
    if isinstance(given, str):
        return f"; bottom={given!r} names a blob that is made elsewhere"
    return "; give what a layer function returned"


def _no_top(type_name: str, index: int, given: Any) -> TypeError:
    """The error has BVLC's words alone, which its own tests compare; what to do is a note below (Python 3.11)."""
    error = TypeError(f"{type_name} input {index} is not a Top (type is {type(given)})")
    if hasattr(error, "add_note"):
        error.add_note(_instead(given)[len("; "):])
    return error


def _function_of(output: Output) -> Function:
    return output.fn if isinstance(output, Top) else output


def _in_order(outputs: Sequence[Output]) -> Iterator[Function]:
    """The layers that outputs need, each once and behind those it reads. Takes nets of any depth."""
    done = set()
    for output in outputs:
        waiting = [(_function_of(output), iter(_function_of(output).inputs))]
        while waiting:
            function, bottoms = waiting[-1]
            bottom = None if function in done else next(bottoms, None)
            if bottom is not None:
                waiting.append((bottom.fn, iter(bottom.fn.inputs)))
                continue
            waiting.pop()
            if function not in done:
                done.add(function)
                yield function


class _Names:
    """Names of tops and layers: those that were given, and for others the type with a number."""

    def __init__(self, given: Mapping[Output, str]) -> None:
        self._names = dict(given)
        self._taken = set(given.values())
        self._numbers: Counter[str] = Counter()

    def of(self, output: Output) -> str:
        """The name of a top, or of a layer without tops."""
        if output not in self._names:
            self._names[output] = self._new(_function_of(output).type_name)
        return self._names[output]

    def of_layer(self, function: Function) -> str:
        """A layer has the name of its first top."""
        return self.of(function.tops[0] if function.tops else function)

    def _new(self, type_name: str) -> str:
        while True:
            self._numbers[type_name] += 1
            name = f"{type_name}{self._numbers[type_name]}"
            if name not in self._taken:
                return name


def _layer_of(function: Function, blobs: dict[Top, str], names: _Names) -> Any:
    """The LayerParameter of a layer; what its tops are called goes into `blobs`."""
    layer = caffe_pb2.LayerParameter(type=function.type_name)
    layer.bottom.extend(blobs[bottom] for bottom in function.inputs)
    layer.top.extend(layer.bottom if function.in_place else [names.of(top) for top in function.tops])
    if len(layer.top) < len(function.tops):
        raise ValueError(f"{function.type_name} works in place on {len(layer.bottom)} bottoms and has "
                         f"{len(function.tops)} tops; give it as many bottoms, or leave in_place out")
    blobs.update(zip(function.tops, layer.top))
    layer.name = names.of_layer(function)
    for name, value in function.params.items():
        try:
            message, field = field_of_layer(layer, function.type_name, name)
            assign_proto(message, field, value)
        except (AttributeError, TypeError, ValueError) as error:
            raise type(error)(f"layer {names.of_layer(function)}: {error}") from error
    return layer


def _net_of(outputs: Sequence[Output], given: Mapping[Output, str]) -> Any:
    net, names = caffe_pb2.NetParameter(), _Names(given)
    blobs: dict[Top, str] = {}
    net.layer.extend([_layer_of(function, blobs, names) for function in _in_order(outputs)])
    return net


def to_proto(*tops: Output) -> Any:
    """A NetParameter of the layers that these outputs need, with names made of types and numbers.

    Raises AttributeError for a keyword that is no field, TypeError or ValueError for a value that its field does not
    take; each names the layer.
    """
    return _net_of(tops, {})


_METHODS_OF_SSD = ("keys", "vals", "update")


class _MissingTop(AttributeError, KeyError):
    """A net has no top of a name; `hasattr` and `except KeyError` both understand it."""

    __str__ = AttributeError.__str__


class NetSpec:
    """A net under construction: its attributes, or items, are tops by name.

    A net can be copied and pickled, whatever its depth.
    """

    tops: OrderedDict[str, Output]

    def __init__(self) -> None:
        super().__setattr__("tops", OrderedDict())

    def __setattr__(self, name: str, value: Output) -> None:
        if not isinstance(value, (Top, Function)):
            raise TypeError(f"{name} is set to a {type(value).__name__}, which is no layer's output{_instead(value)}")
        self.tops[name] = value

    def __getattr__(self, name: str) -> Top:
        if name == "tops" or name.startswith("__"):
            raise AttributeError(name)
        if name not in self.tops:
            raise _MissingTop(f"the net has no top {name}; it has {', '.join(self.tops) or 'none'}")
        return self.tops[name]  # type: ignore[return-value]

    def __delattr__(self, name: str) -> None:
        self.__getattr__(name)
        del self.tops[name]

    def __getattribute__(self, name: str) -> Any:
        """A top hides the method of its name: BVLC's nets may have a top `update`; its NetSpec has no method of it."""
        if name in _METHODS_OF_SSD:
            tops = super().__getattribute__("__dict__").get("tops", {})
            if name in tops:
                return tops[name]
        return super().__getattribute__(name)

    __setitem__ = __setattr__
    __getitem__ = __getattr__
    __delitem__ = __delattr__

    def __contains__(self, name: str) -> bool:
        return name in self.tops

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tops]

    def keys(self) -> list[str]:
        """The names of the tops, in order (SSD)."""
        return list(self.tops)

    def vals(self) -> list[Output]:
        """The tops, in order (SSD)."""
        return list(self.tops.values())

    def update(self, name: str, params: Mapping[str, Any]) -> None:
        """Adds settings to the layer of a top, or gives those that it has other values (SSD)."""
        self[name]._update(params)

    def to_proto(self) -> Any:
        """The NetParameter; raises as the function of this name."""
        return _net_of(list(self.tops.values()), {top: name for name, top in self.tops.items()})

    def __getstate__(self) -> tuple[list[Any], list[Any]]:
        """Layers in order, each by its number, for a chain of references would be as deep as the net."""
        functions = list(_in_order(list(self.tops.values())))
        numbers = {function: number for number, function in enumerate(functions)}
        return ([(function.type_name, [(numbers[bottom.fn], bottom.n) for bottom in function.inputs], function.params,
                  function.ntop, function.in_place) for function in functions],
                [(name, numbers[_function_of(top)], top.n if isinstance(top, Top) else None)
                 for name, top in self.tops.items()])

    def __setstate__(self, state: tuple[list[Any], list[Any]]) -> None:
        functions: list[Function] = []
        for type_name, bottoms, settings, ntop, in_place in state[0]:
            inputs = [functions[number].tops[n] for number, n in bottoms]
            functions.append(Function(type_name, inputs, {**settings, "ntop": ntop, "in_place": in_place}))
        super().__setattr__("tops", OrderedDict())
        for name, number, n in state[1]:
            self.tops[name] = functions[number] if n is None else functions[number].tops[n]


class Layers:
    """`L.Type(*bottoms, **settings)` makes a layer: its Top, a tuple of Tops for ntop > 1, a Function for ntop=0."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def layer_fn(*args: Top, **kwargs: Any) -> Top | tuple[Top, ...] | Function:
            function = Function(name, args, kwargs)
            if function.ntop == 0:
                return function
            return function.tops[0] if function.ntop == 1 else function.tops

        layer_fn.__name__ = layer_fn.__qualname__ = name
        return layer_fn


class _Constants:
    """The constants of one message, and the enumerations that have them: P.Pooling.PoolMethod.Value("MAX")."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, constant: str) -> Any:
        message = getattr(caffe_pb2, f"{self._name}Parameter")
        if constant in message.DESCRIPTOR.enum_types_by_name or constant in message.DESCRIPTOR.nested_types_by_name:
            return getattr(message, constant)
        values = {value.name: value.number for kind in message.DESCRIPTOR.enum_types for value in kind.values}
        if constant not in values:
            raise AttributeError(f"{self._name}Parameter has no constant {constant}; it has "
                                 f"{', '.join(values) or 'none'}")
        return int(values[constant])


class Parameters:
    """`P.Pooling.MAX` is the number of the constant MAX of PoolingParameter."""

    def __getattr__(self, name: str) -> _Constants:
        if name.startswith("_") or not hasattr(caffe_pb2, f"{name}Parameter"):
            raise AttributeError(f"there is no message {name}Parameter; P.Pooling.MAX shows how to name a constant")
        return _Constants(name)


layers = Layers()
params = Parameters()
