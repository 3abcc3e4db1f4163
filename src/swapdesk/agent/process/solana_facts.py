"""What the gate needs of Solana, read side by side."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from swapdesk.agent.gate.facts import Facts
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.chain.rpc.solana_answers import Blockhash, Moves
from swapdesk.chain.rpc.solana_answers import Simulation as Simulated
from swapdesk.chain.rpc.solana_errors import SolanaError
from swapdesk.chain.solana.transaction import read_transaction
from swapdesk.wallet.payload import SolanaPayload
from swapdesk.wallet.promise import Asset, Promise
from swapdesk.wallet.review import BalanceChange, Simulation

LIFETIME = 150
"""Blocks for which a blockhash is good, on every network of Solana."""


@dataclass(frozen=True)
class SolanaFacts:
    """``last_valid`` is the height of blocks after which no transaction that can be executed
    now will be; None where it could not be read, and ``problem`` says why."""

    facts: Facts
    last_valid: int | None = None
    problem: str | None = None


async def read_solana_facts(
    client: SolanaClient, payload: SolanaPayload, raw: bytes, promise: Promise, now: datetime
) -> SolanaFacts:
    """What cannot be read is missing, and the gate refuses what it misses."""
    message = read_transaction(raw).message
    blockhash = str(message.recent_blockhash)
    keys = [str(key) for key in message.account_keys]
    try:
        genesis, native, newest, good, height, tip, outcome = await asyncio.gather(
            client.genesis_hash(),
            client.balance(promise.account),
            client.latest_blockhash(),
            client.is_blockhash_good(blockhash),
            client.block_height(),
            client.call("getBlockHeight", {"commitment": "processed"}),
            client.simulate(raw, keys),
        )
    except SolanaError as error:
        return SolanaFacts(Facts(now), problem=str(error))
    facts = Facts(
        now=now,
        genesis_hash=genesis,
        native=native,
        simulation=_simulation(outcome, height, promise),
        blocks_left=_blocks_left(payload, blockhash, newest, good, height),
    )
    if type(tip) is not int:
        return SolanaFacts(facts, problem="the node did not say how high its chain is")
    # Its blockhash may be newer than the newest that is confirmed.
    return SolanaFacts(facts, max(newest.last_height, tip + LIFETIME))


def _blocks_left(
    payload: SolanaPayload, blockhash: str, newest: Blockhash, good: bool, height: int
) -> int | None:
    """No node tells the age of a blockhash that is not the newest. What the payload says of it
    is taken up to the newest's own end: a wrong word costs an attempt and no money."""
    if not good:
        return 0
    if blockhash == newest.blockhash:
        return newest.last_height - height
    if payload.last_valid_height is None:
        return None
    return min(payload.last_valid_height, newest.last_height) - height


def _simulation(outcome: Simulated, height: int, promise: Promise) -> Simulation | None:
    units = outcome.units or 0
    if outcome.error is not None:
        return Simulation(height, (), units, "the programs refuse it")
    if outcome.moves is None:
        return None
    return Simulation(height, tuple(_changes(outcome.moves, promise)), units)


def _changes(moves: Moves, promise: Promise) -> list[BalanceChange]:
    assets = {promise.sell.contract: promise.sell}
    if promise.chain_out == promise.chain:
        assets[promise.buy.contract] = promise.buy
    native = assets.get(None, Asset("SOL", 9, None))
    found = [
        BalanceChange(account, native.symbol, None, native.decimals, after - before)
        for account, (before, after) in moves.lamports.items()
        if after != before
    ]
    deposits = {one.address for one in promise.bundle.deposits} if promise.bundle else set()
    if promise.deposit is not None:
        deposits.add(promise.deposit.address)
    for move in moves.tokens:
        known = assets.get(move.mint)
        found.append(
            BalanceChange(
                # A venue may name a token account itself as where a deposit goes.
                holder=move.account if move.account in deposits else move.owner,
                symbol=known.symbol if known is not None else "?",
                contract=move.mint,
                decimals=known.decimals if known is not None else None,
                units=move.after - move.before,
            )
        )
    return found
