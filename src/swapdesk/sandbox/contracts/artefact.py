"""Compiled contracts as they are shipped: code, interface and places of the variables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Variable:
    """A storage variable: its first ``slot`` and its Vyper ``type``."""

    slot: int
    type: str


@dataclass(frozen=True)
class Artefact:
    """One contract. ``code`` is its runtime code; ``variables`` are named as in the source,
    those of a module as ``module.variable``."""

    name: str
    code: bytes
    abi: tuple[dict[str, Any], ...]
    variables: dict[str, Variable]


@cache
def artefact(name: str) -> Artefact:
    """The compiled contract of this name. Raises FileNotFoundError for one that is not shipped."""
    text = files(__package__).joinpath("artefacts", f"{name}.json").read_text(encoding="utf-8")
    document = json.loads(text)
    return Artefact(
        name=name,
        code=bytes.fromhex(document["code"]),
        abi=tuple(document["abi"]),
        variables={
            path: Variable(place["slot"], place["type"])
            for path, place in document["variables"].items()
        },
    )
