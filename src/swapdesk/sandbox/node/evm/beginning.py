"""What block 0 of a stored chain was made of: a directory is opened only by what began it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from swapdesk.sandbox.chain_rows import ChainTerms
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, MinedLog

FORMAT = 1


class Beginning(Struct, frozen=True):
    """The snapshot that the log of a chain continues. ``genesis`` is the digest of its content,
    the rest is when it began."""

    chain_id: int
    genesis: str
    timestamp: int
    slot: int
    format: int = FORMAT


def chains_in(directory: Path) -> Path:
    """Where the chains of a data directory are kept."""
    return directory / "chains"


def chain_files(directory: Path, name: str) -> list[Path]:
    """Those of a chain, also those of another release."""
    return sorted(chains_in(directory).glob(f"{name}.*"))


def read_beginning(directory: Path, terms: ChainTerms, genesis: str) -> Beginning | None:
    """None before the chain has begun. Raises ChainFileMismatch, and LogDamaged."""
    place = chains_in(directory) / terms.short_name
    if place.with_suffix(".db").exists():
        raise _mismatch(place, "was made by another release")
    snapshot = MinedLog(chains_in(directory), terms.short_name).snapshot()
    if snapshot is None:
        return None
    try:
        beginning = msgspec.msgpack.decode(snapshot, type=Beginning)
    except msgspec.MsgspecError:
        raise _mismatch(place, "was made by another release") from None
    if beginning.format != FORMAT:
        raise _mismatch(place, "was made by another release")
    if beginning.chain_id != terms.chain_id:
        raise _mismatch(place, f"holds chain id {beginning.chain_id}, not {terms.chain_id}")
    if beginning.genesis != genesis:
        raise _mismatch(place, "was begun with other contracts or keys")
    return beginning


def _mismatch(place: Path, problem: str) -> ChainFileMismatch:
    remedy = "choose another data directory, or remove it to begin a new world"
    return ChainFileMismatch(f"{place} {problem}; {remedy}")
