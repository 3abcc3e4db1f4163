"""The baseline: the smallest Textual program with a text and an input."""

from textual.app import App, ComposeResult
from textual.widgets import Input, Static


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("READY")
        yield Input()

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()


if __name__ == "__main__":
    Bare().run()
