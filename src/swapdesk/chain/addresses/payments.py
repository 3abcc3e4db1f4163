"""What a payment needs beside its address: memos and destination tags, and the code that holds all.

A payment to an exchange without its memo may never be credited, so an empty one is let through
only by a typed phrase. Each chain has its own word and its own bounds; a text that no transaction
of the chain can carry is refused here (contract 5.4). One that a program has made of a memo on its
way through a file is still a text that a chain carries: it is doubted, and whoever sends it agrees.

A link never asks for less than the whole truth: where its scheme cannot name the token, it holds
the address alone, because an amount without its token would be paid in the chain's own coin.
Sources: BIP 21 (Bitcoin and the chains that took it over), ERC-681, the Solana Pay specification,
Monero's ``uri_spec``, the ``xrpl`` links that XRP Ledger wallets document, SEP-7, the
``ton://transfer`` links of the TON documentation, ARC-26. ``tron:`` has no specification: wallets
read it in the form of BIP 21.
"""

from __future__ import annotations

import re
from decimal import Decimal

from swapdesk.chain.addresses.kind import MemoRule, PaymentLink, PaymentRequest, Verdict
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.wire.encoding.numbers import short, to_base_units
from swapdesk.wire.encoding.readers import character_in_words

WAIVER = "NO MEMO"
MAX_LENGTH = 64
"""What a field of the API holds (contract 7.1); chains may hold less."""

_DIGITS = frozenset("0123456789")


def memo_label(kind: str) -> str:
    """What the chain calls it: ``destination tag``, ``comment``, ``note``, else ``memo``."""
    rule = _rule(kind)
    return rule.label if rule else "memo"


def short_memo_label(label: str) -> str:
    """``Tag`` for ``destination tag``, ``Memo`` for ``memo``."""
    return label.split()[-1].capitalize()


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
) -> Verdict:
    """Is ``text`` a memo of this kind of chain? ``needed`` is the chain's ``memoNeeded``.

    ``NO MEMO`` typed exactly waives a needed one and sends nothing; the phrase itself is
    never sent as a memo. Never raises on any text.
    """
    label = memo_label(kind)
    if not text:
        return _without(kind, label, needed, chain_name, symbol)
    if text == WAIVER:
        return Verdict(True, kind, "waived", f"Sent without a {label}.")
    if text.strip().upper() == WAIVER:
        return Verdict(
            False, kind, "waiver", f'Type "{WAIVER}" in capitals to send without a {label}.'
        )
    if not uses_memo(kind) and not needed:
        chain = chain_name or ADDRESS_KINDS[kind].chain
        return Verdict(False, kind, "unused", f"{chain} has no memos. Leave it empty.")
    rule = _rule(kind) or MemoRule(label)
    if rule.largest is not None:
        return _check_number(kind, text, label, rule.largest)
    return _check_text(kind, text, rule)


def _without(
    kind: str, label: str, needed: bool | None, chain_name: str | None, symbol: str | None
) -> Verdict:
    if not needed:
        return Verdict(True, kind, "none", f"No {label}.")
    known = ADDRESS_KINDS.get(kind)
    subject = symbol or chain_name or (known.chain if known else "This chain")
    reason = f'{subject} needs a {label} for exchanges. Type "{WAIVER}" if this wallet has none.'
    return Verdict(False, kind, "missing", reason)


def _check_number(kind: str, text: str, label: str, largest: int) -> Verdict:
    for place, character in enumerate(text[: MAX_LENGTH + 1], start=1):
        if character not in _DIGITS:
            reason = f"A {label} is digits only: character {place} is not one."
            return Verdict(False, kind, "character", reason, place)
    if len(text) > MAX_LENGTH or int(text) > largest:
        return Verdict(False, kind, "range", f"A {label} is at most {largest}.")
    return Verdict(True, kind, "valid", f"{label.capitalize()}.", normalized=str(int(text)))


def _check_text(kind: str, text: str, rule: MemoRule) -> Verdict:
    label = rule.label
    if len(text) > rule.longest:
        reason = f"A {label} has at most {rule.longest} characters. This one has {len(text):,}."
        return Verdict(False, kind, "length", reason)
    for place, character in enumerate(text, start=1):
        at_edge = character == " " and place in (1, len(text))
        if at_edge or not " " <= character <= "~":
            what = "a space at its edge" if at_edge else character_in_words(character)
            reason = f"A {label} is plain text: character {place} is {what}."
            return Verdict(False, kind, "character", reason, place)
    said = f"{label.capitalize()}."
    if rule.largest_id is not None:
        said = "Memo id." if _is_id(text, rule.largest_id) else "Memo text."
    return Verdict(True, kind, "valid", said, normalized=text, doubt=_doubt(text, label))


def _is_id(text: str, largest: int) -> bool:
    """A whole number as it is written: ``007`` is text."""
    return set(text) <= _DIGITS and str(int(text)) == text and int(text) <= largest


_MONTH = "(?:Jan|Feb|Mar|Mrz|Apr|May|Mai|Jun|Jul|Aug|Sep|Oct|Okt|Nov|Dec|Dez)[a-z]*"

_MADE_BY_PROGRAMS = tuple(
    (re.compile(form, re.IGNORECASE), what)
    for form, what in (
        # 1077120345 as 1.07712E+09. A few digits around an e alone are an id in hexadecimal.
        (
            r"[+-]?\d+(?:[.,]\d+ ?E ?[+-]?\d+|E[+-]\d{1,3}|E\d{1,2})",
            "a number that was rounded to its first digits",
        ),
        (
            r"nan|nat|none|null|nil|n/?a|n\.a\.|<na>|[(<](?:null|none|empty|blank)[)>]|undefined"
            r"|\[object object\]|true|false|wahr|falsch|vrai|faux|[+-]?inf(?:inity)?|-+",
            "what a program writes for an empty or a computed cell",
        ),
        (
            r"#+|#[A-Z][A-Z0-9/_ ]*[!?]|#N/A(?: N/A)?|#NV|#NA|Err:\d+",
            "an error of a spreadsheet",
        ),
        (
            r"\d{4}([-/.])\d{1,2}\1\d{1,2}(?:[T ].*)?|\d{1,2}([-/.])\d{1,2}\2\d{2,4}(?: .*)?"
            rf"|\d{{1,2}}[-/. ]+{_MONTH}(?:[-/. ]+\d{{2,4}})?|{_MONTH}[-/. ]+\d{{2,4}}"
            r"|\d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?",
            "a date or a time of day",
        ),
        (
            r"[+-]?\d+(?:[.,]\d+)+%?|[+-]?\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d+)?"
            r"|[+-]\d+|\(\d+\)|\d+%|[$]\d.*",
            "a number that was written for reading, with a sign, a fraction or separators",
        ),
        (r"['\"`=].*|.*[\"`]", "a cell with the marks of a spreadsheet around it"),
        (r".*&(?:amp|lt|gt|quot|apos|nbsp|#x?[0-9a-f]+);.*|.*%[0-9A-F]{2}.*", "escaped text"),
        (r".*\.\.\.", "a text that was cut short"),
    )
)
"""What is left of a memo that a spreadsheet, a table of a program or a page had in between."""

_EXACT_DIGITS = 15
"""A spreadsheet keeps so many digits of a number and writes zeros for the rest; a binary fraction
of 64 bits keeps two more."""


def _doubt(text: str, label: str) -> str:
    """Why a text that the chain would carry may not be the memo that was given out."""
    made = next((what for form, what in _MADE_BY_PROGRAMS if form.fullmatch(text)), "")
    if not made and _is_rounded(text):
        made = "a number of which only the first digits are left"
    if not made:
        return ""
    return (
        f"This looks like {made}, not like a {label} that somebody gave out. Compare it with the"
        " one you were given."
    )


def _is_rounded(text: str) -> bool:
    more = len(text) - _EXACT_DIGITS
    if more < 1 or not set(text) <= _DIGITS:
        return False
    zeros = len(text) - len(text.rstrip("0"))
    return zeros >= max(min(more, 2), more - 2)


_NAME = re.compile(r"[0-9A-Za-z:_-]+")
"""What addresses, contracts and asset numbers are written with: nothing that ends a part of a
link or begins another."""


def payment_link(
    kind: str,
    chain_id: int | None,
    contract: str | None,
    address: str,
    amount: Decimal,
    memo: str | None,
    *,
    decimals: int,
    symbol: str = "",
) -> PaymentLink | None:
    """The link for paying ``amount`` (in whole tokens) to a checked ``address``, on a chain of this
    kind; None for a payment that no link can say, which has the plain address alone.

    ``contract`` is None for the chain's own coin, ``memo`` None or empty for none,
    ``decimals`` those of the token, ``symbol`` its code on the chain. An amount with more
    places than the token has cannot be paid and has no link, and so has a contract that is none:
    a link says what the card beside it says, whatever a service wrote. Raises ValueError for an
    amount that is not above zero.
    """
    if not amount.is_finite() or amount <= 0:
        raise ValueError("a payment has an amount above zero")
    known = ADDRESS_KINDS.get(kind)
    plain = all(_NAME.fullmatch(text) for text in (address, contract) if text is not None)
    payable = -int(short(amount).as_tuple().exponent) <= decimals
    if known is None or known.link is None or not plain or not payable:
        return None
    units = to_base_units(amount, decimals)
    return known.link(
        PaymentRequest(address, amount, units, contract, memo or None, symbol, chain_id)
    )
