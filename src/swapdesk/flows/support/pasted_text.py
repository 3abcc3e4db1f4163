"""Reads a pasted text as ids, addresses, hashes, memos and amounts.

A text of one word is read as everything that the word can be. In a longer text a word counts only
if its form proves what it is, or if another word names it. Words are runs of ASCII letters and
digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from decimal import Decimal
from itertools import islice, pairwise
from typing import ClassVar, Literal, get_args
from urllib.parse import unquote

from msgspec import Struct

from swapdesk.chain.addresses.kind import AddressProblem, Proof, with_article
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, kinds_by_proof, read_hash
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.support.pasted_secret import secret_in

LONGEST = 1 << 20
"""Largest number of characters; a longer text is refused."""
MOST_WORDS = 200_000
"""Largest number of words that are read, counted with the parts of links."""
MOST_PIECES = 4_000
"""Largest number of joined pieces that are tried, because each of them is tried as every kind of
address."""
CUT = "Its end was not read: it is very long. Paste the part that names the order."
MOST_READINGS = 12
MOST_BEGINNINGS = 40
WORD_LIMIT = 256
NAMED_WITHIN = 200_000
"""Characters of the text in which words around memos, ids and amounts count."""


ReadAs = Literal["id", "transaction", "address", "shortened", "request", "amount", "memo"]
"""The kind of a reading, which decides where it is searched. ``id`` is that of an order, group,
quote or record. ``shortened`` lacks its middle."""


class Reading(Struct, frozen=True):
    """One meaning that a part of the pasted text can have."""

    PRINTED: ClassVar = {"kind": "kind", "value": "value", "called": "called"}

    kind: ReadAs
    value: str
    """The text that was read: ``0x8f2c…``, ``h8Kq2PdT5mXcVbN3wRtY7z``, ``12,000 USDT``."""
    called: str
    """What the reading is, as a noun phrase: ``a Solana signature``, ``a Bitcoin address``, ``an
    amount``."""
    spellings: tuple[str, ...] = ()
    """Other spellings of the same address or hash."""
    chains: tuple[str, ...] = ()
    """Kinds of the chains that the address or hash can belong to (contract 5.1): ``("evm",)``."""
    amount: Decimal | None = None
    symbol: str = ""
    ends: tuple[str, str] = ("", "")
    """The known ends of a shortened text; otherwise empty."""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.value, *self.spellings)

    def cut_from(self, whole: str) -> bool:
        """Returns whether the reading is a shortened form of ``whole``, in any case of letters."""
        head, tail = (end.lower() for end in self.ends)
        lowered = whole.lower()
        if head and not tail:
            return lowered.removeprefix("0x").startswith(head.removeprefix("0x")) or (
                lowered.endswith(head)
            )
        fits = len(lowered) >= len(head) + len(tail) > 0
        return fits and lowered.startswith(head) and lowered.endswith(tail)


class PastedText(Struct, frozen=True):
    """What was read from a pasted text. The text itself is not stored. ``problem`` says why there
    is nothing to search; empty if there is something."""

    readings: tuple[Reading, ...] = ()
    problem: str = ""
    secret: bool = False
    """True if the text was refused because it holds a key or a seed phrase."""
    cut: bool = False
    """True if the text was too long, or had too many readings, to be read completely."""
    beginnings: tuple[str, ...] = ()
    """Words that mean an order if exactly one order's id begins with them."""

    def of(self, kind: ReadAs) -> list[Reading]:
        return [reading for reading in self.readings if reading.kind is kind]

    @property
    def searchable(self) -> bool:
        return bool(self.readings or self.beginnings)

    @property
    def warning(self) -> str:
        """A warning that a hash in the text has the form of a private key; otherwise empty."""
        has_form = any(_HEX_64.fullmatch(reading.value) for reading in self.readings)
        return MAY_BE_KEY if has_form else ""


BEGINNING = "an order id, or the beginning of one"
MAY_BEGIN = "what the id of an order may begin with"
CUT_SHORT = "an address, a hash or an id cut short"
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

_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)
_HEX_64 = re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}")
_HEX_24 = re.compile(r"[0-9a-fA-F]{24}")
_HEX_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{40}")
_ID = re.compile(r"[A-Za-z0-9_-]{4,64}")
_STRONG_ID = re.compile(r"(?=[^ ]*[0-9])(?=[^ ]*[A-Za-z])[A-Za-z0-9_-]{16,64}")
_DRAWN_ID = re.compile(r"[2-9A-HJ-NP-Za-km-z]{22}")
_MEMO = re.compile(r"[!-~]{1,64}")
_DIGITS = re.compile(r"[0-9]{1,20}")
_BETWEEN = re.compile(r"[^!#-&+\-./0-9:=?@A-Z^_a-z~]+")


Begun = Callable[[Collection[str]], Collection[str]]
"""A function that returns those of the given words with which the id of exactly one known order
begins."""


def read_pasted(
    text: str,
    *,
    is_symbol: Callable[[str], bool],
    own_secrets: tuple[str, ...] = (),
    begun: Begun = lambda words: (),
) -> PastedText:
    """Returns every reading of ``text``; never raises. ``own_secrets`` must not be pasted.
    ``begun`` returns which of the given words begin the id of a known order."""
    if len(text) > LONGEST:
        return PastedText(problem=TOO_LONG)
    visible = _visible(text)
    shown = visible.strip()
    mended = _mended(shown)
    # Invisible characters, a link's escapes and ends of lines may hide a key.
    for written in dict.fromkeys((text, visible, *_spelled(mended))):
        if (secret := secret_in(written, own_secrets)) is not None:
            return PastedText(problem=secret, secret=True)
    if not shown:
        return PastedText(problem=NOTHING)
    words = _Words(is_symbol)
    words.alone(mended)
    # An invisible character may as well separate words as join them.
    parted = _visible(text, " ").strip()
    others = (_mended(parted),) if parted != shown else ()
    for written in dict.fromkeys((*_spelled(mended), *others)):
        words.read(written)
    words.take(Reading("id", word, BEGINNING) for word in begun(list(words.plain)))
    readings = [reading for reading in words.readings.values() if not words.tells_less(reading)]
    cut = words.cut or len(readings) > MOST_READINGS
    problem = ""
    if not readings:
        problem = f"{UNREADABLE} {CUT}" if cut else UNREADABLE
    values = {reading.value for reading in readings}
    beginnings = [word for word in words.beginnings if not any(word in value for value in values)]
    return PastedText(
        _most_telling(readings), problem, cut=cut, beginnings=tuple(beginnings[:MOST_BEGINNINGS])
    )


def _most_telling(readings: list[Reading]) -> tuple[Reading, ...]:
    kinds = get_args(ReadAs)
    seen: Counter[ReadAs] = Counter()
    placed = []
    for reading in readings:
        placed.append((seen[reading.kind], kinds.index(reading.kind), reading))
        seen[reading.kind] += 1
    kept = sorted(placed, key=lambda place: place[:2])[:MOST_READINGS]
    return tuple(reading for *_, reading in sorted(kept, key=lambda place: (place[1], place[0])))


# Spellings of the whole text


def _visible(text: str, hidden: str = "") -> str:
    if text.isascii() and text.isprintable():
        return text
    kept = []
    for char in text.replace("\r\n", "\n").replace("\r", "\n"):
        category = unicodedata.category(char)
        if category in ("Cf", "Cs", "Co", "Cn"):
            kept.append(hidden)
        elif category in ("Zl", "Zp"):
            kept.append("\n")
        else:
            kept.append(" " if category == "Cc" and char != "\n" else char)
    return "".join(kept)


def _spelled(text: str) -> Iterator[str]:
    yield text
    if not text.isascii():
        yield _folded(text)
    if "%" in text or "=3D" in text:
        once = unquote(text.replace("=3D", "="))
        yield _visible(once)
        if "%25" in text:
            yield _visible(unquote(once))


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFC", text)
    table = {ord(char): _ascii_of(char) for char in set(text) if not char.isascii()}
    return text.translate(table)


def _ascii_of(char: str) -> str:
    if "\uff01" <= char <= "\uff5e":
        return chr(ord(char) - 0xFEE0)
    if char in _SEPARATORS:
        return _SEPARATORS[char]
    digit = unicodedata.decimal(char, None)
    return char if digit is None else str(digit)


_SEPARATORS = {"\u066b": ".", "\u066c": "'"}
"""The Arabic decimal and group separators, with the ASCII characters that replace them."""


# Words that were broken


_PIECE = re.compile(r"[A-Za-z0-9:+/_=-]+")
_BROKEN = re.compile(r"[ \t\u00a0|\\]{0,40}\n(?:[ \t\u00a0]|[>|*#]){0,40}")
"""Matches a line end inside a word, with the marks of quoted lines around it."""
_SPACED = re.compile(r"[ \t\u00a0\u202f]{1,3}")
_MOST_JOINED = 8
"""Largest number of pieces that a word may be broken into."""
_LONGEST_WORD = 128
_SHORTEST_WORD = 22
_GROUP = range(3, 17)


def _mended(text: str) -> str:
    if "\n" not in text and " " not in text and "\u00a0" not in text:
        return text
    pieces = list(islice(_PIECE.finditer(text), MOST_WORDS))
    words = [piece[0] for piece in pieces]
    gaps = [text[left.end() : right.start()] for left, right in pairwise(pieces)]
    tried = iter(range(MOST_PIECES))
    kept, at, end = [], 0, 0
    while at < len(pieces) - 1:
        count, whole, several = _joined(words, gaps, at, tried)
        if not whole:
            at += max(1, count)
            continue
        last = pieces[at + count - 1].end()
        # Pieces that may as well be several words stay beside the joined one.
        kept += [text[end:last] + " " if several else text[end : pieces[at].start()], whole]
        at, end = at + count, last
    return "".join([*kept, text[end:]]) if kept else text


def _joined(
    pieces: list[str], gaps: list[str], at: int, tried: Iterator[int]
) -> tuple[int, str, bool]:
    likely: tuple[int, str, bool] = (0, "", False)
    for count, word in (*_over_lines(pieces, gaps, at), *_in_groups(pieces, gaps, at)):
        if next(tried, None) is None:
            # The budget of tries is spent.
            return len(pieces), "", False
        parts = pieces[at : at + count]
        if _is_certain(word):
            # An address beside an id has as many digits as a hash, and so have two ids.
            two = count == 2 and "\n" not in gaps[at] and _HEXADECIMAL.issuperset(word)
            return count, word, two or any(map(_HEX_ADDRESS.fullmatch, parts))
        if not likely[0] and _proves(word):
            if not any(map(_proves, parts)):
                likely = (count, word, False)
            elif min(map(len, parts)) >= _STRONG and read_hash(word) is not None:
                likely = (count, word, True)
    return likely


def _over_lines(pieces: list[str], gaps: list[str], at: int) -> Iterator[tuple[int, str]]:
    word, digits = pieces[at], _are_digits(pieces[at])
    for count in range(2, _MOST_JOINED + 1):
        last = at + count - 1
        if last >= len(pieces):
            return
        digits = digits and _are_digits(pieces[last])
        broken = _BROKEN.fullmatch(gaps[last - 1]) is not None
        if not broken and not (digits and _SPACED.fullmatch(gaps[last - 1])):
            return
        # A line may end with a mark of quoted-printable, or with a hyphen.
        word, soft = word + pieces[last], word.rstrip("=-") + pieces[last]
        if len(word) > _LONGEST_WORD:
            return
        for whole in dict.fromkeys((word, soft)):
            if len(whole) >= _SHORTEST_WORD and _changes(whole) > 2:
                yield count, whole
        word = soft if _are_digits(soft) or word.endswith("=") else word


def _are_digits(word: str) -> bool:
    return len(word) >= _FEW_DIGITS and _HEXADECIMAL.issuperset(
        word.removeprefix("0x").rstrip("-=")
    )


_FEW_DIGITS = 8
"""Fewest digits in a row that may be part of a hash."""


def _in_groups(pieces: list[str], gaps: list[str], at: int) -> Iterator[tuple[int, str]]:
    first = pieces[at]
    size = len(first)
    if not _is_gap(gaps[at]):
        return
    if first[:2] in ("0x", "0X") and at + 1 < len(pieces):
        size = len(pieces[at + 1])
        if len(first) not in (len("0x"), size, size + len("0x")):
            return
    if size not in _GROUP or len(pieces[at + 1]) > size:
        return
    word, joins, drawn = first, [], int(_drawn(first))
    for count in range(2, _LONGEST_WORD // size + 2):
        last = at + count - 1
        if last >= len(pieces) or not _is_gap(gaps[last - 1]):
            break
        piece = pieces[last]
        word += piece
        drawn += _drawn(piece)
        if len(piece) > size or len(word) > _LONGEST_WORD or 4 * drawn + 4 < count:
            # Words of prose of one length are no groups.
            break
        if len(word) >= _SHORTEST_WORD:
            joins.append((count, word))
        if len(piece) < size:
            break
    yield from reversed(joins)


def _is_gap(gap: str) -> bool:
    return _SPACED.fullmatch(gap) is not None or _BROKEN.fullmatch(gap) is not None


def _is_certain(word: str) -> bool:
    digits = word.removeprefix("0x")
    if len(digits) in (64, 128) and _HEXADECIMAL.issuperset(digits) and not digits.isdigit():
        return True
    if any(kind.is_secret(word) for kind in ADDRESS_KINDS.values()):
        return True
    kinds = {kind for address in _addresses(word) for kind in address.chains}
    return any(ADDRESS_KINDS[kind].proof is Proof.CHECKSUM for kind in kinds)


_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_STRONG = 16
"""Smallest length of a word whose form can prove what it is."""


def _proves(word: str) -> bool:
    if len(word) < _STRONG or _changes(word) < 3:
        return False
    return any(map(_is_proof, _of_strong_word(word)))


def _is_proof(reading: Reading) -> bool:
    return reading.kind != "shortened" and not reading.ends[0]


# What the form of a word proves


_RUN = re.compile(r"[A-Za-z0-9_.:/?#&=+%@~-]+")
_EDGES = ".:/?#&%@~+=_-"
_PARTED_BY = (re.compile(r"[?#&:%@~]+|=(?!$)"), re.compile(r"[/.+]+|=(?!$)"), re.compile(r"[_-]+"))
"""Characters that separate parts of a run, in the sequence to try."""
_LINK_PARTS = re.compile(r"[/?#&=:]+")
_MOST_PARTS = 40
_MOST_FOUND = 5_000
_WORD = re.compile(r"[A-Za-z0-9]+")
_BEGUN_HASH = re.compile(
    r"0[xX][0-9a-fA-F]{6,63}"
    r"|(?=[0-9]{0,63}[a-fA-F])(?=[a-fA-F]{0,63}[0-9])[0-9a-fA-F]{10,63}"
)
_CAMEL = re.compile(r"[A-Z]?[a-z]{1,20}(?:[A-Z][a-z]{2,20}){1,4}")
_SHORTEST_BEGINNING, _LONGEST_BEGINNING = 6, 21
_MOST_PLAIN = 1_000


class _Words:
    def __init__(self, is_symbol: Callable[[str], bool]) -> None:
        self._is_symbol = is_symbol
        self.readings: dict[tuple[ReadAs, str], Reading] = {}
        self.plain: dict[str, None] = {}
        self.beginnings: dict[str, None] = {}
        self.cut = False

    def take(self, readings: Iterable[Reading]) -> None:
        for reading in readings:
            self.readings.setdefault((reading.kind, reading.value), reading)

    def tells_less(self, reading: Reading) -> bool:
        """Returns whether ``reading`` adds nothing to the other readings."""
        if not reading.ends[0] or reading.ends[1]:
            return False
        others = islice(self.readings.values(), MOST_BEGINNINGS)
        return any(
            other.value != reading.value
            and (reading.value in other.value
                 or (other.kind is reading.kind and other.value in reading.value))
            for other in others
        )  # fmt: skip

    def alone(self, text: str) -> None:
        if len(text) > 2 * WORD_LIMIT or any(
            char.isalnum() and not char.isascii() for char in _folded(text)
        ):
            return
        words = [word for word in _BETWEEN.split(_folded(text)) if word]
        if len(words) == 1 and "://" not in text and not _SHORTENED.search(text):
            self.take(_of_one_word(words[0].strip(".,:!?") or words[0]))

    def read(self, text: str) -> None:
        begin = text[:NAMED_WITHIN]
        named = list(_named(begin, self._is_symbol))
        self.take(named)
        self.take(_shortened(begin))
        self.take(_amounts(begin, self._is_symbol, {reading.value for reading in named}))
        for match in _UUID.finditer(text):
            self.take(_of_strong_word(match[0]))
        self._read_runs(_UUID.sub(" ", text))

    def _read_runs(self, text: str) -> None:
        for count, match in enumerate(_RUN.finditer(text)):
            if count == MOST_WORDS or len(self.readings) > _MOST_FOUND:
                self.cut = True
                return
            run = match[0]
            if len(run) >= _SHORTEST_BEGINNING:
                self.take(_of_run(run))
                if "%" in run:
                    self._read_escaped(run)
                if len(self.plain) < _MOST_PLAIN:
                    self._begin(run)

    def _read_escaped(self, link: str) -> None:
        for part in _LINK_PARTS.split(link)[:_MOST_PARTS]:
            if "%" in part:
                self.take(_of_strong_word(unquote(part)))

    def _begin(self, run: str) -> None:
        for word in _WORD.findall(run[:WORD_LIMIT]):
            if not _SHORTEST_BEGINNING <= len(word) <= _LONGEST_BEGINNING:
                continue
            self.plain.setdefault(word)
            if _changes(word) and not _is_name(word) and not self._is_symbol(word):
                self.beginnings.setdefault(word)


def _is_name(word: str) -> bool:
    if _CAMEL.fullmatch(word) is None:
        return False
    return not any(
        _VOWELS.isdisjoint(part.lower()) for part in re.split(r"(?=[A-Z])", word) if part
    )


def is_drawn_id(text: str) -> bool:
    """Returns whether a text has the form of the random ids of orders."""
    return _DRAWN_ID.fullmatch(text) is not None and _changes(text) > 4


def _changes(word: str) -> int:
    if word.islower() and word.isalpha():
        return 0
    kinds = [0 if char.isdigit() else 1 if char.isupper() else 2 for char in word if char.isalnum()]
    if kinds[:2] == [1, 2]:
        kinds[0] = 2
    return sum(left != right for left, right in pairwise(kinds))


def _of_run(run: str, level: int = 0) -> list[Reading]:
    readings: list[Reading] = []
    for word in dict.fromkeys((run.strip(".:?#&%@~"), run.strip(_EDGES))):
        readings = list(_of_strong_word(word))
        if any(map(_is_proof, readings)):
            return readings
    for at in range(level, len(_PARTED_BY)):
        parts = _PARTED_BY[at].split(run)
        if len(parts) > 1:
            within = [
                reading
                for part in parts[:_MOST_PARTS]
                if len(part) >= _SHORTEST_BEGINNING
                for reading in _of_run(part, at + 1)
            ]
            return within or readings
    return readings


def _of_one_word(word: str) -> Iterator[Reading]:
    kinds = {reading.kind for reading in _of_strong_word(word)}
    if _ID.fullmatch(word) and kinds <= {"shortened"}:
        yield Reading("id", word, BEGINNING)
    if _MEMO.fullmatch(word) and kinds <= {"id", "shortened"}:
        called = "a memo or tag" if _DIGITS.fullmatch(word) else "a memo"
        yield Reading("memo", word, called)


def _of_strong_word(word: str) -> Iterator[Reading]:
    if len(word) > WORD_LIMIT or not word.isascii():
        return
    if (
        _BEGUN_HASH.fullmatch(word)
        and not _HEX_24.fullmatch(word)
        and not (_HEX_ADDRESS.fullmatch(word) and any(_addresses(word)))
    ):
        yield Reading("shortened", word.lower(), CUT_SHORT, (word,), ends=(word, ""))
        if word[:2] in ("0x", "0X"):
            return
    if len(word) < _STRONG:
        return
    if _UUID.fullmatch(word):
        yield Reading("request", word.lower(), "a request id", (word,))
        yield Reading("id", word, "a quote id")
        return
    if _HEX_24.fullmatch(word):
        yield Reading("id", word.lower(), "a quote id or a record id", (word,))
        return
    if readings := [*_hashes(word), *_addresses(word)]:
        yield from readings
    elif is_drawn_id(word):
        yield Reading("id", word, "an order id")
    elif _STRONG_ID.fullmatch(word) and _changes(word) > 2:
        yield Reading("id", word, "an order id", ends=(word, ""))


def _hashes(word: str) -> Iterator[Reading]:
    read = read_hash(word)
    if read is None:
        return
    same = (spelling for spelling in read.spellings if spelling.rstrip("=") == word.rstrip("="))
    value = word.lower() if _HEX_64.fullmatch(word) else next(same, word)
    spellings = dict.fromkeys((word, *read.spellings))
    spellings.pop(value, None)
    yield Reading("transaction", value, read.called, tuple(spellings), read.kinds)


def _addresses(word: str) -> Iterator[Reading]:
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
        # Sixty-four digits are far more often a hash; both are searched.
        called = [f"{noun} without a checksum" for noun in called]
    yield Reading(
        "address",
        word,
        " or ".join(dict.fromkeys(called)),
        tuple(spelling for spelling in spellings if spelling != word),
        tuple(kinds),
    )


_SHORTENED = re.compile(
    r"(?<![A-Za-z0-9])(?P<mark>0[xX][ \u00a0]?)?(?P<head>[A-Za-z0-9]{2,64})[ \u00a0]{0,2}"
    r"(?:\u2026|\u22ef|\u2025|\[\u2026\]|\[\.{3}\]|\.{2,6}|\*{2,8})"
    r"[ \u00a0]{0,2}(?P<tail>[A-Za-z0-9]{3,64})(?![A-Za-z0-9])"
)


def _shortened(text: str) -> Iterator[Reading]:
    for match in _SHORTENED.finditer(text):
        head, tail = match["head"], match["tail"]
        mark = "0x" if match["mark"] or head[:2] in ("0x", "0X") else ""
        head = head[2:] if head[:2] in ("0x", "0X") else head
        if mark:
            fits = len(head) + len(tail) > 4 and _HEXADECIMAL.issuperset(head + tail)
        else:
            fits = _are_ends(head, tail, here=" \u2026" in match[0])
        if fits:
            ends = (mark + head, tail)
            yield Reading("shortened", "...".join(ends), CUT_SHORT, ends=ends)


def _are_ends(head: str, tail: str, *, here: bool) -> bool:
    if any(mark.startswith(head.lower()[: len(mark)]) for mark in _FORMS) and len(head) > 3:
        return True
    drawn = (_drawn(head), _drawn(tail))
    if head.isdigit() and tail.isdigit():
        return False
    if here and len(head) == len(tail) == _GROUP_HERE:
        return any(drawn)
    if len(tail) < _GROUP_HERE or len(head) < 3:
        return False
    # Names of products, and numbers beside a word, are no ends.
    changes = [0 if _is_name(end) else _changes(end) for end in (head, tail)]
    return max(changes) > 1 and (all(drawn) or min(len(head), len(tail)) > _GROUP_HERE)


def _drawn(part: str) -> bool:
    return _changes(part) > 0 or (
        len(part) > 3 and (part.isupper() or _VOWELS.isdisjoint(part.lower()))
    )


_GROUP_HERE = 4
"""Number of characters that this desk shows at each end of a shortened address."""
_VOWELS = frozenset("aeiou")
_FORMS = tuple(mark for kind in ADDRESS_KINDS.values() for mark in kind.marks if len(mark) > 2)


# What the words around it name


def _folded_words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_ORDER_WORDS = _folded_words(
    "order orders exchange swap trade group batch quote reference ref id nr no number ticket",
    "transaction orderid orderno swapid exchangeid auftrag auftragsnummer bestellung vorgang",
    "tausch bestellnummer nummer bestelling pedido orden intercambio cambio canje numero",
    "operacion ordem transaccion referencia troca commande ordre echange operation ordine",
    "scambio codice riferimento operación transacción número échange référence réf zamówienie",
    "zamowienie wymiana numer siparis sipariş emir takas numara pesanan đơn mã objednávka",
)
_MEMO_WORDS = _folded_words(
    "memo memos tag destinationtag desttag paymentid comment zieltag kommentar",
    "verwendungszweck etiqueta comentario observación observação etiquette étiquette",
    "commentaire mémo etichetta causale commento etykieta notatka etiket açıklama aciklama",
    "catatan",
)
_FILLERS = _folded_words(
    "id number no nr num nummer numero número numéro tag memo n is was are ist war lautet es",
    "era est était è code value text required de del destino destination",
)
_ORDER_STEMS = _folded_words(
    "заказ ордер обмен номер заявк сделк замовлення обмін παραγγελία εντολή συναλλαγή αριθμός",
    "κωδικός طلب رقم معاملة הזמנה מספר سفارش شماره ऑर्डर आर्डर आदेश नंबर क्रमांक 订单 訂單",
    "单号 單號 编号 編號 交易 兑换 兌換 注文 オーダー 番号 取引 주문 오더 번호 거래",
    "คำสั่งซื้อ หมายเลข",
)
_MEMO_STEMS = _folded_words(
    "мемо тег тэг комментари метк примечани коментар ετικέτα σημείωση σχόλιο μέμο مذكرة علامة",
    "وسم ميمو تعليق תגית הערה मेमो टैग टिप्पणी 标签 標籤 备注 備註 留言 附言 标记 メモ タグ",
    "コメント 메모 태그",
)
_NAMING: tuple[tuple[ReadAs, frozenset[str], frozenset[str]], ...] = (
    ("memo", _MEMO_WORDS, _MEMO_STEMS),
    ("id", _ORDER_WORDS, _ORDER_STEMS),
)
"""By kind of reading, the words and word stems that announce it."""
_TOKEN = re.compile(r"[A-Za-z\u00c0-\u024f]{1,64}|[0-9][A-Za-z0-9]{0,63}|[^\x00-\x7f\s]{1,64}")
_NAMED_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}(?![A-Za-z0-9])")
_WIDEST_GAP = 10
_MOST_FILLERS = 3
_ENDING = 6


def _named(text: str, is_symbol: Callable[[str], bool]) -> Iterator[Reading]:
    named: frozenset[ReadAs] = frozenset()
    before, end, fillers = "", 0, 0
    for match in _TOKEN.finditer(text):
        token, gap = match[0], text[end : match.start()]
        if len(gap) > _WIDEST_GAP:
            named = frozenset()
        if named and token[0].isascii():
            value = _NAMED_VALUE.match(text, match.start())
            readings = list(_of_value(value[0], named, text[value.end() :][:20], is_symbol)
                            if value is not None else ())  # fmt: skip
            yield from readings
            if readings:
                named, end, before = frozenset(), match.end(), token
                continue
        folded = token.lower()
        fills = folded in _FILLERS or "(" in gap or not token[0].isalpha()
        if named and fills and fillers < _MOST_FILLERS and not token[0].isdigit():
            fillers += 1
            if folded == "id" and before == "payment":
                named |= {"memo"}
        else:
            named, fillers = _names(folded, before, token, text[match.end() :][:4]), 0
        before, end = folded, match.end()


def _names(folded: str, before: str, token: str, behind: str) -> frozenset[ReadAs]:
    if folded == "id" and before == "payment":
        return frozenset(("id", "memo"))
    noted = folded == "note" and behind.lstrip("\"' ").startswith((":", "=", "\uff1a"))
    if noted or token == "DT" or (folded == "dt" and behind.startswith("=")):
        return frozenset(("memo",))
    for kind, words, stems in _NAMING:
        if folded in words or (
            not token.isascii()
            and any(0 <= folded.rfind(stem) >= len(folded) - len(stem) - _ENDING for stem in stems)
        ):
            return frozenset((kind,))
    return frozenset()


def _of_value(
    value: str, named: frozenset[ReadAs], behind: str, is_symbol: Callable[[str], bool]
) -> Iterator[Reading]:
    value = value.rstrip("_-")
    digit = any(map(str.isdigit, value))
    if "memo" in named and digit:
        first, *others = re.split("[_-]", value)
        # A word after a number is no part of it.
        ends = any(map(str.isdigit, first)) and any(part.isalpha() for part in others)
        yield Reading("memo", first if ends else value, "a memo or tag")
    if "id" in named and len(value) >= _SHORTEST_BEGINNING:
        amount = _SYMBOL_AFTER.match(behind) if value.isdigit() else None
        drawn = _changes(value) > 1 and not _is_name(value) and not is_symbol(value)
        if (digit or drawn) and not (amount is not None and is_symbol(amount["symbol"])):
            yield from _of_run(value) or [Reading("id", value, BEGINNING)]


# Amounts


_BLANKS = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_APOSTROPHES = "'\u2019\u2018\u02bc\u2032_"
_NUMBER = re.compile(rf"(?>[0-9]{{1,40}}(?:[{_BLANKS},.{_APOSTROPHES}][0-9]{{1,40}}){{0,12}})")
_BESIDE = rf"[\n{_BLANKS}*_()\[\]\"'`:=|~\u00ab\u00bb\u201c-\u201e\uff1a]{{0,4}}"
_SYMBOL_AFTER = re.compile(
    rf"{_BESIDE}(?:[个個枚]{_BESIDE})?(?P<symbol>[A-Za-z0-9][A-Za-z0-9.]{{1,14}})"
)
_SYMBOL_BEFORE = re.compile(rf"(?<![A-Za-z0-9])(?P<symbol>[A-Z0-9][A-Z0-9.]{{1,14}}){_BESIDE}$")
_PLAIN_BLANK = re.compile(r"[ \t]")
_GROUPED_BY = re.compile(rf"[{_BLANKS}{_APOSTROPHES}]")


def _amounts(
    text: str, is_symbol: Callable[[str], bool], named: Collection[str]
) -> Iterator[Reading]:
    used = 0
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if match[0] in named or not _begins(text, start):
            continue
        symbol = _symbol(_SYMBOL_AFTER.match(text, end), text, is_symbol)
        after = bool(symbol)
        if not symbol and _ends(text, end):
            beside = text[max(used, start - 20) : start]
            symbol = _symbol(_SYMBOL_BEFORE.search(beside), "", is_symbol)
        if not symbol:
            continue
        used = end + len(symbol)
        for amount in _amount_of(match[0], last=after):
            if amount:
                yield Reading(
                    "amount",
                    f"{exact_amount(amount)} {symbol.upper()}",
                    "an amount",
                    amount=amount,
                    symbol=symbol.upper(),
                )


def _begins(text: str, start: int) -> bool:
    if not start:
        return True
    before = text[start - 1]
    if before.isascii() and (before.isalnum() or before in ".,"):
        return False
    if before.isspace() or before.isalnum() or before in "([{\"'*|":
        return True
    # A range, a date, a fraction, a power of ten.
    return not (text[start - 2 : start - 1].isdigit() or _POWER.fullmatch(text[:start][-3:]))


_POWER = re.compile(r"[0-9][eE][+-]")


def _ends(text: str, end: int) -> bool:
    behind = text[end : end + 2]
    if not behind:
        return True
    if behind[0].isascii() and behind[0].isalnum():
        return False
    return len(behind) == 1 or behind[0].isspace() or not behind[1].isdigit()


def _symbol(match: re.Match[str] | None, text: str, is_symbol: Callable[[str], bool]) -> str:
    if match is None:
        return ""
    behind = text[match.end() : match.end() + 1]
    if behind.isascii() and behind.isalnum():
        return ""
    whole = match["symbol"].rstrip(".")
    for word in dict.fromkeys((whole, whole.partition(".")[0])):
        if any(map(str.isalpha, word)) and is_symbol(word):
            return word
    return ""


def _amount_of(number: str, *, last: bool) -> list[Decimal]:
    parts = _PLAIN_BLANK.split(number)
    for count in range(len(parts), 0, -1):
        kept, beside = (parts[-count:], parts[:-count][-1:]) if last else (
            parts[:count], parts[count:][:1]
        )  # fmt: skip
        # What may be a group of the same number stays.
        if beside and (len(beside[0]) <= _GROUP_OF_NUMBER or not beside[0].isdigit()):
            continue
        if amounts := _numbers(" ".join(kept)):
            return amounts
    return []


_GROUP_OF_NUMBER = 3


def _numbers(text: str) -> list[Decimal]:
    marks = [" " if _GROUPED_BY.fullmatch(mark) else mark for mark in _NO_DIGIT.findall(text)]
    groups = _NO_DIGIT.split(text)
    if not marks:
        return [Decimal(text)] if text == "0" or text[0] != "0" else []
    decimal = marks[-1] in ",." and marks.count(marks[-1]) == 1
    in_groups = len(set(marks)) == 1 and _is_grouped(groups, marks[0])
    fraction = decimal and (
        (len(marks) == 1 and (groups[0] == "0" or groups[0][0] != "0"))
        or (len(set(marks[:-1])) == 1 and _is_grouped(groups[:-1], marks[0]))
    )
    as_fraction = [Decimal(f"{''.join(groups[:-1])}.{groups[-1]}")] if fraction else []
    as_groups = [Decimal("".join(groups))] if in_groups else []
    return as_fraction + as_groups if marks[-1] == "." else as_groups + as_fraction


_NO_DIGIT = re.compile(r"[^0-9]")


def _is_grouped(groups: list[str], mark: str) -> bool:
    first, *others = groups
    if first[0] == "0" or not others or len(others[-1]) != 3:
        return False
    inner = {len(group) for group in others[:-1]}
    if inner <= {3}:
        return len(first) <= 3
    return mark == "," and inner == {2} and len(first) <= 2
