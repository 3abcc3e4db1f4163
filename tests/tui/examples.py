"""One filled state of every widget, with a place for a text from outside."""

from __future__ import annotations

from collections.abc import Callable

from swapdesk.flows.deposits.deposit_phase import DepositPhase
from swapdesk.tui.screens.create_form import IntentFacts, intent_lines
from swapdesk.tui.screens.swap import IntentReading, Reading, reading_lines
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.widgets.deposit_card import DepositState, Payment, deposit_lines
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.form_fields import Alike, Check, CheckMark, alike_lines, check_lines
from swapdesk.tui.widgets.frame import (
    Badge,
    BudgetFigure,
    FrameState,
    KeyHint,
    MoneyState,
    Stream,
    World,
    frame_lines,
    key_line,
    money_line,
)
from swapdesk.tui.widgets.gauge import CountdownState, GaugeState, countdown_spans, gauge_line
from swapdesk.tui.widgets.help_overlay import HelpGroup, HelpRow, help_lines
from swapdesk.tui.widgets.lines_view import section_line
from swapdesk.tui.widgets.order_table import empty_line
from swapdesk.tui.widgets.overlay import Question, question_lines
from swapdesk.tui.widgets.stage_line import (
    StageMark,
    StageState,
    TrackState,
    stage_spans,
    track_lines,
)
from swapdesk.tui.widgets.table_layout import Column, Row, TableLayout
from swapdesk.tui.widgets.text_field import FieldState, field_lines

ME = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BOB = "0x5aAe71c0D28b03Aa5512e9F407bE6c3dEf1BeAed"
XRP = "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"

Draw = Callable[[int, str], list[Line]]


def header(width: int, text: str) -> list[Line]:
    """Rows over the whole width: two cells of margin are part of the frame."""
    return frame_lines(
        FrameState(
            "Order",
            context=text or "r3Tz9W8mLq · private",
            account="alice",
            badge=Badge(Stream.LIVE, 1),
            budget=BudgetFigure("reads", 480, 500, "37m"),
        ),
        width + 4,
    )


def live_header(width: int, text: str) -> list[Line]:
    return frame_lines(
        FrameState(
            "Orders",
            World.LIVE,
            context=text or "last 48 h",
            account="alice",
            badge=Badge(Stream.POLLING, 12),
            budget=BudgetFigure("reads", 40, 500, "37m"),
            read_only=True,
        ),
        width + 4,
    )


def money(width: int, text: str) -> list[Line]:
    where = text or "with the second exchange, on the way to @bob, since 14:26:58."
    state = MoneyState(where, "you: send the deposit within 27:12", "with the second exchange.")
    return [money_line(state, width)]


def keys(width: int, text: str) -> list[Line]:
    hints = [
        KeyHint("enter", text or "review"),
        KeyHint("e", "explain"),
        KeyHint("s", "sort"),
        KeyHint("r", "refresh", "1 quote"),
        KeyHint("c", "create", locked="3 problems"),
        KeyHint("esc", "back"),
        KeyHint("x", "export"),
    ]
    return [key_line(hints, width)]


def sections(width: int, text: str) -> list[Line]:
    return [
        section_line(text or "Open", "5", width),
        section_line("Orders", "", width, "41s old, polling"),
    ]


COLUMNS = (
    Column("n", "#", 3),
    Column("route", "Route", 8, role="route-standard"),
    Column("provider", "Provider", 14),
    Column("net", "You get", 16, "point", unit=4),
    Column("best", "vs best", 7, "right", priority=4, role="muted"),
    Column("difference", "in ETH", 10, "point", priority=1, role="muted"),
    Column("fees", "Fees", 8, "right", priority=3),
    Column("eta", "ETA", 5, "right", priority=5),
    Column("valid", "Valid", 7, "right"),
)


def quotes(width: int, text: str) -> list[Line]:
    layout = TableLayout(COLUMNS)
    rows = [
        Row("1", {"n": "1", "route": "standard", "provider": text or "Halyard",
                  "net": Span("14.524108 ETH", "best-quote", True), "best": "best",
                  "fees": "in price", "eta": "~14m", "valid": "0:48"}),
        Row("2", {"n": "2", "route": Span("private", "route-private"), "provider": "two legs",
                  "net": "2,814.5 ETH", "best": "−0.04%", "difference": "−0.005388",
                  "fees": "$61.12", "eta": "~27m", "valid": "9:48"}),
        Row("3", {"n": "–", "route": "standard", "provider": "Gantry"}, role="muted",
            tail=Span(text or "below minimum: this route takes 0.75 BTC or more"), tail_from="net"),
    ]  # fmt: skip
    for row in rows:
        layout.measure(row)
    return [layout.head(width), *(layout.line(row, width) for row in rows)]


def stages(width: int, text: str) -> list[Line]:
    return [
        stage_spans(StageState(2, 5, StageMark.MOVING)),
        stage_spans(StageState(6, 9, StageMark.MOVING)),
        stage_spans(StageState(2, 5, StageMark.TROUBLE)),
        stage_spans(StageState(0, 5, StageMark.EXPIRED)),
        stage_spans(StageState(8, 9, StageMark.DONE)),
    ]


def track(width: int, text: str) -> list[Line]:
    names = ["waiting", "seen", "exchange 1", "to middle", "at middle", "second", "exchange 2"]
    short = ["wait", "seen", "exch 1", "to mid", "at mid", "second", "exch 2"]
    end = [text or "to bob", "done"]
    state = TrackState(StageState(6, 9, StageMark.MOVING), [*names, *end], [*short, *end])
    return track_lines(state, width)


def gauges(width: int, text: str) -> list[Line]:
    return [
        gauge_line(GaugeState(2, 20, "41s", "minute"), width),
        gauge_line(GaugeState(450, 500, "37m", "hour"), width),
        gauge_line(GaugeState(5000, 5000, "9h57m", "day"), width),
        countdown_spans(CountdownState(48, 60, 12)),
        countdown_spans(CountdownState(0)),
    ]


def fields(width: int, text: str) -> list[Line]:
    wide = width + 4
    typed = text or "0.5 btc eth"
    long = "what a long line this is " * 6
    return [
        *field_lines(FieldState(typed, len(typed), True, hint="amount   you sell"), wide),
        *field_lines(FieldState(ME, 42, True, grouped=True), wide),
        *field_lines(FieldState(XRP * 3, 0, False, grouped=True), wide),
        *field_lines(FieldState(long, 100, True), wide),
        *field_lines(FieldState(placeholder=text or "name"), wide),
        *field_lines(FieldState("0.5", 3, True, tall=True), wide),
    ]


def readings(width: int, text: str) -> list[Line]:
    said = text or "Sell 0.5 BTC on Bitcoin, buy ETH on Ethereum"
    return [
        *reading_lines(IntentReading(Reading.VALID, said, "≈ $48,210.00", "limits 0.8"), width),
        *reading_lines(IntentReading(Reading.REFUSED, text or '"1,5": write 1.5'), width),
        *reading_lines(IntentReading(), width),
    ]


def checks(width: int, text: str) -> list[Line]:
    said = text or 'Not a Bitcoin address: character 23 is "o", which bech32 never uses.'
    again = "Copy it again from its source."
    return [
        *check_lines(Check(CheckMark.VALID, text or "Ethereum address, checksum correct"), width),
        *check_lines(Check(CheckMark.REFUSED, said, again), width),
        *(alike_lines(ME, Alike("@bob", BOB)) if width > 60 else []),
    ]


def facts(width: int, text: str) -> list[Line]:
    return facts_lines(
        [
            Fact("Deposit to", address=ME, note="on Ethereum"),
            Fact("Payout tx", text or "not sent yet"),
            Fact(),
            Fact("You get", "14.310 ETH", was="14.498 ETH", below=["on Ethereum"], bold=True),
            Fact("Pays", address=text or XRP * 4),
        ],
        width,
    )


def intent(width: int, text: str) -> list[Line]:
    state = IntentFacts(
        [
            Fact("You send", "0.5 BTC", below=["on Bitcoin"], bold=True),
            Fact("To", address=ME),
            Fact("Route", text or "standard  Alder"),
        ],
        locked="14:02:31",
        verdict=Check(CheckMark.REFUSED, "1 problem:", "correct it first"),
        validity=countdown_spans(CountdownState(568, 600, 12)),
    )
    return intent_lines(state, min(width, 36))


def deposit(width: int, text: str) -> list[Line]:
    payment = Payment("XRP Ledger", "2,500 XRP", XRP, text or "104882716", "Destination tag")
    state = DepositState(
        DepositPhase.WAITING,
        "Send this, once, on the XRP Ledger",
        "created 14:04:28",
        payment,
        [Span("27:12", "foreground", True), Span(" left, until 14:34:28 UTC", "muted")],
        left_part=0.9,
        facts=(Fact("You get", "≈ 1.881204 ETH on Ethereum, floating"), Fact("To", address=ME)),
        matches=Check(CheckMark.VALID, "recipient, amount, tokens are as confirmed"),
    )
    return deposit_lines(state, width)


def deposit_without_memo(width: int, text: str) -> list[Line]:
    payment = Payment(text or "Bitcoin", "0.5 BTC", XRP * 3)
    state = DepositState(DepositPhase.WAITING, "Send this, once, on Bitcoin", payment=payment)
    return deposit_lines(state, width, short=True)


def deposit_hidden(width: int, text: str) -> list[Line]:
    said = text or "This order is not what you confirmed: recipient differs."
    state = DepositState(
        DepositPhase.HIDDEN,
        said,
        matches=Check(CheckMark.REFUSED, "Nothing was sent. Do not pay it."),
    )
    return deposit_lines(state, width)


def help_text(width: int, text: str) -> list[Line]:
    return help_lines(
        [
            HelpGroup("This screen", [HelpRow("enter", text or "Review the chosen route.")]),
            HelpGroup("Everywhere", [HelpRow("n", "Start a swap."), HelpRow("q", "Leave.")]),
        ],
        width,
    )


def question(width: int, text: str) -> list[Line]:
    asked = Question("This is LIVE", [text or "You type real money."], "live")
    return question_lines(asked, width, Check(CheckMark.REFUSED, 'Not the same: type "live".'))


def nothing(width: int, text: str) -> list[Line]:
    from swapdesk.tui.spans import wrapped

    return wrapped(empty_line(text or "No orders yet.", "n", "starts a swap"), width)


ALL: dict[str, Draw] = {
    draw.__name__: draw
    for draw in (
        header, live_header, money, keys, sections, quotes, stages, track, gauges, fields,
        readings, checks, facts, intent, deposit, deposit_without_memo, deposit_hidden,
        help_text, question, nothing,
    )
}  # fmt: skip
WIDE = {"header", "live_header", "fields"}
"""These draw the margin themselves."""
