"""A chain's log over kills: what ``append`` returned for stays, half a frame does not count."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from swapdesk.sandbox.node.mined_log import LogDamaged, MinedLog


def _content(directory: Path) -> tuple[bytes | None, list[bytes]]:
    log = MinedLog(directory, "chain")
    try:
        return log.read()
    finally:
        log.close()


def _written(directory: Path, *payloads: bytes) -> MinedLog:
    log = MinedLog(directory, "chain")
    log.read()
    for payload in payloads:
        log.append(payload)
    return log


def test_a_kill_at_any_byte_loses_only_the_frame_that_was_being_written(tmp_path: Path) -> None:
    _written(tmp_path, b"first", b"second").close()
    path = tmp_path / "chain.0.log"
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        expected = [b"first", b"second"][: (length >= 13) + (length >= 27)]
        assert _content(tmp_path) == (None, expected)
        log = _written(tmp_path, b"after")
        log.close()
        assert _content(tmp_path) == (None, [*expected, b"after"])


@pytest.mark.parametrize("head", [len(b"second").to_bytes(4, "big") + b"\1\2\3\4", bytes(8)])
def test_zeros_after_a_power_cut_are_no_frame(tmp_path: Path, head: bytes) -> None:
    _written(tmp_path, b"first").close()
    path = tmp_path / "chain.0.log"
    path.write_bytes(path.read_bytes() + head + bytes(6))
    assert _content(tmp_path) == (None, [b"first"])


@pytest.mark.parametrize("position", [0, 5, 9])
def test_a_changed_byte_before_other_frames_is_damage(tmp_path: Path, position: int) -> None:
    _written(tmp_path, b"first", b"second").close()
    path = tmp_path / "chain.0.log"
    content = bytearray(path.read_bytes())
    content[position] ^= 0x40
    path.write_bytes(content)
    with pytest.raises(LogDamaged):
        _content(tmp_path)


def test_a_snapshot_takes_the_place_of_what_it_holds(tmp_path: Path) -> None:
    log = _written(tmp_path, b"first")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    log.replace(b"state")
    log.append(b"second")
    log.close()
    assert _content(tmp_path) == (b"state", [b"second"])
    # Killed between the rename and the removal of the old log, or before the rename.
    (tmp_path / "chain.0.log").write_bytes(before["chain.0.log"])
    (tmp_path / "chain.snapshot.new").write_bytes(b"half")
    assert _content(tmp_path) == (b"state", [b"second"])
    assert not (tmp_path / "chain.0.log").exists()


def test_a_damaged_snapshot_is_refused(tmp_path: Path) -> None:
    log = _written(tmp_path)
    log.replace(b"state")
    log.close()
    path = tmp_path / "chain.snapshot"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(LogDamaged):
        _content(tmp_path)


def test_what_a_full_disk_refused_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _written(tmp_path, b"first")
    write = os.pwrite

    def full(file: int, content: bytes, offset: int) -> int:
        write(file, bytes(content)[:3], offset)
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="no space"):
            log.append(b"second")
    log.append(b"third")
    log.close()
    assert _content(tmp_path) == (None, [b"first", b"third"])
