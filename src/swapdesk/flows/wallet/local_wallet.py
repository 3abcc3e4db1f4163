"""The wallet of one profile, as both front ends use it: one agent, started when first needed.

Accounts are known without unlocking. In the sandbox the wallet makes itself, opens itself and
is given money to try; live nothing opens without a pass phrase. The desk's process reads no
chain: the agent does, and says on which chain its node is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from swapdesk.clock import Clock, SystemClock
from swapdesk.paths import private_directory
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import Account, Accounts, Kind, Origin, UnusableKey
from swapdesk.wallet.agent_process import AGENT
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.holdings import Allowance
from swapdesk.wallet.place import AUTO_LOCK_SECONDS, ChainLink, WalletPlace
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.sandbox_passphrase import sandbox_passphrase
from swapdesk.wire.encoding.numbers import from_base_units, short

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.settings import Settings

T = TypeVar("T")

FIRST_NAMES = {Kind.EVM: "trading", Kind.SOLANA: "solana"}
"""What the accounts of a new sandbox are called."""
MOST_TOKENS = 400
"""Of one chain, those that come first in the list."""


@dataclass(frozen=True)
class Holding:
    """``amount`` None: the token did not answer. ``usd`` None: it has no price."""

    asset: Asset
    amount: Decimal | None
    usd: Decimal | None = None


@dataclass(frozen=True)
class ChainHoldings:
    """What one account has on one chain: its coin first, then the tokens it has some of.

    ``smart``: it is what the smart account of that account has, which stands at this address;
    what the EntryPoint keeps for its gas counts as its coins. ``problem`` says why nothing could
    be read; ``holdings`` is empty then, and while the chain has not answered (``reading``).
    """

    account: Account
    chain: str
    chain_name: str
    holdings: tuple[Holding, ...] = ()
    problem: str | None = None
    smart: str | None = None
    reading: bool = False


@dataclass(frozen=True)
class ChainAllowances:
    """``complete`` False: somebody may be allowed more than is told."""

    account: Account
    chain: str
    chain_name: str
    allowances: tuple[Allowance, ...] = ()
    complete: bool = True
    problem: str | None = None


class LocalWallet:
    """Every method raises WalletError where the agent cannot be asked or says no."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        links: Sequence[ChainLink] = (),
        catalog: Catalog | None = None,
        *,
        makers: Sequence[tuple[str, str]] = (),
        program: Sequence[str] = AGENT,
    ) -> None:
        """Without ``links`` no chain can be read; without ``catalog`` no tokens but coins. Of
        ``makers``, each (provider, key), a first signature is taken."""
        self.settings = settings
        self.links = tuple(links)
        self.makers = tuple(makers)
        self._clock = clock
        self._catalog = catalog
        self.on_locked: Callable[[], None] = lambda: None
        """Called when the agent drops the keys by itself."""
        self._program = program
        self._client: WalletClient | None = None
        self._starting = asyncio.Lock()
        self._used = 0.0

    @property
    def live(self) -> bool:
        return self.settings.live

    @property
    def known(self) -> Accounts | None:
        """The accounts as last heard of; None before the first question."""
        return None if self._client is None else self._client.accounts

    @property
    def locks_in(self) -> float | None:
        """Seconds until the agent drops the keys if nothing is asked of it; None when locked."""
        if self._client is None or self._client.gone or not self._client.accounts.unlocked:
            return None
        return max(0.0, self._used + AUTO_LOCK_SECONDS - self._clock.monotonic())

    async def client(self) -> WalletClient:
        """The agent, started if there is none; it locks itself later with every question."""
        async with self._starting:
            if self._client is None or self._client.gone is not None:
                gone, self._client = self._client, None
                if gone is not None:
                    await gone.close()
                private_directory(self.settings.places.root)
                self._client = await WalletClient.start(
                    self._place(), on_locked=lambda: self.on_locked(), program=self._program
                )
        self._used = self._clock.monotonic()
        return self._client

    def _place(self) -> WalletPlace:
        places = self.settings.places
        ahead = (self._clock.now() - SystemClock().now()).total_seconds()
        return WalletPlace(
            directory=str(places.keys.absolute()),
            profile=places.root.name,
            chains=self.links,
            makers=self.makers,
            clock_offset=0.0 if self.live else max(0.0, ahead),
        )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # Keys

    async def accounts(self) -> Accounts:
        return await (await self.client()).read_accounts()

    async def unlock(self, passphrase: Secret | None = None) -> tuple[UnusableKey, ...]:
        """Open the keys. Only the sandbox knows its pass phrase itself: live None is refused
        with ValueError."""
        return await (await self.client()).unlock(self._phrase(passphrase))

    def _phrase(self, passphrase: Secret | None) -> Secret:
        if passphrase is not None:
            return passphrase
        if self.live:
            raise ValueError("a live wallet needs its pass phrase")
        return sandbox_passphrase(self.settings.places)

    async def lock(self) -> Accounts:
        return await (await self.client()).lock()

    async def create(self, kind: Kind, name: str, passphrase: Secret | None = None) -> Account:
        phrase = self._phrase(passphrase)
        return await (await self.client()).create(kind, name, phrase)

    async def prepare_sandbox(self) -> tuple[Account, ...]:
        """The first account of each kind, made where there is none. Not for live profiles,
        and nothing while another desk has the wallet or a key file cannot be read."""
        if self.live:
            return ()
        accounts = await self.accounts()
        made = []
        for kind, name in FIRST_NAMES.items():
            there = any(one.kind is kind for one in accounts.accounts)
            if not (there or accounts.read_only or accounts.unusable):
                made.append(await self.create(kind, name))
        return tuple(made)

    # Chains

    async def holdings(
        self,
        account: Account | None = None,
        heard: Callable[[tuple[ChainHoldings, ...]], None] = lambda _: None,
    ) -> tuple[ChainHoldings, ...]:
        """What every account, or one, has on every chain of its kind; all chains at once.
        ``heard`` is told all of them, in the same order, at the start and after each answer."""
        client = await self.client()
        asked = self._pairs(await client.read_accounts(), account)
        told = [
            ChainHoldings(one, link.name, self.chain_name(link.name), reading=True)
            for one, link in asked
        ]

        async def ask(at: int) -> None:
            told[at] = await self._held(client, *asked[at])
            heard(tuple(told))

        heard(tuple(told))
        await asyncio.gather(*(ask(at) for at in range(len(asked))))
        return tuple(told)

    async def smart_holdings(
        self, owned: Mapping[tuple[str, str], Sequence[Asset]], account: Account | None = None
    ) -> tuple[ChainHoldings, ...]:
        """What smart accounts have, of those that have something or cannot be read. ``owned``
        names them by owner and chain, each with tokens beside the verified ones; ``account``
        keeps those of one owner."""
        client = await self.client()
        asked = [
            (one, link, owned[one.address, link.name])
            for one, link in self._pairs(await client.read_accounts(), account)
            if (one.address, link.name) in owned
        ]
        told = await asyncio.gather(*(self._held_smart(client, *one) for one in asked))
        return tuple(one for one in told if one.holdings or one.problem is not None)

    async def allowances(
        self, account: Account | None = None, link: ChainLink | None = None
    ) -> tuple[ChainAllowances, ...]:
        """Who may take what of every account, or of one, on every chain, or on one."""
        client = await self.client()
        pairs = self._pairs(await client.read_accounts(), account)
        asked = [one for one in pairs if link is None or one[1].name == link.name]
        return tuple(await asyncio.gather(*(self._allowed(client, *one) for one in asked)))

    def _pairs(
        self, accounts: Accounts, account: Account | None
    ) -> list[tuple[Account, ChainLink]]:
        return [
            (one, link)
            for one in accounts.accounts
            if account is None or one.address == account.address
            for link in self.links
            if link.kind is one.kind
        ]

    async def _held(self, client: WalletClient, account: Account, link: ChainLink) -> ChainHoldings:
        name = self.chain_name(link.name)
        priced = await self._priced(link)
        try:
            assets = [one for one, _ in priced]
            told = await _twice(lambda: client.balances(account.address, link.name, assets))
        except Refused as refused:
            return ChainHoldings(account, link.name, name, problem=refused.words)
        prices = dict(priced)
        found = [
            _holding(one.asset, one.units, prices.get(one.asset))
            for one in told.balances
            if one.units or (one.units is not None and one.asset.contract is None)
        ]
        return ChainHoldings(account, link.name, name, tuple(found))

    async def _held_smart(
        self, client: WalletClient, account: Account, link: ChainLink, more: Sequence[Asset]
    ) -> ChainHoldings:
        name = self.chain_name(link.name)
        prices = dict(await self._priced(link))
        assets = {one.contract: one for one in (*more, *prices)}
        try:
            told = await _twice(
                lambda: client.smart_account(account.address, link.name, list(assets.values()))
            )
        except Refused as refused:
            return ChainHoldings(account, link.name, name, problem=refused.words, smart="")
        found = []
        for one in told.balances:
            kept = told.prepaid or 0 if one.asset.contract is None else 0
            if units := (one.units or 0) + kept:
                found.append(_holding(one.asset, units, prices.get(one.asset)))
        return ChainHoldings(account, link.name, name, tuple(found), smart=told.address)

    async def _allowed(
        self, client: WalletClient, account: Account, link: ChainLink
    ) -> ChainAllowances:
        name = self.chain_name(link.name)
        tokens = [one for one, _ in await self._priced(link) if one.contract is not None]
        try:
            told = await _twice(lambda: client.allowances(account.address, link.name, tokens))
        except Refused as refused:
            return ChainAllowances(account, link.name, name, complete=False, problem=refused.words)
        return ChainAllowances(account, link.name, name, told.allowances, told.complete)

    def link(self, chain: str) -> ChainLink | None:
        """A chain by its short name, compared without case."""
        return next((one for one in self.links if one.name.lower() == chain.lower()), None)

    def chain_name(self, chain: str) -> str:
        known = self._catalog.chain(chain) if self._catalog is not None else None
        return known.name if known is not None else chain

    async def tokens_called(self, chain: str, symbols: Sequence[str]) -> list[Asset]:
        """The verified tokens of a chain with one of these symbols; of several the first."""
        link = self.link(chain)
        if link is None:
            return []
        found: dict[str, Asset] = {}
        for asset, price in await self._priced(link):
            if asset.symbol in symbols and asset.contract is not None and price is not None:
                found.setdefault(asset.symbol, asset)
        return list(found.values())

    async def assets(self, link: ChainLink) -> list[Asset]:
        """The coin and the verified tokens of a chain."""
        return [one for one, _ in await self._priced(link)]

    async def _priced(self, link: ChainLink) -> list[tuple[Asset, Decimal | None]]:
        """The coin and the verified tokens of a chain, with their prices."""
        catalog = self._catalog
        if catalog is None:
            return []
        found: list[tuple[Asset, Decimal | None]] = []
        rows = catalog.rows
        for at in rows.chains.equal(link.name.lower()):
            if rows[at].unverified:
                continue
            token = catalog.token(rows[at].id)
            if token is not None:
                found.append((Asset(token.symbol, token.decimals, token.address), token.price))
            # Many tokens are decoded: keys go on meanwhile.
            await asyncio.sleep(0)
            if len(found) >= MOST_TOKENS:
                break
        found.sort(key=lambda one: one[0].contract is not None)
        return list({one[0].contract: one for one in reversed(found)}.values())[::-1]


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


def is_first(account: Account) -> bool:
    """Whether the sandbox made this account by itself, so that the faucet fills it."""
    return (
        account.sandboxed
        and account.origin is Origin.CREATED
        and account.name == FIRST_NAMES[account.kind]
    )
