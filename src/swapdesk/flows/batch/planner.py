"""Plans a file in steps, so that the screen never waits: reads and judges the rows, then checks
limits.

Every cell is judged by the rules for a single swap. All cells of a row are judged at once, so that
a person corrects a row once. A token is looked up and judged once for all rows. Amounts are judged
by ``quoting``, addresses by ``recipients``, and memos by ``check_memo_of``. Rows are reported as
they are judged, so the first problem is shown long before the last row is read.

Limits (contract 6.1) are asked for once per pair. A row whose pair has unknown limits cannot be
created, because a plan promises that limits were checked. Limits also serve to estimate what an
amount buys, since no quote is asked for before a group is created.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Context, Decimal
from functools import partial
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.chain.addresses.payments import WAIVER
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, ClientError, RateLimited, ServiceFailed
from swapdesk.clock import Clock
from swapdesk.flows.batch.batches import newest_batches
from swapdesk.flows.batch.plan import BatchPlan, plan_of
from swapdesk.flows.batch.reading import split_amount
from swapdesk.flows.batch.rows import (
    BatchRoute,
    PlannedOrder,
    Row,
    RowFinding,
    Sheet,
    SheetColumn,
    consent,
    look,
    orders_of,
    pair_findings,
    problem,
)
from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.catalog.search import imitated_by
from swapdesk.flows.catalog.token_safety import check_token
from swapdesk.flows.check_line import refusal, texts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.order_export import FORMULA
from swapdesk.flows.orders.tracked_order import KNOWN_TO_API
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.recipients import (
    NEVER_PAID,
    RecipientCheck,
    check_memo_of,
    check_recipient,
    check_refund,
    own_deposits,
    paid_addresses,
)
from swapdesk.flows.quotes.quoting import bounds_of, lost_digits, outside_limits, typed_amount
from swapdesk.wallet.accounts import has_smart_accounts
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import ROUGH, AmountError, parse_amount
from swapdesk.wire.multi import MultiOrderRequest
from swapdesk.wire.quotes import Limits, PairLimits, PairLimitsQuery
from swapdesk.wire.tokens import Token

_MOST_NAMED = 8


Named = tuple[Token | None, tuple[RowFinding, ...]]
"""The token that a cell names, None if there is none or it is unknown, and the findings about the
token."""


LONGEST_CELL = 500
"""The most characters of a cell; every address, memo or amount is shorter."""


class RowJudge(Struct):
    """Judges the rows of one sheet."""

    catalog: Catalog
    now: datetime
    book: AddressBook
    """The address book."""
    paid: Mapping[str, int]
    """The number of earlier payments by address."""
    own_deposits: Collection[tuple[str, str]]
    """The deposit addresses of this desk's orders."""
    smart_accounts: bool
    """True if a smart account can pay bundles."""
    asked: Mapping[tuple[object, ...], tuple[str, Row]] = field(default_factory=dict)
    """The rows of earlier batches, each with its batch id. The keys say what a row pays
    (:attr:`PlannedOrder.asks`)."""
    _named: dict[tuple[str, str, SheetColumn], Named] = field(default_factory=dict)
    _contracts: dict[str, frozenset[str]] = field(default_factory=dict)

    def judge(self, row: Row) -> Row:
        findings = list(_shape(row))
        shifted = bool(row.extra) and split_amount(row.cells) is not None
        if shifted or any(finding.code == "TOO_LONG" for finding in findings):
            # What stands in the wrong column is not wrong there by itself.
            return replace(row, findings=tuple(findings))
        token_in, said_of_in = self.named(row, "sell")
        token_out, said_of_out = self.named(row, "buy")
        findings += (*said_of_in, *said_of_out)
        route = _route(row, findings)
        amount = _amount(row, token_in, findings)
        recipient = self._payee(row, "to", token_out, findings)
        memo = _memo(row, recipient, token_out, findings)
        refund = self._payee(row, "refund", token_in, findings)
        if token_in is not None and token_out is not None:
            findings += pair_findings(
                token_in, token_out, route, smart_accounts=self.smart_accounts
            )
        if (
            token_in is None
            or token_out is None
            or amount is None
            or route is None
            or recipient is None
            or not recipient.address
        ):
            return replace(row, findings=tuple(findings))
        order = PlannedOrder(
            token_in,
            token_out,
            amount,
            recipient.address,
            recipient.account or recipient.address,
            recipient.label,
            memo,
            route,
            (refund.address or None) if refund is not None else None,
            refund.memo if refund is not None and refund.address else None,
        )
        before = self.asked.get(order.asks)
        if before is not None:
            findings.append(_asked_before(*before))
        return replace(row, order=order, findings=tuple(findings))

    def _payee(
        self,
        row: Row,
        column: Literal["to", "refund"],
        token: Token | None,
        findings: list[RowFinding],
    ) -> RecipientCheck | None:
        text, pays = row.cell(column), column == "to"
        if pays and not text:
            findings.append(problem("NO_RECIPIENT", column, "No recipient is named."))
        if not text or token is None:
            return None
        judge = check_recipient if pays else partial(check_refund, required=False)
        check = judge(
            text,
            token,
            book=self.book,
            paid=self.paid,
            own_deposits=self.own_deposits,
            contracts=self._contracts_on_chain_of(token),
        )
        if not check.ok:
            reason = check.problem or "This address cannot be used."
            brief = "the checksum is wrong" if reason.startswith("The checksum") else ""
            code = "BAD_ADDRESS" if pays else "BAD_REFUND"
            if pays and check.lookalike:
                code = "LOOKALIKE_ADDRESS"
            findings.append(problem(code, column, reason, brief=brief))
            return None
        # That somebody is paid for the first time is usual here and would flag every row.
        findings += [
            look("ADDRESS_WARNING", column, line.text)
            for line in check.lines
            if pays and line.level == "warn" and line.text not in (NEVER_PAID, check.doubt)
        ]
        if check.doubt:
            brief = "look at the recipient" if pays else ""
            findings.append(consent("ADDRESS_WARNING", column, check.doubt, brief))
        if check.memo_doubt:
            findings.append(consent("MEMO_WARNING", column, check.memo_doubt))
        return check

    def named(self, row: Row, column: SheetColumn) -> Named:
        """Returns the token that a row names in ``column``, with its findings."""
        chain = row.cell("chain") if column == "buy" else ""
        key = (row.cell(column), chain, column)
        if key not in self._named:
            self._named[key] = self._judged(*key)
        return self._named[key]

    def _judged(self, spec: str, chain: str, column: SheetColumn) -> Named:
        token = self._find(spec, chain, column)
        if isinstance(token, RowFinding):
            return None, (token,)
        row = self.catalog.row(token.id)
        imitates = imitated_by(row, self.catalog.rows.drawn_like(row)) if row else None
        check = check_token(token, now=self.now, imitates=imitates)
        if refusal(check):
            reason = texts(check, "refuse")[0]
            return token, (problem("TOKEN_REFUSED", column, reason, "Choose another token."),)
        if warned := " ".join(texts(check, "warn")):
            return token, (consent("TOKEN_WARNING", column, warned, "look at the token"),)
        return token, ()

    def _contracts_on_chain_of(self, token: Token) -> frozenset[str]:
        chain = token.chain_data.short_name
        if chain not in self._contracts:
            self._contracts[chain] = self.catalog.rows.contracts_on(chain)
        return self._contracts[chain]

    def _find(self, spec: str, chain: str, column: SheetColumn) -> Token | RowFinding:
        if not spec:
            word = "to sell" if column == "sell" else "for the recipient"
            return problem("NO_TOKEN", column, f"No token {word} is named.")
        named = spec
        if chain:
            known = self.catalog.chain(chain) or next(
                (one for one in self.catalog.chains() if one.name.lower() == chain.lower()), None
            )
            if known is None:
                return problem("NO_CHAIN", "chain", f'No chain is called "{chain[:40]}".')
            alone = resolve(spec, self.catalog)
            there = [
                candidate
                for candidate in alone.candidates
                if candidate.chain.lower() == known.short_name.lower()
            ]
            if "." in spec and alone.token is not None and not there:
                reason = f"{spec[:40]} is not on {known.name}."
                return problem("OTHER_CHAIN", "chain", reason, "Make the two cells agree.")
            named = there[0].id if len(there) == 1 else f"{spec}.{known.short_name}"
        matches = resolve(named, self.catalog)
        if matches.token is None:
            code = "TOKEN_DISABLED" if matches.disabled else "TOKEN_NOT_FOUND"
            return problem(code, column, matches.problem or "There is no such token.")
        if matches.ambiguous:
            names = ", ".join(matches.specs[:_MOST_NAMED])
            reason = f'"{spec[:40]}" is several tokens: {names}.'
            brief = f"{spec[:12]} is on {len(matches.specs)} chains"
            do = "Write one of them" + (" or fill in the chain." if column == "buy" else ".")
            return problem("AMBIGUOUS_TOKEN", column, reason, do, brief)
        return matches.token


def _asked_before(batch_id: str, row: Row) -> RowFinding:
    batch = f"batch {batch_id[:8]}"
    if row.became == "unknown":
        return problem(
            "CREATED_BEFORE",
            None,
            f"Row {row.number} of {batch} asks for the same payment, and may have been created.",
            "Skip it, or go on with that batch first.",
            f"open in {batch}",
        )
    reason, do = f"The same payment as row {row.number} of {batch}.", "Skip it if it is meant once."
    return look("CREATED_BEFORE", None, reason, do, f"in {batch} too")


def _shape(row: Row) -> list[RowFinding]:
    findings: list[RowFinding] = []
    if row.extra:
        count, halves = len(row.extra), split_amount(row.cells)
        excess = f"{count} more cell{'' if count == 1 else 's'} than columns"
        reason = f"{excess}: {row.extra[0][:40]}."
        if halves is not None:
            reason = f'{excess}: the amount may be split, "{halves[0]}" and "{halves[1]}".'
        do = "Write amounts with a point, and put a cell with the separator in quotes."
        findings.append(problem("TOO_MANY_CELLS", None, reason, do, "more cells than columns"))
    for column, text in row.cells.items():
        if len(text) > LONGEST_CELL:
            reason = f"The cell {column} has {len(text):,} characters."
            findings.append(problem("TOO_LONG", column, reason))
        # No amount begins as a formula does: it is refused as an amount, once.
        elif (
            column != "sell_amount"
            and text[:1] in FORMULA
            and not (column in ("to", "refund") and text[0] == "@")
        ):
            mark = text[0] if text[0].isprintable() else f"U+{ord(text[0]):04X}"
            reason = f'The cell {column} begins with "{mark}", as a formula does.'
            do = "It is taken as it stands and computed nowhere; write its value if it is one."
            findings.append(look("FORMULA", column, reason, do, f"{column} looks like a formula"))
    return findings


def _route(row: Row, findings: list[RowFinding]) -> BatchRoute | None:
    word = row.cell("route").lower()
    if word in ("", "standard"):
        return "standard"
    if word == "private":
        return "private"
    reason = f'"{word[:20]}" is no route of a batch.'
    if word == "dex":
        reason = "A batch takes no routes on chains."
    findings.append(problem("BAD_ROUTE", "route", reason))
    return None


def _amount(row: Row, token: Token | None, findings: list[RowFinding]) -> Decimal | None:
    text = row.cell("sell_amount")
    if not text:
        findings.append(problem("NO_AMOUNT", "sell_amount", "No amount is named."))
        return None
    try:
        # Digits are judged even where the token is not known.
        amount = parse_amount(text) if token is None else typed_amount(text, token)
    except AmountError as error:
        brief = "has a comma" if error.code == "comma" else ""
        findings.append(problem("BAD_AMOUNT", "sell_amount", error.message, brief=brief))
        return None
    if token is None:
        return None
    rounded = lost_digits(amount)
    if rounded:
        findings.append(look("AMOUNT_ROUNDED", "sell_amount", rounded))
    return amount


def _memo(
    row: Row,
    recipient: RecipientCheck | None,
    token: Token | None,
    findings: list[RowFinding],
) -> str | None:
    if token is None or recipient is None:
        return None
    check = check_memo_of(recipient, row.cell("memo") or recipient.memo, False, token)
    label = check.label
    if not check.ok and check.fault == "missing":
        reason = f"{token.symbol} needs a {label} for exchanges."
        do = f"Write the {label} into the cell memo, or {WAIVER} if the wallet has none."
        findings.append(problem("NO_MEMO", "memo", reason, do, f"needs a {label}"))
    elif not check.ok:
        reason = check.problem or "This memo cannot be sent."
        findings.append(problem("BAD_MEMO", "memo", reason, brief=f"{label} {check.fault}"))
    elif check.doubt:
        findings.append(consent("MEMO_WARNING", "memo", check.doubt, "look at the memo"))
    elif check.waived:
        said = " ".join(line.text for line in check.lines)
        findings.append(look("MEMO_WARNING", "memo", said))
    return check.memo


Pair = tuple[str, str]
"""A pair of tokens: the id of the token sold and the id of the token bought."""

LIMITS = "LIMITS"
_SIX = Context(prec=6)


def limit_finding(order: PlannedOrder, known: Mapping[Pair, PairLimits]) -> RowFinding | None:
    """Returns a finding if no exchange accepts the order's amount; None if an exchange accepts it
    or the limits are unknown."""
    limits = known.get(order.pair)
    types = (RouteType.PRIVATE if order.route == "private" else RouteType.STANDARD,)
    reason = outside_limits(order.amount, order.token_in.symbol, limits, types)
    bounds = bounds_of(limits, types)
    if not reason or bounds is None:
        return None
    low = order.amount < bounds.smallest
    bound = bounds.smallest if low or bounds.largest is None else bounds.largest
    do = f"Write {exact_amount(bound)} or {'more' if low else 'less'}."
    return problem(
        LIMITS,
        "sell_amount",
        reason,
        do,
        f"at {'least' if low else 'most'} {exact_amount(bound)}",
    )


def arrives_about(order: PlannedOrder, known: Mapping[Pair, PairLimits]) -> Decimal | None:
    """Returns an estimate of the output in whole tokens, rounded to six digits, before proportional
    fees; None if it cannot be estimated. For an amount within the limits, the estimate is between
    ``minOut`` and ``maxOut``."""
    limits = known.get(order.pair)
    bucket = None if limits is None else limits.private if order.route == "private" else limits.cex
    about = _by_price(order)
    if about is not None and bucket is not None:
        about = ROUGH.subtract(about, _fixed_costs(order, about, bucket))
    elif bucket is not None:
        about = _between(order.amount, bucket)
    if about is not None and bucket is not None:
        if order.amount >= bucket.min:
            about = max(about, bucket.min_out or about)
        if bucket.max is None or order.amount <= bucket.max:
            about = min(about, bucket.max_out or about)
    return None if about is None else _SIX.plus(about)


def _fixed_costs(order: PlannedOrder, about: Decimal, bucket: Limits) -> Decimal:
    taken = bucket.min <= order.amount and (not bucket.max or order.amount <= bucket.max)
    if not taken or not bucket.min_out:
        return Decimal(0)
    worth = ROUGH.multiply(about, ROUGH.divide(bucket.min, order.amount))
    return max(Decimal(0), ROUGH.subtract(worth, bucket.min_out))


def _by_price(order: PlannedOrder) -> Decimal | None:
    sold, bought = order.token_in, order.token_out
    if sold.id == bought.id:
        return order.amount
    if sold.price is None or bought.price is None or sold.price <= 0 or bought.price <= 0:
        return None
    return ROUGH.divide(ROUGH.multiply(order.amount, sold.price), bought.price)


def _between(amount: Decimal, bucket: Limits) -> Decimal | None:
    if bucket.max is None or bucket.min_out is None or bucket.max_out is None:
        return None
    if not bucket.min <= amount <= bucket.max:
        return None
    span = ROUGH.subtract(bucket.max, bucket.min)
    if span <= 0:
        return bucket.min_out
    share = ROUGH.divide(ROUGH.subtract(amount, bucket.min), span)
    gained = ROUGH.multiply(share, ROUGH.subtract(bucket.max_out, bucket.min_out))
    return ROUGH.add(bucket.min_out, gained)


STEP = 10
"""The number of rows that are judged before the event loop runs again."""

AT_ONCE = 4
"""The number of requests for limits that are made at the same time."""

UNKNOWN_LIMITS = "LIMITS_UNKNOWN"


_RECENT = 20
"""The number of earlier batches whose rows are compared with those of a new one."""


def asked_before(journal: Journal, now: datetime) -> dict[tuple[object, ...], tuple[str, Row]]:
    """Returns the rows of recent batches that became or may be orders, to guard against paying
    twice. The keys say what is paid (:attr:`PlannedOrder.asks`), the values are (batch id, row)."""
    rows: dict[tuple[object, ...], tuple[str, Row]] = {}
    for batch in reversed(newest_batches(journal.ledger, _RECENT)):
        recent = now - batch.created < KNOWN_TO_API
        for group in batch.groups:
            orders = {
                row.number
                for row in group.rows
                if row.became == "unknown" or (recent and row.became != "failed")
            }
            # A request is read only where a row of it may be an order.
            for row, order in zip(group.rows, group.request.orders, strict=True) if orders else ():
                earlier = rows.get(_asks(order))
                if row.number in orders and (earlier is None or earlier[1].became != "unknown"):
                    rows[_asks(order)] = batch.id, row
    return rows


def _asks(order: MultiOrderRequest) -> tuple[object, ...]:
    route = "private" if order.anonymous else "standard"
    return order.from_, order.to, order.amount, order.address_to, order.destination_tag, route


class BatchPlanner:
    """Makes the plans of files. If ``live`` is True, the profile has no smart account that could
    pay bundles."""

    def __init__(
        self,
        catalog: Catalog,
        book: AddressBook,
        journal: Journal,
        clock: Clock,
        *,
        live: bool,
    ) -> None:
        self._catalog = catalog
        self._book = book
        self._journal = journal
        self._clock = clock
        self._live = live
        self._limits: dict[Pair, PairLimits] = {}

    async def judged(
        self,
        sheet: Sheet,
        on_rows: Callable[[Sequence[Row]], None] | None = None,
        *,
        made: bool = False,
    ) -> BatchPlan:
        """Judges a sheet's rows without asking for limits. ``on_rows`` gets the rows judged so far.
        ``made`` is True if the sheet was made from a batch; its rows are then not reported as
        repeated."""
        judge = RowJudge(
            self._catalog,
            self._clock.now(),
            self._book,
            paid_addresses(self._journal),
            own_deposits(self._journal),
            smart_accounts=has_smart_accounts(live=self._live),
            asked={} if made else asked_before(self._journal, self._clock.now()),
        )
        rows: list[Row] = []
        for row in sheet.rows:
            rows.append(self._estimated(judge.judge(row)))
            if len(rows) % STEP == 0:
                if on_rows is not None:
                    on_rows(rows)
                await self._clock.sleep(0)
        return plan_of(sheet, rows, limits_known=False)

    async def with_limits(self, plan: BatchPlan, api: PartnerApi) -> BatchPlan:
        """Returns the plan after comparing every amount with the limits of its pair, by one request
        per pair. If a request fails, the rows of its pair get a problem; ClientError is never
        raised."""
        pairs = dict.fromkeys(order.pair for order in orders_of(plan.rows) if order.has_limits)
        failed, unasked = await self._learn(
            [pair for pair in pairs if pair not in self._limits], api
        )
        rows: list[Row] = []
        for row in plan.rows:
            rows.append(self._limited(row, failed))
            if len(rows) % (5 * STEP) == 0:
                await self._clock.sleep(0)
        judged = plan_of(plan.sheet, rows, limits_known=True)
        codes = {finding.code for row in judged.problems for finding in row.problems}
        return replace(judged, unasked=unasked) if codes == {UNKNOWN_LIMITS} else judged

    async def _learn(
        self, pairs: Sequence[Pair], api: PartnerApi
    ) -> tuple[dict[Pair, RowFinding], ClientError | None]:
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

    def _estimated(self, row: Row) -> Row:
        if row.order is None:
            return row
        return replace(row, order=replace(row.order, about=arrives_about(row.order, self._limits)))

    def _limited(self, row: Row, failed: dict[Pair, RowFinding]) -> Row:
        findings = tuple(
            finding for finding in row.findings if finding.code not in (LIMITS, UNKNOWN_LIMITS)
        )
        kept = self._estimated(replace(row, findings=findings))
        if row.order is None or not row.order.has_limits:
            return kept
        found = failed.get(row.order.pair) or limit_finding(row.order, self._limits)
        return kept.with_findings(found) if found is not None else kept


def _unknown(reason: str, do: str) -> RowFinding:
    return problem(UNKNOWN_LIMITS, "buy", reason, do, "limits not known")
