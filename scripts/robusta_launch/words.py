"""Words: numbers with their nouns, and what may become a word of a command line."""

import re

from .errors import LaunchError


def counted(number, noun):
    """1 host, 2 hosts"""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def check_variable(option, text):
    """`text`, when it is NAME or NAME=VALUE with the name of a variable: the shells of other hosts set it."""
    name = text.partition("=")[0]
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII):
        raise LaunchError(f'{option}: "{name}" is no name of a variable', "letters, digits and underscores make one")
    return text


def check_interface(option, text):
    """`text`, when it can be a list of network interfaces or networks."""
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_.:/,-]*", text, re.ASCII):
        raise LaunchError(f'{option}: "{text}" is neither an interface such as eth0 nor a network such as 10.0.0.0/8')
    return text
