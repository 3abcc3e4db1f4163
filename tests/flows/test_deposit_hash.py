"""The transaction of a deposit: told where the link of an order names it, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from flows.orders import BTC, ETH, order
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.order_merge import linked_deposit
from swapdesk.wire.chains import Chain
from swapdesk.wire.tokens import Token

HASH = "8f2c91d04b1e77ab" * 4
OTHER = "ab" * 32


def token(of: TokenFacts, explorer: str) -> Token:
    chain = Chain(id="1", name=of.chain, short_name=of.chain, kind=of.kind, explorer_url=explorer)
    return Token(id=of.id, chain=of.chain, chain_data=chain, decimals=8, symbol=of.symbol, name="")


PAID: dict[str, Any] = {
    "in_token": token(BTC, "https://mempool.space/tx/{txHash}"),
    "out_token": token(ETH, "https://etherscan.io/tx/{txHash}"),
    "hash_url": f"https://mempool.space/tx/{HASH}",
    "display_status": "EXCHANGE_IN_PROGRESS",
    "in_status": 3,
}
ALIKE = {"out_token": token(ETH, "https://mempool.space/tx/{txHash}")}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (ALIKE, True),
        ({"display_status": "SWAP_COMPLETED"}, True),
        ({"display_status": "SWAP_COMPLETED", **ALIKE}, False),
        ({"display_status": "SWAP_COMPLETED", "out_token": None}, False),
        ({"in_transaction_out_hash": HASH}, False),
        ({"refund_hash": HASH}, False),
        ({"hash_url": f"https://etherscan.io/tx/{OTHER}"}, False),
        ({"hash_url": f"https://mempool.space/tx/{HASH}?a=<b>"}, False),
        ({"hash_url": "https://mempool.space/tx/"}, False),
        ({"hash_url": None}, False),
        ({"in_token": None}, False),
        ({"in_token": token(BTC, "https://mempool.space/")}, False),
    ],
)
def test_what_may_be_another_transaction_is_not_called_the_deposit(
    changes: dict[str, Any], told: bool
) -> None:
    assert (linked_deposit(order(**{**PAID, **changes})) == HASH) is told
