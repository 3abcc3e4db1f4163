"""What came of orders whose deposits a bundle paid: arrived, ended otherwise, or under way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from swapdesk.flows.batch.group_status import GroupStanding
from swapdesk.flows.journal.order_merge import display_of, ended
from swapdesk.flows.orders.situations import situation_of
from swapdesk.wire.orders import Order

ARRIVED = "nobody: everything arrived"
PAY_OUT = "the exchanges: they pay the recipients"


@dataclass(frozen=True)
class Payouts:
    """Orders of paid groups, counted. ``smart``: a smart account paid some, and may have coins
    left that were for gas."""

    total: int
    arrived: int
    otherwise: int
    smart: bool

    @property
    def done(self) -> bool:
        return self.arrived == self.total

    @property
    def whereabouts(self) -> str:
        """Where the money is, without a point; empty as long as nothing came of any order."""
        if self.done:
            all_ = "the order is" if self.total == 1 else f"all {self.total} orders are"
            return f"with the recipients; {all_} completed"
        if not self.arrived and not self.otherwise:
            return ""
        parts = [f"{self.arrived} of {self.total} orders arrived at the recipients"]
        if self.otherwise:
            parts.append(f"{self.otherwise} ended otherwise")
        if waits := self.total - self.arrived - self.otherwise:
            parts.append(f"{waits} {'is' if waits == 1 else 'are'} with the exchanges")
        return ", ".join(parts)

    @property
    def brief(self) -> str:
        """The same in few words."""
        if self.done:
            return "with the recipients"
        return f"{self.arrived} of {self.total} arrived" if self.whereabouts else ""

    def next(self, look: str, left: str = "") -> str:
        """Who acts next; ``look`` shows the orders, ``left`` what gas left over in a smart
        account."""
        if self.done:
            return "; ".join([ARRIVED, look, *([left] if left and self.smart else [])])
        if self.otherwise:
            them = "the order" if self.otherwise == 1 else f"the {self.otherwise} orders"
            each = "it says" if self.otherwise == 1 else "each says"
            return f"you: look at {them} that ended otherwise, {each} where its money is; {look}"
        return f"{PAY_OUT}; {look}"


def payouts_of(standings: Iterable[GroupStanding], orders: Mapping[str, Order]) -> Payouts | None:
    """Of the groups that are paid; ``orders`` by id, as the service says last, and what it does
    not know of an order counts as under way. None where no group is paid."""
    total = arrived = otherwise = 0
    smart = False
    for one in standings:
        if not one.over or one.bundle is None:
            continue
        smart = smart or not one.solana
        for service_id in one.paid | {each.service_id for each in one.bundle.built.deposits}:
            total += 1
            order = orders.get(service_id)
            if order is None or not ended(display_of(order)):
                continue
            if situation_of(order).meaning.level == "done":
                arrived += 1
            else:
                otherwise += 1
    return Payouts(total, arrived, otherwise, smart) if total else None
