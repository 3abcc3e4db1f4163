"""The key that pays a deposit from the sandbox's faucet, alike on every screen that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.tui.commands.command import HIDDEN, READY, Standing

if TYPE_CHECKING:
    from swapdesk.flows.link import Link
    from swapdesk.flows.tracked_order import TrackedOrder

NOT_THIS_ONE = "A deposit is being paid. This one was not."


def fund_standing(
    link: Link | None, tracked: TrackedOrder | None, *, payable: bool, paying: bool
) -> Standing:
    """``payable``: the order may be paid now; ``paying``: it is being paid from here."""
    if not payable or tracked is None or link is None or link.faucet is None:
        return HIDDEN
    if paying:
        return Standing(locked="on its way")
    refusal = link.faucet.refusal(tracked)
    return READY if refusal is None else Standing(locked=refusal.rstrip(".").lower())
