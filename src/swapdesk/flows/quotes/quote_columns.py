"""Defines the columns of the quotes screen and of the command ``quote``, the best route of each
type, and the steps of a route from what is sent to what arrives.

A new column is added only here. The steps of a route add up, or a step says that they do not
(contract 6.8: ``netAmountOut`` is ``amountOut`` minus ``feeUsd``, without gas). A figure that the
service does not state is shown as unknown, never as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal

from msgspec import Struct

from swapdesk.flows.notation import (
    NOTHING,
    clock_time,
    difference,
    expected_minutes,
    in_places,
    percent,
    table_amount,
    usd,
)
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import (
    RECHECK,
    RankedQuote,
    all_in,
    all_in_places,
    fee_in_output,
    fees_kind,
    note_of,
    usd_in_output,
)
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.quotes import MarkupType, Quote

NOTE_WIDTH = 6

ROUTE_TYPES = (RouteType.STANDARD, RouteType.PRIVATE, RouteType.DEX)
_HUNDRED = Decimal(100)
_PLACES = 18
_MARKUP_UNITS: dict[str, str] = {
    MarkupType.PERCENTAGE: "%",
    MarkupType.BASIS_POINTS: " bp",
    MarkupType.ABSOLUTE: " absolute",
}


class QuoteColumn(Struct, frozen=True):
    """A column of the quotes. ``head`` is its title in the command ``quote``, ``label`` its title
    on the screen. Where it has no title, it is left out. Narrow screens first drop the lowest
    ``priority`` above 0."""

    name: str
    text: Callable[[QuoteResult, RankedQuote], str]
    head: str | Callable[[QuoteRequest], str] | None = None
    label: str = ""
    width: int = 0
    align: Literal["left", "right", "point"] = "left"
    priority: int = 0
    role: str = "foreground"
    gap: int = 2
    grow: int = 0

    def head_of(self, request: QuoteRequest) -> str:
        head = self.head or ""
        return head if isinstance(head, str) else head(request)


def value_text(result: QuoteResult, row: RankedQuote) -> str:
    """Returns by how many percent the value that arrives, after fees, differs from the value sent:
    ``−0.4 %``, or ``not known``."""
    difference = result.value_difference(row)
    return "not known" if difference.percent is None else percent(difference.percent)


def provider_name(row: RankedQuote) -> str:
    """Returns the provider's name. Without a name, returns ``two legs`` for a private route and a
    dash for any other."""
    quote = row.quote
    return quote.swap_name or quote.swap or ("two legs" if quote.type == "private" else NOTHING)


def _net_head(request: QuoteRequest) -> str:
    return (
        f"send {request.token_in.symbol}" if request.receive else f"net {request.token_out.symbol}"
    )


def _fees(row: RankedQuote) -> str:
    if fees_kind(row.quote) == "in price":
        return "in price"
    return usd(row.quote.fee_usd)


QUOTE_COLUMNS = (
    QuoteColumn("place", lambda _, row: str(row.place), "", "#", 2),
    QuoteColumn("route", lambda _, row: row.quote.type, "route", "Route", 8),
    QuoteColumn(
        "provider", lambda _, row: row.quote.swap_name or NOTHING, "provider", "Provider", 10
    ),
    QuoteColumn(
        "net",
        lambda _, row: table_amount(row.figure, "pay" if row.reverse else "receive"),
        _net_head,
        "Net {token}",
        11,
        "point",
    ),
    QuoteColumn(
        "best",
        lambda _, row: "best" if row.place == 1 else percent(row.vs_best_percent),
        "to best",
        "vs best",
        8,
        "right",
        role="muted",
        gap=1,
    ),
    QuoteColumn(
        "difference",
        lambda _, row: difference(row.vs_best_amount) if row.vs_best_amount else "",
        None,
        "in {token}",
        9,
        "point",
        priority=1,
        role="muted",
    ),
    QuoteColumn(
        "value",
        value_text,
        head="value",
    ),
    QuoteColumn(
        "fees", lambda _, row: _fees(row), None, "Fees", 8, "right", priority=3, role="muted"
    ),
    QuoteColumn(
        "gas",
        lambda _, row: usd(row.quote.gas_usd),
        None,
        "Gas",
        6,
        "right",
        priority=2,
        role="muted",
        gap=1,
    ),
    QuoteColumn(
        "eta", lambda _, row: expected_minutes(row.quote.duration), "eta", "ETA", 5, "right", gap=1
    ),
    QuoteColumn(
        "valid", lambda _, row: clock_time(row.expires_at), "ends", "Valid", 7, "right", gap=1
    ),
    QuoteColumn(
        "note",
        lambda _, row: note_of(row.badges) or NOTHING,
        "note",
        "Note",
        NOTE_WIDTH,
        priority=4,
        role="muted",
        grow=1,
    ),
    QuoteColumn("quote", lambda _, row: row.quote_id, head="quote"),
)


class RouteTypeBest(Struct, frozen=True):
    """The best valid route of a type. If there is none, ``best`` is None and ``missing`` says why.
    ``holds`` says who has custody, and ``knows`` who learns both ends of the swap."""

    kind: RouteType
    best: RankedQuote | None = None
    holds: str = ""
    knows: str = ""
    missing: str = ""


def compare_route_types(result: QuoteResult, now: datetime) -> tuple[RouteTypeBest, ...]:
    """Returns the best route of each type (standard, private, DEX) that is valid at ``now``, or the
    reason why there is none."""
    return tuple(_way(result, kind, now) for kind in ROUTE_TYPES)


def _way(result: QuoteResult, kind: RouteType, now: datetime) -> RouteTypeBest:
    rows = [row for row in result.ranking.rows if row.quote.type == kind]
    best = next((row for row in rows if not row.expired(now)), None)
    if best is None:
        return RouteTypeBest(kind, missing="expired" if rows else _why(result, kind))
    holds, knows = _custody(result, best)
    return RouteTypeBest(kind, best, holds, knows)


def _custody(result: QuoteResult, row: RankedQuote) -> tuple[str, str]:
    quote = row.quote
    if quote.type == RouteType.STANDARD:
        name = quote.swap_name or quote.swap
        return f"one exchange{f', {name}' if name else ''}", "the exchange"
    if quote.type == RouteType.PRIVATE:
        return "two exchanges, one after the other", "each knows one side only"
    return f"nobody; a contract on {result.token_in.chain_data.name}", "everyone, on the chain"


def _why(result: QuoteResult, kind: RouteType) -> str:
    request, private, dex = result.request, kind is RouteType.PRIVATE, kind is RouteType.DEX
    reasons = (
        (request.same_token and not private, "the same token goes by private routes only"),
        (request.route_types and kind not in request.route_types, "not asked for"),
        (private and request.providers, "not asked for: chosen providers leave it out"),
        (dex and request.markup is not None, "not asked for: a markup leaves it out"),
        (dex and not request.floating, "has no fixed rate"),
    )
    reason = next((reason for holds, reason in reasons if holds), None)
    if reason is not None:
        return reason
    entry = next((e for e in result.ranking.unusable if e.quote.type == kind), None)
    if entry is not None:
        return f'the service says: "{entry.reason}"' if entry.server_says else entry.reason
    return "the service offers none for these tokens"


Known = Literal["you", "service", "derived", "unknown"]
"""Where a figure comes from: user, service, this desk's computation, or unknown."""

Part = Literal["send", "line", "total", "check", "outside", "below"]
"""Where a step is shown: before, in or after the lines that are added up."""

Unit = Literal["sold", "bought", "usd", "percent"]

SumVerdict = Literal["sums", "differs", "gross", "unstated"]
"""Whether the lines add up to the net amount, within half a percent (``sums``). ``gross``: the
stated fee is not deducted. ``unstated``: the net amount is smaller for no stated reason."""


class WaterfallStep(Struct, frozen=True):
    """A step in the calculation from what is sent to what arrives. ``amount`` is in ``unit``; if it
    is None, ``word`` is shown instead. ``how`` explains the figure."""

    PRINTED: ClassVar = {
        "label": "label", "part": "part", "amount": "printed_amount", "unit": "printed_unit",
        "word": "printed_word", "how": "how", "knownFrom": "known",
    }  # fmt: skip

    label: str
    how: str
    known: Known
    part: Part
    amount: Decimal | None = None
    unit: Unit = "bought"
    word: str = ""

    @property
    def printed_amount(self) -> Decimal | None:
        return None if self.amount is None else _short(self.amount)

    @property
    def printed_unit(self) -> Unit | None:
        return None if self.amount is None else self.unit

    @property
    def printed_word(self) -> str | None:
        return self.word or None


class Waterfall(Struct, frozen=True):
    """The calculation of a route, step by step, from what is sent to what arrives.

    ``lines`` is the sum of the steps that are added up, and ``net`` is the amount that the service
    states. ``gap`` is ``net - lines`` in percent of the payout; None if the payout is zero.
    """

    PRINTED: ClassVar = {
        "verdict": "verdict", "lines": "printed_lines", "net": "net", "steps": "steps",
    }  # fmt: skip

    row: RankedQuote
    steps: tuple[WaterfallStep, ...]
    verdict: SumVerdict
    lines: Decimal
    net: Decimal
    gap: Decimal | None

    @property
    def printed_lines(self) -> Decimal | None:
        return _short(self.lines)

    def of(self, part: Part) -> tuple[WaterfallStep, ...]:
        return tuple(step for step in self.steps if step.part is part)

    def written(self, amount: Decimal) -> str:
        """Returns an amount as text with at most eight decimal places, rounded down so that a
        payout is not overstated."""
        shown = (table_amount(self.net), table_amount(self.lines))
        return in_places(amount, max(min(8, len(text.partition(".")[2])) for text in shown))


def _short(amount: Decimal) -> Decimal:
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= -_PLACES:
        return amount
    return ROUGH.quantize(amount, Decimal(1).scaleb(-_PLACES))


def waterfall(result: QuoteResult, row: RankedQuote) -> Waterfall:
    quote = row.quote
    out = quote.amount_out
    assert out is not None  # a quote that states no amount is not usable
    paid = WaterfallStep("Provider pays out", "amountOut", "service", "line", out)
    fee = _fee(quote)
    taken = fee.amount if fee.part == "line" and fee.amount is not None else Decimal(0)
    lines = ROUGH.add(out, taken)
    verdict = _verdict(quote, row.key, lines)
    away = ROUGH.subtract(row.key, lines)
    gap = ROUGH.multiply(ROUGH.divide(away, out), _HUNDRED) if out > 0 else None
    steps = [
        _sends(result, row),
        *_middle(result, quote),
        paid,
        fee,
        _markup(quote),
        _total(result, row),
        _check(verdict, gap, summed=taken != 0),
        *_outside(quote),
        _all_in(result, row),
        _value(result, row),
    ]
    return Waterfall(row, tuple(steps), verdict, lines, row.key, gap)


def remark(steps: Waterfall, lines: str, net: str) -> str:
    """Returns a warning if the steps do not add up to the stated net amount, or if fees take
    everything; otherwise empty. ``lines`` and ``net`` are the sum and the net amount as texts."""
    size = percent(steps.gap).lstrip("−+")
    sentence = {
        "differs": f"Δ {size}: the lines give {lines}, the service says {net}."
        " Ranked by the service's number.",
        "gross": "The service took no fee out of this amount: it flatters the route.",
        "unstated": f"The service pays out {lines} and calls {net} net; it does not say why.",
        "sums": "",
    }[steps.verdict]
    nothing_left = "The fees take more than the provider pays out." if steps.net <= 0 else ""
    return sentence or nothing_left


def _sends(result: QuoteResult, row: RankedQuote) -> WaterfallStep:
    amount, price = result.amount_in(row), result.token_in.price
    value = result.value_difference(row).value_in_usd
    how = "no price known"
    if value is not None:
        how = usd(value) if price is None else f"{usd(value)} at {usd(price)}"
    source: Known = "service" if result.request.receive else "you"
    return WaterfallStep("You send", how, source, "send", amount, "sold")


def _middle(result: QuoteResult, quote: Quote) -> list[WaterfallStep]:
    if quote.type != RouteType.PRIVATE:
        return []
    if result.request.use_xmr is True:
        return [WaterfallStep("Middle", "the legs meet on Monero", "you", "send", word="XMR")]
    how = "the service chooses where the legs meet"
    return [WaterfallStep("Middle", how, "unknown", "send", word="not told")]


def _fee(quote: Quote) -> WaterfallStep:
    label = "Provider fee"
    if quote.fee_usd is None:
        inside = quote.type in (RouteType.STANDARD, RouteType.PRIVATE)
        word, how = ("in price", "inside the rate") if inside else ("not stated", "no feeUsd")
        return WaterfallStep(label, how, "unknown", "line", word=word)
    if quote.fee_usd == 0:
        return WaterfallStep(label, "feeUsd is 0", "service", "line", Decimal(0))
    fee = fee_in_output(quote)
    if fee is None:
        return WaterfallStep(
            label, "not in net: no price", "service", "outside", quote.fee_usd, "usd"
        )
    how = f"{usd(quote.fee_usd)} ÷ {usd(ROUGH.divide(quote.fee_usd, fee))}"
    if _gross(quote):
        return WaterfallStep(label, f"{how}, not in net", "derived", "outside", -fee)
    return WaterfallStep(label, how, "derived", "line", -fee)


def _gross(quote: Quote) -> bool:
    return bool(quote.fee_usd) and quote.net_amount_out == quote.amount_out


def _markup(quote: Quote) -> WaterfallStep:
    label, inside = "Partner markup", "inside what is paid out"
    applied, unit = quote.applied_api_markup, "%"
    if applied is None:
        applied = quote.api_markup_value
        kind = quote.markup_type or MarkupType.PERCENTAGE
        unit = _MARKUP_UNITS.get(kind, f" {kind}, an unknown unit")
    if applied is None:
        return WaterfallStep(label, "not stated on this route", "unknown", "line", word="?")
    if applied == 0:
        return WaterfallStep(label, "none on this route", "service", "line", Decimal(0))
    return WaterfallStep(label, inside, "service", "line", word=f"{applied.normalize():f}{unit}")


def _total(result: QuoteResult, row: RankedQuote) -> WaterfallStep:
    stated = row.quote.net_amount_out is not None
    how = "netAmountOut" if stated else "amountOut, no net stated"
    if result.request.receive:
        how = f"{how}, as you asked"
    return WaterfallStep("You get, net", how, "service", "total", row.key)


def _verdict(quote: Quote, net: Decimal, lines: Decimal) -> SumVerdict:
    if _gross(quote):
        return "gross"
    out = quote.amount_out or Decimal(0)
    if abs(ROUGH.subtract(net, lines)) <= ROUGH.multiply(abs(out), RECHECK):
        return "sums"
    unstated = quote.fee_usd is None or (quote.fee_usd > 0 and fee_in_output(quote) is None)
    return "unstated" if unstated else "differs"


def _check(verdict: SumVerdict, gap: Decimal | None, *, summed: bool) -> WaterfallStep:
    how = {
        "sums": "the lines above add up" if summed else "net is what is paid out",
        "differs": "the lines do not add up",
        "gross": "gross: the fee is not in net",
        "unstated": "net is less, nothing says why",
    }[verdict]
    return WaterfallStep("Check", how, "derived", "check", gap, "percent")


def _outside(quote: Quote) -> list[WaterfallStep]:
    steps: list[WaterfallStep] = []
    units = f"{quote.gas:,f} gas, " if quote.gas is not None else ""
    taken = usd_in_output(quote, quote.gas_usd)
    if quote.gas_usd is None and quote.type == RouteType.DEX:
        steps.append(WaterfallStep("Gas", f"{units}no price", "unknown", "outside", word="gas ?"))
    elif quote.gas_usd is not None and taken is None:
        how = f"{units}no price of the token"
        steps.append(WaterfallStep("Gas", how, "service", "outside", quote.gas_usd, "usd"))
    elif quote.gas_usd is not None and taken is not None:
        how = f"{units}{usd(quote.gas_usd)}"
        steps.append(WaterfallStep("Gas", how, "service", "outside", -taken))
    if quote.bridge_fee_usd is not None:
        how, fee = "may be inside amountOut, unsaid", quote.bridge_fee_usd
        steps.append(WaterfallStep("Bridge fee", how, "service", "outside", fee, "usd"))
    return steps


def _all_in(result: QuoteResult, row: RankedQuote) -> WaterfallStep:
    figure = all_in(row)
    if figure is None:
        return WaterfallStep(
            "All-in", "gas or its price is not known", "unknown", "below", word="?"
        )
    place = all_in_places(result.ranking)[row.quote_id]
    rank = f"rank stays {place}" if place == row.place else f"rank {row.place} → {place}"
    if row.quote.gas_usd is None:
        sum_ = "sent, no gas" if row.reverse else "net, no gas"
    else:
        sum_ = "sent + gas" if row.reverse else "net − gas"
    unit: Unit = "sold" if row.reverse else "bought"
    return WaterfallStep("All-in", f"{sum_}, {rank}", "derived", "below", figure, unit)


def _value(result: QuoteResult, row: RankedQuote) -> WaterfallStep:
    difference = result.value_difference(row)
    label = "Value difference"
    if difference.percent is None:
        return WaterfallStep(label, "a price is missing", "unknown", "below", word="?")
    how = f"{usd(difference.value_out_usd)} of {usd(difference.value_in_usd)}"
    return WaterfallStep(label, how, "derived", "below", difference.percent, "percent")
