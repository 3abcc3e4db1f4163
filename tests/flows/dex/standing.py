"""What a wallet has signed and what the chain holds of it, to be compared before and after."""

from __future__ import annotations

from msgspec import Struct

from flows.dex.swapping import Swapper
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import SANDBOX_VENUES
from swapdesk.wire.tokens import Token

ATTACKER = checksummed("0x" + "bad0" * 10)
"""Nobody has the key of this address."""
SPENDERS = {**{one.provider: one.address for one in SANDBOX_VENUES}, "attacker": ATTACKER}


class OnChain(Struct, frozen=True):
    """Of one account, read over JSON-RPC. ``nonce`` counts what was executed for it, ``waiting``
    what is not yet; ``allowances`` are units of the token sold by who may take them."""

    coins: int
    sold: int
    bought: int
    nonce: int
    allowances: dict[str, int]
    waiting: int


async def on_chain(someone: Swapper, sell: Token, buy: Token) -> OnChain:
    reader = someone.place.floor.readers[sell.chain_data.short_name]
    client, allowances = reader.client, dict[str, int]()
    if sell.address is not None:
        asked = [
            (sell.address, erc20.ALLOWANCE, (someone.address, spender))
            for spender in SPENDERS.values()
        ]
        for name, units in zip(SPENDERS, await reader.numbers(asked), strict=True):
            assert units is not None, name
            allowances[name] = units
    nonce = await client.nonce(someone.address, pending=False)
    return OnChain(
        await client.balance(someone.address),
        await someone.holds(sell),
        await someone.holds(buy),
        nonce,
        allowances,
        await client.nonce(someone.address) - nonce,
    )


def signed(someone: Swapper, intent_id: str) -> list[str]:
    """What left the agent under an intent, as its own records on disk tell it: each signature by
    what it does."""
    records = Records(RecordsFile(someone.keys, writable=False))
    try:
        return [one.act for one in records.given(intent_id)]
    finally:
        records.close()
