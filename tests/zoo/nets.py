"""The nets of the zoo, and what is in them."""

import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# A loss layer of any form, or a loss made of another layer's top.
LOSS = re.compile(r'type: (?:"\w*Loss\w*"|"\w*_loss"|\w*_LOSS\w*)|\bloss_weight: *-?(?!0\b(?!\.))')
OF_MEMORY = re.compile(r'type: "?(?:MemoryData|MEMORY_DATA)')
WITHOUT_SOURCE = re.compile(r"\bdata_param \{(?![^}]*source)[^}]*batch_size: \d")
# What upgrade_net_proto_text writes in another way.
OLD = re.compile(r'^\s*layers\s*[:{]|type: "(?:(?:Convolution|Deconvolution|Pooling)3D|DepthToSpace)"', re.MULTILINE)


def all_nets():
    """Name -> path; families and forms have no name in common."""
    paths = sorted((HERE / "families").glob("*.prototxt")) + sorted((HERE / "forms").glob("*.prototxt"))
    nets = {path.stem: path for path in paths}
    assert len(nets) == len(paths), "two nets have one name"
    return nets


def is_trained(text):
    """Whether `caffe train` can: there is something to minimise, and no program has to bring the data or name them."""
    return bool(LOSS.search(text)) and not OF_MEMORY.search(text) and not WITHOUT_SOURCE.search(text)


def without_comments(text):
    return re.sub(r"#[^\n]*", "", text)


def built_in_types():
    """The layer types that register themselves, or kernels for themselves, in src/layers/types."""
    registered = re.compile(r'\b(?:ROBUSTA_REGISTER_\w+|register_layer|register_cross_entropy)\(\s*"(\w+)"')
    types = set()
    for path in (ROOT / "src/layers/types").rglob("*.cpp"):
        types.update(registered.findall(path.read_text()))
    return types


def types_of(path, upgrade):
    """The layer types of a net, as those of the newest form."""
    text = path.read_text()
    if OLD.search(text):
        done = subprocess.run([upgrade, path, "/dev/stdout"], text=True, capture_output=True, check=True)
        text = done.stdout
    types = set(re.findall(r'^  type: "(\w+)"|\blayer \{[^\n]*? type: "(\w+)"', without_comments(text), re.MULTILINE))
    return {one or other for one, other in types}
