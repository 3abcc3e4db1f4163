"""A whole file, planned: its rows, the groups they become, totals, and the calls they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from swapdesk.flows.batch.finding import look
from swapdesk.flows.batch.pair import Paid, paid_by
from swapdesk.flows.batch.planned import PlannedOrder, PlannedRow
from swapdesk.flows.batch.sheet import Sheet
from swapdesk.wire.encoding.numbers import MONEY
from swapdesk.wire.multi import MOST_DEPOSITS, MOST_ORDERS
from swapdesk.wire.tokens import Token


@dataclass(frozen=True)
class PlannedGroup:
    """At most 50 rows that sell on one chain; ``chain`` is its short name."""

    number: int
    chain: str
    chain_name: str
    paid: Paid
    rows: tuple[PlannedRow, ...]

    @property
    def orders(self) -> tuple[PlannedOrder, ...]:
        return tuple(row.order for row in self.rows if row.order is not None)

    @property
    def signatures(self) -> int:
        """How often is signed to pay it, without what fills a smart account first: once for
        each token. On Solana the least: transactions are packed by their measured size."""
        sold = Counter(order.token_in.id for order in self.orders)
        if self.paid == "bundle":
            return len(sold)
        return sum(-(-count // MOST_DEPOSITS) for count in sold.values())


@dataclass(frozen=True)
class Total:
    token: Token
    amount: Decimal
    rows: int


@dataclass(frozen=True)
class BatchPlan:
    """``limits_known`` is False while amounts are not held against the limits of their pairs."""

    sheet: Sheet
    rows: tuple[PlannedRow, ...]
    groups: tuple[PlannedGroup, ...]
    totals: tuple[Total, ...]
    limits_known: bool = False

    @property
    def problems(self) -> tuple[PlannedRow, ...]:
        return tuple(row for row in self.rows if row.state == "problem")

    def count(self, state: Literal["ready", "look", "problem"]) -> int:
        return sum(row.state == state for row in self.rows)

    @property
    def whole(self) -> bool:
        """Whether all rows of the file were judged."""
        return len(self.rows) == len(self.sheet.rows)

    @property
    def creatable(self) -> bool:
        return bool(self.rows) and self.whole and not self.problems and self.limits_known

    @property
    def creates(self) -> int:
        """Calls that count against the exchanges of the account: one a group."""
        return len(self.groups)

    @property
    def builds(self) -> int:
        return len(self.groups)

    @property
    def submits(self) -> int:
        return sum(group.paid == "bundle" for group in self.groups)

    @property
    def routes(self) -> dict[str, int]:
        """Orders of the groups by route."""
        return dict(Counter(order.route for group in self.groups for order in group.orders))


def plan_of(sheet: Sheet, rows: Iterable[PlannedRow], *, limits_known: bool) -> BatchPlan:
    """The plan of judged rows: twins are flagged and kept, rows without a problem are grouped."""
    flagged = tuple(_flag_twins(rows))
    sound = [row for row in flagged if row.order is not None and not row.problems]
    return BatchPlan(sheet, flagged, _grouped(sound), _totals(sound), limits_known)


def created_of(plan: BatchPlan, created: Collection[int]) -> BatchPlan:
    """The plan of the rows that became orders, by their numbers."""
    if len(created) == len(plan.rows):
        return plan
    rows = [row for row in plan.rows if row.number in created]
    return plan_of(plan.sheet, rows, limits_known=plan.limits_known)


def _flag_twins(rows: Iterable[PlannedRow]) -> Iterable[PlannedRow]:
    first: dict[tuple[object, ...], int] = {}
    for row in rows:
        order = row.order
        if order is None:
            yield row
            continue
        mark = (
            order.pair,
            order.token_out.chain_data.kind,
            order.account,
            order.amount,
            order.memo,
            order.route,
        )
        before = first.setdefault(mark, row.number)
        if before == row.number:
            yield row
        else:
            said = f"The same payment as row {before}. Both are kept."
            yield row.with_findings(
                look(
                    "DUPLICATE",
                    None,
                    said,
                    "Take it out of the file if it is meant once.",
                    f"same as row {before}; kept",
                )
            )


def _grouped(rows: Sequence[PlannedRow]) -> tuple[PlannedGroup, ...]:
    """In the order of the file; chains in the order of their first rows."""
    kinds: dict[tuple[str, Paid], list[PlannedRow]] = {}
    for row in rows:
        if row.order is not None:
            token = row.order.token_in
            paid = paid_by(token)
            if paid is not None:
                kinds.setdefault((token.chain_data.short_name, paid), []).append(row)
    groups: list[PlannedGroup] = []
    for (chain, paid), found in kinds.items():
        name = found[0].order.token_in.chain_data.name if found[0].order else chain
        for at in range(0, len(found), MOST_ORDERS):
            part = tuple(found[at : at + MOST_ORDERS])
            groups.append(PlannedGroup(len(groups) + 1, chain, name, paid, part))
    return tuple(groups)


def _totals(rows: Sequence[PlannedRow]) -> tuple[Total, ...]:
    sums: dict[str, Total] = {}
    for row in rows:
        order = row.order
        if order is None:
            continue
        known = sums.get(order.token_in.id)
        amount = order.amount if known is None else MONEY.add(known.amount, order.amount)
        sums[order.token_in.id] = Total(order.token_in, amount, 1 + (known.rows if known else 0))
    return tuple(sums.values())
