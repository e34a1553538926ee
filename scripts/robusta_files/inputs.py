"""Text files that a user names, opened so that nobody waits for ever: not for a FIFO that nobody writes, nor for a device
without an end. Pipes, as shells make of <(...), are read like files."""

import errno
import os
import select
import stat

PATIENCE = 10  # seconds until a pipe has to bring something, as the programs have it (src/schema/text_file.cpp)
MOST_BYTES = 2 << 30  # as of the programs: a file without content may have any length
BYTE_ORDER_MARK = "\ufeff"  # with which some editors begin every file; it belongs to no word


def open_input(path, patience=PATIENCE):
    """A file object of bytes; an OSError where this is neither a file nor a pipe that brings something."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "this is neither a file nor a pipe", path)
        if stat.S_ISFIFO(mode):
            waiting = select.poll()  # it waits for a writer, where read() says that there is no more
            waiting.register(handle, select.POLLIN)
            if not waiting.poll(patience * 1000):
                raise OSError(errno.ETIMEDOUT, f"the pipe has brought nothing for {patience} s", path)
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_text(path, errors="surrogateescape", patience=PATIENCE):
    """All of it, without a byte order mark, with newlines at the ends of lines."""
    with open_input(path, patience) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, "the file has more than 2 GiB", path)
        text = file.read(MOST_BYTES).decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")
    return text[1:] if text.startswith(BYTE_ORDER_MARK) else text


def explained(error, path=""):
    """What to tell of an error that reading `path` has met: the file that the system complains of, and of what."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return f"{path}: {error}" if path else str(error)
