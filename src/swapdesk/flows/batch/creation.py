"""Creating the groups of a plan: journal first, one POST a group, never a second one for it.

A group whose answer is lost is looked for among the orders of the service and adopted only when
exactly one group there is made of its rows. What is refused for certain may be asked for again,
each failed row by itself; what is not known may not.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from msgspec import Struct

from swapdesk.client.api import OTHER_ID, PartnerApi
from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    ClientError,
    OutcomeUnknown,
    RateLimited,
)
from swapdesk.clock import Clock
from swapdesk.flows.batch.payable import differing
from swapdesk.flows.batch.plan import BatchPlan, PlannedGroup
from swapdesk.flows.batch.planned import journal_cells
from swapdesk.flows.creation.order_verification import LOOKS, SKEW, WINDOW, list_since
from swapdesk.flows.journal.batch_records import (
    JournaledBatch,
    JournaledGroup,
    NewGroup,
    NewRow,
    RowEnd,
    RowState,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.multi import MultiExchange, MultiExchangeRequest
from swapdesk.wire.orders import Order


class NotCreatable(Exception):
    """The plan has problems, its limits are not known, or nobody agreed to what is doubted in it;
    nothing was written."""


class GroupOutcome(Struct, frozen=True):
    """What one group came to. ``error`` is what stopped it; None for a group that exists."""

    group: JournaledGroup
    error: ClientError | None = None


class BatchCreation:
    """Creates batches for one journal. ``looks`` are the seconds before each look for a group
    whose answer was lost."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        *,
        looks: tuple[float, ...] = LOOKS,
    ) -> None:
        self._api = api
        self._log = journal.batches
        self._orders = journal.orders
        self._clock = clock
        self._looks = looks

    def write(
        self,
        plan: BatchPlan,
        *,
        agreed: bool = False,
        again: bool = False,
        payer: str | None = None,
    ) -> str:
        """Journal the plan as it was confirmed, with the ``payer`` of all of it where it shall be
        paid at once (:meth:`BatchLog.add`); the id of the batch. ``agreed``: a person said yes to
        everything that the plan says is doubted.

        Raises NotCreatable, BatchCreatedBefore and JournalUnavailable.
        """
        if not plan.creatable or (plan.doubts and not agreed):
            raise NotCreatable
        groups = [_new_group(group) for group in plan.groups]
        digest = hashlib.sha256("\n".join(group.body for group in groups).encode()).hexdigest()
        batch_id = uuid.uuid4().hex
        self._log.add(batch_id, plan.sheet.name, digest, groups, again=again, payer=payer)
        return batch_id

    async def run(
        self, batch_id: str, on_group: Callable[[GroupOutcome], None] | None = None
    ) -> list[GroupOutcome]:
        """Create what is not created yet, one group after another.

        Ends early at a group whose outcome is unknown, at a limit of calls and where nobody
        answers: what follows stays as it is and goes on with another call of this. Raises
        JournalUnavailable; nothing leaves without the journal.
        """
        outcomes: list[GroupOutcome] = []
        if not self._log.adopt(batch_id):
            return outcomes
        for group in self._batch(batch_id).groups:
            if group.state is StepState.PREPARED:
                error = await self._create(batch_id, group)
            elif group.open:
                error = await self.resolve(batch_id, group)
            else:
                continue
            outcome = GroupOutcome(self._group(batch_id, group.number), error)
            outcomes.append(outcome)
            if on_group is not None:
                on_group(outcome)
            if outcome.group.open or outcome.group.state is StepState.PREPARED:
                break
        return outcomes

    async def _create(self, batch_id: str, group: JournaledGroup) -> ClientError | None:
        request = decode(MultiExchangeRequest, group.body.encode(), side="service")
        known = self._orders.index.ids() | self._log.service_ids()
        groups = self._log.multi_ids()
        if not self._log.mark_sent(batch_id, group.number, self._api.server_now()):
            return None
        try:
            receipt = await self._api.create_multi_exchange(request)
        except OutcomeUnknown as error:
            self._log.mark_unknown(
                batch_id,
                group.number,
                code=error.code or "NO_ANSWER",
                status=error.status,
                request_id=error.request_id,
            )
            lost = await self.resolve(batch_id, self._group(batch_id, group.number))
            return lost or (error if self._group(batch_id, group.number).multi_id is None else None)
        except RateLimited as error:
            return error if self._log.mark_not_sent(batch_id, group.number) else None
        except ApiError as error:
            code = error.code or f"HTTP_{error.status}"
            moved = self._log.mark_refused(
                batch_id,
                group.number,
                _refused_ends(error, code, len(request.orders)),
                code=code,
                status=error.status,
                request_id=error.request_id,
            )
            return error if moved else None
        except ClientError as error:
            # Definite by the client's own word: nothing left, or nothing happened.
            return error if self._log.mark_not_sent(batch_id, group.number) else None
        made = receipt.made
        if made.multi_id in groups:
            # A group that was there before is not the one that was asked for.
            self._log.mark_unknown(
                batch_id, group.number, code="OTHER_ID", status=None, request_id=receipt.request_id
            )
            return await self.resolve(batch_id, self._group(batch_id, group.number))
        moved = self._log.mark_created(
            batch_id,
            group.number,
            made.multi_id,
            _ends(request, made, known),
            request_id=receipt.request_id,
        )
        if moved or self._group(batch_id, group.number).multi_id == made.multi_id:
            return None
        # What the group became was decided before; its orders are kept, and none of them is paid.
        self._orders.record((one.order, "create", False) for one in made.orders if one.order)
        said = f"created group {made.multi_id} of a request that was over: pay none of its orders"
        return AnswerRefused(said, OTHER_ID, 200, receipt.request_id)

    async def resolve(self, batch_id: str, group: JournaledGroup) -> ClientError | None:
        """Find out what became of a group whose outcome is not known."""
        sent_at = group.server_at
        if sent_at is None or not group.open:
            return None
        if group.state is StepState.SENT:
            self._log.mark_unknown(
                batch_id, group.number, code="INTERRUPTED", status=None, request_id=None
            )
        request = decode(MultiExchangeRequest, group.body.encode(), side="service")
        certain = False
        failed: ClientError | None = None
        for wait in self._looks:
            await self._clock.sleep(wait)
            try:
                found, certain = await self._groups_since(request, sent_at)
            except ClientError as error:
                failed, certain = error, False
                continue
            failed = None
            if len(found) == 1:
                multi_id, ends = found[0]
                self._log.mark_created(batch_id, group.number, multi_id, ends, resolved=True)
                return None
            if found:
                return None
        if certain:
            self._log.mark_not_created(batch_id, group.number)
        return failed

    async def _groups_since(
        self, request: MultiExchangeRequest, sent_at: datetime
    ) -> tuple[list[tuple[str, list[RowEnd]]], bool]:
        """Groups that are made of rows of ``request`` and of nothing else, and whether every
        order since was seen. Raises ClientError."""
        orders, whole = await list_since(self._api, sent_at - SKEW)
        known = self._log.multi_ids()
        listed = dict.fromkeys(
            order.multi_id for order in orders if order.multi_id and order.multi_id not in known
        )
        found: list[tuple[str, list[RowEnd]]] = []
        for multi_id in listed:
            members = (await self._api.get_multi_exchange(multi_id)).orders
            ends = _placed(request, members)
            if ends is not None:
                found.append((multi_id, ends))
        return found, whole and self._api.server_now() - sent_at < WINDOW

    def _batch(self, batch_id: str) -> JournaledBatch:
        batch = self._log.get(batch_id)
        if batch is None:
            raise KeyError(batch_id)
        return batch

    def _group(self, batch_id: str, number: int) -> JournaledGroup:
        return self._batch(batch_id).groups[number - 1]


def _new_group(group: PlannedGroup) -> NewGroup:
    request = MultiExchangeRequest(orders=[order.request() for order in group.orders])
    rows = tuple(
        NewRow(
            row.number,
            row.row.line,
            journal_cells(row.row.cells),
        )
        for row in group.rows
    )
    body = encode_json(request, exclude_none=True).decode()
    return NewGroup(group.chain, group.paid, body, rows)


def _ends(
    request: MultiExchangeRequest, answer: MultiExchange, known: Collection[str]
) -> list[RowEnd]:
    """Every row by its place; a place that the answer leaves out is not known. ``known`` are the
    orders that were there before."""
    ends: list[RowEnd] = []
    taken = set(known)
    for place, asked in enumerate(request.orders):
        result = answer.orders[place] if place < len(answer.orders) else None
        if result is None or (result.order is None and result.error is None):
            reason = "The answer says nothing of this row."
            ends.append(RowEnd(place, RowState.UNKNOWN, None, "NO_RESULT", reason))
        elif result.order is not None:
            name = result.order.service_id
            ends.append(_end_of(place, differing(asked, result.order), result.order, name in taken))
            taken.add(name)
        elif result.error is not None:
            message = result.error.message
            fields = ", ".join(result.error.fields or ())
            reason = f"{message} ({fields})" if fields else message
            code = result.error.code or "ERROR"
            ends.append(RowEnd(place, RowState.FAILED, None, code, reason))
    return ends


def _end_of(place: int, differs: str | None, order: Order, taken: bool) -> RowEnd:
    if taken:
        other = f"order {order.service_id}, which is of another row or was there before"
        reason = f"The service answered with {other}."
        return RowEnd(place, RowState.UNKNOWN, None, "OTHER_ID", reason)
    if differs is None:
        return RowEnd(place, RowState.CREATED, order.service_id)
    reason = f"The order is not what was asked for: the {differs} differs. Do not pay it."
    return RowEnd(place, RowState.DIFFERS, order.service_id, "ORDER_DIFFERS", reason)


def _refused_ends(error: ApiError, code: str, count: int) -> list[RowEnd]:
    reasons = {
        place: problem.message
        for name, problem in error.fields.items()
        if (place := _place_of(name)) is not None
    }
    return [
        RowEnd(place, RowState.FAILED, None, code, reasons.get(place, error.message))
        for place in range(count)
    ]


def _place_of(name: str) -> int | None:
    """``orders.3.amount`` speaks of place 3."""
    parts = name.replace("[", ".").replace("]", "").split(".")
    if len(parts) > 1 and parts[0] == "orders" and parts[1].isascii() and parts[1].isdigit():
        return int(parts[1][:4])
    return None


def _placed(request: MultiExchangeRequest, members: Sequence[Order]) -> list[RowEnd] | None:
    """Each order of a group at a row of its own, in the order of the rows; None when one fits
    no row that is left."""
    ends: dict[int, RowEnd] = {}
    for order in members:
        place = next(
            (
                place
                for place, asked in enumerate(request.orders)
                if place not in ends and differing(asked, order) is None
            ),
            None,
        )
        if place is None:
            return None
        ends[place] = RowEnd(place, RowState.CREATED, order.service_id)
    if not ends:
        return None
    missing = "The service has no order of this row."
    return [
        ends.get(place) or RowEnd(place, RowState.FAILED, None, "NOT_CREATED", missing)
        for place in range(len(request.orders))
    ]
