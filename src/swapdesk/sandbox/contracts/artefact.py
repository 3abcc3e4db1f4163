"""Reads the compiled contracts, and computes where Vyper stores their variables.

A number or an address is in the slot of its variable. A text has its length there and its bytes in
the slots after it. An entry of a map is at ``keccak256(slot ‖ key)``.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from msgspec import Struct

from swapdesk.chain.addresses.evm import keccak


class Artefact(Struct, frozen=True):
    """A compiled contract: its runtime code, and the first storage slot of each variable. A
    module's variables are named ``module.variable``."""

    code: bytes
    abi: tuple[dict[str, Any], ...]
    slots: dict[str, int]


@cache
def artefact(name: str) -> Artefact:
    """Returns the compiled contract of this name. Raises FileNotFoundError if this package has no
    contract of this name."""
    text = files(__package__).joinpath("artefacts", f"{name}.json").read_text(encoding="utf-8")
    document = json.loads(text)
    return Artefact(
        code=bytes.fromhex(document["code"]),
        abi=tuple(document["abi"]),
        slots={path: place["slot"] for path, place in document["variables"].items()},
    )


Storage = dict[int, int]
"""The storage of a contract: values by slot, both below 2^256."""


@lru_cache(maxsize=8_192)
def entry(slot: int, *keys: int | str) -> int:
    """Returns the storage slot of an entry of the map at ``slot``. Keys are numbers or addresses;
    each further key selects an entry of a nested map."""
    for key in keys:
        slot = int.from_bytes(
            keccak(slot.to_bytes(32, "big") + number(key).to_bytes(32, "big")), "big"
        )
    return slot


def text(slot: int, value: str) -> Storage:
    """Returns the storage of a text variable at ``slot``: its length in bytes, then its bytes."""
    data = value.encode()
    words = {
        slot + 1 + i // 32: int.from_bytes(data[i : i + 32].ljust(32, b"\0"), "big")
        for i in range(0, len(data), 32)
    }
    return {slot: len(data), **words}


def number(value: int | str) -> int:
    """Returns a number or an address as a storage word."""
    return int(value, 16) if isinstance(value, str) else value
