"""A service and a journal whose every text for people is replaced by a hostile one.

Which fields those are is read from the models of the wire: whatever is marked as text that
people read. Identity text (ids, symbols, addresses) stays: a hostile one refuses its object.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import httpx2

from flows.faulty_network import changed
from swapdesk.wire import account, chains, errors, orders, quotes, tokens
from swapdesk.wire.encoding.text import Display
from swapdesk.wire.model import WireModel

MODULES = (account, chains, errors, orders, quotes, tokens)
SYMBOLS = frozenset({"symbol", "inSymbol", "outSymbol"})
"""What a person types to find a token: kept in answers, replaced in the journal."""
WORDS = frozenset({"type"})
"""Words of the protocol that refuse their object when they are not one."""
MARK = "Q7"
"""Stands before every text, so that what follows it on a screen can be compared."""


@cache
def text_fields() -> frozenset[str]:
    """The names on the wire of all fields that hold text for people."""
    names = set()
    for module in MODULES:
        for model in vars(module).values():
            if isinstance(model, type) and issubclass(model, WireModel):
                hints = get_type_hints(model, include_extras=True)
                for name, field in model.model_fields.items():
                    if _holds_text(hints[name]):
                        alias = field.alias or field.serialization_alias
                        names.add(alias or name)
    return frozenset(names)


def _holds_text(hint: Any) -> bool:
    if any(isinstance(one, Display) for one in getattr(hint, "__metadata__", ())):
        return True
    return any(_holds_text(part) for part in get_args(hint))


class HostileTexts:
    """Puts the texts in turn where the service wrote its own; ``used`` counts them."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.used = 0
        self._answers = _strings(text_fields() - SYMBOLS - WORDS)
        self._orders = _strings(text_fields() - WORDS)

    def _into(self, document: str, fields: re.Pattern[str]) -> str:
        return fields.sub(lambda found: found[1] + json.dumps(MARK + self._next()), document)

    def into_answer(self, document: str) -> str:
        """The answer with every text for people replaced, but for symbols."""
        return self._into(document, self._answers)

    def answer(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """For ``FaultyNetwork.after``."""
        return changed(
            response, lambda body: self.into_answer(body.decode()).encode("utf-8", "surrogatepass")
        )

    def into_journal(self, path: Path) -> None:
        """Replace the texts of the orders that the journal of a desk holds."""
        if not path.exists():
            return
        with sqlite3.connect(path) as db:
            for table, column in (("known_order", "last"), ("event", "raw")):
                rows = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()  # noqa: S608
                for rowid, document in rows:
                    db.execute(
                        f"UPDATE {table} SET {column} = ? WHERE rowid = ?",  # noqa: S608
                        (self._into(document, self._orders), rowid),
                    )
        db.close()

    def _next(self) -> str:
        self.used += 1
        return self.texts[self.used % len(self.texts)]


def _strings(names: frozenset[str]) -> re.Pattern[str]:
    """The text values of these names in a JSON document; group 1 is all before the value."""
    named = "|".join(map(re.escape, sorted(names)))
    return re.compile(rf'("(?:{named})": ?)"(?:[^"\\]|\\.)*"')


def unsafe_characters(text: str) -> Iterator[str]:
    """Characters of a screen that a terminal would act on or not show."""
    return (char for char in text if char != "\n" and not char.isprintable())
