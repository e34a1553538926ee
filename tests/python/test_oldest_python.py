"""The package can be imported by Python 3.9, the oldest that its build takes (python/CMakeLists.txt)."""

import ast
import pathlib
import shutil
import subprocess

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/caffe"
FILES = sorted(PACKAGE.glob("*.py"))
# The half of the package that needs no extension, imported as conftest.py does it.
IMPORTING = """import importlib, sys, types
package = types.ModuleType("caffe")
package.__path__ = [sys.argv[1]]
sys.modules["caffe"] = package
for name in sys.argv[2:]:
    importlib.import_module("caffe." + name)
"""
NEED_THE_EXTENSION = {"__init__", "classifier", "detector", "pycaffe", "solvers"}


class RunTimeUnions(ast.NodeVisitor):
    """Lines with `X | Y` of types, which 3.9 cannot compute. Annotations are text (__future__)."""

    def __init__(self):
        self.lines = []

    def visit_arg(self, node):
        pass

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)

    def visit_FunctionDef(self, node):
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        sides = (node.left, node.right)
        if isinstance(node.op, ast.BitOr) and any(self.is_type(side) for side in sides):
            self.lines.append(node.lineno)

    @staticmethod
    def is_type(node):
        if isinstance(node, ast.Constant):
            return node.value is None
        if isinstance(node, ast.Subscript):
            node = node.value
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        return name in ("int", "float", "str", "bytes", "bool", "list", "dict", "tuple") or name[:1].isupper()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_newer(path):
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    unions = RunTimeUnions()
    unions.visit(tree)
    assert unions.lines == [], "typing.Union and typing.Optional are what 3.9 knows"


def test_unions_are_seen():
    unions = RunTimeUnions()
    unions.visit(ast.parse("from __future__ import annotations\nA = int | None\nB = C[D] | np.E\n"
                           "def f(x: int | None = 1 | 2) -> int | None:\n    y: A | B = flags | 4\n"))
    assert unions.lines == [2, 3]


def test_an_interpreter_of_that_age_imports_it():
    python = shutil.which("python3.9")
    if not python or subprocess.run([python, "-c", "import numpy, google.protobuf"], capture_output=True,
                                    check=False).returncode:
        pytest.skip("there is no python3.9 with numpy and protobuf")
    import caffe.proto
    described = pathlib.Path(caffe.proto.__file__).parent.parent
    names = [path.stem for path in FILES if path.stem not in NEED_THE_EXTENSION]
    done = subprocess.run([python, "-c", IMPORTING, str(described), *names], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
