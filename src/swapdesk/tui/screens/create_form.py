"""The two parts of the create page: the form, whose fields are checked offline while the user
types, and the panel that shows exactly what would be confirmed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from swapdesk.chain.addresses.payments import is_link, short_memo_label, uses_memo
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import Checked, CreateChecks, TypedBefore
from swapdesk.flows.creation.order_verification import (
    CreateUnknown,
    NotCreated,
    confirmed_least,
    promised_least,
)
from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.flows.failure_messages import Failure
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
from swapdesk.flows.quotes.quoting import QuoteResult, follow_route
from swapdesk.flows.quotes.ranking import RankedQuote, fees_kind
from swapdesk.flows.tracking.announcements import code_and_request, refused_fields
from swapdesk.tui.glyphs import BECOMES, REFUSED, TROUBLE
from swapdesk.tui.spans import Line, LineLike, Span, cut, line_of, ruled, spread
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.form_fields import (
    ADDRESS_LIMIT,
    MEMO_LIMIT,
    LabelledField,
    check_lines,
)
from swapdesk.tui.widgets.gauge import countdown_spans
from swapdesk.tui.widgets.lines_view import FittedLines, StateView
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.quote_table import route_word
from swapdesk.tui.widgets.text_field import TextField, step_focus

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.payees.address_book import BookEntry
    from swapdesk.wallet.accounts import Account
    from swapdesk.wire.tokens import Token

MOST = 6
BookRow = tuple[LineLike, LineLike]
"""The left part and the right part of one row of the list of names."""
Named = tuple[str, str, str]
"""A name, its address, and a note to be shown beside them."""
BookPart = tuple[str, int, list[BookRow]]
"""A heading, the total number of names, and the rows of the names in view."""
LABEL = 11
BAR = 12
SIDES = ("You send", "You get", "They get")
"""The labels of the facts that show an amount sent or received."""
HAVE = "You have"
LEAST, SIGNED_LEAST = "At least", "signed least"


class IntentFacts(Struct, frozen=True):
    """The contents of the panel of the create page. ``locked`` is the clock time at which the user
    locked the values for review; empty if they are not locked."""

    facts: Sequence[Fact]
    locked: str = ""
    verdict: CheckLine | None = None
    validity: LineLike = ""


CreateStep = Literal["open", "ready", "failed", "sent", "looking", "unknown"]
"""How far the order has come. From ``sent`` to ``unknown`` nothing can be changed or sent again."""


BUSY = ("sent", "looking", "unknown")
ASKING = "the wallet is asked for its account"


class CreateState(Struct):
    """The state of one chosen route until it becomes an order. ``intent`` is the locked payment;
    None if nothing is locked. ``account`` is the account that pays for a swap on chains;
    ``problem`` says why there is none."""

    result: QuoteResult
    row: RankedQuote
    step: CreateStep = "open"
    intent: Intent | None = None
    sent_intent: str | None = None
    said: CheckLine | None = None
    failed: Failure | None = None
    was: Decimal | None = None
    hidden: frozenset[int] = frozenset()
    account: SwapAccount | None = None
    own_balance: Decimal | None = None
    problem: str = ""

    @property
    def busy(self) -> bool:
        return self.step in BUSY

    @property
    def balance(self) -> Decimal | None:
        return self.own_balance if self.account is None else self.account.balance

    def unlock(self) -> None:
        self.intent = None
        if self.step == "ready":
            self.step = "open"

    def ended(self, outcome: NotCreated | CreateUnknown) -> None:
        """Stores the outcome of a create request that led to no known order."""
        self.failed = outcome.failure
        if isinstance(outcome, CreateUnknown):
            then = "It is not known yet. Nothing was paid. o shows the orders."
            self.step = "unknown"
            self.said = CheckLine("warn", outcome.failure.cause, then)
            return
        error = outcome.error
        fields = " ".join(refused_fields(error)) if error is not None else ""
        cause = f"{outcome.failure.cause} {fields}".strip()
        second = code_and_request(error) if error is not None else outcome.code
        self.step, self.intent = "failed", None
        self.said = CheckLine("refuse", cause, second)

    def requoted(self, result: QuoteResult) -> bool:
        """Replaces the route by the same route in ``result``, a new answer. If ``result`` lacks the
        route, stores that the route is gone and returns False."""
        before, row = self.row, follow_route(result, self.row)
        if row is None:
            self.step = "failed"
            self.said = CheckLine("refuse", "This route is gone.", "esc shows the others.")
            return False
        self.step, self.said = "open", None
        self.result, self.row = result, row
        self.was = before.figure if row.figure != before.figure else None
        return True

    def lack(self) -> str:
        """Returns why the wallet cannot pay for a swap on chains now. Empty if the wallet can pay,
        or if the route is of another kind."""
        if not self.row.on_chain:
            return ""
        if self.problem or self.account is None:
            return self.problem.rstrip(".") or ASKING
        result = self.result
        return self.account.lack(result.amount_in(self.row), result.token_in.symbol) or ""

    def lack_check(self) -> CheckLine | None:
        """Returns the text of :meth:`lack` as the last line of the panel; None if that text is
        empty."""
        lack = self.lack()
        if not lack:
            return None
        waits = lack == ASKING or (self.account is not None and self.account.filling)
        return CheckLine("unknown" if waits else "refuse", lack)


class IntentPanel(StateView[IntentFacts], can_focus=True):
    """The panel that shows exactly what would be confirmed. If there is no room, it omits rate,
    duration, fees and balance, but never amounts, markup, addresses, memos or cost."""

    DEFAULT_CSS = """
    IntentPanel {
        background: $surface;
        padding: 1 2;
    }
    .-short IntentPanel { padding: 0 2; }
    """

    class Laid(Message):
        """Reports a changed size of the panel, so that the page checks again whether all rows
        fit."""

    @property
    def whole(self) -> bool:
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
    """Returns the rows of several lists of names. Above each list is a heading with the total
    number of its names."""
    rows: list[Line] = []
    for head, count, names in parts:
        if rows:
            rows.append([])
        rows.append(ruled(Span(head, "muted"), Span(str(count), "muted"), width))
        rows += [cut(spread(left, right, width), width) for left, right in names]
    return rows


def book_rows(names: Sequence[Named], typed: str) -> tuple[int, list[BookRow]]:
    """Returns the number of matching ``names``, and the rows of the first :data:`MOST` of them. If
    ``typed`` begins with ``@``, only names that begin with the rest of ``typed`` match."""
    begun = typed[1:].casefold() if typed.startswith("@") else ""
    fitting = [one for one in names if one[0].startswith(begun)]
    shown = fitting[:MOST]
    size = max((len(name) for name, _, _ in shown), default=0) + 3
    rows: list[BookRow] = [
        (
            [Span(f"@{name}".ljust(size), bold=True), Span(short_address(address))],
            Span(said, "muted"),
        )
        for name, address, said in shown
    ]
    return len(fitting), rows


def entry_words(entry: BookEntry, times: int) -> str:
    """Returns the note beside an address book entry to which ``times`` payments were sent."""
    if entry.own:
        return "own wallet"
    if times:
        return "paid once" if times == 1 else f"paid {times} times"
    return entry.note


class CreateForm(Vertical):
    """The form of the create page. Posts :class:`Edited` after every change, and :class:`Completed`
    at ``enter`` in the last field if no field has a problem."""

    class Edited(Message):
        """The message that the value of a field changed."""

    class Completed(Message):
        """The message that ``enter`` was pressed in the last field and no field has a problem."""

    def __init__(
        self, desk: Desk, result: QuoteResult, row: RankedQuote, typed: TypedBefore, **place: Any
    ) -> None:
        """Makes the form for the route ``row`` of the quotes in ``result``. ``typed`` has the first
        values of the fields."""
        super().__init__(**place)
        self._book_of_names = desk.book
        self._checks = checks = CreateChecks(desk, result, row)
        sold, bought = result.token_in, result.token_out
        brought = typed.memo or checks.recipient(typed.recipient).memo or ""
        gets = f"gets the {bought.symbol}, on {bought.chain_data.name}"
        self._inputs = {
            "recipient": _address_field("Recipient", gets, typed.recipient, id="recipient"),
            "memo": _memo_field(bought, "", brought, on_chain=row.on_chain, id="memo"),
        }
        """The fields, by their names in ``TypedBefore``."""
        self._tokens = {"recipient": bought, "refund": sold}
        """The token that the address in each address field has to be able to receive."""
        self._filled = {
            "memo": "" if _is_address(typed.recipient) else brought,
            "refund_memo": "" if _is_address(typed.refund) else typed.refund_memo,
        }
        """Memos that came with a name or payment link, by field. They leave with it."""
        if checks.asks_refund:
            why = "required: this rate is fixed" if checks.fixed else "required on this route"
            note = f"{why}. On {sold.chain_data.name}"
            self._inputs["refund"] = _address_field(
                "Refund address", note, typed.refund, id="refund"
            )
            memo = _memo_field(sold, "Refund ", typed.refund_memo, id="refund-memo")
            if not memo.field.disabled:
                self._inputs["refund_memo"] = memo
        if checks.middle is not None:
            note = f"optional: {checks.middle.symbol} comes back if leg 2 fails"
            self._tokens["intermediate"] = checks.middle
            self._inputs["intermediate"] = _address_field(
                "Middle refund", note, typed.intermediate, id="intermediate"
            )
        self._book = FittedLines(id="book")
        self._hidden: frozenset[int] = frozenset()
        self._payee = ""
        """Address of the user's own account that was filled in as recipient; empty if none was."""
        self._touched = typed.recipient != ""
        self.checked = self.check()
        """The result of the last check of all fields."""

    def compose(self) -> ComposeResult:
        yield from self._inputs.values()
        yield self._book

    @property
    def _recipient(self) -> LabelledField:
        return self._inputs["recipient"]

    def own(self, accounts: Sequence[Account], payee: Account | None = None) -> None:
        """Makes the wallet's ``accounts`` available in the fields. Fills in ``payee`` as the
        recipient unless the user already typed a recipient."""
        self._checks.own = {account.address: account.name for account in accounts}
        if payee is not None and not self._recipient.value and not self._touched:
            self._payee = payee.address
            self._recipient.field.grouped = True
            self._recipient.field.set_value(payee.address)
        self.check()
        self.show_book()

    @property
    def complete(self) -> bool:
        """True if nothing is left to type: the user's own account is the recipient, and no field
        has a problem."""
        filled_in = self._payee != "" and self.values == (self._payee,)
        return filled_in and not self._touched and not self.checked.problems

    def say_recipient(self, check: CheckLine) -> None:
        """Shows ``check`` under the recipient field, in place of earlier results."""
        self._recipient.show_checks([check])

    def keep_in(self, typed: TypedBefore) -> None:
        """Copies the values of the fields into ``typed``. Attributes of ``typed`` without a field
        stay unchanged."""
        for name, field in self._inputs.items():
            setattr(typed, name, field.value)

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(field.value for field in self._fields().values())

    def check(self) -> Checked:
        """Checks all fields. Call it after each change, and when a name may mean a different
        address."""
        typed = TypedBefore()
        self.keep_in(typed)
        self.checked = self._checks.all(typed)
        return self.checked

    def focus_first(self) -> None:
        self._recipient.field.focus()

    def hide(self, positions: frozenset[int]) -> None:
        """Draws dots at ``positions`` (from 0) of the recipient's address. A payment link or name
        is hidden as a whole."""
        self._hidden = positions
        value = self._recipient.value
        # Of a link nothing is shown: its address may stand in any place of it.
        whole = positions and not _is_address(value)
        self._recipient.field.hide(frozenset(range(len(value))) if whole else positions)

    def show(self) -> None:
        checked = self.checked
        _show_address(self._recipient, checked.recipient, self._hidden)
        asked = bool(self._inputs["memo"].value) or checked.recipient.ok
        self._inputs["memo"].show_checks(checked.memo.lines if asked and checked.memo.used else ())
        for name, check in (("refund", checked.refund), ("intermediate", checked.intermediate)):
            if check is not None:
                _show_address(self._inputs[name], check)
        self.show_book()

    def show_book(self) -> None:
        """Shows the names that can be typed into the focused address field or, without one, into
        the recipient field."""
        name = self._named_field()
        chain, typed = self._tokens[name].chain_data, self._inputs[name].value
        paid = self._checks.paid
        booked = [
            (entry.name, entry.address, entry_words(entry, paid.get(entry.address, 0)))
            for entry in self._book_of_names.entries(chain.kind, chain.short_name)
        ]
        own = [(*row, "your own account") for row in self._own_names(name).items()]
        parts = [
            (f"Address book, {chain.name}", *book_rows(booked, typed)),
            (f"Own accounts, {chain.name}", *book_rows(own, typed)),
        ]
        self._book.show(partial(book_lines, [part for part in parts if part[1]]))

    def _own_names(self, name: str) -> Mapping[str, str]:
        if name == "intermediate":
            return {}
        return self._checks.own_names(refund=name == "refund")

    def _named_field(self) -> str:
        focused = self._focused()
        return focused if focused in self._tokens else "recipient"

    # keys

    def next_field(self) -> None:
        """Checks the field with the focus. Unless that field has a problem, moves the focus to the
        next field."""
        focused = self._focused()
        if focused:
            self._go_on(focused)

    @property
    def at_end(self) -> bool:
        """True if ``enter`` would complete the form now."""
        last = list(self._fields())[-1]
        return self._focused() in ("", last) and self._wrong(self.checked) is None

    def step(self, by: int) -> None:
        """Moves the focus by ``by`` fields. The first field follows the last field."""
        step_focus(list(self._fields().values()), by)

    def complete_name(self) -> str | None:
        """Completes a name such as ``@b`` in the focused address field. If the name is already
        complete, replaces it by the next name. Returns a sentence if no name fits, otherwise
        None."""
        name = self._named_field()
        value, chain = self._inputs[name].value, self._tokens[name].chain_data
        names = [*self._book_of_names.names(chain.kind, chain.short_name), *self._own_names(name)]
        named = value.startswith("@") or (not value and bool(names))
        if self._focused() != name or not named:
            self.step(1)
            return None
        begun = value[1:].lower()
        if begun in names:
            completed: str | None = names[(names.index(begun) + 1) % len(names)]
        else:
            completed = next((entry for entry in names if entry.startswith(begun)), None)
        if completed is None:
            return f"No name for {chain.name} begins with {value[:40]}."
        self._inputs[name].field.set_value(f"@{completed}")
        return None

    @on(TextField.Changed)
    def _changed(self, event: TextField.Changed) -> None:
        event.stop()
        name = self._name_of(event.field)
        if name in self._tokens:
            # A name and a link are read as one word, an address in groups.
            event.field.grouped = _is_address(event.value)
            event.field.redraw()
        if name == "recipient":
            self._touched |= event.value != self._payee
            self._bring("memo", self._checks.recipient(event.value).memo or "")
        elif name == "refund":
            self._bring("refund_memo", self._checks.memo_of_refund(event.value))
        self.check()
        self.post_message(self.Edited())

    def _bring(self, name: str, memo: str) -> None:
        """Sets the field ``name`` to ``memo``, so that the memo of a former address does not go to
        the new address. A memo that the user typed stays."""
        labelled = self._inputs.get(name)
        if (
            labelled is None
            or labelled.field.disabled
            or labelled.value not in ("", self._filled[name])
        ):
            return
        self._filled[name] = memo
        if labelled.value != memo:
            labelled.field.set_value(memo)

    @on(TextField.Submitted)
    def _submitted(self, event: TextField.Submitted) -> None:
        event.stop()
        self._go_on(self._name_of(event.field))

    def _go_on(self, name: str) -> None:
        checked, fields = self.check(), self._fields()
        check = self._result(name, checked)
        following = list(fields)[list(fields).index(name) + 1 :]
        wrong = self._wrong(checked)
        if check is not None and not check.ok:
            problem = check.problem or "This field is not complete."
            self.post_message(TextField.Refused(fields[name], problem))
        elif following:
            fields[following[0]].focus()
        elif wrong is not None:
            wrong.focus()
        else:
            self.post_message(self.Completed())

    def _wrong(self, checked: Checked) -> TextField | None:
        results = ((self._result(name, checked), field) for name, field in self._fields().items())
        return next((field for result, field in results if result and not result.ok), None)

    def _result(self, name: str, checked: Checked) -> RecipientCheck | MemoCheck | None:
        if name == "refund":
            # Without its memo, whose own field comes next.
            return self._checks.refund(self._inputs[name].value, "")
        results = {
            "recipient": checked.recipient,
            "memo": checked.memo,
            "refund_memo": checked.refund,
            "intermediate": checked.intermediate,
        }
        return results[name]

    def _fields(self) -> dict[str, TextField]:
        return {
            name: labelled.field
            for name, labelled in self._inputs.items()
            if not labelled.field.disabled
        }

    def _name_of(self, field: TextField) -> str:
        return next(name for name, labelled in self._inputs.items() if labelled.field is field)

    def _focused(self) -> str:
        return next((name for name, field in self._fields().items() if field.has_focus), "")


def first_payment(challenge: Challenge, title: str = "First payment to this address") -> Question:
    """Returns the question before the first payment to an address. The user types characters that
    the screen hides, to compare the address with its source."""
    return Question(
        title,
        challenge.question,
        challenge.answer,
        "compare",
        asked="Four characters",
        wrong="Those are not its characters. Compare the whole address with its source.",
        folds=challenge.folds,
    )


def _address_field(label: str, note: str, value: str, **place: Any) -> LabelledField:
    field = TextField(value, grouped=_is_address(value), limit=ADDRESS_LIMIT)
    return LabelledField(label, field, note=note, **place)


def _memo_field(
    token: Token, prefix: str, value: str, *, on_chain: bool = False, **place: Any
) -> LabelledField:
    chain, memo = token.chain_data, check_memo("", False, token, on_chain=on_chain)
    swaps = on_chain and uses_memo(chain.kind)
    where = f"{chain.name} by a swap on chains" if swaps else chain.name
    needed = "required" if chain.memo_needed and not prefix else "optional"
    field = TextField(value if memo.used else "", limit=MEMO_LIMIT)
    field.disabled = not memo.used
    label = f"{prefix}{memo.label}"
    note = f"{needed if memo.used else 'not used'} on {where}"
    return LabelledField(label[:1].upper() + label[1:], field, note=note, **place)


def _is_address(value: str) -> bool:
    return not value.startswith("@") and not is_link(value)


def _show_address(
    field: LabelledField, check: RecipientCheck, hidden: frozenset[int] = frozenset()
) -> None:
    value = field.value
    lines = list(check.lines) if value else []
    if check.address and not _is_address(value):
        address = grouped_address(without(check.address, hidden))
        lines.insert(0, CheckLine("ok", address))
    wrong = frozenset() if check.position is None else frozenset({check.position - 1})
    field.show_checks(lines, wrong=wrong, alike=check.lookalike)


def intent_lines(state: IntentFacts, width: int) -> list[Line]:
    locked: Line = [Span("locked ", "muted"), Span(state.locked)] if state.locked else []
    rows = [spread([Span("Intent", "foreground", bold=True)], locked, width), []]
    rows += facts_lines(state.facts, width, LABEL)
    if state.validity:
        rows += [[], [Span("Valid".ljust(LABEL), "muted"), *line_of(state.validity)]]
    if state.verdict is not None:
        rows += [[], *check_lines(state.verdict, width)]
    return rows


def intent_state(
    state: CreateState, checked: Checked, cost: str, verdict: CheckLine | None, now: datetime
) -> IntentFacts:
    """Returns what the panel beside the form shows. ``cost`` is a text about the API calls that
    creating the order takes. ``verdict`` is the result of checking the form, or None."""
    # Whole seconds, as the number beside the bar counts them.
    left = ceil((state.row.expires_at - now).total_seconds())
    total = ceil((state.row.expires_at - state.result.asked_at).total_seconds())
    return IntentFacts(
        [*intent_facts(state, checked), Fact("Cost", cost)],
        locked=clock_time(state.intent.frozen_at) if state.intent is not None else "",
        verdict=verdict,
        validity=countdown_spans(left, total, BAR),
    )


def intent_facts(state: CreateState, checked: Checked) -> list[Fact]:
    result, row = state.result, state.row
    paid, received = result.amount_in(row), received_amount(result, row)
    rates = rate_both_ways(paid, result.token_in.symbol, received, result.token_out.symbol)
    was = table_amount(state.was) if state.was is not None else ""
    reverse = result.request.receive
    rate = "rate fixed" if row.quote.fixed else "floating"
    return [
        Fact(
            "You send",
            f"{exact_amount(paid)} {result.token_in.symbol}",
            below=[f"on {result.token_in.chain_data.name}"],
            was=was if reverse else "",
            bold=True,
        ),
        *_have(state, paid),
        Fact(
            "They get" if result.private_send else "You get",
            f"{trimmed(received)} {result.token_out.symbol}",
            below=[f"on {result.token_out.chain_data.name}, {rate}"],
            was="" if reverse else was,
            bold=True,
        ),
        _least(state),
        Fact(),
        Fact("Route", [route_word(row.quote.type), Span("  "), Span(provider_name(row))]),
        *([Fact("Rate", rates[0], below=[Span(rates[1])])] if rates and not same(result) else []),
        Fact("Fees", _fees(row)),
        *_markup(result, row),
        Fact("Takes", expected_minutes(row.quote.duration)),
        Fact(),
        _recipient(checked.recipient, state.hidden),
        Fact(short_memo_label(checked.memo.label), _memo(checked.memo)),
        *_refund(checked.refund, "Refund"),
        *_refund(checked.intermediate, "Middle"),
        *_wallet(state.account),
    ]


def _have(state: CreateState, paid: Decimal) -> list[Fact]:
    """Returns the wallet's balance of the token sold, marked if it is below ``paid``. The create
    key works even then, because the user may pay from elsewhere."""
    have = state.balance
    if have is None:
        return []
    amount = f"{exact_amount(have)} {state.result.token_in.symbol}"
    if have < paid:
        return [Fact(HAVE, Span(f"{amount}, too little", "status-trouble"))]
    return [Fact(HAVE, amount)]


def _least(state: CreateState) -> Fact:
    intent, row = state.intent, state.row
    least = promised_least(state.result, row) if intent is None else confirmed_least(intent)
    if least is None:
        return Fact(LEAST, Span("not promised", "muted"), below=["the rate floats"])
    amount = f"{trimmed(least)} {state.result.token_out.symbol}"
    if row.on_chain:
        return Fact(LEAST, amount, below=["or nothing is swapped"], key=SIGNED_LEAST)
    return Fact(LEAST, amount, below=["fixed by the service"])


def _wallet(account: SwapAccount | None) -> list[Fact]:
    if account is None:
        return []
    facts = [Fact("From", [Span("wallet ", "muted"), Span(account.name, bold=True)])]
    if account.plan is not None:
        first, *others = account.plan.words
        below = [f"{BECOMES} {step}" for step in others]
        facts.append(Fact("Steps", first, below=[*below[:-2], "  ".join(below[-2:])]))
    return facts


def same(result: QuoteResult) -> bool:
    """Returns True if the same token is sold and bought, as in a private send."""
    return result.token_in.id == result.token_out.id


def summary(state: CreateState, now: datetime) -> list[LineLike]:
    """Returns two lines that replace the panel on small screens: first the amounts, then the route
    and how long it is valid."""
    result, row = state.result, state.row
    left = (row.expires_at - now).total_seconds()
    first: Line = [
        Span(f"{exact_amount(result.amount_in(row))} {result.token_in.symbol}", bold=True),
        Span(" → ", "muted"),
        Span(f"{trimmed(received_amount(result, row))} {result.token_out.symbol}", bold=True),
    ]
    if row.quote.fixed:
        first.append(Span("  rate fixed", "muted"))
    if state.was is not None:
        first.append(Span(f"  was {table_amount(state.was)}", "muted"))
    second: Line = [
        route_word(row.quote.type),
        Span(f"  {provider_name(row)}  "),
        Span(f"{expected_minutes(row.quote.duration)}  valid ", "muted"),
        *countdown_spans(left),
    ]
    return [first, second]


def _fees(row: RankedQuote) -> str:
    return usd(row.quote.fee_usd) if row.quote.fee_usd is not None else fees_kind(row.quote)


def received_amount(result: QuoteResult, row: RankedQuote) -> Decimal:
    """Returns the amount that the recipient gets: the amount that the user asked for, otherwise the
    quoted amount."""
    return result.amount if result.request.receive else row.key


def _markup(result: QuoteResult, row: RankedQuote) -> list[Fact]:
    applied = row.quote.applied_api_markup
    percent = result.request.markup if applied is None else applied
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
        state = f"{REFUSED} not valid yet" if check.text else "not typed yet"
        return [Fact(label, Span(state, "status-trouble" if check.text else "muted"))]
    if not check.address:
        return [Fact(label, "none")]
    below: list[LineLike] = [Span(check.label, bold=True)] if check.label else []
    if check.memo:
        word = short_memo_label(check.memo_label).lower()
        below.append([Span(f"{word} ", "muted"), Span(check.memo, bold=True)])
    return [Fact(label, address=check.address, below=below)]


def fitting_lines(state: IntentFacts, width: int, height: int) -> list[Line]:
    """Returns the rows of the panel, shortened by the steps of :data:`LESS` to ``height`` rows if
    possible. A ``height`` of 0 means no limit."""
    rows = intent_lines(state, width)
    if height <= 0:
        return rows
    for at, less in enumerate(LESS):
        if len(rows) <= height:
            break
        state = replace(state, facts=[fact for fact in map(less, state.facts) if fact is not None])
        rows = [row for row in intent_lines(state, width) if row or at < ROOMY_STEPS]
    return rows


def _counted(rows: list[Line], width: int, height: int) -> list[Line]:
    shown = rows[: height - 1]
    missing = f"{TROUBLE} {counted(len(rows) - len(shown), 'more row')}: enlarge the window"
    return [*shown, cut([Span(missing, "status-waiting")], width)]


def _without(label: str, fact: Fact) -> Fact | None:
    return None if fact.label == label else fact


def _one_rate(fact: Fact) -> Fact:
    return replace(fact, below=()) if fact.label == "Rate" else fact


def _brief_least(fact: Fact) -> Fact | None:
    if fact.label != LEAST:
        return fact
    return replace(fact, below=()) if fact.key == SIGNED_LEAST else None


def _chain_beside(fact: Fact) -> Fact:
    """Moves the chain of an amount into the row of the amount. A fact that also shows a former
    value stays unchanged."""
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
"""The steps that shorten the panel, in order. Each returns a shorter fact, or None to drop it."""
ROOMY_STEPS = 2
"""How many first steps of :data:`LESS` keep the empty rows between facts."""
