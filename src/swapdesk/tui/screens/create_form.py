"""The two halves of a create: its fields, checked while typing, offline, and the panel with exactly
what would be confirmed.

Names of the address book and own accounts that fit the chain stand below the field that takes one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from swapdesk.chain.addresses.payments import is_link, short_memo_label, uses_memo
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import Checked, CreateChecks, TypedBefore
from swapdesk.flows.creation.order_verification import confirmed_least, promised_least
from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.notation import (
    clock_time,
    counted,
    exact_amount,
    expected_minutes,
    grouped_address,
    rate_both_ways,
    short_address,
    table_amount,
    trimmed,
    usd,
)
from swapdesk.flows.payees.recipients import (
    Challenge,
    MemoCheck,
    RecipientCheck,
    check_memo,
    without,
)
from swapdesk.flows.quotes.quote_columns import provider_name
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote, fees_kind
from swapdesk.tui.glyphs import BECOMES, REFUSED, TROUBLE
from swapdesk.tui.spans import Line, LineLike, Span, cut, line_of, ruled, spread
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.form_fields import (
    AddressInput,
    MemoField,
    MemoNeed,
    check_lines,
)
from swapdesk.tui.widgets.gauge import countdown_spans
from swapdesk.tui.widgets.lines_view import FittedLines, LinesView
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.quote_table import route_word
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.payees.address_book import AddressBook
    from swapdesk.wallet.accounts import Account
    from swapdesk.wire.chains import Chain
    from swapdesk.wire.tokens import Token

MOST = 6
BookRow = tuple[LineLike, LineLike]
"""What stands left and right in a row."""
BookPart = tuple[str, int, list[BookRow]]
"""A head, how many names there are, and the rows of the first of them."""
LABEL = 11
BAR = 12
SIDES = ("You send", "You get", "They get")
"""The labels of the two amounts."""
HAVE = "You have"
LEAST, SIGNED_LEAST = "At least", "signed least"


class IntentFacts(Struct, frozen=True):
    """``locked`` is a clock text; ``facts`` carry ``was`` where a new quote changed a value.

    ``verdict`` is the last line: locked with n problems, ready, expired, asked and waiting.
    """

    facts: Sequence[Fact]
    locked: str = ""
    verdict: CheckLine | None = None
    validity: LineLike = ""


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
    verdict: CheckLine | None = None
    account: SwapAccount | None = None
    have: Decimal | None = None


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


def book_lines(parts: Sequence[BookPart], width: int) -> list[Line]:
    """Each list has a head with the chain and the number of names, then the names."""
    rows: list[Line] = []
    for head, count, names in parts:
        if rows:
            rows.append([])
        rows.append(ruled(Span(head, "muted"), Span(str(count), "muted"), width))
        rows += [cut(spread(left, right, width), width) for left, right in names]
    return rows


def own_rows(own: Mapping[str, str], typed: str) -> tuple[int, list[BookRow]]:
    """How many own accounts have names that begin as ``typed`` does, and the first of them."""
    begun = typed[1:].casefold() if typed.startswith("@") else ""
    fitting = {name: address for name, address in own.items() if name.startswith(begun)}
    size = max((len(name) for name in fitting), default=0) + 3
    rows: list[BookRow] = [
        (
            [Span(f"@{name}".ljust(size), bold=True), Span(short_address(address))],
            Span("your own account", "muted"),
        )
        for name, address in fitting.items()
    ]
    return len(rows), rows[:MOST]


def book_rows(
    book: AddressBook, chain: Chain, paid: Mapping[str, int], typed: str
) -> tuple[int, list[BookRow]]:
    """How many names fit and the rows to show; the wanted ones first come first shown."""
    begun = typed[1:].lower() if typed.startswith("@") else ""
    fitting = book.entries(chain.kind, chain.short_name)
    entries = [one for one in fitting if one.name.startswith(begun)]
    size = max((len(entry.label) for entry in entries[:MOST]), default=0) + 2
    rows: list[BookRow] = []
    for entry in entries[:MOST]:
        times = paid.get(entry.address, 0)
        often = "paid once" if times == 1 else f"paid {times} times"
        said = "own wallet" if entry.own else often if times else entry.note
        left: Line = [Span(entry.label.ljust(size), bold=True), Span(short_address(entry.address))]
        rows.append((left, Span(said, "muted")))
    return len(entries), rows


class CreateForm(Vertical):
    """Posts :class:`Edited` after every change and :class:`Completed` behind the last field."""

    class Edited(Message):
        """A value changed."""

    class Completed(Message):
        """``enter`` in the last field, with nothing wrong in any of them."""

    def __init__(
        self, desk: Desk, board: QuoteResult, row: RankedQuote, typed: TypedBefore, **place: Any
    ) -> None:
        """``typed``: what the fields begin with."""
        super().__init__(**place)
        self._book_of_names = desk.book
        self._checks = CreateChecks(desk, board, row)
        token, source = board.token_out, board.token_in
        gets = f"gets the {token.symbol}, on {token.chain_data.name}"
        self._recipient = AddressInput(
            "Recipient", note=gets, value=typed.recipient, id="recipient"
        )
        self._recipient.field.grouped = _is_address(typed.recipient)
        brought = typed.memo or self._checks.recipient(typed.recipient).memo or ""
        self._memo = _memo_field(token, "", brought, on_chain=row.on_chain, id="memo")
        # What came with a name or a link belongs to it.
        self._filled = "" if _is_address(typed.recipient) else brought
        self._refund: AddressInput | None = None
        self._refund_memo: MemoField | None = None
        self._refund_filled = "" if _is_address(typed.refund) else typed.refund_memo
        if self._checks.asks_refund:
            fixed = self._checks.fixed
            why = "required: this rate is fixed" if fixed else "required on this route"
            note = f"{why}. On {source.chain_data.name}"
            self._refund = AddressInput(
                "Refund address", note=note, value=typed.refund, id="refund"
            )
            self._refund.field.grouped = _is_address(typed.refund)
            memo = _memo_field(source, "Refund ", typed.refund_memo, id="refund-memo")
            self._refund_memo = memo if memo.need != "not used" else None
        self._intermediate: AddressInput | None = None
        middle = self._checks.middle
        if middle is not None:
            note = f"optional: {middle.symbol} comes back if leg 2 fails"
            self._intermediate = AddressInput(
                "Middle refund", note=note, value=typed.intermediate, id="intermediate"
            )
        self._book = FittedLines(id="book")
        self._hidden: frozenset[int] = frozenset()
        self._payee = ""
        """The own account that was filled in."""
        self._touched = typed.recipient != ""

    def compose(self) -> ComposeResult:
        yield self._recipient
        yield self._memo
        for field in (self._refund, self._refund_memo, self._intermediate):
            if field is not None:
                yield field
        yield self._book

    def own(self, accounts: Sequence[Account], payee: Account | None = None) -> None:
        """The wallet's accounts; ``payee`` is who gets it as long as nobody typed in the field."""
        self._checks.own = {one.address: one.name for one in accounts}
        if payee is not None and not self._recipient.value and not self._touched:
            self._payee = payee.address
            self._recipient.field.grouped = True
            self._recipient.field.set_value(payee.address)
        self.show_book()

    @property
    def complete(self) -> bool:
        """Whether nothing is left to type: the own account gets it, and no other field is here."""
        one = self._payee != "" and self.values == (self._payee,)
        return one and not self._touched and not self.checked().problems

    def say_recipient(self, check: CheckLine) -> None:
        """What the empty field waits for."""
        self._recipient.show_checks([check])

    def keep_in(self, typed: TypedBefore) -> None:
        """Write down the fields as they stand; those this route does not have stay as they were."""
        typed.recipient, typed.memo = self._recipient.value, self._memo_text()
        if self._refund is not None:
            typed.refund = self._refund.value
        if self._refund_memo is not None:
            typed.refund_memo = self._refund_memo.value
        if self._intermediate is not None:
            typed.intermediate = self._intermediate.value

    @property
    def values(self) -> tuple[str, ...]:
        """The text of every field."""
        return tuple(field.value for field in self._fields())

    def checked(self) -> Checked:
        """The fields as they stand, each with its result."""
        typed = TypedBefore()
        self.keep_in(typed)
        return self._checks.all(typed)

    def focus_first(self) -> None:
        self._recipient.field.focus()

    def hide(self, positions: frozenset[int]) -> None:
        """Draw these places of the recipient's address as dots; an empty set ends it."""
        self._hidden = positions
        value = self._recipient.value
        # Of a link nothing is shown: its address may stand in any place of it.
        whole = positions and not _is_address(value)
        self._recipient.field.hide(frozenset(range(len(value))) if whole else positions)

    def show(self, checked: Checked) -> None:
        """Draw the results under their fields."""
        _show_address(self._recipient, checked.recipient, self._hidden)
        if self._memo.need != "not used":
            asked = bool(self._memo.value) or checked.recipient.ok
            self._memo.show_checks(list(checked.memo.lines) if asked else [])
        for field, check in (
            (self._refund, checked.refund),
            (self._intermediate, checked.intermediate),
        ):
            if field is not None and check is not None:
                _show_address(field, check)
        self.show_book()

    def show_book(self) -> None:
        """The names that fit the field with the focus."""
        field, token = self._named_field()
        chain = token.chain_data
        paid, typed = self._checks.paid, field.value
        parts = [
            (f"Address book, {chain.name}", *book_rows(self._book_of_names, chain, paid, typed)),
            (f"Own accounts, {chain.name}", *own_rows(self._own_names(field), typed)),
        ]
        self._book.show(partial(book_lines, [part for part in parts if part[1]]))

    def _own_names(self, field: AddressInput) -> Mapping[str, str]:
        """The wallet's accounts that this field can name, with their addresses."""
        if field is self._intermediate:
            return {}
        return self._checks.own_names(refund=field is self._refund)

    def _named_field(self) -> tuple[AddressInput, Token]:
        """The address field with the focus, else the recipient, and the token it is for."""
        if self._refund is not None and self._refund.field.has_focus:
            return self._refund, self._checks.sold
        field, token = self._intermediate, self._checks.middle
        if field is not None and token is not None and field.field.has_focus:
            return field, token
        return self._recipient, self._checks.bought

    # keys

    def next_field(self) -> None:
        """What ``enter`` does in a field."""
        field = self._focused()
        if field is not None:
            self._go_on(field)

    @property
    def at_end(self) -> bool:
        """Whether ``enter`` completes the form now: nothing is wrong and no field follows."""
        field, checked = self._focused(), self.checked()
        return field in (None, self._fields()[-1]) and self._wrong(checked) is None

    def step(self, by: int) -> None:
        """The focus goes up or down, round the form."""
        field = self._focused()
        if field is not None:
            fields = self._fields()
            fields[(fields.index(field) + by) % len(fields)].focus()

    def complete_name(self) -> str | None:
        """Complete ``@b`` to a name that fits the chain, begin with the first one in an empty
        field: where no list has room, this is the list. A text says that there is none."""
        field, token = self._named_field()
        value = field.value
        chain = token.chain_data
        names = [*self._book_of_names.names(chain.kind, chain.short_name), *self._own_names(field)]
        named = value.startswith("@") or (not value and bool(names))
        if self._focused() is not field.field or not named:
            self.step(1)
            return None
        begun = value[1:].lower()
        if begun in names:
            found: str | None = names[(names.index(begun) + 1) % len(names)]
        else:
            found = next((name for name in names if name.startswith(begun)), None)
        if found is None:
            return f"No name for {chain.name} begins with {value[:40]}."
        field.field.set_value(f"@{found}")
        return None

    @on(TextField.Changed)
    def _changed(self, event: TextField.Changed) -> None:
        event.stop()
        for one in (self._recipient, self._refund, self._intermediate):
            if one is not None and event.field is one.field:
                # A name and a link are read as one word, an address in groups.
                event.field.grouped = _is_address(event.value)
                event.field.redraw()
        if event.field is self._recipient.field:
            self._touched |= event.value != self._payee
            memo = self.checked().recipient.memo or ""
            self._filled = _follow(self._memo, self._filled, memo)
        elif (
            self._refund is not None
            and self._refund_memo is not None
            and event.field is self._refund.field
        ):
            memo = self._checks.memo_of_refund(event.value)
            self._refund_filled = _follow(self._refund_memo, self._refund_filled, memo)
        self.post_message(self.Edited())

    @on(TextField.Submitted)
    def _submitted(self, event: TextField.Submitted) -> None:
        event.stop()
        self._go_on(event.field)

    def _go_on(self, field: TextField) -> None:
        """CheckLine this field; go to the next one, or to the first that is wrong."""
        checked = self.checked()
        check = self._result(field, checked)
        if check is not None and not check.ok:
            said = check.problem or "This field is not complete."
            self.post_message(TextField.Refused(field, said))
            return
        fields = self._fields()
        following = fields.index(field) + 1
        if following < len(fields):
            fields[following].focus()
            return
        wrong = self._wrong(checked)
        if wrong is not None:
            wrong.focus()
            return
        self.post_message(self.Completed())

    def _wrong(self, checked: Checked) -> TextField | None:
        """The first field that is not as it should be."""
        for field in self._fields():
            result = self._result(field, checked)
            if result is not None and not result.ok:
                return field
        return None

    def _result(self, field: TextField, checked: Checked) -> RecipientCheck | MemoCheck | None:
        if field is self._recipient.field:
            return checked.recipient
        if field is self._memo.field:
            return checked.memo
        if self._intermediate is not None and field is self._intermediate.field:
            return checked.intermediate
        if self._refund is not None and field is self._refund.field:
            # Without its memo, whose own field comes next.
            return self._checks.refund(self._refund.value, "")
        return checked.refund

    def _fields(self) -> list[TextField]:
        memo = self._memo if self._memo.need != "not used" else None
        inputs = (self._recipient, memo, self._refund, self._refund_memo, self._intermediate)
        return [one.field for one in inputs if one is not None]

    def _focused(self) -> TextField | None:
        return next((field for field in self._fields() if field.has_focus), None)

    def _memo_text(self) -> str:
        return self._memo.value if self._memo.need != "not used" else ""


def first_payment(challenge: Challenge, title: str = "First payment to this address") -> Question:
    """The question for a group of an address that is hidden on the screen."""
    return Question(
        title,
        challenge.question,
        challenge.answer,
        "compare",
        asked="Four characters",
        wrong="Those are not its characters. Compare the whole address with its source.",
        folds=challenge.folds,
    )


def _memo_field(
    token: Token, prefix: str, value: str, *, on_chain: bool = False, **place: Any
) -> MemoField:
    """The field of a chain's memo under its own name; a refund asks for none by itself."""
    chain, memo = token.chain_data, check_memo("", False, token, on_chain=on_chain)
    need: MemoNeed = "not used"
    if memo.used:
        needed = bool(chain.memo_needed) and not prefix
        need = "required" if needed else "optional"
    label = f"{prefix}{memo.label}"
    swaps = on_chain and uses_memo(chain.kind)
    where = f"{chain.name} by a swap on chains" if swaps else chain.name
    made = MemoField(label[:1].upper() + label[1:], need, chain=where, **place)
    if memo.used and value:
        made.field.set_value(value)
    return made


def _follow(field: MemoField, filled: str, memo: str) -> str:
    """The memo of a name goes with the name: another recipient never keeps it. What was filled
    in by a name before is returned for the next time."""
    if field.need == "not used" or field.value not in ("", filled):
        return filled
    if field.value != memo:
        field.field.set_value(memo)
    return memo


def _is_address(value: str) -> bool:
    """Whether a value is drawn in groups: it is neither a name nor a link."""
    return not value.startswith("@") and not is_link(value)


def _show_address(
    field: AddressInput, check: RecipientCheck, hidden: frozenset[int] = frozenset()
) -> None:
    value = field.value
    lines = list(check.lines) if value else []
    if check.address and not _is_address(value):
        address = grouped_address(without(check.address, hidden))
        lines.insert(0, CheckLine("ok", address))
    wrong = frozenset() if check.position is None else frozenset({check.position - 1})
    field.show_result(lines, wrong=wrong, alike=check.lookalike)


def intent_lines(state: IntentFacts, width: int) -> list[Line]:
    locked: Line = [Span("locked ", "muted"), Span(state.locked)] if state.locked else []
    rows = [spread([Span("Intent", "foreground", bold=True)], locked, width), []]
    rows += facts_lines(state.facts, width, LABEL)
    if state.validity:
        rows += [[], [Span("Valid".ljust(LABEL), "muted"), *line_of(state.validity)]]
    if state.verdict is not None:
        rows += [[], *check_lines(state.verdict, width)]
    return rows


def intent_state(draft: Draft, now: datetime) -> IntentFacts:
    # Whole seconds, as the number beside the bar counts them.
    left = ceil((draft.row.expires_at - now).total_seconds())
    total = ceil((draft.row.expires_at - draft.board.asked_at).total_seconds())
    locked = clock_time(draft.intent.frozen_at) if draft.intent is not None else ""
    return IntentFacts(
        intent_facts(draft),
        locked=locked,
        verdict=draft.verdict,
        validity=countdown_spans(left, total, BAR),
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
    intent, row = draft.intent, draft.row
    least = promised_least(draft.board, row) if intent is None else confirmed_least(intent)
    if least is None:
        return Fact(LEAST, Span("not promised", "muted"), below=["the rate floats"])
    amount = f"{trimmed(least)} {draft.board.token_out.symbol}"
    if row.on_chain:
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
        *countdown_spans(left),
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
