"""Who sees what of the application: its controllers a ``DeskHost``, its pages ``DeskControls``."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from textual.await_complete import AwaitComplete
    from textual.message import Message
    from textual.screen import Screen
    from textual.widget import AwaitMount

    from swapdesk.tui.controllers.batch_controller import BatchController
    from swapdesk.tui.controllers.create_controller import CreateController
    from swapdesk.tui.controllers.navigation import Navigation
    from swapdesk.tui.controllers.signing_controller import SigningController
    from swapdesk.tui.notice_log import NoticeLog
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


class DeskControls(Protocol):
    """The application, as its pages need it."""

    notices: NoticeLog
    navigation: Navigation
    creates: CreateController
    signing: SigningController
    batches: BatchController

    def start(self) -> None:
        """Connect, and after a failure try again."""

    def copy_value(self, label: str, value: str) -> str:
        """Put ``value`` on the clipboard and say so; returns the notice that was shown."""
