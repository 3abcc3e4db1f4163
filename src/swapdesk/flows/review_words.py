"""A review as a screen writes it: each field beside what was promised, and the count of both.

The wallet agent judged; here a promise that repeats what stands beside it is only said shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from swapdesk.flows.notation import grouped_address
from swapdesk.wallet.review import BalanceChange, Match, Review, ReviewLine, Severity
from swapdesk.wire.encoding.numbers import from_base_units, short

SAME = "the same"
AGENTS_COIN = "of the chain's coin"
"""How the agent, which knows no names of coins, writes one."""
NOTHING_SIGNED = "Nothing of this was signed."


@dataclass(frozen=True)
class MatchRow:
    """``promised`` for an equal field may be shorter than what was promised."""

    field: str
    signed: str
    match: Match
    promised: str
    weight: bool = False


@dataclass(frozen=True)
class Moved:
    """What a simulation moved of one holder: signed amounts with their symbols."""

    holder: str
    yours: bool
    amounts: tuple[tuple[Decimal, str], ...]


@dataclass(frozen=True)
class Names:
    """What the trader calls what the agent knows by code: the account that signs, the provider
    of the quote, the coin of the chain. Empty where it has no name."""

    wallet: str = ""
    venue: str | None = None
    venue_name: str | None = None
    coin: str = ""


def match_rows(review: Review, names: Names) -> tuple[MatchRow, ...]:
    """The fields of a review, in its order."""
    own = grouped_address(review.account)
    return tuple(
        MatchRow(
            one.field,
            _named(one.signed, names),
            one.match,
            _named(_promised(one, own, names.wallet), names),
            one.weight,
        )
        for one in review.lines
    )


def _promised(line: ReviewLine, own: str, wallet: str) -> str:
    """Shorter where the two are equal and the promise only repeats what stands beside it."""
    if line.match is not Match.EQUAL or not line.signed:
        return line.promised
    if line.signed == own and own in line.promised:
        return f"wallet {wallet}" if wallet else "your account"
    if line.promised == line.signed:
        return SAME
    if line.signed.startswith("0x "):
        return line.promised.replace(line.signed, "").strip() or SAME
    return line.promised.replace(f", {line.signed},", ",")


def _named(text: str, names: Names) -> str:
    if names.coin:
        text = text.replace(AGENTS_COIN, names.coin)
    if names.venue and names.venue_name:
        text = text.replace(f'the provider "{names.venue}"', names.venue_name)
    return text


def match_count(review: Review) -> str:
    """``10 of 11 fields match the quote, 1 is not in it. No field contradicts it.``"""
    total = len(review.lines)
    equal = sum(one.match is Match.EQUAL for one in review.lines)
    missing = sum(one.match is Match.UNMATCHED for one in review.lines)
    against = [one.field for one in review.lines if one.match is Match.DIFFERS]
    said = f"{equal} of {total} {_fields(total)} match{'es' if total == 1 else ''} the quote"
    if missing:
        said += f", {missing} {'is' if missing == 1 else 'are'} not in it"
    if against:
        verb = "contradicts" if len(against) == 1 else "contradict"
        return f"{said}. {', '.join(against)} {verb} it."
    return f"{said}. No field contradicts it."


def _fields(count: int) -> str:
    return "field" if count == 1 else "fields"


def unmatched(review: Review) -> tuple[str, ...]:
    """The fields that stand in no quote, by name; those that weigh more than a label first."""
    found = [one for one in review.lines if one.match is Match.UNMATCHED]
    return tuple(one.field for one in sorted(found, key=lambda one: not one.weight))


def objections(review: Review, severity: Severity) -> tuple[str, ...]:
    """What the rules say against it, each with its code."""
    return tuple(
        f"{one.words} Rule {one.code}." for one in review.findings if one.severity is severity
    )


def moved(review: Review) -> tuple[Moved, ...]:
    """What the simulation moved by holder, the account that signs first."""
    if review.simulation is None:
        return ()
    by_holder: dict[str, list[BalanceChange]] = {}
    for one in review.simulation.changes:
        by_holder.setdefault(one.holder, []).append(one)
    found = [
        Moved(holder, holder.lower() == review.account.lower(), _amounts(changes))
        for holder, changes in by_holder.items()
    ]
    return tuple(sorted(found, key=lambda one: not one.yours))


def _amounts(changes: Sequence[BalanceChange]) -> tuple[tuple[Decimal, str], ...]:
    return tuple(
        (
            Decimal(one.units)
            if one.decimals is None
            else short(from_base_units(one.units, one.decimals)),
            one.symbol if one.decimals is not None else f"units of {one.symbol}",
        )
        for one in changes
    )


def digest_groups(digest: str) -> tuple[str, ...]:
    """``0x`` and groups of four in two halves."""
    body = digest.removeprefix("0x")
    groups = [body[at : at + 4] for at in range(0, len(body), 4)]
    half = (len(groups) + 1) // 2
    return (" ".join(["0x", *groups[:half]]), " ".join(groups[half:]))
