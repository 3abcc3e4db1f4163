"""Where Vyper keeps what, so that genesis can write the storage a constructor would.

A value takes its slot; a text its length and then 32 bytes a slot; an entry of a map lies at
``keccak256(slot ‖ key)``, and a map of maps does that again.
"""

from __future__ import annotations

from functools import lru_cache

from swapdesk.chain.addresses.evm import keccak

Storage = dict[int, int]
"""Slot to value, both below 2^256."""


def _word(value: int | str) -> bytes:
    """A number or an address as 32 bytes."""
    number = int(value, 16) if isinstance(value, str) else value
    return number.to_bytes(32, "big")


@lru_cache(maxsize=8_192)
def entry(slot: int, *keys: int | str) -> int:
    """The slot of ``map[key]…[key]`` for a map at ``slot``; keys are numbers or addresses."""
    for key in keys:
        slot = int.from_bytes(keccak(slot.to_bytes(32, "big") + _word(key)), "big")
    return slot


def text(slot: int, value: str) -> Storage:
    """What a text at ``slot`` takes: its length in bytes, then the bytes."""
    data = value.encode()
    words = {
        slot + 1 + i // 32: int.from_bytes(data[i : i + 32].ljust(32, b"\0"), "big")
        for i in range(0, len(data), 32)
    }
    return {slot: len(data), **words}


def number(value: int | str) -> int:
    """A number or an address as it lies in a slot."""
    return int.from_bytes(_word(value), "big")
