"""Recipient, memo and refund address: checked while typing, without a call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.notation import grouped_address
from swapdesk.flows.payees import own_deposits, paid_addresses, token_contracts
from swapdesk.flows.recipients import check_memo, check_recipient, check_refund
from swapdesk.tui.widgets.address_input import AddressInput, Alike
from swapdesk.tui.widgets.book_list import book_rows
from swapdesk.tui.widgets.check_line import Check, Verdict
from swapdesk.tui.widgets.memo_field import MemoField, MemoNeed
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.tui.widgets.text_rows import TextRows

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.quoting import QuoteBoard
    from swapdesk.flows.recipients import MemoCheck, RecipientCheck

VERDICTS = {
    "ok": Verdict.VALID,
    "note": Verdict.NOTE,
    "warn": Verdict.WARNING,
    "refuse": Verdict.REFUSED,
}


@dataclass(frozen=True)
class Checked:
    """Every field with its result; ``refund`` is None where the route asks for none."""

    recipient: RecipientCheck
    memo: MemoCheck
    refund: RecipientCheck | None

    @property
    def problems(self) -> int:
        checks = (self.recipient, self.memo, self.refund)
        return sum(check is not None and not check.ok for check in checks)


@dataclass
class TypedBefore:
    """Recipient and memo as typed, so that going back to the routes loses nothing."""

    recipient: str = ""
    memo: str = ""


class CreateForm(Vertical):
    """Posts :class:`Edited` after every change and :class:`Completed` behind the last field."""

    class Edited(Message):
        """A value changed."""

    class Completed(Message):
        """``enter`` in the last field, with nothing wrong in any of them."""

    def __init__(
        self, desk: Desk, board: QuoteBoard, *, refund: bool, typed: tuple[str, str], **place: Any
    ) -> None:
        """``typed``: recipient and memo to begin with; ``refund``: the route asks for one."""
        super().__init__(**place)
        self._desk, self._board = desk, board
        self._paid = paid_addresses(desk.journal)
        self._deposits = own_deposits(desk.journal)
        token = board.token_out
        self._contracts = token_contracts(desk.catalog, token)
        chain = token.chain_data
        gets = f"gets the {token.symbol}, on {chain.name}"
        self._recipient = AddressInput("Recipient", note=gets, value=typed[0], id="recipient")
        self._recipient.field.grouped = not typed[0].startswith("@")
        memo = check_memo("", False, token)
        self._need = MemoNeed.NOT_USED
        if memo.used:
            self._need = MemoNeed.REQUIRED if chain.memo_needed else MemoNeed.OPTIONAL
        label = memo.label[:1].upper() + memo.label[1:]
        self._memo = MemoField(label, self._need, chain=chain.name, id="memo")
        # What came back with a name belongs to that name.
        self._filled = typed[1] if typed[0].startswith("@") else ""
        if memo.used and typed[1]:
            self._memo.field.set_value(typed[1])
        self._refund: AddressInput | None = None
        if refund:
            note = f"required on this route, on {board.token_in.chain_data.name}"
            self._refund = AddressInput("Refund address", note=note, id="refund")
        self._book = TextRows(id="book")

    def compose(self) -> ComposeResult:
        yield self._recipient
        yield self._memo
        if self._refund is not None:
            yield self._refund
        yield self._book

    @property
    def typed(self) -> tuple[str, str]:
        """Recipient and memo as they stand."""
        return self._recipient.value, self._memo_text()

    @property
    def values(self) -> tuple[str, ...]:
        """The text of every field."""
        return tuple(field.value for field in self._fields())

    def checked(self) -> Checked:
        token = self._board.token_out
        recipient = check_recipient(
            self._recipient.value.strip(),
            token,
            book=self._desk.book,
            paid=self._paid,
            own_deposits=self._deposits,
            contracts=self._contracts,
        )
        refund = None
        if self._refund is not None:
            refund = check_refund(
                self._refund.value.strip(),
                self._board.token_in,
                required=True,
                book=self._desk.book,
                paid=self._paid,
                own_deposits=self._deposits,
                contracts=token_contracts(self._desk.catalog, self._board.token_in),
            )
        return Checked(recipient, check_memo(self._memo_text(), False, token), refund)

    def focus_first(self) -> None:
        self._recipient.field.focus()

    def show(self, checked: Checked) -> None:
        """Draw the results under their fields."""
        self._show_recipient(checked.recipient)
        if self._need is not MemoNeed.NOT_USED:
            asked = bool(self._memo.value) or checked.recipient.ok
            self._memo.show_checks(_checks(checked.memo.lines) if asked else [])
        if self._refund is not None and checked.refund is not None:
            self._refund.show_result(_checks(checked.refund.lines) if self._refund.value else [])
        chain = self._board.token_out.chain_data
        self._book.show(book_rows(self._desk.book, chain, self._paid, self._recipient.value))

    def _show_recipient(self, check: RecipientCheck) -> None:
        value = self._recipient.value
        lines = _checks(check.lines) if value else []
        if value.startswith("@") and check.address:
            lines.insert(0, Check(Verdict.VALID, grouped_address(check.address)))
        alike = Alike(*check.lookalike) if check.lookalike is not None else None
        self._recipient.show_result(lines, alike=alike)

    # keys

    def next_field(self) -> None:
        """What ``enter`` does in a field."""
        field = self._focused()
        if field is not None:
            self._go_on(field)

    def step(self, by: int) -> None:
        """The focus goes up or down, round the form."""
        field = self._focused()
        if field is not None:
            fields = self._fields()
            fields[(fields.index(field) + by) % len(fields)].focus()

    def complete_name(self) -> str | None:
        """Complete ``@b`` to a name that fits the chain; a text says that there is none."""
        value = self._recipient.value
        if self._focused() is not self._recipient.field or not value.startswith("@"):
            self.step(1)
            return None
        chain = self._board.token_out.chain_data
        names = self._desk.book.names(chain.kind, chain.short_name)
        begun = value[1:].lower()
        if begun in names:
            found: str | None = names[(names.index(begun) + 1) % len(names)]
        else:
            found = next((name for name in names if name.startswith(begun)), None)
        if found is None:
            return f"No name for {chain.name} begins with {value[:40]}."
        self._recipient.field.set_value(f"@{found}")
        return None

    @on(TextField.Changed)
    def _changed(self, event: TextField.Changed) -> None:
        event.stop()
        if event.field is self._recipient.field:
            # A name is read as one word, an address in groups.
            event.field.grouped = not event.value.startswith("@")
            event.field.redraw()
            self._follow_name()
        self.post_message(self.Edited())

    def _follow_name(self) -> None:
        """The memo of a name goes with the name: another recipient never keeps it."""
        memo = self.checked().recipient.memo or ""
        if self._need is MemoNeed.NOT_USED or self._memo.value not in ("", self._filled):
            return
        self._filled = memo
        if self._memo.value != memo:
            self._memo.field.set_value(memo)

    @on(TextField.Submitted)
    def _submitted(self, event: TextField.Submitted) -> None:
        event.stop()
        self._go_on(event.field)

    def _go_on(self, field: TextField) -> None:
        """Check this field; go to the next one, or to the first that is wrong."""
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
        for other in fields:
            result = self._result(other, checked)
            if result is not None and not result.ok:
                other.focus()
                return
        self.post_message(self.Completed())

    def _result(self, field: TextField, checked: Checked) -> RecipientCheck | MemoCheck | None:
        if field is self._recipient.field:
            return checked.recipient
        return checked.memo if field is self._memo.field else checked.refund

    def _fields(self) -> list[TextField]:
        fields = [self._recipient.field]
        if self._need is not MemoNeed.NOT_USED:
            fields.append(self._memo.field)
        return [*fields, self._refund.field] if self._refund is not None else fields

    def _focused(self) -> TextField | None:
        return next((field for field in self._fields() if field.has_focus), None)

    def _memo_text(self) -> str:
        return self._memo.value if self._need is not MemoNeed.NOT_USED else ""


def _checks(lines: Iterable[CheckLine]) -> list[Check]:
    return [Check(VERDICTS[line.level], line.text) for line in lines]
