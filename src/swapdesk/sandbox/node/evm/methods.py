"""The JSON-RPC methods of one chain, as unmodified clients call them.

What is not here is answered with -32601: no proofs, traces, filters or subscriptions.
``forged_receipt`` is that of a node that lies.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from swapdesk import __version__
from swapdesk.sandbox.node.evm.http_endpoint import Written
from swapdesk.sandbox.node.evm.json_rpc import (
    CallRequest,
    Code,
    Problem,
    bad,
    read_address,
    read_bytes,
    read_object,
    read_quantity,
    read_word,
)
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.machine import BlockHeader
from swapdesk.sandbox.node.evm.mempool import Candidate
from swapdesk.sandbox.node.evm.serialize import (
    data,
    quantity,
    receipt_document,
    transaction_document,
)
from swapdesk.sandbox.node.evm.state_trie import read_account, read_code, read_storage
from swapdesk.sandbox.node.evm.storage import LogFilter


def forged_receipt(
    receipt: str | None, waiting: Candidate | None, head: BlockHeader
) -> dict[str, Any] | None:
    """The opposite of what happened: of a mined transaction the other status, of a waiting one
    a success in the newest block."""
    if receipt is not None:
        told: dict[str, Any] = json.loads(receipt)
        told["status"] = "0x0" if told["status"] == "0x1" else "0x1"
        return told
    if waiting is None:
        return None
    return receipt_document(
        waiting,
        head,
        0,
        succeeded=True,
        gas_used=21_000,
        cumulative_gas=21_000,
        bloom=0,
        created=None,
        logs=(),
    )


class ChosenBlock(Struct, frozen=True):
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


class _Method(Struct, frozen=True):
    run: Callable[..., Awaitable[Any]]
    least: int
    most: int


class Methods:
    """Every method of one chain behind ``call``; ``more`` are those of others by name, each with
    the least and the most arguments it takes."""

    def __init__(
        self,
        chain: LiveChain,
        more: Mapping[str, tuple[Callable[..., Awaitable[Any]], int, int]] | None = None,
    ) -> None:
        self._chain = chain
        self._table = {
            "web3_clientVersion": _Method(self._client, 0, 0),
            "net_version": _Method(self._network, 0, 0),
            "net_listening": _Method(self._listening, 0, 0),
            "eth_chainId": _Method(self._chain_id, 0, 0),
            "eth_syncing": _Method(self._syncing, 0, 0),
            "eth_accounts": _Method(self._accounts, 0, 0),
            "eth_blockNumber": _Method(self._block_number, 0, 0),
            "eth_getBalance": _Method(self._balance, 1, 2),
            "eth_getTransactionCount": _Method(self._nonce, 1, 2),
            "eth_getCode": _Method(self._code, 1, 2),
            "eth_getStorageAt": _Method(self._storage, 2, 3),
            "eth_call": _Method(self._call, 1, 4),
            "eth_estimateGas": _Method(self._estimate, 1, 4),
            "eth_simulateV1": _Method(self._simulate, 1, 2),
            "eth_sendRawTransaction": _Method(self._send, 1, 1),
            "eth_getTransactionByHash": _Method(self._transaction, 1, 1),
            "eth_getTransactionByBlockNumberAndIndex": _Method(self._transaction_at, 2, 2),
            "eth_getTransactionByBlockHashAndIndex": _Method(self._transaction_of, 2, 2),
            "eth_getTransactionReceipt": _Method(self._receipt, 1, 1),
            "eth_getBlockReceipts": _Method(self._receipts, 1, 1),
            "eth_getBlockByNumber": _Method(self._block_by_number, 1, 2),
            "eth_getBlockByHash": _Method(self._block_by_hash, 1, 2),
            "eth_getLogs": _Method(self._logs, 1, 1),
            "eth_feeHistory": _Method(self._fee_history, 2, 3),
            "eth_gasPrice": _Method(self._gas_price, 0, 0),
            "eth_maxPriorityFeePerGas": _Method(self._priority_fee, 0, 0),
            **{name: _Method(*each) for name, each in (more or {}).items()},
        }

    async def call(self, name: Any, params: Any) -> Any:
        """The result of a method: what JSON holds, or Written. Raises Problem."""
        method = self._table.get(name) if isinstance(name, str) else None
        if method is None:
            raise Problem(
                f"the method {str(name)[:64]} does not exist/is not available", Code.NO_METHOD
            )
        if params is None:
            params = []
        if not isinstance(params, list):
            raise Problem("non-array args", Code.BAD_PARAMS)
        if len(params) > method.most:
            raise Problem(f"too many arguments, want at most {method.most}", Code.BAD_PARAMS)
        if len(params) < method.least:
            raise Problem(f"missing value for required argument {len(params)}", Code.BAD_PARAMS)
        return await method.run(*params)

    async def _client(self) -> str:
        return f"swapdesk/{__version__}"

    async def _network(self) -> str:
        return str(self._chain.terms.chain_id)

    async def _listening(self) -> bool:
        return True

    async def _chain_id(self) -> str:
        return quantity(self._chain.terms.chain_id)

    async def _syncing(self) -> bool:
        return False

    async def _accounts(self) -> list[str]:
        return []

    async def _block_number(self) -> str:
        return quantity(self._chain.head.number)

    async def _balance(self, address: Any, block: Any = None) -> str:
        return quantity(self._account(address, block).balance)

    async def _nonce(self, address: Any, block: Any = None) -> str:
        nonce = self._account(address, block).nonce
        if block == "pending":
            nonce = self._chain.pool.next_nonce(read_address(address, "address"), nonce)
        return quantity(nonce)

    async def _code(self, address: Any, block: Any = None) -> str:
        at = require_block(self._chain, block)
        account = read_address(address, "address")
        return data(read_code(self._chain.state, at.header.state_root, account))

    async def _storage(self, address: Any, slot: Any, block: Any = None) -> str:
        at = require_block(self._chain, block)
        account = read_address(address, "address")
        word = read_storage(
            self._chain.state, at.header.state_root, account, read_word(slot, "the slot")
        )
        return data(word.to_bytes(32, "big"))

    async def _call(
        self, request: Any, block: Any = None, state: Any = None, changes: Any = None
    ) -> str:
        at = require_block(self._chain, block)
        read = CallRequest.read(request, self._chain.terms.chain_id)
        reading = self._chain.reading
        return data(await reading.call(at.header, at.newest, read, state, changes))

    async def _estimate(
        self, request: Any, block: Any = None, state: Any = None, changes: Any = None
    ) -> str:
        at = require_block(self._chain, block)
        read = CallRequest.read(request, self._chain.terms.chain_id)
        reading = self._chain.reading
        return quantity(await reading.estimate(at.header, at.newest, read, state, changes))

    async def _simulate(self, request: Any, block: Any = None) -> list[dict[str, Any]]:
        at = require_block(self._chain, block)
        return await self._chain.reading.simulate(at.header, request)

    async def _send(self, raw: Any) -> str:
        return data(self._chain.submit(read_bytes(raw, "the transaction")))

    async def _transaction(self, transaction_hash: Any) -> Any:
        wanted = read_bytes(transaction_hash, "the hash", 32)
        found = self._chain.index.transaction(wanted)
        if found is not None and found[0] <= self._chain.head.number:
            return Written(found[1])
        waiting = self._chain.pool.get(wanted)
        if waiting is None:
            return None
        return transaction_document(waiting, self._chain.terms.chain_id)

    async def _transaction_at(self, block: Any, position: Any) -> Any:
        at = chosen_block(self._chain, block)
        if at is None:
            return None
        number = at.header.block_number
        found = self._chain.index.transaction_at(number, read_quantity(position, "the index"))
        return None if found is None else Written(found)

    async def _transaction_of(self, block_hash: Any, position: Any) -> Any:
        return await self._transaction_at({"blockHash": block_hash}, position)

    async def _receipt(self, transaction_hash: Any) -> Any:
        wanted = read_bytes(transaction_hash, "the hash", 32)
        found = self._chain.index.receipt(wanted)
        text = found[1] if found is not None and found[0] <= self._chain.head.number else None
        waiting = self._chain.pool.get(wanted)
        if text is None and waiting is None:
            return None
        if self._chain.faults.forges_receipt(self._chain.terms.short_name):
            return forged_receipt(text, waiting, self._chain.head.header)
        return None if text is None else Written(text)

    async def _receipts(self, block: Any) -> Any:
        at = chosen_block(self._chain, block)
        return None if at is None else self._chain.index.receipts(at.header.block_number)

    async def _block_by_number(self, block: Any, whole: Any = False) -> Any:
        if block == "pending":
            return self._pending(whole is True)
        return await self._block(chosen_block(self._chain, block), whole)

    async def _block_by_hash(self, block_hash: Any, whole: Any = False) -> Any:
        return await self._block(chosen_block(self._chain, {"blockHash": block_hash}), whole)

    async def _block(self, at: Any, whole: Any) -> Any:
        if not isinstance(whole, bool):
            raise bad("whether to show whole transactions is true or false")
        if at is None:
            return None
        number = at.header.block_number
        if whole:
            return await self._chain.reading.block(number)
        return self._chain.index.block(number, whole=False)

    def _pending(self, whole: bool) -> dict[str, Any]:
        """What comes next, as far as it is known: its transactions are those that wait."""
        chain = self._chain
        document = dict(chain.pending_block())
        waiting = chain.ready()
        document["transactions"] = [
            transaction_document(each, chain.terms.chain_id) if whole else data(each.hash)
            for each in waiting
        ]
        return document

    async def _logs(self, wanted: Any) -> Written:
        found = await self._chain.reading.logs(read_filter(self._chain, wanted))
        return Written(f"[{','.join(found)}]")

    async def _fee_history(self, count: Any, newest: Any, percentiles: Any = None) -> Any:
        blocks = count if isinstance(count, int) else read_quantity(count, "the block count")
        at = require_block(self._chain, newest)
        if percentiles is not None and not isinstance(percentiles, list):
            raise bad("the percentiles are no list")
        try:
            places = [float(each) for each in percentiles or []]
        except (TypeError, ValueError):
            raise bad("a percentile is no number") from None
        if blocks < 1:
            return {"oldestBlock": "0x0", "gasUsedRatio": []}
        return await self._chain.reading.fee_history(blocks, at.header, places)

    async def _gas_price(self) -> str:
        head = self._chain.head.header
        return quantity(self._chain.next_base_fee + await self._chain.reading.tip(head))

    async def _priority_fee(self) -> str:
        return quantity(await self._chain.reading.tip(self._chain.head.header))

    def _account(self, address: Any, block: Any) -> Any:
        wanted = read_address(address, "address")
        at = require_block(self._chain, block)
        if at.newest:
            return self._chain.account(wanted)
        return read_account(self._chain.state, at.header.state_root, wanted)
