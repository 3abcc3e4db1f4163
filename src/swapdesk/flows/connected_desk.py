"""The parts of a desk that need the service; they exist only while the desk is connected."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import httpx2

from swapdesk.background import BackgroundTasks
from swapdesk.client.api import PartnerApi
from swapdesk.client.budget import OwnCalls
from swapdesk.client.errors import ClientError
from swapdesk.client.exchange_log import ExchangeLog
from swapdesk.client.live import OrderStream
from swapdesk.client.payments import PaysCalls
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.client.server_clock import ServerClock
from swapdesk.client.stream_socket import StreamTimes
from swapdesk.flows.batch.order_payments import OrderPayments
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.connection import LIVE_SKEW_SECONDS, Connection, clock_problem
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.resume import ResumeReport, resume
from swapdesk.flows.deposits.funding import SandboxFaucet
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.settings import Settings

if TYPE_CHECKING:
    from swapdesk.flows.account.reading import AccountReader
    from swapdesk.flows.quotes.quoting import QuoteDesk

log = logging.getLogger(__name__)

PAID_TIMES = StreamTimes(poll_down=60.0)
"""Stream times for a profile that pays for each poll: one poll a minute."""

SETTLE_SECONDS = 60.0
"""Seconds between two searches for the outcomes of requests that are still unknown."""

PAST_PAUSE = 0.02
"""Pause in seconds between two steps of loading past orders, for keys."""


class ConnectedDesk:
    """The parts of a desk that need a connection. When the desk connects again, only ``connection``
    is new."""

    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        service_clock: ServerClock,
        catalog: Catalog,
        journal: Journal,
        exchange_log: ExchangeLog,
        transport: httpx2.AsyncBaseTransport | None,
        running: set[str],
        background: BackgroundTasks,
        payer: PaysCalls | None = None,
    ) -> None:
        self.connection = connection
        self._live = settings.live
        self._catalog = catalog
        self._journal = journal
        self._background = background
        self._clock = clock = catalog.clock
        rng = random.Random()  # jitter only
        self.api = PartnerApi(
            connection.url,
            connection.credentials,
            clock=clock,
            rng=rng,
            transport=transport,
            exchange_log=exchange_log,
            own_calls=OwnCalls(settings.places.own_calls),
            payer=payer,
            server=service_clock,
        )
        self.stream = OrderStream(
            None,
            connection.credentials,
            service_clock,
            self.api,
            rng,
            times=PAID_TIMES if connection.credentials.pays else None,
            background=background,
            transport=transport,
        )
        self.exchange = ExchangeFlow(
            self.api,
            journal,
            clock,
            lower_tolerance=settings.output_tolerance.value,
            skew_limit=LIVE_SKEW_SECONDS if settings.live else None,
            running=running,
        )
        self.tracker = Tracker(
            journal,
            self.api,
            service_clock,
            self.stream,
            self.exchange,
            OrderPayments(journal),
            background,
        )
        self.transport = transport
        self.control: SandboxControl | None = None
        self.faucet: SandboxFaucet | None = None
        if connection.control is not None:
            self.control = SandboxControl(*connection.control, transport=transport)
            self.faucet = SandboxFaucet(self.control, clock, journal.ledger)
        self._tasks: list[asyncio.Task[None]] = []
        self.on_settled: Callable[[ResumeReport], object] | None = None
        """Called with the report, unless empty, of a periodic search for unknown outcomes."""
        self.on_past_known: Callable[[], object] | None = None
        """Called once every order of the journal is tracked; None if nobody listens."""

    @cached_property
    def quotes(self) -> QuoteDesk:
        from swapdesk.flows.quotes.quoting import QuoteDesk

        return QuoteDesk(self.api, self._catalog, self._clock)

    @cached_property
    def account(self) -> AccountReader:
        from swapdesk.flows.account.reading import AccountReader

        return AccountReader(self.api)

    def clock_problem(self) -> str | None:
        """Returns a sentence if a live service's clock differs too much from this machine's for
        orders to be created; otherwise None."""
        return clock_problem(self.api.skew()) if self._live else None

    def follow(self) -> None:
        """Starts reading past orders and, if the profile has a key, following open orders."""
        if self._tasks:
            return
        start = self._background.start
        self._tasks = [start("reading past orders", self._read_past)]
        if not self.connection.read_only:
            self._tasks += [
                asyncio.create_task(self.tracker.run(), name="following orders"),
                start("looking for unknown outcomes", self._settle_for_ever),
            ]

    async def learn_rate_limits(self) -> None:
        """Asks the service for its rate limits. A service that refuses or does not answer is only
        logged."""
        if self.connection.read_only:
            return
        try:
            await self.api.get_rate_limits()
        except ClientError as error:
            log.info("the rate limits are not known: %s", error)

    async def settle(self, patience: float | None = None) -> ResumeReport:
        """Looks up the outcome of every request whose outcome is unknown. ``patience`` limits the
        time in seconds; None sets no limit (see :func:`resume`)."""
        report = await resume(self._journal, self.exchange, patience)
        for _, created in report.found:
            self.tracker.adopt(created.order.service_id)
        return report

    async def _read_past(self) -> None:
        while not self.tracker.past_known:
            try:
                await self.tracker.load_past(PAST_PAUSE)
            except JournalUnavailable as error:
                log.error("the journal cannot be read: %s", error)
                await self._clock.sleep(SETTLE_SECONDS)
                continue
            if self.on_past_known is not None:
                self.on_past_known()

    async def _settle_for_ever(self) -> None:
        while True:
            await self._clock.sleep(SETTLE_SECONDS)
            try:
                report = await self.settle()
                if self.on_settled is not None and not report.empty:
                    self.on_settled(report)
            except (ClientError, JournalUnavailable) as error:
                log.info("unknown outcomes stay open: %s", error)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.control is not None:
            await self.control.close()
        await self.api.aclose()
