"""Creates the groups of a plan. Each group is journaled first and gets one POST, never a second
one.

If the answer was lost, the group is searched for among the service's orders. A group found there is
adopted only if it is the only one that consists of these rows. Rows that were certainly refused may
be asked for again one by one; rows with an unknown outcome may not.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from functools import partial

from swapdesk.client.api import OTHER_ID, PartnerApi
from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    ClientError,
    OutcomeUnknown,
    RateLimited,
)
from swapdesk.clock import Clock
from swapdesk.flows.batch.batches import (
    begin_batch,
    find_batch,
    move_group,
    move_row,
    read_group,
)
from swapdesk.flows.batch.building import differing
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.rows import NOT_CREATED, ORDER_DIFFERS, Group
from swapdesk.flows.creation.order_verification import LOOKS, SKEW, WINDOW, list_since
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.multi import MultiExchange, MultiExchangeRequest
from swapdesk.wire.orders import Order


class NotCreatable(Exception):
    """Raised if a plan cannot be created; nothing was journaled."""


class BatchCreation:
    """Creates batches in one journal. If an answer was lost, the created orders are searched for
    several times; ``looks`` has the seconds to wait before each search."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        *,
        looks: tuple[float, ...] = LOOKS,
    ) -> None:
        self._api = api
        self._ledger = journal.ledger
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
        """Journals the confirmed plan and returns the new batch's id. ``agreed`` is True if a
        person agreed to every doubt. Raises NotCreatable, JournalUnavailable, and ClaimTaken if the
        rows are under way, or became orders and ``again`` is False."""
        if not plan.creatable or (plan.doubts and not agreed):
            raise NotCreatable
        groups = [(group, _request(group)) for group in plan.groups]
        digest = hashlib.sha256("\n".join(body for _, body in groups).encode()).hexdigest()
        batch_id = uuid.uuid4().hex
        name = plan.sheet.name
        begin_batch(self._ledger, batch_id, name, digest, groups, again=again, payer=payer)
        return batch_id

    async def run(self, batch_id: str) -> AsyncIterator[tuple[Group, ClientError | None]]:
        """Creates the remaining groups of a batch and yields each with its error or None. Stops
        early at a limit of calls, an unknown outcome or no answer; another call continues. Raises
        KeyError and JournalUnavailable."""
        if not self._ledger.take_over(batch_id):
            return
        batch = find_batch(self._ledger, batch_id)
        if batch is None:
            raise KeyError(batch_id)
        for group in batch.groups:
            if not group.act.open:
                continue
            error = await (self.resolve(group) if group.act.left else self._create(group))
            after = self._now(group)
            yield after, error
            if after.act.open:
                return

    async def _create(self, group: Group) -> ClientError | None:
        known = self._orders.ids() | self._ledger.subjects("row")
        groups = self._ledger.subjects("create_group")
        move = partial(move_group, self._ledger, group)
        if not move(State.SENT, server_at=self._api.server_now()):
            return None
        try:
            receipt = await self._api.create_multi_exchange(group.request)
        except OutcomeUnknown as error:
            code = error.code or "NO_ANSWER"
            move(State.UNKNOWN, code=code, status=error.status, request_id=error.request_id)
            lost = await self.resolve(self._now(group))
            return lost or (error if self._now(group).multi_id is None else None)
        except ClientError as error:
            if isinstance(error, ApiError) and not isinstance(error, RateLimited):
                moved = move(
                    State.REFUSED,
                    code=error.code or f"HTTP_{error.status}",
                    reasons=_reasons(error, len(group.rows)),
                    status=error.status,
                    request_id=error.request_id,
                )
            else:
                # Definite by the client's own word: nothing left, or nothing happened.
                moved = move(State.PREPARED)
            return error if moved else None
        made, request_id = receipt.made, receipt.request_id
        if made.multi_id in groups:
            # A group that was there before is not the one that was asked for.
            move(State.UNKNOWN, code="OTHER_ID", request_id=request_id)
            return await self.resolve(self._now(group))
        with self._ledger.transaction():
            moved = move(State.DONE, multi_id=made.multi_id, request_id=request_id)
            if moved:
                self._end_rows(group, made, known)
        if moved or self._now(group).multi_id == made.multi_id:
            return None
        # What the group became was decided before; its orders are kept, and none of them is paid.
        self._orders.record((order.order, "create", False) for order in made.orders if order.order)
        warning = (
            f"created group {made.multi_id} of a request that was over: pay none of its orders"
        )
        return AnswerRefused(warning, OTHER_ID, 200, request_id)

    def _end_rows(self, group: Group, made: MultiExchange, known: set[str]) -> None:
        """Records the outcome of every row of a created group. ``known`` has the ids of orders that
        existed before and therefore belong to no row."""
        taken = set(known)
        for place, (row, request) in enumerate(zip(group.rows, group.request.orders, strict=True)):
            result = made.orders[place] if place < len(made.orders) else None
            order = result.order if result is not None else None
            end = partial(move_row, self._ledger, row)
            if order is not None and order.service_id in taken:
                other = f"order {order.service_id}, which is of another row or was there before"
                reason = f"The service answered with {other}."
                end(State.UNKNOWN, code="OTHER_ID", reason=reason)
            elif order is not None:
                taken.add(order.service_id)
                reasons: dict[str, str] = {}
                if differs := differing(request, order):
                    said = f"The order is not what was asked for: the {differs} differs."
                    reasons = {"code": ORDER_DIFFERS, "reason": f"{said} Do not pay it."}
                end(State.DONE, service_id=order.service_id, **reasons)
            elif result is not None and result.error is not None:
                error = result.error
                fields = ", ".join(error.fields or ())
                reason = f"{error.message} ({fields})" if fields else error.message
                end(State.REFUSED, code=error.code or "ERROR", reason=reason)
            else:
                end(State.UNKNOWN, code="NO_RESULT", reason="The answer says nothing of this row.")

    async def resolve(self, group: Group) -> ClientError | None:
        """Searches the service for the orders of a group whose outcome is unknown, and records the
        result. Returns the error of the last search, or None."""
        act = group.act
        if act.server_at is None or not act.left:
            return None
        code = act.code
        if act.state is State.SENT:
            code = "INTERRUPTED"
            move_group(self._ledger, group, State.UNKNOWN, code=code)
        certain = False
        failed: ClientError | None = None
        for wait in self._looks:
            await self._clock.sleep(wait)
            try:
                groups, certain = await self._groups_since(group, act.server_at)
            except ClientError as error:
                failed, certain = error, False
                continue
            failed = None
            if groups:
                if len(groups) == 1:
                    self._adopt(group, *groups.popitem(), code)
                return None
        if certain:
            reasons = ["The service shows no such order."] * len(group.rows)
            move_group(self._ledger, group, State.REFUSED, code=NOT_CREATED, reasons=reasons)
        return failed

    def _adopt(self, group: Group, multi_id: str, names: dict[int, str], code: str | None) -> None:
        with self._ledger.transaction():
            if not move_group(self._ledger, group, State.DONE, multi_id=multi_id, code=code):
                return
            for place, row in enumerate(group.rows):
                if place in names:
                    move_row(self._ledger, row, State.DONE, service_id=names[place])
                else:
                    reason = "The service has no order of this row."
                    move_row(self._ledger, row, State.REFUSED, code=NOT_CREATED, reason=reason)

    async def _groups_since(
        self, group: Group, sent_at: datetime
    ) -> tuple[dict[str, dict[int, str]], bool]:
        """Searches the service for groups whose orders all fit rows of ``group``. Returns {group
        id: {position of the row: order id}}, and True if the search was complete. Raises
        ClientError."""
        orders, whole = await list_since(self._api, sent_at - SKEW)
        own = self._ledger.subjects("create_group")
        listed = dict.fromkeys(order.multi_id for order in orders if order.multi_id)
        placed: dict[str, dict[int, str]] = {}
        for multi_id in listed:
            if multi_id not in own:
                members = (await self._api.get_multi_exchange(multi_id)).orders
                placed[multi_id] = _placed(group, members)
        fitting = {multi_id: names for multi_id, names in placed.items() if names}
        return fitting, whole and self._api.server_now() - sent_at < WINDOW

    def _now(self, group: Group) -> Group:
        return read_group(self._ledger, group.act.id)


def _request(group: Group) -> str:
    request = MultiExchangeRequest(orders=[order.request() for order in group.orders])
    return encode_json(request, exclude_none=True).decode()


_PLACE = re.compile(r"orders[.\[]([0-9]{1,4})\b")
"""Matches the position of an order in the name of a field: ``orders.3.amount`` is about the order
at position 3."""


def _reasons(error: ApiError, count: int) -> list[str]:
    reasons = {
        int(place[1]): problem.message
        for name, problem in error.fields.items()
        if (place := _PLACE.match(name))
    }
    return [reasons.get(place, error.message) for place in range(count)]


def _placed(group: Group, members: Sequence[Order]) -> dict[int, str]:
    """Assigns each order to a row and returns the order ids by the row's position. Returns an empty
    dictionary if an order fits no remaining row."""
    requests = group.request.orders
    names: dict[int, str] = {}
    for order in members:
        free = (place for place in range(len(requests)) if place not in names)
        place = next((place for place in free if differing(requests[place], order) is None), None)
        if place is None:
            return {}
        names[place] = order.service_id
    return names
