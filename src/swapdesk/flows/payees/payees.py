"""What is known of an address that may be paid: whom this desk has paid and which deposit
addresses are its own orders', from the journal; which addresses are tokens, from the catalogue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.intents.standing import Standing
from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.journal.journal import Journal
from swapdesk.wire.orders import DisplayStatus, Order
from swapdesk.wire.tokens import Token


def paid_addresses(journal: Journal) -> Mapping[str, int]:
    """Recipients of orders that completed, and how often; created or sent is not paid."""
    return Counter(address for address, _ in _paid(journal))


def last_paid(journal: Journal) -> Mapping[str, datetime]:
    """When each recipient of a completed order was paid last, as far as the service said."""
    latest: dict[str, datetime] = {}
    for address, order in _paid(journal):
        at = order.order_finished_received or order.modified
        if at is not None:
            latest[address] = max(at, latest.get(address, at))
    return latest


def _paid(journal: Journal) -> Iterator[tuple[str, Order]]:
    """Only what was confirmed here and stayed so: an order that the service lists by itself, or
    made for somebody else, never makes its recipient a known one."""
    for entry in journal.orders.of_intents():
        order, address = entry.order, entry.order.receiver_address
        if entry.intent_id is None or entry.verdict.standing is not Standing.RELEASED:
            continue
        if address is not None and display_of(order) == DisplayStatus.SWAP_COMPLETED:
            yield address, order


def own_deposits(journal: Journal) -> frozenset[str]:
    """Deposit addresses of this desk's orders: never a recipient, never a refund address."""
    return journal.orders.deposit_addresses()


def token_contracts(catalog: Catalog, token: Token) -> frozenset[str]:
    """Token contracts on the chain of ``token``: what is sent to one of them is lost."""
    return catalog.rows.contracts_on(token.chain_data.short_name)
