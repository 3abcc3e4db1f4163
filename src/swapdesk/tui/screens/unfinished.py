"""Two pages about create requests whose result was unknown when an earlier run ended. One shows
what became of them. On the other the user chooses which order an unanswered request led to."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from functools import partial

from textual import on
from textual.widget import Widget

from swapdesk.flows.creation.resume import CandidateRefused, Candidates, Look, OrderCandidate
from swapdesk.flows.notation import clock_time
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.tracking.open_business import OpenFinding, findings, intent_words
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.candidates import GIVE_UP, LOOK_AGAIN, TAKE_ORDER
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.commands.orders import ORDERS
from swapdesk.tui.commands.unfinished import BACK, GO_ON, OPEN_FOUND
from swapdesk.tui.glyphs import DONE, ENDED, MOVING, REFUSED, TROUBLE, UNKNOWN, VALID
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import RuleRow, SectionLabel, TextRows
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.table_layout import Column, Prose, Row, TableRow

_SIGNS = {
    "found": (DONE, "status-done"),
    "withheld": (TROUBLE, "status-trouble"),
    "unknown": (UNKNOWN, "status-waiting"),
    "not_created": (ENDED, "muted"),
    "elsewhere": (MOVING, "status-moving"),
}
COLUMNS = (
    Column("mark", "", 1),
    Column("id", "Order", 6, gap=1),
    Column("what", "What was asked", 30, grow=1),
)


class UnfinishedScreen(Page):
    """The page that shows what became of the create requests that an earlier run left open. It asks
    the user nothing."""

    NAME = "Unfinished business"
    SPENDS = "read"
    VERBS = (OPEN_FOUND, GO_ON, BACK)
    DEFAULT_CSS = """
    UnfinishedScreen #intro { margin: 0 0 1 0; }
    UnfinishedScreen.-short #intro { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, context="from an earlier run")
        report = session.report
        self._found: dict[str, OpenFinding] = {
            str(at): finding
            for at, finding in enumerate(findings(report) if report is not None else [])
        }
        self._table = LineTable(COLUMNS, heads=False)

    def compose_body(self) -> Iterable[Widget]:
        count = len(self._found)
        orders = "One order was" if count == 1 else f"{count} orders were"
        intro = f"{orders} being created when the desk ended. The desk asked the service about it."
        return (TextRows([intro], id="intro"), SectionLabel("Found", str(count)), self._table)

    def on_mount(self) -> None:
        rows: list[TableRow] = []
        for key, finding in self._found.items():
            glyph, role = _SIGNS[finding.kind]
            name = short_id(finding.service_id) if finding.service_id else ""
            rows.append(
                Row(
                    key,
                    {"mark": Span(glyph, role), "id": name, "what": Span(finding.what, bold=True)},
                )
            )
            role = "status-trouble" if finding.kind == "withheld" else "muted"
            rows.append(Prose(f"said {key}", [Span(" " * 9), Span(finding.said, role)]))
            rows.append(Prose(f"gap {key}"))
        self._table.set_rows(rows)
        kinds = {finding.kind for finding in self._found.values()}
        if "unknown" in kinds:
            next_ = "the desk: it looks again; enter shows what it found"
        elif kinds & {"found", "withheld"}:
            next_ = "you: look at the order"
        else:
            next_ = "you: go on"
        self.set_money("in your wallet. Nothing was paid.", next_, where_short="in your wallet.")

    @property
    def current(self) -> OpenFinding | None:
        return self._found.get(self._table.cursor_key)

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self.refresh_keys()

    def standings(self) -> Standings:
        current = self.current
        if current is not None and current.intent_id is not None:
            opens: CommandState | bool = CommandState(verb="compare the orders")
        else:
            opens = current is not None and bool(current.service_id)
        return {OPEN_FOUND: opens, ORDERS: False}

    @on(LineTable.Chosen)
    def do_open_found(self) -> None:
        current = self.current
        if current is not None and current.intent_id is not None:
            self.app.push_screen(CandidatesScreen(self.session, current.intent_id))
            return
        if current is not None and current.service_id is not None:
            self.controls.navigation.open_order(current.service_id)

    def do_go_on(self) -> None:
        self.post_message(self.Go(ORDERS))


CANDIDATE_COLUMNS = (
    Column("id", "Order", 8),
    Column("sure", "Match", 28),
    Column("made", "Created", 10),
)
WIDTH = 74
_MARKS = {
    True: (VALID, "status-done"),
    False: (REFUSED, "status-trouble"),
    None: (UNKNOWN, "muted"),
}


class CandidatesScreen(Page):
    """The page about one create request with an unknown result. The user chooses the order that it
    led to, or gives the request up. Nothing is created or paid here."""

    NAME = "Which order"
    SPENDS = "read"
    VERBS = (TAKE_ORDER, GIVE_UP, LOOK_AGAIN)

    def __init__(self, session: Session, intent_id: str) -> None:
        super().__init__(session)
        self._intent_id = intent_id
        self.look: Look | None = None
        """What the last search for orders found; None before the first search."""
        self._intro = TextRows(id="intro")
        self._table = LineTable(CANDIDATE_COLUMNS)
        self._pane = TextRows(id="pane")

    def compose_body(self) -> Iterable[Widget]:
        return (self._intro, self._table, RuleRow(), self._pane)

    def on_mount(self) -> None:
        self.do_look_again()

    def _candidates(self) -> Candidates:
        link = self.link
        if link is None:
            raise CandidateRefused("The service is not connected.")
        return Candidates(link.api, self.desk.journal, link.exchange, self.desk.clock)

    @property
    def current(self) -> OrderCandidate | None:
        key = self._table.cursor_key
        candidates = self.look.candidates if self.look is not None else ()
        return next((candidate for candidate in candidates if candidate.service_id == key), None)

    def show(self) -> None:
        look = self.look
        if look is not None:
            asked = Span(intent_words(look.intent), bold=True)
            when = Span(f", asked at {clock_time(look.sent_at, zone=True)}", "muted")
            self._intro.show([[asked, when], look.said, ""])
            self._table.set_rows(
                Row(
                    candidate.service_id,
                    {
                        "id": Span(short_id(candidate.service_id), bold=True),
                        "sure": candidate.said,
                        "made": clock_time(candidate.order.created)
                        if candidate.order.created
                        else "—",
                    },
                )
                for candidate in look.candidates
            )
        choose = "you: compare, then take the order that is yours"
        none = "you: look again, or say that none is it"
        some = look is not None and look.candidates
        self.set_money(
            "in your wallet. Nothing was paid.",
            choose if some else none,
            where_short="in your wallet.",
            next_short="you: take the order that is yours" if some else "",
        )
        self._show_pane()

    @on(LineTable.Highlighted)
    def _show_pane(self) -> None:
        current, rows = self.current, []
        for fact in current.facts if current is not None else ():
            glyph, role = _MARKS[fact.same]
            note = f"confirmed {fact.confirmed}" if fact.confirmed and fact.same is not True else ""
            value: LineLike = [Span(f"{glyph} ", role), Span(fact.found)]
            rows.append(Fact(fact.label, value, below=[note] if note else []))
        self._pane.show(list(facts_lines(rows, WIDTH)))
        self.step_is(current.service_id if current is not None else "nothing")

    # keys

    def standings(self) -> Standings:
        if self.fetching:
            return dict.fromkeys(self.VERBS, CommandState(locked="the service is asked"))
        return {GIVE_UP: self.look is not None}

    def do_look_again(self) -> None:
        self._ask(self._candidates_seen())

    def do_take_order(self, order: OrderCandidate) -> None:
        if self.look is not None:
            self._ask(self._taken(self.look, order.service_id))

    def _ask(self, work: Awaitable[None]) -> None:
        self.fetch("candidates", self._or_told(work), lambda _: self.show())
        self.refresh_keys()

    async def _or_told(self, work: Awaitable[None]) -> None:
        try:
            await work
        except CandidateRefused as refused:
            self.show_notice(str(refused), "warning")

    async def _candidates_seen(self) -> None:
        self.look = await self._candidates().look(self._intent_id)

    async def _taken(self, look: Look, service_id: str) -> None:
        await self._candidates().choose(look, service_id)
        if self.link is not None:
            self.link.tracker.adopt(service_id)
        self.app.call_later(self._leave_for, service_id)

    async def _leave_for(self, service_id: str) -> None:
        await self.app.pop_screen()
        self.controls.navigation.open_order(service_id)

    def do_give_up(self) -> None:
        look = self.look
        if look is None:
            return
        question = Question(
            "None of these orders is it",
            [
                f"{intent_words(look.intent)}: the desk stops looking for its order.",
                "Nothing was paid. The same payment can be asked for again afterwards.",
            ],
            look.phrase,
            "give up",
        )

        self.confirm(question, partial(self._give_up, look))

    def _give_up(self, look: Look) -> None:
        try:
            self._candidates().give_up(look, look.phrase)
        except CandidateRefused as refused:
            self.show_notice(str(refused), "warning")
        else:
            self.post_message(self.Go(everywhere.BACK))
