"""What the venues with pools have in common: the pair's path, its price, and the swap's end.

Paths from one token to another along pools, and which of them pays most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.rpc.evm_answers import EvmRefused, TransactionReceipt
from swapdesk.service.venues.adapter import LegReport, Unavailable
from swapdesk.service.venues.onchain.adapter import (
    AUTO_SLIPPAGE,
    Deal,
    DexPrice,
    DexQuestion,
    DexRefused,
    Plan,
    Progress,
    RouteExecution,
)
from swapdesk.service.venues.onchain.reader import (
    ChainPlace,
    ChainView,
    Hop,
    OnchainReader,
    PoolPlace,
    less,
    pays_along,
    price_impact,
)
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

MOST_HOPS = 3
"""As many pools as the routers' contracts go through."""


class PricedPath(Struct, frozen=True):
    """Tokens by contract, and what the pools between them pay in units of the last one."""

    tokens: tuple[str, ...]
    paid: int
    impact: Decimal

    @property
    def hops(self) -> int:
        return len(self.tokens) - 1


class Paths:
    """The pools of one venue on one chain."""

    def __init__(self, pools: Iterable[PoolPlace]) -> None:
        self._beside: dict[str, dict[str, PoolPlace]] = {}
        for pool in pools:
            self._beside.setdefault(pool.token0, {})[pool.token1] = pool
            self._beside.setdefault(pool.token1, {})[pool.token0] = pool

    def between(self, start: str, end: str) -> Iterator[tuple[str, ...]]:
        """Every path of at most ``MOST_HOPS`` pools that comes by no token twice."""
        if start == end or start not in self._beside or end not in self._beside:
            return
        waiting: list[tuple[str, ...]] = [(start,)]
        while waiting:
            path = waiting.pop()
            for token in self._beside[path[-1]]:
                if token == end:
                    yield (*path, token)
                elif token not in path and len(path) < MOST_HOPS:
                    waiting.append((*path, token))

    def connects(self, start: str, end: str) -> bool:
        return next(self.between(start, end), None) is not None

    def best(self, view: ChainView, start: str, end: str, amount: int) -> PricedPath | None:
        """The path that pays most now; the shorter of equal ones. None when none pays."""
        found: PricedPath | None = None
        for tokens in self.between(start, end):
            hops = self._hops(view, tokens)
            if hops is None:
                continue
            paid = pays_along(amount, hops)
            if found is None or (paid, -len(tokens)) > (found.paid, -len(found.tokens)):
                found = PricedPath(tokens, paid, price_impact(amount, paid, hops))
        return found if found is not None and found.paid > 0 else None

    def _hops(self, view: ChainView, tokens: tuple[str, ...]) -> list[Hop] | None:
        hops = []
        for token_in, token_out in pairwise(tokens):
            hop = view.hop(self._beside[token_in][token_out], token_in)
            if hop is None:
                return None
            hops.append(hop)
        return hops


_SWAP_EVENT = "0x" + keccak(b"Swap(address,uint256,uint256,uint256,uint256,address)").hex()
_LATE = timedelta(seconds=60)
"""After its deadline a transaction that no node knows is given up."""

_MINUTES = Decimal("0.5")
PAYS_NOTHING = Unavailable("the pools pay nothing for this amount")

_GAS_SHARE = 5
"""A transaction may use a fifth more gas than it was tried with."""


def contract_of(token: Token, place: ChainPlace) -> str:
    """The token's contract; the wrapped one of a native coin."""
    return place.wrapped if token.address is None else checksummed(token.address)


class Pools:
    """The pools of one venue on every chain it is on."""

    def __init__(
        self, readers: Mapping[str, OnchainReader], pools: Mapping[str, Iterable[PoolPlace]]
    ) -> None:
        self._readers = readers
        self._paths: dict[str, Paths] = {}
        for chain, found in pools.items():
            listed = list(found)
            readers[chain].watch(listed)
            self._paths[chain] = Paths(listed)

    def reader(self, deal: Deal) -> OnchainReader:
        """Of the chain on which the deal sells."""
        return self._readers[deal.token_in.chain_data.short_name]

    async def priced(self, question: DexQuestion, gas: int, gas_a_hop: int) -> DexPrice | None:
        """A swap along the best path by a transaction of its sender; None where nothing is paid."""
        view, path = await self.best(question.token_in, question.token_out, question.amount)
        if path is None:
            return None
        gas += gas_a_hop * path.hops
        return DexPrice(
            planned(question, path),
            minutes=_MINUTES,
            impact=path.impact,
            gas=gas,
            gas_wei=gas * (view.fees.base_fee + view.fees.priority),
            needs_permission=question.token_in.address is not None,
        )

    def connects(self, token_in: Token, token_out: Token) -> bool:
        """Whether there is a path on one chain; wrapping a coin is none."""
        chain = token_in.chain_data.short_name
        if chain != token_out.chain_data.short_name or chain not in self._paths:
            return False
        place = self._readers[chain].place
        start, end = contract_of(token_in, place), contract_of(token_out, place)
        return self._paths[chain].connects(start, end)

    async def best(
        self, token_in: Token, token_out: Token, amount: int
    ) -> tuple[ChainView, PricedPath | None]:
        """What the pools pay at the newest block."""
        chain = token_in.chain_data.short_name
        reader = self._readers[chain]
        view = await reader.view()
        start, end = contract_of(token_in, reader.place), contract_of(token_out, reader.place)
        return view, self._paths[chain].best(view, start, end, amount)


def planned(question: DexQuestion, path: PricedPath, *, out: int | None = None) -> Plan:
    """The promise of a quote, ``out`` where the venue pays another amount than the pools."""
    slippage = AUTO_SLIPPAGE if question.slippage is None else question.slippage
    paid = path.paid if out is None else out
    return Plan(
        amount=question.amount,
        out=paid,
        least=less(paid, slippage),
        slippage=slippage,
        path=path.tokens,
    )


async def tried(
    reader: OnchainReader, call: Call, *, deadline: datetime, slippage: Decimal
) -> dict[str, Any]:
    """The transaction for the wallet, once it went well on the chain as it is.

    Raises DexRefused with the contract's reason when it did not.
    """
    try:
        gas = await reader.client.estimate(call)
    except EvmRefused as refused:
        raise DexRefused(f"the swap would fail now: {refused.words}") from refused
    fees = await reader.client.fees()
    return {
        "from": call.sender,
        "to": call.to,
        "data": "0x" + call.data.hex(),
        "value": str(call.value),
        "chainId": reader.place.chain_id,
        "gasLimit": str(gas + gas // _GAS_SHARE),
        "maxFeePerGas": str(fees.most),
        "maxPriorityFeePerGas": str(fees.priority),
        "router": call.to,
        "deadline": str(int(deadline.timestamp())),
        "slippage": format(slippage, "f"),
    }


async def watched(
    reader: OnchainReader, execution: RouteExecution
) -> tuple[LegReport, TransactionReceipt | None]:
    """The confirmed transaction as a leg: seen, confirmed, failed. Money moves in it or nowhere.

    The receipt comes with FINISHED only: after as many blocks as the chain asks for. What a
    chain has forgotten again counts as waiting for a block, until the calldata cannot be
    executed any more.
    """
    if execution.hash is None:
        return LegReport(LegStatus.WAITING), None
    receipt = await reader.client.receipt(execution.hash)
    needed = reader.place.confirmations
    if receipt is None:
        if await reader.client.transaction(execution.hash) is not None:
            return _confirming(execution.hash, 0, needed), None
        if execution.now > execution.deadline + _LATE:
            return LegReport(LegStatus.FAILED, deposit_hash=execution.hash), None
        return _confirming(execution.hash, 0, needed), None
    deep = await reader.client.height() - receipt.block + 1
    if deep < needed:
        return _confirming(execution.hash, max(deep, 0), needed), None
    if not receipt.succeeded:
        return LegReport(LegStatus.FAILED, deposit_hash=receipt.hash), None
    report = LegReport(
        LegStatus.FINISHED,
        deposit_hash=receipt.hash,
        confirmations=deep,
        confirmations_needed=needed,
        deposit_arrived=True,
    )
    return report, receipt


def _confirming(transaction: str, deep: int, needed: int) -> LegReport:
    return LegReport(
        LegStatus.CONFIRMING,
        deposit_hash=transaction,
        confirmations=deep,
        confirmations_needed=needed,
    )


async def swapped(reader: OnchainReader, execution: RouteExecution) -> Progress:
    """Progress of an order whose transaction is the whole swap."""
    report, receipt = await watched(reader, execution)
    if receipt is None:
        return Progress(report)
    deal = execution.deal
    paid = paid_by_pools(receipt)
    finished = LegReport(
        LegStatus.FINISHED,
        amount_in=from_base_units(deal.plan.amount, deal.token_in.decimals),
        amount_out=None if paid is None else from_base_units(paid, deal.token_out.decimals),
        deposit_hash=receipt.hash,
        payout_hash=receipt.hash,
        confirmations=report.confirmations,
        confirmations_needed=report.confirmations_needed,
        deposit_arrived=True,
    )
    return Progress(finished)


def paid_by_pools(receipt: TransactionReceipt) -> int | None:
    """What the last pool of a path paid out."""
    swaps = [log for log in receipt.logs if log.topics and log.topics[0] == _SWAP_EVENT]
    if not swaps or len(swaps[-1].data) != 128:
        return None
    data = swaps[-1].data
    return int.from_bytes(data[64:96], "big") + int.from_bytes(data[96:128], "big")
