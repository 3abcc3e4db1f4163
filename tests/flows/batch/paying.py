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
from msgspec import Struct, field

from flows.dex.swapping import Place, journal_in
from flows.faulty_network import changed
from service.dex.trading import AgeingClock, Floor
from service.venue import PlainVenue
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.batch.group_payment import GroupChain, GroupSettling
from swapdesk.flows.batch.group_status import GroupStanding, standings
from swapdesk.flows.journal.batch_records import (
    BundleDeposit,
    BundleState,
    JournaledGroup,
    NewGroup,
    NewRow,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.transactor import Agreed
from swapdesk.sandbox.evm_world.keeper import give
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.onchain import build_onchain
from swapdesk.sandbox.venue_faults import bundle_end
from swapdesk.wallet.accounts import Account, Kind
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.review import Review
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.multi import MultiExchangeRequest, MultiOrderRequest
from swapdesk.wire.tokens import Token
from wallet.agents import CHEAP, PASSPHRASE
from wallet.chains import KEY, served
from world import open_world, sandbox_goods

CHAIN = "base"
RECIPIENT = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
QUICK = Pace(look=0.05, patience=20.0)


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
    cells = [
        NewRow(number, number + 1, {"to": recipient, "amount": amount, "sell": symbol})
        for number, (symbol, amount) in enumerate(rows, start=1)
    ]
    paid = "solana" if chain == "solana" else "bundle"
    journal.batches.add(
        batch_id, "payout.csv", batch_id, [NewGroup(chain, paid, body, tuple(cells))]
    )


class Payer(Struct):
    """One account with a journal of its own; ``reviews`` are what it was shown."""

    place: PayingPlace
    agent: WalletClient
    account: Account
    journal: Journal
    reviews: list[Review] = field(default_factory=list)
    agrees: Callable[[Review], bool] = lambda review: True

    async def created(self, batch_id: str, *rows: tuple[str, str]) -> None:
        """A batch of one group: each row the token that is sold, and how much of it."""
        write_batch(self.journal, self.place.floor.token, batch_id, rows, self.place.CHAIN)
        (outcome,) = await self.creation().run(batch_id)
        assert outcome.error is None, outcome.error

    def creation(self) -> BatchCreation:
        return BatchCreation(self.place.api, self.journal, self.place.floor.clock, looks=(0.0,))

    def group(self, batch_id: str) -> JournaledGroup:
        batch = self.journal.batches.get(batch_id)
        assert batch is not None
        return batch.groups[0]

    def standing(self, batch_id: str) -> GroupStanding:
        return standings(self.journal, batch_id)[0]

    def settling(
        self,
        batch_id: str,
        *,
        agent: WalletClient | None = None,
        arrives: timedelta | None = None,
    ) -> GroupSettling:
        floor = self.place.floor
        group = self.group(batch_id)
        coin = floor.token(group.chain, self.place.COIN)

        async def look(review: Review) -> Agreed | None:
            self.reviews.append(review)
            return Agreed(review.phrase) if self.agrees(review) else None

        return GroupSettling(
            self.place.api,
            self.journal,
            floor.clock,
            agent or self.agent,
            self.place.token_of,
            GroupChain(coin, coin.price),
            batch_id,
            group,
            self.account,
            look,
            pace=QUICK,
            arrives=timedelta(seconds=60) if arrives is None else arrives,
        )

    def deposits(self, batch_id: str) -> tuple[BundleDeposit, ...]:
        """Of the newest bundle."""
        bundle = self.standing(batch_id).bundle
        assert bundle is not None
        return bundle.built.deposits

    async def held(self, address: str, symbol: str) -> int:
        """Units at an address, asked of the node over JSON-RPC."""
        return await self.place.held(address, self.place.floor.token(self.place.CHAIN, symbol))

    async def paid_exactly(self, batch_id: str) -> bool:
        """Whether its newest bundle is confirmed, and each deposit address holds what it asks."""
        bundle = self.standing(batch_id).bundle
        assert bundle is not None
        wanted = [
            (deposit, await self.held(deposit.address, item.symbol))
            for item in bundle.built.items
            for deposit in item.deposits
        ]
        assert wanted
        return bundle.state is BundleState.CONFIRMED and all(
            held == deposit.units for deposit, held in wanted
        )


def told_otherwise(
    old: str, new: str, beside: str | None = None
) -> Callable[[httpx2.Request, httpx2.Response], httpx2.Response]:
    """Looks at a group say ``new`` for ``old``; with ``beside`` in the order of this id alone."""

    def told(body: bytes) -> bytes:
        if beside is None:
            return body.replace(old.encode(), new.encode())
        head, found, rest = body.partition(beside.encode())
        return head + found + rest.replace(old.encode(), new.encode(), 1)

    def swap(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.method != "GET" or "/exchanges/multi/" not in request.url.path:
            return response
        return changed(response, told)

    return swap


class PayingPlace(Place):
    CHAIN: ClassVar[str] = CHAIN
    COIN: ClassVar[str] = "ETH"
    KIND: ClassVar[Kind] = Kind.EVM

    faults: ActiveFaults = field(default_factory=ActiveFaults)
    """Of its bundles."""

    def token_of(self, token_id: str) -> Token | None:
        return self.floor.parts.catalog.token(token_id)

    async def held(self, address: str, token: Token) -> int:
        from swapdesk.chain.calldata import erc20
        from swapdesk.chain.rpc.evm import Call

        client = self.floor.readers[token.chain_data.short_name].client
        if token.address is None:
            return await client.balance(address)
        output = await client.call(Call(token.address, erc20.BALANCE_OF.call(address)))
        return int.from_bytes(output, "big")

    async def fill(self, address: str, coins: str, usdc: str) -> None:
        """From the faucet."""
        node, octets = self.floor.world.node, bytes.fromhex(address[2:])
        dollars = str(self.floor.token(CHAIN, "USDC").address)
        sent = [await node.fund(CHAIN, octets, int(Decimal(coins) * 10**18))]
        sent.append(await give(node, CHAIN, dollars, address, int(Decimal(usdc) * 10**6)))
        for each in sent:
            await node.confirmed(CHAIN, each)

    @asynccontextmanager
    async def payer(
        self,
        directory: Path,
        beside: WalletClient | None = None,
        *,
        coins: str = "1",
        usdc: str = "1000",
    ) -> AsyncIterator[Payer]:
        """A new key that has something, in an agent of its own or in another's."""
        keys = directory / "keys"
        agent = beside or await WalletClient.start(self.wallet(keys), program=CHEAP)
        journal = journal_in(directory, self.floor.clock)
        try:
            account = await agent.create(self.KIND, "", PASSPHRASE)
            await self.fill(account.address, coins, usdc)
            yield Payer(self, agent, account, journal)
        finally:
            journal.close()
            if beside is None:
                await agent.close()


@asynccontextmanager
async def paying(directory: Path) -> AsyncIterator[PayingPlace]:
    """Worker and bundle watch run by themselves."""
    faults, clock = ActiveFaults(), AgeingClock()
    goods = sandbox_goods(clock.now())
    async with served(directory / "chains") as chains:
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
