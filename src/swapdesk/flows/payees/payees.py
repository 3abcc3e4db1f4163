"""What is known of an address that may be paid: whom this desk has paid and which deposit
addresses are its own orders', from the journal; which addresses are tokens, from the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.journal import Journal
from swapdesk.wire.tokens import Token


def paid_addresses(journal: Journal) -> Mapping[str, int]:
    """Recipients of orders that completed, and how often; created or sent is not paid. Only what
    was confirmed here and stayed so: an order that the service lists by itself, or made for
    somebody else, never makes its recipient a known one."""
    return {one.address: one.times for one in journal.orders.index.paid_recipients()}


def last_paid(journal: Journal) -> Mapping[str, datetime]:
    """When each of :func:`paid_addresses` was paid last, as far as the service said."""
    found = journal.orders.index.paid_recipients()
    return {one.address: one.last for one in found if one.last is not None}


def own_deposits(journal: Journal) -> frozenset[tuple[str, str]]:
    """Deposit addresses that this desk released, each after the kind of its chain: never a
    recipient, never a refund address."""
    return journal.orders.index.released_deposits()


def token_contracts(catalog: Catalog, token: Token) -> frozenset[str]:
    """Token contracts on the chain of ``token``: what is sent to one of them is lost."""
    return catalog.rows.contracts_on(token.chain_data.short_name)
