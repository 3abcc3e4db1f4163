"""How a command ends whose order exists, but has no address to pay at yet, or never will."""

from __future__ import annotations

from datetime import datetime

from swapdesk.cli.command_error import CommandError
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.order_document import tracked_json
from swapdesk.cli.output import Output
from swapdesk.flows.orders.order_status import withheld_next
from swapdesk.flows.orders.tracked_order import TrackedOrder


def print_withheld(output: Output, tracked: TrackedOrder, now: datetime) -> None:
    """The order without where to pay: its id must not be lost."""
    if output.json:
        output.document(tracked_json(tracked, now))
    else:
        output.say(f"Order {tracked.service_id}")


def withheld_error(tracked: TrackedOrder, reason: str, *, missing: bool = False) -> CommandError:
    """Exit 9. One that the service has only to repeat differs in nothing, and can be paid then.
    Exit 8 for one that is ``missing``: whether there is an order is not known."""
    if missing:
        return CommandError(
            Exit.UNKNOWN,
            "ORDER_NOT_KNOWN",
            f"The service answered with order {tracked.service_id}. {reason}",
            money="in your wallet; nothing was paid",
            next=f"the desk: it asks again; swapdesk orders show {tracked.service_id} asks now",
        )
    if tracked.being_confirmed:
        code, (actor, due) = "NOT_REPEATED", withheld_next(tracked)
        next = f"{actor}: {due}; swapdesk orders show {tracked.service_id} asks again"
    else:
        code, next = "ORDER_DIFFERS", "you: do not pay this order; ask for new quotes"
    message = f"Order {tracked.service_id}: {reason}"
    return CommandError(
        Exit.OWN_REFUSAL, code, message, money="in your wallet; nothing was paid", next=next
    )
