"""Protocols for what a page may ask of the application and its controllers. Controllers import
pages in order to open them, so pages cannot import controllers and use these protocols instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from swapdesk.flows.batch.group_payment import GroupSession
    from swapdesk.flows.batch.plan import BatchPlan, Means
    from swapdesk.flows.batch.planner import BatchPlanner
    from swapdesk.flows.batch.progress import Until
    from swapdesk.flows.dex.dex_plan import SwapPlan
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.signing.signing_session import RunningSignings, SigningSession
    from swapdesk.tui.widgets.frame import NoticeLog
    from swapdesk.wallet.accounts import Account, ChainLink
    from swapdesk.wallet.answers import Allowance


class PageNavigation(Protocol):
    """The controller that opens pages."""

    def open_order(self, service_id: str) -> None: ...
    def open_orders(self, filter_line: str) -> None: ...
    async def begin_with(self, line: str) -> None: ...
    async def write_token(self, spec: str) -> None: ...


class Creates(Protocol):
    """The controller that creates the orders of single exchanges and pays deposits from the
    sandbox's faucet."""

    def create(self, intent: Intent) -> bool: ...
    def pay_by_faucet(self, tracked: TrackedOrder) -> bool: ...


class Signings(Protocol):
    """The controller of everything that the desk signs: swaps on chains, deposits, payments of a
    batch, revoked allowances and withdrawals."""

    @property
    def begun(self) -> bool: ...
    @property
    def open_sessions(self) -> list[SigningSession[Any]]: ...
    @property
    def running(self) -> RunningSignings: ...
    def open(self, signing: SigningSession[Any]) -> None: ...
    def go_on(self, signing: SigningSession[Any]) -> None: ...
    def replace(self, signing: SigningSession[Any], *, cancels: bool) -> None: ...
    def pay_from_wallet(self, tracked: TrackedOrder) -> None: ...
    def revoke(self, account: Account, link: ChainLink, allowance: Allowance) -> None: ...
    def withdraw(self, account: Account, link: ChainLink) -> None: ...
    async def swap(self, intent: Intent, *, wallet: str, plan: SwapPlan | None) -> None: ...
    def pay_group(self, group_id: str, until: Until) -> GroupSession: ...


class Batches(Protocol):
    """The batch (a file with many recipients) of this run. The run keeps it while its page is
    closed."""

    planner: BatchPlanner | None
    plan: BatchPlan | None
    means: tuple[Means, ...]
    batch_id: str | None
    creating: bool
    unpaid: str | None

    def begin(
        self, planner: BatchPlanner, batch_id: str | None = None, unpaid: str | None = None
    ) -> None: ...
    def create(self, plan: BatchPlan, *, agreed: bool = False) -> None: ...
    def go_on(self) -> None: ...


class DeskControls(Protocol):
    """The application as a page sees it: its controllers, its log of notices, and the methods that
    a page may call."""

    notices: NoticeLog

    @property
    def navigation(self) -> PageNavigation: ...
    @property
    def creates(self) -> Creates: ...
    @property
    def signing(self) -> Signings: ...
    @property
    def batches(self) -> Batches: ...
    def start(self) -> None: ...
    def copy_value(self, label: str, value: str) -> str: ...
