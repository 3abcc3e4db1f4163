"""Twelve practice orders for support, each stuck for a different reason, with the right diagnosis.

Each order is created like any order of this desk; then the steps of its case are carried out. While
a case waits for a state, the sandbox's clock is moved forward, so that the wait takes only seconds
at any speed of the sandbox. This affects every order of the sandbox, because they all follow its
clock.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec import Struct

from swapdesk.flows.catalog.catalog import resolve
from swapdesk.flows.creation.confirm_intent import (
    CreateChecks,
    NotLockable,
    TypedBefore,
    lock_for_review,
    needs_refund_address,
)
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.faults.triggers import FaultDocument, Target, Triggers
from swapdesk.flows.intents.intent import IntentKind
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.quotes.quote_request import QuoteOptions, QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.support.support_case import Owner
from swapdesk.wire.choices import RouteType
from swapdesk.wire.orders import LegStatus, Order
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

LOOK_SECONDS = 0.2
NUDGE = "20s"
"""The step by which the sandbox's clock moves, repeatedly, until the order is in the awaited
state."""
MOST_LOOKS = 300
ALICE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BOB = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"


class Step(Struct, frozen=True):
    """One step of a case: set the fault ``value`` on the order, pay the deposit, move the clock, or
    wait for a state."""

    does: Literal["fault", "pay", "clock", "until"]
    value: str = ""
    leg: str | None = None
    """The order's leg for a fault, ``in`` or ``out``; None if the fault needs none."""
    amount: Decimal | None = None
    """The amount of a deposit; None pays the amount that the order states."""
    memo: str | None = None
    """The memo to send with the deposit: empty for none, None for the order's own."""


class Case(Struct, frozen=True, kw_only=True):
    """A practice case. The right diagnosis contains ``rule``, ``money`` and ``owner``; ``why``
    explains it."""

    PRINTED: ClassVar = {
        "case": "name", "rule": "rule", "money": "money", "owner": "owner", "why": "why",
    }  # fmt: skip

    name: str
    customer: str
    """The customer's message."""
    sell: str = "btc.bitcoin"
    amount: Decimal = Decimal("0.05")
    refund: str = ""
    route: RouteType = RouteType.STANDARD
    fixed: bool = False
    provider: str | None = None
    pastes_transaction: bool = False
    """True if the customer names the hash of the deposit instead of the order's id."""
    steps: tuple[Step, ...]
    rule: str
    money: str
    owner: Owner
    why: str


PAY = Step("pay")
PRACTICE = (
    Case(
        name="held",
        customer="I sent you 0.05 BTC this morning and there is nothing in my wallet. Where is it?",
        provider="hy",
        steps=(Step("fault", "hold"), PAY, Step("until", "VERIFYING")),
        rule="held",
        money="held at Halyard",
        owner="you",
        why="A compliance check holds the deposit. Only the provider can release it, so pass it"
        " on.",
    ),
    Case(
        name="held-halfway",
        customer="My private send says second exchange for ages. Can you push it?",
        route=RouteType.PRIVATE,
        steps=(Step("fault", "hold", leg="out"), PAY, Step("until", "VERIFYING")),
        rule="held",
        money="Held at the second exchange",
        owner="you",
        why="The second leg is held. Nobody can push it, and a refund is not possible any more.",
    ),
    Case(
        name="kept",
        customer="The page says failed, but I have paid! I want my coins back.",
        refund=BOB,
        steps=(Step("fault", "fail_after_deposit"), PAY, Step("until", "FAILED")),
        rule="failed-stuck",
        money="with the service",
        owner="you",
        why="The exchange failed after the deposit. A refund address is known; the service must"
        " act.",
    ),
    Case(
        name="no-way-back",
        customer="The exchange wrote that it sends my bitcoin back. When?",
        steps=(Step("fault", "refund"), PAY, Step("until", "FAILED")),
        rule="failed-stuck",
        money="with the service",
        owner="you",
        why="The money could not be sent back: the order names no address for a refund. Ask for"
        " one.",
    ),
    Case(
        name="refunded",
        customer="It says refunded. Refunded where? I see nothing of it in my wallet.",
        refund=BOB,
        provider="hy",
        steps=(Step("fault", "refund"), PAY, Step("until", "REFUNDED")),
        rule="refunded",
        money="came back to",
        owner="nobody",
        why="The refund arrived at the refund address, less the provider's fee. Say where to look.",
    ),
    Case(
        name="failed-halfway",
        customer="My private swap failed. Please refund it to the address it came from.",
        route=RouteType.PRIVATE,
        steps=(Step("fault", "fail_after_deposit", leg="out"), PAY, Step("until", "FAILED")),
        rule="not-refundable",
        money="with the service or its provider",
        owner="you",
        why="A private order that fails in its second leg is not refunded. Promise nothing.",
    ),
    Case(
        name="unpaid",
        customer="My order has expired although I did everything right.",
        steps=(Step("fault", "expire"), Step("until", "EXPIRED")),
        rule="expired",
        money="In the customer's wallet",
        owner="nobody",
        why="No deposit came in time. Nothing was paid, and nothing may be sent to the old"
        " address.",
    ),
    Case(
        name="late",
        customer="I was a few minutes late with the payment. Did it still count?",
        steps=(Step("clock", "31m"), Step("until", "EXPIRED"), PAY, Step("clock", "10m")),
        rule="late-stuck",
        money="after the deadline",
        owner="you",
        why="The deposit came after the deadline, and no address for a refund is known. Ask for"
        " one.",
    ),
    Case(
        name="no-memo",
        customer="Here is the hash of my XRP. The page still waits for a deposit.",
        sell="xrp.xrp",
        amount=Decimal(2500),
        pastes_transaction=True,
        steps=(Step("pay", memo=""), Step("clock", "1m")),
        rule="payment-memo-missing",
        money="at the deposit address on XRP Ledger",
        owner="you",
        why="The exchange cannot tell whose deposit it is. Give it the hash and the memo.",
    ),
    Case(
        name="rerouted",
        customer="I got less ETH than the page promised me.",
        provider="hy",
        steps=(Step("fault", "reroute"), PAY, Step("until", "SWAP_COMPLETED")),
        rule="rerouted",
        money="arrived at the recipient",
        owner="nobody",
        why="The first exchange declined and another one finished, for a little less.",
    ),
    Case(
        name="fallback",
        customer="Somebody I do not know paid me. Is that your payout?",
        steps=(Step("fault", "fallback"), PAY, Step("until", "SWAP_COMPLETED")),
        rule="paid-by-fallback",
        money="arrived at the recipient",
        owner="nobody",
        why="Another wallet of the exchange paid out. It is the payout that was asked for.",
    ),
    Case(
        name="paid-twice",
        customer="I sent the amount twice by mistake. Is the second one lost?",
        refund=BOB,
        fixed=True,
        provider="hy",
        steps=(Step("pay", amount=Decimal("0.1")), Step("until", "SWAP_COMPLETED")),
        rule="part-returned",
        money="came back to",
        owner="nobody",
        why="A fixed rate swaps what it asked for; the rest went back to the refund address.",
    ),
)


class CaseFailed(Exception):
    """Raised with a sentence if a case could not be set up. Orders created until then remain."""


class PlayedCase(Struct, frozen=True, rename="camel"):
    """A case that was set up. ``pasted`` is what the customer sends: the order's id or the
    deposit's hash."""

    case: str
    customer: str
    pasted: str
    service_id: str


class Practice:
    """Sets up the practice cases one by one. The constructor raises FaultRefused without a
    sandbox."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._triggers = Triggers(desk)

    async def play(self) -> AsyncIterator[PlayedCase]:
        """Yields each case once it is set up. Raises CaseFailed and ClientError."""
        for case in PRACTICE:
            yield await self._play(case)

    async def _play(self, case: Case) -> PlayedCase:
        service_id = await self._create(case)
        paid = ""
        for step in case.steps:
            match step.does:
                case "pay":
                    control = self._triggers.control
                    paid = await control.deposit(service_id, step.amount, step.memo)
                case "fault":
                    leg = {} if step.leg is None else {"leg": step.leg}
                    target = Target("order", service_id)
                    await self._triggers.set(FaultDocument(step.value, target, leg))
                case "clock":
                    await self._triggers.advance(step.value)
                case "until":
                    await self._wait(service_id, step.value)
        pasted = paid if case.pastes_transaction else service_id
        return PlayedCase(case.name, case.customer, pasted, service_id)

    async def _wait(self, service_id: str, state: str) -> None:
        seen = ""
        for _ in range(MOST_LOOKS):
            tracked = await self._desk.link.tracker.read(service_id)
            states = _states(tracked.order) if tracked is not None else ()
            if state in states:
                return
            seen = ", ".join(states)
            await self._triggers.advance(NUDGE)
            await self._desk.clock.sleep(LOOK_SECONDS)
        raise CaseFailed(f"Order {service_id} did not come to {state}: it is {seen}.")

    async def _create(self, case: Case) -> str:
        desk = self._desk
        options = QuoteOptions(fixed=case.fixed, floating=not case.fixed, types=(case.route,))
        sold, bought = self._token(case.sell), self._token("eth.ethereum")
        quotes = await desk.link.quotes.ask(QuoteRequest.of(options, sold, bought, case.amount))
        row = self._route(case, quotes)
        checks = CreateChecks(desk, quotes, row)
        typed = checks.all(TypedBefore(ALICE))
        refund = checks.refund(case.refund, "") if case.refund else None
        try:
            intent = lock_for_review(
                IntentKind.EXCHANGE, row, quotes, typed.recipient, typed.memo, refund, desk.clock
            )
        except NotLockable as problem:
            raise CaseFailed(f"{case.name}: {problem}.") from None
        outcome = await desk.link.exchange.create(intent)
        if not isinstance(outcome, Created):
            raise CaseFailed(f"{case.name}: no order was created. {outcome.failure.cause}")
        desk.link.tracker.adopt(outcome.order.service_id)
        return outcome.order.service_id

    def _token(self, spec: str) -> Token:
        match = resolve(spec, self._desk.catalog)
        if match.token is None:
            raise CaseFailed(f"{spec} is no token of this sandbox. {match.problem}")
        return match.token

    def _route(self, case: Case, quotes: QuoteResult) -> RankedQuote:
        now = self._desk.clock.now()
        for row in quotes.ranking.rows:
            wanted = case.provider in (None, row.quote.swap)
            back = bool(case.refund) or not needs_refund_address(row)
            if wanted and back and row.pays and not row.expired(now):
                return row
        raise CaseFailed(f"{case.name}: no route is usable for {case.sell}.")


def _states(order: Order) -> tuple[str, ...]:
    legs = (order.in_status, order.out_status)
    names = [LegStatus(leg).name for leg in legs if leg in set(LegStatus)]
    return (display_of(order) or "", *names)
