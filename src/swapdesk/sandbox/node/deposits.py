"""Where the clients of a simulated exchange pay to: an address per leg, a memo, or a static one."""

from __future__ import annotations

from swapdesk.sandbox.chain_rows import ChainRow
from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.ledger import Ledger, LedgerRefusal
from swapdesk.sandbox.reserves import deposit_name, static_deposit_name
from swapdesk.sandbox.venue_rows import STATIC_ADDRESSES, VenueRow
from swapdesk.sandbox.world import seed_bytes

_FIRST_TAG, _LAST_TAG = 100_000_000, 2**32 - 1


class AddressesHeld(LedgerRefusal):
    """Every static deposit address of the exchange on the chain waits for an open leg."""


def deposit_place(
    rows: AccountRows, ledger: Ledger, chain: ChainRow, venue: VenueRow, key: str
) -> tuple[str, str | None]:
    """Address and tag of a new leg. Raises AddressesHeld.

    On a chain with memos most exchanges have one address for all and a memo for each leg;
    numbers are memos on every such chain.
    """
    if venue.static_deposits:
        return _static_address(rows, ledger, chain, venue), None
    wallets = ledger.embedded.get(chain.short_name)
    if wallets is not None:
        return wallets.address(deposit_name(venue.code, key)), None
    if not (chain.needs_memo and venue.memo_deposits):
        return chain.address(seed_bytes(ledger.seed, "deposit", venue.code, key)), None
    address = ledger.hot_wallet(venue.code, chain)
    attempt = 0
    while True:
        word = seed_bytes(ledger.seed, "tag", venue.code, key, attempt)[:8]
        tag = str(_FIRST_TAG + int.from_bytes(word, "big") % (_LAST_TAG - _FIRST_TAG + 1))
        if not rows.taken(chain.short_name, address, tag):
            return address, tag
        attempt += 1


def _static_address(rows: AccountRows, ledger: Ledger, chain: ChainRow, venue: VenueRow) -> str:
    for number in range(STATIC_ADDRESSES):
        address = _static(ledger, chain, venue, number)
        if not rows.held(chain.short_name, address):
            return address
    raise AddressesHeld("all static deposit addresses are held by open orders")


def _static(ledger: Ledger, chain: ChainRow, venue: VenueRow, number: int) -> str:
    wallets = ledger.embedded.get(chain.short_name)
    if wallets is not None:
        return wallets.address(static_deposit_name(venue.code, chain.short_name, number))
    seed = seed_bytes(ledger.seed, "static deposit", venue.code, chain.short_name, number)
    return chain.address(seed)
