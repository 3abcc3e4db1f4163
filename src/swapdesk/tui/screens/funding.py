"""The key that pays a deposit, from the wallet or from the sandbox's faucet, alike everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.tui.commands.command import HIDDEN, READY, CommandState

if TYPE_CHECKING:
    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.deposits.deposit_ways import DepositWays
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.tui.page import Page

NOT_THIS_ONE = "A deposit is being paid. This one was not."
FROM_WALLET, FROM_FAUCET, GO_ON = "fund from wallet", "fund from the faucet", "open the payment"


def fund_standing(
    ways: DepositWays,
    link: ConnectedDesk | None,
    tracked: TrackedOrder | None,
    *,
    payable: bool,
    paying: bool,
    brief: bool = False,
) -> CommandState:
    """``payable``: the order may be paid now; ``paying``: the faucet pays it from here;
    ``brief``: where the footer has no room to say who pays."""
    from swapdesk.flows.deposits.deposit_ways import PayBy

    if tracked is None or link is None:
        return HIDDEN
    if ways.under_way(tracked):
        return READY if brief else CommandState(verb=GO_ON)
    if not payable:
        return HIDDEN
    if paying:
        return CommandState(locked="on its way")
    by = ways.of(tracked)
    if by is None:
        missing = ways.missing(tracked)
        return HIDDEN if missing is None else CommandState(locked=missing)
    faucet = link.faucet if by is PayBy.FAUCET else None
    refusal = ways.refusal(tracked) if faucet is None else faucet.refusal(tracked)
    if refusal is not None:
        return CommandState(locked=refusal.rstrip(".").lower())
    if brief:
        return READY
    return CommandState(verb=FROM_WALLET if by is PayBy.WALLET else FROM_FAUCET)


def begin_funding(page: Page, ways: DepositWays, tracked: TrackedOrder | None) -> bool:
    """Whether the faucet pays now. From the wallet nothing is paid yet: the screen that signs
    opens."""
    from swapdesk.flows.deposits.deposit_ways import PayBy

    controls = page.controls
    if tracked is not None and (ways.under_way(tracked) or ways.of(tracked) is PayBy.WALLET):
        controls.signing.pay_from_wallet(tracked)
        return False
    if tracked is None or not controls.creates.pay_by_faucet(tracked):
        page.show_notice(NOT_THIS_ONE, "warning")
        return False
    return True
