#!/usr/bin/env python3
"""The instructions of a container file, and its last stage as a script for a folder with a bare system.

  containerfile.py FILE CONTEXT PACKAGE ROOT    prints shell lines that do to ROOT what the last stage does to its image,
                                                with PACKAGE for what is copied from the stage before, and make a
                                                program, ROOT.enter COMMAND...: as the image starts it, by its user, in
                                                its folder
"""

import json
import re
import shlex
import sys


def instructions(text):
    """[(word, rest)], with continued lines joined and comments taken away."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.split("\n") if line.strip()]


def stages(text):
    """[[(word, rest)]]: each begins with its FROM; what stands before the first belongs to none."""
    found = []
    for word, rest in instructions(text):
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append((word, rest))
    return found


def settings(stage):
    """What the image starts with: {"USER": ..., "WORKDIR": ..., "ENTRYPOINT": [...], "CMD": [...], "ENV": {...}}."""
    found = {"USER": "0:0", "WORKDIR": "/", "ENV": {}}
    for word, rest in stage:
        if word == "ENV":
            found["ENV"].update(pair.split("=", 1) for pair in shlex.split(rest))
        elif word in ("ENTRYPOINT", "CMD"):
            found[word] = json.loads(rest)
        elif word in found:
            found[word] = rest
    return found


def script(stage, context, package, root):
    """The order is the stage's: all of it is done by root, and USER is for what is started."""
    lines = ["set -e"]
    for word, rest in stage:
        if word == "COPY":
            *sources, target = rest.split()
            source = package if sources[0].startswith("--from=") else f"{context}/{sources[0]}"
            lines.append(f"cp {shlex.quote(source)} {shlex.quote(root + target)}")
        elif word == "RUN":
            lines.append(f"chroot {shlex.quote(root)} /bin/sh -c {shlex.quote(rest)}")
        elif word not in ("FROM", "USER", "ENV", "WORKDIR", "ENTRYPOINT", "CMD"):
            raise SystemExit(f"{word} is not known here")
    image = settings(stage)
    env = [f"{name}={value}" for name, value in image["ENV"].items()]
    inside = f"cd {image['WORKDIR']} && exec \"$@\""
    start = (f"exec chroot --userspec={image['USER']} {shlex.quote(root)} env -i PATH=\"$PATH\" " +
             shlex.join(env + ["sh", "-c", inside, "enter"] + image["ENTRYPOINT"]) + ' "$@"')
    program = shlex.quote(f"{root}.enter")
    lines.append(f"printf '%s\\n' '#!/bin/sh' {shlex.quote(start)} > {program}\nchmod +x {program}")
    return "\n".join(lines)


if __name__ == "__main__":
    file, context, package, root = sys.argv[1:]
    with open(file, encoding="utf-8") as opened:
        print(script(stages(opened.read())[-1], context, package, root))
