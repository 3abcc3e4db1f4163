"""A chain whose newest blocks are unwound, as those of real networks now and then are."""

from __future__ import annotations

from msgspec.structs import replace

from swapdesk.sandbox.node.evm.mempool import read_candidate
from swapdesk.sandbox.node.evm.node import LiveChain


async def rewind(live: LiveChain) -> None:
    """Once the chain rests, unwind so many blocks that what counted last is in none. Transactions
    wait again, and other blocks follow at the beat."""
    while live.head.awaited or live.ready():
        await live.changed.wait()
    chain, depth = live.chain, live.terms.confirmations
    gone = chain.blocks[-depth:]
    del chain.blocks[-depth:]
    # The slot of the newest block stays: what replaces it comes later in time.
    chain.blocks[-1] = replace(live.head, slot=gone[-1].slot, awaited=depth)
    for values in chain.states._values.values():
        values[:] = [each for each in values if each[0] <= live.head.number]
    for each in (one for block in gone for one in block.transactions):
        del chain._transactions[each.hash]
        candidate = read_candidate(each.raw, live.terms)
        sender, accounts = candidate.sender, live.accounts
        live.pool.add(candidate, accounts.get_nonce(sender), accounts.get_balance(sender))
    live._publish([])
    live._wake.set()
