"""The corpus of look-alike symbols: nearly all are told, honest names are left alone."""

from __future__ import annotations

from corpus.honest_names import HONEST
from corpus.texts import RANKED, look_alikes
from swapdesk.flows.confusables import draws_like, suspicion
from swapdesk.wire.encoding.text import safe_text


def flagged(shown: str, reads: str) -> bool:
    """Whether the desk says of a symbol, as it came over the wire, that it is not ``reads``."""
    safe = safe_text(shown, 80)
    return suspicion(safe) is not None or draws_like(safe, reads)


def test_of_a_thousand_imitations_nearly_none_passes() -> None:
    cases = look_alikes()
    missed = [(shown, reads) for shown, reads in cases if not flagged(shown, reads)]
    assert len(cases) >= 250
    assert len(missed) <= 0.005 * len(cases), missed


def test_honest_foreign_names_are_not_said_to_imitate() -> None:
    wrong = [(name, symbol) for name in HONEST for symbol in RANKED if draws_like(name, symbol)]
    assert wrong == []
