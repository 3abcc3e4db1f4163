"""What the coin of a chain costs, for bounds that are meant in dollars."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.flows.catalog import Catalog


def coin_price(catalog: Catalog, chain: str) -> Decimal | None:
    """Dollars for the native coin of a chain by its short name; None where nobody says."""
    for at in catalog.rows.chains.equal(chain.lower()):
        found = catalog.token(catalog.rows[at].id)
        if found is not None and found.address is None and not found.unverified:
            return found.price
    return None
