"""Memos and destination tags: what a payout needs beside its address (contract 5.4).

A payment to an exchange without its memo may never be credited, so an empty one is let
through only by a typed phrase. Each chain has its own word and its own bounds; a text that
no transaction of the chain can carry is refused here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from swapdesk.chain.addresses.recognition import FAMILIES

WAIVER = "NO MEMO"
MAX_LENGTH = 64
"""What a field of the API holds (contract 7.1); chains may hold less."""
MAX_TAG = 2**32 - 1
MAX_MEMO_ID = 2**64 - 1
MAX_STELLAR_TEXT = 28

_DIGITS = frozenset("0123456789")


@dataclass(frozen=True)
class MemoVerdict:
    """The answer about one memo.

    ``code`` is one of valid, none, missing, waived, waiver, unused, character, length, range.
    ``normalized`` is what to send; empty for none. ``position`` counts from 1.
    """

    ok: bool
    kind: str
    code: str
    reason: str
    position: int | None = None
    normalized: str = ""


@dataclass(frozen=True)
class _Rule:
    label: str
    check: Callable[[str, str, str], MemoVerdict]


def memo_label(kind: str) -> str:
    """What the chain calls it: ``destination tag``, ``comment``, ``note``, else ``memo``."""
    rule = _RULES.get(kind)
    return rule.label if rule else "memo"


def uses_memo(kind: str) -> bool:
    """Whether payments on this kind of chain carry a memo that exchanges read.

    Unknown kinds are taken to have one, so that none is lost.
    """
    return kind in _RULES or kind not in FAMILIES


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
    if not uses_memo(kind) and not needed:
        chain = chain_name or FAMILIES[kind].chain
        return MemoVerdict(False, kind, "unused", f"{chain} has no memos. Leave it empty.")
    rule = _RULES.get(kind)
    return rule.check(kind, text, label) if rule else _check_text(kind, text, label)


def _without(
    kind: str, label: str, needed: bool | None, chain_name: str | None, symbol: str | None
) -> MemoVerdict:
    if not needed:
        return MemoVerdict(True, kind, "none", f"No {label}.")
    family = FAMILIES.get(kind)
    subject = symbol or chain_name or (family.chain if family else "This chain")
    reason = f'{subject} needs a {label} for exchanges. Type "{WAIVER}" if this wallet has none.'
    return MemoVerdict(False, kind, "missing", reason)


def _check_tag(kind: str, text: str, label: str) -> MemoVerdict:
    for place, character in enumerate(text[: MAX_LENGTH + 1], start=1):
        if character not in _DIGITS:
            reason = f"A {label} is digits only: character {place} is not one."
            return MemoVerdict(False, kind, "character", reason, place)
    if len(text) > MAX_LENGTH or int(text) > MAX_TAG:
        return MemoVerdict(False, kind, "range", f"A {label} is at most {MAX_TAG}.")
    return MemoVerdict(True, kind, "valid", f"{label.capitalize()}.", normalized=str(int(text)))


def _check_text(kind: str, text: str, label: str) -> MemoVerdict:
    return _bounded(kind, text, label, MAX_LENGTH)


def _check_stellar(kind: str, text: str, label: str) -> MemoVerdict:
    """A memo id is a whole number of 64 bits as it is written; anything else is text."""
    verdict = _bounded(kind, text, label, MAX_STELLAR_TEXT)
    if not verdict.ok:
        return verdict
    is_id = set(text) <= _DIGITS and str(int(text)) == text and int(text) <= MAX_MEMO_ID
    said = "Memo id." if is_id else "Memo text."
    return MemoVerdict(True, kind, "valid", said, normalized=text)


def _bounded(kind: str, text: str, label: str, longest: int) -> MemoVerdict:
    if len(text) > longest:
        reason = f"A {label} has at most {longest} characters. This one has {len(text):,}."
        return MemoVerdict(False, kind, "length", reason)
    for place, character in enumerate(text, start=1):
        at_edge = character == " " and place in (1, len(text))
        if at_edge or not " " <= character <= "~":
            what = "a space at its edge" if at_edge else f"U+{ord(character):04X}"
            reason = f"A {label} is plain text: character {place} is {what}."
            return MemoVerdict(False, kind, "character", reason, place)
    return MemoVerdict(True, kind, "valid", f"{label.capitalize()}.", normalized=text)


_RULES: dict[str, _Rule] = {
    "xrp": _Rule("destination tag", _check_tag),
    "xlm": _Rule("memo", _check_stellar),
    "ton": _Rule("comment", _check_text),
    "cosmos": _Rule("memo", _check_text),
    "algo": _Rule("note", _check_text),
    "sol": _Rule("memo", _check_text),
}
"""Kinds of chains whose payments can carry a memo; the others have none (see uses_memo)."""
