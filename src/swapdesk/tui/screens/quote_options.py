"""The form with the options for quotes: rates, routes, markup, providers, legs and presets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget

from swapdesk.flows.quotes.quote_request import (
    OPTIONS,
    PLAIN,
    Named,
    QuoteOptions,
    QuotePresets,
    WishRefused,
    options_in_words,
    read_options,
    written_options,
)
from swapdesk.tui.commands.command import CommandState
from swapdesk.tui.glyphs import REFUSED
from swapdesk.tui.session import Session
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.overlay import Overlay
from swapdesk.tui.widgets.text_field import TextField, step_focus

HINTS = (
    CommandState("enter", "use them"),
    CommandState("↑↓", "move"),
    CommandState("ctrl+n", "next choice"),
    CommandState("ctrl+s", "keep as preset"),
    CommandState("ctrl+l", "next preset"),
)


class QuoteOptionsOverlay(Overlay[QuoteOptions]):
    """The panel in which the user changes the options for quotes. Its result is the new options, or
    None if it is closed."""

    DEFAULT_CSS = """
    QuoteOptionsOverlay > .panel { max-height: 85%; }
    QuoteOptionsOverlay Horizontal { height: 1; }
    QuoteOptionsOverlay .label { width: 16; }
    QuoteOptionsOverlay TextField { width: 1fr; background: $surface; }
    QuoteOptionsOverlay TextField:focus { background: $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,tab", "step(1)", "next", show=False, priority=True),
        Binding("up,shift+tab", "step(-1)", "before", show=False, priority=True),
        Binding("ctrl+n", "choice", "next choice", show=False, priority=True),
        Binding("ctrl+s", "keep", "keep as preset", show=False, priority=True),
        Binding("ctrl+l", "preset", "next preset", show=False, priority=True),
    ]

    def __init__(self, options: QuoteOptions, presets: QuotePresets, named: Named) -> None:
        self._named = named
        self._presets = presets
        texts = written_options(options)
        self._fields = {
            name: TextField(texts.get(name, ""), hint=option.accepts, limit=400)
            for name, option in OPTIONS.items()
        }
        self._preset = TextField(hint="a name to keep these options under", limit=24)
        self._said = TextRows()
        rows: list[Widget] = [
            Horizontal(TextRows([Span(OPTIONS[name].label, "muted")], classes="label"), field)
            for name, field in self._fields.items()
        ]
        name = Horizontal(TextRows([Span("Preset", "muted")], classes="label"), self._preset)
        title = TextRows([Span("How to ask for quotes", bold=True)])
        super().__init__(HINTS, title, *rows, name, self._said)

    def on_mount(self) -> None:
        self._say()

    @property
    def _all(self) -> list[TextField]:
        return [*self._fields.values(), self._preset]

    def action_step(self, steps: int) -> None:
        step_focus(self._all, steps)

    def action_choice(self) -> None:
        """Puts the next accepted word into the focused field. Does nothing if that field takes free
        text."""
        for name, field in self._fields.items():
            choices = OPTIONS[name].choices
            if field.has_focus and choices:
                at = choices.index(field.value) if field.value in choices else -1
                field.set_value(choices[(at + 1) % len(choices)])

    def action_preset(self) -> None:
        names = self._presets.names()
        if not names:
            self._say("No preset is kept yet. Write a name and press ctrl+s.")
            return
        at = names.index(self._preset.value) if self._preset.value in names else -1
        name = names[(at + 1) % len(names)]
        options = self._presets.find(name)
        self._preset.set_value(name)
        if options is None:
            self._say(f"Preset {name} cannot be used.")
            return
        texts = written_options(options)
        for option, field in self._fields.items():
            field.set_value(texts.get(option, ""))

    def action_keep(self) -> None:
        try:
            options = self._read()
        except WishRefused:
            self._say()
            return
        try:
            self._presets.put(self._preset.value, options)
        except WishRefused as refused:
            self._say(refused.message)
        else:
            self._say(f"Kept as {self._preset.value.lower()}.", good=True)

    @on(TextField.Changed)
    def _changed(self) -> None:
        self._say()

    @on(TextField.Submitted)
    def _submitted(self) -> None:
        try:
            self.dismiss(self._read())
        except WishRefused as refused:
            self._say()
            wrong = self._fields.get(refused.field)
            if wrong is not None:
                wrong.focus()

    def _read(self) -> QuoteOptions:
        return read_options({name: field.value for name, field in self._fields.items()})

    def _say(self, notice: str = "", *, good: bool = False) -> None:
        try:
            words = options_in_words(self._read(), self._named) or "floating rates of every route"
            line: LineLike = [Span("Asks for  ", "muted"), Span(words)]
        except WishRefused as refused:
            line = [Span(f"{REFUSED} {refused.message}", "status-trouble")]
        role = "status-done" if good else "status-trouble"
        self._said.show([line, Span(notice, role)])


def open_options(
    app: App[Any],
    session: Session,
    options: QuoteOptions | None,
    took: Callable[[QuoteOptions], None],
) -> None:
    """Opens the panel with the options for quotes, which first shows ``options`` (None: the
    defaults). Stores new options in the session, then calls ``took`` with them."""

    def decided(chosen: QuoteOptions | None) -> None:
        if chosen is not None:
            session.quote_options = chosen
            took(chosen)

    presets = QuotePresets.of(session.settings.places)
    named = session.desk.catalog.provider_name
    app.push_screen(QuoteOptionsOverlay(options or PLAIN, presets, named), decided)
