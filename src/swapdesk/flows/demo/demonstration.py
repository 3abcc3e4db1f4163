"""One demonstration, carried out in the sandbox and noted stage by stage.

Alice pays from an account of her own and Bob's address is new, so that nothing of an earlier
demonstration is found on them. A stage holds what was known when it was reached; going back shows
that again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.client.api import PartnerApi
from swapdesk.client.chain_lookup import Payment
from swapdesk.client.chain_transfers import ChainTransfer, EvmBlocks
from swapdesk.client.sandbox_control import OrderLeg, SandboxControl
from swapdesk.flows.creation.confirm_intent import NotLockable, lock_for_review
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.demo.chain_swap import ChainSwap, whereabouts
from swapdesk.flows.demo.customers import (
    AHEAD,
    COUNT,
    MIDDLE_BY,
    Customer,
    unused_address,
    world_wait,
)
from swapdesk.flows.demo.facts import DemoFailed, Facts, Movement, SupportWork
from swapdesk.flows.demo.link_search import search_link, what_remains
from swapdesk.flows.deposits.funding import Funded
from swapdesk.flows.intents.intent import IntentKind
from swapdesk.flows.notation import clock_time, tracker_amount
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.recipients import check_memo, check_recipient
from swapdesk.flows.quotes.quote_request import LegFilter, QuoteOptions, QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.support.case_sheet import sheet_of
from swapdesk.flows.support.order_search import OrderSearch
from swapdesk.flows.support.paid_on_chain import paid_token
from swapdesk.flows.support.pasted_text import read_pasted
from swapdesk.flows.support.support_case import facts_of
from swapdesk.wallet.accounts import Kind
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

_LOOK_SECONDS, _SHORTEST_LOOK = 1.0, 0.1
"""World seconds between two looks at the exchanges, and the fewest of the machine."""


_ALICE = (
    ("in your wallet, if you sent nothing", "in Alice's wallet, if she sent nothing"),
    ("your wallet", "Alice's wallet"),
    ("at the recipient", "at Bob's address"),
    ("the recipient", "Bob"),
    ("you: ", "Alice: "),
)


class StageRow(Struct, frozen=True):
    """One row of the table of a demonstration. ``act`` is done first; ``reached`` says whether
    the stage, or a later one, has come. ``more`` is told on demand; ``short`` is the name where
    there is little room. ``holder`` is the leg that the money is at, from 0, and the status of it
    that the stage is about; None where the order tells."""

    name: str
    short: str
    title: str
    sentence: str
    more: str
    reached: Callable[[Facts], bool]
    act: Callable[[Demonstration], Awaitable[None]] | None = None
    holder: tuple[int, str] | None = None


class Demo(Struct, frozen=True):
    """What is shown: ``route`` from ``sell`` to ``buy``, each ``symbol.chain``."""

    name: str
    title: str
    did: str
    """What Alice did: ``created a private send``."""
    route: RouteType
    sell: str
    buy: str | None
    """None: the same token."""
    amount: Decimal
    rows: tuple[StageRow, ...]
    receiver: str = "Bob"
    """Who is paid."""
    others: bool = False
    """Whether other customers use the sandbox meanwhile."""
    fault: str | None = None
    """What happens to the order."""


class Stage(Struct, frozen=True):
    """``number`` is 1 to as many as there are."""

    number: int
    row: StageRow
    facts: Facts


class Demonstration:
    """``run`` carries a demonstration out and calls ``on_stage`` with each stage; ``record`` keeps
    them. ``tag`` tells its accounts from those of others."""

    def __init__(
        self,
        desk: Desk,
        demo: Demo,
        tokens: tuple[Token, Token],
        amount: Decimal,
        *,
        seed: int,
        tag: str,
    ) -> None:
        self.demo = demo
        self.record: list[Stage] = []
        self._desk = desk
        self._clock = desk.clock
        self._sold, self._bought = tokens
        self._amount = amount
        self._rng = random.Random(seed)
        self._tag = tag
        self._bob = unused_address(self._bought, "bob", tag)
        self._chains: dict[str, EvmBlocks] = {}
        self._swap: ChainSwap | None = None
        self._transfers: list[ChainTransfer] = []
        self._wallets: frozenset[str] = frozenset()
        self._others: asyncio.Task[None] | None = None
        self._speed = 1.0
        self._tracked: TrackedOrder | None = None
        self._created = desk.clock.now()
        self._support: SupportWork | None = None

    @property
    def tokens(self) -> tuple[Token, Token]:
        return self._sold, self._bought

    @property
    def amount(self) -> Decimal:
        return self._amount

    async def run(self, on_stage: Callable[[Stage], None]) -> None:
        """Raises DemoFailed, ClientError, ChainUnreadable and JournalUnavailable."""
        self._speed = float(await self._control.speed())
        await self._begin_reading()
        if self.demo.others:
            self._come()
            await self._wait(AHEAD)
        facts: Facts | None = None
        for number, row in enumerate(self.demo.rows, 1):
            if row.act is not None:
                await row.act(self)
                facts = None
            if facts is None or not row.reached(facts):
                facts = await self._until(row.reached)
            if row.holder is not None:
                money, next_ = money_at(facts.legs, *row.holder)
                facts = replace(facts, money=money, next=next_)
            stage = Stage(number, row, facts)
            self.record.append(stage)
            on_stage(stage)

    async def last_look(self) -> Stage:
        """The last stage as it is now, once the others who came meanwhile were served: their
        payouts are what Bob's is hidden among."""
        if self._others is not None:
            await self._others
        await self._read_on(self._chains)
        last = self.record[-1]
        self.record[-1] = replace(last, facts=self._searched(last.facts))
        return self.record[-1]

    async def change_speed(self, speed: Decimal) -> Decimal:
        """Let the world run so fast from now on."""
        taken = await self._control.speed(speed)
        self._speed = float(taken)
        return taken

    async def _wait(self, seconds: float) -> None:
        await world_wait(seconds, self._clock, lambda: self._speed)

    async def close(self) -> None:
        if self._others is not None:
            self._others.cancel()
            await asyncio.gather(self._others, return_exceptions=True)
        if self._swap is not None:
            self._swap.close()
        for chain in self._chains.values():
            await chain.close()

    # what Alice does

    @property
    def swap(self) -> ChainSwap:
        """Of a demonstration that swaps on a chain."""
        assert self._swap is not None  # made by ``run`` for such a route
        return self._swap

    async def create(self) -> None:
        """The order as any user of the desk makes it: journaled, compared, read again."""
        link, token = self._desk.link, self._bought
        row, board = await self._best_quote()
        recipient = check_recipient(self._bob, token, book=self._desk.book, paid={})
        memo = check_memo(None, False, token)
        kind = IntentKind.PRIVATE_SEND if self._sold.id == token.id else IntentKind.EXCHANGE
        try:
            intent = lock_for_review(kind, row, board, recipient, memo, None, self._clock)
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
        """A private route over a coin of a local chain, where there is one."""
        reason = "none was offered"
        private = self._sold.id == self._bought.id
        over_local = (LegFilter(only=(MIDDLE_BY,)), LegFilter())
        for first_leg in over_local if private else over_local[1:]:
            options = QuoteOptions(types=(self.demo.route,), in_leg=first_leg)
            wish = QuoteRequest.of(
                options, self._sold, self._bought, self._amount, private_send=private
            )
            board = await self._desk.link.quotes.ask(wish)
            row = next((each for each in board.ranking.rows if each.choosable), None)
            if row is not None:
                return row, board
            reason = next((each.reason for each in board.ranking.unusable), reason)
        raise DemoFailed(f"There is no {self.demo.route.value} route: {reason}")

    async def pay(self) -> None:
        """From Alice's account."""
        faucet = self._desk.link.faucet
        if faucet is None or self._tracked is None:
            raise DemoFailed("There is no order to pay.")
        paid = await faucet.pay(self._tracked, f"alice {self._tag}")
        if not isinstance(paid, Funded):
            raise DemoFailed(paid.reason)

    # what support does

    async def find_order(self) -> None:
        """Alice writes and names nothing but her transaction; support pastes that as it is."""
        paid = self.record[-1].facts.paid
        if paid is None:
            raise DemoFailed("Alice's payment is in no block that was read.")
        message = (
            f"Hello, where is my money? I sent it at {clock_time(paid.at)} and nothing came."
            f" This is all I have: {paid.hash}"
        )
        catalog = self._desk.catalog
        pasted = read_pasted(message, is_symbol=lambda word: bool(catalog.rows_of_symbol(word)))
        search = OrderSearch(self._desk, pasted)
        search.look_here()
        found = next(iter(search.found), None)
        facts = facts_of(self._desk, found) if found is not None else None
        if facts is None:
            raise DemoFailed(f"Support did not find the order: {search.verdict or 'not here'}")
        self._support = SupportWork(message, tuple(search.searched), sheet_of(facts))

    async def reply(self) -> None:
        """Send what the sheet has ready."""
        if self._support is not None:
            self._support = replace(self._support, replied=True)

    # what is known

    @property
    def _control(self) -> SandboxControl:
        control = self._desk.link.control
        if control is None:
            raise DemoFailed("A demonstration needs the sandbox.")
        return control

    async def _until(self, reached: Callable[[Facts], bool]) -> Facts:
        """Look until a stage has come. The order is read where its exchanges have news."""
        if self._swap is not None:
            return await self._until_swapped(self._swap, reached)
        assert self._tracked is not None  # the first row creates it
        seen: tuple[OrderLeg, ...] | None = None
        while True:
            legs = await self._control.legs(self._tracked.service_id)
            if legs != seen or all(leg.over for leg in legs):
                facts = await self._look(legs)
                if reached(facts):
                    return self._searched(facts)
                if facts.ended:
                    raise DemoFailed(f"The order ended otherwise: {facts.money}")
            seen = legs
            await self._clock.sleep(max(_LOOK_SECONDS / self._speed, _SHORTEST_LOOK))

    async def _until_swapped(self, swap: ChainSwap, reached: Callable[[Facts], bool]) -> Facts:
        while True:
            facts = await self._look_at_swap(swap)
            if reached(facts):
                return facts
            if facts.ended and not facts.completed:
                raise DemoFailed(f"The order ended otherwise: {facts.money}")
            await self._clock.sleep(_LOOK_SECONDS)

    async def _look_at_swap(self, swap: ChainSwap) -> Facts:
        await self._read_on(self._chains)
        known, tracker, order = await swap.look(), self._desk.link.tracker, swap.order
        if order is not None:
            tracked = tracker.adopt(order.service_id) if self._tracked is None else None
            read = await tracker.read(order.service_id)
            self._tracked = read or tracked or self._tracked
        sent = known.sent.hash if known.sent is not None else None
        account = known.account.lower()
        money, next_ = whereabouts(known, self._tracked)
        moved = tuple(each for each in self._transfers if each.hash == sent)
        return Facts(
            at=self._clock.now(),
            created=swap.intent.frozen_at,
            sold=self._sold,
            amount=self._amount,
            tracked=self._tracked,
            legs=(),
            bob=known.account,
            money=money,
            next=next_,
            chains=frozenset(self._chains),
            coin=self._coin(),
            moved=tuple(map(self._movement, moved)),
            paid=next((each for each in moved if each.sender == account), None),
            got=next((each for each in moved if each.receiver == account), None),
            fee=Decimal(known.fee).scaleb(-18) if known.fee else None,
            swap=known,
        )

    async def _look(self, legs: tuple[OrderLeg, ...]) -> Facts:
        assert self._tracked is not None
        read = await self._desk.link.tracker.read(self._tracked.service_id)
        tracked = self._tracked = read or self._tracked
        sides = {side.chain for leg in legs for side in (leg.sold, leg.bought)}
        await self._read_on(sides & self._chains.keys())
        bob = self._bob.lower()
        case = {bob, *(leg.deposit_address.lower() for leg in legs)}
        moved = tuple(
            each for each in self._transfers if each.sender in case or each.receiver in case
        )
        first = legs[0].deposit_address.lower() if legs else None
        paid = next((each for each in moved if each.receiver == first), None)
        mined = await self._chains[paid.chain].mined(paid.hash) if paid is not None else None
        # The desk knows the time of the sandbox to a second, and no stage is before what it shows.
        now = max([self._clock.now(), *(each.at for each in moved)])
        status = order_status(tracked, now)
        next_ = _support_next(self._support) if self._support is not None else status.next
        return Facts(
            at=now,
            created=self._created,
            sold=self._sold,
            amount=self._amount,
            tracked=tracked,
            legs=legs,
            bob=self._bob,
            money=_of_alice(status.money),
            next=_of_alice(next_),
            chains=frozenset(self._chains),
            coin=self._coin(),
            moved=tuple(map(self._movement, moved)),
            paid=paid,
            got=next((each for each in moved if each.receiver == bob), None),
            fee=None if mined is None else Decimal(mined.fee).scaleb(-18),
            support=self._support,
        )

    def _movement(self, moved: ChainTransfer) -> Movement:
        payment = Payment(moved.receiver, moved.units, moved.token)
        token = paid_token(moved.chain, payment, self._desk.catalog)
        if token is None:
            return Movement(moved, None, "another token")
        amount = short(from_base_units(moved.units, token.decimals))
        return Movement(moved, amount, token.symbol)

    def _coin(self) -> str:
        coin = paid_token(self._sold.chain, Payment("", 0), self._desk.catalog)
        return coin.symbol if coin is not None else ""

    def _searched(self, facts: Facts) -> Facts:
        """With what a search finds in everything that was read until now."""
        if facts.paid is None or facts.swap is not None:
            return facts
        blocks: Mapping[str, tuple[int, int]] = {
            name: (chain.first, chain.height)
            for name, chain in self._chains.items()
            if chain.height >= chain.first
        }
        search = search_link(self._transfers, facts.paid.sender, self._bob.lower(), blocks)
        remains = None
        if facts.got is not None and self._sold.id == self._bought.id:
            remains = what_remains(
                self._transfers, facts.paid, facts.got, self._wallets, self._sold.decimals
            )
        return replace(facts, search=search, remains=remains)

    async def _begin_reading(self) -> None:
        # A swap on a chain reads that one alone: what nobody asks does not follow the market.
        alone = self._sold.chain if self.demo.route is RouteType.DEX else None
        for link in self._desk.chain_links():
            if link.kind is Kind.EVM and alone in (None, link.name):
                chain = EvmBlocks(link.name, link.rpc, transport=self._desk.link.transport)
                self._chains[link.name] = chain
                await chain.begin()
        if alone is not None:
            tokens = (self._sold, self._bought)
            self._swap = ChainSwap(
                self._desk,
                self._control,
                self._chains[alone],
                f"alice {self._tag}",
                tokens,
                self._amount,
            )

    async def _read_on(self, names: Collection[str]) -> None:
        for name in sorted(names):
            self._transfers += await self._chains[name].read_on()

    def _come(self) -> None:
        """Let others use the sandbox, as customers of another partner."""
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
            Customer(f"guest {self._tag} {place}", self._sold, self._amount, self._rng, place)
            for place in range(COUNT)
        ]

        async def serve() -> None:
            try:
                await asyncio.gather(*(each.send(api, control, self._wait) for each in others))
            finally:
                await api.aclose()

        self._others = asyncio.create_task(serve(), name="customers of the sandbox")


def money_at(legs: Sequence[OrderLeg], place: int, status: str) -> tuple[str, str]:
    """Where the money is and who acts next while a leg has this status. The service sees it
    later."""
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
    """``Pell, the first exchange``."""
    venue = legs[place].venue
    return venue if len(legs) == 1 else f"{venue}, the {('first', 'second')[place]} exchange"


def _of_alice(text: str) -> str:
    """A sentence to whoever made the order, who is Alice here, and pays Bob."""
    for said, told in _ALICE:
        text = text.replace(said, told)
    return text


def _support_next(work: SupportWork) -> str:
    if not work.replied:
        return "support: answer Alice"
    return work.sheet.acts.rstrip(".").replace("you:", "support:")
