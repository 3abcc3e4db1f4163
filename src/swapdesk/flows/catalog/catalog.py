"""Every token and chain that the service knows, on disk and ready to be searched. If a refresh
fails, the old list stays in use; ``age`` says how old it is.

The list alone (``load_list_in_steps``) can be searched without loading pydantic models or the
client. :func:`open_catalog` opens the catalogue of a profile before the rest of the desk.
:func:`resolve` finds the token that a person means by ``eth``, ``usdc.base``, an id or
``0x….base``; if a symbol may mean several tokens, the result names all of them.
"""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog_file import CatalogFile
from swapdesk.flows.catalog.token_list import TokenList, TokenRow, Verdict
from swapdesk.paths import private_directory
from swapdesk.wire.encoding.parse_cache import Newest

if TYPE_CHECKING:
    from swapdesk.client.api import PartnerApi
    from swapdesk.settings import Settings
    from swapdesk.wire.chains import Chain, SwapProvider
    from swapdesk.wire.tokens import Token


STALE_AFTER = 6 * 3600.0
_KEPT_TOKENS = 256

_ID = re.compile(r"[0-9a-f]{24}")
_CONTRACT_LENGTH = 26
_LONGEST = 300
_LAST = Decimal("Infinity")
MOST_CHAINS = 4
"""The most chains that the error for a wrong ``symbol.chain`` lists."""


class Catalog:
    """The tokens, chains and providers of a service. Open the catalogue with :meth:`open`. Then
    read it with :meth:`load`, or with :meth:`load_list_in_steps` followed by
    :meth:`load_models_in_steps`."""

    def __init__(self, file: CatalogFile, clock: Clock) -> None:
        self._file = file
        self.clock = clock
        self.rows = TokenList.of([])
        """The tokens, sorted by priority, rank and symbol."""
        self.providers: list[SwapProvider] = []
        self._chains: dict[str, Chain] = {}
        self._tokens: Newest[str, Token] = Newest(_KEPT_TOKENS)
        self._skipped_unlisted = 0
        self._loaded: tuple[int, float] | None = None

    @classmethod
    def open(cls, path: Path, clock: Clock) -> Catalog:
        return cls(CatalogFile.open(path), clock)

    def close(self) -> None:
        self._file.close()

    # What is known

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def age(self) -> float | None:
        """Seconds since the last complete refresh; None before the first."""
        current = self._file.current()
        return None if current is None else max(0.0, self.clock.now().timestamp() - current[1])

    @property
    def stale(self) -> bool:
        age = self.age
        return age is None or age > STALE_AFTER

    @property
    def overtaken(self) -> bool:
        """True if another process has stored a newer list on disk."""
        return self._file.current() != self._loaded

    @property
    def skipped(self) -> int:
        """The number of tokens that could not be read."""
        return self._file.skipped() + self._skipped_unlisted

    @property
    def gap(self) -> str:
        """A sentence, without its full stop, about unreadable tokens; empty if there are none."""
        count = self.skipped
        return f"{count:,} of the service's tokens cannot be read and are left out" if count else ""

    def provider_name(self, code: str | None) -> str | None:
        """Returns the provider's name, or the code itself if it is unknown."""
        return next((p.name for p in self.providers if p.short_name == code), code)

    def chains(self) -> list[Chain]:
        """Returns the known chains, highest priority first."""
        return sorted(self._chains.values(), key=lambda chain: (chain.priority, chain.name))

    def chain(self, short_name: str) -> Chain | None:
        return self._chains.get(short_name.lower())

    def row(self, token_id: str) -> TokenRow | None:
        at = next(self.rows.ids.equal(token_id.lower()), None)
        return None if at is None else self.rows[at]

    def rows_of_symbol(self, symbol: str) -> list[TokenRow]:
        """Returns the tokens with exactly this symbol, ignoring case, in the order of the list."""
        return [self.rows[at] for at in self.rows.symbols.equal(symbol.lower())]

    def rows_of_contract(self, address: str) -> list[TokenRow]:
        """Returns the tokens whose contract has this address, on any chain; the case of letters is
        ignored."""
        wanted = address.lower()
        rows = self.rows
        matching = (rows[at] for at in rows.texts.holding(wanted) if rows.contract_is(at, wanted))
        return list(matching) if wanted else []

    def begins_a_symbol(self, text: str) -> bool:
        return next(self.rows.symbols.beginning(text.lower()), None) is not None

    def token(self, token_id: str) -> Token | None:
        """Returns the token with all its fields; None if the file lacks it."""
        wanted = token_id.lower()
        kept = self._tokens.get(wanted)
        if kept is not None:
            self._tokens.move_to_end(wanted)
            return kept
        bodies = self._file.token_body(wanted)
        if bodies is None:
            return None
        from swapdesk.flows.catalog.token_safety import whole_token

        token = whole_token(*bodies)
        self._tokens[wanted] = token
        return token

    # Reading the file

    def load(self) -> int:
        """Loads the whole catalogue from disk at once. Returns the number of tokens."""
        for _ in self._load_steps():
            pass
        return self.count

    async def load_in_steps(self) -> int:
        """Loads like :meth:`load`, but lets the event loop run in between. Returns the number of
        tokens."""
        return await self._in_steps(self._load_steps())

    async def load_list_in_steps(self) -> int:
        """Loads only the list that is searched, without pydantic. Returns the number of tokens."""
        return await self._in_steps(self._list_steps())

    async def load_models_in_steps(self) -> int:
        """Loads chains, providers and the tokens that are not in the service's list; returns the
        number of tokens."""
        from swapdesk.wire.tokens import Token

        await asyncio.to_thread(Token.model_rebuild)
        return await self._in_steps(self._model_steps(self.rows))

    async def _in_steps(self, steps: Iterator[None]) -> int:
        for _ in steps:
            await self.clock.sleep(0)
        return self.count

    def _load_steps(self) -> Iterator[None]:
        self._loaded = self._file.current()
        rows = yield from self._file.listing(self.clock.now())
        yield
        yield from self._model_steps(rows)

    def _list_steps(self) -> Iterator[None]:
        self._loaded = self._file.current()
        self.rows = yield from self._file.listing(self.clock.now())
        gc.freeze()

    def _model_steps(self, rows: TokenList) -> Iterator[None]:
        from swapdesk.flows.catalog.token_safety import row_of, whole_token
        from swapdesk.wire.chains import Chain, SwapProvider
        from swapdesk.wire.encoding.codec import decode

        chains: list[Chain] = []
        for body in self._file.chain_bodies():
            chains.append(decode(Chain, body, side="client"))
            yield
        providers = [
            decode(SwapProvider, body, side="client") for body in self._file.provider_bodies()
        ]
        yield
        unlisted = [whole_token(*bodies) for bodies in self._file.unlisted()]
        if unlisted:
            yield
            now = self.clock.now()
            rows = rows.with_rows([row_of(token, now) for token in unlisted])
        self.rows = rows
        self._chains = {chain.short_name.lower(): chain for chain in chains}
        self.providers = providers
        self._tokens.clear()
        # What lives on from here would make every full collection a stall.
        gc.freeze()

    # Asking the service

    async def refresh(self, api: PartnerApi) -> None:
        """Downloads chains, providers and tokens and replaces the list. Raises ClientError; the old
        list then stays in use."""
        from swapdesk.flows.catalog.catalog_refresh import read_all

        await read_all(api, self._file, self.clock)
        await self.load_in_steps()

    async def fetch_by_address(self, api: PartnerApi, address: str) -> list[TokenRow]:
        """Asks the service for the tokens of one contract, including unverified ones, and stores
        them. Raises ClientError, and OSError if the file cannot be written."""
        from swapdesk.flows.catalog.catalog_refresh import read_contract

        rows, self._skipped_unlisted = await read_contract(api, self._file, self.clock, address)
        await self.load_in_steps()
        return rows


def open_catalog(settings: Settings, clock: Clock) -> Catalog:
    """Opens a profile's catalogue file without reading it. Raises UnsafePlace."""
    private_directory(settings.places.root)
    return Catalog.open(settings.places.catalog, clock if settings.live else ServerClock(clock))


def native_coin(catalog: Catalog, chain: str) -> Token | None:
    """Returns the native coin of the chain with this short name; None if the catalogue has no
    verified coin for it."""
    for at in catalog.rows.chains.equal(chain.lower()):
        token = catalog.token(catalog.rows[at].id)
        if token is not None and token.address is None and not token.unverified:
            return token
    return None


def coin_price(catalog: Catalog, chain: str) -> Decimal | None:
    """Returns the price in USD of a chain's native coin; None if unknown."""
    coin = native_coin(catalog, chain)
    return None if coin is None else coin.price


class Resolution(Struct, frozen=True):
    """The tokens that a text may mean."""

    token: Token | None
    """The first candidate; None if there is a ``problem``."""
    candidates: tuple[TokenRow, ...]
    """The enabled tokens that fit, best first."""
    problem: str = ""
    disabled: bool = False
    """True if tokens fit, but all of them are disabled."""

    @property
    def ambiguous(self) -> bool:
        """True if several enabled tokens fit. A command then refuses the text; the desk shows the
        first."""
        return len(self.candidates) > 1

    @property
    def specs(self) -> tuple[str, ...]:
        """For each candidate, a text that no other candidate fits: ``USDC.base``, or the token's
        id."""
        named = [f"{row.symbol}.{row.chain}" for row in self.candidates]
        return tuple(
            name if named.count(name) == 1 and _writable(row) else row.id
            for name, row in zip(named, self.candidates, strict=True)
        )


def resolve(spec: str, catalog: Catalog) -> Resolution:
    """Returns the token that ``spec`` names, ignoring case, and all candidates, best first.
    Unverified and malicious tokens are candidates only if no other fits."""
    wanted = spec.strip()
    if not wanted or len(wanted) > _LONGEST:
        return Resolution(None, (), "Type a token.")
    rows = _matching(wanted, catalog)
    usable = [row for row in rows if row.enabled]
    if not usable:
        return Resolution(None, (), _problem(wanted, rows, catalog), bool(rows))
    ordered = _trusted(usable)
    if all(row.priority is None for row in ordered):
        ordered = sorted(ordered, key=lambda row: _without_priority(row, catalog))
    token = catalog.token(ordered[0].id)
    if token is None:
        return Resolution(None, (), f'"{wanted}" is no longer in the list.')
    return Resolution(token, tuple(ordered))


def _matching(wanted: str, catalog: Catalog) -> list[TokenRow]:
    if _ID.fullmatch(wanted.lower()):
        row = catalog.row(wanted)
        if row is not None:
            return [row]
    whole = catalog.rows_of_symbol(wanted)
    if whole:
        return whole
    head, dot, tail = wanted.rpartition(".")
    chain = catalog.chain(tail) if dot and head else None
    if chain is not None:
        name = chain.short_name.lower()
        rows = catalog.rows_of_symbol(head) or catalog.rows_of_contract(head)
        return [row for row in rows if row.chain.lower() == name]
    return catalog.rows_of_contract(wanted)


def _trusted(rows: list[TokenRow]) -> list[TokenRow]:
    """Returns the verified tokens that are not malicious, or all rows if there are none. A fake
    thus cannot make a symbol ambiguous."""
    good = [row for row in rows if not row.unverified and row.verdict is not Verdict.MALICIOUS]
    return good or rows


def _without_priority(row: TokenRow, catalog: Catalog) -> tuple[Decimal, bool, Decimal]:
    chain = catalog.chain(row.chain)
    rank = _LAST if row.rank is None else row.rank
    return rank, row.contract is not None, _LAST if chain is None else chain.priority


def _problem(wanted: str, disabled: list[TokenRow], catalog: Catalog) -> str:
    if not catalog.count and catalog.age is None:
        # What nobody has read yet says nothing of any token.
        return "The list of tokens is not here yet. What is typed is read again when it is."
    if disabled:
        row = disabled[0]
        return f"{row.symbol} on {row.chain_name} is disabled at the service."
    head, dot, tail = wanted.rpartition(".")
    chain = catalog.chain(tail) if dot and head else None
    if chain is not None and catalog.rows_of_symbol(head):
        return f"{head.upper()} is not on {chain.name}."
    there = catalog.rows_of_symbol(head) or catalog.rows_of_contract(head) if dot else []
    if there and chain is None:
        names = list(dict.fromkeys(row.chain for row in _trusted(there) if row.enabled))
        more = f" and {len(names) - MOST_CHAINS} more" if len(names) > MOST_CHAINS else ""
        listed = ", ".join(names[:MOST_CHAINS])
        on = f" {there[0].symbol} is on {listed}{more}." if names else ""
        return f'No chain is called "{tail}".{on}'
    if len(wanted) >= _CONTRACT_LENGTH:
        return "No listed token has this contract."
    return (
        f'No token is called "{wanted}". Paste a contract address to find one that is not listed.'
    )


def _writable(row: TokenRow) -> bool:
    return not any(character.isspace() for character in row.symbol)
