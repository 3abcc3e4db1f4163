"""The accounts of this profile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import on
from textual.message import Message
from textual.widget import Widget

from swapdesk.flows.batch.smart_accounts import smart_accounts
from swapdesk.flows.notation import age
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import Proposal, UnderWay
from swapdesk.flows.wallet.revoking import Revoking
from swapdesk.flows.wallet.wallet_reading import Told, WalletReading
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.wallets import (
    CopyWalletAddress,
    LockWallet,
    ReadChains,
    RevokeAllowance,
    Wallets,
)
from swapdesk.tui.page import Page
from swapdesk.tui.screens.wallet_rows import (
    COLUMNS,
    Subject,
    revoke_question,
    revoke_said,
    wallet_pane,
    wallet_rows,
)
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.frame import FrameState
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import RuleRow, TextRows
from swapdesk.tui.widgets.overlay import TypedConfirm
from swapdesk.wallet.errors import WalletError

READING = "The chains are being read."
NO_ACCOUNT = "This wallet has no account. The command swapdesk wallet new makes one."
LIVE_REVOKES = "live: swapdesk wallet revoke"


class WalletsScreen(Page):
    """Accounts of this profile: what they have on each chain, who may take of it, lock.

    The whole address of what the cursor stands on is below the table.
    """

    NAME = "Wallets"
    SPENDS = "read"
    VERBS = (RevokeAllowance, CopyWalletAddress, ReadChains, LockWallet)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    WalletsScreen LineTable { height: 1fr; }
    """

    @dataclass
    class Read(Message):
        """As much as was read, or ``failure`` says why nothing was. ``last``: all of it."""

        told: Told | None
        failure: str = ""
        last: bool = True

    @dataclass
    class Offered(Message):
        """What would be signed to end an allowance."""

        subject: Subject
        proposed: Proposal | UnderWay

    @dataclass
    class Finished(Message):
        """How a revocation ended."""

        ended: Outcome | None
        failure: str = ""

    @dataclass
    class Made(Message):
        """The sandbox made accounts, which its faucet fills."""

        count: int

    class Locked(Message):
        """The keys were dropped."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.told: Told | None = None
        self._subjects: dict[str, Subject] = {}
        self.busy = ""
        """What the wallet is being asked; empty when nothing."""
        self._stale = False
        """Whether money moved while it was asked."""
        self._table = LineTable(COLUMNS, empty=READING)
        self._pane = TextRows(id="pane")

    def compose_body(self) -> Iterable[Widget]:
        yield self._table
        yield RuleRow()
        yield self._pane

    def on_mount(self) -> None:
        self.desk.wallet.on_locked = self._lock_heard
        self.set_money("in your wallet.", "you: read, or esc goes back")
        self._read()

    def _lock_heard(self) -> None:
        self.post_message(self.Locked())

    def on_tick(self) -> None:
        self.refresh_frame()

    def frame_now(self) -> FrameState:
        """The place of the budget tells whether keys are open, and for how long."""
        state = super().frame_now()
        if not self.session.opened:
            return state
        seconds = self.desk.wallet.locks_in
        lock = "locked" if seconds is None else f"unlocked {age(seconds)} left"
        return replace(state, budget=None, lock=lock)

    # reading

    def _read(self) -> None:
        self.busy = "reading"
        self.refresh_keys()
        self.run_worker(self._ask(), group="wallets", exclusive=True, exit_on_error=False)

    async def _ask(self) -> None:
        desk, link = self.desk, self.link
        reading = WalletReading(
            desk.wallet,
            link.control if link is not None else None,
            lambda: smart_accounts(desk.journal),
            heard=lambda told: self.post_message(self.Read(told, last=False)),
            made=lambda count: self.post_message(self.Made(count)),
        )
        try:
            told = await reading.read(self.told)
        except WalletError as error:
            self.post_message(self.Read(None, failure_of_wallet(error).cause))
        except OSError as error:
            self.post_message(self.Read(None, f"{error}."))
        else:
            self.post_message(self.Read(told))

    @on(Made)
    def _made(self, event: Made) -> None:
        self.show_notice(f"The sandbox made {event.count} accounts and sends money to try.")

    @on(Read)
    def _shown(self, event: Read) -> None:
        if event.last:
            self.busy = ""
            self.call_next(self._read_stale)
        if event.told is None:
            self._table.set_empty(event.failure)
            self.show_notice(event.failure, "error")
            self.refresh_keys()
            return
        self.told = event.told
        rows, self._subjects = wallet_rows(event.told)
        self._table.set_empty(NO_ACCOUNT)
        self._table.set_rows(rows)
        if event.told.problems:
            self.show_notice(event.told.problems[0], "warning")
        self._show_pane()

    def balances_changed(self) -> None:
        self._stale = True
        self._read_stale()

    def _read_stale(self) -> None:
        if self._stale and not self.busy:
            self._stale = False
            self._read()

    @property
    def current(self) -> Subject | None:
        return self._subjects.get(self._table.cursor_key or "")

    @on(LineTable.Highlighted)
    def _show_pane(self) -> None:
        subject = self.current
        self._pane.show(wallet_pane(subject) if subject is not None else [])
        allowance = subject.allowance if subject is not None else None
        self.step_is(f"revoke {allowance.spender}" if allowance is not None else "look")
        self.refresh_frame()

    @on(Locked)
    def _locked(self) -> None:
        self.show_notice("The wallet locked itself: nothing was asked of it for a while.")
        self.refresh_frame()

    # keys

    def verb_standing(self, verb: type[Command]) -> CommandState:
        subject = self.current
        if verb is Wallets:
            return HIDDEN
        if verb is ReadChains:
            return CommandState(locked=self.busy) if self.busy else READY
        if verb is CopyWalletAddress:
            return READY if subject is not None else HIDDEN
        if verb is LockWallet:
            return READY if self.desk.wallet.locks_in is not None else HIDDEN
        if verb is RevokeAllowance:
            if subject is None or subject.allowance is None:
                return HIDDEN
            if self.session.live:
                return CommandState(locked=LIVE_REVOKES)
            if self.told is not None and self.told.read_only:
                return CommandState(locked="another desk has the wallet")
            return CommandState(locked=self.busy) if self.busy else READY
        return READY

    def do_read_chains(self) -> None:
        self._read()

    def do_copy_wallet_address(self) -> None:
        if (subject := self.current) is not None:
            self.controls.copy_value("address", subject.address)

    def do_lock_wallet(self) -> None:
        self.run_worker(self._lock(), group="wallet-lock", exclusive=True, exit_on_error=False)

    async def _lock(self) -> None:
        try:
            await self.desk.wallet.lock()
        except WalletError as error:
            self.post_message(self.Finished(None, failure_of_wallet(error).cause))
        else:
            self.post_message(self.Finished(None))

    def do_revoke_allowance(self) -> None:
        subject = self.current
        if subject is not None and subject.allowance is not None and not self.busy:
            self.busy = "asking the wallet"
            self.refresh_keys()
            self.run_worker(
                self._propose(subject), group="wallet-revoke", exclusive=True, exit_on_error=False
            )

    async def _propose(self, subject: Subject) -> None:
        wallet = self.desk.wallet
        link = wallet.link(subject.chain)
        if link is None or subject.allowance is None:
            self.post_message(self.Finished(None, "The chain is not connected any more."))
            return
        try:
            revoking = Revoking(wallet, self.desk.clock)
            proposed = await revoking.propose(subject.account, link, subject.allowance)
        except WalletError as error:
            self.post_message(self.Finished(None, failure_of_wallet(error).cause))
        else:
            self.post_message(self.Offered(subject, proposed))

    @on(Offered)
    def _offered(self, event: Offered) -> None:
        self.busy = ""
        self.refresh_keys()
        proposed = event.proposed
        refusal = proposed.refusal
        if refusal is not None:
            self.show_notice(f"Not signed: {refusal}", "error")
            return

        def typed(yes: bool | None) -> None:
            if yes:
                self.busy = "revoking"
                self.refresh_keys()
                self.run_worker(
                    self._revoke(proposed),
                    group="wallet-revoke",
                    exclusive=True,
                    exit_on_error=False,
                )

        self.app.push_screen(TypedConfirm(revoke_question(event.subject, proposed)), typed)

    async def _revoke(self, proposed: Proposal | UnderWay) -> None:
        wallet = self.desk.wallet
        try:
            if wallet.locks_in is None:
                await wallet.unlock()
            ended = await Revoking(wallet, self.desk.clock).revoke(proposed)
        except WalletError as error:
            self.post_message(self.Finished(None, failure_of_wallet(error).cause))
        else:
            self.post_message(self.Finished(ended))

    @on(Finished)
    def _finished(self, event: Finished) -> None:
        self.busy = ""
        self.refresh_frame()
        self.refresh_keys()
        if event.failure:
            self.show_notice(event.failure, "error")
        elif event.ended is not None:
            self.show_notice(*revoke_said(event.ended))
        else:
            self.show_notice("Locked.")
        if event.ended is not None:
            self._read()

    def work_failed(self, group: str) -> None:
        self.busy = ""
        self.refresh_keys()
