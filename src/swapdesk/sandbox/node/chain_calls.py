"""The chains that a node carries: what it asks of them, and which of them a call needs."""

from __future__ import annotations

from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.ledger import Ledger
from swapdesk.sandbox.node.params import (
    AccountOf,
    BalanceOf,
    FaucetPay,
    OpenLeg,
    TransferOf,
)
from swapdesk.sandbox.world import world_tokens
from swapdesk.wire.model import RequestModel


class NodeDown(Exception):
    """The node of a chain does not answer; nothing happened."""


def chains_of(params: RequestModel, ledger: Ledger, rows: AccountRows) -> list[str]:
    """The chains a call reads or moves money on."""
    tokens: list[str] = []
    if isinstance(params, OpenLeg):
        tokens = [params.token_in, params.token_out]
    elif isinstance(params, AccountOf):
        row = rows.by_key(params.venue, params.key)
        tokens = [] if row is None else [row["token_in"], row["token_out"]]
    elif isinstance(params, FaucetPay | BalanceOf):
        tokens = [params.token]
    elif isinstance(params, TransferOf):
        transfer = ledger.find(params.hash)
        return [] if transfer is None else [transfer.chain]
    world = world_tokens()
    return [world[token].chain.short_name for token in tokens if token in world]
