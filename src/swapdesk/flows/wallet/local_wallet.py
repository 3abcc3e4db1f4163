"""The wallet of one profile, for the desk and for commands: one wallet agent, started when it is
first needed.

The accounts can be listed while the wallet is locked. A sandbox wallet creates and unlocks itself
and gets play money; a live wallet is unlocked only by pass phrase. The desk's process does not read
chains itself: the agent reads them, and checks that each node is on the right chain.

Balances are returned as one result for each account and chain, even if the account has nothing
there; so are allowances. A node is asked about the chain's native coin and the verified tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, TypeVar

from msgspec import Struct

from swapdesk.background import SharedWork
from swapdesk.chain.deployments import CALL_ASSETS
from swapdesk.clock import Clock, SystemClock
from swapdesk.flows.wallet.wallet_words import unread_next
from swapdesk.paths import private_directory
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import (
    AUTO_LOCK_SECONDS,
    RECORDS,
    Account,
    Accounts,
    ChainLink,
    KeyOrigin,
    Kind,
    UnusableKey,
    WalletPlace,
)
from swapdesk.wallet.answers import Allowance
from swapdesk.wallet.client import AGENT, WalletClient
from swapdesk.wallet.promise import Asset, Promise, WithdrawalPromise
from swapdesk.wallet.protocol import AgentGone, DeskReadsOnly, Refused
from swapdesk.wallet.sandbox_passphrase import sandbox_passphrase
from swapdesk.wallet.spending import PolicyStatus, SpendingPolicy
from swapdesk.wire.encoding.numbers import from_base_units, short

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.settings import Settings


MOST_TOKENS = 400
"""The most tokens that a node is asked about on one chain. If there are more, the first in the
token list are taken."""


class ChainTokens:
    """Looks up the verified tokens of a chain by the chain's short name, ignoring case. There are
    no tokens if ``catalog`` is None."""

    def __init__(self, catalog: Catalog | None) -> None:
        self._catalog = catalog

    def chain_name(self, chain: str) -> str:
        chain_data = self._catalog.chain(chain) if self._catalog is not None else None
        return chain_data.name if chain_data is not None else chain

    async def called(self, chain: str, symbols: Sequence[str]) -> list[Asset]:
        """Returns the tokens of a chain that have a known price and a symbol in ``symbols``, at
        most one token for each symbol."""
        assets: dict[str, Asset] = {}
        for asset, price in await self.priced(chain):
            if asset.symbol in symbols and asset.contract is not None and price is not None:
                assets.setdefault(asset.symbol, asset)
        return list(assets.values())

    async def assets(self, chain: str) -> list[Asset]:
        """Returns the native coin of a chain, then its tokens."""
        return [asset for asset, _ in await self.priced(chain)]

    async def priced(self, chain: str) -> list[tuple[Asset, Decimal | None]]:
        """Returns the native coin of a chain, then its tokens, each with its USD price or None.
        Tokens that pay API calls are always included."""
        catalog = self._catalog
        if catalog is None:
            return []
        assets: list[tuple[Asset, Decimal | None]] = []
        rows = catalog.rows
        for at in rows.chains.equal(chain.lower()):
            if rows[at].unverified:
                continue
            token = catalog.token(rows[at].id)
            if token is not None:
                assets.append((Asset(token.symbol, token.decimals, token.address), token.price))
            # Many tokens are decoded: keys go on meanwhile.
            await asyncio.sleep(0)
            if len(assets) >= MOST_TOKENS:
                break
        # What calls are paid in is known before any of them was paid, and better than by a list.
        dollars = [one for one in CALL_ASSETS if one.chain == chain.lower()]
        by_contract = {dollar.contract.lower(): dollar for dollar in dollars}
        prices = {(one.contract or "").lower(): price for one, price in assets}
        assets = [one for one in assets if (one[0].contract or "").lower() not in by_contract]
        assets[:0] = [
            (Asset(one.symbol, one.decimals, one.contract), prices.get(contract, Decimal(1)))
            for contract, one in by_contract.items()
        ]
        assets.sort(key=lambda one: one[0].contract is not None)
        return list({one[0].contract: one for one in reversed(assets)}.values())[::-1]


T = TypeVar("T")


class Holding(Struct, frozen=True):
    """The balance of one token in whole tokens, None if its contract did not answer. ``usd`` is
    None without a known price."""

    PRINTED: ClassVar = {
        "symbol": "asset.symbol", "contract": "asset.contract", "decimals": "asset.decimals",
        "amount": "amount", "usd": "usd",
    }  # fmt: skip

    asset: Asset
    amount: Decimal | None
    usd: Decimal | None = None


class ChainHoldings(Struct, frozen=True):
    """The balances of one account on one chain. If ``smart`` is not None, they are those of the
    account's smart account, which has this address."""

    PRINTED: ClassVar = {
        "account": "account.address", "smartAccount": "smart", "chain": "chain",
        "problem": "problem", "holdings": "holdings",
    }  # fmt: skip

    account: Account
    chain: str
    chain_name: str
    holdings: tuple[Holding, ...] = ()
    """The native coin, then the tokens that the account has. Empty while ``reading`` is True, or if
    there is a ``problem``."""
    problem: str | None = None
    """The reason why the chain could not be read; None if it was read."""
    smart: str | None = None
    """The address of the account's smart account, if the balances are that account's. They include
    its deposit in the EntryPoint."""
    reading: bool = False
    next: str = ""
    """Who acts next if there is a ``problem``."""

    @property
    def place(self) -> tuple[str, str]:
        """The account's address and the chain's short name."""
        return (self.account.address, self.chain)


class ChainAllowances(Struct, frozen=True):
    """Who may take which tokens of one account on one chain. If ``complete`` is False, there may be
    more. ``problem`` is None if the chain was read."""

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
    """Reads the balances and allowances of accounts through the wallet agent. If the agent refuses,
    the result has a ``problem``; other failures raise WalletError. ``place`` is the configuration
    section that lists the nodes, None in the sandbox."""

    client: WalletClient
    tokens: ChainTokens
    place: str | None

    async def held(self, account: Account, link: ChainLink) -> ChainHoldings:
        """Returns the balances of the account itself, without those of its smart account."""
        name = self.tokens.chain_name(link.name)
        priced = await self.tokens.priced(link.name)
        try:
            assets = [asset for asset, _ in priced]
            answer = await _twice(lambda: self.client.balances(account.address, link.name, assets))
        except Refused as refused:
            next_ = self._unread_next(refused, link)
            return ChainHoldings(account, link.name, name, problem=refused.words, next=next_)
        prices = _prices(priced)
        holdings = [
            _holding(balance.asset, balance.units, prices.get(balance.asset.contract))
            for balance in answer.balances
            if balance.units or (balance.units is not None and balance.asset.contract is None)
        ]
        return ChainHoldings(account, link.name, name, tuple(holdings))

    async def smart(
        self, account: Account, link: ChainLink, more: Sequence[Asset]
    ) -> ChainHoldings:
        """Returns the balances of the account's smart account: of the native coin, the verified
        tokens, and the tokens in ``more``."""
        name = self.tokens.chain_name(link.name)
        priced = await self.tokens.priced(link.name)
        prices = _prices(priced)
        assets = {one.contract: one for one in (*more, *(asset for asset, _ in priced))}
        try:
            answer = await _twice(
                lambda: self.client.smart_account(account.address, link.name, list(assets.values()))
            )
        except Refused as refused:
            next_ = self._unread_next(refused, link)
            return ChainHoldings(
                account, link.name, name, problem=refused.words, smart="", next=next_
            )
        holdings = []
        for balance in answer.balances:
            kept = answer.prepaid if balance.asset.contract is None else 0
            if balance.asset.contract is None and (balance.units is None or kept is None):
                # A sum of which one part was not read is no total.
                holdings.append(Holding(balance.asset, None))
            elif units := (balance.units or 0) + (kept or 0):
                holdings.append(_holding(balance.asset, units, prices.get(balance.asset.contract)))
        return ChainHoldings(account, link.name, name, tuple(holdings), smart=answer.address)

    async def allowed(self, account: Account, link: ChainLink) -> ChainAllowances:
        """Returns the allowances that the account has given for the chain's verified tokens."""
        name = self.tokens.chain_name(link.name)
        tokens = [
            asset for asset, _ in await self.tokens.priced(link.name) if asset.contract is not None
        ]
        try:
            answer = await _twice(
                lambda: self.client.allowances(account.address, link.name, tokens)
            )
        except Refused as refused:
            next_ = self._unread_next(refused, link)
            return ChainAllowances(
                account, link.name, name, complete=False, problem=refused.words, next=next_
            )
        return ChainAllowances(account, link.name, name, answer.allowances, answer.complete)

    def _unread_next(self, refused: Refused, link: ChainLink) -> str:
        return unread_next(refused.code, link.name, self.place)


def _prices(priced: Sequence[tuple[Asset, Decimal | None]]) -> dict[str | None, Decimal | None]:
    return {asset.contract: price for asset, price in priced}


def _holding(asset: Asset, units: int, price: Decimal | None) -> Holding:
    amount = short(from_base_units(units, asset.decimals))
    return Holding(asset, amount, None if price is None else amount * price)


async def _twice(read: Callable[[], Awaitable[T]]) -> T:
    """Calls ``read`` and returns its result. If the node does not answer, calls ``read`` once
    more."""
    try:
        return await read()
    except Refused as refused:
        if refused.code != "chain_unreachable":
            raise
    return await read()


class Gifts(Struct, frozen=True):
    """The transfers that the sandbox's faucet sent: their number, and a sentence for each problem.
    Even a transfer with a problem may have been sent."""

    given: int = 0
    problems: tuple[str, ...] = ()


FIRST_NAMES = {Kind.EVM: "trading", Kind.SOLANA: "solana"}
"""The name of the first account of each kind in a new sandbox."""
GIFT_LOOKS = 60
GIFT_SECONDS = 0.5
"""The seconds between two checks of whether the faucet's money has arrived. There are at most
``GIFT_LOOKS`` checks."""


async def outcome(work: asyncio.Task[T]) -> T:
    """Waits for work shared by several callers and returns its result; a cancelled caller does not
    stop it. Raises AgentGone if the work itself was cancelled."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        waiting = asyncio.current_task()
        if work.cancelled() and waiting is not None and not waiting.cancelling():
            raise AgentGone("the wallet was closed meanwhile") from None
        raise


class LocalWallet:
    """The wallet of one profile. Methods that need the agent raise WalletError if it refuses or
    cannot be reached."""

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
        """Makes the wallet without starting its agent. ``makers`` are (provider, Solana key) pairs;
        a transaction may already have signatures by these keys. ``program`` holds the arguments
        with which Python starts the agent."""
        self.settings = settings
        self.links = tuple(links)
        self.makers = tuple(makers)
        self._clock = clock
        self.tokens = ChainTokens(catalog)
        self.on_locked: Callable[[], None] = lambda: None
        """Called when the agent locks the keys without being asked."""
        self._program = program
        self._client: WalletClient | None = None
        self._starting = asyncio.Lock()
        self._used = 0.0
        self._given: dict[tuple[str, str], set[str | None]] = {}
        self._preparing = SharedWork[tuple[Account, ...]]()
        self.filling = SharedWork[Gifts]()
        """The shared work that creates a sandbox wallet's first accounts and has the faucet send
        money to them."""

    @property
    def live(self) -> bool:
        return self.settings.live

    @property
    def known(self) -> Accounts | None:
        """The accounts as last reported; None if no agent has been started."""
        return None if self._client is None else self._client.accounts

    @property
    def locks_in(self) -> float | None:
        """Seconds until the agent locks the keys if they are not used; None if they are locked
        now."""
        if self._client is None or self._client.gone or not self._client.accounts.unlocked:
            return None
        return max(0.0, self._used + AUTO_LOCK_SECONDS - self._clock.monotonic())

    @property
    def has_records(self) -> bool:
        """True if the wallet's signing records exist. Without them, earlier payments are
        unknown."""
        return (self.settings.places.keys / RECORDS).is_file()

    async def client(self) -> WalletClient:
        """Returns the agent's client, after starting the agent if needed. Each call postpones the
        automatic locking of the keys. Raises DeskReadsOnly if this desk was started read-only."""
        if self.settings.reads_only:
            raise DeskReadsOnly("this desk only reads, so the keys stay closed")
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
        await self.filling.cancel()
        await self._preparing.cancel()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # Keys

    async def accounts(self) -> Accounts:
        return await (await self.client()).read_accounts()

    async def unlock(self, passphrase: Secret | None = None) -> tuple[UnusableKey, ...]:
        """Opens the keys with the pass phrase and returns the keys that did not open. If
        ``passphrase`` is None, the sandbox uses its stored pass phrase and a live wallet raises
        ValueError."""
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
        """Creates and returns the first account of each kind if the wallet has none. Does nothing
        in a live profile or while another desk has the wallet."""
        if self.live:
            return ()
        return await outcome(self._preparing.begin(self._prepare))

    async def _prepare(self) -> tuple[Account, ...]:
        accounts = await self.accounts()
        made = []
        for kind, name in FIRST_NAMES.items():
            if not (accounts.first(kind) or accounts.read_only or accounts.unusable):
                made.append(await self.create(kind, name))
        return tuple(made)

    async def set_policy(
        self, policy: SpendingPolicy, passphrase: Secret | None = None
    ) -> PolicyStatus:
        """Sets the spending policy. ``passphrase`` may be None in the sandbox or if the policy
        becomes stricter; otherwise None raises Refused (code ``passphrase_needed``)."""
        client = await self.client()
        try:
            return await client.set_policy(policy, passphrase)
        except Refused as refused:
            needed = refused.code == "passphrase_needed"
            if not needed or passphrase is not None or self.live:
                raise
        return await client.set_policy(policy, self._phrase(None))

    # Chains

    async def holdings(
        self,
        account: Account | None = None,
        heard: Callable[[tuple[ChainHoldings, ...]], None] = lambda _: None,
    ) -> tuple[ChainHoldings, ...]:
        """Returns the balances of all accounts, or of ``account`` alone. ``heard`` is called at the
        start and after each chain's answer; it gets all entries, also the ones still being read."""
        reader = await self._reader()
        pairs = self._pairs(await reader.client.read_accounts(), account)
        holdings = [
            ChainHoldings(owner, link.name, self.tokens.chain_name(link.name), reading=True)
            for owner, link in pairs
        ]

        async def ask(at: int) -> None:
            holdings[at] = await self._held(reader, *pairs[at])
            heard(tuple(holdings))

        heard(tuple(holdings))
        await asyncio.gather(*(ask(at) for at in range(len(pairs))))
        return tuple(holdings)

    def given(self, held: ChainHoldings, contract: str | None) -> None:
        """Records that the faucet is sending a token to an account that had none of it.
        ``contract`` None means the native coin."""
        self._given.setdefault(held.place, set()).add(contract)

    def awaits(self, address: str, chain: str, contract: str | None) -> bool:
        """True if the faucet may still be sending this token, so that the balance may be too low.
        ``contract`` None means the native coin."""
        return self.filling.running or contract in self._given.get((address, chain), ())

    def came(self, address: str, chain: str, contract: str | None) -> None:
        """Records that the faucet's transfer of this token has arrived or is no longer awaited.
        ``contract`` None means the native coin."""
        self._given.get((address, chain), set()).discard(contract)

    async def _held(self, reader: ChainReader, account: Account, link: ChainLink) -> ChainHoldings:
        """Returns the balances of an account on one chain, after waiting up to 30 seconds for the
        faucet's transfers."""
        place = (account.address, link.name)
        looked_for = {asset.contract for asset, _ in await self.tokens.priced(link.name)}
        for _ in range(GIFT_LOOKS):
            held = await reader.held(account, link)
            there = {holding.asset.contract for holding in held.holdings if holding.amount}
            if held.problem is not None:
                return held
            if self._given.get(place, set()) & looked_for <= there:
                break
            await self._clock.sleep(GIFT_SECONDS)
        self._given.pop(place, None)
        return held

    async def smart_holdings(
        self, owned: Mapping[tuple[str, str], Sequence[Asset]], account: Account | None = None
    ) -> tuple[ChainHoldings, ...]:
        """Returns the balances of the smart accounts in ``owned`` that hold something or cannot be
        read. ``owned`` maps (owner's address, chain) to additional tokens to read. ``account``
        limits the result to one owner."""
        reader = await self._reader()
        requests = [
            (owner, link, owned[owner.address, link.name])
            for owner, link in self._pairs(await reader.client.read_accounts(), account)
            if (owner.address, link.name) in owned
        ]
        answers = await asyncio.gather(*(reader.smart(*owner) for owner in requests))
        return tuple(owner for owner in answers if owner.holdings or owner.problem is not None)

    async def allowances(
        self, account: Account | None = None, link: ChainLink | None = None
    ) -> tuple[ChainAllowances, ...]:
        """Returns the allowances of each account on each chain. ``account`` limits the result to
        one account, ``link`` to one chain."""
        reader = await self._reader()
        pairs = self._pairs(await reader.client.read_accounts(), account)
        chosen = [pair for pair in pairs if link is None or pair[1].name == link.name]
        return tuple(await asyncio.gather(*(reader.allowed(*one) for one in chosen)))

    async def _reader(self) -> ChainReader:
        place = f"[profiles.{self.settings.profile.value}.rpc]" if self.live else None
        return ChainReader(await self.client(), self.tokens, place)

    def _pairs(
        self, accounts: Accounts, account: Account | None
    ) -> list[tuple[Account, ChainLink]]:
        return [
            (owned, link)
            for owned in accounts.accounts
            if account is None or owned.address == account.address
            for link in self.links
            if link.kind is owned.kind
        ]

    def link(self, chain: str) -> ChainLink | None:
        """Returns the wallet's chain with this short name, ignoring case; None if there is none."""
        return next((link for link in self.links if link.name.lower() == chain.lower()), None)


def is_first(account: Account) -> bool:
    """True if the sandbox created this account by itself, so that the faucet fills it."""
    return (
        account.sandboxed
        and account.origin is KeyOrigin.CREATED
        and account.name == FIRST_NAMES[account.kind]
    )


VALID = timedelta(minutes=5)
"""How long a promise made here is valid, and therefore how long its reviewed transaction may be
signed."""


def own_promise(
    intent_id: str,
    account: str,
    link: ChainLink,
    asset: Asset,
    now: datetime,
    gas_units: int,
    withdrawal: WithdrawalPromise | None = None,
) -> Promise:
    """Returns the limits for the agent: the transaction may pay only the account itself.
    ``gas_units`` is the most to pay for gas, in base units of the native coin. ``withdrawal`` has
    the further limits of a withdrawal, or is None."""
    return Promise(
        intent_id=intent_id,
        account=account,
        chain=link.name,
        chain_id=link.chain_id,
        sell=asset,
        sell_units=0,
        buy=asset,
        chain_out=link.name,
        least_units=0,
        quoted_units=0,
        recipient=account,
        venue=None,
        quote_id=None,
        valid_until=now + VALID,
        gas_units=gas_units,
        withdrawal=withdrawal,
    )
