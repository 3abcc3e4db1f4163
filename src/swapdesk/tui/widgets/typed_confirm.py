"""A phrase typed by hand before something that cannot be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textual import on
from textual.widget import Widget

from swapdesk.tui.spans import Line, Span, wrapped
from swapdesk.tui.widgets.form_fields import Check, Verdict, check_lines
from swapdesk.tui.widgets.key_bar import KeyHint
from swapdesk.tui.widgets.lines_view import LinesView
from swapdesk.tui.widgets.overlay import Overlay
from swapdesk.tui.widgets.text_field import TextField


@dataclass(frozen=True, slots=True)
class Question:
    """``what`` will happen in sentences, the ``phrase`` to type, the verb of ``enter``.

    ``asked`` stands in for the phrase where it must not be shown, ``wrong`` is then said of
    anything else; ``folds``: large and small letters are the same.
    """

    title: str
    what: Sequence[str]
    phrase: str
    verb: str = "confirm"
    asked: str = ""
    wrong: str = ""
    folds: bool = False

    def answers(self, typed: str) -> bool:
        """Whether this is the phrase."""
        if self.folds:
            return typed.lower() == self.phrase.lower()
        return typed == self.phrase


class QuestionText(LinesView):
    """The sentences above the field."""

    def __init__(self, question: Question, **place: Any) -> None:
        super().__init__(**place)
        self.question = question
        self.said: Check | None = None

    def say(self, check: Check | None) -> None:
        self.said = check
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return question_lines(self.question, width, self.said)


class TypedConfirm(Overlay[bool]):
    """Dismisses with True when exactly the phrase was typed; None when left."""

    def __init__(self, question: Question) -> None:
        super().__init__([KeyHint("enter", question.verb)])
        self.question = question
        self._text = QuestionText(question)
        self._field = TextField(limit=64)

    def compose_panel(self) -> Sequence[Widget]:
        return (self._text, self._field)

    def on_mount(self) -> None:
        self._field.focus()

    @on(TextField.Changed)
    def _compare(self, event: TextField.Changed) -> None:
        right = self.question.answers(event.value)
        self._text.say(Check(Verdict.VALID, "as asked") if right else None)

    @on(TextField.Submitted)
    def _decide(self, event: TextField.Submitted) -> None:
        if self.question.answers(event.value):
            self.dismiss(True)
            return
        said = self.question.wrong or f'Not the same: type "{self.question.phrase}".'
        self._text.say(Check(Verdict.REFUSED, said))


def question_lines(question: Question, width: int, said: Check | None = None) -> list[Line]:
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
