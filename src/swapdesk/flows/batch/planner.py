"""Planning a file without holding the screen up: read and judge in steps, then ask for limits.

Rows are told as they are judged, so that the first problem is seen long before the last row is
read. Limits are asked once for each pair; a pair without an answer keeps its rows from being
created, because a plan promises that they were looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, ClientError, RateLimited, ServiceFailed
from swapdesk.clock import Clock
from swapdesk.flows.batch.judging import (
    CODE,
    Pair,
    RowJudge,
    SheetTokens,
    arrives_about,
    limit_finding,
)
from swapdesk.flows.batch.plan import BatchPlan, plan_of
from swapdesk.flows.batch.planned import (
    AskedBefore,
    PlannedRow,
    RowFinding,
    Sheet,
    SheetColumn,
    problem,
    selling,
)
from swapdesk.flows.batch.reading import reading
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.batch_records import JournaledRow, RowState
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.tracked_order import KNOWN_TO_API
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.recipients import own_deposits, paid_addresses
from swapdesk.wallet.accounts import has_smart_accounts
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.multi import MultiExchangeRequest, MultiOrderRequest
from swapdesk.wire.quotes import PairLimits, PairLimitsQuery

STEP = 10
"""Rows judged between two rests."""

AT_ONCE = 4
"""Questions for limits at a time."""

UNKNOWN_LIMITS = "LIMITS_UNKNOWN"


_RECENT = 20
"""Batches whose rows are compared with those of a new one."""


def asked_before(journal: Journal, now: datetime) -> dict[tuple[object, ...], AskedBefore]:
    """Rows of recent batches that are orders, or may be, by what they ask for: a file that was
    changed in one row is another file, and its other rows are paid once more."""
    found: dict[tuple[object, ...], AskedBefore] = {}
    for batch in reversed(journal.batches.newest(_RECENT)):
        recent = now - batch.created < KNOWN_TO_API
        for group in batch.groups:
            rows = [row for row in group.rows if _may_be_order(row, recent=recent)]
            if not rows:
                continue
            orders = decode(MultiExchangeRequest, group.body.encode(), side="service").orders
            for row in rows:
                open_ = row.state is RowState.UNKNOWN
                key = _asks(orders[row.place])
                if key not in found or not found[key].open:
                    found[key] = AskedBefore(batch.id, row.number, open_)
    return found


def _may_be_order(row: JournaledRow, *, recent: bool) -> bool:
    return row.state is RowState.UNKNOWN or (recent and row.state is not RowState.FAILED)


def _asks(order: MultiOrderRequest) -> tuple[object, ...]:
    """As :attr:`PlannedOrder.asks`."""
    route = "private" if order.anonymous else "standard"
    return order.from_, order.to, order.amount, order.address_to, order.destination_tag, route


class BatchPlanner:
    """Plans files. ``sell`` is the token of rows that name none; ``live``: of a live profile,
    whose wallet pays no bundles."""

    def __init__(
        self,
        catalog: Catalog,
        book: AddressBook,
        journal: Journal,
        clock: Clock,
        sell: str = "",
        *,
        live: bool,
    ) -> None:
        self._catalog = catalog
        self._book = book
        self._journal = journal
        self._clock = clock
        self._sell = sell
        self._live = live
        self._limits: dict[Pair, PairLimits] = {}

    async def read(self, name: str, content: bytes) -> Sheet:
        """The sheet of a file. Raises UnreadableFile."""
        for sheet in reading(name, content):
            if sheet is not None:
                return sheet
            await self._clock.sleep(0)
        raise AssertionError("unreachable")

    async def judged(
        self,
        sheet: Sheet,
        on_rows: Callable[[Sequence[PlannedRow]], None] | None = None,
        *,
        made: bool = False,
    ) -> BatchPlan:
        """A plan without limits; ``on_rows`` gets the rows so far at every rest. ``made``: the
        sheet is that of a batch, whose rows were asked for before."""
        sheet = selling(sheet, self._sell)
        judge = RowJudge(
            SheetTokens(self._catalog, self._clock.now()),
            self._book,
            paid_addresses(self._journal),
            own_deposits(self._journal),
            smart_accounts=has_smart_accounts(live=self._live),
            asked={} if made else asked_before(self._journal, self._clock.now()),
        )
        rows: list[PlannedRow] = []
        for row in sheet.rows:
            rows.append(self._estimated(judge.judge(row)))
            if len(rows) % STEP == 0:
                if on_rows is not None:
                    on_rows(rows)
                await self._clock.sleep(0)
        return plan_of(sheet, rows, limits_known=False)

    async def with_limits(self, plan: BatchPlan, api: PartnerApi) -> BatchPlan:
        """The plan with every amount held against the limits of its pair, which are asked for
        once. Raises nothing of the client: what could not be asked is a problem of its rows."""
        pairs = list(
            dict.fromkeys(row.order.pair for row in plan.rows if _has_limits(row) and row.order)
        )
        failed, unasked = await self._learn(
            [pair for pair in pairs if pair not in self._limits], api
        )
        rows: list[PlannedRow] = []
        for row in plan.rows:
            rows.append(self._limited(row, failed))
            if len(rows) % (5 * STEP) == 0:
                await self._clock.sleep(0)
        judged = plan_of(plan.sheet, rows, limits_known=True)
        others = any(
            one.level == "problem" and one.code != UNKNOWN_LIMITS
            for row in judged.problems
            for one in row.findings
        )
        if others or not judged.problems:
            return judged
        return replace(judged, unasked=unasked)

    async def _learn(
        self, pairs: Sequence[Pair], api: PartnerApi
    ) -> tuple[dict[Pair, RowFinding], ClientError | None]:
        """What failed of which pair, and the first error that was no word on the pair itself."""
        failed: dict[Pair, RowFinding] = {}
        lost: list[ClientError] = []
        waiting = list(reversed(pairs))

        async def ask() -> None:
            while waiting:
                pair = waiting.pop()
                query = PairLimitsQuery(token_id_from=pair[0], token_id_to=pair[1])
                try:
                    self._limits[pair] = await api.get_pair_limits(query)
                except ApiError as error:
                    if isinstance(error, ServiceFailed | RateLimited):
                        lost.append(error)
                    code = error.code or f"HTTP_{error.status}"
                    reason = f"The service tells no limits of this pair: {error.message} ({code})"
                    failed[pair] = _unknown(reason, "Choose another token, or load it again.")
                except ClientError as error:
                    lost.append(error)
                    reason = f"The limits of this pair are not known: {error}."
                    failed[pair] = _unknown(reason, "Load the file again when it answers.")

        await asyncio.gather(*(ask() for _ in range(min(AT_ONCE, len(waiting)))))
        return failed, next(iter(lost), None)

    def _estimated(self, row: PlannedRow) -> PlannedRow:
        """The row with about what arrives, as far as prices and limits are known."""
        if row.order is None:
            return row
        return replace(row, order=replace(row.order, about=arrives_about(row.order, self._limits)))

    def _limited(self, row: PlannedRow, failed: dict[Pair, RowFinding]) -> PlannedRow:
        told = tuple(one for one in row.findings if one.code not in (CODE, UNKNOWN_LIMITS))
        kept = self._estimated(replace(row, findings=told))
        if row.order is None or not _has_limits(row):
            return kept
        found = failed.get(row.order.pair) or limit_finding(row.order, self._limits)
        return kept.with_findings(found) if found is not None else kept


def _has_limits(row: PlannedRow) -> bool:
    """Whether a row has limits: a token sold for itself has none that could be asked for."""
    order = row.order
    return order is not None and order.token_in.id != order.token_out.id


def _unknown(reason: str, do: str) -> RowFinding:
    return problem(UNKNOWN_LIMITS, SheetColumn.BUY, reason, do, "limits not known")
