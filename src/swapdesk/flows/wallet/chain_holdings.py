"""What accounts have on chains, and who may take it: an answer for each account and chain, also
where there is none. A node is asked about the chain's coin and the verified tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, TypeVar

from msgspec import Struct

from swapdesk.chain.deployments import CALL_ASSETS
from swapdesk.flows.wallet.wallet_words import unread_next
from swapdesk.wallet.accounts import Account, ChainLink
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.holdings import Allowance
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import RefusalCode, Refused
from swapdesk.wire.encoding.numbers import from_base_units, short

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog


MOST_TOKENS = 400
"""Of one chain, those that come first in the list."""


class ChainTokens:
    """By the short name of a chain, in either case. Without ``catalog`` there are none, and a
    chain is called by that name."""

    def __init__(self, catalog: Catalog | None) -> None:
        self._catalog = catalog

    def chain_name(self, chain: str) -> str:
        known = self._catalog.chain(chain) if self._catalog is not None else None
        return known.name if known is not None else chain

    async def called(self, chain: str, symbols: Sequence[str]) -> list[Asset]:
        """The tokens with one of these symbols and a price; of several the first."""
        found: dict[str, Asset] = {}
        for asset, price in await self.priced(chain):
            if asset.symbol in symbols and asset.contract is not None and price is not None:
                found.setdefault(asset.symbol, asset)
        return list(found.values())

    async def assets(self, chain: str) -> list[Asset]:
        """The coin first, then tokens."""
        return [one for one, _ in await self.priced(chain)]

    async def priced(self, chain: str) -> list[tuple[Asset, Decimal | None]]:
        """The coin first, then tokens, with their prices in USD."""
        catalog = self._catalog
        if catalog is None:
            return []
        found: list[tuple[Asset, Decimal | None]] = []
        rows = catalog.rows
        for at in rows.chains.equal(chain.lower()):
            if rows[at].unverified:
                continue
            token = catalog.token(rows[at].id)
            if token is not None:
                found.append((Asset(token.symbol, token.decimals, token.address), token.price))
            # Many tokens are decoded: keys go on meanwhile.
            await asyncio.sleep(0)
            if len(found) >= MOST_TOKENS:
                break
        # What calls are paid in is known before any of them was paid, and better than by a list.
        dollars = [one for one in CALL_ASSETS if one.chain == chain.lower()]
        known = {one.contract.lower(): one for one in dollars}
        prices = {(one.contract or "").lower(): price for one, price in found}
        found = [one for one in found if (one[0].contract or "").lower() not in known]
        found[:0] = [
            (Asset(one.symbol, one.decimals, one.contract), prices.get(contract, Decimal(1)))
            for contract, one in known.items()
        ]
        found.sort(key=lambda one: one[0].contract is not None)
        return list({one[0].contract: one for one in reversed(found)}.values())[::-1]


T = TypeVar("T")


class Holding(Struct, frozen=True):
    """``amount`` is in whole tokens, None: the token did not answer. ``usd`` None: it has no
    price."""

    PRINTED: ClassVar = {
        "symbol": "asset.symbol", "contract": "asset.contract", "decimals": "asset.decimals",
        "amount": "amount", "usd": "usd",
    }  # fmt: skip

    asset: Asset
    amount: Decimal | None
    usd: Decimal | None = None


class ChainHoldings(Struct, frozen=True):
    """What one account has on one chain: its coin first, then the tokens it has some of.

    ``smart``: it is what the smart account of that account has, which stands at this address;
    what the EntryPoint keeps for its gas counts as its coins. ``problem`` says why nothing could
    be read and ``next`` who acts then; ``holdings`` is empty, as it is while the chain has not
    answered (``reading``).
    """

    PRINTED: ClassVar = {
        "account": "account.address", "smartAccount": "smart", "chain": "chain",
        "problem": "problem", "holdings": "holdings",
    }  # fmt: skip

    account: Account
    chain: str
    chain_name: str
    holdings: tuple[Holding, ...] = ()
    problem: str | None = None
    smart: str | None = None
    reading: bool = False
    next: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """The address of the account, and the chain."""
        return (self.account.address, self.chain)


class ChainAllowances(Struct, frozen=True):
    """``complete`` False: somebody may be allowed more than is told. ``problem`` and ``next`` as
    of holdings."""

    PRINTED: ClassVar = {
        "account": "account.address", "chain": "chain", "problem": "problem",
        "complete": "complete", "allowances": "allowances",
    }  # fmt: skip

    account: Account
    chain: str
    chain_name: str
    allowances: tuple[Allowance, ...] = ()
    complete: bool = True
    problem: str | None = None
    next: str = ""


class ChainReader(Struct, frozen=True):
    """Asks the agent. What a node does not answer is told in the answer; every other failure of
    the wallet is a WalletError. ``place`` names where the nodes of a live profile are configured,
    None in the sandbox."""

    client: WalletClient
    tokens: ChainTokens
    place: str | None

    async def held(self, account: Account, link: ChainLink) -> ChainHoldings:
        """What the account itself has."""
        name = self.tokens.chain_name(link.name)
        priced = await self.tokens.priced(link.name)
        try:
            assets = [one for one, _ in priced]
            told = await _twice(lambda: self.client.balances(account.address, link.name, assets))
        except Refused as refused:
            next_ = self._unread_next(refused, link)
            return ChainHoldings(account, link.name, name, problem=refused.words, next=next_)
        prices = _prices(priced)
        found = [
            _holding(one.asset, one.units, prices.get(one.asset.contract))
            for one in told.balances
            if one.units or (one.units is not None and one.asset.contract is None)
        ]
        return ChainHoldings(account, link.name, name, tuple(found))

    async def smart(
        self, account: Account, link: ChainLink, more: Sequence[Asset]
    ) -> ChainHoldings:
        """What its smart account has, ``more`` tokens asked after beside the verified ones."""
        name = self.tokens.chain_name(link.name)
        priced = await self.tokens.priced(link.name)
        prices = _prices(priced)
        assets = {one.contract: one for one in (*more, *(asset for asset, _ in priced))}
        try:
            told = await _twice(
                lambda: self.client.smart_account(account.address, link.name, list(assets.values()))
            )
        except Refused as refused:
            next_ = self._unread_next(refused, link)
            return ChainHoldings(
                account, link.name, name, problem=refused.words, smart="", next=next_
            )
        found = []
        for one in told.balances:
            kept = told.prepaid if one.asset.contract is None else 0
            if one.asset.contract is None and (one.units is None or kept is None):
                # A sum of which one part was not read is no total.
                found.append(Holding(one.asset, None))
            elif units := (one.units or 0) + (kept or 0):
                found.append(_holding(one.asset, units, prices.get(one.asset.contract)))
        return ChainHoldings(account, link.name, name, tuple(found), smart=told.address)

    async def allowed(self, account: Account, link: ChainLink) -> ChainAllowances:
        """Who may take what of the account."""
        name = self.tokens.chain_name(link.name)
        tokens = [one for one, _ in await self.tokens.priced(link.name) if one.contract is not None]
        try:
            told = await _twice(lambda: self.client.allowances(account.address, link.name, tokens))
        except Refused as refused:
            next_ = self._unread_next(refused, link)
            return ChainAllowances(
                account, link.name, name, complete=False, problem=refused.words, next=next_
            )
        return ChainAllowances(account, link.name, name, told.allowances, told.complete)

    def _unread_next(self, refused: Refused, link: ChainLink) -> str:
        return unread_next(refused.code, link.name, self.place)


def _prices(priced: Sequence[tuple[Asset, Decimal | None]]) -> dict[str | None, Decimal | None]:
    """By contract: what is told of a token beside it is the chain's."""
    return {one.contract: price for one, price in priced}


def _holding(asset: Asset, units: int, price: Decimal | None) -> Holding:
    amount = short(from_base_units(units, asset.decimals))
    return Holding(asset, amount, None if price is None else amount * price)


async def _twice(read: Callable[[], Awaitable[T]]) -> T:
    """A read, made again once when the node did not answer: nothing is changed by it."""
    try:
        return await read()
    except Refused as refused:
        if refused.code is not RefusalCode.CHAIN_UNREACHABLE:
            raise
    return await read()
