#!/usr/bin/env python3
"""Takes the worked examples out of a page, so that the build can compile and test what the page shows.

An example is a fenced block of code behind a line `<!-- example: NAME -->`, NAME being a file name. Writes each into
FOLDER/NAME when its content has changed, removes what the page no longer holds, and prints the names.

    scripts/doc_examples.py PAGE.md FOLDER
"""

import pathlib
import re
import sys

EXAMPLE = re.compile(r"^<!-- example: ([\w.-]+) -->\n+```\w*\n(.*?)^```$", re.M | re.S)


def examples(page):
    """{name: code} of all examples of the page, in its order. Throws ValueError for a name that comes twice."""
    found = {}
    for name, code in EXAMPLE.findall(page):
        if name in found:
            raise ValueError(f"two examples are called {name}")
        found[name] = code
    return found


def main():
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    found = examples(page.read_text())
    for old in folder.iterdir():
        if old.name not in found:
            old.unlink()
    for name, code in found.items():
        path = folder / name
        if not path.exists() or path.read_text() != code:
            path.write_text(code)
    print("\n".join(found))


if __name__ == "__main__":
    main()
