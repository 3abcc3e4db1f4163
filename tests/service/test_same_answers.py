"""Whoever asks from outside is told the same, whatever database the service stands over, and by
however many processes it answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

import databases
from manual_time import rest
from patience import PATIENCE
from service.loopback import on_port
from service.new_store import found, open_new, stores_of
from service.outside_session import Outsider, Session
from service.plain_bundler import PlainBundler
from service.plain_dex import PlainChain, PlainDex
from service.test_multi import OneHash
from service.venue import PlainVenue
from service.world import (
    AS_FIRST,
    AS_FREE,
    AS_READER,
    AS_SECOND,
    AS_SUSPENDED,
    BY_PARTNER_ID,
    CHAINS,
    INTERMEDIARIES,
    KEYWORDS,
    PARTNERS,
    TOKENS,
    WEBHOOK_SECRETS,
)
from swapdesk.chain.smart_account import account_address
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.sandbox.http_server import build_server
from swapdesk.service.app import Onchain, Role, assemble, build_service, in_background
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.database import micros
from swapdesk.service.store.partners import Act
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import (
    FLOATING,
    Terms,
    Unavailable,
    VenueQuote,
    VenueTraits,
)
from swapdesk.wire.encoding.numbers import quantize
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import ScanResult, Token, TokenSecurityScan

CALLERS = {
    "first": AS_FIRST,
    "second": AS_SECOND,
    "free": AS_FREE,
    "reader": AS_READER,
    "public": BY_PARTNER_ID,
    "suspended": AS_SUSPENDED,
}
ON_CHAIN = [
    token.model_copy(update={"has_dex": token.chain == "ethereum", "has_bundler": True})
    for token in TOKENS
]


class StandingClock(ManualClock):
    """Stands until it is moved, so that whatever tells the time tells the same, and no deadline
    passes on a slow machine. Only who waits for another look goes on by itself, and sooner."""

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0.5:
            await asyncio.sleep(seconds / 20)
        elif seconds == 1.0:
            await asyncio.sleep(seconds)
        else:
            await super().sleep(seconds)


class RateVenue(PlainVenue):
    """One that also promises rates, for ten minutes, and pays what shall arrive."""

    clock: StandingClock

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        sent = amount
        if terms.receive:
            worth = Decimal(token_in.price or 0) / Decimal(token_out.price or 1)
            sent = quantize(amount / worth / (1 - self._spread), token_in.decimals, up=True)
        found = await super().quote(token_in, token_out, sent, terms)
        if isinstance(found, Unavailable) or not terms.fixed:
            return found
        paid = amount if terms.receive else found.amount_out
        rate = f"{self.provider.short_name} {sent} {paid}"
        until = self.clock.now() + timedelta(minutes=10)
        return replace(found, amount_out=paid, rate=rate, valid_until=until)


class Screening(Struct):
    """Finds all tokens harmless."""

    clock: StandingClock

    async def scan(self, token: Token) -> TokenSecurityScan:
        now = self.clock.now()
        return TokenSecurityScan(
            provider="screening",
            result_type=ScanResult.BENIGN,
            scanned_at=now,
            expires_at=now + timedelta(hours=24),
        )


class Desk(Struct):
    """Exchanges, chains and time, which all processes of a service share. They also share one
    generator: what is drawn is asked for in the same order, and so is the same."""

    clock: StandingClock = field(default_factory=StandingClock)
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    venues: list[RateVenue] = field(default_factory=list)
    bundler: PlainBundler = field(default_factory=PlainBundler)
    chain: PlainChain = field(default_factory=PlainChain)
    processes: list[ServiceParts] = field(default_factory=list)

    def __post_init__(self) -> None:
        for number, (code, name) in enumerate((("aa", "Alpha"), ("bb", "Beta"), ("cc", "Gamma"))):
            venue = RateVenue(code, name, spread=f"0.00{4 + 2 * number}")
            venue.clock = self.clock
            fee = Decimal(number + 1) / 10
            venue.traits = VenueTraits(fixed=True, payout_wallets=5, fee=fee, fixed_fee=2 * fee)
            self.venues.append(venue)

    def process(self, store: Store) -> ServiceParts:
        """One process of the service over a database."""
        parts = assemble(
            self.clock,
            self.rng,
            store,
            CHAINS,
            ON_CHAIN,
            self.venues,
            PARTNERS,
            INTERMEDIARIES,
            KEYWORDS,
            scanner=Screening(self.clock),
            webhook_secrets=WEBHOOK_SECRETS,
            onchain=Onchain(
                venues=[PlainDex(self.chain)],
                sightings={"ethereum": self.chain},
                bundler=self.bundler,
                solana={"solana": OneHash()},
            ),
        )
        self.processes.append(parts)
        return parts

    @property
    def store(self) -> Store:
        return self.processes[0].store

    # What a client from outside asks of them

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def says(self, key: str, status: int, **changes: Any) -> None:
        """The exchange of a leg says how far it is; the service has not looked yet."""
        venue = next(each for each in self.venues if key in each.keys)
        venue.move(key, LegStatus(status), **changes)

    async def leg(self, key: str, status: int, **changes: Any) -> None:
        """The same, and the service has looked."""
        self.says(key, status, **changes)
        await self.passes(5)

    async def passes(self, seconds: float) -> None:
        await self.settled()
        self.clock.advance(seconds)
        await self.settled()

    async def settled(self) -> None:
        """Until the service has done what is to be done now, and told all of it."""
        async with asyncio.timeout(PATIENCE):
            await rest()
            while not await self._is_settled():  # noqa: ASYNC110 - of the databases
                await asyncio.sleep(0.002)
            await rest()
        # As each process does within a second.
        for parts in self.processes:
            await parts.rates.flush()
            await parts.requests.flush()
            await parts.scans.catch_up()

    async def _is_settled(self) -> bool:
        """Nothing is due or under way, every stream has been told."""
        if any(parts.worker._hinted for parts in self.processes):
            return False
        ((left, newest),) = await found(self.store, _LEFT, now=micros(self.now))
        hubs = [parts.hub for parts in self.processes if parts.hub.delivered is not None]
        streams = [each for hub in hubs for group in hub._subscribers.values() for each in group]
        return (
            not left
            and all((hub.delivered or 0) >= newest for hub in hubs)
            and not any(stream._pending or stream._replies for stream in streams)
        )

    def send(self, sender: str, call: Mapping[str, Any]) -> str:
        """A wallet executes a transaction: its hash."""
        return self.chain.take(sender, call)

    def fund(self, owner: str) -> None:
        """The smart account of an owner can pay for its operations."""
        self.bundler.funded.add(account_address(owner))

    async def pay_out(self, partner: str, month: str) -> None:
        """The operator books what a month earned as paid."""
        await self.store.books.pay_out(partner, month, Act(self.now, "operator"))


_LEFT = (
    "SELECT (SELECT COUNT(*) FROM orders WHERE due_at <= :now OR lease_until IS NOT NULL)"
    " + (SELECT COUNT(*) FROM bundles WHERE state = 'submitted')"
    " + (SELECT COUNT(*) FROM scans WHERE claimed_until > 0),"
    " (SELECT COALESCE(MAX(sequence), 0) FROM outbox)"
)


@asynccontextmanager
async def serving(desk: Desk, database: Path, roles: Sequence[Role]) -> AsyncIterator[list[str]]:
    """The addresses of the processes that answer, each with a store of its own over a database."""
    urls = []
    async with AsyncExitStack() as running:
        for role in roles:
            store = open_new(database)
            running.push_async_callback(store.close)
            parts = desk.process(store)
            if Role.ANSWERS not in role:
                await running.enter_async_context(in_background(parts, role))
                continue
            # Connections have an age of their own: they outlive the days that are passed over.
            server = build_server(build_service(parts, role), SystemClock(), lifespan=True)
            port = await running.enter_async_context(on_port(server))
            urls.append(f"http://127.0.0.1:{port}/v2")
        yield urls


async def told(engine: databases.Name, database: Path, *roles: Role) -> list[str]:
    """Everything that a client is told by a service of these processes."""
    desk = Desk()
    with stores_of(engine):
        async with serving(desk, database, roles) as urls, Outsider(urls, desk) as client:
            await Session(client, desk, CALLERS).run()
    assert client.called == client.operations == {each.name for each in OPERATIONS}
    return client.record


async def test_the_same_is_told_over_both_databases_and_by_several_processes(
    tmp_path: Path,
) -> None:
    """One process over the embedded database, three over PostgreSQL. They are applications beside
    each other: real ones could share neither the exchanges nor a time that stands still, and by
    those every answer is the same to the byte. Nothing has to be left out of the comparison."""
    single = await told("sqlite", tmp_path / "single.db", Role.BOTH)
    roles = Role.ANSWERS, Role.ANSWERS, Role.WORKS
    several = await told("postgres", tmp_path / "several.db", *roles)
    assert _difference(single, several) == ""


def _difference(wanted: list[str], given: list[str]) -> str:
    """The first answer that is another one, and where."""
    for number, (one, other) in enumerate(zip_longest(wanted, given, fillvalue="nothing")):
        if one != other:
            place = next(at for at, pair in enumerate(zip_longest(one, other)) if len({*pair}) > 1)
            around = slice(max(0, place - 200), place + 200)
            return f"answer {number} to {one.splitlines()[0]}: {one[around]} | {other[around]}"
    return ""
