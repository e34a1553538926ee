"""Command lines of ddlrun: `ddlrun [options] program [arguments]`, with one or two dashes before an option."""

import difflib
import re

from .errors import LaunchError
from .topology import parse_dims
from .words import number

# Words that follow each option.
ARITY = {"m": 1, "mode": 1, "ddlarg": 1, "ddloption": 1, "no_ddloptions": 0, "rf": 1, "rankfile": 1, "H": 1,
         "hostfile": 1, "accelerators": 1, "tasks": 1, "n": 1, "np": 1, "nodes": 1, "racks": 1, "aisles": 1,
         "mpiarg": 1, "x": 1, "t": 0, "tcp": 0, "v": 0, "verbose": 0, "sockets": 1, "cores": 1, "nobind": 0, "skipchecks": 0,
         "grace": 1, "rundir": 1, "show": 0, "dry-run": 0, "h": 0, "help": 0}
SAME = {"m": "mode", "ddloption": "ddlarg", "rf": "rankfile", "np": "n", "tcp": "t", "verbose": "v",
        "tasks": "accelerators", "dry-run": "show", "h": "help"}
COUNTS = ("accelerators", "n", "nodes", "racks", "aisles", "sockets", "cores")
LISTS = ("ddlarg", "mpiarg", "x")
MODES = "bnrmcp"


class Options:
    """Values by name, as attributes: None, False or [] where an option was not given."""

    def __init__(self):
        for name, arity in ARITY.items():
            name = SAME.get(name, name)
            setattr(self, name, [] if name in LISTS else (None if arity else False))
        self.grace, self.letter, self.dims, self.program = 30, "p", None, []


def count(name, text):
    if not re.fullmatch("[1-9][0-9]*", text):
        raise LaunchError(f'-{name} wants a whole number from 1 on, not "{text}"', "")
    try:
        return number(text)
    except ValueError as error:
        raise LaunchError(f"-{name}: {error}", "") from None


def parse_mode(text):
    """(letter, dims or None) of "b" or "b:4x2x1"."""
    letter, colon, dims = text.partition(":")
    if letter not in MODES or len(letter) != 1:
        raise LaunchError(f'-mode has no algorithm "{letter}"',
                          f"write one of {', '.join(MODES)}, alone or with dimensions as in b:4x2x1")
    return letter, parse_dims(dims) if colon else None


def mode_in(text):
    """(letter, dims) of the -mode within DDL options such as "-mode b:4x2 -dev_sync 1", else None."""
    found = re.search(r"(?:^|\s)--?mode[\s=]+(\S+)", text)
    return parse_mode(found[1]) if found else None


def parse(words):
    options, at = Options(), 0
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = re.sub("^--?", "", words[at]).partition("=")
        at += 1
        if name not in ARITY:
            near = difflib.get_close_matches(name, ARITY, 1, 0.6)
            raise LaunchError(f"option -{name} is not known",
                              f"did you mean -{near[0]}?" if near else "ddlrun -help lists the options")
        if ARITY[name] and not equals:
            if at == len(words):
                raise LaunchError(f"-{name} wants a word behind it", "ddlrun -help says which")
            value, at = words[at], at + 1
        take(options, SAME.get(name, name), value if ARITY[name] else True)
    options.program = words[at:]
    return options


def take(options, name, value):
    if name in LISTS:
        getattr(options, name).append(value)
    elif name in COUNTS:
        setattr(options, name, count(name, value))
    elif name == "grace":
        if not re.fullmatch("[0-9]+", value):
            raise LaunchError(f'-grace wants seconds, not "{value}"', "")
        options.grace = count(name, value) if value.strip("0") else 0
    else:
        setattr(options, name, value)
    if name == "mode":
        options.letter, options.dims = parse_mode(value)
