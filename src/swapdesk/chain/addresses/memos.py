"""Memos and destination tags: what a payout needs beside its address (contract 5.4).

A payment to an exchange without its memo may never be credited, so an empty one is let
through only by a typed phrase. Each chain has its own word and its own bounds; a text that
no transaction of the chain can carry is refused here.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.chain.addresses.kind import MemoRule
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS

WAIVER = "NO MEMO"
MAX_LENGTH = 64
"""What a field of the API holds (contract 7.1); chains may hold less."""

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


def memo_label(kind: str) -> str:
    """What the chain calls it: ``destination tag``, ``comment``, ``note``, else ``memo``."""
    rule = _rule(kind)
    return rule.label if rule else "memo"


def uses_memo(kind: str) -> bool:
    """Whether payments on this kind of chain carry a memo that exchanges read.

    Unknown kinds are taken to have one, so that none is lost.
    """
    return kind not in ADDRESS_KINDS or _rule(kind) is not None


def _rule(kind: str) -> MemoRule | None:
    known = ADDRESS_KINDS.get(kind)
    return known.memo if known is not None else None


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
        chain = chain_name or ADDRESS_KINDS[kind].chain
        return MemoVerdict(False, kind, "unused", f"{chain} has no memos. Leave it empty.")
    rule = _rule(kind) or MemoRule(label)
    if rule.largest is not None:
        return _check_number(kind, text, label, rule.largest)
    return _check_text(kind, text, rule)


def _without(
    kind: str, label: str, needed: bool | None, chain_name: str | None, symbol: str | None
) -> MemoVerdict:
    if not needed:
        return MemoVerdict(True, kind, "none", f"No {label}.")
    known = ADDRESS_KINDS.get(kind)
    subject = symbol or chain_name or (known.chain if known else "This chain")
    reason = f'{subject} needs a {label} for exchanges. Type "{WAIVER}" if this wallet has none.'
    return MemoVerdict(False, kind, "missing", reason)


def _check_number(kind: str, text: str, label: str, largest: int) -> MemoVerdict:
    for place, character in enumerate(text[: MAX_LENGTH + 1], start=1):
        if character not in _DIGITS:
            reason = f"A {label} is digits only: character {place} is not one."
            return MemoVerdict(False, kind, "character", reason, place)
    if len(text) > MAX_LENGTH or int(text) > largest:
        return MemoVerdict(False, kind, "range", f"A {label} is at most {largest}.")
    return MemoVerdict(True, kind, "valid", f"{label.capitalize()}.", normalized=str(int(text)))


def _check_text(kind: str, text: str, rule: MemoRule) -> MemoVerdict:
    label = rule.label
    if len(text) > rule.longest:
        reason = f"A {label} has at most {rule.longest} characters. This one has {len(text):,}."
        return MemoVerdict(False, kind, "length", reason)
    for place, character in enumerate(text, start=1):
        at_edge = character == " " and place in (1, len(text))
        if at_edge or not " " <= character <= "~":
            what = "a space at its edge" if at_edge else f"U+{ord(character):04X}"
            reason = f"A {label} is plain text: character {place} is {what}."
            return MemoVerdict(False, kind, "character", reason, place)
    said = f"{label.capitalize()}."
    if rule.largest_id is not None:
        said = "Memo id." if _is_id(text, rule.largest_id) else "Memo text."
    return MemoVerdict(True, kind, "valid", said, normalized=text)


def _is_id(text: str, largest: int) -> bool:
    """A whole number as it is written: ``007`` is text."""
    return set(text) <= _DIGITS and str(int(text)) == text and int(text) <= largest
