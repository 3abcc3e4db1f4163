"""What is known of an address that may be paid: whom this desk has paid and which deposit
addresses are its own orders', from the journal; which addresses are tokens, from the catalogue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from swapdesk.flows.catalog import Catalog
from swapdesk.flows.folding import display_of
from swapdesk.flows.journal import Journal
from swapdesk.wire.orders import DisplayStatus
from swapdesk.wire.tokens import Token


def paid_addresses(journal: Journal) -> Mapping[str, int]:
    """Recipients of orders that completed, and how often; created or sent is not paid."""
    return Counter(
        entry.order.receiver_address
        for entry in journal.orders.all()
        if entry.order.receiver_address is not None
        and display_of(entry.order) == DisplayStatus.SWAP_COMPLETED
    )


def last_paid(journal: Journal) -> Mapping[str, datetime]:
    """When each recipient of a completed order was paid last, as far as the service said."""
    latest: dict[str, datetime] = {}
    for entry in journal.orders.all():
        order = entry.order
        address, at = order.receiver_address, order.order_finished_received or order.modified
        if address is None or at is None or display_of(order) != DisplayStatus.SWAP_COMPLETED:
            continue
        latest[address] = max(at, latest.get(address, at))
    return latest


def own_deposits(journal: Journal) -> frozenset[str]:
    """Deposit addresses of this desk's orders: never a recipient, never a refund address."""
    return frozenset(
        entry.order.deposit_address
        for entry in journal.orders.all()
        if entry.order.deposit_address is not None
    )


def token_contracts(catalog: Catalog, token: Token) -> frozenset[str]:
    """Token contracts on the chain of ``token``: what is sent to one of them is lost."""
    return catalog.rows.contracts_on(token.chain_data.short_name)
