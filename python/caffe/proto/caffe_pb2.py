"""Caffe's messages (NetParameter, SolverParameter, Datum, BlobProto, ...), made at import from their description.

The description is `caffe.desc` beside this file, which the build makes of proto/caffe.proto by
`protoc --descriptor_set_out`. Classes are built by the protobuf that is installed, so one package serves every protobuf
from 3.20 on, whichever protoc made the description. In a source tree that has not been built, protoc is asked here.

The messages register as `robusta/caffe.proto`, package `robusta.caffe`: another Caffe's caffe_pb2 may be loaded in the
same process. Neither name shows in a file.
"""

import os as _os
import shutil as _shutil
import subprocess as _subprocess
import sys as _sys

try:
    from google.protobuf import descriptor as _descriptor
    from google.protobuf import descriptor_pb2 as _descriptor_pb2
    from google.protobuf import descriptor_pool as _descriptor_pool
    from google.protobuf.internal import builder as _builder
except ImportError as _error:
    raise ImportError(f"caffe.proto.caffe_pb2 needs Python's protobuf 3.20 or newer ({_error}); install it by "
                      "`pip install protobuf`") from _error

_FOLDER = _os.path.dirname(_os.path.abspath(__file__))
_REGISTERED = "robusta/caffe.proto"


def _described_by_protoc(schema: str) -> bytes:
    """The description of the schema of a source tree; raises ImportError where protoc cannot make it."""
    protoc = _shutil.which("protoc")
    if not protoc:
        raise ImportError(f"caffe.desc is not in {_FOLDER}, and there is no protoc to make it; build the target "
                          "`caffe_python_proto`, or install protoc (Debian package protobuf-compiler)")
    words = [protoc, "-I", _os.path.dirname(schema), "--descriptor_set_out=/dev/stdout", _os.path.basename(schema)]
    done = _subprocess.run(words, stdout=_subprocess.PIPE, stderr=_subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise ImportError(f"protoc does not read {schema}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _description() -> bytes:
    """The file's FileDescriptorSet, serialised; raises ImportError where there is none."""
    path = _os.path.join(_FOLDER, "caffe.desc")
    if _os.path.isfile(path):
        with open(path, "rb") as file:
            return file.read()
    schema = _os.path.normpath(_os.path.join(_FOLDER, "../../../proto/caffe.proto"))
    if _os.path.isfile(schema):
        return _described_by_protoc(schema)
    raise ImportError(f"caffe.desc is not in {_FOLDER}: the package is not whole; install robusta-caffe anew, or make "
                      "the file by `protoc --descriptor_set_out=caffe.desc caffe.proto`")


def _registered() -> _descriptor.FileDescriptor:
    """The file's descriptor in protobuf's register."""
    described = _descriptor_pb2.FileDescriptorSet.FromString(_description())
    described.file[0].name = _REGISTERED
    pool = _descriptor_pool.Default()
    # Its result is None in some versions of protobuf.
    pool.AddSerializedFile(described.file[0].SerializeToString())
    return pool.FindFileByName(_REGISTERED)


DESCRIPTOR = _registered()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _sys.modules[__name__].__dict__)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, __name__, _sys.modules[__name__].__dict__)
