"""What is carried from one visit to the next: a tarball of the folder that visits work in.

Results and logs come first and are always in it. Then come the caches, each whole or not at all, while the tarball
stays small enough to be carried; what was left out only costs time.
"""

import io
import os
import pathlib
import tarfile

NAME = "visit.tar.gz"
CACHES = "caches"
# Weights are as large as they are useless afterwards.
LEFT_OUT = (".caffemodel", ".solverstate", ".part")


def unpack(tarball, folder):
    """Goes on with what an earlier visit has left; nothing where there is no such tarball."""
    if os.path.isfile(tarball):
        with tarfile.open(tarball) as tar:
            tar.extractall(folder, filter="data")


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
                  and path.suffix not in LEFT_OUT)


def packed(folder, parts):
    """The bytes of a tarball of these parts of the folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as tar:
        for part in parts:
            for path in files_of(part) if part.is_dir() else [part]:
                tar.add(path, str(path.relative_to(folder)))
    return buffer.getvalue()


def pack(folder, output, most):
    """Writes the tarball into the folder `output`; the names of the caches that had no room in `most` bytes."""
    folder = pathlib.Path(folder)
    parts = [path for path in sorted(folder.iterdir()) if path.name != CACHES]
    known, missing = packed(folder, parts), []
    for cache in sorted((folder / CACHES).glob("*"), key=lambda path: sum(f.stat().st_size for f in files_of(path))):
        grown = packed(folder, [*parts, cache])
        if len(grown) > most:
            missing.append(cache.name)
            continue
        known = grown
        parts.append(cache)
    # In one piece: whoever ends the visit meanwhile has the one before.
    part = pathlib.Path(output) / (NAME + ".part")
    part.write_bytes(known)
    part.replace(pathlib.Path(output) / NAME)
    return missing
