"""Which block a parameter means: a number, a hash, or one of the tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swapdesk.sandbox.node.evm.call_request import bad, read_bytes, read_object, read_quantity
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.machine import BlockHeader
from swapdesk.sandbox.node.evm.problem import Problem


@dataclass(frozen=True)
class ChosenBlock:
    """``newest``: the head, or what comes after it (``pending``)."""

    header: BlockHeader
    newest: bool
    pending: bool = False


def tagged_number(chain: LiveChain, value: Any) -> int:
    """The number a tag or a quantity stands for. ``finalized`` blocks have the confirmations
    that exchanges wait for, ``safe`` ones half of them. Raises Problem."""
    head = chain.head.number
    deep = chain.terms.confirmations - 1
    tags = {
        "latest": head,
        "pending": head,
        "earliest": 0,
        "safe": max(0, head - deep // 2),
        "finalized": max(0, head - deep),
    }
    return tags[value] if value in tags else read_quantity(value, "the block number")


def chosen_block(chain: LiveChain, value: Any) -> ChosenBlock | None:
    """The block meant, None when there is none. Raises Problem."""
    head = chain.head
    if value is None or value in ("latest", "pending"):
        return ChosenBlock(head.header, newest=True, pending=value == "pending")
    if isinstance(value, dict):
        given = read_object(value, "the block", ("blockHash", "blockNumber", "requireCanonical"))
        if ("blockHash" in given) == ("blockNumber" in given):
            raise bad("the block is chosen by blockHash or blockNumber")
        if "blockHash" in given:
            wanted = read_bytes(given["blockHash"], "blockHash", 32)
            header = chain.index.header_by_hash(wanted)
            return _published(chain, header)
        value = given["blockNumber"]
    if isinstance(value, list):
        raise bad("the block is no tag, number or hash")
    number = tagged_number(chain, value)
    if number > head.number:
        return None
    header = head.header if number == head.number else chain.index.header_at(number)
    return _published(chain, header)


def require_block(chain: LiveChain, value: Any) -> ChosenBlock:
    """As ``chosen_block``, but raises Problem when there is none."""
    found = chosen_block(chain, value)
    if found is None:
        raise Problem("header not found")
    return found


def _published(chain: LiveChain, header: BlockHeader | None) -> ChosenBlock | None:
    if header is None or header.block_number > chain.head.number:
        return None
    return ChosenBlock(header, newest=header.block_number == chain.head.number)
