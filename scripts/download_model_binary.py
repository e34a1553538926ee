#!/usr/bin/env python3
"""Fetches the weights that a model's card names, as Caffe's script of this name does.

  scripts/download_model_binary.py MODEL_FOLDER

MODEL_FOLDER/readme.md has a block between lines of ---, before which a title may stand, in which `caffemodel:` names the
file, `caffemodel_url:` where it lies, and `sha1:` what it must be. A download that was cut off goes on where it ended; what
is not what `sha1` says is refused and removed, and a file that is right already is left alone.
"""

import argparse
import hashlib
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

from robusta_files.inputs import explained, open_input

NEEDED = ("caffemodel", "caffemodel_url", "sha1")
BLOCK = 1 << 20
SECONDS = 60  # that a server may be silent
MOST_BYTES = 8 << 30


class CardError(Exception):
    """What is wrong with a card or a download."""


class SafeRedirects(urllib.request.HTTPRedirectHandler):
    """A server may send us to another place, but not from https to http, nor to files of this machine."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        require_url(newurl)
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise CardError(f"{req.full_url} leads to {newurl}, which is not encrypted")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def require_url(url):
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise CardError(f"caffemodel_url {url!r} is no http or https address of a server")


def read_card(folder):
    """The entries of readme.md that are needed, checked."""
    path = os.path.join(folder, "readme.md")
    try:
        file = open_input(path)
    except FileNotFoundError as error:
        raise CardError(f"{path}: {error.strerror}; weights are fetched for folders with a model card alone") from error
    with file as card:
        lines = [line.strip() for line in card.read(1 << 20).decode("utf-8", "replace").splitlines()]
    if lines.count("---") < 2:
        raise CardError(f"{path} has no block between lines of ---")
    begin = lines.index("---") + 1  # cards of gists have a title before it
    entries = {}
    for line in lines[begin:lines.index("---", begin)]:
        name, colon, value = line.partition(":")
        if colon:
            entries[name.strip()] = value.strip().strip("'\"")
    missing = [name for name in NEEDED if not entries.get(name)]
    if missing:
        raise CardError(f"{path} does not say: {', '.join(missing)}")
    name = entries["caffemodel"]
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", name):
        raise CardError(f"{path}: caffemodel {name!r} is no plain name of a file")
    if not re.fullmatch(r"[0-9a-fA-F]{40}", entries["sha1"]):
        raise CardError(f"{path}: sha1 {entries['sha1']!r} is no SHA-1, which has 40 hexadecimal digits")
    require_url(entries["caffemodel_url"])
    return entries


def sha1_of(path):
    digest = hashlib.sha1()
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def open_part(path, fresh):
    """The file of what has come so far; a link that lies in its place is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_TRUNC if fresh else os.O_APPEND)
    return os.fdopen(os.open(path, flags, 0o644), "wb" if fresh else "ab")


def fetch(url, part):
    """Downloads into `part`, from its end on where the server can do that."""
    have = os.path.getsize(part) if os.path.isfile(part) and not os.path.islink(part) else 0
    request = urllib.request.Request(url, headers={"User-Agent": "robusta", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    opener = urllib.request.build_opener(SafeRedirects)
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            goes_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            have = have if goes_on else 0
            wanted = answer.headers.get("Content-Length")
            with open_part(part, not goes_on) as out:
                came = copy(answer, out, MOST_BYTES - have)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # all of it is here, or more than there is
            return
        raise
    if wanted is not None and wanted.isdigit() and came < int(wanted):
        raise CardError(f"the download was cut off after {have + came} bytes: start again, it goes on from there")


def copy(source, out, most):
    came = 0
    while block := source.read(BLOCK):
        came += len(block)
        if came > most:
            raise CardError(f"more than {MOST_BYTES >> 30} GiB come: these are no weights")
        out.write(block)
        print(f"\r{came >> 20} MiB", end="", file=sys.stderr)
    print(file=sys.stderr)
    return came


def download(folder):
    card = read_card(folder)
    path = os.path.join(folder, card["caffemodel"])
    wanted = card["sha1"].lower()
    if os.path.exists(path):
        if sha1_of(path) == wanted:
            print(f"{path} is there already, and right")
            return
        raise CardError(f"{path} is there, but is not what sha1 says: remove it to fetch it anew")
    part = path + ".part"
    fetch(card["caffemodel_url"], part)
    found = sha1_of(part)
    if found != wanted:
        os.remove(part)
        raise CardError(f"what came has SHA-1 {found}, not {wanted}; it was removed")
    os.rename(part, path)
    print(f"{path}: fetched, SHA-1 {wanted}")


def main():
    parser = argparse.ArgumentParser(description="Fetches the weights that a model's card names.")
    parser.add_argument("dirname", metavar="MODEL_FOLDER", help="folder with a readme.md")
    args = parser.parse_args()
    try:
        download(args.dirname)
    except (OSError, CardError, ValueError) as error:
        sys.exit(f"download_model_binary.py: {explained(error)}")


if __name__ == "__main__":
    main()
