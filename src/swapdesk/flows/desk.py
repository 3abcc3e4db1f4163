"""The whole desk without a screen. Both front ends use this and nothing beneath it.

A desk opens at once on what is on disk (journal, token cache, address book) and connects
when its service is there; until then everything local works.
"""

from __future__ import annotations

import asyncio
import logging
import random

import httpx

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError
from swapdesk.client.exchange_log import ExchangeLog
from swapdesk.client.live import OrderStream
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import Clock, SystemClock
from swapdesk.flows.address_book import AddressBook
from swapdesk.flows.catalog import Catalog
from swapdesk.flows.connection import Connection
from swapdesk.flows.exchange import ExchangeFlow
from swapdesk.flows.funding import SandboxFaucet
from swapdesk.flows.journal import Journal
from swapdesk.flows.journal_file import JournalUnavailable
from swapdesk.flows.quoting import QuoteDesk
from swapdesk.flows.resume import ResumeReport, resume
from swapdesk.flows.tracking import Tracker
from swapdesk.paths import private_directory
from swapdesk.settings import Settings

log = logging.getLogger(__name__)

LIVE_SKEW_SECONDS = 120.0
"""Above this difference between the clocks nothing is created live."""

SETTLE_SECONDS = 60.0
"""How often a request of unknown outcome is looked for while the desk runs."""


class NotConnected(Exception):
    """The service of this desk is not there yet."""


class Link:
    """Everything that exists only while the desk knows its service."""

    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        clock: Clock,
        catalog: Catalog,
        journal: Journal,
        exchange_log: ExchangeLog,
        transport: httpx.AsyncBaseTransport | None,
        running: set[str],
    ) -> None:
        self.connection = connection
        rng = random.Random()  # jitter only
        self.api = PartnerApi(
            connection.url,
            connection.credentials,
            clock=clock,
            rng=rng,
            transport=transport,
            exchange_log=exchange_log,
        )
        self.stream = OrderStream(None, connection.credentials, clock, self.api, rng)
        self.quotes = QuoteDesk(self.api, catalog, clock)
        self.exchange = ExchangeFlow(
            self.api,
            journal,
            clock,
            lower_tolerance=settings.output_tolerance.value,
            skew_limit=LIVE_SKEW_SECONDS if settings.live else None,
            running=running,
        )
        self.tracker = Tracker(journal, self.api, clock, self.stream, flow=self.exchange)
        self.control = SandboxControl(*connection.control) if connection.control else None
        self.faucet = SandboxFaucet(self.control, clock, journal.calls) if self.control else None
        self._journal = journal
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []

    def follow(self) -> None:
        """Start following orders; without a key there is nothing to follow."""
        if not self._tasks and not self.connection.read_only:
            self._tasks = [
                asyncio.create_task(self.tracker.run(), name="order-tracker"),
                asyncio.create_task(self._settle_for_ever(), name="unknown-outcomes"),
            ]

    async def settle(self) -> ResumeReport:
        """Find out what became of every request without a known outcome."""
        report = await resume(self._journal, self.exchange)
        for _, created in report.found:
            self.tracker.adopt(created.order.service_id)
        return report

    async def _settle_for_ever(self) -> None:
        while True:
            await self._clock.sleep(SETTLE_SECONDS)
            try:
                await self.settle()
            except (ClientError, JournalUnavailable) as error:
                log.info("unknown outcomes stay open: %s", error)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.control is not None:
            await self.control.close()
        await self.api.aclose()


class Desk:
    """Open with :meth:`open`, then :meth:`connect`; :meth:`close` at the end."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        journal: Journal,
        catalog: Catalog,
        book: AddressBook,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.journal = journal
        self.catalog = catalog
        self.book = book
        self.exchange_log = ExchangeLog()
        self._transport = transport
        self._link: Link | None = None
        self._running: set[str] = set()

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        clock: Clock | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> Desk:
        """The desk of a profile, from disk alone. In the sandbox its clock follows the
        service's ``Date``; live it is the machine's, and the skew is only shown."""
        base = clock or SystemClock()
        desk_clock: Clock = base if settings.live else ServerClock(base)
        places = settings.places
        private_directory(places.root)
        return cls(
            settings,
            desk_clock,
            Journal.open(places.journal, desk_clock),
            Catalog.open(places.catalog, desk_clock),
            AddressBook.load(places.address_book, sandbox=not settings.live),
            transport,
        )

    @property
    def link(self) -> Link:
        """What needs the service. Raises NotConnected."""
        if self._link is None:
            raise NotConnected("the service is not connected yet")
        return self._link

    @property
    def connected(self) -> bool:
        return self._link is not None

    async def connect(self, connection: Connection, *, follow: bool = True) -> None:
        """Connect, or connect again after the sandbox was started anew."""
        previous, self._link = self._link, None
        if previous is not None:
            await previous.close()
        link = Link(
            connection,
            self.settings,
            self.clock,
            self.catalog,
            self.journal,
            self.exchange_log,
            self._transport,
            self._running,
        )
        await link.tracker.load_in_steps()
        self._link = link
        if follow:
            link.follow()

    async def refresh_reference(self) -> None:
        """Fill the token cache when it is empty or old, and learn the rate limits."""
        link = self.link
        if self.catalog.stale:
            await self.catalog.refresh(link.api)
        if not link.connection.read_only:
            try:
                await link.api.get_rate_limits()
            except ClientError as error:
                log.info("the rate limits are not known: %s", error)

    async def resume(self) -> ResumeReport:
        """Settle unfinished business of an earlier run, then take its orders into view."""
        try:
            return await self.link.settle()
        except JournalUnavailable as error:
            return ResumeReport(problem=str(error))

    async def close(self) -> None:
        if self._link is not None:
            await self._link.close()
            self._link = None
        self.catalog.close()
        self.journal.close()
