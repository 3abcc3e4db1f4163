"""What is confirmed of a transaction by which an account sets something of its own right."""

from __future__ import annotations

from datetime import datetime, timedelta

from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Asset, Promise, WithdrawalPromise

VALID = timedelta(minutes=5)
"""How long what was reviewed may be signed."""


def own_promise(
    intent_id: str,
    account: str,
    link: ChainLink,
    asset: Asset,
    now: datetime,
    gas_units: int,
    withdrawal: WithdrawalPromise | None = None,
) -> Promise:
    """Nothing of ``asset`` leaves ``account`` and nobody else is paid: no more than
    ``gas_units`` of gas, in the smallest unit of the chain's coin. ``withdrawal`` is what its
    smart account pays it."""
    return Promise(
        intent_id=intent_id,
        account=account,
        chain=link.name,
        chain_id=link.chain_id,
        sell=asset,
        sell_units=0,
        buy=asset,
        chain_out=link.name,
        least_units=0,
        quoted_units=0,
        recipient=account,
        venue=None,
        quote_id=None,
        valid_until=now + VALID,
        gas_units=gas_units,
        withdrawal=withdrawal,
    )
