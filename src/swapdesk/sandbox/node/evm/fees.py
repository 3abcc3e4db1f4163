"""What gas costs: the usual tip, and the history of fees."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from swapdesk.sandbox.node.evm.blocks import Block, next_base_fee, price_at
from swapdesk.sandbox.node.evm.chain import EvmChain
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.evm.serialize import quantity

MOST_BLOCKS = 1_024
LEAST_TIP = 1
_LOOKED_AT = 20
_USUAL = 60
_LOWEST_TIP_PART = 20


def usual_tip(chain: EvmChain) -> int:
    """A priority fee in wei per gas: what 60 % of the newest transactions paid no more than, at
    least a twentieth of the lowest base fee."""
    least = max(LEAST_TIP, chain.terms.lowest_base_fee // _LOWEST_TIP_PART)
    tips = sorted(tip for block in chain.blocks[-_LOOKED_AT:] for tip, _ in _tips(block))
    return max(least, tips[(len(tips) - 1) * _USUAL // 100]) if tips else least


def fee_history(
    chain: EvmChain, count: int, newest: Block, percentiles: Sequence[float]
) -> dict[str, Any]:
    """``eth_feeHistory``: base fees of the blocks and of the one after them, how full they were,
    and with percentiles the tips they paid. Raises Problem."""
    if any(not 0 <= each <= 100 for each in percentiles):
        raise Problem("invalid reward percentile")
    if any(high <= low for low, high in pairwise(percentiles)):
        raise Problem("invalid reward percentile: they must rise")
    first = max(0, newest.number - min(count, MOST_BLOCKS) + 1)
    blocks = chain.blocks[first : newest.number + 1]
    fees = [block.base_fee_per_gas for block in blocks]
    answer: dict[str, Any] = {
        "oldestBlock": quantity(first),
        "baseFeePerGas": [quantity(fee) for fee in (*fees, next_base_fee(chain.terms, newest))],
        "gasUsedRatio": [block.gas_used / block.gas_limit for block in blocks],
        "baseFeePerBlobGas": ["0x1"] * (len(blocks) + 1),
        "blobGasUsedRatio": [0] * len(blocks),
    }
    if percentiles:
        answer["reward"] = [
            [quantity(tip) for tip in _rewards(block, percentiles)] for block in blocks
        ]
    return answer


def _rewards(block: Block, percentiles: Sequence[float]) -> list[int]:
    """The tip at each percentile of the block's gas."""
    paid = sorted(_tips(block))
    if not paid:
        return [0] * len(percentiles)
    sums: list[int] = []
    for _, gas in paid:
        sums.append(gas + (sums[-1] if sums else 0))
    places = (bisect.bisect_left(sums, sums[-1] * each / 100) for each in percentiles)
    return [paid[min(place, len(paid) - 1)][0] for place in places]


def _tips(block: Block) -> list[tuple[int, int]]:
    """Tip and gas of every transaction of a block."""
    base_fee = block.base_fee_per_gas
    return [(price_at(one.signed, base_fee) - base_fee, one.gas_used) for one in block.transactions]
