"""How a kind of payload is read: its title, and the meaning of each of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from swapdesk.agent.shapes.claim import Act, NonceKind, Target
from swapdesk.agent.shapes.meaning import Meaning

Meanings = Mapping[str, tuple[Meaning, str]]
"""Path of a field, list places left out (``details[].amount``), to its meaning and label."""


@dataclass(frozen=True)
class Shape:
    """``fields`` name every field there is: one that is missing here makes reading fail.

    ``sells_contract`` says that the contract is itself the token sold, ``sells_native`` that the
    coin of the chain is.
    """

    name: str
    title: str
    act: Act
    target: Target
    fields: Meanings
    roles: frozenset[str] = frozenset()
    nonce_kind: NonceKind = NonceKind.NONE
    limitless: int | None = None
    sells_contract: bool = False
    sells_native: bool = False
