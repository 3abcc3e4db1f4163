"""Finding a token: the field and the list have the focus together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.announcements import code_and_request, failure_of_error
from swapdesk.flows.intent import TokenFacts
from swapdesk.flows.recent import token_spec
from swapdesk.flows.search import SORTS, CanDo, TokenRow, lookalikes, search
from swapdesk.flows.token_safety import check_token, token_refusal
from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.commands.tokens import (
    Back,
    Choose,
    CopyContract,
    Down,
    FetchUnlisted,
    NextCanDo,
    NextChain,
    NextSort,
    PageDown,
    PageUp,
    Up,
)
from swapdesk.tui.messages import TokenChosen, UnlistedFound
from swapdesk.tui.page import Page
from swapdesk.tui.screens.token_facts import COLUMNS, token_pane, token_table_row
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.tui.widgets.text_rows import RuleRow, TextRows
from swapdesk.tui.widgets.typed_confirm import Question, TypedConfirm

if TYPE_CHECKING:
    from textual.timer import Timer

LIMIT = 200
SETTLE_SECONDS = 0.06
"""How long the cursor rests on a row before the pane speaks of it."""
CONTRACT_LENGTH = 26
NORMAL = 100


class TokensScreen(Page):
    """``choosing``: the chosen token goes into the line that is being written."""

    NAME = "Tokens"
    SPENDS = "quote"
    VERBS = (
        Choose,
        Up,
        NextChain,
        NextCanDo,
        NextSort,
        FetchUnlisted,
        CopyContract,
        Down,
        PageDown,
        PageUp,
        Back,
    )
    AUTO_FOCUS: ClassVar[str | None] = "TextField"

    def __init__(self, session: Session, *, choosing: bool = False) -> None:
        super().__init__(session, context="choose what to write" if choosing else "")
        self._field = TextField(prompt="/", limit=100, id="search")
        self._table = LineTable(COLUMNS)
        self._table.can_focus = False
        self._pane = TextRows(id="pane")
        self._chain: str | None = None
        self._can_do: CanDo | None = None
        self._sort = 0
        self._settle: Timer | None = None

    def compose_body(self) -> Iterable[Widget]:
        yield self._field
        yield self._table
        yield RuleRow()
        yield self._pane

    def on_mount(self) -> None:
        super().on_mount()
        self._field.focus()
        self._fill()

    def session_changed(self) -> None:
        self._fill()

    @on(TextField.Changed)
    def _typed(self) -> None:
        self._fill()
        self._table.action_move(-LIMIT)

    @on(TextField.Submitted)
    def _submitted(self) -> None:
        self.do_choose()

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        if self._settle is not None:
            self._settle.stop()
        self._settle = self.set_timer(SETTLE_SECONDS, self._show_pane)

    def _fill(self) -> None:
        catalog = self.desk.catalog
        sort = SORTS[self._sort]
        found = search(
            catalog.rows,
            self._field.value.strip(),
            chain=self._chain,
            can_do=self._can_do,
            sort=sort,
            limit=LIMIT,
        )
        self._table.set_empty(self._nothing())
        self._table.set_rows(token_table_row(row) for row in found)
        hint = f"{len(found)}{'+' if len(found) == LIMIT else ''} of {catalog.count} tokens"
        parts = [hint, f"by {sort}"]
        chain = catalog.chain(self._chain) if self._chain else None
        parts += [f"on {chain.name}"] if chain is not None else []
        parts += [self._can_do.value] if self._can_do is not None else []
        self._field.hint = " · ".join(parts)
        self._field.redraw()
        self._show_pane()
        self.set_money("in your wallet.", "you: choose a token")
        self.refresh_keys()

    def _nothing(self) -> str:
        typed = self._field.value.strip()
        if not typed:
            return "The list of tokens is not here yet."
        if len(typed) >= CONTRACT_LENGTH:
            return "No listed token has this contract. f4 asks the service for it."
        return (
            f'No token is called "{typed[:40]}". '
            "Paste a contract address to find one that is not listed."
        )

    def _row(self) -> TokenRow | None:
        key = self._table.cursor_key
        return self.desk.catalog.row(key) if key is not None else None

    def _show_pane(self) -> None:
        row = self._row()
        self.settle_notice(row.id if row is not None else "")
        token = self.desk.catalog.token(row.id) if row is not None else None
        if row is None or token is None:
            self._pane.show([])
            return
        alike = lookalikes(row, self.desk.catalog.rows.drawn_like(row))
        legend = self.app.size.width >= NORMAL
        self._pane.show(token_pane(row, token, alike, self.now(), legend=legend))
        self.refresh_keys()

    # keys

    def verb_standing(self, verb: type[Command]) -> Standing:
        if verb is FetchUnlisted:
            typed = self._field.value.strip()
            unlisted = len(typed) >= CONTRACT_LENGTH and not self._table.rows
            return Standing(cost="1 read") if unlisted and self.session.ready else HIDDEN
        if verb is CopyContract:
            row = self._row()
            return READY if row is not None and row.contract else HIDDEN
        if verb is Choose:
            return READY if self._row() is not None else HIDDEN
        if verb is Back:
            return Standing(verb="clear" if self._field.value else "back")
        return READY

    def do_up(self) -> None:
        self._table.action_move(-1)

    def do_down(self) -> None:
        self._table.action_move(1)

    def do_page_down(self) -> None:
        self._table.action_page(1)

    def do_page_up(self) -> None:
        self._table.action_page(-1)

    def do_next_chain(self) -> None:
        names = [chain.short_name for chain in self.desk.catalog.chains()]
        places: list[str | None] = [None, *names]
        at = places.index(self._chain) if self._chain in places else 0
        self._chain = places[(at + 1) % len(places)]
        self._fill()

    def do_next_can_do(self) -> None:
        places: list[CanDo | None] = [None, *CanDo]
        self._can_do = places[(places.index(self._can_do) + 1) % len(places)]
        self._fill()

    def do_next_sort(self) -> None:
        self._sort = (self._sort + 1) % len(SORTS)
        self._fill()

    def do_copy_contract(self) -> None:
        row = self._row()
        copy = getattr(self.app, "copy_value", None)
        if row is not None and row.contract and copy is not None:
            copy("contract", row.contract)

    def do_back(self) -> None:
        if self._field.value:
            self._field.set_value("")
        else:
            self.post_message(self.Go(Back))

    def do_choose(self) -> None:
        row = self._row()
        token = self.desk.catalog.token(row.id) if row is not None else None
        if row is None or token is None:
            return
        refusal = token_refusal(token)
        if refusal is not None:
            self.show_notice(refusal, "warning", about=row.id)
            return
        check = check_token(token, now=self.now())
        if not check.needs_consent:
            self._take(row)
            return
        lines = [line.text for line in check.lines if line.level == "warn"]

        def agreed(yes: bool | None) -> None:
            if yes:
                self._take(row)

        question = Question("This token needs a second look", lines, "yes", "choose it")
        self.app.push_screen(TypedConfirm(question), agreed)

    def _take(self, row: TokenRow) -> None:
        token = self.desk.catalog.token(row.id)
        if token is not None:
            self.post_message(TokenChosen(token_spec(TokenFacts.of(token), self.desk.catalog)))

    def do_fetch_unlisted(self) -> None:
        self.run_worker(self._fetch(self._field.value.strip()), group="tokens", exclusive=True,
                        exit_on_error=False)  # fmt: skip

    async def _fetch(self, address: str) -> None:
        try:
            found = await self.desk.catalog.fetch_by_address(self.desk.link.api, address)
        except ClientError as error:
            self.post_message(UnlistedFound(0, error))
        else:
            self.post_message(UnlistedFound(len(found)))

    @on(UnlistedFound)
    def _unlisted(self, event: UnlistedFound) -> None:
        if event.error is not None:
            cause = failure_of_error(event.error).cause
            self.show_notice(f"{cause} {code_and_request(event.error)}", "error")
        elif not event.count:
            self.show_notice("The service does not know this contract either.", "warning")
        self._fill()
