"""The whole desk without a screen, for both front ends. A desk opens at once from files on disk
(journal, token cache, address book) and connects as soon as its service is available."""

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
    """Raised if the desk is not connected to its service yet."""


class Desk:
    """A desk, made by :meth:`open`; then call :meth:`connect`, and :meth:`close` at the end."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        transport: httpx2.AsyncBaseTransport | None = None,
        background: BackgroundTasks | None = None,
    ) -> None:
        """Opens the journal. Raises JournalRefused if it cannot be used."""
        self.settings = settings
        self.catalog = catalog
        self.clock = catalog.clock
        self.service_clock = ServerClock.over(self.clock)
        """The service's clock, by which deadlines and states of orders are judged."""
        self.journal = Journal.open(settings.places.journal, self.clock, self.service_clock)
        self.background = background or BackgroundTasks(self.clock)
        self._transport = transport
        self.exchange_log = ExchangeLog()
        self._running: set[str] = set()
        """Ids of intents whose create request is under way. They are kept while the desk
        reconnects."""
        self._link: ConnectedDesk | None = None
        self._wallet: LocalWallet | None = None

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
        """Opens the desk of a profile without the service. A given ``catalog`` must be open; its
        clock is used, and the desk closes it. Raises JournalRefused if the journal cannot be
        used."""
        if catalog is not None:
            return cls(settings, catalog, transport, background)
        catalog = open_catalog(settings, clock or SystemClock())
        try:
            return cls(settings, catalog, transport, background)
        except JournalRefused:
            catalog.close()
            raise

    @cached_property
    def book(self) -> AddressBook:
        from swapdesk.flows.payees.address_book import AddressBook

        return AddressBook.load(self.settings.places.address_book, sandbox=not self.settings.live)

    @property
    def link(self) -> ConnectedDesk:
        """The part of the desk that needs the service. Raises NotConnected if there is no
        connection."""
        if self._link is None:
            raise NotConnected("the service is not connected yet")
        return self._link

    @property
    def connected(self) -> bool:
        return self._link is not None

    @property
    def wallet(self) -> LocalWallet:
        """The wallet with this profile's keys. Its agent process starts at the first use."""
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
        """The object that pays for API calls from the wallet, if the profile has the setting
        ``pay``."""
        from swapdesk.flows.wallet.call_payments import CallPayer

        return CallPayer(lambda: self.wallet, self.clock, log.info)

    def chain_links(self) -> tuple[ChainLink, ...]:
        """Returns the nodes for the desk's chains: the configured ones or, if connected, those of
        the sandbox."""
        from swapdesk.flows.wallet.chain_links import live_links

        if self.settings.live:
            return live_links(self.settings, self.catalog.chain)[0]
        return self._link.connection.chains if self._link is not None else ()

    @cached_property
    def deposit_ways(self) -> DepositWays:
        """The ways in which the desk can pay deposits. Reading them does not start the wallet
        agent."""
        from swapdesk.flows.deposits.funding import DepositWays

        return DepositWays(
            self.chain_links,
            lambda: self._link.faucet if self._link is not None else None,
            self.service_clock,
            self.journal.ledger,
            live=self.settings.live,
        )

    def _makers(self) -> tuple[tuple[str, str], ...]:
        return self._link.connection.makers if self._link is not None else ()

    async def connect(self, connection: Connection, *, follow: bool = True) -> None:
        """Connects to the service, also after a restart of the sandbox. Orders that may still
        change are loaded before this returns. All others are loaded afterwards if ``follow`` is
        True, otherwise when they are needed."""
        from swapdesk.flows.connected_desk import ConnectedDesk

        previous, self._link = self._link, None
        if previous is not None:
            await previous.close()
        link = ConnectedDesk(
            connection,
            self.settings,
            self.service_clock,
            self.catalog,
            self.journal,
            self.exchange_log,
            self._transport,
            self._running,
            self.background,
            self.payer if connection.credentials.pays else None,
        )
        # Importing the HTTP client took as long as the first orders take: keys have a turn.
        await self.clock.sleep(0)
        await link.tracker.load_present()
        if follow:
            link.tracker.load_newest()
        self._link = link
        chains, makers = self.chain_links(), self._makers()
        if self._wallet is not None and (self._wallet.links, self._wallet.makers) != (
            chains,
            makers,
        ):
            # The agent knows the nodes of before: it ends, and the next one learns these.
            await self._wallet.close()
            self._wallet.links, self._wallet.makers = chains, makers
        if follow:
            link.follow()

    async def refresh_reference(self) -> None:
        """Refreshes the token cache if it is empty or old, and reads the rate limits."""
        link = self.link
        if self.catalog.stale:
            await self.catalog.refresh(link.api)
        elif self.catalog.overtaken:
            # Another desk of this home was quicker.
            await self.catalog.load_in_steps()
        await link.learn_rate_limits()

    async def resume(self, patience: float | None = None) -> ResumeReport:
        """Looks up the outcomes that an earlier run left unknown, and tracks the orders found.
        ``patience`` limits the time in seconds; None sets no limit. After a limited lookup, nothing
        may be created."""
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
