"""Prints answers of the service: tokens, chains, limits, commissions, volume, and the answer to a
single call of the API."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    UNTOUCHED,
    CommandError,
    Exit,
    bad_input,
    own_refusal,
    refused_as,
)
from swapdesk.cli.session import load_catalog, tell_gap
from swapdesk.client.api import find_operation
from swapdesk.client.errors import ApiError, ClientError, OutcomeUnknown
from swapdesk.client.transport import RawAnswer, refuse_answer
from swapdesk.flows.account.reading import (
    OF_PAYER,
    LimitGauge,
    begins_late,
    forecast,
    limit_gauges,
    month_name,
    over,
    text_chart,
)
from swapdesk.flows.catalog.search import CONTRACT_LENGTH, named_contract, search
from swapdesk.flows.catalog.token_list import TokenRow
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.notation import duration, percent, usd
from swapdesk.paths import without_mark
from swapdesk.wire.account import (
    ChartMetric,
    ChartPoint,
    ChartQuery,
    CommissionQuery,
    CommissionSummary,
    Granularity,
    VolumeStatistics,
    WeeklyVolume,
)
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.codec import CodecError, decode, decode_json, encode_json
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.operation import Operation
from swapdesk.wire.orders import Order


class TokensDocument(Struct, frozen=True):
    """The tokens that were found, best match first."""

    tokens: tuple[TokenRow, ...]
    total: int


class ChainsDocument(Struct, frozen=True):
    """All chains in the service's list, as the API returns them."""

    chains: Sequence[Chain]
    total: int


async def report_tokens(
    call: CliContext, term: str, chain: str | None, symbol: str | None, limit: int
) -> None:
    """Prints at most ``limit`` tokens that match ``term``. Raises CommandError: exit 5 if none
    matches, 2 for an unknown chain."""
    await load_catalog(call)
    catalog = call.desk.catalog
    if chain is not None and catalog.chain(chain) is None:
        names = [listed.short_name for listed in catalog.chains()]
        raise bad_input(
            "NO_SUCH_CHAIN",
            f"There is no chain {chain}. Chains: {', '.join(names)}.",
            field="chain",
            candidates=names,
        )
    rows: Sequence[TokenRow] = catalog.rows
    if symbol is not None:
        rows = catalog.rows_of_symbol(symbol)
    rows_found = search(rows, term, chain=chain, limit=limit)
    contract, chains = named_contract(term)
    if not rows_found and len(contract) >= CONTRACT_LENGTH:
        asked = await catalog.fetch_by_address(call.link.api, contract)
        tell_gap(call)
        rows_found = search(asked, term if chains else "", chain=chain, limit=limit)
    if not rows_found:
        raise CommandError(
            Exit.NOT_FOUND,
            "TOKEN_NOT_FOUND",
            "No token was found. Give a contract address to find one that is not listed.",
        )
    call.output.table(
        ("token", "name", "chain", "price", "24h", "scan", "can", "contract"),
        [
            (
                f"{row.symbol}.{row.chain}",
                row.name,
                row.chain_name,
                usd(row.price),
                percent(row.change),
                row.verdict.value + (", unverified" if row.unverified else ""),
                " ".join(row.uses),
                row.contract or "native",
            )
            for row in rows_found
        ],
        numbers=(3, 4),
        plain=[
            f"{row.symbol} on {row.chain_name}, {row.name}, {usd(row.price)},"
            f" {row.verdict.value}, written {row.symbol}.{row.chain}."
            for row in rows_found
        ],
        document=TokensDocument(tuple(rows_found), len(rows_found)),
    )


async def report_chains(call: CliContext) -> None:
    await load_catalog(call)
    chains = call.desk.catalog.chains()
    call.output.table(
        ("chain", "name", "kind", "memo", "enabled"),
        [
            (
                chain.short_name,
                chain.name,
                chain.kind,
                "needed" if chain.memo_needed else "",
                "" if chain.enabled else "disabled",
            )
            for chain in chains
        ],
        plain=[f"{c.name}, written {c.short_name}, kind {c.kind}." for c in chains],
        document=ChainsDocument(chains, len(chains)),
    )


class LimitsDocument(Struct, frozen=True, rename="camel"):
    """The limits of an account on quotes and exchanges by minute, hour and day, each with the
    number of calls used."""

    monthly_request_count: int
    limits: tuple[LimitGauge, ...]


class CommissionsDocument(Struct, frozen=True):
    """The commissions of an account. ``month`` is ``YYYY-MM``; None if the numbers are those of all
    months."""

    month: str | None
    commissions: CommissionSummary


class VolumeDocument(Struct, frozen=True):
    """The volume statistics of all finished orders."""

    volume: VolumeStatistics


class WeeksDocument(Struct, frozen=True):
    """The volume by week, oldest week first."""

    weeks: tuple[WeeklyVolume, ...]


class ChartDocument(Struct, frozen=True):
    """The volume by day or month, oldest first."""

    granularity: Granularity
    points: tuple[ChartPoint, ...]


async def report_limits(call: CliContext, fail_over: int | None) -> int:
    """Prints the limits. Returns exit code 3 if more than ``fail_over`` percent of a limit is used,
    otherwise 0."""
    output, api = call.output, call.link.api
    limits = await api.get_rate_limits()
    gauges = limit_gauges(api.budget)
    exceeded = over(gauges, fail_over) if fail_over is not None else ()
    output.table(
        ("calls", "window", "used", "limit", "percent", "resets in"),
        [
            (
                gauge.name,
                gauge.window_name,
                f"{gauge.used:,}",
                f"{gauge.limit:,}",
                f"{gauge.percent}%",
                duration(gauge.resets_in),
            )
            for gauge in gauges
        ],
        numbers=(2, 3, 4),
        document=LimitsDocument(
            limits.monthly_request_count,
            tuple(replace(gauge, exceeded=gauge in exceeded) for gauge in gauges),
        ),
    )
    if call.link.connection.credentials.pays:
        output.say(OF_PAYER)
    if (words := forecast(gauges)) is not None:
        output.say(words)
    output.say(f"Requests of every kind in this month: {limits.monthly_request_count:,}.")
    for gauge in exceeded:
        what = f"{gauge.name} of this {gauge.window_name}"
        output.talk(f"{gauge.percent}% of the {what} are used, over {fail_over}%.")
    return Exit.THRESHOLD if exceeded else Exit.DONE


async def report_commissions(call: CliContext, month: str | None) -> None:
    output, api = call.output, call.link.api
    summary = await api.get_commissions(CommissionQuery(month=month))
    of = "in all" if month is None else f"in {month_name(month, api.server_now())}"
    output.facts(
        [
            ("this month", usd(summary.this_month_earnings)),
            ("last month", usd(summary.last_month_earnings)),
            (f"earned {of}", usd(summary.total_earnings)),
            ("paid out", usd(summary.processed_commissions)),
            ("not paid yet", usd(summary.pending_commissions)),
            ("entries", f"{summary.commission_count:,}"),
        ],
        document=CommissionsDocument(month, summary),
    )


async def report_volume(call: CliContext) -> None:
    statistics = await call.link.api.get_volume()
    call.output.facts(
        [
            ("orders", f"{statistics.count:,}"),
            ("orders this month", f"{statistics.this_month_orders:,}"),
            ("volume", usd(statistics.total_transacted_usd)),
            ("this month", usd(statistics.this_month_volume_usd)),
            ("last month", usd(statistics.last_month_volume_usd)),
        ],
        document=VolumeDocument(statistics),
    )


async def report_weeks(call: CliContext) -> None:
    """Prints the volume by week: newest first for people, oldest first as JSON."""
    output = call.output
    weeks = await call.link.api.get_weekly_volume()
    if not weeks:
        output.hint("No order was finished yet.")
    output.table(
        ("week", "orders", "private", "volume", "commission"),
        [
            (
                f"{week.year} W{week.week:02}",
                f"{week.count:,}",
                f"{week.anonymous:,}",
                usd(week.volume),
                usd(week.commission),
            )
            for week in reversed(weeks)
        ],
        numbers=(1, 2, 3, 4),
        document=WeeksDocument(tuple(weeks)),
    )


async def report_chart(
    call: CliContext, granularity: str, since: datetime | None, until: datetime | None
) -> None:
    """Prints the volume by day or month. The service returns a limited number of points, the latest
    ones (contract 12.5)."""
    output = call.output
    asked = ChartQuery(
        metric=ChartMetric.VOLUME, granularity=Granularity(granularity), from_=since, to=until
    )
    points = await call.link.api.get_chart(asked)
    late = begins_late(points[0].date, since) if points and since is not None else None
    if late is not None:
        output.talk(
            f"The chart begins with {points[0].date}, not with {late}: the service gives only so"
            f" many {granularity}s at once. Add --to for earlier ones."
        )
    if output.form != "table":
        output.say(
            *(
                f"{point.date}: orders {point.count:,}, volume {usd(point.volume_usd)}."
                for point in points
            ),
            document=ChartDocument(asked.granularity, tuple(points)),
        )
        return
    values = [point.volume_usd for point in points]
    output.say(
        *text_chart(
            [point.date for point in points],
            values,
            columns=shutil.get_terminal_size().columns,
            ascii_only=call.desk.settings.glyphs.value == "ascii",
        )
    )
    orders = sum(point.count for point in points)
    of = f"From {points[0].date} on: orders" if late is not None else "Orders"
    output.say(f"{of} {orders:,}, volume {usd(sum(values, Decimal(0)))}.")


async def call_operation(
    call: CliContext,
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    body: bytes | None,
) -> int:
    """Makes one call of the API and prints its answer. Raises CommandError (exit 9) if a writing
    call cannot be journaled. After a writing call, an answer that is not JSON leaves the outcome
    unknown."""
    operation, _ = find_operation(method, path)
    if body is not None:
        body = _checked(body)
    if operation.writes:
        answer = await _written(call, operation, method, path, query, body)
    else:
        answer = await _asked(call, method, path, query, body)
    # On one line, every digit as it came.
    call.output.raw_json(encode_json(_read(answer)).decode())
    return Exit.DONE


async def _asked(
    call: CliContext,
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    body: bytes | None,
) -> RawAnswer:
    answer = await call.link.api.call(method, path, query, body)
    try:
        _read(answer)
    except CodecError as error:
        kind = safe_text(answer.headers.get("content-type", "no type"), 100)
        raise refuse_answer(answer, "not_json", f"{error} ({kind})") from None
    return answer


async def _written(
    call: CliContext,
    operation: Operation,
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    body: bytes | None,
) -> RawAnswer:
    journal = call.desk.journal
    sent = {"method": method, "path": path, "body": (body or b"").decode("utf-8", "replace")}
    try:
        act = journal.ledger.begin("call", sent, state=State.SENT)
    except JournalUnavailable:
        raise own_refusal(
            "NO_JOURNAL", NO_JOURNAL.cause, money=UNTOUCHED, next=NO_JOURNAL.next
        ) from None

    try:
        answer = await _asked(call, method, path, query, body)
    except ClientError as error:
        answered: dict[str, Any] = {}
        state, code = State.REFUSED, "NOT_SENT"
        if isinstance(error, OutcomeUnknown | ApiError):
            answered = {"status": error.status, "request_id": error.request_id}
            code = error.code or f"HTTP_{error.status}"
        if isinstance(error, OutcomeUnknown):
            state, code = State.UNKNOWN, error.code or "NO_ANSWER"
        journal.ledger.move(act.id, state, code=code, **answered)
        raise
    order = _order_of(answer, operation)
    answered = {"status": answer.status, "request_id": answer.request_id}
    if order is None:
        journal.ledger.move(act.id, State.DONE, **answered)
    else:
        journal.call_created(act.id, order, **answered)
        call.output.talk(f"Order {order.service_id} is in the journal.")
    return answer


def _order_of(answer: RawAnswer, operation: Operation) -> Order | None:
    if operation.result is not Order:
        return None
    try:
        return decode(Order, answer.body, side="client", max_bytes=operation.result_limit)
    except CodecError:
        # The answer is printed all the same; what it names, only a person can tell.
        return None


def _checked(body: bytes) -> bytes:
    with refused_as(CodecError, "BAD_BODY", "The body cannot be read: ", field="d"):
        return encode_json(decode_json(without_mark(body)))


def _read(answer: RawAnswer) -> object:
    return decode_json(answer.body, side="client", max_bytes=answer.operation.result_limit)
