"""The whole desk without a screen, the one interface of both front ends.

A desk opens at once from disk (journal, token cache, address book) and connects when its service is
there (``link``); until then everything local works.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

from swapdesk.background import BackgroundTasks
from swapdesk.client.exchange_log import ExchangeLog
from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import Clock, SystemClock
from swapdesk.flows.catalog.catalog import Catalog, open_catalog
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_migration import JournalRefused

if TYPE_CHECKING:
    import httpx2

    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.connection import Connection
    from swapdesk.flows.creation.resume import ResumeReport
    from swapdesk.flows.deposits.funding import DepositWays
    from swapdesk.flows.payees.address_book import AddressBook
    from swapdesk.flows.wallet.call_payments import CallPayer
    from swapdesk.flows.wallet.local_wallet import LocalWallet
    from swapdesk.settings import Settings
    from swapdesk.wallet.accounts import ChainLink


log = logging.getLogger(__name__)


class NotConnected(Exception):
    """The desk is not connected to its service yet."""


class Desk:
    """Open with :meth:`open`, then :meth:`connect`; :meth:`close` at the end."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        service_clock: ServerClock,
        journal: Journal,
        catalog: Catalog,
        transport: httpx2.AsyncBaseTransport | None,
        background: BackgroundTasks | None = None,
    ) -> None:
        self.background = background or BackgroundTasks(clock)
        self.settings = settings
        self.clock = clock
        self.service_clock = service_clock
        """The clock of orders: their deadlines and states are the service's."""
        self.journal = journal
        self.catalog = catalog
        self.exchange_log = ExchangeLog()
        self._transport = transport
        self._link: ConnectedDesk | None = None
        self._wallet: LocalWallet | None = None
        self._ways: DepositWays | None = None
        self._running: set[str] = set()

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        clock: Clock | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        catalog: Catalog | None = None,
        background: BackgroundTasks | None = None,
    ) -> Desk:
        """Opens the desk of a profile from disk alone, on the clock of its catalogue. ``catalog``
        may be open already and becomes the desk's. ``background`` runs its tasks and reports their
        defects. Raises JournalRefused."""
        mine = None if catalog is not None else open_catalog(settings, clock or SystemClock())
        catalog = catalog or mine
        assert catalog is not None
        places, service_clock = settings.places, ServerClock.over(catalog.clock)
        try:
            journal = Journal.open(places.journal, catalog.clock, service_clock)
        except JournalRefused:
            if mine is not None:
                mine.close()
            raise
        return cls(
            settings,
            catalog.clock,
            service_clock,
            journal,
            catalog,
            transport,
            background,
        )

    @cached_property
    def book(self) -> AddressBook:
        """The address book, read when first needed."""
        from swapdesk.flows.payees.address_book import AddressBook

        return AddressBook.load(self.settings.places.address_book, sandbox=not self.settings.live)

    @property
    def link(self) -> ConnectedDesk:
        """The connected half. Raises NotConnected."""
        if self._link is None:
            raise NotConnected("the service is not connected yet")
        return self._link

    @property
    def connected(self) -> bool:
        return self._link is not None

    @property
    def wallet(self) -> LocalWallet:
        """The keys of this profile on its connected chains; the agent starts with the first
        question."""
        from swapdesk.flows.wallet.local_wallet import LocalWallet

        if self._wallet is None:
            self._wallet = LocalWallet(
                self.settings,
                self.clock,
                self.chain_links(),
                self.catalog,
                makers=self._makers(),
            )
        return self._wallet

    @cached_property
    def payer(self) -> CallPayer:
        """Pays calls from the wallet, for a profile with ``pay``."""
        from swapdesk.flows.wallet.call_payments import CallPayer

        return CallPayer(lambda: self.wallet, self.clock, log.info)

    def chain_links(self) -> tuple[ChainLink, ...]:
        from swapdesk.flows.wallet.chain_links import live_links

        if self.settings.live:
            return live_links(self.settings, self.catalog.chain)[0]
        return self._link.connection.chains if self._link is not None else ()

    @property
    def deposit_ways(self) -> DepositWays:
        """Who can pay deposits from here; asking starts no agent."""
        from swapdesk.flows.deposits.funding import DepositWays

        if self._ways is None:
            self._ways = DepositWays(
                self.chain_links,
                lambda: self._link.faucet if self._link is not None else None,
                self.service_clock,
                self.journal.ledger,
                live=self.settings.live,
            )
        return self._ways

    def _makers(self) -> tuple[tuple[str, str], ...]:
        return self._link.connection.makers if self._link is not None else ()

    async def connect(self, connection: Connection, *, follow: bool = True) -> None:
        """Connects, or connects again after the sandbox restarted. Orders that something may still
        happen to are tracked then. If ``follow``, the newest orders are tracked too, and all others
        soon (:meth:`ConnectedDesk.follow`); otherwise the tracker loads them on demand."""
        from swapdesk.flows.connected_desk import ConnectedDesk

        previous, self._link = self._link, None
        if previous is not None:
            await previous.close()
        link = ConnectedDesk(
            connection,
            self.settings,
            self.clock,
            self.service_clock,
            self.catalog,
            self.journal,
            self.exchange_log,
            self._transport,
            self._running,
            self.background,
            self.payer if connection.credentials.pays else None,
        )
        # The link brought the HTTP client, which took as long as the first orders take.
        await self.clock.sleep(0)
        await link.tracker.load_present()
        if follow:
            link.tracker.load_newest()
        self._link = link
        if self._wallet is not None and (self._wallet.links, self._wallet.makers) != (
            self.chain_links(),
            self._makers(),
        ):
            # The chains answer elsewhere now: the agent that knows the old places ends.
            await self._wallet.close()
            self._wallet.links, self._wallet.makers = self.chain_links(), self._makers()
        if follow:
            link.follow()

    async def refresh_reference(self) -> None:
        """Fills the token cache if it is empty or old, and learns the rate limits."""
        link = self.link
        if self.catalog.stale:
            await self.catalog.refresh(link.api)
        elif self.catalog.overtaken:
            # Another desk of this home was quicker.
            await self.catalog.load_in_steps()
        await link.learn_rate_limits()

    async def resume(self, patience: float | None = None) -> ResumeReport:
        """Settles unfinished business of an earlier run, then tracks its orders. ``patience``
        limits the seconds for callers that create nothing afterwards."""
        from swapdesk.flows.creation.resume import ResumeReport

        try:
            return await self.link.settle(patience)
        except JournalUnavailable as error:
            return ResumeReport(problem=str(error))

    async def close(self) -> None:
        if self._wallet is not None:
            await self._wallet.close()
            self._wallet = None
        if self._link is not None:
            await self._link.close()
            self._link = None
        self.catalog.close()
        self.journal.close()
