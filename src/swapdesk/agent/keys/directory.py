"""The directory of one profile's keys: which there are, what they are called, who may write."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path

from swapdesk.agent.keys.derivation import KeyFileRefused
from swapdesk.agent.keys.key_file import KeyFile, file_name, read_key
from swapdesk.paths import UnsafePlace, private_directory, read_private, write_private
from swapdesk.wallet.accounts import MAX_NAME, Account, UnusableKey
from swapdesk.wire.encoding.codec import refuse_deep

LOCK_FILE = "lock"
NAMES_FILE = "names.json"
MAX_KEYS = 256
_PREFIXES = ("evm-", "solana-")


class KeyDirectory:
    """Files of mode 0600 in a directory of mode 0700, all ours, none behind a link.

    Raises UnsafePlace when the directory itself is not so; a single file that is not so is
    listed as unusable.
    """

    def __init__(self, path: Path, profile: str) -> None:
        self._path = private_directory(path)
        self._profile = profile

    @property
    def path(self) -> Path:
        return self._path

    def read(self) -> tuple[tuple[KeyFile, ...], tuple[UnusableKey, ...]]:
        """Every key file, and those that are not used with the reason."""
        private_directory(self._path)
        names = self._names()
        found: list[KeyFile] = []
        unusable: list[UnusableKey] = []
        entries = sorted(
            one for one in os.listdir(self._path) if one.startswith(_PREFIXES) and ".json" in one
        )
        for entry in entries[:MAX_KEYS]:
            try:
                file = read_key(entry, read_private(self._path / entry))
                if file.account.profile != self._profile:
                    raise KeyFileRefused(
                        f"the key belongs to the profile {file.account.profile[:64]!r}"
                    )
            except (OSError, KeyFileRefused) as error:
                unusable.append(UnusableKey(entry, str(error)))
            else:
                address = file.account.address
                named = replace(file.account, name=names.get(address, short_name(address)))
                found.append(replace(file, account=named))
        unusable += [UnusableKey(one, f"more than {MAX_KEYS} keys") for one in entries[MAX_KEYS:]]
        return tuple(found), tuple(unusable)

    def add(self, account: Account, content: bytes) -> None:
        """A new key file, on disk when this returns. FileExistsError when there is one."""
        write_private(self._path / file_name(account.kind, account.address), content)
        self.rename(account.address, account.name)
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, address: str, name: str) -> None:
        names = {**self._names(), address: name}
        content = json.dumps(names, indent=1, sort_keys=True).encode()
        write_private(self._path / NAMES_FILE, content, replace=True)

    def _names(self) -> dict[str, str]:
        # Names are a comfort: a file of them that cannot be read takes nothing else away.
        names: object = {}
        with contextlib.suppress(OSError, ValueError):
            kept = read_private(self._path / NAMES_FILE)
            refuse_deep(kept)
            names = json.loads(kept)
        if not isinstance(names, dict):
            return {}
        return {
            str(address): name
            for address, name in names.items()
            if type(name) is str and is_name(name)
        }


def short_name(address: str) -> str:
    return f"{address[:6]}…{address[-4:]}"


def is_name(name: str) -> bool:
    """Whether an account may be called so: short, printable and without blanks at its ends."""
    return 0 < len(name) <= MAX_NAME and name.isprintable() and name == name.strip()


class WalletLock:
    """Who may sign: one process per directory, for as long as it lives."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_FILE
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        return self._handle is not None

    def take(self) -> bool:
        """Whether the lock is ours; asked anew each time, as the other desk may have ended."""
        if self._handle is not None:
            return True
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(self._path, flags, 0o600)
        except OSError as error:
            raise UnsafePlace(f"{self._path} cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
