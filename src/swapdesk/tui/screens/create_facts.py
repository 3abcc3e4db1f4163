"""The intent as facts, while it is written and when it is locked, and the panel that shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from math import ceil
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from textual.message import Message

from swapdesk.flows.creation.create_checks import Checked
from swapdesk.flows.creation.minimum_received import Guarantor, guaranteed, guaranteed_by
from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.notation import (
    clock_time,
    counted,
    exact_amount,
    expected_minutes,
    rate_both_ways,
    table_amount,
    usd,
)
from swapdesk.flows.payees.recipients import MemoCheck, RecipientCheck, without
from swapdesk.flows.quotes.quote_columns import provider_name
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote, fees_kind
from swapdesk.tui.amount_text import trimmed
from swapdesk.tui.glyphs import BECOMES, REFUSED, TROUBLE
from swapdesk.tui.screens.order_facts import short_memo_label
from swapdesk.tui.spans import Line, LineLike, Span, cut, line_of, spread
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.form_fields import Check, check_lines
from swapdesk.tui.widgets.gauge import CountdownState, countdown_spans
from swapdesk.tui.widgets.lines_view import LinesView
from swapdesk.tui.widgets.quote_table import route_word

LABEL = 11


class IntentFacts(Struct, frozen=True):
    """``locked`` is a clock text; ``facts`` carry ``was`` where a new quote changed a value.

    ``verdict`` is the last line: locked with n problems, ready, expired, asked and waiting.
    """

    facts: Sequence[Fact]
    locked: str = ""
    verdict: Check | None = None
    validity: LineLike = ""


def intent_lines(state: IntentFacts, width: int) -> list[Line]:
    locked: Line = [Span("locked ", "muted"), Span(state.locked)] if state.locked else []
    rows = [spread([Span("Intent", "foreground", bold=True)], locked, width), []]
    rows += facts_lines(state.facts, width, LABEL)
    if state.validity:
        rows += [[], [Span("Valid".ljust(LABEL), "muted"), *line_of(state.validity)]]
    if state.verdict is not None:
        rows += [[], *check_lines(state.verdict, width)]
    return rows


BAR = 12
SIDES = ("You send", "You get", "They get")
"""The labels of the two amounts."""
HAVE = "You have"
LEAST, SIGNED_LEAST = "At least", "signed least"


class Draft(Struct, frozen=True):
    """All that the form knows. ``intent`` is there once it is locked; ``was`` is the figure of
    the quote before; ``have`` is what the own wallet has of the token sold; ``hidden`` are
    places of the recipient drawn as dots."""

    board: QuoteResult
    row: RankedQuote
    checked: Checked
    hidden: frozenset[int] = frozenset()
    intent: Intent | None = None
    was: Decimal | None = None
    cost: str = ""
    verdict: Check | None = None
    account: SwapAccount | None = None
    have: Decimal | None = None


def intent_state(draft: Draft, now: datetime) -> IntentFacts:
    # Whole seconds, as the number beside the bar counts them.
    left = ceil((draft.row.expires_at - now).total_seconds())
    total = ceil((draft.row.expires_at - draft.board.asked_at).total_seconds())
    locked = clock_time(draft.intent.frozen_at) if draft.intent is not None else ""
    return IntentFacts(
        intent_facts(draft),
        locked=locked,
        verdict=draft.verdict,
        validity=countdown_spans(CountdownState(left, total, BAR)),
    )


def intent_facts(draft: Draft) -> list[Fact]:
    board, row, checked = draft.board, draft.row, draft.checked
    paid, received = board.amount_in(row), received_amount(board, row)
    rates = rate_both_ways(paid, board.token_in.symbol, received, board.token_out.symbol)
    was = table_amount(draft.was) if draft.was is not None else ""
    reverse = board.wish.receive
    rate = "rate fixed" if row.quote.fixed else "floating"
    return [
        Fact(
            "You send",
            f"{exact_amount(paid)} {board.token_in.symbol}",
            below=[f"on {board.token_in.chain_data.name}"],
            was=was if reverse else "",
            bold=True,
        ),
        *_have(draft, paid),
        Fact(
            "They get" if board.private_send else "You get",
            f"{trimmed(received)} {board.token_out.symbol}",
            below=[f"on {board.token_out.chain_data.name}, {rate}"],
            was="" if reverse else was,
            bold=True,
        ),
        _least(draft),
        Fact(),
        Fact("Route", [route_word(row.quote.type), Span("  "), Span(provider_name(row))]),
        *([Fact("Rate", rates[0], below=[Span(rates[1])])] if rates and not same(board) else []),
        Fact("Fees", _fees(row)),
        *_markup(board, row),
        Fact("Takes", expected_minutes(row.quote.duration)),
        Fact(),
        _recipient(checked.recipient, draft.hidden),
        Fact(short_memo_label(checked.memo.label), _memo(checked.memo)),
        *_refund(checked.refund, "Refund"),
        *_refund(checked.intermediate, "Middle"),
        *_wallet(draft.account),
        *([Fact("Cost", draft.cost)] if draft.cost else []),
    ]


def _have(draft: Draft, paid: Decimal) -> list[Fact]:
    """What the own wallet has of it; a deposit may come from elsewhere, so it locks nothing."""
    if draft.have is None:
        return []
    amount = f"{exact_amount(draft.have)} {draft.board.token_in.symbol}"
    if draft.have < paid:
        return [Fact(HAVE, Span(f"{amount}, too little", "status-trouble"))]
    return [Fact(HAVE, amount)]


def _least(draft: Draft) -> Fact:
    """What can arrive at the least, by what is locked or by the route, and who stands for it."""
    promise = (
        guaranteed(draft.board, draft.row) if draft.intent is None else guaranteed_by(draft.intent)
    )
    if promise.least is None:
        return Fact(LEAST, Span("not promised", "muted"), below=["the rate floats"])
    amount = f"{trimmed(promise.least)} {draft.board.token_out.symbol}"
    if promise.by is Guarantor.CHAIN:
        return Fact(LEAST, amount, below=["or nothing is swapped"], key=SIGNED_LEAST)
    return Fact(LEAST, amount, below=["fixed by the service"])


def _wallet(account: SwapAccount | None) -> list[Fact]:
    """Who pays a swap on chains, and the steps it takes."""
    if account is None:
        return []
    facts = [Fact("From", [Span("wallet ", "muted"), Span(account.name, bold=True)])]
    if account.plan is not None:
        first, *others = account.plan.words
        below = [f"{BECOMES} {one}" for one in others]
        facts.append(Fact("Steps", first, below=[*below[:-2], "  ".join(below[-2:])]))
    return facts


def same(board: QuoteResult) -> bool:
    """Whether both sides are one token, so that a rate says nothing."""
    return board.token_in.id == board.token_out.id


def summary(draft: Draft, now: datetime) -> list[LineLike]:
    """Three lines for screens without a panel."""
    board, row = draft.board, draft.row
    left = (row.expires_at - now).total_seconds()
    first: Line = [
        Span(f"{exact_amount(board.amount_in(row))} {board.token_in.symbol}", bold=True),
        Span(" → ", "muted"),
        Span(f"{trimmed(received_amount(board, row))} {board.token_out.symbol}", bold=True),
    ]
    if row.quote.fixed:
        first.append(Span("  rate fixed", "muted"))
    if draft.was is not None:
        first.append(Span(f"  was {table_amount(draft.was)}", "muted"))
    second: Line = [
        route_word(row.quote.type),
        Span(f"  {provider_name(row)}  "),
        Span(f"{expected_minutes(row.quote.duration)}  valid ", "muted"),
        *countdown_spans(CountdownState(left)),
    ]
    return [first, second]


def _fees(row: RankedQuote) -> str:
    return usd(row.quote.fee_usd) if row.quote.fee_usd is not None else fees_kind(row.quote)


def received_amount(board: QuoteResult, row: RankedQuote) -> Decimal:
    """What arrives: by the quote, or in reverse exactly what was stated."""
    return board.amount if board.wish.receive else row.key


def _markup(board: QuoteResult, row: RankedQuote) -> list[Fact]:
    """The markup that was asked for, or that the service says it applied."""
    applied = row.quote.applied_api_markup
    percent = board.wish.markup if applied is None else applied
    return [Fact("Markup", f"{exact_amount(percent)}%, in price")] if percent else []


def _recipient(check: RecipientCheck, hidden: frozenset[int]) -> Fact:
    if not check.ok:
        text = "not typed yet" if not check.text else f"{REFUSED} not valid yet"
        if check.lookalike is not None:
            text = f"{REFUSED} only looks like {check.lookalike[0]}"
        return Fact("To", Span(text, "muted" if not check.text else "status-trouble"))
    below: Line = [Span(check.label, bold=True)] if check.label else []
    if check.first_use:
        gap = "  " if below else ""
        below.append(Span(f"{gap}{TROUBLE} never paid", "status-waiting"))
    return Fact("To", address=without(check.address, hidden), below=[below] if below else [])


def _memo(check: MemoCheck) -> LineLike:
    if not check.ok:
        return Span(f"{REFUSED} {check.fault}", "status-trouble")
    if check.waived:
        return Span("none, as you typed", "status-waiting")
    return Span(check.memo, bold=True) if check.memo else "none"


def _refund(check: RecipientCheck | None, label: str) -> list[Fact]:
    if check is None:
        return []
    if not check.ok:
        said = f"{REFUSED} not valid yet" if check.text else "not typed yet"
        return [Fact(label, Span(said, "status-trouble" if check.text else "muted"))]
    if not check.address:
        return [Fact(label, "none")]
    below: list[LineLike] = [Span(check.label, bold=True)] if check.label else []
    if check.memo:
        word = short_memo_label(check.memo_label).lower()
        below.append([Span(f"{word} ", "muted"), Span(check.memo, bold=True)])
    return [Fact(label, address=check.address, below=below)]


class IntentPanel(LinesView, can_focus=True):
    """36 cells wide beside a form (class ``side``), or the whole body.

    Shows the intent in the rows it has. Rate, duration, fees and the own balance go where there is
    no room; amounts, markup, addresses, memos and cost never do: rows that are left out are counted
    instead.
    """

    DEFAULT_CSS = """
    IntentPanel {
        background: $surface;
        padding: 1 2;
    }
    .-short IntentPanel { padding: 0 2; }
    """

    class Laid(Message):
        """The panel has another size: what it shows may be whole now, or no longer."""

    def __init__(self, state: IntentFacts, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: IntentFacts) -> None:
        self.state = state
        self.redraw()

    @property
    def whole(self) -> bool:
        """Whether everything that is confirmed stands on the screen, in the size it has now."""
        width, height = self.size
        return 0 < len(fitting_lines(self.state, width, height)) <= height

    def on_resize(self) -> None:
        self.redraw()
        self.post_message(self.Laid())

    def lines(self, width: int) -> list[Line]:
        height = self.size.height
        rows = fitting_lines(self.state, width, height)
        return rows if height <= 0 or len(rows) <= height else _counted(rows, width, height)


def fitting_lines(state: IntentFacts, width: int, height: int) -> list[Line]:
    """The rows of the panel, with less in it until they fit ``height`` (0: no limit).

    They are more than ``height`` when even what must be seen does not fit.
    """
    rows = intent_lines(state, width)
    if height <= 0:
        return rows
    for at, less in enumerate(LESS):
        if len(rows) <= height:
            break
        state = replace(state, facts=[one for one in map(less, state.facts) if one is not None])
        rows = [row for row in intent_lines(state, width) if row or at < ROOMY_STEPS]
    return rows


def _counted(rows: list[Line], width: int, height: int) -> list[Line]:
    """The first rows, and in the last one how many are missing."""
    shown = rows[: height - 1]
    said = f"{TROUBLE} {counted(len(rows) - len(shown), 'more row')}: enlarge the window"
    return [*shown, cut([Span(said, "status-waiting")], width)]


def _without(label: str, fact: Fact) -> Fact | None:
    return None if fact.label == label else fact


def _one_rate(fact: Fact) -> Fact:
    return replace(fact, below=()) if fact.label == "Rate" else fact


def _brief_least(fact: Fact) -> Fact | None:
    """Beside the amount stands whether the rate is fixed or floats; of a swap on chains nothing
    else says the least."""
    if fact.label != LEAST:
        return fact
    return replace(fact, below=()) if fact.key == SIGNED_LEAST else None


def _chain_beside(fact: Fact) -> Fact:
    """The chain of an amount in its row, where no former value stands there."""
    if fact.label not in SIDES or fact.was:
        return fact
    amount = [Span(span.text, span.role, True) for span in line_of(fact.value)]
    chains = [
        Span(f"  {span.text}", span.role) for row in fact.below for span in line_of(row, "muted")
    ]
    return replace(fact, value=[*amount, *chains], below=(), bold=False)


LESS: tuple[Callable[[Fact], Fact | None], ...] = (
    _one_rate,
    partial(_without, ""),
    # The first step without empty rows.
    partial(_without, ""),
    partial(_without, "Rate"),
    partial(_without, "Takes"),
    partial(_without, "Fees"),
    # No part of what is confirmed.
    partial(_without, HAVE),
    _brief_least,
    _chain_beside,
)
"""What goes for want of room, in this sequence."""
ROOMY_STEPS = 2
"""So many of these steps keep the empty rows."""
