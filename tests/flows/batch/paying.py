"""Groups that are paid: a desk with a journal, a real wallet agent, and a service over embedded
chains whose exchanges give plain deposit addresses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import ClassVar

import httpx2
from msgspec import field

from flows.dex.swapping import PACE, Place, SolanaPlace, Swapper
from flows.faulty_network import changed, on
from flows.orders import group_of
from sandbox.evm.evm_world import KEY, embedded
from sandbox.solana.solana_world import StandingTime, running
from service.dex.solana_floor import SolanaFloor, over_solana
from service.dex.trading import AgeingClock, Floor
from service.venue import PlainVenue
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.batches import begin_batch
from swapdesk.flows.batch.bundles import Bundle, BundleDeposit
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.batch.group_payment import GroupPayment
from swapdesk.flows.batch.progress import GroupStanding, Until, standings
from swapdesk.flows.batch.rows import Group, Row
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions import Outcome
from swapdesk.sandbox.fault_layer import bundle_end
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.onchain import build_onchain
from swapdesk.wallet.accounts import Account, Kind, WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.multi import MultiExchangeRequest, MultiOrderRequest
from swapdesk.wire.tokens import Token
from world import open_world, sandbox_goods

CHAIN = "base"
RECIPIENT = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
QUICK = PACE


Rows = Sequence[tuple[str, str]]
"""Each the symbol of the token that is sold, and how much of it."""


def write_batch(
    journal: Journal,
    find: Callable[[str, str], Token],
    batch_id: str,
    rows: Rows,
    chain: str = CHAIN,
    recipient: str = RECIPIENT,
) -> None:
    """A batch of one group in the journal, not left yet. ``find`` takes chain and symbol."""
    bought = find("ethereum", "ETH")
    orders = [
        MultiOrderRequest.model_validate(
            {
                "from": find(chain, symbol).id,
                "to": bought.id,
                "amount": Decimal(amount),
                "addressTo": recipient,
            }
        )
        for symbol, amount in rows
    ]
    body = encode_json(MultiExchangeRequest(orders=orders), exclude_none=True).decode()
    cells = [{"to": recipient, "sell_amount": amount, "sell": symbol} for symbol, amount in rows]
    some = tuple(Row(number, number + 1, each) for number, each in enumerate(cells, start=1))
    group = Group(1, chain, "solana" if chain == "solana" else "bundle", some)
    begin_batch(journal.ledger, batch_id, "payout.csv", batch_id, [(group, body)])


class Payer(Swapper):
    """One account that pays groups."""

    place: PayingPlace

    @property
    def account(self) -> Account:
        return next(one for one in self.agent.accounts.accounts if one.address == self.address)

    async def created(self, batch_id: str, *rows: tuple[str, str]) -> None:
        """A batch of one group: each row the token that is sold, and how much of it."""
        write_batch(self.journal, self.place.floor.token, batch_id, rows, self.place.CHAIN)
        ((_, error),) = [each async for each in self.creation().run(batch_id)]
        assert error is None, error

    def creation(self) -> BatchCreation:
        return BatchCreation(self.place.api, self.journal, self.place.floor.clock, looks=(0.0,))

    def group(self, batch_id: str) -> Group:
        return group_of(self.journal, batch_id)

    def standing(self, batch_id: str) -> GroupStanding:
        return standings(self.journal, batch_id)[0]

    def settling(
        self,
        batch_id: str,
        *,
        agent: WalletClient | None = None,
        arrives: timedelta | None = None,
    ) -> GroupPayment:
        floor = self.place.floor
        group = self.group(batch_id)
        coin = floor.token(group.chain, self.place.COIN)

        return GroupPayment(
            self.place.api,
            self.journal,
            floor.clock,
            agent or self.agent,
            self.place.token_of,
            coin,
            group,
            self.account,
            self.look,
            pace=QUICK,
            arrives=timedelta(seconds=60) if arrives is None else arrives,
        )

    async def settles(self, batch_id: str, until: Until = Until.SETTLED) -> Outcome:
        """Go on with a group as far as it shall go; nothing stops it."""
        done = await self.settling(batch_id).advance(until)
        assert done.failure is None, done.failure
        return done

    async def stops(self, batch_id: str, until: Until = Until.SETTLED) -> Outcome:
        """Go on with a group that cannot go so far."""
        stopped = await self.settling(batch_id).advance(until)
        assert stopped.failure is not None
        return stopped

    def bundle(self, batch_id: str) -> Bundle:
        """The newest one."""
        bundle = self.standing(batch_id).bundle
        assert bundle is not None
        return bundle

    def deposits(self, batch_id: str) -> tuple[BundleDeposit, ...]:
        """Of the newest bundle."""
        return self.bundle(batch_id).deposits

    async def held(self, address: str, symbol: str) -> int:
        """Units at an address, asked of the node over JSON-RPC."""
        return await self.holds(self.place.floor.token(self.place.CHAIN, symbol), address)

    async def paid_exactly(self, batch_id: str) -> bool:
        """Whether its newest bundle is confirmed, and each deposit address holds what it asks."""
        bundle = self.bundle(batch_id)
        wanted = [
            (deposit, await self.held(deposit.address, item.symbol))
            for item in bundle.items
            for deposit in item.deposits
        ]
        assert wanted
        return bundle.paid and all(held == deposit.units for deposit, held in wanted)


def told_otherwise(
    old: str, new: str, beside: str | None = None
) -> Callable[[httpx2.Request, httpx2.Response], httpx2.Response]:
    """Looks at a group say ``new`` for ``old``; with ``beside`` in the order of this id alone."""

    def told(body: bytes) -> bytes:
        if beside is None:
            return body.replace(old.encode(), new.encode())
        head, found, rest = body.partition(beside.encode())
        return head + found + rest.replace(old.encode(), new.encode(), 1)

    return on("GET /v2/exchanges/multi/", lambda _, response: changed(response, told))


class PayingPlace(Place):
    CHAIN: ClassVar[str] = CHAIN
    COIN: ClassVar[str] = "ETH"
    KIND: ClassVar[Kind] = Kind.EVM

    faults: ActiveFaults = field(default_factory=ActiveFaults)
    """Of its bundles."""

    def token_of(self, token_id: str) -> Token | None:
        return self.floor.parts.catalog.token(token_id)

    def swapper(self, agent: WalletClient, address: str, journal: Journal, keys: Path) -> Payer:
        return Payer(self, agent, address, journal, keys)

    @asynccontextmanager
    async def payer(
        self, directory: Path, beside: Payer | None = None, *, usdc: str = "1000"
    ) -> AsyncIterator[Payer]:
        """Somebody who has something."""
        async with self.someone(directory, beside) as made:
            await made.fund(USDC=usdc)
            yield made


@asynccontextmanager
async def paying(directory: Path) -> AsyncIterator[PayingPlace]:
    """Worker and bundle watch run by themselves."""
    faults, clock = ActiveFaults(), AgeingClock()
    goods = sandbox_goods(clock.now())
    async with embedded(directory / "chains") as chains:
        onchain = build_onchain(
            chains.url(CHAIN), KEY, goods["chains"], goods["tokens"], clock, Market(7)
        )
        async with (
            open_world(
                directory,
                clock,
                [PlainVenue("aa", "Alpha")],
                onchain=onchain,
                intervene=partial(bundle_end, faults),
                **goods,
            ) as service,
            service.working(),
            service.http() as http,
        ):
            service.opened.push_async_callback(onchain.close)
            yield PayingPlace(Floor(chains, service, http, onchain), directory, faults)


class QuickTime(StandingTime):
    """Goes on by two blocks whenever somebody looks."""

    def __call__(self) -> int:
        self.pass_blocks(2)
        return self.now


class SolanaPayingPlace(PayingPlace):
    CHAIN: ClassVar[str] = "solana"
    COIN: ClassVar[str] = "SOL"
    KIND: ClassVar[Kind] = Kind.SOLANA

    floor: SolanaFloor

    def wallet(self, keys: Path) -> WalletPlace:
        return SolanaPlace.wallet(self, keys)  # type: ignore[arg-type]


@asynccontextmanager
async def paying_on_solana(directory: Path) -> AsyncIterator[SolanaPayingPlace]:
    """Blocks come whenever somebody looks."""
    async with (
        running(directory / "chain", time=QuickTime()) as chain,
        over_solana(directory, chain, SystemClock(), [PlainVenue("aa", "Alpha")]) as made,
        made[0].working(),
        made[0].http() as http,
    ):
        service, onchain = made
        floor = SolanaFloor(chain, service, http, onchain)
        yield SolanaPayingPlace(floor, directory)
