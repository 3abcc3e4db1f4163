"""The list of tokens in columns, which take little memory and are searched in place. A row object
is made only when it is needed.

A column is one block of UTF-8 lines, searched by ``bytes.find``. Twenty thousand rows as objects
would take 25 MB, and iterating over them would take 10 ms at every key. A list can be searched
before any pydantic model is loaded; ``Catalog.token`` decodes a whole token on demand.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, overload

from swapdesk.flows.catalog.confusables import skeleton
from swapdesk.wire.encoding.numbers import plain

_ZERO = Decimal(0)
_FLAT = str.maketrans("\n\r", "\x1e\x1f")
_WHOLE = str.maketrans("\x1e\x1f", "\n\r")
"""Restores line breaks within a column from the two characters that replace them."""
_FLAGS = ("enabled", "unverified", "has_cex", "has_dex", "has_bundler", "has_self_private")
_BIT = {name: 1 << at for at, name in enumerate(_FLAGS)}
_BITS_SET = [tuple(bool(flags & bit) for bit in _BIT.values()) for flags in range(1 << len(_FLAGS))]
_SYMBOL, _NAME = "\x1ds", "\x1dn"
"""Marks before a look-alike text: it is about the token's symbol, or its name."""
_END = "\x1d"
_KEPT_ROWS = 1_000


class Verdict(StrEnum):
    """What the desk shows about a token: the result of its security scan, or disabled.
    ``UNSCANNED`` never blocks."""

    BENIGN = "benign"
    WARNING = "warning"
    UNKNOWN = "unknown"
    """The desk does not know the scan's result. The user must consent, as after a warning."""
    MALICIOUS = "malicious"
    UNSCANNED = "unscanned"
    STALE = "scan is old"
    DISABLED = "disabled"


class CanDo(StrEnum):
    """A purpose that a token can be used for; the value is the text in the table."""

    CEX = "cex"
    DEX = "dex"
    BUNDLE = "bnd"
    SELF_PRIVATE = "slf"


class _TokenRow(NamedTuple):
    id: str
    symbol: str
    name: str
    chain: str
    chain_name: str
    kind: str
    priority: Decimal | None
    rank: Decimal | None
    price: Decimal | None
    change: Decimal | None
    enabled: bool
    unverified: bool
    has_cex: bool
    has_dex: bool
    has_bundler: bool
    has_self_private: bool
    verdict: Verdict
    contract: str | None
    symbol_key: str
    text_key: str


class TokenRow(_TokenRow):
    """One token on one chain. ``price`` is in USD, ``change`` in percent over 24 hours.
    ``contract`` is None for a coin. ``enabled`` is False if token or chain is disabled."""

    __slots__ = ()
    PRINTED: ClassVar = {
        "id": "id", "symbol": "symbol", "name": "name", "chain": "chain",
        "chainName": "chain_name", "kind": "kind", "contract": "contract", "price": "price",
        "change": "change", "priority": "priority", "rank": "rank", "enabled": "enabled",
        "unverified": "unverified", "verdict": "verdict", "can": "uses",
    }  # fmt: skip

    def can(self, what: CanDo) -> bool:
        """Returns True if the token is enabled and can be used for this purpose."""
        return self.enabled and bool(getattr(self, _FLAG_OF[what]))

    @property
    def uses(self) -> tuple[CanDo, ...]:
        return tuple(use for use in CanDo if self.can(use))

    @property
    def order(self) -> tuple[bool, Decimal, bool, Decimal, str, str]:
        """The sort key of the list; missing priorities and ranks come last (contract 5.8)."""
        return (
            self.priority is None,
            self.priority if self.priority is not None else _ZERO,
            self.rank is None,
            self.rank if self.rank is not None else _ZERO,
            self.symbol_key,
            self.id,
        )


_FLAG_OF = {
    CanDo.CEX: "has_cex",
    CanDo.DEX: "has_dex",
    CanDo.BUNDLE: "has_bundler",
    CanDo.SELF_PRIVATE: "has_self_private",
}


class TextColumn:
    """A column of texts, stored as lines of UTF-8. There is a line feed before and after each line,
    so that whole lines can be found."""

    def __init__(self, blocks: Iterable[bytes] = ()) -> None:
        kept, starts, end = [b"\n"], array("I", [1]), 1
        for block in blocks:
            kept.append(block)
            starts.extend(accumulate(map(len, block.splitlines(True)), initial=end))
            # The start of a block is the end of the one before, which is there already.
            del starts[-block.count(b"\n") - 1]
            end += len(block)
        self._data = b"".join(kept)
        self._starts = starts

    @classmethod
    def of(cls, lines: Iterable[str]) -> TextColumn:
        return cls([block_of(lines)])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def line(self, at: int) -> bytes:
        return self._data[self._starts[at] : self._starts[at + 1] - 1]

    def whole_line(self, at: int) -> bytes:
        return self._data[self._starts[at] : self._starts[at + 1]]

    def text(self, at: int) -> str:
        text = self.line(at).decode("utf-8", "surrogatepass")
        return text.translate(_WHOLE) if "\x1e" in text or "\x1f" in text else text

    def block(self, start: int, end: int) -> bytes:
        """Returns the lines numbered ``start`` to ``end - 1``, each with its line feed."""
        return self._data[self._starts[start] : self._starts[end]]

    def lines(self) -> list[bytes]:
        return self._data[1:-1].split(b"\n") if len(self) else []

    def holding(self, text: str) -> Iterator[int]:
        """Yields the numbers of the lines that contain ``text``, in ascending order."""
        return self._found(needle(text), 0)

    def beginning(self, text: str) -> Iterator[int]:
        return self._found(b"\n" + needle(text), 1)

    def ending(self, text: str) -> Iterator[int]:
        return self._found(needle(text) + b"\n", 0)

    def equal(self, text: str) -> Iterator[int]:
        return self._found(b"\n" + needle(text) + b"\n", 1)

    def _found(self, wanted: bytes, before: int) -> Iterator[int]:
        find, starts = self._data.find, self._starts
        count = len(starts) - 1
        place = find(wanted)
        while place >= 0:
            at = bisect_right(starts, place + before) - 1
            if at >= count:
                return
            yield at
            # The line feed before the next line may be the first byte that is wanted.
            place = find(wanted, starts[at + 1] - 1)


def block_of(lines: Iterable[str]) -> bytes:
    """Returns lines as a column stores them: UTF-8, each with a line feed."""
    return "".join(f"{line.translate(_FLAT)}\n" for line in lines).encode("utf-8", "surrogatepass")


def needle(text: str) -> bytes:
    """Returns ``text`` as bytes, in the form in which a column can be searched for it."""
    return text.translate(_FLAT).encode("utf-8", "surrogatepass")


_CAN = {use: _BIT["enabled"] | _BIT[flag] for use, flag in _FLAG_OF.items()}
_VERDICTS = {verdict.value: verdict for verdict in Verdict}
_BENIGN, _STALE = Verdict.BENIGN.value, Verdict.STALE.value


class ListPart(NamedTuple):
    """Consecutive tokens of a list, one block for each column, as stored on disk."""

    ids: bytes
    symbols: bytes
    names: bytes
    texts: bytes
    chains: bytes
    contracts: bytes
    prices: bytes
    changes: bytes
    likenesses: bytes
    rest: bytes
    flags: bytes


_COLUMNS = len(ListPart._fields) - 1
"""The number of text columns in a ListPart; the flags are not one."""


class TokenList(Sequence[TokenRow]):
    def __init__(self, columns: Sequence[TextColumn], flags: bytes, now: float | None) -> None:
        self._columns = tuple(columns)
        (
            self.ids,
            self.symbols,
            self.names,
            self.texts,
            self.chains,
            self.contracts,
            self._prices,
            self._changes,
            self._likenesses,
            self._rest,
        ) = self._columns
        self._flags = flags
        self._now = now
        self._made: dict[int, TokenRow] = {}
        self._sequences: dict[str, array[int]] = {}

    @classmethod
    def of(cls, rows: Iterable[TokenRow]) -> TokenList:
        return cls.joined([pack((row, None) for row in rows)], None)

    @classmethod
    def joined(cls, parts: Sequence[ListPart], now: float | None) -> TokenList:
        blocks = list(zip(*parts, strict=True)) or [()] * len(ListPart._fields)
        *columns, flags = blocks
        return cls([TextColumn(column) for column in columns], b"".join(flags), now)

    def __len__(self) -> int:
        return len(self._flags)

    @overload
    def __getitem__(self, at: int) -> TokenRow: ...
    @overload
    def __getitem__(self, at: slice) -> list[TokenRow]: ...
    def __getitem__(self, at: int | slice) -> TokenRow | list[TokenRow]:
        if isinstance(at, slice):
            return [self._row(number) for number in range(*at.indices(len(self)))]
        return self._row(range(len(self))[at])

    def __iter__(self) -> Iterator[TokenRow]:
        return (self._make(at) for at in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenList):
            return NotImplemented
        return len(self) == len(other) and all(map(TokenRow.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def can(self, at: int, what: CanDo) -> bool:
        needed = _CAN[what]
        return self._flags[at] & needed == needed

    def contract_is(self, at: int, address: str) -> bool:
        return self.contracts.line(at).lower() == needle(address)

    def contracts_on(self, chain: str) -> frozenset[str]:
        contracts = map(self.contracts.text, self.chains.equal(chain.lower()))
        return frozenset(contract for contract in contracts if contract)

    def drawn_like(self, row: TokenRow) -> list[TokenRow]:
        """Returns the rows whose symbol or name looks like that of ``row``, itself included."""
        wanted = likenesses(row)
        places = {at for likeness in wanted for at in self._likenesses.holding(likeness + _END)}
        return [self._row(at) for at in sorted(places)]

    def sequence(self, sort: str) -> array[int]:
        """Returns each token's position if the list is sorted by ``sort``: ``symbol``, ``price`` or
        ``change``. Prices and changes are sorted with the largest first and unknown ones last."""
        computed = self._sequences.get(sort)
        if computed is not None:
            return computed
        numbers = range(len(self))
        if sort == "symbol":
            pairs = list(zip(self.symbols.lines(), self.chains.lines(), strict=True))
            ordered = sorted(numbers, key=pairs.__getitem__)
        else:
            column = self._prices if sort == "price" else self._changes
            values = [Decimal(line.decode()) if line else None for line in column.lines()]
            keys = [(value is None, -(value or Decimal(0))) for value in values]
            ordered = sorted(numbers, key=keys.__getitem__)
        places = array("I", bytes(4 * len(self)))
        for place, at in enumerate(ordered):
            places[at] = place
        self._sequences[sort] = places
        return places

    def with_rows(self, added: Iterable[TokenRow]) -> TokenList:
        parts, start = [], 0
        for row in sorted(added, key=lambda row: row.order):
            place = self._place(row)
            parts += [self._block(start, place), pack([(row, None)])]
            start = place
        return TokenList.joined([*parts, self._block(start, len(self))], self._now)

    def part(self, places: Iterable[int]) -> ListPart:
        numbers = list(places)
        blocks = (b"".join(map(column.whole_line, numbers)) for column in self._columns)
        return ListPart._make((*blocks, bytes(self._flags[at] for at in numbers)))

    def _place(self, row: TokenRow) -> int:
        return bisect_left(range(len(self)), row.order, key=lambda at: self._make(at).order)

    def _block(self, start: int, end: int) -> ListPart:
        blocks = (column.block(start, end) for column in self._columns)
        return ListPart._make((*blocks, self._flags[start:end]))

    def _row(self, at: int) -> TokenRow:
        row = self._made.get(at)
        if row is None:
            if len(self._made) >= _KEPT_ROWS:
                self._made.clear()
            row = self._made[at] = self._make(at)
        return row

    def _make(self, at: int) -> TokenRow:
        rest: list[Any] = json.loads(self._rest.line(at))
        symbol, name, chain, chain_name, kind, priority, rank, verdict, ends = rest
        if verdict == _BENIGN and ends is not None and self._now is not None:
            verdict = _STALE if ends <= self._now else verdict
        return TokenRow._make(
            (
                self.ids.text(at),
                symbol,
                name,
                chain,
                chain_name,
                kind,
                _decimal(priority),
                _decimal(rank),
                _decimal(self._prices.text(at)),
                _decimal(self._changes.text(at)),
                *_BITS_SET[self._flags[at]],
                _VERDICTS[verdict],
                self.contracts.text(at) or None,
                self.symbols.text(at),
                self.texts.text(at),
            )
        )


def pack(listed: Iterable[tuple[TokenRow, float | None]]) -> ListPart:
    """Returns rows as columns. In ``listed``, each row has the Unix time when its security scan
    expires, or None if it does not expire."""
    lines = [_lines(row, ends) for row, ends in listed]
    columns = list(zip(*(texts for texts, _ in lines), strict=True))
    blocks = map(block_of, columns or [()] * _COLUMNS)
    return ListPart._make((*blocks, bytes(flags for _, flags in lines)))


def names_of(symbols: bytes, chains: bytes, flags: bytes, beginning: str) -> list[str]:
    """Returns the ``symbol.chain`` names that begin with ``beginning``, except those of disabled or
    unverified tokens."""
    begin = needle(beginning)
    wanted, bits = _BIT["enabled"], _BIT["enabled"] | _BIT["unverified"]
    listed = zip(symbols.split(b"\n"), chains.split(b"\n"), flags, strict=False)
    return [
        name.decode("utf-8", "replace")
        for symbol, chain, flag in listed
        if flag & bits == wanted and (name := b"%b.%b" % (symbol, chain)).startswith(begin)
    ]


def _lines(row: TokenRow, ends: float | None) -> tuple[tuple[str, ...], int]:
    rest = (
        row.symbol,
        row.name,
        row.chain,
        row.chain_name,
        row.kind,
        _text(row.priority),
        _text(row.rank),
        row.verdict.value,
        ends,
    )
    texts = (
        row.id,
        row.symbol_key,
        row.name.lower(),
        row.text_key,
        row.chain.lower(),
        row.contract or "",
        _text(row.price),
        _text(row.change),
        "".join(likenesses(row)) + _END,
        json.dumps(rest, separators=(",", ":")),
    )
    return texts, sum(bit for name, bit in _BIT.items() if getattr(row, name))


def likenesses(row: TokenRow) -> list[str]:
    """Returns every :func:`skeleton` text of a row's symbol and name, with a mark that says which
    of the two it comes from."""
    return [
        mark + reading
        for mark, text in ((_SYMBOL, row.symbol), (_NAME, row.name))
        for reading in sorted(skeleton(text))
    ]


def _decimal(text: str) -> Decimal | None:
    return Decimal(text) if text else None


def _text(value: Decimal | None) -> str:
    return "" if value is None else plain(value)
