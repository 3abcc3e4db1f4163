"""What the bundle of a group means for each of its orders: where the money is, who acts next.

By the journal alone, in the words of the group (``standing``), so that an order says the same as
its batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.failure_messages import IN_WALLET
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.journal.payments import paid_orders
from swapdesk.flows.orders.payment_progress import BatchPayment
from swapdesk.flows.orders.situations import PAY_BATCH

if TYPE_CHECKING:
    from swapdesk.flows.batch.progress import GroupStanding

_IN_VAIN = frozenset({"FAILED", "WITHDRAWN", "REFUSED"})
_OF_GROUP = """
subject = ?1 AND kind = 'create_group'
OR parent = (SELECT id FROM operation WHERE subject = ?1 AND kind = 'create_group')
  AND kind IN ('bundle', 'fund', 'part')
OR kind = 'withdraw' AND json_extract(body, '$.chain') = (SELECT json_extract(body, '$.chain')
  FROM operation WHERE subject = ?1 AND kind = 'create_group')
"""
CONFIRMS = "it confirms the deposit, then pays out"


class OrderPayments:
    """Of all batches of a journal. What was read of a group counts until its payment moves.

    Every desk has one, few have a batch: how a group stands is loaded with the first."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._read: dict[str, tuple[str, GroupStanding]] = {}

    def mark(self, multi_id: str) -> str | None:
        """Another one once the payment of a group moved: its bundles, the transactions of the
        wallet for them, withdrawals. None for no group of this journal. Raises
        JournalUnavailable."""
        return self._journal.ledger.mark(_OF_GROUP, multi_id)

    def of(self, multi_id: str, service_id: str) -> BatchPayment | None:
        """How an order of a group is paid; None where no batch of this journal made the group.
        Raises JournalUnavailable."""
        mark = self.mark(multi_id)
        if mark is None:
            return None
        before, standing = self._read.get(multi_id, (None, None))
        if standing is None or mark != before:
            from swapdesk.flows.batch.batches import find_group
            from swapdesk.flows.batch.progress import group_standing

            group = find_group(self._journal.ledger, multi_id)
            if group is None:
                return None
            standing = group_standing(self._journal, group)
            self._read[multi_id] = (mark, standing)
        return order_payment(standing, service_id)


def order_payment(standing: GroupStanding, service_id: str) -> BatchPayment:
    """How one order of the group is paid."""
    if standing.solana:
        return _on_solana(standing, service_id)
    bundle = standing.bundle
    if bundle is None:
        return _due(standing)
    inside = service_id in bundle.service_ids
    if bundle.paid and inside:
        return _arrived(bundle.operation.hash)
    if not inside and (bundle.under_way or bundle.paid):
        return _left_out()
    if bundle.under_way:
        place = f"{standing.brief or IN_WALLET}."
        money = f"{standing.whereabouts}."
        return BatchPayment(State.SENT, money, place, "the service", "it carries the bundle out")
    return _due(standing, in_account=standing.brief is not None)


def _on_solana(standing: GroupStanding, service_id: str) -> BatchPayment:
    """Each of several transactions pays some of the orders."""
    part = _part_of(standing, service_id)
    if part is not None and part.state is State.DONE:
        return _arrived(part.hash)
    if part is not None:
        money = f"on its way to the deposit address, or still in your wallet: {part.hash}."
        return BatchPayment(State.SENT, money, "on its way.", "the chain", "it takes the payment")
    if standing.over:
        return _left_out()
    money = f"{IN_WALLET}; the deposit of this order was not paid."
    return BatchPayment(State.PREPARED, money, f"{IN_WALLET}.", "you", PAY_BATCH)


def _part_of(standing: GroupStanding, service_id: str) -> Operation | None:
    """The transaction that pays an order, or may."""
    parts = [
        part
        for part in standing.parts
        if service_id in paid_orders(part) and (part.left or part.state is State.DONE)
    ]
    return parts[-1] if parts else None


def _due(standing: GroupStanding, *, in_account: bool = False) -> BatchPayment:
    place = f"{standing.brief or IN_WALLET}."
    from swapdesk.flows.batch.progress import or_take_back, outcome_of

    bundle = standing.bundle
    problem = outcome_of(bundle, standing).cause if bundle and bundle.code in _IN_VAIN else ""
    act = or_take_back(PAY_BATCH, standing)
    money = f"{standing.whereabouts}."
    return BatchPayment(State.PREPARED, money, place, "you", act, problem, in_account)


def _arrived(hash_: str | None) -> BatchPayment:
    by = f", by transaction {hash_}" if hash_ else ""
    money, place = f"at the deposit address{by}.", "at the deposit address."
    return BatchPayment(State.DONE, money, place, "the exchange", CONFIRMS)


def _left_out() -> BatchPayment:
    money = f"{IN_WALLET}; its batch was paid without this order."
    return BatchPayment(State.REFUSED, money, f"{IN_WALLET}.", "nobody", "it runs out unpaid")
