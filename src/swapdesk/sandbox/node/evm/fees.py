"""Prices of gas: what the next block costs and what the last ones paid."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from swapdesk.sandbox.node.evm.index import Index
from swapdesk.sandbox.node.evm.machine import BlockHeader, next_base_fee
from swapdesk.sandbox.node.evm.problem import Problem
from swapdesk.sandbox.node.evm.serialize import quantity
from swapdesk.sandbox.node.evm.terms import ChainTerms

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
