"""Reads protobuf's text format without its schema."""

import re

from robusta_launch.errors import Code, LaunchError

TOKEN = re.compile(r"""\s*(?:\#[^\n]*)?(?: ([A-Za-z_][\w.]*) | ("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*') | ([-+]?[\w.+-]+)
                       | ([{}:;,<>\[\]]) | (\S) )""", re.VERBOSE)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?f?")


def _tokens(text, path):
    text = re.sub(r'("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')|#[^\n]*', lambda m: m[1] or "", text)
    at = 0
    for found in TOKEN.finditer(text):
        if found.start() != at or found[5]:
            break
        at = found.end()
        yield found[1] or found[2] or found[3] or found[4]
    if text[at:].strip():
        line = text.count("\n", 0, at + len(text[at:]) - len(text[at:].lstrip())) + 1
        raise LaunchError(f"{path}:{line}: this is no prototxt", "check the file", Code.CONFIG)


def value_of(token):
    """A number, True, False, or the text."""
    if token[0] in "\"'":
        return token[1:-1]
    if NUMBER.fullmatch(token):
        number = float(token.rstrip("f"))
        return int(number) if number.is_integer() else number
    return {"true": True, "false": False}.get(token, token)


def parse_message(text, path="prototxt"):
    """field -> list of values; messages are such dicts themselves."""
    stack, tokens = [{}], list(_tokens(text, path))
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in ("}", ">"):
            stack.pop()
            if not stack:
                raise LaunchError(f"{path}: a closing brace too many", "check the file", Code.CONFIG)
            at += 1
            continue
        if token in (";", ","):
            at += 1
            continue
        rest = tokens[at + 1:at + 3]
        if rest[:1] == [":"] and rest[1:] and rest[1] not in ("{", "<"):
            at += 2
            items = [tokens[at]]
            if tokens[at] == "[":
                end = tokens.index("]", at) if "]" in tokens[at:] else len(tokens)
                items, at = [t for t in tokens[at + 1:end] if t != ","], end
            stack[-1].setdefault(token, []).extend(map(value_of, items))
            at += 1
        elif "{" in rest or "<" in rest:
            inner = {}
            stack[-1].setdefault(token, []).append(inner)
            stack.append(inner)
            at += 2 if rest[0] in ("{", "<") else 3
        else:
            raise LaunchError(f'{path}: "{token}" has no value', "check the file", Code.CONFIG)
    if len(stack) > 1:
        raise LaunchError(f"{path}: a closing brace is missing", "check the file", Code.CONFIG)
    return stack[0]
