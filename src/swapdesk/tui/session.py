"""One run of the desk: it is opened from disk, connected to its service, and reconnected.

After the first frame the catalogue is loaded first, so that tokens can be searched from the cache.
Heavy imports follow: models and journal, then the client. An import holds the interpreter, even in
a thread, and would delay keys. Therefore modules are imported one at a time, in pauses between
keys.

On the sandbox profile the session starts its sandbox, and restarts it if it disappears. A live
service is only connected to. The user agrees to real money once a session, by typing a word before
the first create.
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
"""Modules to import before the desk is opened, in this order: the token page, which needs only the
list of tokens; what opening a desk needs; and what the first page needs to read its input line. A
module comes after the modules that it imports itself."""
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
"""Modules to import before the desk is connected: the client with everything that its libraries
would otherwise import during the first request or the first message of the stream, and the page of
orders."""
PAGES = (
    "swapdesk.tui.screens.quotes",
    "swapdesk.tui.screens.create",
    "swapdesk.tui.screens.deposit",
)
"""The pages of one swap, imported as soon as the desk is connected, so that no key has to wait for
them."""

REST_SECONDS = 0.15
"""Seconds after a key before the next module may be imported. Within a word, keys follow each other
faster than this."""
PATIENCE_SECONDS = 1.5
"""Seconds in total that imports may wait for pauses between keys. When these seconds are used up,
the remaining modules are imported even while the user types."""


class KeyRest:
    """Waits for pauses between keys. The application calls :meth:`key` at every key. :meth:`wait`
    returns once no key was pressed for ``rest`` seconds. All waits together take at most
    ``patience`` seconds.

    Time is measured by the event loop, because the desk's clock may run faster than real time.
    """

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
        """Returns how many more seconds :meth:`wait` has to wait from the event loop's time
        ``now``; 0 or less if none."""
        return min(self._last + self._rest - now, self._patience)


async def load(modules: Iterable[str], rest: KeyRest) -> None:
    """Imports ``modules`` one after the other in a thread, each in a pause between keys. Raises
    ImportError if a module cannot be loaded.

    A module that does not exist is skipped. A library may have renamed it, and the code that needs
    it imports it by its right name.
    """
    for name in modules:
        await rest.wait()
        with contextlib.suppress(ModuleNotFoundError):
            await asyncio.to_thread(importlib.import_module, name)


PHRASE = "live"


class LiveGuard:
    """Records whether the user still has to agree to real money by typing a word. The word is asked
    for once per run on a live service and never in the sandbox."""

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
"""Number of steps of a start: the desk is open, its service is started, the service has answered,
the tokens are known, and orders that an earlier run left unclear are settled."""
RESUMING = STEPS - 1
"""Number of finished steps while the desk looks for orders that an earlier run began, which takes
up to a minute."""

StartSandbox = Callable[[], Awaitable[Mapping[str, Any]]]
"""A function that starts the sandbox of this home, or finds the one that is running, and returns
what the sandbox reports about itself. If it raises an exception, the text of the exception is shown
to the user. An attribute ``next`` of the exception, if there is one, says who has to act."""


class StartFailed(Exception):
    """Raised if the sandbox did not start. Its text is a sentence for the screen."""


Phase = Literal["starting", "ready", "failed"]


def starting_words(*, live: bool, done: int) -> str:
    """Returns the text for the money line while the desk starts: what it is waiting for, and how
    many steps are done. ``done`` is the number of finished steps; ``live`` is True if the service
    is not the sandbox."""
    if done == RESUMING:
        return "the desk: it looks for orders an earlier run began"
    what = "connecting" if live else "starting the sandbox"
    return f"{what}, {done} of {STEPS} ready"


class Session:
    """One run of the desk: the desk itself, its connection, and how far its start has come.
    ``phase`` is the state of the start, ``done`` is the number of finished steps (of
    :data:`STEPS`), and ``reason`` says why the start failed.

    ``catalog`` is set before the first step is done, ``desk`` with the first step, and ``link``
    before the third.
    """

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
        """``now_clock`` is the desk's clock, which in the sandbox may run ahead of the machine's.
        ``service_clock`` is the clock of the service, by which orders are timed. Both are the
        machine's clock at first; ``now_clock`` changes when the tokens are read, ``service_clock``
        when the desk is open."""
        self.link: ConnectedDesk | None = None
        """The part of the desk that uses the connection; None while the desk is not connected."""
        self.background = BackgroundTasks(self.clock)
        """Tasks that keep running when the user goes to a different page."""
        self.on_notice: Callable[[str], None] = lambda said: None
        """Called with a sentence to show as a notice, for example what an API call costs or that an
        old sandbox was put aside."""
        self.on_new_payee: Callable[[NewPayee], Awaitable[bool]] | None = None
        """Asks the user whether paid API calls may be paid to a new payee, and returns True if the
        user agrees. None until the application sets it."""
        self.phase: Phase = "starting"
        self.done = 0
        self.reason = ""
        self.reached = False
        """True if the service has answered in this run."""
        self.refused: Exception | None = None
        """The error that says why this program must not use the journal file, for example because a
        newer version of the program wrote it. The desk then does not run. None if the journal may
        be used."""
        self.report: ResumeReport | None = None
        """What became of the create requests that an earlier run left open; None until the desk has
        looked for their orders."""
        self.moves = 0
        """A counter that grows whenever money of the user's own wallet moves. Pages compare it with
        the value that they saw last."""
        self.quote_options: QuoteOptions | None = None
        """The options with which the first page asks for quotes; None if the user chose none, so
        that the defaults apply."""
        self.live_guard = LiveGuard(settings.live)
        self.played = False
        """True if a tape (a text file of keys) is played instead of a user typing. The desk then
        reads and writes no file that is named on the screen, and does not change the clipboard."""
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
        """The open desk. Raises RuntimeError before the desk is open."""
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
        """Opens the desk and connects it to the service; calls ``changed`` after each step. Returns
        True when all steps are done. Returns False after an expected failure such as a service out
        of reach, with the cause in ``reason``. Any other exception is raised again."""
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
        """Returns the catalogue with the list of tokens from its cache. Neither the data models nor
        the client are imported for it."""
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
    """Returns the types of exceptions that a start may raise for ordinary reasons, such as a
    service out of reach. They are shown on the screen; any other exception is a defect."""
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
