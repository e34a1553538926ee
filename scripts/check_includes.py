#!/usr/bin/env python3
"""Checks who includes whom in src/ and include/.

A folder of src/ may include itself and the folders listed before it in src/CMakeLists.txt, less the pairs forbidden
below. src/layers has floors of its own. Public headers stand alone. At no depth do neighbours include each other in a circle: neighbours are the folders
and units (a header with its .cpp) that lie in one folder, and a folder includes what any file in it includes. Prints
one line per violation and exits 1 when there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folders that come earlier in the list and are still out of bounds.
FORBIDDEN = {
    ("comm", "memory"): "memory is planned without knowing who reduces gradients",
    ("net", "comm"): "the net hands gradients to a sink; the solver knows the communicator",
    ("data", "comm"): "a rank's share of the data is a number handed in",
    ("layers", "comm"): "reductions inside a step are handed in",
}
# The floors of src/layers, lowest first: a floor includes none above it, and no layer type another.
FLOORS = ["kit", "backends", "types"]
# These know nothing of the schema and its generated messages.
PLAIN = {"base", "device", "memory", "comm", "tensor", "ops"}
GENERATED = {"caffe.pb.h", "onnx.pb.h", "tensorboard.pb.h"}
# Messages of one folder alone, which have to do with none of those.
OWN = {"tf_config.pb.h": "comm"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def folder_order():
    """The folders of src/, lowest first, as the build lists them."""
    text = (ROOT / "src/CMakeLists.txt").read_text()
    return re.search(r"set\(robusta_folders ([^)]+)\)", text).group(1).split()


def includes(path):
    """(line number, included name) of every include in quotes."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(1)


def complaint(folder, name, order):
    """Why src/<folder> may not include `name`; None when it may."""
    target = name.split("/")[0]
    if target == "robusta" or name == "robusta.h":
        return None
    if name in OWN:
        return None if folder == OWN[name] else f"only {OWN[name]} reads these"
    if name in GENERATED:
        return f"{folder} stands below the schema" if folder in PLAIN else None
    if "/" not in name or target not in order:
        return "includes are written from src/ on, as in \"base/error.h\""
    if not (ROOT / "src" / name).exists():
        return "there is no such file"
    if target == "schema" and folder in PLAIN:
        return f"{folder} stands below the schema"
    if (folder, target) in FORBIDDEN:
        return FORBIDDEN[folder, target]
    if order.index(target) > order.index(folder):
        return f"{target} stands above {folder}"
    return None


def floor_complaint(name, target):
    """Why the file `name` of src/layers may not include `target`; None when it may."""
    here, there = name.split("/")[1:3], target.split("/")[1:3]
    if here[0] not in FLOORS or there[0] not in FLOORS:
        return "src/layers has the floors " + ", ".join(FLOORS)
    if FLOORS.index(there[0]) > FLOORS.index(here[0]):
        return f"layers/{there[0]} stands above layers/{here[0]}"
    if here[0] == there[0] == "types" and here[1] != there[1]:
        return "what several layer types share lies in layers/kit or layers/backends"
    return None


def opening_complaint(path):
    """What is wrong with the beginning of a file; None when nothing is."""
    text = path.read_text()
    if path.suffix == ".cpp":
        return None if text.startswith("//") else "a file opens with what it is for, a // comment"
    if not text.startswith("///"):
        return "a header opens with its contract, a /// comment"
    return None if "#pragma once" in text else "no #pragma once"


def node_in(folder, name):
    """The neighbour within `folder` ("" for src/) that holds the file `name`; None when it lies elsewhere."""
    if folder and not name.startswith(folder + "/"):
        return None
    rest = name[len(folder) + 1 :] if folder else name
    return rest.split("/")[0] if "/" in rest else rest.rsplit(".", 1)[0]


def edges_by_folder(names):
    """{folder: {(from, to): (file, line)}} over all folders of src/; `names` are files relative to src/."""
    found = {}
    for name in names:
        for number, target in includes(ROOT / "src" / name):
            parts = pathlib.PurePosixPath(name).parts[:-1]
            for depth in range(len(parts) + 1):
                folder = "/".join(parts[:depth])
                here, there = node_in(folder, name), node_in(folder, target)
                if there is not None and here != there:
                    found.setdefault(folder, {}).setdefault((here, there), (name, number))
    return found


def circles(edges):
    """The groups of two nodes or more that reach each other (strongly connected components), sorted."""
    nodes = {node for edge in edges for node in edge}
    reach = {node: {b for a, b in edges if a == node} for node in nodes}
    for via in nodes:  # Warshall 1962: transitive closure
        for node in nodes:
            if via in reach[node]:
                reach[node] |= reach[via]
    groups = {tuple(sorted({node} | {b for b in reach[node] if node in reach[b]})) for node in nodes}
    return sorted(group for group in groups if len(group) > 1)


def circle_complaints(names):
    """A line for each circle, with an include of each of its edges."""
    for folder, edges in sorted(edges_by_folder(names).items()):
        for group in circles(edges):
            inside = [(a, b, at) for (a, b), at in sorted(edges.items()) if a in group and b in group]
            listed = ", ".join(f"{a} -> {b} ({at[0]}:{at[1]})" for a, b, at in inside)
            yield f"src/{folder}: a circle of {', '.join(group)}: {listed}"


def main():
    order, problems, files = folder_order(), [], 0
    for path in sorted([*ROOT.glob("src/**/*.h"), *ROOT.glob("src/**/*.cpp"), *ROOT.glob("include/**/*.h")]):
        files += 1
        where = path.relative_to(ROOT)
        public = where.parts[0] == "include"
        if opening_complaint(path):
            problems.append(f"{where}:1: {opening_complaint(path)}")
        if not public and where.parts[1] not in order:
            problems.append(f"{where}:1: folder {where.parts[1]} is not in src/CMakeLists.txt")
            continue
        for number, name in includes(path):
            if public:
                why = None if name.startswith("robusta/") else "public headers include only one another"
            else:
                why = complaint(where.parts[1], name, order)
                if not why and where.parts[1] == "layers" and name.startswith("layers/"):
                    why = floor_complaint(str(where.relative_to("src")), name)
            if why:
                problems.append(f"{where}:{number}: \"{name}\": {why}")
    sources = [*ROOT.glob("src/**/*.h"), *ROOT.glob("src/**/*.cpp")]
    problems += circle_complaints(sorted(str(path.relative_to(ROOT / "src")) for path in sources))
    print("\n".join(problems) if problems else f"includes: {files} files are right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
