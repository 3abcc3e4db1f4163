"""The application, as its controllers see it. Pages see it as ``tui/controls.py`` has it."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from textual.await_complete import AwaitComplete
    from textual.message import Message
    from textual.screen import Screen
    from textual.widget import AwaitMount

    from swapdesk.tui.session import Session


class DeskHost(Protocol):
    """The application, as its controllers need it."""

    session: Session

    @property
    def screen(self) -> Screen[object]: ...

    @property
    def screen_stack(self) -> Sequence[Screen[Any]]: ...

    def push_screen(self, screen: Screen[Any]) -> AwaitMount: ...

    def pop_screen(self) -> AwaitComplete: ...

    def post_message(self, message: Message) -> bool: ...

    def notify(
        self, message: str, *, severity: Literal["information", "warning", "error"] = ...
    ) -> None: ...

    def run_worker(
        self, work: Awaitable[Any], *, group: str, exclusive: bool = ..., exit_on_error: bool = ...
    ) -> object: ...
