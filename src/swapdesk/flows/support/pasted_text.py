"""What a pasted text can be read as: ids, addresses, hashes, memos and amounts.

A single word is read as everything it can be. Of a longer text (an e-mail, a page, a link) only
words are taken that prove something by their form, and what a word in front of them names. One
word can have several readings, and all of them are kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.kind import AddressProblem, Proof, with_article
from swapdesk.chain.addresses.kinds import kinds_by_proof
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.support.pasted_secret import secret_in

LONGEST = 1 << 20
"""Characters that are read; what is longer is refused."""
MOST_WORDS = 200_000
"""Words of a long text, and parts of its links, that are looked at."""
CUT = "Its end was not read: it is very long. Paste the part that names the order."
MOST_READINGS = 12
WORD_LIMIT = 256


class ReadAs(StrEnum):
    """What is looked for, and therefore where."""

    ID = "id"
    """Of an order, a group, a quote or a record."""
    TRANSACTION = "transaction"
    ADDRESS = "address"
    REQUEST = "request"
    AMOUNT = "amount"
    MEMO = "memo"


class Reading(Struct, frozen=True):
    """One thing that the text can be."""

    kind: ReadAs
    value: str
    """As it is looked for: ``0x8f2c…``, ``h8Kq2PdT5mXcVbN3wRtY7z``, ``12,000 USDT``."""
    called: str
    """A noun phrase: ``a Solana signature``, ``a Bitcoin address``, ``an amount``."""
    spellings: tuple[str, ...] = ()
    """Other spellings of the same address."""
    chains: tuple[str, ...] = ()
    """Kinds of chains it can belong to (contract 5.1): ``("evm",)``."""
    amount: Decimal | None = None
    symbol: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.value, *self.spellings)


class PastedText(Struct, frozen=True):
    """``problem`` is a sentence where nothing is looked for. The text itself is not kept."""

    readings: tuple[Reading, ...] = ()
    problem: str = ""
    secret: bool = False
    """Whether the problem is a key or a phrase."""
    cut: bool = False
    """Whether the end of a long text was not looked at."""

    def of(self, kind: ReadAs) -> list[Reading]:
        return [reading for reading in self.readings if reading.kind is kind]

    @property
    def warning(self) -> str:
        """A sentence where a hash has the form of a key; empty else."""
        return MAY_BE_KEY if any(_HEX_64.fullmatch(one.value) for one in self.readings) else ""


BEGINNING = "an order id, or the beginning of one"
NOTHING = "Nothing was pasted."
UNREADABLE = (
    "Nothing in it can be looked up. Paste an order id, an address, a hash, a memo, a request id,"
    " a link, or an amount with its symbol."
)
MAY_BE_KEY = (
    "Sixty-four digits can also be a private key. If that is one, do not look it up: its owner"
    " moves the money to a new wallet."
)
TOO_LONG = "This text is longer than 1 MiB. Paste the part with the id, the address or the hash."

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX_64 = re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}")
_HEX_24 = re.compile(r"[0-9a-fA-F]{24}")
_ID = re.compile(r"[A-Za-z0-9_-]{4,64}")
_STRONG_ID = re.compile(r"(?=[^ ]*[0-9])(?=[^ ]*[A-Za-z])[A-Za-z0-9_-]{16,64}")
_SHORT_UUID = re.compile(r"(?=[^ ]*[a-z])(?=.[^ ]*[A-Z])[2-9A-HJ-NP-Za-km-z]{22}")
"""One id in thirty has no digit."""
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,88}")
_BASE58_HASHES = {64: ("a Solana signature", "sol"), 32: ("a Sui transaction hash", "sui")}
_BASE32_52 = re.compile(r"[A-Z2-7]{52}")
_MEMO = re.compile(r"[!-~]{1,64}")
_DIGITS = re.compile(r"[0-9]{1,20}")
_BETWEEN = re.compile(r"[\s<>()\[\]{}\"'`,;|*\\]+")
_PARTS = re.compile(r"[/?#&=:]+")
# No pattern that is searched has a repetition without an end: every character costs the same.
_NAMED_MEMO = re.compile(
    r"\b(?:memo|(?:destination[\s_-]{0,3})?tag|payment[\s_-]{0,3}id|comment)\b[\s:#='\"*]{0,8}"
    r"(?:(?:is|was)[\s:]{1,3})?((?=[A-Za-z]{0,63}[0-9])[A-Za-z0-9]{1,64})\b",
    re.IGNORECASE,
)
_NAMED_ID = re.compile(
    r"\b(?:order|exchange|swap|group|batch|quote|reference|ref|id|nr|no)\b[\s.:#='\"*]{0,8}"
    r"(?:(?:id|number|no|nr)\b[\s.:#='\"*]{0,8})?(?:(?:is|was)[\s:]{1,3})?#?"
    r"((?=[A-Za-z_-]{0,63}[0-9])[A-Za-z0-9_-]{6,64})\b",
    re.IGNORECASE,
)
_NUMBER = r"\d{1,3}(?:[ ,.'’\u00a0]\d{3}){1,6}(?:[.,]\d{1,18})?|\d{1,18}(?:[.,]\d{1,18})?"
_AMOUNT = re.compile(
    rf"(?<![\w.,])(?:(?P<number>{_NUMBER})\s?(?P<symbol>[A-Za-z][A-Za-z0-9.]{{1,9}})"
    rf"|(?P<before>[A-Z][A-Z0-9]{{1,9}})\s?(?P<after>{_NUMBER}))(?![\w])"
)
_FREE = frozenset({"\n", "\r", "\t"})


def read_pasted(
    text: str, *, is_symbol: Callable[[str], bool], own_secrets: tuple[str, ...] = ()
) -> PastedText:
    """Every reading of ``text``. ``is_symbol`` says whether a word names a token of the catalogue;
    ``own_secrets`` are those of this desk. Never raises."""
    if len(text) > LONGEST:
        return PastedText(problem=TOO_LONG)
    visible = _visible(text)
    # Characters that are not drawn are left out below, and may hide a key until then.
    for written in (text,) if len(visible) == len(text) else (text, visible):
        if (secret := secret_in(written, own_secrets)) is not None:
            return PastedText(problem=secret, secret=True)
    shown = visible.strip()
    if not shown:
        return PastedText(problem=NOTHING)
    words = [word for word in _BETWEEN.split(shown) if word]
    found: dict[tuple[ReadAs, str], Reading] = {}
    for reading in _named(shown):
        found.setdefault((reading.kind, reading.value), reading)
    if len(words) == 1 and "://" not in shown:
        for reading in _of_one_word(words[0].strip(".,:!?") or words[0]):
            found.setdefault((reading.kind, reading.value), reading)
    parts = [part for word in words[:MOST_WORDS] for part in _parts(word)]
    for part in parts[:MOST_WORDS]:
        for reading in _of_strong_word(part):
            found.setdefault((reading.kind, reading.value), reading)
    for reading in _amounts(shown, is_symbol):
        found.setdefault((reading.kind, reading.value), reading)
    cut = max(len(words), len(parts)) > MOST_WORDS or len(found) > MOST_READINGS
    if not found:
        return PastedText(problem=f"{UNREADABLE} {CUT}" if cut else UNREADABLE, cut=cut)
    return PastedText(_most_telling(list(found.values())), cut=cut)


def _most_telling(readings: list[Reading]) -> tuple[Reading, ...]:
    """By kind; of too many some of each kind, so that the ids in the head of an e-mail do not
    hide the one hash in it."""
    kinds = list(ReadAs)
    seen: Counter[ReadAs] = Counter()
    placed = []
    for reading in readings:
        placed.append((seen[reading.kind], kinds.index(reading.kind), reading))
        seen[reading.kind] += 1
    kept = sorted(placed, key=lambda place: place[:2])[:MOST_READINGS]
    return tuple(reading for *_, reading in sorted(kept, key=lambda place: (place[1], place[0])))


def _visible(text: str) -> str:
    """Without characters that are not drawn; control characters part words."""
    if text.isascii() and text.isprintable():
        return text
    kept = []
    for char in text:
        category = unicodedata.category(char)
        if category in ("Cf", "Cs", "Co", "Cn"):
            continue
        kept.append(" " if category == "Cc" or char in _FREE else char)
    return "".join(kept)


def _parts(word: str) -> Iterator[str]:
    """The word, and the parts of a link in it."""
    whole = word.strip(".,:!?")
    if len(whole) <= WORD_LIMIT:
        yield whole
    parts = _PARTS.split(whole)
    if len(parts) > 1:
        for part in parts[:40]:
            yield part.strip(".,!")


def _of_one_word(word: str) -> Iterator[Reading]:
    """What a word can be that stands alone, besides what its form proves."""
    strong = list(_of_strong_word(word))
    if _ID.fullmatch(word) and not strong:
        yield Reading(ReadAs.ID, word, BEGINNING)
    if _MEMO.fullmatch(word) and all(one.kind is ReadAs.ID for one in strong):
        called = "a memo or tag" if _DIGITS.fullmatch(word) else "a memo"
        yield Reading(ReadAs.MEMO, word, called)


def _of_strong_word(word: str) -> Iterator[Reading]:
    """What the form of a word proves, at least by length and alphabet."""
    if not 16 <= len(word) <= WORD_LIMIT or not word.isascii():
        return
    if _UUID.fullmatch(word):
        yield Reading(ReadAs.REQUEST, word.lower(), "a request id", (word,))
        yield Reading(ReadAs.ID, word, "a quote id")
        return
    if _HEX_24.fullmatch(word):
        yield Reading(ReadAs.ID, word.lower(), "a quote id or a record id", (word,))
        return
    known = False
    for reading in (*_hashes(word), *_addresses(word)):
        known = True
        yield reading
    if not known and (_STRONG_ID.fullmatch(word) or _SHORT_UUID.fullmatch(word)):
        yield Reading(ReadAs.ID, word, "an order id")


def _hashes(word: str) -> Iterator[Reading]:
    if _HEX_64.fullmatch(word):
        if word[:2] in ("0x", "0X"):
            yield Reading(
                ReadAs.TRANSACTION, word.lower(), "a transaction hash of an EVM chain",
                (word,), ("evm",),
            )  # fmt: skip
        else:
            bare = word.lower()
            yield Reading(ReadAs.TRANSACTION, bare, "a transaction hash", (word, f"0x{bare}"))
    elif _BASE32_52.fullmatch(word):
        yield Reading(ReadAs.TRANSACTION, word, "an Algorand transaction hash", (), ("algo",))
    elif _BASE58.fullmatch(word) and (octets := _decoded(word)) in (32, 64):
        called, chain = _BASE58_HASHES[octets]
        yield Reading(ReadAs.TRANSACTION, word, called, (), (chain,))


def _decoded(word: str) -> int:
    try:
        return len(base58.decode(word))
    except (ValueError, AddressProblem):
        return 0


def _addresses(word: str) -> Iterator[Reading]:
    """The address in the words of all kinds that read it alike and prove most."""
    called: list[str] = []
    kinds: list[str] = []
    spellings = {word: None}
    best = Proof.SHAPE
    for kind in kinds_by_proof():
        try:
            reading = kind.read(word)
        except AddressProblem:
            continue
        proof = kind.proof if reading.proves is None else reading.proves
        if proof < best:
            break
        best = proof
        spellings |= dict.fromkeys((reading.normalized, reading.account or reading.normalized))
        network = reading.network
        own = network is None or network == kind.chain
        called.append(kind.called if own else f"{with_article(str(network))} address")
        kinds.append(kind.name)
    if not called:
        return
    if _HEX_64.fullmatch(word):
        # Sixty-four digits are a hash far more often; both are looked for.
        called = [f"{noun} without a checksum" for noun in called]
    yield Reading(
        ReadAs.ADDRESS,
        word,
        " or ".join(dict.fromkeys(called)),
        tuple(spelling for spelling in spellings if spelling != word),
        tuple(kinds),
    )


def _named(text: str) -> Iterator[Reading]:
    """Memos and ids that a word in front of them names."""
    for found in _NAMED_MEMO.finditer(text[:200_000]):
        yield Reading(ReadAs.MEMO, found[1], "a memo or tag")
    for found in _NAMED_ID.finditer(text[:200_000]):
        strong = list(_of_strong_word(found[1]))
        yield from strong or [Reading(ReadAs.ID, found[1], BEGINNING)]


def _amounts(text: str, is_symbol: Callable[[str], bool]) -> Iterator[Reading]:
    for found in _AMOUNT.finditer(text[:200_000]):
        symbol = (found["symbol"] or found["before"]).rstrip(".")
        number = found["number"] or found["after"]
        if not is_symbol(symbol):
            continue
        for amount in _numbers(number):
            yield Reading(
                ReadAs.AMOUNT,
                f"{exact_amount(amount)} {symbol.upper()}",
                "an amount",
                amount=amount,
                symbol=symbol.upper(),
            )


def _numbers(text: str) -> list[Decimal]:
    """One comma or point before three digits is read both ways."""
    digits = re.sub(r"[ '’\u00a0]", "", text)
    marks = re.findall(r"[.,]", digits)
    if not marks:
        return [Decimal(digits)]
    if len(set(marks)) == 2:
        decimal = marks[-1]
        grouping = "," if decimal == "." else "."
        return [Decimal(digits.replace(grouping, "").replace(decimal, "."))]
    if len(marks) > 1:
        return [Decimal(digits.replace(marks[0], ""))]
    whole, _, rest = digits.partition(marks[0])
    as_decimal = Decimal(f"{whole}.{rest}")
    if len(rest) == 3 and whole not in ("", "0"):
        grouped = Decimal(whole + rest)
        return [grouped, as_decimal] if marks[0] == "," else [as_decimal, grouped]
    return [as_decimal]
