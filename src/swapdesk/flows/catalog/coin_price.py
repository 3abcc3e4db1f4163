"""The coin of a chain, and what it costs, for bounds that are meant in dollars."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.wire.tokens import Token


def native_coin(catalog: Catalog, chain: str) -> Token | None:
    """The coin of a chain by its short name; None where the list has none."""
    for at in catalog.rows.chains.equal(chain.lower()):
        found = catalog.token(catalog.rows[at].id)
        if found is not None and found.address is None and not found.unverified:
            return found
    return None


def coin_price(catalog: Catalog, chain: str) -> Decimal | None:
    """Dollars for the native coin of a chain by its short name; None where nobody says."""
    found = native_coin(catalog, chain)
    return None if found is None else found.price
