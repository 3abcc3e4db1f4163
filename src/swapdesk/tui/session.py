"""One run of the desk: it is opened from disk, connected to its service, and reconnected.

Heavy modules are imported after the first frame, one at a time in pauses between keys, because an
import holds the interpreter even in a thread. On the sandbox profile the session starts its
sandbox, and restarts it if it disappears. The user agrees to real money once a session, by typing a
word before the first create request.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from swapdesk.background import BackgroundTasks
from swapdesk.clock import Clock, SystemClock

if TYPE_CHECKING:
    import httpx2

    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.creation.resume import ResumeReport
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.quotes.quote_request import QuoteOptions
    from swapdesk.flows.wallet.call_payments import NewPayee
    from swapdesk.settings import Settings
    from swapdesk.tui.widgets.overlay import Question

log = logging.getLogger(__name__)


DESK = (
    "swapdesk.tui.screens.tokens",
    "pydantic_core.core_schema",
    "pydantic.fields",
    "pydantic",
    "swapdesk.wire.tokens",
    "swapdesk.wire.orders",
    "swapdesk.flows.journal.journal",
    "Crypto.Hash.keccak",
    "swapdesk.flows.payees.address_book",
    "swapdesk.flows.desk",
    "swapdesk.flows.quotes.intent_line",
    "swapdesk.flows.quotes.quote_request",
    "swapdesk.flows.quotes.recent",
)
"""Modules to import before the desk is opened, each after those that it imports itself."""
LINK = (
    "httpcore2",
    "httpx2",
    "anyio._backends._asyncio",
    "websockets.asyncio.client",
    "swapdesk.flows.connection",
    "swapdesk.wire.quotes",
    "swapdesk.wire.dex",
    "swapdesk.wire.exchanges",
    "swapdesk.wire.multi",
    "swapdesk.wire.account",
    "swapdesk.wire.health",
    "swapdesk.client.api",
    "swapdesk.flows.quotes.quoting",
    "swapdesk.flows.creation.exchange",
    "swapdesk.client.live",
    "swapdesk.flows.connected_desk",
    "swapdesk.flows.tracking.open_business",
    "swapdesk.tui.screens.orders",
)
"""Modules to import before the desk is connected."""
PAGES = (
    "swapdesk.tui.screens.quotes",
    "swapdesk.tui.screens.create",
    "swapdesk.tui.screens.deposit",
)
"""The pages of one swap, imported once connected so that no key waits."""

REST_SECONDS = 0.15
"""Seconds after a key before the next module may be imported."""
PATIENCE_SECONDS = 1.5
"""Seconds that imports wait for pauses in total. The rest is imported while the user types."""


class KeyRest:
    """Waits for pauses between key presses. All waits together take at most ``patience`` seconds of
    the event loop. Call :meth:`key` at every key press."""

    def __init__(self, rest: float = REST_SECONDS, patience: float = PATIENCE_SECONDS) -> None:
        self._rest = rest
        self._patience = patience
        self._last = -inf

    def key(self) -> None:
        self._last = asyncio.get_running_loop().time()

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        left = self._left(loop.time())
        while left > 0:
            self._patience -= left
            await asyncio.sleep(left)
            left = self._left(loop.time())

    def _left(self, now: float) -> float:
        return min(self._last + self._rest - now, self._patience)


async def load(modules: Iterable[str], rest: KeyRest) -> None:
    """Imports ``modules`` in a thread, each in a pause between keys. Skips a module that does not
    exist. Raises ImportError if a module cannot be loaded."""
    for name in modules:
        await rest.wait()
        with contextlib.suppress(ModuleNotFoundError):
            await asyncio.to_thread(importlib.import_module, name)


PHRASE = "live"


class LiveGuard:
    """Records whether the user still has to type a word to agree to real money. This is necessary
    once per run on a live service, and never in the sandbox."""

    def __init__(self, live: bool) -> None:
        self.asks = live
        """True if the word must be typed before anything is created."""

    def question(self) -> Question:
        from swapdesk.tui.widgets.overlay import Question

        return Question(
            "This is LIVE",
            ["This is LIVE. You type real money.", "The word is asked once for this session."],
            PHRASE,
            "agree",
        )

    def agree(self) -> None:
        self.asks = False


PLAYED = "While a tape plays, files and the clipboard are left alone."
GONE_SECONDS = 3.0
"""Seconds that the sandbox may be unreachable before it is started again."""
STEPS = 5
"""Number of steps of a start, from opening the desk to settling unclear orders."""
RESUMING = STEPS - 1
"""Finished steps while the desk looks for an earlier run's orders, for up to a minute."""

StartSandbox = Callable[[], Awaitable[Mapping[str, Any]]]
"""Starts the sandbox of this home, or finds the running one, and returns what it reports about
itself. The user sees the text of an exception, and its attribute ``next`` (who has to act) if there
is one."""


class StartFailed(Exception):
    """Raised if the sandbox did not start. Its text is a sentence for the screen."""


Phase = Literal["starting", "ready", "failed"]


def starting_words(*, live: bool, done: int) -> str:
    """Returns the text for the money line while the desk starts. ``done`` is the number of finished
    steps."""
    if done == RESUMING:
        return "the desk: it looks for orders an earlier run began"
    what = "connecting" if live else "starting the sandbox"
    return f"{what}, {done} of {STEPS} ready"


class Session:
    """One run of the desk: the desk, its connection, and how far its start has come."""

    def __init__(
        self,
        settings: Settings,
        start_sandbox: StartSandbox | None,
        *,
        clock: Clock | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        """The clock that the caller passed, otherwise the clock of the machine."""
        self.now_clock = self.service_clock = self.clock
        """The desk's clock, which may run ahead in the sandbox, and the service's clock, by which
        orders are timed."""
        self.link: ConnectedDesk | None = None
        """The part of the desk that uses the connection; None while the desk is not connected."""
        self.background = BackgroundTasks(self.clock)
        """Tasks that keep running when the user goes to a different page."""
        self.on_notice: Callable[[str], None] = lambda said: None
        """Called with a sentence to show as a notice."""
        self.on_new_payee: Callable[[NewPayee], Awaitable[bool]] | None = None
        """Returns True if the user agrees to a new payee for paid API calls; None until set."""
        self.phase: Phase = "starting"
        self.done = 0
        self.reason = ""
        self.reached = False
        """True if the service has answered in this run."""
        self.refused: Exception | None = None
        """Why this program must not use the journal file, so that the desk does not run."""
        self.report: ResumeReport | None = None
        """What became of an earlier run's create requests; None until the desk has looked."""
        self.moves = 0
        """Grows whenever money of the user's own wallet moves."""
        self.quote_options: QuoteOptions | None = None
        """The first page's options for quotes; None for the defaults."""
        self.live_guard = LiveGuard(settings.live)
        self.played = False
        """True if a tape (a file of keys) is played. Files named on the screen and the clipboard
        are then left alone."""
        self.rest = KeyRest()
        self.catalog: Catalog | None = None
        """The catalogue of tokens; None until its cache is read."""
        self._desk: Desk | None = None
        self._start_sandbox = start_sandbox
        self._transport = transport

    @property
    def live(self) -> bool:
        return self.settings.live

    @property
    def desk(self) -> Desk:
        """The open desk. Raises RuntimeError before it is open."""
        if self._desk is None:
            raise RuntimeError("the desk is not open yet")
        return self._desk

    @property
    def opened(self) -> bool:
        return self._desk is not None

    @property
    def ready(self) -> bool:
        return self.phase == "ready" and self.link is not None

    async def begin(self, changed: Callable[[], object]) -> bool:
        """Opens the desk and connects it. Calls ``changed`` after each step. After an expected
        failure, stores the cause in ``reason`` and returns False. Raises any other error."""
        self.phase, self.reason = "starting", ""
        try:
            await self._steps(changed)
        except Exception as error:
            # Asked here and not in the clause: a desk that is left while it starts loads nothing.
            if _refuses_journal(error):
                self.refused = error
            elif not isinstance(error, _expected_failures()):
                self.phase, self.reason = "failed", _sentence(error)
                changed()
                raise
            log.warning("the desk did not connect: %s", error)
            self.phase, self.reason = "failed", _sentence(error)
        else:
            self.phase = "ready"
        changed()
        return self.phase == "ready"

    async def _steps(self, changed: Callable[[], object]) -> None:
        def step(done: int) -> None:
            self.done = done
            changed()

        self.done = 1 if self._desk is not None else 0
        if self.catalog is None:
            self.catalog = await self._read_catalog()
            self.now_clock = self.service_clock = self.catalog.clock
            changed()
        if self._desk is None:
            self._desk = await self._open(self.catalog)
            self.service_clock = self._desk.service_clock
            step(1)
        desk = self.desk
        await load(LINK, self.rest)
        from swapdesk.flows import connection as connections

        if self.live:
            connection = connections.live_connection(self.settings)
        else:
            ready = await self._sandbox()
            if put_aside := ready.get("putAside"):
                self.on_notice(f"{put_aside}.")
            connection = connections.sandbox_connection(ready, self.settings)
        step(2)
        self.link = None
        await desk.connect(connection)
        self.link = desk.link
        await self.link.api.health()
        self.reached = True
        step(3)
        await desk.refresh_reference()
        step(4)
        if not connection.read_only:
            self.report = await desk.resume()
        step(5)

    async def _sandbox(self) -> Mapping[str, Any]:
        if self._start_sandbox is None:
            raise StartFailed("This desk was opened without a sandbox.")
        try:
            return await self._start_sandbox()
        except Exception as error:
            # The starter belongs to another floor: its errors are known by their words only.
            who = getattr(error, "next", "")
            said = _sentence(error)
            raise StartFailed(f"{said} Next {who}." if who else said) from error

    async def _read_catalog(self) -> Catalog:
        from swapdesk.flows.catalog.catalog import open_catalog

        catalog = open_catalog(self.settings, self.clock)
        try:
            await catalog.load_list_in_steps()
        except BaseException:
            catalog.close()
            raise
        return catalog

    async def _open(self, catalog: Catalog) -> Desk:
        await load(DESK, self.rest)
        from swapdesk.flows.desk import Desk

        await catalog.load_models_in_steps()
        desk = Desk.open(
            self.settings, transport=self._transport, catalog=catalog, background=self.background
        )
        if self.settings.pay.value is not None:
            desk.payer.told = self.on_notice
            if self.on_new_payee is not None:
                desk.payer.consent = self.on_new_payee
        return desk

    async def sandbox_gone(self) -> None:
        """Waits until the sandbox has been unreachable for more than :data:`GONE_SECONDS`, then
        returns."""
        from swapdesk.client.errors import NoAnswer, Unreachable

        missing_since: float | None = None
        while True:
            await self.clock.sleep(1.0)
            link = self.desk.link
            if link.tracker.stream_state == "live":
                missing_since = None
                continue
            try:
                await link.api.health()
            except (Unreachable, NoAnswer):
                now = self.clock.monotonic()
                missing_since = now if missing_since is None else missing_since
                if now - missing_since > GONE_SECONDS:
                    return
            else:
                missing_since = None

    async def close(self) -> None:
        desk, catalog = self._desk, self.catalog
        self._desk = self.catalog = self.link = None
        if desk is not None:
            await desk.close()
        elif catalog is not None:
            catalog.close()


def _refuses_journal(error: Exception) -> bool:
    from swapdesk.flows.journal.journal_migration import JournalRefused

    return isinstance(error, JournalRefused)


def _expected_failures() -> tuple[type[Exception], ...]:
    import sqlite3

    from swapdesk.client.errors import ClientError
    from swapdesk.flows.connection import NotConfigured

    return (
        StartFailed,
        NotConfigured,
        ClientError,
        OSError,
        sqlite3.Error,
        LookupError,
        ValueError,
        TimeoutError,
    )


def _sentence(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename} cannot be used: {error.strerror}"
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
