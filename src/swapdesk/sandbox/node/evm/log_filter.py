"""The filter of ``eth_getLogs``."""

from __future__ import annotations

from typing import Any

from swapdesk.sandbox.node.evm.block_tag import chosen_block, tagged_number
from swapdesk.sandbox.node.evm.call_request import bad, read_address, read_bytes, read_object
from swapdesk.sandbox.node.evm.index import LogFilter
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.problem import Problem

MOST_ADDRESSES = 100
MOST_TOPICS = 4
_FIELDS = ("fromBlock", "toBlock", "address", "topics", "blockHash")


def read_filter(chain: LiveChain, value: Any) -> LogFilter:
    """Raises Problem."""
    given = read_object(value, "the filter", _FIELDS)
    if "blockHash" in given:
        if "fromBlock" in given or "toBlock" in given:
            raise bad(
                "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other"
            )
        block = chosen_block(chain, {"blockHash": given["blockHash"]})
        if block is None:
            raise Problem("unknown block")
        first = last = int(block.header.block_number)
    else:
        first = tagged_number(chain, given.get("fromBlock", "latest"))
        last = min(tagged_number(chain, given.get("toBlock", "latest")), chain.head.number)
        if first > last and "toBlock" in given:
            if first <= chain.head.number:
                raise Problem("invalid block range params")
            last = first
    return LogFilter(first, last, _addresses(given.get("address")), _topics(given.get("topics")))


def _addresses(value: Any) -> frozenset[bytes]:
    if value is None:
        return frozenset()
    listed = value if isinstance(value, list) else [value]
    if len(listed) > MOST_ADDRESSES:
        raise bad(f"at most {MOST_ADDRESSES} addresses")
    return frozenset(read_address(each, "address") for each in listed)


def _topics(value: Any) -> list[frozenset[bytes] | None]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MOST_TOPICS:
        raise bad(f"topics are a list of at most {MOST_TOPICS}")
    places: list[frozenset[bytes] | None] = []
    for each in value:
        if each is None or each == []:
            places.append(None)
            continue
        listed = each if isinstance(each, list) else [each]
        if any(one is None for one in listed):
            places.append(None)
        else:
            places.append(frozenset(read_bytes(one, "a topic", 32) for one in listed))
    return places
