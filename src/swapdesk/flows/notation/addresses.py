"""Addresses and hashes as text: groups of four, never cut where something is decided."""

from __future__ import annotations

from swapdesk.chain.addresses.display import SIZE, differing_groups, prefix_of, wrap_groups
from swapdesk.chain.addresses.display import grouped as grouped_address
from swapdesk.chain.addresses.display import groups as address_groups
from swapdesk.chain.addresses.display import short as short_address
from swapdesk.chain.addresses.display import ungrouped as ungrouped_address

__all__ = [
    "address_groups",
    "differing_groups",
    "grouped_address",
    "short_address",
    "ungrouped_address",
    "wrapped_address",
]


def wrapped_address(address: str, width: int) -> list[str]:
    """The whole address in rows of at most ``width`` cells, broken between groups only.

    At least one group stands in a row, however narrow it is. Rows after the first begin under
    the first group after ``0x``.
    """
    room = width - (3 if prefix_of(address) else 0)
    return wrap_groups(address, max(1, (room + 1) // (SIZE + 1)))
