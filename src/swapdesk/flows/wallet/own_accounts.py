"""Accounts of this wallet that can be paid on a chain, for whoever names a recipient."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.promise import Asset
from swapdesk.wire.encoding.numbers import from_base_units, short
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


async def own_balance(desk: Desk, token: Token) -> Decimal | None:
    """The most that one account of this wallet has of ``token``: of one a deposit is paid.

    None where nobody can say: no key was made, no node of the chain is there, or it did not
    answer. Only addresses are asked about, so the wallet may be locked.
    """
    link = desk.wallet.link(token.chain_data.short_name)
    if link is None:
        return None
    asset = Asset(token.symbol, token.decimals, token.address)
    found: list[Decimal] = []
    try:
        for account in await own_accounts(desk, token):
            client = await desk.wallet.client()
            told = await client.balances(account.address, link.name, [asset])
            found += [
                short(from_base_units(one.units, one.asset.decimals))
                for one in told.balances
                if one.units is not None and one.asset.contract == asset.contract
            ]
    except (WalletError, OSError):
        return None
    return max(found, default=None)


def has_keys(desk: Desk) -> bool:
    """Whether this profile's wallet has made or taken in a key, by its directory alone."""
    try:
        return any(desk.settings.places.keys.iterdir())
    except OSError:
        return False
