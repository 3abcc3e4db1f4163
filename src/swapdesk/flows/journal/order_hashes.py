"""The transactions of an order, as the service names them.

An order has no field for that of its deposit, only ``hashUrl``, a transaction link that does not
say of which transaction (contract 8.1). By the template of the deposit's chain
(contract 5.1) it is that of the deposit, unless a payout on the same chain may be meant.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from swapdesk.flows.journal.folding import display_of
from swapdesk.wire.orders import DisplayStatus, Order
from swapdesk.wire.tokens import Token

_HASH = re.compile(r"[0-9A-Za-z_+/=-]{16,120}")
_PLACE = "{txHash}"
_PAID_OUT = (DisplayStatus.SENDING_TO_RECEIVER, DisplayStatus.SWAP_COMPLETED)


def payout_hash(order: Order) -> str | None:
    """Of the transaction that pays the recipient: a private order tells that of its second leg,
    any other one that of its only leg (contract 8.1)."""
    return order.out_transaction_out_hash or order.in_transaction_out_hash


def linked_deposit(order: Order) -> str | None:
    """The hash in the order's link; None where it is no link of the deposit's chain, or is or may
    be that of a payout or a refund."""
    template = _template(order.in_token)
    if display_of(order) in _PAID_OUT and _template(order.out_token) in ("", template):
        return None
    before, found, after = template.partition(_PLACE)
    link = order.hash_url or ""
    if not found or not link.startswith(before) or not link.endswith(after):
        return None
    named = unquote(link[len(before) : len(link) - len(after)])
    others = (payout_hash(order), order.refund_hash)
    return named if _HASH.fullmatch(named) and named not in others else None


def newly_linked_deposit(known: Order | None, seen: Order) -> str | None:
    """The same where ``seen`` has another link than ``known``: of most sightings one comparison."""
    if known is not None and known.hash_url == seen.hash_url and known.in_token is not None:
        return None
    return linked_deposit(seen)


def _template(token: Token | None) -> str:
    chain = token.chain_data if token is not None else None
    return (chain.hash_url or chain.explorer_url or "") if chain is not None else ""
