"""The code of a deposit on a screen of its own, with what it holds and what it does not."""

from __future__ import annotations

from collections.abc import Iterable

from textual.containers import Horizontal
from textual.geometry import Size
from textual.widget import Widget

from swapdesk.flows.deposits.deposit_code import DepositCode
from swapdesk.tui.commands.command import HIDDEN, Command, CommandState
from swapdesk.tui.commands.deposit import CopyAddress, CopyAmount, CopyMemo, NextCode
from swapdesk.tui.screens.deposit_facts import code_facts, no_code_lines, too_large_lines
from swapdesk.tui.screens.deposit_page import DepositPage
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.qr_code import QrCode, QrState, code_size

FACTS = 34
"""Cells beside the code for what it was made of."""


class DepositCodeScreen(DepositPage):
    """``v`` goes from the payment link to the plain address and back."""

    NAME = "Deposit code"
    VERBS = (NextCode, CopyMemo, CopyAmount, CopyAddress)
    DEFAULT_CSS = """
    DepositCodeScreen #code { height: auto; }
    DepositCodeScreen QrCode { margin: 0 0 0 2; }
    """

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, service_id)
        self._at: int | None = None
        self._code = QrCode()
        self._facts = TextRows()

    def compose_body(self) -> Iterable[Widget]:
        yield Horizontal(self._code, self._facts, id="code")

    def on_mount(self) -> None:
        self.show()

    def on_resize(self) -> None:
        self.show()

    @property
    def counting(self) -> bool:
        return bool(self._code.state.text)

    @property
    def shown(self) -> str:
        """The text of the code in view, empty for none."""
        return self._code.state.text

    def show(self) -> None:
        tracked, codes = self.tracked, self.codes()
        if tracked is None:
            return
        self.say_money(tracked)
        code = self._current(codes)
        if code is None:
            self._code.show(QrState())
            self._facts.show(no_code_lines(tracked, self.now()))
        elif not self._code.fits(QrState(code.text), self._room()):
            self._code.show(QrState())
            needs = code_size(code.text, halves=self._code.halves)
            self._facts.show(too_large_lines(code, needs, self._room()))
        else:
            self._code.show(QrState(code.text))
            self._facts.show(code_facts(code, tracked, self.now()))
        self.refresh_keys()

    def _room(self) -> Size:
        """Cells that a code may take: the body without the facts beside it."""
        size = self.app.size
        around = 4 if size.height < 28 else 6
        return Size(size.width - FACTS - 2, size.height - around)

    def _current(self, codes: tuple[DepositCode, ...]) -> DepositCode | None:
        """The code chosen; at first the fullest one that fits."""
        if not codes:
            return None
        if self._at is None:
            fitting = (at for at, one in enumerate(codes)
                       if self._code.fits(QrState(one.text), self._room()))  # fmt: skip
            return codes[next(fitting, 0)]
        return codes[self._at % len(codes)]

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb is NextCode:
            codes = self.codes()
            current = self._current(codes)
            if current is None or len(codes) < 2:
                return HIDDEN
            following = codes[(codes.index(current) + 1) % len(codes)]
            return CommandState(verb=f"next: {following.name}")
        return self.copy_standing(verb)

    def do_next_code(self) -> None:
        codes = self.codes()
        current = self._current(codes)
        if current is not None:
            self._at = (codes.index(current) + 1) % len(codes)
            self.show()
