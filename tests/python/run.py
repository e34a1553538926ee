#!/usr/bin/env python3
"""Runs pytest over this folder, in an environment that has what the tests need.

  tests/python/run.py [words for pytest, such as -k net_spec]

The environment is `pytest` of scripts/robusta_readers/environments.py, made of PyPI when it is first asked for. The
module is that of ROBUSTA_BUILD_DIR/python where it is built, else the package's pure-Python half alone. ROBUSTA_PYTHON
names another interpreter that has pytest, numpy, pillow and protobuf. The exit code is 77 where there is none.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))

from robusta_readers import environments  # noqa: E402 (needs the path)


def main():
    try:
        own = os.environ.get("ROBUSTA_PYTHON")
        python, variables = (own, {}) if own else environments.environment("pytest")
    except environments.Unavailable as why:
        print(f"SKIPPED: the tests of the Python package: {why}")
        return 77
    build = os.environ.get("ROBUSTA_BUILD_DIR")
    built = build and list(pathlib.Path(build).glob("python/caffe/_caffe*.so"))
    places = [os.path.join(build, "python")] if built else []
    places += [place for place in [os.environ.get("PYTHONPATH")] if place]
    words = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or ["-rs"]), HERE]
    return subprocess.run(words, check=False, env={**os.environ, **variables, "PYTHONDONTWRITEBYTECODE": "1",
                                                   "PYTHONPATH": os.pathsep.join(places)}).returncode


if __name__ == "__main__":
    sys.exit(main())
