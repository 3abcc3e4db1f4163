"""The token search. The field and the list have the focus together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Vertical
from textual.widget import Widget

from swapdesk.flows.catalog.search import (
    LONGEST_TYPED,
    TokenRow,
    imitated_by,
    lookalikes,
    named_contract,
)
from swapdesk.flows.catalog.token_query import TokenSearch, pair_for_limits
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.key_names import shown_key
from swapdesk.tui.commands.tokens import (
    ASK_LIMITS,
    BACK,
    CHOOSE,
    COPY_CONTRACT,
    DOWN,
    FETCH_UNLISTED,
    NEXT_CAN_DO,
    NEXT_CHAIN,
    NEXT_SORT,
    PAGE_DOWN,
    PAGE_UP,
    UP,
)
from swapdesk.tui.messages import TokenChosen
from swapdesk.tui.page import Page
from swapdesk.tui.screens.token_facts import (
    COLUMNS,
    WIDE_COLUMNS,
    TokenNotes,
    TokenPane,
    TokenTable,
    limits_line,
    row_notes,
    token_notes,
    token_table_row,
)
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import RuleRow
from swapdesk.tui.widgets.overlay import Question, TypedConfirm
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from textual.timer import Timer

    from swapdesk.client.errors import ClientError
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.catalog.token_list import TokenList
    from swapdesk.flows.catalog.token_safety import TokenCheck
    from swapdesk.wire.tokens import Token


LIMIT = 200
OPENING = "the desk is opening"
SETTLE_SECONDS = 0.06
"""How long the cursor rests on a row before the pane speaks of it."""
NORMAL, WIDE = 100, 160


class TokensScreen(Page):
    """Finding a token by what is typed: symbol, name, chain or contract.

    ``choosing``: the chosen token goes into the line that is being written; ``beside`` is the token
    that stands there already.
    """

    NAME = "Tokens"
    SPENDS = "quote"
    VERBS = (
        CHOOSE,
        UP,
        NEXT_CHAIN,
        NEXT_CAN_DO,
        NEXT_SORT,
        FETCH_UNLISTED,
        COPY_CONTRACT,
        ASK_LIMITS,
        DOWN,
        PAGE_DOWN,
        PAGE_UP,
        BACK,
    )
    AUTO_FOCUS: ClassVar[str | None] = "TextField"
    DEFAULT_CSS = """
    TokensScreen .side { display: none; padding: 1 0; }
    TokensScreen.-wide .side { display: block; }
    TokensScreen.-wide #pane, TokensScreen.-wide #body RuleRow { display: none; }
    """

    def __init__(
        self, session: Session, *, choosing: bool = False, beside: Token | None = None
    ) -> None:
        self._next = ("to buy" if beside is not None else "to sell") if choosing else ""
        super().__init__(session, context=f"choose what {self._next}" if choosing else "")
        self._field = TextField(prompt="/", limit=LONGEST_TYPED, id="search")
        self._table = TokenTable()
        self._pane = TokenPane(id="pane")
        self._side = TokenPane()
        self.beside = beside
        """The token that stands in the line already: it is sold for the one chosen."""
        self.asking = False
        self._query = TokenSearch()
        self._wide = False
        self._whole: set[str] = set()
        self._settle: Timer | None = None
        self._filled: TokenList | None = None
        """The list that the rows are of."""

    def compose_body(self) -> Iterable[Widget]:
        yield self._field
        yield self._table
        yield RuleRow()
        yield self._pane

    def compose_side(self) -> Iterable[Widget]:
        yield Vertical(self._side, classes="side")

    def on_mount(self) -> None:
        self._field.focus()
        self._fit()

    def on_resize(self) -> None:
        self._fit()
        # What is in view is known once the table has its new size.
        self.call_after_refresh(self.show_pane)

    def _fit(self) -> None:
        wide = self.app.size.width >= WIDE
        if wide != self._wide:
            self._wide = wide
            self._table.set_columns(WIDE_COLUMNS if wide else COLUMNS)

    def session_changed(self) -> None:
        if self._filled is None or self._filled is not (self.catalog and self.catalog.rows):
            self.fill()
        else:
            self.show_pane()

    @on(TextField.Changed)
    def _typed(self) -> None:
        self.fill()
        self._table.action_move(-LIMIT)

    @on(TextField.Submitted)
    def _submitted(self) -> None:
        self.do_choose()

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        if self._settle is not None:
            self._settle.stop()
        self._settle = self.set_timer(SETTLE_SECONDS, self.show_pane)

    def _ask(self, query: TokenSearch) -> None:
        self._query = query
        self.fill()

    def fill(self) -> None:
        """All rows anew."""
        catalog = self.catalog
        self._query = self._query.about(self._field.value)
        found = self._query.find(catalog, LIMIT) if catalog is not None else []
        self._filled = catalog.rows if catalog is not None else None
        self._whole.clear()
        self._pane.begin_list()
        self._table.set_empty(self._query.nothing(catalog))
        self._table.show(found)
        self._field.hint = self._query.hint(len(found), catalog, LIMIT)
        self._field.redraw()
        self.show_pane()
        self.set_money("in your wallet.", f"you: choose a token {self._next}".rstrip())

    @property
    def row(self) -> TokenRow | None:
        """The token under the cursor."""
        key = self._table.cursor_key
        return self.catalog.row(key) if self.catalog is not None and key is not None else None

    def show_pane(self) -> None:
        """What is known of the token under the cursor."""
        row, catalog = self.row, self.catalog
        self.settle_notice(row.id if row is not None else "")
        notes = self._notes(row, catalog) if row is not None and catalog is not None else None
        if notes is None:
            self._pane.show(None)
            self._side.show(None)
        else:
            (self._side if self._wide else self._pane).show(notes)
            self._show_markets()
        self.refresh_keys()

    def _notes(self, row: TokenRow, catalog: Catalog) -> TokenNotes | None:
        drawn_like = catalog.rows.drawn_like(row)
        alike = lookalikes(row, drawn_like)
        legend = self.app.size.width >= NORMAL
        if not self.session.opened:
            return row_notes(row, alike, legend=legend)
        token = catalog.token(row.id)
        if token is None:
            return None
        check, limits = self._check(row, token, drawn_like), self.limits_of(token)
        return token_notes(row, token, check, alike, limits, self.now(), legend=legend)

    def _show_markets(self) -> None:
        """Size and trade of the tokens in view: they are not in the rows that are searched."""
        if not self._wide or not self.session.opened:
            return
        catalog = self.desk.catalog
        for key in self._table.visible_keys():
            row, token = catalog.row(key), catalog.token(key)
            if key not in self._whole and row is not None and token is not None:
                self._whole.add(key)
                self._table.update_row(token_table_row(row, token))

    def _check(self, row: TokenRow, token: Token, drawn_like: Iterable[TokenRow]) -> TokenCheck:
        from swapdesk.flows.catalog.token_safety import check_token

        imitates = imitated_by(row, drawn_like)
        return check_token(token, now=self.now(), imitates=imitates)

    # limits, and contracts that no list has

    def _pair(self, token: Token) -> tuple[Token, Token] | None:
        return pair_for_limits(token, self.beside, self.desk.catalog)

    def limits_of(self, token: Token) -> Line:
        """What is known without a call, else the key that asks."""
        pair = self._pair(token)
        if pair is None or self.link is None:
            return []
        known = self.link.quotes.known_limits(*pair)
        if known is not None:
            return limits_line(pair, known)
        if self.asking:
            return [Span("asking", "status-moving")]
        key = shown_key(ASK_LIMITS.key)
        return [Span(key, "accent", bold=True), Span(" asks the service, 1 read", "muted")]

    def do_ask_limits(self) -> None:
        row = self.row
        token = self.desk.catalog.token(row.id) if row is not None else None
        pair = self._pair(token) if token is not None else None
        if pair is None or self.asking:
            return
        self.asking = True
        self.run_worker(self._fetch_limits(*pair), group="limits", exclusive=True,
                        exit_on_error=False)  # fmt: skip
        self.show_pane()

    async def _fetch_limits(self, sold: Token, bought: Token) -> None:
        from swapdesk.client.errors import ClientError

        try:
            await self.desk.link.quotes.limits(sold, bought)
        except ClientError as error:
            self.call_later(self._limits_asked, error)
        else:
            self.call_later(self._limits_asked)

    def _limits_asked(self, error: ClientError | None = None) -> None:
        self.asking = False
        if error is not None:
            self.show_failure(error, "warning")
        self.refresh_frame()
        self.show_pane()

    def do_fetch_unlisted(self) -> None:
        contract, _ = named_contract(self._field.value.strip())
        self.run_worker(self._fetch(contract), group="tokens", exclusive=True,
                        exit_on_error=False)  # fmt: skip

    async def _fetch(self, address: str) -> None:
        from swapdesk.client.errors import ClientError

        try:
            found = await self.desk.catalog.fetch_by_address(self.desk.link.api, address)
        except (ClientError, OSError) as error:
            self.call_later(self._unlisted, 0, error)
        else:
            self.call_later(self._unlisted, len(found))

    def _unlisted(self, count: int, error: ClientError | OSError | None = None) -> None:
        """How many tokens the service has for a contract address, or why it did not say, or why
        they could not be kept."""
        if isinstance(error, OSError):
            why = error.strerror
            self.show_notice(f"The list of tokens cannot be written: {why}; make room.", "error")
        elif error is not None:
            self.show_failure(error)
        elif (gap := self.desk.catalog.gap) is not None:
            self.show_notice(f"{gap}.", "warning")
        elif not count:
            self.show_notice("The service does not know this contract either.", "warning")
        self.fill()

    def work_failed(self, group: str) -> None:
        self.asking = False
        self.show_pane()

    # keys

    def verb_standing(self, verb: Verb) -> CommandState:
        # Looked up for the few verbs that ask: all of them are asked at every letter.
        row = self.row if verb in (COPY_CONTRACT, ASK_LIMITS, CHOOSE) else None
        if verb is FETCH_UNLISTED:
            unlisted = self._query.is_contract and not self._table.rows
            return CommandState(cost="1 read") if unlisted and self.session.ready else HIDDEN
        if verb is COPY_CONTRACT:
            return READY if row is not None and row.contract else HIDDEN
        if verb is ASK_LIMITS:
            if row is None or not self.session.ready:
                return HIDDEN
            return (
                CommandState(locked="asked already") if self.asking else CommandState(cost="1 read")
            )
        if verb is CHOOSE and row is None:
            return HIDDEN
        if verb in (CHOOSE, NEXT_CHAIN) and not self.session.opened:
            return CommandState(locked=OPENING)
        if verb is BACK:
            return CommandState(verb="clear" if self._field.value else "back")
        return READY

    def do_move(self, by: int) -> None:
        self._table.action_move(by)

    def do_page(self, by: int) -> None:
        self._table.action_page(by)

    def do_next_chain(self) -> None:
        self._ask(self._query.on_next_chain(self.desk.catalog))

    def do_next_can_do(self) -> None:
        self._ask(self._query.for_next_purpose())

    def do_next_sort(self) -> None:
        self._ask(self._query.in_next_order())

    def do_copy_contract(self) -> None:
        row = self.row
        if row is not None and row.contract:
            self.controls.copy_value("contract", row.contract)

    def do_back(self) -> None:
        if self._field.value:
            self._field.set_value("")
        else:
            self.post_message(self.Go(BACK))

    def do_choose(self) -> None:
        if not self.session.opened:
            self.show_notice(f"Not yet: {OPENING}.", "warning")
            return
        row = self.row
        token = self.desk.catalog.token(row.id) if row is not None else None
        if row is None or token is None:
            return
        check = self._check(row, token, self.desk.catalog.rows.drawn_like(row))
        if not check.ok:
            said = next(line.text for line in check.lines if line.level == "refuse")
            self.show_notice(said, "warning", about=row.id)
            return
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
        from swapdesk.flows.intents.intent import TokenFacts
        from swapdesk.flows.quotes.recent import token_spec

        token = self.desk.catalog.token(row.id)
        if token is not None:
            self.post_message(TokenChosen(token_spec(TokenFacts.of(token), self.desk.catalog)))
