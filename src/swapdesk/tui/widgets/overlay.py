"""Panels at the bottom of the screen: to read rows of text, to type a text, and to type a phrase
before something that cannot be undone. The money line below a panel stays visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget

from swapdesk.flows.check_line import CheckLine
from swapdesk.tui.breakpoints import HEIGHTS, bind_keys
from swapdesk.tui.cell_updates import CellCompositor
from swapdesk.tui.commands.command import CommandState
from swapdesk.tui.glyphs import REFUSED
from swapdesk.tui.spans import Line, LineLike, Span, wrapped
from swapdesk.tui.widgets.form_fields import check_lines
from swapdesk.tui.widgets.frame import KeyBar
from swapdesk.tui.widgets.lines_view import Fitted, FittedLines, TextRows
from swapdesk.tui.widgets.text_field import TextField

CLOSE = CommandState("esc", "close")


class Overlay(ModalScreen[ScreenResultType]):
    """A panel over the lower part of the screen. ``hints`` are the keys of its bottom row. ``esc``
    closes it with the result None."""

    DEFAULT_CSS = """
    Overlay {
        background: transparent;
        align: left bottom;
    }
    Overlay > .panel {
        width: 100%;
        height: auto;
        max-height: 66%;
        background: $surface;
        padding: 1 0;
        overflow-y: auto;
        scrollbar-size: 0 0;
        margin: 0 0 2 0;
    }
    /* Without the lower rule the row above the money line would show a torn piece of the body. */
    Overlay.-short > .panel { margin: 0 0 1 0; }
    Overlay > KeyBar { dock: bottom; }
    Overlay LineTable { background: $surface; }
    """

    VERTICAL_BREAKPOINTS = HEIGHTS

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "close", show=False)]

    def __init__(self, hints: Sequence[CommandState], *content: Widget) -> None:
        super().__init__()
        self._content = content
        self._compositor = CellCompositor()
        self._keys = KeyBar((*hints, CLOSE), help_key="")

    def on_mount(self) -> None:
        bind_keys(self, getattr(self.app, "keymap", {}))

    def compose(self) -> ComposeResult:
        yield Vertical(*self._content, classes="panel")
        yield self._keys

    @property
    def _panel(self) -> Widget:
        return self.query_one(".panel")

    def action_leave(self) -> None:
        self.dismiss(None)


MOVE = CommandState("↑↓", "move")


class ReadingOverlay(Overlay[None]):
    """A panel with rows to read. The function ``made`` returns the rows for the panel's width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_panel(1)", "down", show=False),
        Binding("up,k", "scroll_panel(-1)", "up", show=False),
        Binding("pagedown,ctrl+d,space", "scroll_panel(4)", "further down", show=False),
        Binding("pageup,ctrl+u", "scroll_panel(-4)", "further up", show=False),
    ]

    def __init__(self, made: Fitted) -> None:
        super().__init__([], FittedLines(made))

    def on_mount(self) -> None:
        self.call_after_refresh(self._name_keys)

    def on_resize(self) -> None:
        self.call_after_refresh(self._name_keys)

    def action_scroll_panel(self, rows: int) -> None:
        self._panel.scroll_relative(y=rows, animate=False)

    def _name_keys(self) -> None:
        moves = [MOVE] if self._panel.max_scroll_y > 0 else []
        self._keys.show([*moves, CLOSE], "")


def exact_lines(label: str, value: str, width: int) -> list[Line]:
    """Returns rows with the label, the whole value, and how to select it."""
    rows: list[Line] = [[Span(label[:1].upper() + label[1:], bold=True)], []]
    rows += [[Span(value[at : at + width], bold=True)] for at in range(0, len(value), width)]
    how = (
        "This terminal takes no copies from programs. Select the text with the mouse (most"
        " terminals want shift held down) and compare what you paste."
    )
    return [*rows, [], *wrapped([Span(how, "muted")], width)]


class TextOverlay(Overlay[ScreenResultType]):
    """A panel with a text field. Its result is what the function ``read`` returns for the typed
    text. If ``read`` raises ValueError, the error is shown in place of ``hint``."""

    def __init__(
        self,
        verb: str,
        head: Sequence[LineLike],
        hint: LineLike,
        read: Callable[[str], ScreenResultType],
        value: str = "",
    ) -> None:
        self._head, self._hint, self._read = head, hint, read
        self._said = TextRows([*head, hint])
        super().__init__([CommandState("enter", verb)], self._said, TextField(value, limit=400))

    @on(TextField.Changed)
    def _typed(self) -> None:
        self._said.show([*self._head, self._hint])

    @on(TextField.Submitted)
    def _decide(self, event: TextField.Submitted) -> None:
        if not event.value.strip():
            return
        try:
            made = self._read(event.value)
        except ValueError as refused:
            self._said.show([*self._head, Span(f"{REFUSED} {refused}", "status-trouble")])
        else:
            self.dismiss(made)


class Question(Struct, frozen=True):
    """A question that the user answers by typing ``phrase``. ``what`` has the sentences about what
    will happen."""

    title: str
    what: Sequence[str]
    phrase: str
    verb: str = "confirm"
    asked: str = ""
    wrong: str = ""
    folds: bool = False

    def answers(self, typed: str) -> bool:
        if self.folds:
            return typed.lower() == self.phrase.lower()
        return typed == self.phrase


class TypedConfirm(Overlay[bool]):
    """A panel that asks a :class:`Question`. Its result is True if the user typed the phrase, None
    if it was closed."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._text = FittedLines(partial(question_lines, question))
        super().__init__([CommandState("enter", question.verb)], self._text, TextField(limit=64))

    @on(TextField.Changed)
    def _compare(self, event: TextField.Changed) -> None:
        right = self.question.answers(event.value)
        self._say(CheckLine("ok", "as asked") if right else None)

    @on(TextField.Submitted)
    def _decide(self, event: TextField.Submitted) -> None:
        if self.question.answers(event.value):
            self.dismiss(True)
            return
        said = self.question.wrong or f'Not the same: type "{self.question.phrase}".'
        self._say(CheckLine("refuse", said))

    def _say(self, check: CheckLine | None) -> None:
        self._text.show(partial(question_lines, self.question, said=check))


def question_lines(question: Question, width: int, said: CheckLine | None = None) -> list[Line]:
    """Returns the rows above the field of a question. ``said`` is the result of checking the typed
    text, or None."""
    rows: list[Line] = [[Span(question.title, "foreground", bold=True)], []]
    for sentence in question.what:
        rows += wrapped(sentence, width)
    asked: Line = [Span("Type ", "muted"), Span(f'"{question.phrase}"', "foreground", bold=True)]
    if question.asked:
        asked = [Span(question.asked, "muted")]
    rows += [[], asked]
    # The row is there before it is needed, so that the field does not move under the hands.
    rows += check_lines(said, width) if said is not None else [[]]
    return rows
