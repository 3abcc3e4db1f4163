"""Carries out one demonstration in the sandbox and records it stage by stage.

Alice pays from an account made for this demonstration, and Bob's address is new, so neither has
payments of earlier demonstrations. A stage keeps what was known when it was reached, so that going
back shows the same facts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from swapdesk.client.api import PartnerApi
from swapdesk.client.chain_lookup import ChainTransfer, EvmBlocks, Payment
from swapdesk.client.sandbox_control import OrderLeg
from swapdesk.flows.catalog.catalog import resolve
from swapdesk.flows.creation.confirm_intent import NotLockable, lock_for_review
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.demo.customers import (
    AHEAD,
    COUNT,
    MIDDLE_BY,
    Customer,
    unused_address,
    world_wait,
)
from swapdesk.flows.demo.link_search import (
    Comparison,
    Movement,
    compared_after,
    compared_before,
    crowd_of,
    payouts_since,
    search_link,
)
from swapdesk.flows.demo.stage import Demo, PaneLine, Stage, StageRow, found_lines
from swapdesk.flows.intents.intent import IntentKind
from swapdesk.flows.notation import clock_time, tracker_amount
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.recipients import check_memo, check_recipient
from swapdesk.flows.quotes.quote_request import LegFilter, QuoteOptions, QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult, typed_amount
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.support.order_search import OrderSearch, paid_token
from swapdesk.flows.support.pasted_text import read_pasted
from swapdesk.flows.support.support_case import CaseSheet, facts_of, sheet_of
from swapdesk.wallet.accounts import Kind
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import AmountError, from_base_units, short
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

SELLS, AMOUNT = "usdc.base", Decimal(500)
"""The token that Alice sells and its amount, unless the user chooses others."""
_LOOK_SECONDS, _SHORTEST_LOOK = 1.0, 0.1
"""The pause between two checks: in sandbox seconds, and the shortest in real seconds."""

_ALICE = (
    ("in your wallet, if you sent nothing", "in Alice's wallet, if she sent nothing"),
    ("your wallet", "Alice's wallet"),
    ("at the recipient", "at Bob's address"),
    ("the recipient", "Bob"),
    ("you: ", "Alice: "),
)


class DemoFailed(Exception):
    """Raised if the demonstration cannot continue. The message says why; ``field`` is the choice at
    fault (``token`` or ``amount``), or empty."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class DemoChoice(Struct, frozen=True):
    """The user's choices for a demonstration. ``amount`` and ``token`` are as the user typed them.
    None means the default."""

    name: str = "private"
    seed: int = 7
    speed: Decimal | None = None
    amount: str | None = None
    token: str | None = None


class Demonstration:
    """A running demonstration: ``run`` calls ``on_stage`` with each stage. ``tag`` makes its
    accounts differ from another demonstration's. Methods that wait may raise DemoFailed,
    ClientError, NodeError or JournalUnavailable."""

    def __init__(self, desk: Desk, demo: Demo, choice: DemoChoice, tag: str) -> None:
        if desk.link.control is None:
            raise DemoFailed("A demonstration needs the sandbox.")
        self.demo = demo
        self.record: list[Stage] = []
        self._desk = desk
        self._choice = choice
        self._control = desk.link.control
        self._clock = desk.clock
        self.sold = self._token(choice.token or SELLS)
        self.bought = self.sold if demo.buys is None else self._token(demo.buys)
        if self.sold.id == self.bought.id and not demo.private:
            raise DemoFailed(f"This demonstration buys {demo.buys}; sell another token.", "token")
        self.amount = self._paid(choice.amount)
        self._rng = random.Random(choice.seed)
        self._tag = tag
        self._bob = unused_address(self.bought, "bob", tag)
        self._chains: dict[str, EvmBlocks] = {}
        self._transfers: list[Movement] = []
        self._wallets: frozenset[str] = frozenset()
        self._others: asyncio.Task[None] | None = None
        self.speed = self._speed_before = Decimal(1)
        self._tracked: TrackedOrder | None = None
        self._created = desk.clock.now()
        self._letter = self._support_next = ""
        self._sheet: CaseSheet | None = None
        self._support: tuple[PaneLine, ...] = ()

    def _token(self, spec: str) -> Token:
        choice = resolve(spec, self._desk.catalog)
        if choice.token is None:
            raise DemoFailed(choice.problem or "There is no such token.", "token")
        local = {link.name for link in self._desk.chain_links() if link.kind is Kind.EVM}
        if choice.token.chain not in local:
            raise DemoFailed(
                f"{choice.token.symbol} is on {choice.token.chain_data.name}, whose payments the"
                f" sandbox does not show in blocks. It does on {', '.join(sorted(local))}.",
                "token",
            )
        return choice.token

    def _paid(self, typed: str | None) -> Decimal:
        if typed is not None:
            try:
                return typed_amount(typed, self.sold)
            except AmountError as error:
                raise DemoFailed(error.message, "amount") from None
        usual = self._desk.catalog.row(self._token(SELLS).id)
        other = self._desk.catalog.row(self.sold.id)
        if usual is other or not (usual and usual.price and other and other.price):
            return AMOUNT
        worth = AMOUNT * usual.price / other.price
        return worth.quantize(Decimal(1) if worth > 10 else Decimal("0.001"))

    async def begin(self) -> None:
        """Sets the sandbox to the chosen speed and starts reading the blocks of its EVM chains."""
        self.speed = self._speed_before = await self._control.speed()
        if self._choice.speed is not None:
            await self.change_speed(self._choice.speed)
        for link in self._desk.chain_links():
            if link.kind is Kind.EVM:
                chain = EvmBlocks(link.name, link.rpc, transport=self._desk.link.transport)
                self._chains[link.name] = chain
                await chain.begin()

    async def run(self, on_stage: Callable[[Stage], None]) -> None:
        if self.demo.private:
            self._come()
            await self._wait(AHEAD)
        acts = {
            "create": self.create,
            "pay": self.pay,
            "find_order": self.find_order,
            "reply": self.reply,
        }
        known: Stage | None = None
        for number, row in enumerate(self.demo.rows, 1):
            if row.act is not None:
                await acts[row.act]()
                known = None
            if known is None or not row.reached(known):
                known = await self._until(row)
            stage = replace(known, number=number, row=row)
            if row.holder is not None:
                money, next_ = money_at(known.legs, *row.holder)
                stage = replace(stage, money=money, next=next_)
            self.record.append(stage)
            on_stage(stage)

    async def last_look(self) -> Stage:
        """Waits until all other customers were served. Returns the last stage after a search for
        links that includes the new blocks."""
        if self._others is not None:
            await self._others
        await self._read_on(self._chains)
        self.record[-1] = self._searched(self.record[-1])
        return self.record[-1]

    async def change_speed(self, speed: Decimal) -> None:
        self.speed = await self._control.speed(speed)

    async def _wait(self, seconds: float) -> None:
        await world_wait(seconds, self._clock, lambda: float(self.speed))

    async def close(self) -> None:
        """Stops the other customers, closes the connections to the chains and restores the
        sandbox's earlier speed."""
        if self._others is not None:
            self._others.cancel()
            await asyncio.gather(self._others, return_exceptions=True)
        for chain in self._chains.values():
            await chain.close()
        if self.speed != self._speed_before:
            await self.change_speed(self._speed_before)

    # what Alice does

    async def create(self) -> None:
        """Creates Alice's order with all checks of the desk. Raises DemoFailed."""
        link, token = self._desk.link, self.bought
        row, result = await self._best_quote()
        recipient = check_recipient(self._bob, token, book=self._desk.book, paid={})
        memo = check_memo(None, False, token)
        kind = IntentKind.PRIVATE_SEND if self.demo.private else IntentKind.EXCHANGE
        try:
            intent = lock_for_review(kind, row, result, recipient, memo, None, self._clock)
        except NotLockable as error:
            raise DemoFailed(f"The order cannot be confirmed: {error}.") from None
        outcome = await link.exchange.create(intent)
        if not isinstance(outcome, Created):
            raise DemoFailed(outcome.failure.cause)
        tracked = link.tracker.adopt(outcome.order.service_id)
        if tracked is None or tracked.withheld is not None:
            raise DemoFailed("The order differs from what was confirmed and is not paid.")
        self._tracked, self._created = tracked, self._clock.now()
        named = await self._control.wallets(token.chain)
        self._wallets = frozenset(wallet.lower() for wallet in named)
        if self.demo.fault is not None:
            await self._control.set_fault(self.demo.fault, serviceId=tracked.service_id)

    async def _best_quote(self) -> tuple[RankedQuote, QuoteResult]:
        """Returns the best quote for a standard route or, in a private demonstration, for a private
        route, preferably one whose middle coin has a local chain. Raises DemoFailed."""
        reason = "none was offered"
        private = self.demo.private
        route = RouteType.PRIVATE if private else RouteType.STANDARD
        over_local = (LegFilter(only=(MIDDLE_BY,)), LegFilter())
        for first_leg in over_local if private else over_local[1:]:
            options = QuoteOptions(types=(route,), in_leg=first_leg)
            request = QuoteRequest.of(
                options, self.sold, self.bought, self.amount, private_send=private
            )
            result = await self._desk.link.quotes.ask(request)
            row = next((quote for quote in result.ranking.rows if quote.pays), None)
            if row is not None:
                return row, result
            reason = next((quote.reason for quote in result.ranking.unusable), reason)
        raise DemoFailed(f"There is no {route.value} route: {reason}")

    async def pay(self) -> None:
        """Pays the deposit from Alice's account."""
        faucet = self._desk.link.faucet
        if faucet is None or self._tracked is None:
            raise DemoFailed("There is no order to pay.")
        paid = await faucet.pay(self._tracked, f"alice {self._tag}")
        if not paid.done:
            raise DemoFailed(paid.cause)

    # what support does

    async def find_order(self) -> None:
        """Finds the order as support would, from the transaction hash in Alice's message. Raises
        DemoFailed."""
        paid = self.record[-1].paid
        if paid is None:
            raise DemoFailed("Alice's payment is in no block that was read.")
        self._letter = (
            f"Hello, where is my money? I sent it at {clock_time(paid.at)} and nothing came."
            f" This is all I have: {paid.hash}"
        )
        catalog = self._desk.catalog
        pasted = read_pasted(
            self._letter, is_symbol=lambda word: bool(catalog.rows_of_symbol(word))
        )
        search = OrderSearch(self._desk, pasted)
        search.look_here()
        order = next(iter(search.found), None)
        facts = facts_of(self._desk, order) if order is not None else None
        if facts is None:
            raise DemoFailed(f"Support did not find the order: {search.verdict or 'not here'}")
        self._sheet = sheet_of(facts)
        self._support = found_lines(search.searched, self._sheet)
        self._support_next = "support: answer Alice"

    async def reply(self) -> None:
        """Shows the diagnosis's reply to Alice in support's pane."""
        assert self._sheet is not None  # the order was found before
        self._support = tuple(PaneLine(text) for text in self._sheet.reply if text)
        self._support_next = self._sheet.acts.rstrip(".").replace("you:", "support:")

    # what is known

    async def _until(self, row: StageRow) -> Stage:
        assert self._tracked is not None  # the first row creates it
        seen: tuple[OrderLeg, ...] | None = None
        while True:
            legs = await self._control.legs(self._tracked.service_id)
            if legs != seen or all(leg.over for leg in legs):
                stage = await self._look(row, legs)
                if row.reached(stage):
                    return self._searched(stage)
                if stage.tracked.ended:
                    raise DemoFailed(f"The order ended otherwise: {stage.money}")
            seen = legs
            await self._clock.sleep(max(_LOOK_SECONDS / float(self.speed), _SHORTEST_LOOK))

    async def _look(self, row: StageRow, legs: tuple[OrderLeg, ...]) -> Stage:
        assert self._tracked is not None
        read = await self._desk.link.tracker.read(self._tracked.service_id)
        tracked = self._tracked = read or self._tracked
        sides = {side.chain for leg in legs for side in (leg.sold, leg.bought)}
        await self._read_on(sides & self._chains.keys())
        bob = self._bob.lower()
        case = {bob, *(leg.deposit_address.lower() for leg in legs)}
        moved = tuple(
            transfer
            for transfer in self._transfers
            if transfer.sender in case or transfer.receiver in case
        )
        first = legs[0].deposit_address.lower() if legs else None
        paid = next((movement for movement in moved if movement.receiver == first), None)
        fee = await self._chains[paid.chain].fee(paid.hash) if paid is not None else None
        coin = paid_token(self.sold.chain, Payment("", 0), self._desk.catalog)
        # The desk knows the time of the sandbox to a second, and no stage is before what it shows.
        now = max([self._clock.now(), *(movement.at for movement in moved)])
        status = order_status(tracked, now)
        return Stage(
            number=len(self.record) + 1,
            row=row,
            did=self.demo.did,
            at=now,
            created=self._created,
            sold=self.sold,
            amount=self.amount,
            tracked=tracked,
            legs=legs,
            money=_of_alice(status.money),
            next=_of_alice(self._support_next or status.next),
            chains=frozenset(self._chains),
            coin=coin.symbol if coin is not None else "",
            moved=moved,
            paid=paid,
            got=next((movement for movement in moved if movement.receiver == bob), None),
            fee=None if fee is None else Decimal(fee).scaleb(-18),
            letter=self._letter,
            support=self._support,
        )

    def _movement(self, moved: ChainTransfer) -> Movement:
        payment = Payment(moved.receiver, moved.units, moved.token)
        token = paid_token(moved.chain, payment, self._desk.catalog)
        amount = short(from_base_units(moved.units, token.decimals)) if token is not None else None
        symbol = token.symbol if token is not None else "another token"
        return Movement(**asdict(moved), symbol=symbol, amount=amount)

    def _searched(self, stage: Stage) -> Stage:
        bob = self._bob.lower()
        first = stage.legs[0].deposit_address.lower() if stage.legs else None
        paid = next((transfer for transfer in self._transfers if transfer.receiver == first), None)
        if paid is None:
            return stage
        blocks = {
            name: (chain.first, chain.height)
            for name, chain in self._chains.items()
            if chain.height >= chain.first
        }
        got = next((transfer for transfer in self._transfers if transfer.receiver == bob), None)
        compared: tuple[Comparison, ...] = ()
        crowd: tuple[Movement, ...] = ()
        if self.demo.private and got is not None:
            since = payouts_since(self._transfers, paid, got, self._wallets)
            crowd = tuple(crowd_of(since, paid, got))
            compared = compared_after(self._transfers, paid, got, since, crowd)
        elif self.demo.private:
            compared = compared_before(stage.legs[0].sold.amount, stage.legs[-1].bought.amount)
        search = search_link(self._transfers, paid.sender, bob, blocks)
        return replace(stage, search=search, compared=compared, crowd=crowd)

    async def _read_on(self, names: Collection[str]) -> None:
        for name in sorted(names):
            self._transfers += map(self._movement, await self._chains[name].read_on())

    def _come(self) -> None:
        link, control = self._desk.link, self._control
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
            Customer(f"guest {self._tag} {place}", self.sold, self.amount, self._rng, place)
            for place in range(COUNT)
        ]

        async def serve() -> None:
            try:
                await asyncio.gather(*(other.send(api, control, self._wait) for other in others))
            finally:
                await api.aclose()

        self._others = asyncio.create_task(serve(), name="customers of the sandbox")


def money_at(legs: Sequence[OrderLeg], place: int, status: str) -> tuple[str, str]:
    """Returns where the money is and who acts next. ``place`` is the leg (one exchange's part of
    the order) with the money, from 0."""
    leg, last = legs[place], place + 1 == len(legs)
    comes = f"{tracker_amount(leg.sold.amount, 'pay')} {leg.sold.symbol}"
    if status == "WAITING":
        return f"{comes} in Alice's wallet.", "Alice: she pays the deposit"
    if status == "CONFIRMING":
        return f"{comes} at {leg.venue}'s deposit address.", "the chain: it confirms the deposit"
    if status == "EXCHANGING":
        return f"{comes} with {_called(legs, place)}.", f"{leg.venue}: it exchanges and pays out"
    goes = f"{tracker_amount(leg.bought.amount)} {leg.bought.symbol} on its way to"
    if last:
        return f"{goes} Bob.", "the chain: it confirms the payout"
    return f"{goes} {_called(legs, place + 1)}.", "the chain: it confirms the payment"


def _called(legs: Sequence[OrderLeg], place: int) -> str:
    venue = legs[place].venue
    return venue if len(legs) == 1 else f"{venue}, the {('first', 'second')[place]} exchange"


def _of_alice(text: str) -> str:
    for sentence, alices in _ALICE:
        text = text.replace(sentence, alices)
    return text
