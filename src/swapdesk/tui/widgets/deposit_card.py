"""The card of a deposit, which says what to send, where and until when. If the order differs from
what the user confirmed, the card shows none of this."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import Struct

from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.deposits.deposit_phase import DepositPhase
from swapdesk.flows.notation import wrapped_address
from swapdesk.tui.glyphs import TROUBLE
from swapdesk.tui.spans import Line, LineLike, Span, line_of, rule, spread, width_of, wrapped
from swapdesk.tui.widgets.detail_rows import Fact, fact_lines
from swapdesk.tui.widgets.form_fields import check_lines
from swapdesk.tui.widgets.gauge import bar_spans
from swapdesk.tui.widgets.lines_view import StateView

INDENT = 4
LABEL = 18
BAR = 16
LEAST = 8
"""Least width in cells for a memo or an address, even if the card is narrower."""


class Payment(Struct, frozen=True):
    """What the user has to pay. ``amount`` is the number ``exact`` as text. ``memo`` is None if the
    chain needs no memo. ``simulated`` is True for a chain of the sandbox."""

    network: str
    amount: str
    address: str
    memo: str | None = None
    memo_label: str = "Memo"
    exact: Decimal = Decimal(0)
    note: str = ""
    simulated: bool = False


class DepositState(Struct, frozen=True):
    """What a deposit card shows. ``payment`` is None unless the order waits for its deposit, so
    that a hidden address is never in this data. ``left_part`` is the share of the time that is
    left, from 0 to 1."""

    phase: DepositPhase
    head: LineLike
    right: LineLike = ""
    payment: Payment | None = None
    deadline: LineLike = ""
    deadline_note: str = "for the deposit; the rate may still move"
    left_part: float = 0.0
    facts: tuple[Fact, ...] = ()
    matches: CheckLine | None = None
    keys: tuple[str, str, str] = ("m", "Y", "y")

    def __post_init__(self) -> None:
        if (self.payment is not None) != (self.phase is DepositPhase.WAITING):
            raise ValueError("only a waiting card has something to pay")


class DepositCard(StateView[DepositState]):
    """The card of a deposit, with fewer rows on short screens."""

    def __init__(self, state: DepositState, **place: Any) -> None:
        super().__init__(state, **place)
        self._short = False

    def on_resize(self) -> None:
        short = self.app.size.height < 28
        if short != self._short:
            self._short = short
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return deposit_lines(self.state, width, short=self._short)


def deposit_lines(state: DepositState, width: int, *, short: bool = False) -> list[Line]:
    role = "status-trouble" if state.phase is DepositPhase.HIDDEN else "foreground"
    head = [Span(span.text, span.role, True) for span in line_of(state.head, role)]
    rows = _head_lines(head, line_of(state.right, "muted"), width)
    gap: list[Line] = [] if short else [[]]
    if state.payment is not None:
        rows += [*gap, *_payment_lines(state.payment, state.keys, width, gap)]
        rows += [*gap, rule(width), *gap, *_deadline_lines(state, width)]
    if state.facts:
        rows += gap
        for fact in state.facts:
            rows += [_indented(line) for line in fact_lines(fact, width - INDENT, LABEL)]
    if state.matches is not None and not (short and state.phase is DepositPhase.WAITING):
        rows += [*gap, *check_lines(state.matches, width)]
    return rows


def _head_lines(head: Line, right: Line, width: int) -> list[Line]:
    if width_of(head) + 2 + width_of(right) <= width:
        return [spread(head, right, width) if right else head]
    return [*wrapped(head, width), *([right] if right else [])]


def _payment_lines(
    payment: Payment, keys: tuple[str, str, str], width: int, gap: list[Line]
) -> list[Line]:
    memo_key, amount_key, address_key = keys
    # While a window is resized the card may have no room at all for a moment.
    room = max(LEAST, width - INDENT - LABEL - 8)
    rows: list[Line] = []
    number = 1
    if payment.memo is not None:
        memo = [[Span(payment.memo[at : at + room], "foreground", True)] for at in
                range(0, max(1, len(payment.memo)), room)]  # fmt: skip
        rows += _numbered(number, payment.memo_label, memo, memo_key, width)
        warning = [Span(f"{TROUBLE} required, or the money may not be credited", "status-waiting")]
        rows += [_value(line) for line in wrapped(warning, width - INDENT - LABEL, indent=2)]
        rows += gap
        number += 1
    amount: Line = [Span(payment.amount, "foreground", True)]
    rows += _numbered(number, "Amount", [amount], amount_key, width)
    rows += _remark("exactly. Less or more delays the order", width)
    rows += [*(_remark(payment.note, width) if payment.note else []), *gap]
    address = [[Span(row, "foreground", True)] for row in wrapped_address(payment.address, room)]
    rows += _numbered(number + 1, "Address", address, address_key, width)
    ledger = [Span("  simulated chain", "muted")] if payment.simulated else []
    network = Fact("Network", [Span(payment.network, bold=True), *ledger])
    rows += [*gap, *(_indented(line) for line in fact_lines(network, width - INDENT, LABEL))]
    rows += _remark("not a token of the same name on another chain", width)
    if payment.memo is None:
        rows += _remark(f"no memo is needed on {payment.network}", width)
    return rows


def _numbered(number: int, label: str, values: list[Line], key: str, width: int) -> list[Line]:
    head: Line = [
        Span(str(number).ljust(INDENT), "accent", bold=True),
        Span(label.ljust(LABEL), "muted"),
    ]
    copy: Line = [Span(key, "accent", bold=True), Span(" copy", "muted")]
    return [spread([*head, *values[0]], copy, width), *(_value(line) for line in values[1:])]


def _deadline_lines(state: DepositState, width: int) -> list[Line]:
    deadline: Line = [
        Span(" " * INDENT),
        Span("Deadline".ljust(LABEL), "muted"),
        *line_of(state.deadline),
    ]
    bar = bar_spans(state.left_part, BAR, "status-waiting")
    wide = width_of(deadline) + 2 + BAR <= width
    rows = [spread(deadline, bar, width) if wide else deadline]
    if state.deadline_note:
        rows += _remark(state.deadline_note, width)
    return rows


def _indented(line: Line) -> Line:
    return [Span(" " * INDENT), *line]


def _value(line: Line) -> Line:
    return [Span(" " * (INDENT + LABEL)), *line]


def _remark(text: str, width: int) -> list[Line]:
    return [_value(line) for line in wrapped([Span(text, "muted")], width - INDENT - LABEL)]
