"""Stands for torch where a program imports it and calls no more than tensor().permute(): any other name is a class,
every submodule empty."""

import importlib.abc
import importlib.machinery
import sys
import types

__version__ = "2.4.0"
__path__ = []


class Name:
    """What is found under any name: it can be called, subclassed, and asked for names of its own."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Name


def tensor(numbers):
    """An array of numpy that knows torch's name for the exchange of axes: TPU-MLIR's converter turns weights so."""
    import numpy  # here, since not all programs that get this module have it

    class Array(numpy.ndarray):
        def permute(self, order):
            return self.transpose(order)

    return numpy.array(numbers).view(Array)


def found(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (Name,), {})


class Submodule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        return found(name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, path=None, target=None):
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if fullname.startswith("torch.") else None

    def create_module(self, spec):
        return Submodule(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(Finder())


def __getattr__(name):
    return found(name)
