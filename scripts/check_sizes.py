#!/usr/bin/env python3
"""Measures the sizes of files and functions in src/, include/ and tools/, and the share of comments.

Goals: files median <= 100 lines and 90 % <= 300, functions median <= 8 lines and 90 % <= 30, comments 12 to 20 % of
all lines. Prints the figures, and exits 1 when a function is longer than 60 lines. Tables (braces that begin after
"=") are no functions.

    scripts/check_sizes.py [--longest N] [FOLDER ...]
"""

import argparse
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST = 60
# Comments, literals and preprocessor lines hold braces that open nothing.
IGNORED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>\w*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|'
    r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.S | re.M,
)
NO_FUNCTION = re.compile(r"^(?:inline\s+)?namespace\b|^(?:template\s*<.*>\s*)?(?:class|struct|union|enum)\b|^extern\b", re.S)


def blanked(text):
    """The text with everything that is no code replaced by spaces; lines stay where they are."""
    return IGNORED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def functions(text):
    """(name, first line, number of lines) of every function that has a body; nested ones count for the outer one."""
    code, stack, start, found = blanked(text), [], 0, []
    for at, char in enumerate(code):
        if char == "{":
            head = code[start:at].strip()
            inside = any(kind == "function" for kind, _, _ in stack)
            scope = bool(NO_FUNCTION.search(head))
            is_function = not inside and not scope and ")" in head and not re.search(r"=\s*$", head)
            kind = "function" if is_function else "scope" if scope else "other"
            stack.append((kind, head, code[:at].count("\n") - head.count("\n") + 1))
            start = at + 1
        elif char == "}" and stack:
            kind, head, line = stack.pop()
            if kind == "function":
                name = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
                found.append((name.group(1) if name else head[:30], line, code[:at].count("\n") + 2 - line))
            start = at + 1
        elif char == ";":
            start = at + 1
    return found


def comment_lines(text):
    """Lines that hold a comment, and all lines."""
    lines = text.splitlines()
    return sum("//" in line for line in lines), len(lines)


def percentile(values, share):
    """The smallest value that `share` of all do not exceed."""
    return sorted(values)[max(0, -(-len(values) * share // 100) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=0, help="show so many of the longest functions and files")
    parser.add_argument("folders", nargs="*", default=["src", "include", "tools"])
    options = parser.parse_args()
    files, measured, comments, lines = [], [], 0, 0
    for folder in options.folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            text, where = path.read_text(), path.relative_to(ROOT)
            commented, total = comment_lines(text)
            comments, lines = comments + commented, lines + total
            files.append((total, where))
            measured += [(length, f"{where}:{line}: {name}") for name, line, length in functions(text)]
    for what, sizes in (("files", [size for size, _ in files]), ("functions", [size for size, _ in measured])):
        print(f"{what}: {len(sizes)}, median {statistics.median(sizes):.0f} lines, 90 % have at most "
              f"{percentile(sizes, 90)}, the longest {max(sizes)}")
    print(f"comments: {100 * comments / lines:.1f} % of {lines} lines")
    for size, where in sorted(measured, reverse=True)[: options.longest]:
        print(f"{size:5} {where}")
    for size, where in sorted(files, reverse=True)[: options.longest]:
        print(f"{size:5} {where}")
    too_long = [(size, where) for size, where in measured if size > LONGEST]
    for size, where in sorted(too_long, reverse=True):
        print(f"{where} has {size} lines, more than {LONGEST}")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
