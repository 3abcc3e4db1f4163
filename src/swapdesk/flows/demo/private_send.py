"""A private send from Alice to Bob, carried out and noted stage by stage.

Alice pays from an account of her own and Bob's address is new, so that nothing of an earlier
demonstration is found on them.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.client.api import PartnerApi
from swapdesk.client.chain_transfers import ChainTransfer, EvmBlocks
from swapdesk.client.sandbox_control import OrderLeg, SandboxControl
from swapdesk.flows.creation.confirm_intent import NotLockable, lock_for_review
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.demo.customers import COUNT, Customer, unused_address
from swapdesk.flows.demo.link_search import LinkSearch, Remainder, search_link, what_remains
from swapdesk.flows.deposits.funding import Funded
from swapdesk.flows.desk import Desk
from swapdesk.flows.intents.intent import IntentKind
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.recipients import check_memo, check_recipient
from swapdesk.flows.quotes.quote_request import LegFilter, QuoteOptions, QuoteRequest
from swapdesk.wallet.accounts import Kind
from swapdesk.wire.orders import Order, OrderStatusCode
from swapdesk.wire.tokens import Token

MIDDLE_BY = "pl"
"""Pell trades neither Monero nor Bitcoin: a route that begins there leads over Ether."""
STAGES = 9
_AFTER_OTHERS = 120.0
"""World seconds after the first of the others at which Alice comes."""
_LOOK_SECONDS, _SHORTEST_LOOK = 0.5, 0.1
"""World seconds between two looks at the exchanges, and the fewest of the machine."""
_FAILED = frozenset({"FAILED", "REFUNDED", "EXPIRED"})


class Wish(Struct, frozen=True):
    """What is to be shown. ``speed`` is how fast the world runs meanwhile; None leaves it."""

    amount: Decimal = Decimal(1200)
    token: str = "usdc.base"
    speed: Decimal | None = None
    seed: int = 7


class DemoFailed(Exception):
    """The demonstration cannot go on; the sentence says why."""


class Stage(Struct, frozen=True):
    """What was known when a stage began. ``number`` is 1 to 9.

    ``moved`` are the payments of the case on the local chains: to and from the addresses of the
    order, oldest first. ``fee`` is what Alice's payment cost, in coins of its chain. ``remains``
    is there once Bob was paid.
    """

    number: int
    at: datetime
    token: Token
    order: Order
    legs: tuple[OrderLeg, ...]
    heights: Mapping[str, int]
    created: datetime
    bob: str
    moved: tuple[ChainTransfer, ...]
    search: LinkSearch | None
    alice: str | None = None
    paid: ChainTransfer | None = None
    fee: Decimal | None = None
    remains: Remainder | None = None


def _is_paid(leg: OrderLeg) -> bool:
    return leg.status in ("FINISHED", "FALLBACK")


def stage_of(legs: tuple[OrderLeg, ...], order: Order) -> int:
    """The stage that two legs have reached. The coins in the middle are seen and counted by the
    second exchange; from the second confirmation on that is a stage of its own."""
    first, second = legs
    if _is_paid(second):
        return 9 if (order.status or 0) >= OrderStatusCode.FINISHED else 8
    late = {"SENDING": 8, "EXCHANGING": 7, "VERIFYING": 7}
    if second.status in late:
        return late[second.status]
    if second.status == "CONFIRMING" and (second.confirmations or 0) > 1:
        return 6
    if second.status == "CONFIRMING" or _is_paid(first):
        return 5
    return {"SENDING": 4, "EXCHANGING": 3, "VERIFYING": 3, "CONFIRMING": 2}.get(first.status, 1)


class PrivateSend:
    """One demonstration. ``run`` carries it out and calls ``on_stage`` with each stage;
    ``record`` keeps them. ``tag`` tells its accounts from those of others."""

    def __init__(
        self, desk: Desk, token: Token, amount: Decimal, rng: random.Random, tag: str
    ) -> None:
        self.record: list[Stage] = []
        self.speed = Decimal(1)
        """How fast the world runs, as far as this demonstration knows."""
        self._desk = desk
        self._clock = desk.clock
        self._token = token
        self._amount = amount
        self._rng = rng
        self._tag = tag
        self._bob = unused_address(token, "bob", tag).lower()
        self._chains: dict[str, EvmBlocks] = {}
        self._transfers: list[ChainTransfer] = []
        self._wallets: frozenset[str] = frozenset()
        self._others: asyncio.Task[None] | None = None

    @property
    def transfers(self) -> tuple[ChainTransfer, ...]:
        """All that moved on the chains that are read."""
        return tuple(self._transfers)

    async def run(self, on_stage: Callable[[Stage], None]) -> None:
        """Raises DemoFailed, ClientError and ChainUnreadable."""
        control, faucet = self._desk.link.control, self._desk.link.faucet
        if control is None or faucet is None:
            raise DemoFailed("A demonstration needs the sandbox.")
        self.speed = await control.speed()
        await self._begin_reading()
        self._come(control, self.speed)
        await self._clock.sleep(_AFTER_OTHERS / float(self.speed))
        tracked = await self._create()
        created = self._clock.now()
        legs = await control.legs(tracked.service_id)
        self._wallets = frozenset(
            wallet.lower() for wallet in await control.wallets(self._token.chain)
        )
        self._note(await self._look(tracked, created, legs), on_stage)
        paid = await faucet.pay(tracked, f"alice {self._tag}")
        if not isinstance(paid, Funded):
            raise DemoFailed(paid.reason)
        while len(self.record) < STAGES:
            seconds = max(_LOOK_SECONDS / float(self.speed), _SHORTEST_LOOK)
            await self._clock.sleep(seconds)
            legs = await control.legs(tracked.service_id)
            if stage_of(legs, tracked.order) > len(self.record) or _is_paid(legs[-1]):
                self._note(await self._look(tracked, created, legs), on_stage)
            failed = next((leg for leg in legs if leg.status in _FAILED), None)
            if failed is not None:
                raise DemoFailed(f"{failed.venue} ended its leg as {failed.status.lower()}.")

    async def last_look(self) -> Stage:
        """The last stage as it is now, once the others who came meanwhile were served: their
        payouts are what Bob's is hidden among."""
        if self._others is not None:
            await self._others
        await self._read_on()
        last = self._searched(self.record[-1])
        self.record[-1] = last
        return last

    async def close(self) -> None:
        if self._others is not None:
            self._others.cancel()
            await asyncio.gather(self._others, return_exceptions=True)
        for chain in self._chains.values():
            await chain.close()

    async def _begin_reading(self) -> None:
        links = [link for link in self._desk.chain_links() if link.kind is Kind.EVM]
        if self._token.chain not in {link.name for link in links}:
            names = ", ".join(sorted(link.name for link in links))
            raise DemoFailed(
                f"{self._token.symbol} is on {self._token.chain_data.name}, which is not among the"
                f" local chains that are read: {names}."
            )
        transport = self._desk.link.transport
        for link in links:
            chain = EvmBlocks(link.name, link.rpc, transport=transport)
            self._chains[link.name] = chain
            await chain.begin()

    def _come(self, control: SandboxControl, speed: Decimal) -> None:
        """Let others use the sandbox, as customers of another partner."""
        link = self._desk.link
        if not link.connection.others:
            return
        api = PartnerApi(
            link.connection.url,
            link.connection.others[0],
            clock=self._clock,
            rng=random.Random(self._rng.random()),
            transport=link.transport,
        )
        others = [
            Customer(f"guest {self._tag} {place}", self._token, self._amount, self._rng, place)
            for place in range(COUNT)
        ]

        async def serve() -> None:
            try:
                await asyncio.gather(
                    *(each.send(api, control, self._clock, speed) for each in others)
                )
            finally:
                await api.aclose()

        self._others = asyncio.create_task(serve(), name="customers of the sandbox")

    async def _create(self) -> TrackedOrder:
        """The order as any user of the desk makes it: journaled, compared, read again."""
        link, token = self._desk.link, self._token
        options = QuoteOptions(in_leg=LegFilter(only=(MIDDLE_BY,)))
        wish = QuoteRequest.of(options, token, token, self._amount, private_send=True)
        board = await link.quotes.ask(wish)
        row = next((each for each in board.ranking.rows if each.choosable), None)
        if row is None:
            reasons = [entry.reason for entry in board.ranking.unusable]
            raise DemoFailed(f"There is no private route: {(reasons or ['none was offered'])[0]}")
        recipient = check_recipient(self._bob, token, book=self._desk.book, paid={})
        memo = check_memo(None, False, token)
        try:
            intent = lock_for_review(
                IntentKind.PRIVATE_SEND, row, board, recipient, memo, None, self._clock
            )
        except NotLockable as error:
            raise DemoFailed(f"The order cannot be confirmed: {error}.") from None
        outcome = await link.exchange.create(intent)
        if not isinstance(outcome, Created):
            raise DemoFailed(outcome.failure.cause)
        tracked = link.tracker.adopt(outcome.order.service_id)
        if tracked is None or tracked.withheld is not None:
            raise DemoFailed("The order differs from what was confirmed and is not paid.")
        return tracked

    def _note(self, seen: Stage, on_stage: Callable[[Stage], None]) -> None:
        """Keep a stage, and those that went by between two looks with what is known now."""
        while len(self.record) < seen.number:
            stage = replace(seen, number=len(self.record) + 1)
            self.record.append(stage)
            on_stage(stage)

    async def _look(
        self, tracked: TrackedOrder, created: datetime, legs: tuple[OrderLeg, ...]
    ) -> Stage:
        order = await self._desk.link.api.get_order(tracked.service_id)
        await self._read_on({side.chain for leg in legs for side in (leg.sold, leg.bought)})
        deposits = {leg.deposit_address.lower() for leg in legs}
        case = {*deposits, self._bob}
        moved = tuple(
            each for each in self._transfers if each.sender in case or each.receiver in case
        )
        ours = legs[0].deposit_address.lower()
        paid = next((each for each in moved if each.receiver == ours), None)
        stage = Stage(
            number=stage_of(legs, order),
            at=self._clock.now(),
            token=self._token,
            order=order,
            legs=legs,
            heights={name: chain.height for name, chain in self._chains.items()},
            created=created,
            bob=self._bob,
            moved=moved,
            search=None,
            alice=None if paid is None else paid.sender,
            paid=paid,
        )
        if paid is None:
            return stage
        fee = await self._chains[paid.chain].fee(paid.hash)
        return self._searched(replace(stage, fee=None if fee is None else Decimal(fee).scaleb(-18)))

    def _searched(self, stage: Stage) -> Stage:
        """The stage with what a search finds in everything that was read until now."""
        if stage.alice is None or stage.paid is None:
            return stage
        blocks = {
            name: (chain.first, chain.height)
            for name, chain in self._chains.items()
            if chain.height >= chain.first
        }
        search = search_link(self._transfers, stage.alice, self._bob, blocks)
        got = next((each for each in stage.moved if each.receiver == self._bob), None)
        remains = None
        if got is not None:
            remains = what_remains(
                self._transfers, stage.paid, got, self._wallets, self._token.decimals
            )
        return replace(stage, search=search, remains=remains)

    async def _read_on(self, names: Collection[str] = ()) -> None:
        """Read the chains with these names, or all."""
        for name, chain in self._chains.items():
            if names and name not in names:
                continue
            self._transfers += await chain.read_on()
