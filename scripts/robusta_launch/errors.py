"""Errors that a user can cause, with the exit codes of docs/errors.md.

Raise LaunchError where the fault is noticed; a script's main goes through run(), which prints one line and ends with the
code of the kind.
"""

import enum
import sys


class Code(enum.IntEnum):
    """Exit codes: the same that the programs use."""

    OK = 0
    USAGE = 1  # the command line
    CONFIG = 2  # a file that says what to run: rank file, host file, prototxt
    DATA = 3
    OUTPUT = 7
    COMMUNICATION = 8
    UNSUPPORTED = 9


class LaunchError(Exception):
    """`cause` says what is wrong, `fix` what to do about it."""

    def __init__(self, cause, fix="", code=Code.USAGE):
        super().__init__(f"{cause}; {fix}" if fix else cause)
        self.cause, self.fix, self.code = cause, fix, code


def run(program, main):
    """Calls main() and returns the exit code; a LaunchError becomes one line on stderr."""
    try:
        return int(main() or 0)
    except LaunchError as error:
        # What a user named may hold bytes that a terminal would obey, or could not show.
        text = "".join(c if c.isprintable() or c == "\n" else "?" for c in str(error))
        print(f"{program}: error: {text}", file=sys.stderr)
        return int(error.code)
    except BrokenPipeError:  # the reader of our output, `head` say, has seen enough
        sys.stderr.close()
        return int(Code.OUTPUT)
