"""The wallet that a desk has opened, with everything that belongs to one profile. The keys are
closed if the desk has not used them for a while."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from swapdesk.agent.keys.key_file import KeyDirectory, WalletLock
from swapdesk.agent.process.request import Answer, refuse_far_clock
from swapdesk.agent.process.wallet import Wallet
from swapdesk.agent.spending.policy_file import PolicyKeeper
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.agent.transactions.records import Records
from swapdesk.clock import Clock, SystemClock
from swapdesk.wallet.accounts import Accounts, WalletPlace
from swapdesk.wallet.protocol import Frame, Refused

if TYPE_CHECKING:
    from swapdesk.agent.process.chains import Chains
    from swapdesk.agent.process.signing import Reviewing


MIN_SECONDS = 0.01
MAX_SECONDS = 24 * 3600.0


class IdleLock:
    """Calls ``lock`` once if no request came for ``seconds``. Time while the machine sleeps counts
    too."""

    def __init__(self, clock: Clock, seconds: float, lock: Callable[[], None]) -> None:
        self._clock = clock
        self._seconds = min(MAX_SECONDS, max(MIN_SECONDS, seconds))
        self._lock = lock
        self._last = clock.monotonic()
        self._watch: asyncio.Task[None] | None = None

    def used(self) -> None:
        """Restarts the countdown to the lock, because a request came."""
        self._last = self._clock.monotonic()

    def start(self) -> None:
        """Starts the countdown to the lock, because keys were opened."""
        self.used()
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._wait(), name="idle lock")

    @property
    def overdue(self) -> bool:
        return self._clock.monotonic() - self._last >= self._seconds

    async def _wait(self) -> None:
        while not self.overdue:
            await self._clock.sleep(self._last + self._seconds - self._clock.monotonic())
        self._lock()


class OpenedWallet:
    """An open wallet with its keys, records and policy. ``dropped`` is called when keys are locked
    because no request came. The constructor may raise Refused or UnsafePlace if the key directory
    cannot be used."""

    def __init__(self, place: WalletPlace, dropped: Callable[[], None], *, cost: int) -> None:
        directory = Path(place.directory)
        if not directory.is_absolute():
            raise Refused("bad_request", "the directory of keys must be an absolute path")
        refuse_far_clock(place.clock_offset)
        keys = KeyDirectory(directory, place.profile)
        self.place = place
        self._dropped = dropped
        self._lock = WalletLock(keys.path)
        self._writable = self._lock.take()
        self.clock = SystemClock(0.0 if place.live else max(0.0, place.clock_offset))
        self.records = Records(
            RecordsFile(keys.path, writable=self._writable), self.clock.monotonic
        )
        self.policy = PolicyKeeper(keys.path, place.profile, lambda: self.records.spent)
        self.keys = Wallet(keys, place.profile, self.policy, loaded=self.loaded, cost=cost)
        self.idle = IdleLock(self.clock, place.auto_lock_seconds, self._idle_lock)
        self.one_at_a_time = asyncio.Lock()
        """The lock that is held while something is signed, sent or looked up."""
        self._chains: Chains | None = None
        self._reviewing: Reviewing | None = None
        # Signing libraries are imported while the pass phrase is typed or a key is derived: the
        # derivation releases the interpreter.
        self._warm = asyncio.create_task(asyncio.to_thread(load_signing))

    async def loaded(self) -> None:
        """Waits until all libraries for reviewing and signing are imported."""
        await self._warm

    def told(self) -> Accounts:
        """Returns the accounts as reported to the desk."""
        accounts, unusable = self.keys.accounts()
        return Accounts(accounts, unusable, self.keys.unlocked, not self._writable)

    def close_keys(self) -> None:
        """Drops every private key and every review, so that nothing reviewed before can be
        signed."""
        self.keys.lock()
        if self._reviewing is not None:
            self._reviewing.forget()

    def _idle_lock(self) -> None:
        if self.keys.unlocked:
            self.close_keys()
            self._dropped()

    def require_writing(self) -> None:
        """Takes the lock of the key directory if it is free. Raises Refused if another desk holds
        it."""
        if self._writable:
            return
        if not self._lock.take():
            raise Refused("read_only", "another desk has this wallet; this one only looks")
        self.records.close()
        file = RecordsFile(Path(self.place.directory), writable=True)
        self.records = Records(file, self.clock.monotonic)
        self._writable = True
        self._reviewing = None

    @property
    def chains(self) -> Chains:
        if self._chains is None:
            from swapdesk.agent.process.chains import Chains

            self._chains = Chains(self.place.chains, lambda name: self.records.genesis(name))
        return self._chains

    @property
    def reviewing(self) -> Reviewing:
        if self._reviewing is None:
            from swapdesk.agent.process.signing import Reviewing

            self._reviewing = Reviewing(
                self.place, self.keys, self.chains, self.records, self.policy, self.clock
            )
        return self._reviewing


Handler = Callable[[OpenedWallet, Frame], Awaitable[Answer]]
"""A function that answers one kind of request."""


def load_signing() -> None:
    """Imports all libraries for signing. Run it in one thread before other threads import them:
    circular imports fail in concurrent threads."""
    for name in (
        "coincurve",
        "eth_account.messages",
        "swapdesk.agent.process.chain_handlers",
        "swapdesk.agent.process.signing",
    ):
        importlib.import_module(name)
