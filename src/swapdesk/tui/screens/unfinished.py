"""Unfinished business: creates that an earlier run left open, and which order one of unknown
outcome became. Compare the candidates, take one, or give it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.flows.creation.resume import CandidateRefused, Candidates, Look, OrderCandidate
from swapdesk.flows.notation import clock_time
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.tracking.open_business import OpenFinding, findings, intent_words
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.candidates import GIVE_UP, LOOK_AGAIN, TAKE_ORDER
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.orders import ORDERS
from swapdesk.tui.commands.unfinished import BACK, GO_ON, OPEN_FOUND
from swapdesk.tui.glyphs import DONE, ENDED, MOVING, REFUSED, TROUBLE, UNKNOWN, VALID
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import RuleRow, SectionLabel, TextRows
from swapdesk.tui.widgets.overlay import Question, TypedConfirm
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
    """Unfinished business: what the desk found out about creates that an earlier run left open.

    Shown once after a start that found something; nothing is asked here.
    """

    NAME = "Unfinished business"
    SPENDS = "read"
    VERBS = (OPEN_FOUND, GO_ON, BACK)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    UnfinishedScreen #intro { margin: 0 0 1 0; }
    UnfinishedScreen.-short #intro { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, context="from an earlier run")
        report = session.report
        self._found: dict[str, OpenFinding] = {
            str(at): one for at, one in enumerate(findings(report) if report is not None else [])
        }
        self._table = LineTable(COLUMNS, heads=False)

    def compose_body(self) -> Iterable[Widget]:
        yield TextRows([_intro(len(self._found))], id="intro")
        yield SectionLabel("Found", str(len(self._found)))
        yield self._table

    def on_mount(self) -> None:
        rows: list[TableRow] = []
        for key, one in self._found.items():
            glyph, role = _SIGNS[one.kind]
            name = short_id(one.service_id) if one.service_id else ""
            rows.append(
                Row(key, {"mark": Span(glyph, role), "id": name, "what": Span(one.what, bold=True)})
            )
            rows.append(Prose(f"said {key}", [Span("         "), Span(one.said, _said_role(one))]))
            rows.append(Prose(f"gap {key}"))
        self._table.set_rows(rows)
        self._table.focus()
        self._say_money()

    def _say_money(self) -> None:
        kinds = {one.kind for one in self._found.values()}
        if "unknown" in kinds:
            next_ = "the desk: it looks again; enter shows what it found"
        elif kinds & {"found", "withheld"}:
            next_ = "you: look at the order"
        else:
            next_ = "you: go on"
        self.set_money("in your wallet. Nothing was paid.", next_, where_short="in your wallet.")

    @property
    def current(self) -> OpenFinding | None:
        return self._found.get(self._table.cursor_key or "")

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self.refresh_keys()

    def verb_standing(self, verb: Verb) -> CommandState:
        if verb is OPEN_FOUND:
            current = self.current
            if current is not None and current.intent_id is not None:
                return CommandState(verb="compare the orders")
            return READY if current is not None and current.service_id else HIDDEN
        return HIDDEN if verb is ORDERS else READY

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


def _intro(count: int) -> LineLike:
    said = "One order was" if count == 1 else f"{count} orders were"
    return [Span(f"{said} being created when the desk ended. The desk asked the service about it.")]


def _said_role(one: OpenFinding) -> str:
    return "status-trouble" if one.kind == "withheld" else "muted"


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
    """Which order a create of unknown outcome became: compare them, take one, or give it up.

    It is about one intent. Nothing is posted here and nothing is paid.
    """

    NAME = "Which order"
    SPENDS = "read"
    VERBS = (TAKE_ORDER, GIVE_UP, LOOK_AGAIN)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"

    def __init__(self, session: Session, intent_id: str) -> None:
        super().__init__(session)
        self._intent_id = intent_id
        self.look: Look | None = None
        """What the last look found."""
        self._busy = False
        self._intro = TextRows(id="intro")
        self._table = LineTable(CANDIDATE_COLUMNS)
        self._pane = TextRows(id="pane")

    def compose_body(self) -> Iterable[Widget]:
        yield self._intro
        yield self._table
        yield RuleRow()
        yield self._pane

    def on_mount(self) -> None:
        self.do_look_again()

    def _candidates(self) -> Candidates | None:
        link = self.link
        if link is None:
            return None
        return Candidates(link.api, self.desk.journal, link.exchange, self.desk.clock)

    @property
    def current(self) -> OrderCandidate | None:
        key = self._table.cursor_key
        found = self.look.candidates if self.look is not None else ()
        return next((one for one in found if one.service_id == key), None)

    def _show(self) -> None:
        look = self.look
        if look is not None:
            asked = Span(intent_words(look.intent), bold=True)
            when = Span(f", asked at {clock_time(look.sent_at, zone=True)}", "muted")
            self._intro.show([[asked, when], look.said, ""])
            self._table.set_rows(
                Row(
                    one.service_id,
                    {
                        "id": Span(short_id(one.service_id), bold=True),
                        "sure": one.said,
                        "made": clock_time(one.order.created) if one.order.created else "—",
                    },
                )
                for one in look.candidates
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
        for one in current.facts if current is not None else ():
            glyph, role = _MARKS[one.same]
            note = f"confirmed {one.confirmed}" if one.confirmed and one.same is not True else ""
            value: LineLike = [Span(f"{glyph} ", role), Span(one.found)]
            rows.append(Fact(one.label, value, below=[note] if note else []))
        self._pane.show(list(facts_lines(rows, WIDTH)))
        self.step_is(current.service_id if current is not None else "nothing")

    # keys

    def verb_standing(self, verb: Verb) -> CommandState:
        if verb in (TAKE_ORDER, GIVE_UP, LOOK_AGAIN) and self._busy:
            return CommandState(locked="the service is asked")
        shown = {TAKE_ORDER: self.current is not None, GIVE_UP: self.look is not None}
        return READY if shown.get(verb, True) else HIDDEN

    def do_look_again(self) -> None:
        self._busy = True
        self.run_worker(self._fetch(), group="candidates", exclusive=True, exit_on_error=False)
        self.refresh_keys()

    async def _fetch(self) -> None:
        candidates = self._candidates()
        try:
            if candidates is None:
                raise CandidateRefused("The service is not connected.")
            self.look = await candidates.look(self._intent_id)
        except CandidateRefused as refused:
            self.show_notice(str(refused), "warning")
        finally:
            self._busy = False
        self._show()

    def do_take_order(self) -> None:
        current = self.current
        if current is None or self.look is None:
            return
        self._busy = True
        self.run_worker(
            self._take(self.look, current.service_id),
            group="candidates",
            exclusive=True,
            exit_on_error=False,
        )
        self.refresh_keys()

    async def _take(self, look: Look, service_id: str) -> None:
        candidates = self._candidates()
        try:
            if candidates is None:
                raise CandidateRefused("The service is not connected.")
            await candidates.choose(look, service_id)
        except CandidateRefused as refused:
            self._busy = False
            self.show_notice(str(refused), "warning")
            self._show()
            return
        self._busy = False
        if self.link is not None:
            self.link.tracker.adopt(service_id)
        self.app.call_later(self._leave_for, service_id)

    async def _leave_for(self, service_id: str) -> None:
        """The order in place of this screen, which has nothing more to ask."""
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

        def typed(yes: bool | None) -> None:
            candidates = self._candidates()
            if not yes or candidates is None:
                return
            try:
                candidates.give_up(look, look.phrase)
            except CandidateRefused as refused:
                self.show_notice(str(refused), "warning")
                return
            self.post_message(self.Go(everywhere.BACK))

        self.app.push_screen(TypedConfirm(question), typed)
