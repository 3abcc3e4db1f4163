"""Creating an order: journal first, one POST, never a second one for the same intent.

Order of things (reliability: J0): the intent is committed, the step is committed as SENT,
the POST leaves, its outcome is committed, the order is read again and compared, and only
then may a deposit address be shown. Exchanges and private sends go the same way.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, ClientError, OutcomeUnknown
from swapdesk.clock import Clock
from swapdesk.flows.intent import Intent, IntentKind
from swapdesk.flows.journal import Journal
from swapdesk.flows.journal_file import JournalUnavailable
from swapdesk.flows.order_check import LOWER_TOLERANCE, OrderCheck, check_order, check_repeat
from swapdesk.flows.reconciliation import LOOKS, Reconciled, find_order
from swapdesk.flows.wording import (
    NO_JOURNAL,
    NOT_CREATED,
    OUTCOME_UNKNOWN,
    UNREACHABLE,
    Failure,
    failure_of,
)
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest
from swapdesk.wire.orders import Order

LAST_MOMENT = timedelta(seconds=5)
"""A quote with less validity left is not confirmed any more."""


@dataclass(frozen=True)
class Created:
    """The order exists and is journaled. Its address may be shown only if ``withheld`` is None."""

    order: Order
    check: OrderCheck
    withheld: str | None
    found_again: bool = False


@dataclass(frozen=True)
class NotCreated:
    """Nothing was created. ``error`` is the client's error when the service was asked."""

    failure: Failure
    code: str
    error: ClientError | None = None


@dataclass(frozen=True)
class Unknown:
    """The outcome is not known and journaled as such; ``candidates`` match if there are several."""

    failure: Failure
    intent_id: str
    candidates: tuple[Order, ...] = ()


CreateOutcome = Created | NotCreated | Unknown


class ExchangeFlow:
    """Creates orders for intents. One create at a time per intent, however often it is asked."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        *,
        lower_tolerance: Decimal = LOWER_TOLERANCE,
        looks: tuple[float, ...] = LOOKS,
    ) -> None:
        self._api = api
        self._journal = journal
        self._clock = clock
        self._lower_tolerance = lower_tolerance
        self._looks = looks
        self._running: set[str] = set()

    async def create(
        self, intent: Intent, *, on_waiting: Callable[[], None] | None = None
    ) -> CreateOutcome:
        """Post the intent once. ``on_waiting`` is called when the outcome has to be looked up."""
        refused = self._refuse_before_sending(intent)
        if refused is not None:
            return refused
        self._running.add(intent.id)
        try:
            return await self._create(intent, on_waiting)
        finally:
            self._running.discard(intent.id)

    def _refuse_before_sending(self, intent: Intent) -> NotCreated | None:
        if intent.id in self._running or self._journal.intents.get(intent.id) is not None:
            return NotCreated(
                Failure(
                    "This confirmation was already used.",
                    "where the journal says",
                    "you: look at orders",
                ),
                "ALREADY_ASKED",
            )
        if intent.valid_until - self._clock.now() <= LAST_MOMENT:
            return NotCreated(
                Failure("This quote ended.", "in your wallet", "you: ask for new quotes"),
                "QUOTE_EXPIRED",
            )
        twin = self._journal.intents.blocked_by(intent.fingerprint)
        if twin is not None:
            return NotCreated(
                Failure(
                    "The same payment was asked before and its outcome is not known yet.",
                    "in your wallet; nothing was paid",
                    "the desk: it looks for the first order; see orders",
                ),
                "OUTCOME_PENDING",
            )
        return None

    async def _create(self, intent: Intent, on_waiting: Callable[[], None] | None) -> CreateOutcome:
        body = _body(intent)
        digest = hashlib.sha256(encode_json(body)).hexdigest()
        try:
            self._journal.intents.add(intent, "create", digest)
            self._journal.intents.mark_sent(intent.id)
        except JournalUnavailable:
            return NotCreated(NO_JOURNAL, "NO_JOURNAL")
        sent_at = self._clock.now()
        try:
            order = await self._post(intent, body)
        except OutcomeUnknown as error:
            return await self._look_for(intent, sent_at, error, on_waiting)
        except ApiError as error:
            code = error.code or f"HTTP_{error.status}"
            self._journal.intents.mark_refused(
                intent.id, code=code, status=error.status, request_id=error.request_id
            )
            return NotCreated(failure_of(code, error.status), code, error)
        except ClientError as error:
            # Definite by the client's own word: nothing left, or nothing happened.
            self._journal.intents.mark_refused(intent.id, code="NOT_SENT")
            return NotCreated(UNREACHABLE, "NOT_REACHABLE", error)
        try:
            return await self._adopt(intent, order, found_again=False)
        except JournalUnavailable:
            return _unjournaled(intent, order)

    async def _post(self, intent: Intent, body: ExchangeRequest | PrivateSendRequest) -> Order:
        if isinstance(body, ExchangeRequest):
            return await self._api.create_exchange(body)
        return await self._api.create_private_send(body)

    async def _look_for(
        self,
        intent: Intent,
        sent_at: datetime,
        error: OutcomeUnknown,
        on_waiting: Callable[[], None] | None,
    ) -> CreateOutcome:
        self._journal.intents.mark_unknown(
            intent.id,
            code=error.code or "NO_ANSWER",
            status=error.status,
            request_id=error.request_id,
        )
        if on_waiting is not None:
            on_waiting()
        outcome = await self.resolve(intent, sent_at)
        if isinstance(outcome, NotCreated) and error.code is not None:
            return NotCreated(failure_of(error.code, error.status), error.code, error)
        return outcome

    async def resolve(self, intent: Intent, sent_at: datetime) -> CreateOutcome:
        """Find out what became of an intent whose outcome is unknown."""
        others = {
            entry.order.service_id
            for entry in self._journal.orders.all()
            if entry.intent_id is not None and entry.intent_id != intent.id
        }
        found: Reconciled = await find_order(
            self._api, self._clock, intent, sent_at=sent_at, known=others, looks=self._looks
        )
        if len(found.orders) == 1:
            return await self._adopt(intent, found.orders[0], found_again=True)
        if found.orders or not found.certain:
            return Unknown(OUTCOME_UNKNOWN, intent.id, found.orders)
        self._journal.intents.mark_not_created(intent.id)
        return NotCreated(NOT_CREATED, "NOT_CREATED")

    async def _adopt(self, intent: Intent, order: Order, *, found_again: bool) -> Created:
        """Journal the order, hidden; read it again, compare, and only then let it be shown."""
        check = check_order(
            intent, order, now=self._clock.now(), lower_tolerance=self._lower_tolerance
        )
        self._journal.intents.mark_created(
            intent.id,
            order,
            source="list" if found_again else "create",
            withheld=check.withheld or "The service has not repeated this order yet.",
            resolved=found_again,
        )
        if not check.hard:
            order, check = await self._confirm(intent, order, check)
        withheld = await self._settle_withheld(order, check)
        return Created(order, check, withheld, found_again)

    async def _confirm(
        self, intent: Intent, order: Order, check: OrderCheck
    ) -> tuple[Order, OrderCheck]:
        try:
            repeated = await self._api.get_order(order.service_id)
        except ClientError:
            return order, OrderCheck(
                (*check.hard, "the service has not repeated it yet"),
                check.lower_by,
                check.provider_changed,
            )
        differs = check_repeat(order, repeated)
        again = check_order(
            intent, repeated, now=self._clock.now(), lower_tolerance=self._lower_tolerance
        )
        return repeated, OrderCheck((*differs, *again.hard), again.lower_by, again.provider_changed)

    async def _settle_withheld(self, order: Order, check: OrderCheck) -> str | None:
        withheld = check.withheld
        if withheld is None:
            self._journal.orders.release(order.service_id)
        else:
            self._journal.orders.withhold(order.service_id, withheld)
        return withheld

    async def confirm_again(self, intent: Intent, order: Order) -> Created:
        """Read an order once more whose repetition failed or that a restart interrupted."""
        check = check_order(
            intent, order, now=self._clock.now(), lower_tolerance=self._lower_tolerance
        )
        if not check.hard:
            order, check = await self._confirm(intent, order, check)
        return Created(order, check, await self._settle_withheld(order, check))

    def accept_lower(self, created: Created) -> Created:
        """The user accepted less output than confirmed; hard differences stay."""
        if created.check.hard:
            return created
        self._journal.orders.release(created.order.service_id)
        return Created(created.order, created.check, None, created.found_again)


def _unjournaled(intent: Intent, order: Order) -> Created:
    """The order exists but the journal could not take it: its id must not be lost."""
    reason = (
        f"order {order.service_id} was created but the journal cannot be written;"
        " write this id down and do not pay it from here"
    )
    check = OrderCheck((reason,), None, order.in_ != intent.provider)
    return Created(order, check, check.withheld)


def new_intent_id() -> str:
    """A fresh id of an intent."""
    return uuid.uuid4().hex


def _body(intent: Intent) -> ExchangeRequest | PrivateSendRequest:
    kind = ExchangeRequest if intent.kind is IntentKind.EXCHANGE else PrivateSendRequest
    return kind(
        quote_id=intent.quote_id,
        address_to=intent.recipient,
        destination_tag=intent.memo or None,
        refund_address=intent.refund_address or None,
        refund_extra_id=intent.refund_memo or None,
    )
