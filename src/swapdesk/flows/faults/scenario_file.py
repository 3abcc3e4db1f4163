"""Files of cases to practise on, and of their answers: TOML with a small, closed grammar.

A table of the file is a case. Its ``steps`` happen one after the other::

    [held]
    customer = "I paid an hour ago and nothing arrived."
    sell = "btc.bitcoin"
    amount = 0.05
    buy = "eth.ethereum"
    to = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    steps = [{ fault = "hold" }, { deposit = "as asked" }, { until = "VERIFYING" }]

The answers to ``NAME.toml`` stand beside it in ``NAME.answers.toml``, under the same names. A file
is somebody else's: it is bounded in every direction, and whatever is not of the grammar is refused
with its line. Pure but for the reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from swapdesk.flows.notation import written_seconds
from swapdesk.flows.support.diagnosis import Owner
from swapdesk.toml_document import ConfigProblem, TomlDocument, nearest, read_document
from swapdesk.wire.orders import DisplayStatus, LegStatus

PRACTICE = "practice"
"""Means the file that comes with swapdesk."""
LARGEST_FILE = 64 * 1024
MOST_CASES = 40
MOST_STEPS = 12
LONGEST_TEXT = 300
MOST_PROBLEMS = 5
AS_ASKED = "as asked"
ROUTES = ("standard", "private")
STATES = (*DisplayStatus, *(state.name for state in LegStatus))
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_LARGEST_AMOUNT = Decimal(10) ** 15
_SMALLEST_AMOUNT = Decimal(10) ** -18


class Fault(Struct, frozen=True):
    """``on``: what it meets, where that is not the case's own order."""

    fault: str
    on: str | None
    members: Mapping[str, Any]


class Deposit(Struct, frozen=True):
    """``amount`` None: as the order asks. ``memo``: another one, "" for none."""

    amount: Decimal | None
    memo: str | None


class MoveClock(Struct, frozen=True):
    """``step`` as ``trigger clock`` takes it."""

    step: str


class Until(Struct, frozen=True):
    """Until the order, or a leg of it, is in this state."""

    state: str


Step = Fault | Deposit | MoveClock | Until


class Case(Struct, frozen=True):
    """One order with what happens to it."""

    name: str
    customer: str
    """What the customer writes."""
    sell: str
    amount: Decimal
    buy: str
    to: str
    steps: tuple[Step, ...]
    refund: str | None = None
    route: str = ROUTES[0]
    fixed: bool = False
    provider: str | None = None
    pastes_transaction: bool = False
    """Whether the customer sends the hash of the deposit in place of the order's id."""


class AnswerRow(Struct, frozen=True):
    """What support should find: words of the diagnosis, and why in a sentence."""

    case: str
    rule: str
    money: str
    """Words that the diagnosis has of the money's place."""
    owner: Owner
    why: str


class ScenarioRefused(ValueError):
    """Sentences with file and line."""

    def __init__(self, problems: list[ConfigProblem]) -> None:
        more = len(problems) - MOST_PROBLEMS
        said = [str(problem) for problem in problems[:MOST_PROBLEMS]]
        super().__init__("; ".join([*said, *([f"and {more} more"] if more > 0 else [])]))


class _Wrong(ValueError):
    """What is wrong with one value."""


def read_cases(file: str) -> tuple[Case, ...]:
    """The cases of a file. Raises ScenarioRefused."""
    document = _read(_place(file))
    cases = [_case(document, name, table) for name, table in _tables(document)]
    _raise(document)
    return tuple(case for case in cases if case is not None)


def read_answers(file: str) -> tuple[AnswerRow, ...]:
    """The answers beside a file of cases. Raises ScenarioRefused."""
    document = _read(_place(file).with_suffix(".answers.toml"))
    rows = [_answer(document, name, table) for name, table in _tables(document)]
    _raise(document)
    return tuple(row for row in rows if row is not None)


def _place(file: str) -> Path:
    if file == PRACTICE:
        return Path(__file__).with_name("practice.toml")
    return Path(file)


def _read(place: Path) -> TomlDocument:
    document = read_document(place, LARGEST_FILE)
    if not document.content and not document.problems:
        said = "holds no case" if place.exists() else "does not exist"
        document.problems.append(ConfigProblem(place, None, "", said))
    _raise(document)
    return document


def _raise(document: TomlDocument) -> None:
    if document.problems:
        raise ScenarioRefused(document.problems)


def _tables(document: TomlDocument) -> list[tuple[str, dict[str, Any]]]:
    found = []
    if len(document.content) > MOST_CASES:
        document.refuse((), f"has more than {MOST_CASES} cases")
        return []
    for name, table in document.content.items():
        if not _NAME.fullmatch(name):
            said = "is no name of a case: up to 40 small letters, digits and hyphens"
            document.refuse((_brief(name),), said)
        elif not isinstance(table, dict):
            document.refuse((name,), "is no case: a case is a table, as [held]")
        else:
            found.append((name, table))
    return found


def _brief(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= LONGEST_TEXT // 5 else f"{shown[: LONGEST_TEXT // 5]}…"


# Values


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Wrong("is a text in quotes")
    if not 0 < len(value) <= LONGEST_TEXT:
        raise _Wrong(f"has 1 to {LONGEST_TEXT} characters")
    if not value.isprintable():
        raise _Wrong("holds a character that cannot be shown")
    return value


def _memo(value: object) -> str:
    return "" if value == "" else _text(value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("is true or false")
    return value


def _amount(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise _Wrong("is a number")
    amount = Decimal(value)
    if not amount.is_finite() or not _SMALLEST_AMOUNT <= amount <= _LARGEST_AMOUNT:
        raise _Wrong("is no amount that can be sent")
    if int(amount.as_tuple().exponent) < -18:
        raise _Wrong("has more than 18 decimals")
    return amount


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 1_000_000:
        raise _Wrong("is a whole number from 1 to 1,000,000")
    return value


def _clock_step(value: object) -> str:
    step = _text(value)
    if not written_seconds(step.removeprefix("+")):
        raise _Wrong("is a number with s, m, h or d, as +1h")
    return step


def _one_of(*words: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        text = _text(value)
        if text not in words:
            near = nearest(text, words)
            hint = f"; did you mean {near}?" if near else ""
            raise _Wrong(f"is one of {', '.join(words)}{hint}")
        return text

    return read


def _deposit(value: object) -> Decimal | None:
    if value == AS_ASKED:
        return None
    try:
        return _amount(value)
    except _Wrong:
        raise _Wrong(f'is "{AS_ASKED}" or an amount') from None


Reader = Callable[[object], Any]

_CASE: dict[str, Reader] = {
    "customer": _text,
    "sell": _text,
    "amount": _amount,
    "buy": _text,
    "to": _text,
    "refund": _text,
    "route": _one_of(*ROUTES),
    "fixed": _truth,
    "provider": _text,
    "pastes": _one_of("order", "transaction"),
}
_NEEDED = ("customer", "sell", "amount", "buy", "to")
_STEPS: dict[str, dict[str, Reader]] = {
    "fault": {
        "fault": _text,
        "on": _text,
        "leg": _one_of("in", "out"),
        "times": _whole,
        "seconds": _whole,
        "depth": _whole,
        "part": _text,
    },
    "deposit": {"deposit": _deposit, "memo": _memo},
    "clock": {"clock": _clock_step},
    "until": {"until": _one_of(*STATES)},
}
"""By what a step does: what it may have."""
_ANSWER: dict[str, Reader] = {
    "rule": _text,
    "money": _text,
    "owner": _one_of(*Owner),
    "why": _text,
}


def _members(
    document: TomlDocument, path: tuple[str, ...], table: dict[str, Any], known: dict[str, Reader]
) -> dict[str, Any]:
    """Every member as its reader reads it; what is wrong is noted with its line."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            document.refuse((*path, _brief(name)), "is unknown", nearest(_brief(name), known))
            continue
        try:
            found[name] = known[name](value)
        except _Wrong as wrong:
            document.refuse((*path, name), str(wrong))
    return found


def _case(document: TomlDocument, name: str, table: dict[str, Any]) -> Case | None:
    steps = table.pop("steps", None)
    known = {**_CASE, "steps": _text}
    found = _members(document, (name,), table, known)
    for needed in _NEEDED:
        if needed not in table:
            document.refuse((name,), f"lacks {needed}")
    read = _steps(document, name, steps)
    if document.problems:
        return None
    pastes = found.pop("pastes", "order")
    return Case(name, steps=read, pastes_transaction=pastes == "transaction", **found)


def _steps(document: TomlDocument, case: str, steps: object) -> tuple[Step, ...]:
    path = (case, "steps")
    if steps is None:
        return ()
    if not isinstance(steps, list) or len(steps) > MOST_STEPS:
        document.refuse(path, f"is a list of at most {MOST_STEPS} steps")
        return ()
    read = [_step(document, (*path, f"step {at}"), step) for at, step in enumerate(steps, 1)]
    return tuple(step for step in read if step is not None)


def _step(document: TomlDocument, path: tuple[str, ...], step: object) -> Step | None:
    does = [name for name in _STEPS if isinstance(step, dict) and name in step]
    if not isinstance(step, dict) or len(does) != 1:
        document.refuse(path, f"has one of {', '.join(_STEPS)}")
        return None
    before = len(document.problems)
    found = _members(document, path, step, _STEPS[does[0]])
    if len(document.problems) > before:
        return None
    match does[0]:
        case "fault":
            members = {name: value for name, value in found.items() if name not in ("fault", "on")}
            return Fault(found["fault"], found.get("on"), members)
        case "deposit":
            return Deposit(found["deposit"], found.get("memo"))
        case "clock":
            return MoveClock(found["clock"])
        case _:
            return Until(found["until"])


def _answer(document: TomlDocument, name: str, table: dict[str, Any]) -> AnswerRow | None:
    found = _members(document, (name,), table, _ANSWER)
    for needed in _ANSWER:
        if needed not in table:
            document.refuse((name,), f"lacks {needed}")
    if document.problems:
        return None
    return AnswerRow(name, found["rule"], found["money"], Owner(found["owner"]), found["why"])
