"""A created batch as a whole: how far its groups are, which one is next, and what is due there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from swapdesk.flows.batch.group_status import GroupStanding, Until, group_standing
from swapdesk.flows.batch.payouts import Payouts, payouts_of
from swapdesk.flows.failure_messages import IN_WALLET
from swapdesk.flows.journal.batch_records import BundleState, JournaledBatch, RowState
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.notation import exact_amount, short_clock
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.orders import Order

_NEXT = {
    Until.BUILT: "you: u builds the bundle",
    Until.SIGNED: "you: s signs it",
    Until.SETTLED: "you: c submits it",
}
_COIN_DECIMALS = {"evm": 18, "solana": 9}


@dataclass(frozen=True)
class BatchProgress:
    """``standings`` are of all groups in their order, ``orders`` by id, as the desk knows them."""

    batch: JournaledBatch
    standings: tuple[GroupStanding, ...]
    orders: Mapping[str, Order] = field(default_factory=dict)

    @property
    def payouts(self) -> Payouts | None:
        """What came of the orders, once nothing is left to be paid."""
        return None if self.current is not None else payouts_of(self.standings, self.orders)

    @property
    def creating(self) -> bool:
        """Whether a group was not created yet, or may have been."""
        return any(
            one.group.open or one.group.state is StepState.PREPARED for one in self.standings
        )

    @property
    def current(self) -> GroupStanding | None:
        """The first group that is not paid and can be from here; None when there is none."""
        return next((one for one in self.standings if one.next is not None), None)

    @property
    def due(self) -> bool:
        """Whether a group is still to be created, looked for or paid."""
        return self.creating or self.current is not None

    @property
    def failed(self) -> int:
        """Rows for which no order exists for certain."""
        return sum(row.state is RowState.FAILED for one in self.standings for row in one.group.rows)

    @property
    def word(self) -> str:
        """How far it is: ``signed``, ``submitted 14:20``, ``group 2 of 3: built``."""
        if any(one.group.open for one in self.standings):
            return "outcome unknown"
        if self.creating:
            return "not all created"
        shown = self.current or self.standings[-1]
        said = _word(shown)
        if len(self.standings) == 1:
            return said
        if self.current is None:
            paid = sum(one.over for one in self.standings)
            return f"{paid} of {len(self.standings)} groups paid"
        return f"group {shown.group.number} of {len(self.standings)}: {said}"

    @property
    def whereabouts(self) -> str:
        """Where the money of the current group is, without a point; of all orders once every group
        is paid."""
        if self.payouts is not None and self.payouts.whereabouts:
            return self.payouts.whereabouts
        shown = self.current or next((one for one in self.standings if one.over), None)
        return shown.whereabouts if shown is not None else f"{IN_WALLET}; no deposit was paid"

    @property
    def brief(self) -> str:
        """The same in few words."""
        if self.payouts is not None and self.payouts.brief:
            return self.payouts.brief
        shown = self.current or next((one for one in self.standings if one.over), None)
        return (shown.brief if shown is not None else None) or IN_WALLET

    @property
    def next(self) -> str:
        """Who acts next, and how."""
        if self.creating:
            return "you: c goes on"
        shown = self.current
        if shown is not None and shown.next is not None:
            under_way = shown.bundle is not None and shown.bundle.under_way
            return "the service: it carries the bundle out" if under_way else _NEXT[shown.next]
        if self.payouts is not None:
            return self.payouts.next("o shows the orders")
        return "you: nothing is to be paid; x exports what became of it"

    @property
    def built(self) -> str:
        """What was built for the current group, else for the last one that was paid."""
        shown = self.current or next((one for one in reversed(self.standings) if one.over), None)
        return shown.plan if shown is not None else ""

    @property
    def paid(self) -> str:
        """By what the last group was paid, once nothing is left to be paid."""
        if self.current is not None:
            return ""
        shown = next((one for one in reversed(self.standings) if one.over), None)
        if shown is None:
            return ""
        left = "" if shown.solana else ". What gas left over is in your smart account; w lists it"
        return f"{shown.whereabouts}{left}"

    @property
    def left_there(self) -> str:
        """What became of a bundle that ended without paying, and how its money comes back; empty
        where there is none, or the money is not in the smart account."""
        shown = self.current
        if shown is None or shown.next is not Until.BUILT or not shown.way_out:
            return ""
        reason = shown.bundle.reason if shown.bundle is not None else None
        said = f"The service says: {reason.rstrip('.')}. " if reason else ""
        return f"{said}The money is in your smart account: {shown.way_out} takes it back."

    def gas(self, coin: str) -> str:
        """What gas may cost and what there is for it, once the bundle was built; ``coin`` is the
        symbol of what it is paid in."""
        bundle = self.current.bundle if self.current is not None else None
        if self.current is None or bundle is None or bundle.state is BundleState.REPLACED:
            return ""
        built = bundle.built
        decimals = _COIN_DECIMALS[built.kind]
        most = f"at most {exact_amount(short(from_base_units(built.gas_units, decimals)))} {coin}"
        if built.kind == "solana" or self.current.funded:
            return most
        held = exact_amount(short(from_base_units(built.held, decimals)))
        return f"{most}; the smart account has {held}"


def batch_progress(journal: Journal, batch_id: str) -> BatchProgress:
    """Raises KeyError and JournalUnavailable."""
    batch = journal.batches.get(batch_id)
    if batch is None:
        raise KeyError(batch_id)
    found = tuple(group_standing(journal, batch.id, group) for group in batch.groups)
    return BatchProgress(batch, found)


def _word(one: GroupStanding) -> str:
    bundle = one.bundle
    if bundle is not None and bundle.server_at is not None and bundle.state in _TIMED:
        return f"{one.word} {short_clock(bundle.server_at)}"
    return one.word


_TIMED = frozenset({BundleState.SUBMITTED, BundleState.SENT, BundleState.UNKNOWN})
