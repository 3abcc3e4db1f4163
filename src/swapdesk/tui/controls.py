"""The application, as its pages see it: what they may ask of each controller.

Pages get it as ``self.controls``. The controllers themselves stand in ``tui/controllers/``; they
open pages, so a page names only what it asks of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from textual.screen import Screen

    from swapdesk.flows.batch.group_signing import GroupSession
    from swapdesk.flows.batch.plan import BatchPlan, Means
    from swapdesk.flows.batch.planner import BatchPlanner
    from swapdesk.flows.batch.progress import Until
    from swapdesk.flows.dex.dex_plan import SwapPlan
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.signing.signing_session import SigningSession
    from swapdesk.tui.widgets.frame import NoticeLog
    from swapdesk.wallet.accounts import Account, ChainLink
    from swapdesk.wallet.answers import Allowance


class PageNavigation(Protocol):
    """Opens other pages."""

    def push(self, page: Screen[None]) -> None: ...

    def open_order(self, service_id: str) -> None: ...

    def open_orders(self, filter_line: str) -> None: ...

    async def begin_with(self, line: str) -> None:
        """The first page with this line of a swap; nothing is asked."""


class Creates(Protocol):
    """Creates of exchanges, and deposits paid by the sandbox's faucet."""

    def create(self, intent: Intent) -> bool:
        """Post the intent; False while another create is in flight."""

    def pay_by_faucet(self, tracked: TrackedOrder) -> bool:
        """Pay a deposit from the sandbox's faucet; False while one is being paid."""


class Signings(Protocol):
    """What the desk signs: swaps on chains, deposits, groups of a batch."""

    @property
    def begun(self) -> bool:
        """Whether a swap was signed for in this run."""

    @property
    def open_sessions(self) -> list[SigningSession[Any]]:
        """All that is not over, swaps first."""

    def open(self, signing: SigningSession[Any]) -> None:
        """Show a session."""

    def go_on(self, signing: SigningSession[Any]) -> None: ...

    def replace(self, signing: SigningSession[Any], *, cancels: bool) -> None:
        """Ask for a higher fee for what the session waits for, or for its cancellation."""

    def pay_from_wallet(self, tracked: TrackedOrder) -> None:
        """Pay the deposit of an order and show what is to be signed."""

    def revoke(self, account: Account, link: ChainLink, allowance: Allowance) -> None:
        """End an allowance and show what is to be signed."""

    def withdraw(self, account: Account, link: ChainLink) -> None:
        """Take back what the smart account of an account holds, and show what is to be signed."""

    async def swap(self, intent: Intent, *, wallet: str, plan: SwapPlan | None) -> None:
        """Begin a swap that was confirmed, and show what is to be signed."""

    def pay_group(self, group_id: str, until: Until) -> GroupSession:
        """Go on with the payment of a group. Raises Stopped and JournalUnavailable."""

    def group(self, group_id: str) -> GroupSession | None:
        """The session of a group, once there was one in this run."""

    def working(self, signing: GroupSession) -> bool:
        """Whether something goes on with a group now."""


class BatchWork(Struct):
    """``batch_id`` is set once the rows were written down to be created; ``creating`` while
    their groups are on their way. ``unpaid`` is the batch whose failed rows these are, as long as
    its other rows are to be paid."""

    planner: BatchPlanner | None = None
    plan: BatchPlan | None = None
    means: tuple[Means, ...] = ()
    batch_id: str | None = None
    creating: bool = False
    unpaid: str | None = None

    def begin(self, planner: BatchPlanner, batch_id: str | None = None) -> None:
        """Another file, or another batch that was written down before."""
        self.planner, self.plan, self.means, self.batch_id = planner, None, (), batch_id
        self.unpaid = None


class Batches(Protocol):
    """The batch of this run, which outlives its page."""

    @property
    def work(self) -> BatchWork: ...

    def create(self, plan: BatchPlan, *, agreed: bool = False) -> None:
        """Write the rows of a plan down and create them, ``agreed`` with what is doubted in it.
        Raises NotCreatable,
        ClaimTaken and JournalUnavailable, and nothing was sent then."""

    def go_on(self) -> None:
        """Create what waits to be, and look for what may have been created."""


class DeskControls(Protocol):
    """All that a page may ask of the application."""

    notices: NoticeLog

    @property
    def navigation(self) -> PageNavigation: ...

    @property
    def creates(self) -> Creates: ...

    @property
    def signing(self) -> Signings: ...

    @property
    def batches(self) -> Batches: ...

    def start(self) -> None:
        """Connect, and after a failure try again."""

    def copy_value(self, label: str, value: str) -> str:
        """Put ``value`` on the clipboard and say so; returns the notice that was shown."""
