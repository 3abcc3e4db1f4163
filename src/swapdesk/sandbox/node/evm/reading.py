"""What takes the reader's thread: calls, estimates, simulations, logs and prices of gas."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from eth.db.atomic import AtomicDB
from trie.exceptions import MissingTrieNode

from swapdesk.clock import Clock
from swapdesk.sandbox.chain_rows import ChainTerms
from swapdesk.sandbox.node.evm.calls import CallExecutor, CallSimulation, override_block
from swapdesk.sandbox.node.evm.chain import Beats, EvmChain
from swapdesk.sandbox.node.evm.chain_threads import Lane
from swapdesk.sandbox.node.evm.json_rpc import CallRequest, Code, Problem
from swapdesk.sandbox.node.evm.machine import BlockHeader, EvmMachine, next_base_fee
from swapdesk.sandbox.node.evm.serialize import quantity
from swapdesk.sandbox.node.evm.storage import MOST_LOGS, Index, LogFilter, TooManyLogs

MOST_BLOCKS = 1_024
LEAST_TIP = 1
_LOOKED_AT = 20
_USUAL = 60
_LOWEST_TIP_PART = 20


def usual_tip(index: Index, terms: ChainTerms, head: BlockHeader) -> int:
    """A priority fee in wei per gas: what 60 % of the newest transactions paid no more than, at
    least a twentieth of the lowest base fee."""
    least = max(LEAST_TIP, terms.lowest_base_fee // _LOWEST_TIP_PART)
    tips: list[int] = []
    number = head.block_number
    while number > 0 and number > head.block_number - _LOOKED_AT:
        header = index.header_at(number)
        if header is None:
            break
        if header.gas_used:
            tips += [tip for tip, _ in _tips(index, header)]
        number -= 1
    tips.sort()
    return max(least, tips[(len(tips) - 1) * _USUAL // 100]) if tips else least


def fee_history(
    index: Index, terms: ChainTerms, count: int, newest: BlockHeader, percentiles: Sequence[float]
) -> dict[str, Any]:
    """``eth_feeHistory``: base fees of the blocks and of the one after them, how full they were,
    and with percentiles the tips they paid. Raises Problem."""
    if any(not 0 <= each <= 100 for each in percentiles):
        raise Problem("invalid reward percentile")
    if any(high <= low for low, high in pairwise(percentiles)):
        raise Problem("invalid reward percentile: they must rise")
    first = max(0, newest.block_number - min(count, MOST_BLOCKS) + 1)
    headers = []
    for number in range(first, newest.block_number + 1):
        header = newest if number == newest.block_number else index.header_at(number)
        if header is not None:
            headers.append(header)
    answer: dict[str, Any] = {
        "oldestBlock": quantity(first),
        "baseFeePerGas": [
            *(quantity(header.base_fee_per_gas) for header in headers),
            quantity(next_base_fee(terms, newest)),
        ],
        "gasUsedRatio": [header.gas_used / header.gas_limit for header in headers],
        "baseFeePerBlobGas": ["0x1"] * (len(headers) + 1),
        "blobGasUsedRatio": [0] * len(headers),
    }
    if percentiles:
        answer["reward"] = [
            [quantity(tip) for tip in _rewards(index, header, percentiles)] for header in headers
        ]
    return answer


def _rewards(index: Index, header: BlockHeader, percentiles: Sequence[float]) -> list[int]:
    """The tip at each percentile of the block's gas."""
    paid = sorted(_tips(index, header))
    if not paid:
        return [0] * len(percentiles)
    sums: list[int] = []
    for _, gas in paid:
        sums.append(gas + (sums[-1] if sums else 0))
    places = (bisect.bisect_left(sums, sums[-1] * each / 100) for each in percentiles)
    return [paid[min(place, len(paid) - 1)][0] for place in places]


def _tips(index: Index, header: BlockHeader) -> list[tuple[int, int]]:
    """Tip and gas of every transaction of a block."""
    if not header.gas_used:
        return []
    return [
        (int(each["effectiveGasPrice"], 16) - header.base_fee_per_gas, int(each["gasUsed"], 16))
        for each in index.receipts(header.block_number)
    ]


T = TypeVar("T")

MOST_KEPT, LONGEST_KEPT = 512, 4_096
"""Outputs of calls that are remembered, and bytes of one."""


class EvmReader:
    """The reader's side of one chain. ``header`` is the block after which something is asked;
    ``newest`` says that it is the head, where the time is the clock's."""

    def __init__(self, chain: EvmChain, lane: Lane, beats: Beats, clock: Clock) -> None:
        self._terms = chain.terms
        self._lane = lane
        self._beats = beats
        self._index = Index(chain.path)
        self._machine = EvmMachine(chain.terms, AtomicDB(chain.state), self._index.header_by_hash)
        self._caller = CallExecutor(self._machine, clock)
        self._tip: tuple[bytes, int] = (b"", 0)
        self._called: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        """What calls returned, by the block that they saw, its time and all that they said."""

    def forget(self) -> None:
        """After a reorganisation."""
        self._index.forget()

    def close(self) -> None:
        self._index.close()

    async def call(
        self, header: BlockHeader, newest: bool, request: CallRequest, state: Any, block: Any
    ) -> bytes:
        """What the call returns. Raises Problem."""

        seen = self._at(header, newest)
        if state is not None or block is not None:
            return await self._run(
                lambda: self._caller.call(override_block(seen, block), request, state).require()
            )
        # A wallet looks twice before it signs, and venues ask what others just asked.
        key = (seen.parent_hash, seen.state_root, seen.timestamp, request)
        known = self._called.get(key)
        if known is None:
            known = await self._run(lambda: self._caller.call(seen, request).require())
            if len(known) <= LONGEST_KEPT:
                self._called[key] = known
                while len(self._called) > MOST_KEPT:
                    self._called.popitem(last=False)
        return known

    async def estimate(
        self, header: BlockHeader, newest: bool, request: CallRequest, state: Any, block: Any
    ) -> int:
        """Gas. Raises Problem."""

        def work() -> int:
            at = override_block(self._at(header, newest), block)
            return self._caller.estimate(at, request, state)

        return await self._run(work)

    async def simulate(self, header: BlockHeader, value: Any) -> list[dict[str, Any]]:
        """Raises Problem."""

        def work() -> list[dict[str, Any]]:
            now = self._beats.now().timestamp
            return CallSimulation(self._caller, self._machine, header, now).run(value)

        return await self._run(work)

    async def logs(self, wanted: LogFilter) -> list[str]:
        """Documents. Raises Problem."""

        def work() -> list[str]:
            try:
                return self._index.logs(wanted)
            except TooManyLogs:
                raise Problem(f"query returned more than {MOST_LOGS} results", Code.LIMIT) from None

        return await self._run(work)

    async def block(self, number: int) -> dict[str, Any] | None:
        """A block with its whole transactions."""
        return await self._run(lambda: self._index.block(number, whole=True))

    async def fee_history(
        self, count: int, newest: BlockHeader, percentiles: Sequence[float]
    ) -> dict[str, Any]:
        """Raises Problem."""
        return await self._run(
            lambda: fee_history(self._index, self._terms, count, newest, percentiles)
        )

    async def tip(self, head: BlockHeader) -> int:
        """Wei per gas; looked up once for each head."""
        if self._tip[0] != head.hash:
            found = await self._run(lambda: usual_tip(self._index, self._terms, head))
            self._tip = (head.hash, found)
        return self._tip[1]

    async def _run(self, work: Callable[[], T]) -> T:
        def guarded() -> T:
            try:
                return work()
            except MissingTrieNode as missing:
                raise Problem(
                    f"missing trie node {missing.missing_node_hash.hex()} (path )"
                    " state is not available"
                ) from None

        return await self._lane.run(guarded)

    def _at(self, header: BlockHeader, newest: bool) -> BlockHeader:
        if not newest:
            return header
        return header.copy(timestamp=max(header.timestamp, self._beats.now().timestamp))
