"""Whether a Kubernetes object has known fields of the right types alone, by fields.yaml beside this file."""

import pathlib
import re

import yaml

TABLE = yaml.safe_load((pathlib.Path(__file__).parent / "fields.yaml").read_text(encoding="utf-8"))
# 100m, 8, 1.5, 16Gi, 1e3, as in k8s.io/apimachinery's resource.Quantity.
QUANTITY = r"[+-]?([0-9]+|[0-9]*\.[0-9]+|[0-9]+\.)([eE][+-]?[0-9]+|[KMGTPE]i|[munkMGTPE])?"
SIMPLE = {"string": lambda value: isinstance(value, str),
          "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
          "boolean": lambda value: isinstance(value, bool),
          "quantity": lambda value: not isinstance(value, bool) and re.fullmatch(QUANTITY, str(value)) is not None}


def faults(document):
    """What is wrong with an object, each with the path of its field; [] for one that a cluster takes."""
    if not isinstance(document, dict):
        return ["this is no object"]
    kind = f"{document.get('apiVersion')}/{document.get('kind')}"
    if kind not in TABLE or "/" not in kind:
        return [f"{kind} is no known kind"]
    return faults_of({name: value for name, value in document.items() if name not in ("apiVersion", "kind")}, kind, "")


def faults_of(value, kind, path):
    if kind in SIMPLE:
        return [] if SIMPLE[kind](value) else [f"{path}: {value!r} is no {kind}"]
    if kind.startswith("["):
        if not isinstance(value, list):
            return [f"{path}: this is no list"]
        return [fault for at, item in enumerate(value) for fault in faults_of(item, kind[1:-1], f"{path}[{at}]")]
    if kind.startswith("{"):
        if not isinstance(value, dict):
            return [f"{path}: this is no map"]
        return [fault for key, item in value.items() for fault in faults_of(item, kind[1:-1], f"{path}.{key}")]
    if kind not in TABLE:
        choices = kind.split(" | ")
        return [] if value in choices else [f"{path}: {value!r} is none of {', '.join(choices)}"]
    if not isinstance(value, dict):
        return [f"{path}: this is no {kind}"]
    return faults_of_fields(value, TABLE[kind], path)


def faults_of_fields(value, fields, path):
    found = [f"{path}.{name}: it is missing" for name, kind in fields.items() if kind.endswith("!") and name not in value]
    for name, item in value.items():
        if name in fields:
            found += faults_of(item, fields[name].rstrip("! "), f"{path}.{name}")
        else:
            found.append(f"{path}.{name}: no such field")
    return found
