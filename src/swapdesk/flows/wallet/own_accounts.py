"""Accounts of this wallet that can be paid on a chain, for whoever names a recipient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.wallet.accounts import Account
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


async def own_accounts(desk: Desk, *tokens: Token) -> tuple[Account, ...]:
    """Those on the chains of ``tokens`` that the wallet has a node of: elsewhere it could not see
    what arrived. A wallet that made no key is not started for it. Raises WalletError."""
    chains = [one.chain_data for one in tokens]
    kinds = {
        KINDS[one.kind]
        for one in chains
        if one.kind in KINDS and desk.wallet.link(one.short_name) is not None
    }
    if not kinds or not has_keys(desk):
        return ()
    accounts = await desk.wallet.accounts()
    return tuple(one for one in accounts.accounts if one.kind in kinds)


def has_keys(desk: Desk) -> bool:
    """Whether this profile's wallet has made or taken in a key, by its directory alone."""
    try:
        return any(desk.settings.places.keys.iterdir())
    except OSError:
        return False
