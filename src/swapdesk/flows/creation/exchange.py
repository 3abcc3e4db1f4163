"""Creates an order: journals the intent first, posts it once, and never posts a second time for the
same intent.

The steps are: commit the intent, commit that it is being sent, post it, commit the outcome, read
the order from the service and compare. Only then may a deposit address be shown. Exchanges and
private sends take the same steps. The request body follows from the intent alone (contract 7.1 and
7.3).
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from swapdesk.client.api import OTHER_ID, PartnerApi
from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    ClientError,
    NotFound,
    NotPaid,
    OutcomeUnknown,
)
from swapdesk.clock import Clock
from swapdesk.flows.creation.creates import OrderTaken, become_order, begin_create, refuse_create
from swapdesk.flows.creation.order_verification import (
    LOOKS,
    LOWER_TOLERANCE,
    Created,
    CreateOutcome,
    CreateUnknown,
    NotCreated,
    OrderCheck,
    check_order,
    check_repeat,
    find_order,
)
from swapdesk.flows.failure_messages import (
    ALREADY_ASKED,
    CLOCK_IS_WRONG,
    NO_JOURNAL,
    NOT_CREATED,
    OUTCOME_NOT_WRITTEN,
    OUTCOME_PENDING,
    OUTCOME_UNKNOWN,
    QUOTE_ENDED,
    failure_of,
    unsent,
    with_payment,
)
from swapdesk.flows.intents.intent import (
    NO_ADDRESS_TEXT,
    NO_SUCH_TEXT,
    UNREPEATED,
    DepositRelease,
    Intent,
    IntentKind,
    ReleaseVerdict,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import LEFT, ClaimTaken, State
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import Order

if TYPE_CHECKING:
    from swapdesk.wire.dex import GivenSignature
    from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest

    CreateBody = ExchangeRequest | PrivateSendRequest

log = logging.getLogger(__name__)


def dex_body(intent: Intent, signatures: Sequence[GivenSignature]) -> ExchangeRequest:
    """Returns the request body that creates the order of an on-chain swap."""
    from swapdesk.wire.exchanges import ExchangeRequest

    return ExchangeRequest(
        quote_id=intent.quote_id,
        address_to=intent.recipient,
        address_from=None if intent.dex is None else intent.dex.sender,
        signatures=list(signatures) or None,
    )


def create_body(intent: Intent) -> CreateBody:
    from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest

    kind = ExchangeRequest if intent.kind is IntentKind.EXCHANGE else PrivateSendRequest
    return kind(
        quote_id=intent.quote_id,
        address_to=intent.recipient,
        destination_tag=intent.memo or None,
        refund_address=intent.refund_address or None,
        refund_extra_id=intent.refund_memo or None,
        intermediate_refund_address=intent.intermediate_refund or None,
        markup=intent.markup,
    )


LATEST = timedelta(minutes=1)
"""How long after the end of its quote a new order may be missing at the service. If the order is
missing for longer, its address stays hidden for good."""

LAST_MOMENT = timedelta(seconds=5)
"""A quote can only be confirmed while it is valid for longer than this."""


class ExchangeFlow:
    """Creates orders, with at most one request at a time per intent. ``skew_limit`` is the largest
    allowed difference between the desk's and the service's clock, in seconds; None if the desk
    follows the service's clock."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        *,
        lower_tolerance: Decimal = LOWER_TOLERANCE,
        looks: tuple[float, ...] = LOOKS,
        skew_limit: float | None = None,
        running: set[str] | None = None,
    ) -> None:
        self._api = api
        self._journal = journal
        self._clock = clock
        self.lower_tolerance = lower_tolerance
        self._looks = looks
        self._skew_limit = skew_limit
        self.running = running if running is not None else set()

    async def create(
        self, intent: Intent, *, on_waiting: Callable[[], None] | None = None
    ) -> CreateOutcome:
        """Sends the request that creates an intent's order, once. ``on_waiting`` is called if the
        answer was lost and the order is searched for."""
        if intent.id in self.running:
            return NotCreated(ALREADY_ASKED, "ALREADY_ASKED")
        if (refused := self._refuse_quote(intent)) is not None:
            return refused
        self.running.add(intent.id)
        try:
            return await self._create(intent, create_body(intent), on_waiting)
        finally:
            self.running.discard(intent.id)

    def _refuse_quote(self, intent: Intent) -> NotCreated | None:
        if intent.valid_until - self._clock.now() <= LAST_MOMENT:
            return NotCreated(QUOTE_ENDED, "QUOTE_EXPIRED")
        skew = self._api.skew()
        if self._skew_limit is not None and skew is not None and abs(skew) > self._skew_limit:
            return NotCreated(CLOCK_IS_WRONG, "CLOCK_SKEW")
        return None

    async def create_onchain(
        self,
        intent: Intent,
        body: ExchangeRequest,
        on_waiting: Callable[[], None] | None = None,
    ) -> CreateOutcome:
        """Sends the request that creates an on-chain swap's order, once, for a journaled intent.
        ``on_waiting`` is called if the answer was lost."""
        refused = self._refuse_quote(intent)
        return refused or await self._create(intent, body, on_waiting, begun=True)

    async def _create(
        self,
        intent: Intent,
        body: CreateBody,
        on_waiting: Callable[[], None] | None,
        *,
        begun: bool = False,
    ) -> CreateOutcome:
        ledger = self._journal.ledger
        digest = hashlib.sha256(encode_json(body)).hexdigest()
        sent_at = self._api.server_now()
        try:
            known = self._journal.orders.ids()
            if not begun:
                if ledger.get(intent.id) is not None:
                    return NotCreated(ALREADY_ASKED, "ALREADY_ASKED")
                begin_create(ledger, intent, digest)
            if not ledger.move(intent.id, State.SENT, server_at=sent_at, digest=digest):
                return NotCreated(ALREADY_ASKED, "ALREADY_ASKED")
        except JournalUnavailable:
            return NotCreated(NO_JOURNAL, "NO_JOURNAL")
        except ClaimTaken:
            return NotCreated(OUTCOME_PENDING, "OUTCOME_PENDING")
        try:
            return await self._send(intent, body, sent_at, known, on_waiting)
        except JournalUnavailable:
            # The create stands as sent, so the next start looks for the order.
            return CreateUnknown(OUTCOME_NOT_WRITTEN, intent.id)

    async def _send(
        self,
        intent: Intent,
        body: CreateBody,
        sent_at: datetime,
        known: set[str],
        on_waiting: Callable[[], None] | None,
    ) -> CreateOutcome:
        from swapdesk.wire.exchanges import ExchangeRequest

        try:
            until = intent.valid_until - LAST_MOMENT
            if isinstance(body, ExchangeRequest):
                receipt = await self._api.create_exchange(body, until=until)
            else:
                receipt = await self._api.create_private_send(body, until=until)
        except OutcomeUnknown as error:
            return await self._look_for(intent, sent_at, known, error, on_waiting)
        except ApiError as error:
            code = error.code or f"HTTP_{error.status}"
            moved = refuse_create(
                self._journal.ledger,
                intent.id,
                code,
                status=error.status,
                request_id=error.request_id,
            )
            failure = with_payment(failure_of(code, error.status), error)
            outcome = NotCreated(failure, code, error)
            return outcome if moved else await self._decided(intent) or outcome
        except ClientError as error:
            # Definite by the client's own word: nothing left, or nothing happened.
            moved = refuse_create(self._journal.ledger, intent.id, "NOT_SENT")
            code = error.code if isinstance(error, NotPaid) else "NOT_REACHABLE"
            outcome = NotCreated(unsent(error), code, error)
            return outcome if moved else await self._decided(intent) or outcome
        order = receipt.made
        try:
            if order.service_id not in known:
                return await self._adopt(intent, order, receipt.request_id)
        except OrderTaken:
            log.warning("a create was answered with order %s of another intent", order.service_id)
        except JournalUnavailable:
            return _unjournaled(intent, order)
        # An order that was there before is not the one that was asked for.
        names = "names an order that was there before"
        answer = AnswerRefused(names, OTHER_ID, 200, receipt.request_id)
        lost = OutcomeUnknown("create", answer)
        looked = await self._look_for(intent, sent_at, known, lost, on_waiting)
        if isinstance(looked, Created):
            return looked
        cause = f"The service answered with order {order.service_id}, which was there before."
        more = looked.failure.cause
        if isinstance(looked, CreateUnknown):
            more = "It may have created another one."
        return replace(looked, failure=replace(looked.failure, cause=f"{cause} {more}"))

    async def _decided(self, intent: Intent) -> Created | None:
        create = self._journal.ledger.get(intent.id)
        service_id = None if create is None else create.subject
        known = None if service_id is None else self._journal.orders.get(service_id)
        return None if known is None else await self.confirm_again(intent, known.order)

    async def _look_for(
        self,
        intent: Intent,
        sent_at: datetime,
        known: set[str],
        error: OutcomeUnknown,
        on_waiting: Callable[[], None] | None,
    ) -> CreateOutcome:
        moved = self._journal.ledger.move(
            intent.id,
            State.UNKNOWN,
            code=error.code or "NO_ANSWER",
            status=error.status,
            request_id=error.request_id,
        )
        decided = None if moved else await self._decided(intent)
        if decided is not None:
            return decided
        if on_waiting is not None:
            on_waiting()
        outcome = await self._resolve(intent, sent_at, known, self._looks)
        if isinstance(outcome, Created):
            return outcome
        if isinstance(outcome, NotCreated) and error.code is not None:
            outcome = NotCreated(failure_of(error.code, error.status), error.code, error)
        return replace(outcome, failure=with_payment(outcome.failure, error))

    async def resolve(
        self, intent: Intent, sent_at: datetime, known: Collection[str]
    ) -> CreateOutcome:
        """Searches for the order of an intent whose outcome an earlier run left unknown.
        ``sent_at`` is the time of the request by the service's clock. ``known`` has the ids of
        orders that existed before."""
        passed = (self._api.server_now() - sent_at).total_seconds()
        looks = self._looks if passed < sum(self._looks) else (0.0,)
        return await self._resolve(intent, sent_at, known, looks)

    async def _resolve(
        self,
        intent: Intent,
        sent_at: datetime,
        known: Collection[str],
        looks: tuple[float, ...],
    ) -> CreateOutcome:
        found, complete = await find_order(
            self._api,
            self._clock,
            intent,
            sent_at=sent_at,
            known={*known, *self.of_others(intent)},
            looks=looks,
        )
        same = [order for order, certain in found if certain]
        if len(same) == 1:
            try:
                return await self.take(intent, same[0])
            except OrderTaken:
                return CreateUnknown(OUTCOME_UNKNOWN, intent.id)
        if found or not complete:
            orders = tuple(order for order, _ in found)
            return CreateUnknown(OUTCOME_UNKNOWN, intent.id, orders)
        moved = self._journal.ledger.move(intent.id, State.REFUSED, among=LEFT, code="NOT_CREATED")
        outcome = NotCreated(NOT_CREATED, "NOT_CREATED")
        return outcome if moved else await self._decided(intent) or outcome

    async def take(self, intent: Intent, order: Order) -> Created:
        """Adopts an order that the user chose for an intent with unknown outcome, checked like a
        new one. Raises OrderTaken if it belongs to a different intent, and JournalUnavailable."""
        return await self._adopt(intent, order, found_again=True)

    def of_others(self, intent: Intent) -> set[str]:
        """Returns the ids of this journal's orders that belong to intents other than this one."""
        return self._journal.orders.of_others(intent.id)

    async def _adopt(
        self,
        intent: Intent,
        order: Order,
        request_id: str | None = None,
        *,
        found_again: bool = False,
    ) -> Created:
        """Records the order with its address hidden, then reads it again to confirm it. If
        OrderTaken or JournalUnavailable is raised, nothing of the order may be shown.
        ``found_again`` is True if a search found the order."""
        check = self._check(intent, order)
        stands = become_order(
            self._journal,
            intent.id,
            order,
            source="list" if found_again else "create",
            verdict=check.verdict if check.hard else UNREPEATED,
            request_id=request_id,
        )
        created = Created(order, check, stands, found_again)
        if stands.standing is not DepositRelease.UNREPEATED:
            return created
        return await self._repeat(created, intent)

    async def confirm_again(self, intent: Intent, known: Order) -> Created:
        """Reads a journaled order again, because its first confirmation failed or was interrupted.
        Raises JournalUnavailable."""
        check = self._check(intent, known)
        return await self._repeat(Created(known, check, UNREPEATED), intent)

    async def _repeat(self, created: Created, intent: Intent) -> Created:
        """Reads a created order again and decides whether its address may be shown. If the first
        answer had no address, reads it twice."""
        order = created.order
        for _ in range(2):
            try:
                repeated = await self._api.get_order(order.service_id)
            except NotFound:
                return self._unheard_of(created, intent)
            except ClientError:
                return created
            check = self._check(intent, repeated)
            differs = check_repeat(order, repeated)
            check = OrderCheck((*differs, *check.hard), check.lower_by, check.provider_changed)
            created = Created(repeated, check, created.verdict, created.found_again)
            repeats_address = order.deposit_address is not None or intent.route == "dex"
            order = repeated
            if check.hard or repeats_address or ended(display_of(repeated)):
                stands = self._journal.orders.settle(order.service_id, check.verdict)
                return replace(created, verdict=stands)
            if repeated.deposit_address is None:
                break
        return replace(created, verdict=ReleaseVerdict(DepositRelease.UNREPEATED, NO_ADDRESS_TEXT))

    def _unheard_of(self, created: Created, intent: Intent) -> Created:
        """Marks the order as unknown to the service. If the quote ended more than a minute ago, the
        order's address is hidden for good."""
        verdict = ReleaseVerdict(DepositRelease.UNREPEATED, NO_SUCH_TEXT)
        if self._clock.now() - intent.valid_until > LATEST:
            never = ReleaseVerdict(DepositRelease.DIFFERS, NO_SUCH_TEXT)
            verdict = self._journal.orders.settle(created.order.service_id, never)
        return replace(created, verdict=verdict, missing=True)

    def _check(self, intent: Intent, order: Order) -> OrderCheck:
        return check_order(
            intent, order, now=self._clock.now(), lower_tolerance=self.lower_tolerance
        )

    def accept_lower(self, created: Created) -> Created:
        """Records that the user accepts less output than confirmed. An address hidden for any other
        reason stays hidden."""
        order, lower = created.order, created.verdict.standing is DepositRelease.LOWER
        if not lower or order.out_amount is None:
            return created
        stands = self._journal.orders.accept_output(order.service_id, order.out_amount)
        return replace(created, verdict=stands)


def _unjournaled(intent: Intent, order: Order) -> Created:
    reason = (
        f"order {order.service_id} was created but the journal cannot be written;"
        " write this id down and do not pay it from here"
    )
    check = OrderCheck((reason,), None, order.in_ != intent.provider)
    return Created(order, check, check.verdict)


def new_intent_id() -> str:
    return uuid.uuid4().hex
