"""The plan of a file: its rows, the groups that they form, totals, and the number of calls they
take. Scripts get a plan as one JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.client.errors import ClientError
from swapdesk.flows.batch.reading import has_decimal_comma
from swapdesk.flows.batch.rows import (
    NOT_IN_WALLET,
    Group,
    Paid,
    PlannedOrder,
    Row,
    RowFinding,
    RowWord,
    Sheet,
    look,
    orders_of,
    paid_by,
    problem,
)
from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import MONEY, ROUGH
from swapdesk.wire.multi import MOST_ORDERS
from swapdesk.wire.tokens import Token


class Arrival(Struct, frozen=True):
    """What all recipients together get of one token, in ``rows`` orders. ``about`` is the
    approximate amount in whole tokens, None if the output of an order is unknown."""

    PRINTED: ClassVar = {
        "tokenId": "token.id", "symbol": "token.symbol",
        "chain": "chain", "about": "about", "rows": "rows",
    }  # fmt: skip

    token: Token
    about: Decimal | None
    rows: int

    @property
    def chain(self) -> str:
        return self.token.chain_data.short_name


class Means(Struct, frozen=True):
    """The account that pays on one chain, with its balances."""

    chain: str
    """The chain's short name."""
    wallet: str = ""
    address: str = ""
    held: Mapping[str, Decimal | None] = field(default_factory=dict)
    """The balances in whole tokens, by token id. A balance that cannot be read is None, one that
    was not read yet is missing."""
    in_smart_account: Mapping[str, Decimal] = field(default_factory=dict)
    """What the account's smart account holds. It is read only if the account has too little."""
    coin: Decimal | None = None
    """The balance of the native coin, for gas."""
    coin_symbol: str = ""
    filling: bool = False
    """True while the sandbox's faucet sends money."""
    problem: str = ""
    """A sentence that says why nothing can be paid on the chain; empty if there is no reason."""

    def has(self, token: Token) -> Decimal | None:
        """Returns how much of a token the account can pay, in whole tokens, including the balance
        of its smart account; None if unknown."""
        has = self.held.get(token.id)
        if has is None or self.filling:
            return None
        return MONEY.add(has, self.in_smart_account.get(token.id, Decimal(0)))

    def missing(self, total: Total) -> Decimal | None:
        """Returns how much of the token is missing to pay ``total``, in whole tokens; None if
        nothing is missing or the balance is unknown."""
        has = self.has(total.token)
        if has is None or has >= total.amount:
            return None
        return MONEY.subtract(total.amount, has)


class Total(Struct, frozen=True):
    """The sum of one token over all rows that sell it, in whole tokens. ``held``, the balance that
    can pay it, is None if unknown."""

    PRINTED: ClassVar = {
        "tokenId": "token.id", "symbol": "token.symbol", "chain": "chain", "amount": "amount",
        "rows": "rows", "wallet": "wallet", "held": "held",
    }  # fmt: skip

    token: Token
    amount: Decimal
    rows: int
    payer: Means | None = None

    @property
    def chain(self) -> str:
        return self.token.chain_data.short_name

    @property
    def wallet(self) -> str | None:
        return (self.payer.wallet or None) if self.payer is not None else None

    @property
    def held(self) -> Decimal | None:
        """The balance in whole tokens; None if unknown."""
        return self.payer.has(self.token) if self.payer is not None else None


class Calls(Struct, frozen=True):
    """The number of calls that a batch will make to the service, by kind. ``create`` calls count
    against the account's exchange limit."""

    create: int
    build: int
    submit: int


class BatchPlan(Struct, frozen=True):
    """A batch before its creation. ``limits_known`` is False until every amount was compared with
    the limits of its pair. ``unasked`` is the error that prevented a request for limits, or
    None."""

    sheet: Sheet
    rows: tuple[Row, ...]
    groups: tuple[Group, ...]
    totals: tuple[Total, ...]
    arrivals: tuple[Arrival, ...] = ()
    limits_known: bool = False
    unasked: ClientError | None = None

    @property
    def problems(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.state == "problem")

    def count(self, state: RowWord) -> int:
        return sum(row.state == state for row in self.rows)

    @property
    def ready(self) -> int:
        return self.count("ready")

    @property
    def look(self) -> int:
        return self.count("look")

    @property
    def wrong(self) -> int:
        return self.count("problem")

    @property
    def skipped(self) -> int:
        return self.count("skipped")

    @property
    def whole(self) -> bool:
        """True if all rows of the file were judged."""
        return len(self.rows) == len(self.sheet.rows)

    @property
    def comma_problem(self) -> Row | None:
        """The first row with a problem, if decimal commas are the only problem of the file;
        otherwise None."""
        rows = self.problems
        only_commas = all(
            has_decimal_comma(row) and all(one.column == "sell_amount" for one in row.problems)
            for row in rows
        )
        if not rows or not self.whole or not only_commas:
            return None
        points = any("." in row.cell("sell_amount") for row in self.rows)
        return None if points else rows[0]

    @property
    def heads_note(self) -> str | None:
        """A note, with an example, that amounts count the token sold; None if the headings say
        so."""
        if self.sheet.plain:
            return None
        note = "The amount counts what is sold"
        for row in self.rows:
            order = row.order
            if order is None or order.token_in.symbol == order.token_out.symbol:
                continue
            amount, bought = exact_amount(order.amount), order.token_out.symbol
            note += f": row {row.number} sells {amount} {order.token_in.symbol} and buys {bought}."
            note += f" It does not buy {amount} {bought}"
            break
        return f"{note}. The heads sell_amount, sell and buy say so."

    @property
    def creatable(self) -> bool:
        wanted = self.skipped < len(self.rows)
        return wanted and self.whole and not self.problems and self.limits_known

    @property
    def doubted(self) -> tuple[tuple[int, RowFinding], ...]:
        """The findings that a person must agree to, each with its row number."""
        return tuple(
            (row.number, finding)
            for row in self.rows
            for finding in row.findings
            if finding.level == "consent" and not row.skipped
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """The findings of :attr:`doubted` as sentences."""
        return tuple(f"Row {number}: {finding.reason}" for number, finding in self.doubted)

    @property
    def calls(self) -> Calls:
        """The calls that create and pay the batch."""
        bundles = sum(group.paid == "bundle" for group in self.groups)
        return Calls(len(self.groups), len(self.groups), bundles)

    @property
    def routes(self) -> dict[str, int]:
        """The number of planned orders by route."""
        return dict(Counter(order.route for group in self.groups for order in group.orders))


def plan_of(sheet: Sheet, rows: Iterable[Row], *, limits_known: bool) -> BatchPlan:
    """Returns the plan of judged rows. Rows that repeat a payment get a finding; rows without a
    problem are put into groups."""
    judged = (
        replace(
            row,
            findings=tuple(finding for finding in row.findings if finding.code not in _COMPARED),
            skipped=row.number in sheet.skipped,
        )
        for row in rows
    )
    return _plan_of(sheet, tuple(_flag_twins(judged)), limits_known=limits_known)


_DUPLICATE = "DUPLICATE"
_COMPARED = frozenset({_DUPLICATE, NOT_IN_WALLET})


def _plan_of(sheet: Sheet, rows: tuple[Row, ...], *, limits_known: bool) -> BatchPlan:
    wanted = [row for row in rows if not row.skipped]
    sound = [row for row in wanted if row.order is not None and not row.problems]
    sold = orders_of(
        row for row in wanted if all(one.code == NOT_IN_WALLET for one in row.problems)
    )
    return BatchPlan(sheet, rows, _grouped(sound), _totals(sold), _arrivals(sold), limits_known)


def against_means(plan: BatchPlan, means: Iterable[Means]) -> BatchPlan:
    """Returns the plan with a problem on each row that its account cannot pay once the earlier rows
    are paid. An unknown balance causes no problem."""
    by_chain = {account.chain: account for account in means}
    left: dict[str, Decimal] = {}
    rows = tuple(_against(row, by_chain, left) for row in plan.rows)
    if all(account is before for account, before in zip(rows, plan.rows, strict=True)):
        return plan
    judged = _plan_of(plan.sheet, rows, limits_known=plan.limits_known)
    return replace(judged, unasked=plan.unasked)


def with_payers(plan: BatchPlan, means: Iterable[Means]) -> BatchPlan:
    """Returns the plan with the paying account set in each of its totals."""
    by_chain = {account.chain: account for account in means}
    totals = (replace(total, payer=by_chain.get(total.chain)) for total in plan.totals)
    return replace(plan, totals=tuple(totals))


def _against(row: Row, means: Mapping[str, Means], left: dict[str, Decimal]) -> Row:
    findings = tuple(finding for finding in row.findings if finding.code != NOT_IN_WALLET)
    kept = row if len(findings) == len(row.findings) else replace(row, findings=findings)
    order = row.order
    if order is None or kept.problems or kept.skipped:
        return kept
    token = order.token_in
    payer = means.get(token.chain_data.short_name)
    has = payer.has(token) if payer is not None else None
    if payer is None or has is None:
        return kept
    rest = left.setdefault(token.id, has)
    if order.amount <= rest:
        left[token.id] = MONEY.subtract(rest, order.amount)
        return kept
    found = _too_little(order, payer, has, rest)
    return row if found in row.findings else kept.with_findings(found)


def _too_little(order: PlannedOrder, payer: Means, has: Decimal, rest: Decimal) -> RowFinding:
    symbol, chain = order.token_in.symbol, order.token_in.chain_data.name
    before = MONEY.subtract(has, rest)
    taken = f", and the rows before take {exact_amount(before)} {symbol} of it" if before else ""
    lack = f"{exact_amount(MONEY.subtract(order.amount, rest))} {symbol}"
    return problem(
        NOT_IN_WALLET,
        "sell_amount",
        f"Wallet {payer.wallet} has {exact_amount(has)} {symbol} on {chain}{taken}:"
        f" {lack} are missing.",
        "Write less, skip the row, or send what is missing to the wallet.",
        f"{lack} missing",
    )


def created_of(plan: BatchPlan, created: Collection[int]) -> BatchPlan:
    """Returns the plan with only the rows whose numbers are in ``created``, because they became
    orders."""
    if len(created) == len(plan.rows):
        return plan
    rows = [row for row in plan.rows if row.number in created]
    return plan_of(plan.sheet, rows, limits_known=plan.limits_known)


def _flag_twins(rows: Iterable[Row]) -> Iterable[Row]:
    """Adds a finding to each row that would make the same payment as an earlier row. Rows with a
    problem are not compared."""
    first: dict[tuple[object, ...], int] = {}
    for row in rows:
        order, before = row.order, row.number
        if order is not None and not row.problems and not row.skipped:
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
            reason = f"The same payment as row {before}. Both are kept."
            brief = f"same as row {before}; kept"
            do = "Skip it if it is meant once."
            yield row.with_findings(look(_DUPLICATE, None, reason, do, brief))


def _grouped(rows: Sequence[Row]) -> tuple[Group, ...]:
    kinds: dict[tuple[str, Paid], list[Row]] = {}
    for row in rows:
        paid = paid_by(row.order.token_in) if row.order is not None else None
        if row.order is not None and paid is not None:
            kinds.setdefault((row.order.token_in.chain_data.short_name, paid), []).append(row)
    parts = [
        (chain, paid, tuple(orders[at : at + MOST_ORDERS]))
        for (chain, paid), orders in kinds.items()
        for at in range(0, len(orders), MOST_ORDERS)
    ]
    return tuple(Group(number, *part) for number, part in enumerate(parts, start=1))


def _same_tokens(
    orders: Iterable[PlannedOrder], token: Callable[[PlannedOrder], Token]
) -> Iterable[list[PlannedOrder]]:
    same: dict[str, list[PlannedOrder]] = {}
    for order in orders:
        same.setdefault(token(order).id, []).append(order)
    return same.values()


def _totals(sold: Iterable[PlannedOrder]) -> tuple[Total, ...]:
    return tuple(
        Total(
            orders[0].token_in, reduce(MONEY.add, [order.amount for order in orders]), len(orders)
        )
        for orders in _same_tokens(sold, lambda order: order.token_in)
    )


def _arrivals(sold: Iterable[PlannedOrder]) -> tuple[Arrival, ...]:
    arrivals = []
    for orders in _same_tokens(sold, lambda order: order.token_out):
        amounts = [order.about for order in orders if order.about is not None]
        about = reduce(ROUGH.add, amounts) if len(amounts) == len(orders) else None
        arrivals.append(Arrival(orders[0].token_out, about, len(orders)))
    return tuple(arrivals)


class BudgetDocument(Struct, frozen=True, rename="camel"):
    """How many exchanges the account may still create now. ``resetsIn`` is the number of seconds
    until the next window."""

    left: int
    limit: int
    resets_in: int


class PlanDocument(Struct, frozen=True):
    """The plan of a file, as it is printed. ``remarks`` has the numbers of the lines that are not
    rows. ``budget`` is null if unknown."""

    PRINTED: ClassVar = {
        "file": "plan.sheet.name", "separator": "plan.sheet.separated_by",
        "header": "plan.sheet.headed", "unusedColumns": "plan.sheet.unused",
        "remarks": "plan.sheet.remarks", "headsNote": "plan.heads_note",
        "decimalComma": "plan.sheet.decimal_comma", "rows": "plan.rows", "ready": "plan.ready",
        "look": "plan.look", "problems": "plan.wrong", "skipped": "plan.skipped",
        "creatable": "plan.creatable", "groups": "plan.groups", "totals": "plan.totals",
        "arrivals": "plan.arrivals", "calls": "plan.calls", "budget": "budget",
    }  # fmt: skip

    plan: BatchPlan
    budget: BudgetDocument | None
