"""Hidden amounts: on every golden of every screen, in place, and only on the screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from flows.orders import NOW, order
from swapdesk.flows.account.reading import AccountReading
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.controllers.order_follower import LONGEST, EndBell, terminal_notice
from swapdesk.tui.masking import DOTS, masked
from swapdesk.tui.screens.account import chart_lines
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.spans import Span, plain_text
from swapdesk.tui.widgets.gauge import gauge_line
from swapdesk.tui.widgets.table_layout import Column, Row, TableLayout
from swapdesk.wire.account import ChartPoint, CommissionSummary
from swapdesk.wire.orders import DisplayStatus, Order
from tui.desk_run import Market
from tui.known_orders import every_state, exchanging, prepare, waiting

GOLDENS = sorted(
    path for path in (Path(__file__).parent / "goldens").rglob("*.txt") if "ascii" not in path.name
)
SYMBOLS = ("BTC", "ETH", "XRP", "USDC", "USDT", "SOL", "XMR", "WETH", "XLM", "LTC", "DOGE", "TRX")
AMOUNTS = (
    re.compile(r"(?<![\w.:])\d[\d,]*\.\d+(?![\d.]*%|[\w.:])"),
    re.compile(r"\$ ?\d"),
    re.compile(
        r"(?<![\w.:,])(?<!block )\d{1,3}(,\d{3})+(?![\w,])(?! (?:gas|rows?|orders?|left)\b)"
    ),
    re.compile(rf"(?<![\w.:#/])\d+ +({'|'.join(SYMBOLS)})\b"),
)

MASK_OF_OTHER_WIDTH = re.compile(r"(?<![•\w] )(?<![•\w])(•|••|•{5,11}|•{13,15})(?![•\w]| •)")
"""Dots that stand neither for an amount nor for groups or the middle of an address."""


def known(word: str) -> bool:
    return word.upper() in SYMBOLS


def masked_text(text: str, symbols: Callable[[str], bool], room: int = 0) -> str:
    return plain_text(masked([Span(text)], symbols, room))


def test_no_screen_keeps_a_digit_of_an_amount() -> None:
    for path in GOLDENS:
        rows = path.read_text(encoding="utf-8").splitlines()
        width = max(map(cell_len, rows))
        for row in rows:
            free = width - cell_len(row)
            hidden = masked_text(row, known, free)
            assert cell_len(row) <= cell_len(hidden) <= width, (path.stem, row)
            # A field of a pass phrase has its own dots.
            assert "•" in row or not MASK_OF_OTHER_WIDTH.search(hidden), (path.stem, hidden)
            for amount in AMOUNTS:
                assert not amount.search(hidden), (path.stem, amount.pattern, row, hidden)


def test_there_are_amounts_to_hide() -> None:
    rows = [row for path in GOLDENS for row in path.read_text(encoding="utf-8").splitlines()]
    assert sum(any(one.search(row) for one in AMOUNTS) for row in rows) > 500


MASKED = [
    ("Send 2,500 XRP before 14:34:28", "Send ••• XRP before 14:34:28  "),
    ("0.5 BTC → 14.524108 ETH", "••• BTC → ••• ETH      "),
    ("≈ $48,210.00 · −0.43%", "≈ ••• · −0.43%       "),
    ("Copied amount 2500. Compare", "Copied amount •••. Compare "),
    ("GET /quotes?amount=2500&from=x", "GET /quotes?amount=•••&from=x "),
    ("-q amount=25 -q from=x", "-q amount=••• -q from=x"),
    ('-d {"amount":2500,"to":"x"}', '-d {"amount":•••,"to":"x"} '),
    ("inAmount 2500 to 2600", "inAmount ••• to •••  "),
    ("takes 20 to 5000 XRP, 20–5000 XRP", "takes ••• to ••• XRP, •••–••• XRP"),
    ("Order 3 of 20 to ETH", "Order 3 of 20 to ETH"),
    ("quotes 50 of 500 left · 37m", "quotes 50 of 500 left · 37m"),
    (
        "reads 1,950 of 2,000 left; 5,000 rows below",
        "reads 1,950 of 2,000 left; 5,000 rows below",
    ),
    ("at most 1,240,000 gas on block 21,904,120", "at most 1,240,000 gas on block 21,904,120"),
    ("2,000 open orders, $2,000 left", "2,000 open orders, ••• left   "),
    ("19m of ~27m, 2 conf, Mon 17 Nov", "19m of ~27m, 2 conf, Mon 17 Nov"),
    ("2 ETH arrived", "••• ETH arrived"),
    ("40 sol usdc", "••• sol usdc"),
    ("$61.8B", "•••   "),
    ("returns $41,311.87: −0.25%", "returns •••: −0.25%       "),
    ("1.000,50 and 1,2345.5 and 3,4", "••• and ••• and 3,4          "),
    ("http://127.0.0.1:8080 at 14:02", "http://127.0.0.1:8080 at 14:02"),
    ("stage 1 of 5, rank 7", "stage 1 of 5, rank 7"),
    ('  "inAmount": 2500,', '  "inAmount": •••, '),
    ("0x 3C44 CdDd B6a9 00fa 2b58", "0x 3C44 •••• •••• •••• 2b58"),
    ("rEb8 TK3g Bgk5 uaLh 9", "rEb8 •••• •••• •••• 9"),
    ("what will have been sent", "what will have been sent"),
    ("8f2c91d04b1e77ab8f2c91d04b1e77ab", "8f2c" + "•" * 24 + "77ab"),
]


def test_what_is_hidden_and_what_stays() -> None:
    assert [(text, masked_text(text, known, room=4)) for text, _ in MASKED] == MASKED


@pytest.mark.parametrize("digits", ["2", "25", "250", "2,500", "2,500.125"])
def test_no_mask_and_no_gap_tells_how_many_digits_there_were(digits: str) -> None:
    """In a sentence, in a column of numbers, and as the amount of a signature."""
    said = f"Send {digits} XRP to @bob".ljust(40) + "standard"
    assert masked_text(said, known) == "Send ••• XRP to @bob".ljust(40) + "standard"
    column = "net" + digits.rjust(20) + " XRP   ~14m"
    assert masked_text(column, known) == "net" + DOTS.rjust(20) + " XRP   ~14m"
    moved = [Span("USDC "), Span(f"+{digits}", amount=True), Span("     "), Span("nothing else")]
    assert plain_text(masked(moved, room=9)).startswith("USDC ••• ")


def test_a_full_row_gives_up_its_end_and_not_the_width_of_a_mask() -> None:
    assert masked_text("takes 2 ETH", known) == "takes •••…"
    assert masked_text("takes 2 ETH", known, room=2) == "takes ••• ETH"


def test_every_word_keeps_its_role() -> None:
    line = [Span("2 ", "muted"), Span("ETH"), Span("    "), Span("0.5", "best-quote"), Span(" BTC")]
    shown = masked(line, known)
    assert [(span.text, span.role) for span in shown] == [
        ("••• ", "muted"),
        ("ETH", "foreground"),
        ("  ", "foreground"),
        ("•••", "best-quote"),
        (" BTC", "foreground"),
    ]


def test_a_column_of_amounts_is_hidden_without_a_symbol() -> None:
    layout = TableLayout([Column("n", "#", 3, "right"), Column("net", "Net ETH", 9, "point")])
    row = Row("1", {"n": "1", "net": "14"})
    layout.measure(row)
    line = layout.line(row, 20)
    assert plain_text(masked(line)).split() == ["1", DOTS]


def test_counts_of_a_gauge_stay_and_the_axis_of_a_chart_is_hidden() -> None:
    gauge = gauge_line(1500, 2000, 60)
    assert plain_text(masked(gauge)) == plain_text(gauge)
    days = tuple(
        ChartPoint(date=f"2026-11-{at:02}", volume_usd=Decimal(at * 30_000), count=at)
        for at in (1, 2)
    )
    nothing = CommissionSummary.model_construct()
    reading = AccountReading("2026-11", NOW, nothing, (), days)
    lines = chart_lines(reading, "2026-11", NOW, 40)
    assert any("60k" in plain_text(line) for line in lines)
    hidden = [plain_text(masked(line)) for line in lines]
    assert not any(re.search(r"\d+k", line) for line in hidden), hidden


def test_where_a_number_stood_in_its_column_does_not_tell_its_size() -> None:
    layout = TableLayout([Column("net", "Net ETH", 12, "point")])
    rows = [Row(str(at), {"net": net}) for at, net in enumerate(["14", "0.25", "1,204.5", "—"])]
    for row in rows:
        layout.measure(row)
    hidden = {plain_text(masked(layout.line(row, 20))) for row in rows[:-1]}
    assert len(hidden) == 1
    assert "—" in plain_text(masked(layout.line(rows[-1], 20)))


@given(st.text(max_size=60))
def test_a_hidden_line_keeps_to_its_room(text: str) -> None:
    line = [Span(text[:20], "muted"), Span(text[20:])]
    size = cell_len(plain_text(line))
    assert cell_len(plain_text(masked(line, known))) <= size
    assert size <= cell_len(plain_text(masked(line, known, 2 * 60))) <= size + 2 * 60


async def test_f9_hides_and_shows_in_place(market: Market) -> None:
    prepare(market, every_state(market.clock))
    async with market.ready_desk() as run:
        await run.press("o", sees="14.524108")
        before = run.body
        await run.press("f9", sees="Amounts are hidden")
        for key in ("j", "enter", "i", "escape", "h", "escape", "escape"):
            for amount in AMOUNTS:
                assert not amount.search(run.text), run.text
            await run.press(key)
        await run.settle(lambda: "Not of this desk" in run.text, "the list")
        assert DOTS in run.text
        assert "27:12" in run.text
        await run.press("y")
        # What is copied is exact.
        run.screen(OrdersScreen)._table.move_to(waiting(market.clock).id)
        await run.press("enter", sees="Order id")
        await run.press("j", "y")
        assert run.app.clipboard == "2500"
        assert "2,500" not in run.text
        await run.press("escape", "f9", sees="Amounts are shown")
        assert "14.524108" in run.body
        assert "14.524108" in before


def over(name: str = "a" * 22, **facts: object) -> TrackedOrder:
    facts = {"display_status": DisplayStatus.SWAP_COMPLETED.value, "in_status": 5, **facts}
    return TrackedOrder(order(service_id=name, **facts), None, None, True, NOW, "read")


def test_an_end_is_told_once() -> None:
    told: list[str] = []
    bell = EndBell("away", told.append)
    bell.begin([over("b" * 22)])
    open_ = TrackedOrder(order(service_id="a" * 22), None, None, False, NOW, "stream")
    assert bell.changed([open_, over("b" * 22)], NOW) == []
    assert bell.changed([over()], NOW) == ["Order aaaaaa, BTC to ETH: completed."]
    assert bell.changed([over()], NOW) == []
    assert told == ["Order aaaaaa, BTC to ETH: completed."]
    failed = over("c" * 22, display_status="FAILED", in_status=6)
    refunded = over("c" * 22, display_status="REFUNDED", in_status=7)
    assert len(bell.changed([failed], NOW)) == 1
    assert bell.changed([refunded], NOW + timedelta(hours=1)) == [
        "Order cccccc, BTC to ETH: refunded."
    ]


@pytest.mark.parametrize(
    ("choice", "focused", "rung"),
    [
        ("away", False, True),
        ("away", True, False),
        ("always", True, True),
        ("off", False, False),
    ],
)
def test_the_bell_is_for_who_is_away(choice: str, focused: bool, rung: bool) -> None:
    told: list[str] = []
    bell = EndBell(choice, told.append)
    bell.focused = focused
    assert len(bell.changed([over()], NOW)) == 1
    assert bool(told) is rung


def test_no_text_ends_the_sequence_early() -> None:
    said = terminal_notice("a\x1b\\b\x07c\u202e\nd" + "x" * 500)
    assert said.startswith("\a\x1b]9;")
    assert said.endswith("\x1b\\")
    inner = said[5:-2]
    assert inner.isprintable()
    assert len(inner) <= LONGEST


async def test_f8_tells_of_the_mouse_and_an_order_that_ends_is_announced(market: Market) -> None:
    known_order = exchanging(market.clock)
    prepare(market, [known_order])
    async with market.ready_desk() as run:
        await run.press("f8")
        # The terminal of the tests has no mouse to give.
        await run.see("This terminal gives the desk no mouse.")
        tracker = run.app.session.desk.link.tracker
        done: Order = known_order.states[-1].model_copy(
            update={"display_status": "SWAP_COMPLETED", "status": 4, "in_status": 5}
        )
        await tracker.take([done])
        await run.see("Order h8Kq2P, BTC to ETH: completed.")
