"""Take away what only POSIX systems have, and hold files as Windows does: ``python -m pytest -p no_posix``.

Packages of others are imported first, with all they need. Linux's /proc tells which files are open or mapped.
"""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import shutil
import signal
import sys
import tempfile
import types
from importlib import import_module

OTHERS = ["subprocess", "multiprocessing.context", "joblib", "numba", "scipy.sparse", "sklearn.linear_model"]
OF_TESTS = ["pandas", "scipy.stats", "rich", "typer", "hypothesis", "polars", "bed_reader", "onnxruntime", "skl2onnx"]
MODULES = ["fcntl", "grp", "pwd", "termios", "tty", "pty", "resource"]
OF_OS = [
    *("register_at_fork", "fork", "forkpty", "geteuid", "getegid", "getgid", "getgroups", "sysconf"),
    *("sched_getaffinity", "posix_fallocate", "posix_fadvise", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "mkfifo"),
    *("fchmod", "fchown", "chown", "pread", "pwrite", "fdatasync", "sync", "sendfile", "uname", "statvfs", "nice"),
]
SIGNALS = ["SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGQUIT", "SIGSTOP", "SIGCONT", "SIGPIPE"]


def busy(path):
    """Tell whether this process has the file, or one in the folder, open or mapped."""
    real, held = os.path.realpath(path), set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            held.add(os.readlink(f"/proc/self/fd/{number}"))
    with open("/proc/self/maps") as maps:
        held |= {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if len(line.split(maxsplit=5)) > 5}
    return any(each == real or each.startswith(real + os.sep) for each in held)


def refuse_if(condition, *paths):
    if condition:
        raise PermissionError(errno.EACCES, "The process cannot access the file because it is being used", *paths)


def hide():
    for name in [*OTHERS, *(OF_TESTS if "pytest" in sys.modules else [])]:
        with contextlib.suppress(ImportError):
            import_module(name)
    flock, exclusive = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB

    def locking(number, _how, _size):
        try:
            flock(number, exclusive)
        except BlockingIOError as error:
            raise PermissionError(errno.EACCES, "Permission denied") from error

    def memory(record):
        record._obj[1] = 16 << 30

    kernel32 = types.SimpleNamespace(GlobalMemoryStatusEx=memory)
    ctypes.windll = types.SimpleNamespace(kernel32=kernel32)  # type: ignore[attr-defined]
    sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)  # type: ignore[assignment]
    sys.modules.update(dict.fromkeys(MODULES))  # type: ignore[arg-type]
    for module, names in (
        (os, OF_OS),
        (signal, SIGNALS),
        (mmap, [name for name in dir(mmap) if name[:4] in "MADV_MAP_"]),
    ):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile
    plain = {name: getattr(os, name) for name in ("open", "fsync", "rename", "replace", "unlink")}

    def open_(path, flags, mode=0o777, *, dir_fd=None):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return plain["open"](path, flags, mode, dir_fd=dir_fd)

    def fsync(file):
        number = file if isinstance(file, int) else file.fileno()
        with open(f"/proc/self/fdinfo/{number}") as info:
            flags = int(next(line.split()[1] for line in info if line.startswith("flags")), 8)
        if flags & 3 == os.O_RDONLY:  # FlushFileBuffers needs the right to write
            raise OSError(errno.EBADF, "Bad file descriptor")
        plain["fsync"](number)

    def rename(source, target, **_):
        if os.path.exists(target) and str(source) != str(target):
            raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists", str(source))
        refuse_if(busy(source), str(source))
        plain["rename"](source, target)

    def replace(source, target, **_):
        refuse_if(os.path.isdir(target) or busy(source) or (os.path.exists(target) and busy(target)), str(source))
        plain["replace"](source, target)

    def unlink(path, *, dir_fd=None):
        by_tempfile = sys._getframe(1).f_code.co_filename.endswith("tempfile.py")  # pytest keeps its capture so
        refuse_if(not by_tempfile and os.path.exists(path) and busy(path), str(path))
        plain["unlink"](path, dir_fd=dir_fd)

    os.open, os.fsync, os.rename, os.replace, os.unlink, os.remove = open_, fsync, rename, replace, unlink, unlink
    os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks = set(), set(), set()
    shutil._use_fd_functions = shutil._USE_CP_SENDFILE = False  # rmtree without descriptors of folders
    shutil.rmtree.avoids_symlink_attacks = False


def pytest_load_initial_conftests() -> None:
    """Hide it all from a plugin's session; who collects doctests imports this file, and loses nothing."""
    hide()
