"""Words: numbers with their nouns, and what may become a word of a command line."""

import re
import shlex

from .errors import LaunchError

# Of hosts, ranks and cores: more are a slip of the pen, and would take all memory before anybody is told.
MOST = 1 << 20


def counted(number, noun):
    """1 host, 2 hosts"""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def number(text):
    """The number that a text of digits stands for, MOST at most; ValueError says why it is none."""
    if not re.fullmatch("[0-9]+", text, re.ASCII):
        raise ValueError(f'"{text}" is no number')
    if len(text.lstrip("0")) > len(str(MOST)) or int(text) > MOST:
        raise ValueError(f"{text[:20]}{'...' if len(text) > 20 else ''} is more than {MOST}")
    return int(text)


def is_number(text):
    """Whether number() takes it."""
    try:
        return number(text) >= 0
    except ValueError:
        return False


def split(option, text):
    """The words of `text` as a shell would have them."""
    try:
        return shlex.split(text)
    except ValueError as error:  # a quotation that does not end
        raise LaunchError(f"{option}: {text[:60]}: {str(error).lower()}", "close it, or take it away") from None


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
