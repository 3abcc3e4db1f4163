"""The picture of a link search: the payments of the demonstrated order, surrounded by payouts to
other customers.

Accounts that are connected by payments form an island. If no payments lead from Alice to Bob, the
two are on different islands, with no line between them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.flows.demo.link_search import Movement
from swapdesk.flows.demo.stage import Stage, head_of

MOST_OF_CROWD = 8
"""The most payouts to other customers that are drawn beside Bob's."""


class Account(Struct, frozen=True):
    """An account in the picture. ``column`` is the number of payments from a first sender to this
    account; ``row`` is the number of accounts above it."""

    address: str
    name: str
    column: int
    row: int

    @property
    def label(self) -> str:
        return self.name or head_of(self.address)


class Edge(Struct, frozen=True):
    """A payment between two accounts of a connected group."""

    payment: Movement
    sender: Account
    receiver: Account
    linked: bool
    """True if the payment is a step of a path from Alice to Bob."""


class Island(Struct, frozen=True):
    accounts: tuple[Account, ...]
    edges: tuple[Edge, ...]

    @property
    def chains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.payment.chain for edge in self.edges))

    @property
    def columns(self) -> int:
        return 1 + max(account.column for account in self.accounts)

    def rows(self, column: int) -> int:
        return sum(account.column == column for account in self.accounts)

    def below_top(self, account: Account) -> float:
        """Returns the account's vertical position in its connected group, from 0 (top) to 1
        (bottom)."""
        return (account.row + 0.5) / self.rows(account.column)

    @property
    def height(self) -> int:
        return max(map(self.rows, range(self.columns)))


def link_graph(stage: Stage) -> tuple[tuple[Island, ...], int]:
    """Returns the connected groups of payments to draw, and the number of matching payouts that are
    left out. A payout to others matches if it could also come from Alice's deposit."""
    crowd = _nearest(stage)
    linked = stage.search.path if stage.search else ()
    each_once = dict.fromkeys([*stage.moved, *linked, *crowd])
    drawn = sorted(each_once, key=lambda payment: (payment.at, payment.chain, payment.height))
    names = _names(stage)
    islands = tuple(_island(payments, names, linked) for payments in _joined(drawn))
    return islands, len(stage.crowd) - len(crowd)


def _nearest(stage: Stage) -> list[Movement]:
    got = stage.got
    if got is None:
        return []
    nearest = sorted(stage.crowd, key=lambda payout: (abs(payout.at - got.at), payout.height))
    return nearest[:MOST_OF_CROWD]


def _names(stage: Stage) -> dict[str, str]:
    names: dict[str, str] = {}
    for place, leg in enumerate(stage.legs):
        names[leg.deposit_address.lower()] = f"{leg.venue}, deposit"
        last = place + 1 == len(stage.legs)
        paid = None if last else stage.legs[place + 1].deposit_address.lower()
        for payment in stage.moved:
            if payment == stage.got if last else payment.receiver == paid:
                names[payment.sender] = f"{leg.venue}, wallet"
    if stage.got is not None:
        names[stage.got.receiver] = "Bob"
    if stage.paid is not None:
        names[stage.paid.sender] = "Alice"
    return names


def _joined(payments: list[Movement]) -> list[list[Movement]]:
    """Returns payments in groups that are connected by shared accounts, in the order of
    ``payments``. An address counts as one account on all chains."""
    islands: list[list[Movement]] = []
    for payment in payments:
        ends = {payment.sender, payment.receiver}
        joined, apart = [payment], []
        for island in islands:
            if any(ends & {other.sender, other.receiver} for other in island):
                joined += island
            else:
                apart.append(island)
        islands = [*apart, sorted(joined, key=payments.index)]
    return sorted(islands, key=lambda island: payments.index(island[0]))


def _island(
    payments: Iterable[Movement], names: Mapping[str, str], linked: Collection[Movement]
) -> Island:
    accounts: dict[str, Account] = {}
    rows: dict[int, int] = {}

    def account(address: str, column: int) -> Account:
        entry = accounts.get(address)
        if entry is None:
            row = rows.get(column, 0)
            rows[column] = row + 1
            name = names.get(address, "")
            entry = accounts[address] = Account(checksummed(address), name, column, row)
        return entry

    edges: list[Edge] = []
    for payment in payments:
        sender = account(payment.sender, 0)
        receiver = account(payment.receiver, sender.column + 1)
        edges.append(Edge(payment, sender, receiver, payment in linked))
    return Island(tuple(accounts.values()), tuple(edges))
