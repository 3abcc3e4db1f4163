"""A demonstration on the screen: what Alice did, what the chains show, what the service knows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from decimal import Decimal

from textual.widget import Widget

from swapdesk.client.chain_lookup import LookupFailed
from swapdesk.client.errors import ClientError
from swapdesk.flows.demo.demonstration import DemoChoice, DemoFailed, Demonstration
from swapdesk.flows.demo.demos import DEMOS
from swapdesk.flows.demo.panes import link_pane, panes_of, path_of
from swapdesk.flows.demo.stage import Stage
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import copied_amount
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.demo import (
    COPY_HASH,
    END,
    EXPLAIN,
    FASTER,
    NEXT_STAGE,
    SEARCH_LINK,
    SHOW_DEMO,
    SLOWER,
    STAGE_BEFORE,
)
from swapdesk.tui.commands.deposit import READ_BACK, READ_ON
from swapdesk.tui.commands.everywhere import BACK
from swapdesk.tui.page import Page
from swapdesk.tui.screens.demo_view import (
    PaneColumns,
    compared_lines,
    path_lines,
    said_lines,
    title_lines,
)
from swapdesk.tui.screens.deposit import BodyReading
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span, wrapped
from swapdesk.tui.widgets.lines_view import FittedLines
from swapdesk.tui.widgets.stage_line import StageMark, StageState, StageTrack, TrackState

BEGINS = (
    "Other customers of the sandbox come first, so that Bob's payment has others beside it. Alice"
    " follows in a moment."
)
ALONE = "Alice begins in a moment."
FASTEST, SLOWEST = Decimal(10_000), Decimal(1)


class DemoScreen(Page):
    """The stages of a demonstration, one by one; those that came can be seen again."""

    NAME = "Demo"
    SPENDS = "quote"
    VERBS = (
        NEXT_STAGE,
        FASTER,
        SLOWER,
        EXPLAIN,
        SEARCH_LINK,
        STAGE_BEFORE,
        COPY_HASH,
        SHOW_DEMO,
        READ_ON,
        READ_BACK,
        END,
    )
    DEFAULT_CSS = """
    DemoScreen StageTrack { margin: 1 0 0 0; }
    DemoScreen #said { margin: 1 0 0 0; }
    DemoScreen #path { margin: 1 0 0 0; }
    DemoScreen #compared { margin: 1 0 0 0; }
    DemoScreen.-short StageTrack, DemoScreen.-short #said,
    DemoScreen.-short #path, DemoScreen.-short #compared { margin: 0; }
    """

    def __init__(self, session: Session, choice: DemoChoice | None = None) -> None:
        self._choice = choice or DemoChoice()
        self._demo = DEMOS[self._choice.name]
        super().__init__(session)
        self._record: list[Stage] = []
        self._at = -1
        self._waits = True
        """Whether the next stage is shown as soon as it comes."""
        self._more = self._linking = False
        self._begun = False
        self._said = ""
        self._shown: Demonstration | None = None
        self._title, self._sentence = FittedLines(id="title"), FittedLines(id="said")
        self._path = FittedLines(id="path")
        self._compared = FittedLines(id="compared")
        self._track = StageTrack(self._track_state())
        self._panes = PaneColumns()
        self._body = BodyReading(self._panes)

    def compose_body(self) -> Iterable[Widget]:
        yield self._title
        yield self._track
        yield self._sentence
        yield self._path
        yield self._panes
        yield self._compared

    def on_mount(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self._show()

    def session_changed(self) -> None:
        link, catalog = self.link, self.catalog
        if link is None or catalog is None or self._begun:
            return
        self._begun = True
        self.run_worker(self._carry_out(), group="demo", exclusive=True, exit_on_error=False)

    def work_failed(self, group: str) -> None:
        self._stop("A defect stopped the demonstration.")

    # the demonstration

    async def _carry_out(self) -> None:
        """Runs beside the page and ends with it; the world then is as fast as before."""
        shown: Demonstration | None = None
        try:
            tag = f"{self._choice.seed} {int(self.now().timestamp())}"
            shown = Demonstration(self.desk, self._demo, self._choice, tag)
            await shown.begin()
            self._shown = shown
            self.call_later(self._show)
            await shown.run(self._tell)
            self.call_later(self.reached, await shown.last_look())
            # The speed can still be changed, and is given back when the page is left.
            await asyncio.Event().wait()
        except (DemoFailed, LookupFailed, JournalUnavailable) as error:
            self.call_later(self._stop, str(error))
        except ClientError as error:
            self.call_later(self._stop, f"The sandbox stopped answering: {error}.")
        finally:
            if shown is not None:
                await shown.close()

    def _tell(self, stage: Stage) -> None:
        self.call_later(self.reached, stage)

    def reached(self, stage: Stage) -> None:
        """A stage came, or one that had come is known better."""
        place = stage.number - 1
        if place < len(self._record):
            self._record[place] = stage
        else:
            self._record.append(stage)
        self._said = ""
        if place > self._at and (self._waits or self._at < 0):
            self._at, self._waits = place, False
        self._show()

    def _stop(self, said: str) -> None:
        self._said, self._waits = said, False
        self._show()

    # drawing

    @property
    def _stage(self) -> Stage | None:
        return self._record[self._at] if 0 <= self._at < len(self._record) else None

    def _track_state(self) -> TrackState:
        rows, at = self._demo.rows, max(self._at, 0)
        mark = StageMark.MOVING
        if self._stage is not None and self._stage.tracked.ended:
            mark = StageMark.DONE if self._stage.completed else StageMark.TROUBLE
        names = [row.name for row in rows]
        return TrackState(StageState(at, len(rows), mark), names, [row.short for row in rows])

    def _show(self) -> None:
        if not self.is_mounted:
            return
        self._say_frame()
        stage = self._stage
        self._track.show(self._track_state())
        self._track.display = self._panes.display = stage is not None
        if stage is None:
            self._title.show(lambda width: wrapped([Span(self._demo.title, bold=True)], width))
            said = self._said or (BEGINS if self._demo.private else ALONE)
            self._sentence.show(lambda width: wrapped([Span(said, "muted")], width))
            self._path.display = False
            self._compared.show(lambda width: [])
            self.set_money("nothing was paid yet.", "the sandbox" if not self._said else "you: esc")
            self.refresh_keys()
            return
        of, come = len(self._demo.rows), len(self._record)
        self._title.show(lambda width: title_lines(stage, of, come, width))
        self._sentence.show(lambda width: self._sentences(stage, width))
        panes = list(panes_of(stage, self._demo.did))
        if self._linking and stage.search is not None:
            panes[1] = link_pane(stage.search)
        self._panes.show(panes, whole=self._more)
        # Where it is low the drawing goes with the search, in place of the sentence.
        low = not self.has_class("-tall")
        self._path.show(lambda width: path_lines(stage, width))
        self._path.display = bool(path_of(stage)) and (self._linking or not low)
        instead = low and self._path.display and not self._more
        self._sentence.display = not instead or bool(self._said)
        self._compared.show(lambda width: compared_lines(stage.compared, width))
        self._compared.display = not (self.has_class("-short") and self._more)
        more = stage.number < of
        shortest = "press space" if more else stage.next.partition(" with ")[0]
        money = stage.money
        self.set_money(
            money,
            self._next(stage),
            where_short=f"{money.rstrip('.').partition(', ')[0]}.",
            next_short="" if self._waits else shortest,
        )
        # What has no room is known once it is laid out.
        self.call_after_refresh(self.refresh_keys)

    def _sentences(self, stage: Stage, width: int) -> list[Line]:
        lines = said_lines(stage, self._more, width)
        if self._said:
            lines += wrapped([Span(self._said, "status-trouble")], width)
        return lines

    def _next(self, stage: Stage) -> str:
        if stage.number == len(self._demo.rows):
            return stage.next
        actor = stage.next.partition(":")[0]
        return "the service" if self._waits else f"{actor}; press space to go on"

    def _say_frame(self) -> None:
        speed = ""
        if self._shown is not None:
            speed = f" · speed x{copied_amount(self._shown.speed.normalize())}"
        self.context = f"{self._demo.title.lower()} · seed {self._choice.seed}{speed}"
        self.refresh_frame()

    # keys

    def verb_standing(self, verb: Verb) -> CommandState:
        stage = self._stage
        if verb in (READ_ON, READ_BACK):
            return self._body.standing(verb)
        shown = {
            NEXT_STAGE: stage is not None and stage.number < len(self._demo.rows),
            STAGE_BEFORE: self._at > 0,
            SEARCH_LINK: stage is not None and stage.search is not None and self._demo.private,
            EXPLAIN: stage is not None,
            COPY_HASH: stage is not None and bool(stage.moved),
            FASTER: self._shown is not None and not self._said,
            SLOWER: self._shown is not None and not self._said,
            SHOW_DEMO: False,
        }
        if not shown.get(verb, True):
            return HIDDEN
        if verb is NEXT_STAGE and self._waits:
            return CommandState(locked="it has not come yet")
        if verb is SEARCH_LINK:
            return CommandState(verb="chains" if self._linking else "link search")
        if verb is END and (self._more or self._linking):
            return CommandState(verb="close")
        return READY

    def do_scroll(self, by: int) -> None:
        self._body.scroll(by)
        self.call_after_refresh(self.refresh_keys)

    def do_next_stage(self) -> None:
        if self._at + 1 < len(self._record):
            self._at += 1
        elif not self._said:
            self._waits = True
        self._show()

    def do_stage_before(self) -> None:
        self._at, self._waits = self._at - 1, False
        self._show()

    def do_explain(self) -> None:
        self._more = not self._more
        self._panes.scroll_home(animate=False)
        self._show()

    def do_search_link(self) -> None:
        self._linking = not self._linking
        self._panes.scroll_home(animate=False)
        self._show()

    def do_copy_hash(self) -> None:
        if self._stage is not None and self._stage.moved:
            self.controls.copy_value("transaction hash", self._stage.moved[-1].hash)

    def do_change_speed(self, factor: str) -> None:
        if self._shown is None:
            return
        wanted = min(FASTEST, max(SLOWEST, self._shown.speed * Decimal(factor)))
        self.run_worker(self._take_speed(self._shown, wanted), group="speed", exclusive=True,
                        exit_on_error=False)  # fmt: skip

    async def _take_speed(self, shown: Demonstration, wanted: Decimal) -> None:
        try:
            await shown.change_speed(wanted)
            self.call_later(self._show)
        except ClientError as error:
            self.call_later(self._stop, f"The speed stayed: {error}.")

    def do_end(self) -> None:
        if self._more or self._linking:
            self._more = self._linking = False
            self._panes.scroll_home(animate=False)
            self._show()
            return
        self.post_message(self.Go(BACK))
