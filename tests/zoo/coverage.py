#!/usr/bin/env python3
"""Which layer types and old forms the nets of the zoo have: the tables of docs/zoo.md.

Exits 1 where a type that is built in, or a form, is in fewer than two nets, or the tables are others than these.

  tests/zoo/coverage.py [--tools FOLDER] [--write]
"""

import argparse
import os
import pathlib
import re
import sys

from nets import ROOT, all_nets, built_in_types, types_of, without_comments
import make_nets

FEWEST = 2
# Layer types whose nets are still to be written; what is in two nets must not stand here.
LATER = {"Python"}
DOCUMENT = ROOT / "docs/zoo.md"
BEGIN, END = "<!-- written by tests/zoo/coverage.py --write -->", "<!-- until here -->"
FAMILIES = {
    "classifiers": "classifiers of images", "segmentation": "images out of images", "detection": "detectors",
    "recurrent": "sequences", "faces": "faces, pairs of images", "others": "codes, densities, words, single layers",
}

# Old and special forms: what a net that has one matches.
FORMS = {
    "V0: layers of layers": r"layers \{\s*layer \{",
    "V0: padding layers": r'type: "padding"',
    "V0: parameters flat in the layer": r"\bkernelsize:",
    "V0: biasterm": r"\bbiasterm:",
    "V0: batchsize, cropsize": r"\bbatchsize:",
    "V1: types in capitals": r"\btype: [A-Z0-9_]+\b",
    "V1: blobs_lr": r"\bblobs_lr:",
    "V1: weight_decay": r"\bweight_decay:",
    "V1: param as a name": r'\bparam: "',
    "V1: blob_share_mode": r"\bblob_share_mode:",
    "V1: transforms in data_param, image_data_param, window_data_param":
        r"type: (?:DATA|IMAGE_DATA|WINDOW_DATA)\b(?:[^{}]|\{[^{}]*\})*_data_param \{[^}]*\b(?:scale|crop_size|mirror):",
    "input and input_dim": r"(?m)^input_dim:",
    "input and input_shape": r"(?m)^input_shape \{",
    "Input layers": r'type: "Input"',
    "concat_dim": r"\bconcat_dim:",
    "slice_dim": r"\bslice_dim:",
    "DummyData by num, channels, height, width": r"dummy_data_param \{(?:[^{}]|\{[^{}]*\})*\bnum:",
    "legacy normalize of a loss": r"loss_param \{[^{}]*\bnormalize: (?:true|false)",
    "BatchNorm with three param blocks":
        r'type: "BatchNorm"(?:[^{}]|\{[^{}]*\})*?(?:param \{[^{}]*\}\s*){3}',
    "include by phase": r"include:? \{ ?phase:",
    "exclude": r"\bexclude:? \{",
    "stages": r"\bstage:",
    "not_stage": r"\bnot_stage:",
    "levels": r"\b(?:min|max)_level:",
    "Data without a source": r"data_param \{(?![^}]*source)[^}]*batch_size: \d",
    "share_mode": r"\bshare_mode:",
    "propagate_down": r"\bpropagate_down:",
    "weights shared by name": r'param \{ name: "|\bparam: "',
    "hole": r"\bhole(?:_h)?:",
    "ceil_mode": r"\bceil_mode:",
    "AVE_EXC_PAD": r"\bAVE_EXC_PAD",
    "padding of each side": r"\bpad_t:",
    "relu6 as a field": r"\brelu6: true",
    "engines": r"\bengine:",
    "scale and bias within BatchNorm": r"\bscale_bias: true",
    "kernel_h and kernel_w": r"\bkernel_h:",
    "Convolution3D": r'type: (?:"Convolution3D"|CONVOLUTION3D)',
    "Pooling3D": r'type: (?:"Pooling3D"|POOLING3D)',
    "Deconvolution3D": r'type: (?:"Deconvolution3D"|DECONVOLUTION3D)',
}


def counted(nets, tools):
    """("type" or "form", what) -> names of the nets that have it. Types of plugins and of others are left out."""
    found = {("type", name): [] for name in built_in_types()} | {("form", name): [] for name in FORMS}
    for name, path in nets.items():
        text = without_comments(path.read_text())
        for kind in types_of(path, tools / "upgrade_net_proto_text"):
            found.get(("type", kind), []).append(name)
        for form, pattern in FORMS.items():
            if re.search(pattern, text):
                found[("form", form)].append(name)
    return found


def tables(found):
    """Families with their nets; layer types with the number of nets that have them; old forms likewise."""
    lines = ["| family | nets |", "| --- | --- |"]
    for family in make_nets.FAMILIES:
        module = family.__name__.rsplit(".", maxsplit=1)[-1]
        names = [build.__name__ for build in family.NETS]
        names += [f"{build.__name__}_deploy" for build in family.DEPLOYED if build not in family.NETS]
        lines.append(f"| {FAMILIES[module]} (`zoo_nets/{module}.py`) | {', '.join(names)} |")
    forms = ", ".join(name for name, path in all_nets().items() if path.parent.name == "forms")
    lines.append(f"| odd and old forms (`forms/`) | {forms} |")
    types = sorted((what, len(names)) for (group, what), names in found.items() if group == "type")
    lines += ["", f"Layer types ({len(types)}), and how many nets have them: " +
              ", ".join(f"{name} {number}" for name, number in types) + ".", "", "| form | nets |", "| --- | --- |"]
    lines += [f"| {what} | {len(names)} |" for (group, what), names in found.items() if group == "form"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tools", type=pathlib.Path, help="where the programs are",
                        default=pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", "build/tools")))
    parser.add_argument("--write", action="store_true", help="writes the tables into docs/zoo.md")
    options = parser.parse_args()
    found = counted(all_nets(), options.tools.resolve())
    problems = [f"{group} {what}: in {len(names)} nets, not in {FEWEST}"
                for (group, what), names in sorted(found.items()) if len(names) < FEWEST and what not in LATER]
    problems += [f"type {what}: in {len(names)} nets, and still among those to come (LATER in coverage.py)"
                 for (_, what), names in sorted(found.items()) if len(names) >= FEWEST and what in LATER]
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    document = f"{before}{BEGIN}\n\n{tables(found)}\n\n{END}{rest.partition(END)[2]}"
    if options.write:
        DOCUMENT.write_text(document)
    elif document != DOCUMENT.read_text():
        problems.append(f"{DOCUMENT}: its tables are old; run tests/zoo/coverage.py --write and commit the result")
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
