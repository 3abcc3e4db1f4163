"""How a transaction stands, by the word that is shown for it."""

from __future__ import annotations

from typing import get_args

from swapdesk.acts import State
from swapdesk.wallet.answers import TransactionCode, TransactionWord

WORDS: tuple[TransactionWord, ...] = get_args(TransactionWord)
_STATES = {
    "signed": State.PREPARED,
    "sending": State.UNKNOWN,
    "sent": State.SENT,
    "mined": State.SENT,
    "succeeded": State.DONE,
}


def standing(word: TransactionWord) -> tuple[State, TransactionCode | None]:
    """State and code."""
    code = word.upper() if word.upper() in get_args(TransactionCode) else None
    return _STATES.get(word, State.REFUSED), code
