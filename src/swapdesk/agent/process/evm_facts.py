"""What the gate needs of an EVM chain, read in one batch beside one simulation."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from swapdesk.agent.gate.facts import Facts, GasPlan, Needs, Read
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.rpc.evm import Call, EvmClient, balance_of, calling, code_at, nonce_of
from swapdesk.chain.rpc.evm_answers import (
    Head,
    Log,
    SimulatedCall,
    digest,
    fields,
    octets,
    quantity,
    read_head,
)
from swapdesk.chain.rpc.evm_errors import EvmError, EvmRefused, EvmUncertain
from swapdesk.chain.rpc.evm_wire import Request
from swapdesk.wallet.promise import Asset, Promise
from swapdesk.wallet.review import BalanceChange, Simulation

NATIVE = checksummed("0x" + "ee" * 20)
"""Stands for the chain's own coin in the transfers that a simulation tells."""
_TRANSFER = "0x" + keccak(b"Transfer(address,address,uint256)").hex()
GAS_MARGIN_PERCENT = 20
"""More gas than the estimate, because the state may move before the block."""


@dataclass(frozen=True)
class EvmFacts:
    """``facts`` for the gate, and what only the signer needs: ``nonce`` is what the node would
    use next, ``base_fee`` and ``priority`` wei per gas; None where they could not be read."""

    facts: Facts
    nonce: int | None = None
    base_fee: int | None = None
    priority: int | None = None
    problem: str | None = None


async def read_facts(
    client: EvmClient, needs: Needs, promise: Promise, now: datetime, call: Call | None = None
) -> EvmFacts:
    """Everything at once. What cannot be read is missing, and the gate refuses what it misses;
    ``problem`` says why. ``call`` is the transaction to simulate, from the account."""
    code, reads = sorted(needs.code), sorted(needs.reads, key=lambda one: (one.contract, one.data))
    account = promise.account
    requests = [
        Request("eth_chainId"),
        Request("eth_getBlockByNumber", ("0x0", False)),
        Request("eth_getBlockByNumber", ("latest", False)),
        balance_of(account),
        *(code_at(one) for one in code),
        *(calling(Call(one.contract, one.data)) for one in reads),
    ]
    if call is not None:
        requests += [
            nonce_of(account, "pending"),
            Request("eth_maxPriorityFeePerGas"),
            Request("eth_estimateGas", (call.as_json(),)),
        ]
    simulating = _simulated(client, call) if call is not None else _nothing()
    try:
        answers, outcome = await asyncio.gather(client.batch(requests), simulating)
    except EvmError as error:
        return EvmFacts(Facts(now), problem=str(error))
    told = _Answers(answers)
    head = told.head(2)
    at = 4 + len(code)
    facts = Facts(
        now=now,
        chain_id=told.number(0),
        genesis_hash=told.hash_of_block(1),
        code={one: found for i, one in enumerate(code) if (found := told.data(4 + i)) is not None},
        answers={one: found for i, one in enumerate(reads) if (found := told.data(at + i))},
        native=told.number(3),
        time=None if head is None else head.timestamp,
    )
    if call is None or head is None:
        return EvmFacts(facts)
    at += len(reads)
    nonce, priority, gas = (told.number(at + i) for i in range(3))
    simulation = _simulation(outcome, head, gas, promise)
    plan = None
    if gas is not None and priority is not None:
        plan = _gas_plan(gas, head.base_fee, priority, promise.gas_units)
    whole = replace(facts, gas=plan, simulation=simulation)
    return EvmFacts(whole, nonce, head.base_fee, priority)


class _Answers:
    """Answers of a batch; one that is no such thing is missing."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self._answers = answers

    def number(self, place: int) -> int | None:
        try:
            return quantity(self._whole(place))
        except EvmError:
            return None

    def data(self, place: int) -> bytes | None:
        try:
            return octets(self._whole(place))
        except EvmError:
            return None

    def head(self, place: int) -> Head | None:
        try:
            return read_head(self._whole(place))
        except EvmError:
            return None

    def hash_of_block(self, place: int) -> str | None:
        try:
            return digest(fields(self._whole(place)).get("hash"))
        except EvmError:
            return None

    def _whole(self, place: int) -> Any:
        answer = self._answers[place]
        if isinstance(answer, EvmRefused):
            raise answer
        return answer


async def _simulated(client: EvmClient, call: Call) -> SimulatedCall | None:
    try:
        return (await client.simulate([call]))[0]
    except EvmRefused:
        return None


async def _nothing() -> None:
    return None


def _gas_plan(gas: int, base_fee: int, priority: int, most: int) -> GasPlan:
    """A price that holds when the base fee doubles, or less where that is more than was
    confirmed and the next blocks can still be paid."""
    limit = gas + gas * GAS_MARGIN_PERCENT // 100 if gas > 21_000 else gas
    fee = 2 * base_fee + priority
    allowed = most // limit
    if base_fee + base_fee // 8 + priority <= allowed < fee:
        fee = allowed
    return GasPlan(limit, fee)


def _simulation(
    outcome: SimulatedCall | None, head: Head, gas: int | None, promise: Promise
) -> Simulation | None:
    if outcome is None:
        return None
    if not outcome.succeeded:
        return Simulation(head.number, (), outcome.gas_used or 0, outcome.words or "it reverts")
    if outcome.logs is None:
        # Without transfers nobody knows what moves.
        return None
    try:
        changes = tuple(_changes(outcome.logs, promise))
    except EvmUncertain:
        return None
    return Simulation(head.number, changes, outcome.gas_used or gas or 0)


def _changes(logs: Sequence[Log], promise: Promise) -> list[BalanceChange]:
    moved: dict[tuple[str, str], int] = defaultdict(int)
    for log in logs:
        # Four topics are a transfer of a single thing (ERC-721), which has no amount.
        if len(log.topics) != 3 or log.topics[0] != _TRANSFER or len(log.data) != 32:
            continue
        units = int.from_bytes(log.data, "big")
        giver, taker = (checksummed("0x" + topic[-40:]) for topic in log.topics[1:])
        moved[giver, log.address] -= units
        moved[taker, log.address] += units
    return [
        _change(holder, token, units, promise) for (holder, token), units in moved.items() if units
    ]


def _change(holder: str, token: str, units: int, promise: Promise) -> BalanceChange:
    contract = None if token == NATIVE else token
    known = _asset(contract, promise)
    if known is None:
        return BalanceChange(holder, "?", contract, None, units)
    return BalanceChange(holder, known.symbol, contract, known.decimals, units)


def _asset(contract: str | None, promise: Promise) -> Asset | None:
    if contract == promise.sell.contract:
        return promise.sell
    for one in promise.withdrawal.taken if promise.withdrawal is not None else ():
        if contract == one.asset.contract:
            return one.asset
    same_chain = promise.chain_out == promise.chain
    return promise.buy if same_chain and contract == promise.buy.contract else None


__all__ = ["EvmFacts", "Read", "read_facts"]
