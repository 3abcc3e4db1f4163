"""Where the clients of a simulated exchange pay to: one address per leg, or one tag."""

from __future__ import annotations

from swapdesk.chain.addresses.derive import derive_address
from swapdesk.sandbox.chain_rows import ChainRow
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import Ledger
from swapdesk.sandbox.world import seed_bytes

_FIRST_TAG, _LAST_TAG = 100_000_000, 2**32 - 1


def deposit_place(
    database: Database, ledger: Ledger, chain: ChainRow, venue: str, key: str
) -> tuple[str, str | None]:
    """Address and tag of a new leg. On the XRP Ledger an exchange has one address for all."""
    if chain.kind != "xrp":
        seed = seed_bytes(ledger.seed, "deposit", venue, key)
        return derive_address(chain.kind, seed), None
    address = ledger.hot_wallet(venue, chain)
    attempt = 0
    while True:
        word = seed_bytes(ledger.seed, "tag", venue, key, attempt)[:8]
        tag = str(_FIRST_TAG + int.from_bytes(word, "big") % (_LAST_TAG - _FIRST_TAG + 1))
        taken = database.connection.execute(
            "SELECT 1 FROM accounts WHERE chain = ? AND address = ? AND tag = ?",
            (chain.short_name, address, tag),
        ).fetchone()
        if taken is None:
            return address, tag
        attempt += 1
