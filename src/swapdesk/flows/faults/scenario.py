"""Playing cases on the sandbox: an order each, made as every order of this desk is, then what
happens to it, step by step.

What a case waits for is looked at again and again while the sandbox's clock is moved on, so a case
takes seconds at any speed of the world. Faults and clock meet every order of the sandbox.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.creation.confirm_intent import (
    NotLockable,
    lock_for_review,
    needs_refund_address,
)
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.faults.scenario_file import (
    Case,
    Deposit,
    Fault,
    MoveClock,
    Step,
    Until,
)
from swapdesk.flows.faults.triggers import TriggerProblem, Triggers
from swapdesk.flows.intents.intent import Intent, IntentKind
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.payees.recipients import (
    check_memo_of,
    check_recipient,
    check_refund,
    own_deposits,
    paid_addresses,
    token_contracts,
)
from swapdesk.flows.quotes.quote_request import QuoteOptions, QuoteRequest, WishRefused
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.orders import LegStatus, Order
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

LOOK_SECONDS = 0.2
NUDGE = "20s"
"""How far the clock goes between two looks: so the world lives minutes where it is quick."""
MOST_LOOKS = 300


class CaseFailed(Exception):
    """A case did not come about; a sentence. Orders that were made stay."""


class PlayedCase(Struct, frozen=True):
    """A case that stands."""

    name: str
    customer: str
    service_id: str
    pasted: str
    """What the customer sends of the order: its id, or the hash of the deposit."""


class ScenarioRun:
    """Plays cases one after the other. Raises TriggerProblem where there is no sandbox."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._triggers = Triggers(desk)

    async def check(self, cases: Sequence[Case]) -> None:
        """That every fault exists and takes what is given: nothing is made before. Raises
        TriggerProblem, ClientError."""
        for case in cases:
            for step in case.steps:
                if isinstance(step, Fault):
                    try:
                        await self._triggers.require(step.fault, step.members)
                    except TriggerProblem as problem:
                        raise TriggerProblem("file", f"{case.name}: {problem}") from None

    async def play(self, cases: Sequence[Case]) -> AsyncIterator[PlayedCase]:
        """Each case as it stands. Raises CaseFailed; ClientError where the sandbox is gone."""
        for case in cases:
            yield await self._play(case)

    async def _play(self, case: Case) -> PlayedCase:
        service_id = await self._create(case)
        paid = ""
        for step in case.steps:
            try:
                paid = await self._take(case, service_id, step) or paid
            except TriggerProblem as problem:
                raise CaseFailed(f"{case.name}: {problem}") from None
        if case.pastes_transaction and not paid:
            raise CaseFailed(f"{case.name}: nothing was paid, so there is no transaction to paste.")
        pasted = paid if case.pastes_transaction else service_id
        return PlayedCase(case.name, case.customer, service_id, pasted)

    async def _take(self, case: Case, service_id: str, step: Step) -> str | None:
        """The hash where the step is a deposit."""
        control = self._triggers.control
        match step:
            case Deposit():
                return await control.deposit(service_id, step.amount, step.memo)
            case Fault():
                target = step.on or service_id
                call = await self._triggers.read_call(step.fault, target, step.members)
                await self._triggers.set(call)
            case MoveClock():
                await self._triggers.advance(step.step)
            case Until():
                await self._wait(case, service_id, step.state)
        return None

    async def _wait(self, case: Case, service_id: str, state: str) -> None:
        seen = ""
        for _ in range(MOST_LOOKS):
            tracked = await self._desk.link.tracker.read(service_id)
            states = _states(tracked.order) if tracked is not None else ()
            if state in states:
                return
            seen = ", ".join(states)
            await self._triggers.advance(NUDGE)
            await self._desk.clock.sleep(LOOK_SECONDS)
        raise CaseFailed(f"{case.name}: order {service_id} did not come to {state}: it is {seen}.")

    # the order

    async def _create(self, case: Case) -> str:
        desk = self._desk
        sold, bought = self._token(case, case.sell), self._token(case, case.buy)
        options = QuoteOptions(
            fixed=case.fixed, floating=not case.fixed, types=(RouteType(case.route),)
        )
        try:
            wish = QuoteRequest.of(options, sold, bought, case.amount)
        except WishRefused as refused:
            raise CaseFailed(f"{case.name}: {refused.message}") from None
        board = await desk.link.quotes.ask(wish)
        outcome = await desk.link.exchange.create(self._intent(case, board))
        if not isinstance(outcome, Created):
            raise CaseFailed(f"{case.name}: no order was created. {outcome.failure.cause}")
        if desk.link.tracker.adopt(outcome.order.service_id) is None:
            raise CaseFailed(f"{case.name}: the journal does not hold its order.")
        return outcome.order.service_id

    def _token(self, case: Case, spec: str) -> Token:
        found = resolve(spec, self._desk.catalog)
        if found.token is None or found.ambiguous:
            problem = found.problem or f"{spec} is on several chains: write TOKEN.CHAIN."
            raise CaseFailed(f"{case.name}: {problem}")
        return found.token

    def _intent(self, case: Case, board: QuoteResult) -> Intent:
        desk, row = self._desk, self._route(case, board)
        paid, deposits = paid_addresses(desk.journal), own_deposits(desk.journal)
        recipient = check_recipient(
            case.to,
            board.token_out,
            book=desk.book,
            paid=paid,
            own_deposits=deposits,
            contracts=token_contracts(desk.catalog, board.token_out),
        )
        memo = check_memo_of(recipient, recipient.memo, False, board.token_out, on_chain=False)
        refund = check_refund(
            case.refund or "",
            board.token_in,
            required=needs_refund_address(row),
            book=desk.book,
            paid=paid,
            own_deposits=deposits,
            contracts=token_contracts(desk.catalog, board.token_in),
        )
        try:
            return lock_for_review(
                IntentKind.EXCHANGE, row, board, recipient, memo, refund, desk.clock
            )
        except NotLockable as problem:
            raise CaseFailed(f"{case.name}: {problem}.") from None

    def _route(self, case: Case, board: QuoteResult) -> RankedQuote:
        now = self._desk.clock.now()
        for row in board.ranking.rows:
            wanted = case.provider in (None, row.quote.swap)
            back = case.refund is not None or not needs_refund_address(row)
            if wanted and back and row.choosable and not row.expired(now):
                return row
        raise CaseFailed(f"{case.name}: no route is usable for {case.sell} to {case.buy}.")


def _states(order: Order) -> tuple[str, ...]:
    """What an order and its legs are in, by the names that a file may wait for."""
    legs = (order.in_status, order.out_status)
    names = [LegStatus(leg).name for leg in legs if leg in set(LegStatus)]
    return (display_of(order) or "", *names)
