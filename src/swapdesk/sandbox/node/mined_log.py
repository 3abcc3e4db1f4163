"""A chain on disk: the newest snapshot of its state, and a log of what was mined since.

``NAME.snapshot`` starts with a number N; its log is ``NAME.N.log``. Both consist of frames: length,
checksum, payload.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from swapdesk.paths import make_directories

FULL_FLUSH: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""The macOS command that also empties the drive's cache; None elsewhere."""
_HEAD, _NUMBER = 8, 8
_LARGEST = 1 << 28
"""Largest payload in bytes; a frame that states a greater length is damaged."""


def chains_in(directory: Path) -> Path:
    """Returns the directory, inside a data directory, that holds the files of the embedded
    chains."""
    return directory / "chains"


def chain_files(directory: Path, name: str) -> list[Path]:
    """Returns the files of a chain in a directory, including files in the formats of earlier
    releases."""
    return sorted(chains_in(directory).glob(f"{name}.*"))


class ChainFileMismatch(Exception):
    """Raised if the directory holds a chain that another release wrote, or one with a different
    chain id or genesis."""


class LogDamaged(Exception):
    """Raised if a file differs from what was written, so that its mined transactions cannot be
    trusted."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is damaged")


class MinedLog:
    """The snapshot and the log of one chain, for one thread only. Call ``read`` before the first
    ``append``."""

    def __init__(self, directory: Path, name: str) -> None:
        make_directories(directory)
        self._directory = directory
        self._name = name
        self._number = 0
        self._file: int | None = None
        self._end = 0

    def read(self) -> tuple[bytes | None, list[bytes]]:
        """Returns the snapshot, or None if there is none, and all later payloads in sequence. A
        last payload that a crash left incomplete is dropped. Raises LogDamaged."""
        snapshot = self.snapshot()
        self._open_log()
        for stale in self._directory.glob(f"{self._name}.*.log"):
            if stale != self._log_path:
                stale.unlink()
        content = self._log_path.read_bytes()
        payloads = []
        for payload, end in _frames(content, self._log_path):
            payloads.append(payload)
            self._end = end
        os.ftruncate(self._opened, self._end)
        return snapshot, payloads

    def append(self, payload: bytes) -> None:
        """Appends a payload, which is durable when this method returns. An OSError means that the
        log is unchanged."""
        frame = _frame(payload)
        try:
            _write(self._opened, frame, self._end)
            _flush(self._opened)
        except OSError:
            # Half a frame in the middle would make the log look damaged.
            with contextlib.suppress(OSError):
                os.ftruncate(self._opened, self._end)
            raise
        self._end += len(frame)

    def replace(self, snapshot: bytes) -> None:
        """Writes a new snapshot and begins a new, empty log. After an OSError, the old snapshot and
        log stay valid."""
        number = self._number + 1
        fresh = self._directory / f"{self._name}.snapshot.new"
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            _write(file, number.to_bytes(_NUMBER, "big") + _frame(snapshot), 0)
            _flush(file)
        finally:
            os.close(file)
        fresh.rename(self._snapshot_path)
        self._sync_directory()
        old = self._log_path
        self.close()
        self._number = number
        self._open_log()
        old.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def _snapshot_path(self) -> Path:
        return self._directory / f"{self._name}.snapshot"

    @property
    def _log_path(self) -> Path:
        return self._directory / f"{self._name}.{self._number}.log"

    @property
    def _opened(self) -> int:
        if self._file is None:
            raise RuntimeError("the log is not open")
        return self._file

    def snapshot(self) -> bytes | None:
        """Returns the newest snapshot; None if there is none yet. Raises LogDamaged."""
        path = self._snapshot_path
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            self._number = 0
            return None
        self._number = int.from_bytes(content[:_NUMBER], "big")
        payloads = [payload for payload, _ in _frames(content[_NUMBER:], path)]
        if len(payloads) != 1:
            raise LogDamaged(path)
        return payloads[0]

    def _open_log(self) -> None:
        self.close()
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        self._file = os.open(self._log_path, flags, 0o600)
        self._end = 0
        self._sync_directory()

    def _sync_directory(self) -> None:
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _flush(file: int) -> None:
    os.fsync(file)
    if FULL_FLUSH is not None:
        fcntl.fcntl(file, FULL_FLUSH)


def _frame(payload: bytes) -> bytes:
    if not 0 < len(payload) <= _LARGEST:
        raise ValueError(f"a payload of {len(payload)} bytes")
    return len(payload).to_bytes(4, "big") + zlib.crc32(payload).to_bytes(4, "big") + payload


def _frames(content: bytes, path: Path) -> Iterator[tuple[bytes, int]]:
    start = 0
    while start + _HEAD <= len(content):
        length = int.from_bytes(content[start : start + 4], "big")
        if not length:
            if any(content[start:]):
                raise LogDamaged(path)
            return  # the file grew before a power cut, its bytes never came
        end = start + _HEAD + length
        payload = content[start + _HEAD : end]
        if zlib.crc32(payload) != int.from_bytes(content[start + 4 : start + _HEAD], "big"):
            if length > _LARGEST or end < len(content):
                raise LogDamaged(path)
            return
        if end > len(content):
            return
        yield payload, end
        start = end


def _write(file: int, content: bytes, offset: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written
