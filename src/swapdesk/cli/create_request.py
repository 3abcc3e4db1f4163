"""What the command line asks to be created, and what goes together in it."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from swapdesk.cli.command_error import bad_input
from swapdesk.cli.quote_options import RouteWish


class MaxLoss(Struct, frozen=True):
    """Percent of value that may be lost, fees included; ``percent`` None for any loss."""

    percent: Decimal | None


class CreateRequest(Struct, frozen=True):
    """What the command line asks for. ``buy`` is None for a private send."""

    amount: str
    sell: str
    buy: str | None
    to: str
    memo: str | None
    memo_waived: bool
    refund: str | None
    refund_memo: str | None
    types: tuple[str, ...]
    provider: str | None
    quote_id: str | None
    wish: RouteWish
    preset: str | None
    min_out: str | None
    middle_refund: str | None
    max_loss: MaxLoss
    accept_warnings: bool
    fund: bool
    yes: bool
    account: str | None = None
    """Who signs a swap on chains, by name or address."""
    on_chain: bool = False
    """Whether the wallet of this profile swaps: by ``--type dex`` alone, or by its quote."""
    slippage: Decimal | None = None
    dry_run: bool = False
    sender: str | None = None
    """The address of ``account``, once it is known."""
    receiver: str | None = None
    """Who is paid by a swap on chains, once that is known."""


def require_middle(refund: str | None, use_xmr: bool | None) -> None:
    """Exit 2 for an address in the middle of a route whose middle is not chosen."""
    if refund and use_xmr is not True:
        message = "--middle-refund goes with --use-xmr: else the middle of the route is not known."
        raise bad_input("BAD_OPTION", message, field="middle-refund")


def require_refund(refund: str | None, fixed: bool) -> None:
    """Exit 2 for a promised rate without a way back."""
    if fixed and not refund:
        message = "A fixed rate needs --refund: where the deposit comes back to if the swap fails."
        raise bad_input("BAD_REFUND_ADDRESS", message, field="refund")
