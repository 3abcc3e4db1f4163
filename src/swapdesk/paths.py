"""The paths of the desk's files, and functions that keep directories and secret files private. All
files are in ``SWAPDESK_HOME`` if it is set, otherwise in the platform's directories."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
PRIVATE_FILE_LIMIT = 64 * 1024
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnsafePlace(OSError):
    """Raised for a file or directory that another user could read or change."""


class NoHome(OSError):
    """Raised if the user has no home directory and ``SWAPDESK_HOME`` is not set."""


class ProfilePlaces(Struct, frozen=True):
    """The paths of the files of one profile. Profiles share no file."""

    root: Path

    @property
    def journal(self) -> Path:
        return self.root / "journal.db"

    @property
    def catalog(self) -> Path:
        return self.root / "catalog.db"

    @property
    def address_book(self) -> Path:
        return self.root / "address_book.toml"

    @property
    def own_calls(self) -> Path:
        return self.root / "calls"

    @property
    def keys(self) -> Path:
        return self.root / "keys"

    @property
    def batch_files(self) -> Path:
        """The file that lists the batch files used last."""
        return self.root / "batch_files.txt"


class Home(Struct, frozen=True):
    """The directories for configuration, data and logs. Under ``SWAPDESK_HOME``, configuration and
    data share a directory."""

    config: Path
    data: Path
    logs: Path

    @classmethod
    def at(cls, root: Path) -> Home:
        return cls(config=root, data=root, logs=root / "logs")

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def themes(self) -> Path:
        return self.config / "themes"

    @property
    def sandbox(self) -> Path:
        return self.data / "sandbox"

    @property
    def sandbox_run_file(self) -> Path:
        """The file in which a running sandbox states its addresses and secrets as JSON, with mode
        0600."""
        return self.sandbox / "run.json"

    def profile(self, place: str) -> ProfilePlaces:
        """Returns the files of the profile ``place``. Raises ValueError if that cannot be the name
        of a directory."""
        if PROFILE_NAME.fullmatch(place) is None:
            raise ValueError("a profile name has 1 to 64 letters, digits, '.', '_' or '-'")
        return ProfilePlaces(self.data / "profiles" / place)


def find_home(environ: Mapping[str, str]) -> Home:
    """Returns the home in ``SWAPDESK_HOME``, or in the platform's directories. Raises NoHome if the
    user has no home directory."""
    chosen = environ.get("SWAPDESK_HOME", "")
    if chosen:
        return Home.at(Path(os.path.expanduser(chosen)).absolute())
    import platformdirs

    try:
        return Home(
            config=platformdirs.user_config_path("swapdesk", appauthor=False),
            data=platformdirs.user_data_path("swapdesk", appauthor=False),
            logs=platformdirs.user_log_path("swapdesk", appauthor=False),
        )
    except RuntimeError:
        raise NoHome("this user has no home directory") from None


def keep_private(home: Home) -> list[str]:
    """Removes other users' access to the home's directories, except shared ones, another user's, or
    the user's whole home directory. Returns a sentence for each directory that others could write
    to. Raises UnsafePlace if they still can."""
    sentences = []
    for root in dict.fromkeys((home.config, home.data, home.logs)):
        try:
            status = root.stat()
        except OSError:
            continue  # There is none yet, or it is told where it is used.
        if not stat.S_ISDIR(status.st_mode) or not status.st_mode & _OTHERS or os.name != "posix":
            continue
        foreign = status.st_uid != os.getuid() or bool(status.st_mode & stat.S_ISVTX)
        written = bool(status.st_mode & _OTHERS_WRITE)
        if not foreign and not _is_home_of_user(root):
            # A file system that is read only or keeps no modes refuses it, or changes nothing.
            with suppress(OSError):
                root.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
        if root.stat().st_mode & _OTHERS_WRITE:
            raise UnsafePlace(f"other users can write to {root}: choose a directory of your own")
        if written:
            sentences.append(
                f"Other users could write to {root}. They cannot any more; make sure that"
                " everything in it is yours."
            )
    return sentences


def _is_home_of_user(path: Path) -> bool:
    with suppress(OSError, RuntimeError):
        return path.samefile(Path.home())
    return False


def refuse_foreign(path: Path, status: os.stat_result) -> None:
    """Raises UnsafePlace if others can write to a file, or if it belongs to neither this user nor
    root. ``status`` is the ``stat`` of ``path``."""
    if os.name != "posix":
        return
    if status.st_uid not in (os.getuid(), 0):
        raise UnsafePlace(f"belongs to another user: chown {os.getuid()} {path}")
    if status.st_mode & _OTHERS_WRITE:
        raise UnsafePlace(f"can be written by other users: chmod 600 {path}")


def make_directories(path: Path) -> None:
    if not path.is_dir():
        make_directories(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def private_directory(path: Path) -> Path:
    """Creates the directory ``path`` with mode 0700. Raises UnsafePlace if it exists and belongs to
    another user, or other users have access."""
    make_directories(path.parent)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        refuse_shared(path, path.lstat(), directory=True)
    return path


def write_private(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Writes a file with mode 0600. An existing file is replaced as a whole, so that no reader and
    no crash finds it half written. Raises FileExistsError if it exists and ``replace`` is False."""
    target = path.with_name(f".{path.name}.{os.getpid()}.new") if replace else path
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    if replace:
        target.unlink(missing_ok=True)
    descriptor = os.open(target, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(target, path)
    except OSError as error:
        target.unlink(missing_ok=True)
        # What is written to a descriptor fails without the name of its file.
        raise OSError(error.errno, error.strerror, str(path)) from error
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def keep_names(directory: Path) -> None:
    """Writes a directory's list of files to the disk, so that new files survive a loss of power."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def without_mark(content: bytes) -> bytes:
    """Returns the content without the UTF-8 byte order mark with which some editors begin a
    file."""
    return content.removeprefix(codecs.BOM_UTF8)


def read_private(path: Path, limit: int = PRIVATE_FILE_LIMIT) -> bytes:
    """Returns the content of a private file, without a byte order mark. Raises UnsafePlace if it is
    no regular file, belongs to another user, is accessible to others, or is larger than ``limit``
    bytes."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if path.is_symlink():
        raise UnsafePlace(f"{path} is a symbolic link")
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        refuse_shared(path, os.fstat(file.fileno()), directory=False)
        content = file.read(limit + 1)
    if len(content) > limit:
        raise UnsafePlace(f"{path} is larger than {limit} bytes")
    return without_mark(content)


def refuse_shared(path: Path, status: os.stat_result, *, directory: bool) -> None:
    right_kind = stat.S_ISDIR(status.st_mode) if directory else stat.S_ISREG(status.st_mode)
    if not right_kind:
        raise UnsafePlace(f"{path} is no {'directory' if directory else 'regular file'}")
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise UnsafePlace(f"{path} belongs to another user")
    if os.name == "posix" and status.st_mode & _OTHERS:
        wanted = "0700" if directory else "0600"
        raise UnsafePlace(f"{path} is open to other users: chmod {wanted[1:]} {path}")
