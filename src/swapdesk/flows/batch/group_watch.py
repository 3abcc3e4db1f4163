"""What the work on a group tells of itself while it goes on, for whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.flows.journal.batch_records import BundleItem, FundingNeed
from swapdesk.flows.transactions.transactor import Watch


@dataclass(frozen=True)
class Turn:
    """What is signed now: ``need`` of one token, for ``payees`` deposits, or for the smart account
    itself (0). It is ``number`` of ``total``, both of the fundings or of the signatures."""

    need: FundingNeed
    payees: int
    number: int
    total: int

    @property
    def funding(self) -> bool:
        return self.payees == 0


def item_turn(item: BundleItem, number: int, total: int) -> Turn:
    """The signature of an item, ``number`` of ``total``."""
    need = FundingNeed(item.symbol, item.decimals, item.contract, item.units)
    return Turn(need, len(item.deposits), number, total)


class GroupWatch(Watch):
    """Hears what happens and changes nothing of it; this one shows it to nobody."""

    def moved(self) -> None:
        """The journal says something new of the group."""

    def turns_to(self, turn: Turn) -> None:
        """Something else is signed next."""
