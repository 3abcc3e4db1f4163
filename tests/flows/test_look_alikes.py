"""The corpus of look-alike symbols: nearly all are told, honest names are left alone."""

from __future__ import annotations

from corpus.honest_names import HONEST
from corpus.texts import RANKED, look_alikes
from swapdesk.flows.catalog.confusables import draws_like, suspicion
from swapdesk.wire.encoding.text import safe_text


def flagged(shown: str, reads: str) -> bool:
    """Whether the desk says of a symbol, as it came over the wire, that it is not ``reads``."""
    safe = safe_text(shown, 80)
    return suspicion(safe) is not None or draws_like(safe, reads)


def test_of_two_thousand_imitations_nearly_none_passes() -> None:
    cases = look_alikes()
    missed = [(shown, reads) for shown, reads in cases if not flagged(shown, reads)]
    assert len(RANKED) == 50
    assert len(cases) >= 2_000
    assert len(missed) <= 0.005 * len(cases), missed
    # What is written backwards is suspected by its characters alone.
    forwards = [one for one in cases if one[1][::-1] not in one[0]]
    drawn = [one for one in forwards if draws_like(safe_text(one[0], 80), one[1])]
    assert len(drawn) >= 0.99 * len(forwards)


def test_honest_foreign_names_are_not_said_to_imitate() -> None:
    wrong = [(name, symbol) for name in HONEST for symbol in RANKED if draws_like(name, symbol)]
    assert wrong == []


def test_of_two_hundred_honest_names_nearly_none_is_suspected() -> None:
    assert len(set(HONEST)) >= 200
    wrong = [name for name in HONEST if suspicion(safe_text(name, 80)) is not None]
    assert len(wrong) <= 0.01 * len(HONEST), wrong


def test_a_bar_is_a_letter_and_a_separator() -> None:
    assert draws_like("SU|", "SUI")
    assert draws_like("U|S|D|C", "USDC")
    assert not draws_like("SU|", "SU2")
