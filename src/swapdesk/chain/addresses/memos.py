"""Memos and destination tags: what a payout needs beside its address (spec: memoNeeded).

A payment to an exchange without its memo may never be credited, so an empty one is let
through only by a typed phrase.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.chain.addresses.recognition import FAMILIES

WAIVER = "NO MEMO"
MAX_LENGTH = 64
MAX_TAG = 2**32 - 1

_DIGITS = frozenset("0123456789")


@dataclass(frozen=True)
class MemoVerdict:
    """The answer about one memo.

    ``code`` is one of valid, none, missing, waived, waiver, character, length, range.
    ``normalized`` is what to send; empty for none. ``position`` counts from 1.
    """

    ok: bool
    kind: str
    code: str
    reason: str
    position: int | None = None
    normalized: str = ""


def memo_label(kind: str) -> str:
    """What the chain calls it: ``destination tag`` on the XRP Ledger, else ``memo``."""
    return "destination tag" if kind == "xrp" else "memo"


def check_memo(
    kind: str,
    text: str,
    needed: bool | None,
    *,
    chain_name: str | None = None,
    symbol: str | None = None,
) -> MemoVerdict:
    """Is ``text`` a memo of this kind of chain? ``needed`` is the chain's ``memoNeeded``.

    ``NO MEMO`` typed exactly waives a needed one and sends nothing; the phrase itself is
    never sent as a memo. Never raises on any text.
    """
    label = memo_label(kind)
    if not text:
        return _without(kind, label, needed, chain_name, symbol)
    if text == WAIVER:
        return MemoVerdict(True, kind, "waived", f"Sent without a {label}.")
    if text.strip().upper() == WAIVER:
        return MemoVerdict(
            False, kind, "waiver", f'Type "{WAIVER}" in capitals to send without a {label}.'
        )
    return _check_tag(kind, text) if kind == "xrp" else _check_text(kind, text)


def _without(
    kind: str, label: str, needed: bool | None, chain_name: str | None, symbol: str | None
) -> MemoVerdict:
    if not needed:
        return MemoVerdict(True, kind, "none", f"No {label}.")
    family = FAMILIES.get(kind)
    subject = symbol or chain_name or (family.chain if family else "This chain")
    reason = f'{subject} needs a {label} for exchanges. Type "{WAIVER}" if this wallet has none.'
    return MemoVerdict(False, kind, "missing", reason)


def _check_tag(kind: str, text: str) -> MemoVerdict:
    for place, character in enumerate(text[: MAX_LENGTH + 1], start=1):
        if character not in _DIGITS:
            reason = f"A destination tag is digits only: character {place} is not one."
            return MemoVerdict(False, kind, "character", reason, place)
    if len(text) > MAX_LENGTH or int(text) > MAX_TAG:
        return MemoVerdict(False, kind, "range", f"A destination tag is at most {MAX_TAG}.")
    return MemoVerdict(True, kind, "valid", "Destination tag.", normalized=str(int(text)))


def _check_text(kind: str, text: str) -> MemoVerdict:
    if len(text) > MAX_LENGTH:
        reason = f"A memo has at most {MAX_LENGTH} characters. This one has {len(text):,}."
        return MemoVerdict(False, kind, "length", reason)
    for place, character in enumerate(text, start=1):
        at_edge = character == " " and place in (1, len(text))
        if at_edge or not " " <= character <= "~":
            what = "a space at its edge" if at_edge else f"U+{ord(character):04X}"
            reason = f"A memo is plain text: character {place} is {what}."
            return MemoVerdict(False, kind, "character", reason, place)
    return MemoVerdict(True, kind, "valid", "Memo.", normalized=text)
