"""A small disk, which is full soon: a file system in memory, where this process may mount one."""

import os
import pathlib
import subprocess

SOURCE = "robusta-soak-"  # and the pid of the soak, as the name of what is mounted


class Disk:
    """Folder `folder`, on a file system of `mib` MiB of its own when `mounted` is true."""

    def __init__(self, ending, folder, mib):
        unmount_abandoned()
        self.folder = folder
        folder.mkdir()
        ending.will(self.unmount)
        self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", f"{SOURCE}{os.getpid()}", folder],
                                      stderr=subprocess.DEVNULL, check=False).returncode == 0

    def unmount(self):
        subprocess.run(["umount", "-l", self.folder], stderr=subprocess.DEVNULL, check=False)

    def fill(self):
        """The file that takes all that was free."""
        ballast = self.folder / "ballast"
        try:
            with open(ballast, "wb", buffering=0) as file:
                while file.write(b"\0" * (1 << 16)):
                    pass
        except OSError:
            pass
        return ballast


def unmount_abandoned(mounts=pathlib.Path("/proc/self/mounts")):
    """Nobody can catch SIGKILL: what a soak that is gone has mounted is unmounted by the next."""
    for line in mounts.read_text().splitlines():
        source, folder = line.split()[:2]
        pid = source.removeprefix(SOURCE)
        if source.startswith(SOURCE) and pid.isdigit() and not pathlib.Path("/proc", pid).exists():
            subprocess.run(["umount", "-l", folder], stderr=subprocess.DEVNULL, check=False)
