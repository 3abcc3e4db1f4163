"""The JSON-RPC methods of one chain, in the form that unmodified Ethereum clients expect. There are
no proofs, traces, filters or subscriptions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from swapdesk import __version__
from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.sandbox.faults import FORGED_RECEIPT
from swapdesk.sandbox.node.evm.blocks import (
    Block,
    Document,
    MinedTransaction,
    block_document,
    data,
    quantity,
    receipt_document,
    transaction_document,
)
from swapdesk.sandbox.node.evm.chain import LogWords, fee_history, usual_tip
from swapdesk.sandbox.node.evm.json_rpc import (
    CallRequest,
    Problem,
    bad,
    read_address,
    read_bytes,
    read_object,
    read_quantity,
    read_word,
)
from swapdesk.sandbox.node.evm.mempool import Candidate
from swapdesk.sandbox.node.evm.node import LiveChain
from swapdesk.sandbox.node.evm.state import AccountsAt


def forged_receipt(
    receipt: Document | None, waiting: Candidate | None, head: Block
) -> Document | None:
    """Returns a false receipt. A mined transaction, given by ``receipt``, gets the opposite status.
    A ``waiting`` transaction seems to have succeeded in block ``head``. Returns None if both are
    None."""
    if receipt is not None:
        return {**receipt, "status": "0x0" if receipt["status"] == "0x1" else "0x1"}
    if waiting is None:
        return None
    pretended = MinedTransaction(
        waiting.raw, waiting.hash, waiting.sender, True, 21_000, 21_000, b"", ()
    )
    return receipt_document(replace(head, transactions=(pretended,)), 0)


def tagged_number(chain: LiveChain, value: Any) -> int:
    """Returns the number of the block that a tag or hex number means. The block ``finalized`` has
    as many confirmations as exchanges wait for, ``safe`` half as many. Raises Problem."""
    head = chain.head.number
    deep = chain.terms.confirmations - 1
    tags = {
        "latest": head,
        "pending": head,
        "earliest": 0,
        "safe": max(0, head - deep // 2),
        "finalized": max(0, head - deep),
    }
    if isinstance(value, str) and value in tags:
        return tags[value]
    return read_quantity(value, "the block number")


def chosen_block(chain: LiveChain, value: Any) -> Block | None:
    """Returns the block of a tag or hex number; if ``value`` is None, the newest. Returns None if
    there is no such block. Raises Problem."""
    number = tagged_number(chain, "latest" if value is None else value)
    return chain.chain.blocks[number] if number <= chain.head.number else None


def require_block(chain: LiveChain, value: Any) -> Block:
    """Returns the block like ``chosen_block``, but raises Problem if there is none."""
    block = chosen_block(chain, value)
    if block is None:
        raise Problem("header not found")
    return block


MOST_ADDRESSES = 100
MOST_TOPICS = 4
_FIELDS = ("fromBlock", "toBlock", "address", "topics", "blockHash")


def read_filter(chain: LiveChain, value: Any) -> tuple[int, int, LogWords]:
    """Reads a filter of logs; returns the first and last block number, and the words to match.
    Raises Problem."""
    given = read_object(value, "the filter", _FIELDS)
    if "blockHash" in given:
        if len(given.keys() & {"blockHash", "fromBlock", "toBlock"}) > 1:
            raise bad("logs are those of a block or of a range of blocks")
        block = chain.chain.block_of(read_bytes(given["blockHash"], "blockHash", 32))
        if block is None:
            raise Problem("unknown block")
        first = last = block.number
    else:
        first = tagged_number(chain, given.get("fromBlock", "latest"))
        last = min(tagged_number(chain, given.get("toBlock", "latest")), chain.head.number)
        if first > last and "toBlock" in given:
            if first <= chain.head.number:
                raise Problem("invalid block range params")
            last = first
    addresses = _addresses(given.get("address"))
    return first, last, [addresses, *_topics(given.get("topics"))]


def _addresses(value: Any) -> frozenset[bytes] | None:
    if value is None or value == []:
        return None
    listed = value if isinstance(value, list) else [value]
    if len(listed) > MOST_ADDRESSES:
        raise bad(f"at most {MOST_ADDRESSES} addresses")
    return frozenset(read_address(address, "address") for address in listed)


def _topics(value: Any) -> list[frozenset[bytes] | None]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MOST_TOPICS:
        raise bad(f"topics are a list of at most {MOST_TOPICS}")
    places: list[frozenset[bytes] | None] = []
    for topic in value:
        listed = topic if isinstance(topic, list) else [topic]
        if not listed or None in listed:
            places.append(None)
        else:
            places.append(frozenset(read_bytes(word, "a topic", 32) for word in listed))
    return places


Run = Callable[..., Awaitable[Any]]
Table = dict[str, tuple[Run, int, int]]
"""JSON-RPC methods by name: the function, and its least and largest number of arguments."""


def constant(value: object) -> Run:
    async def answer() -> object:
        return value

    return answer


class Methods:
    """Answers the JSON-RPC methods of one chain. ``more`` are methods that other parts add, such as
    the bundler."""

    def __init__(self, chain: LiveChain, more: Table | None = None) -> None:
        self._chain = chain
        constants = {
            "web3_clientVersion": f"swapdesk/{__version__}",
            "net_version": str(chain.terms.chain_id),
            "net_listening": True,
            "eth_chainId": quantity(chain.terms.chain_id),
            "eth_syncing": False,
            "eth_accounts": [],
        }
        self._table: Table = {
            "eth_blockNumber": (self._block_number, 0, 0),
            "eth_getBalance": (self._balance, 1, 2),
            "eth_getTransactionCount": (self._nonce, 1, 2),
            "eth_getCode": (self._code, 1, 2),
            "eth_getStorageAt": (self._storage, 2, 3),
            "eth_call": (self._call, 1, 3),
            "eth_estimateGas": (self._estimate, 1, 3),
            "eth_simulateV1": (self._simulate, 1, 2),
            "eth_sendRawTransaction": (self._send, 1, 1),
            "eth_getTransactionByHash": (self._transaction, 1, 1),
            "eth_getTransactionReceipt": (self._receipt, 1, 1),
            "eth_getBlockByNumber": (self._block_by_number, 1, 2),
            "eth_getBlockByHash": (self._block_by_hash, 1, 2),
            "eth_getLogs": (self._logs, 1, 1),
            "eth_feeHistory": (self._fee_history, 2, 3),
            "eth_gasPrice": (self._gas_price, 0, 0),
            "eth_maxPriorityFeePerGas": (self._priority_fee, 0, 0),
            **{name: (constant(value), 0, 0) for name, value in constants.items()},
            **(more or {}),
        }

    async def call(self, name: Any, params: Any) -> Any:
        """Calls a method; returns its result as JSON values. Raises Problem."""
        if not isinstance(name, str) or name not in self._table:
            raise Problem(
                f"the method {str(name)[:64]} does not exist/is not available", RpcCode.NO_METHOD
            )
        run, least, most = self._table[name]
        if params is None:
            params = []
        if not isinstance(params, list):
            raise Problem("non-array args", RpcCode.BAD_PARAMS)
        if len(params) > most:
            raise Problem(f"too many arguments, want at most {most}", RpcCode.BAD_PARAMS)
        if len(params) < least:
            raise Problem(f"missing value for required argument {len(params)}", RpcCode.BAD_PARAMS)
        return await run(*params)

    async def _block_number(self) -> str:
        return quantity(self._chain.head.number)

    async def _balance(self, address: Any, block: Any = None) -> str:
        return quantity(self._accounts(block).get_balance(read_address(address, "address")))

    async def _nonce(self, address: Any, block: Any = None) -> str:
        account = read_address(address, "address")
        nonce = self._accounts(block).get_nonce(account)
        if block == "pending":
            nonce = self._chain.pool.next_nonce(account, nonce)
        return quantity(nonce)

    async def _code(self, address: Any, block: Any = None) -> str:
        return data(self._accounts(block).get_code(read_address(address, "address")))

    async def _storage(self, address: Any, slot: Any, block: Any = None) -> str:
        account, place = read_address(address, "address"), read_word(slot, "the slot")
        return data(self._accounts(block).get_storage(account, place).to_bytes(32, "big"))

    async def _call(self, request: Any, block: Any = None, state: Any = None) -> str:
        at, read = require_block(self._chain, block), self._request(request)
        return data(await self._chain.call(at, read, state))

    async def _estimate(self, request: Any, block: Any = None, state: Any = None) -> str:
        at, read = require_block(self._chain, block), self._request(request)
        return quantity(await self._chain.estimate(at, read, state))

    async def _simulate(self, request: Any, block: Any = None) -> list[Document]:
        return await self._chain.simulate(require_block(self._chain, block), request)

    async def _send(self, raw: Any) -> str:
        return data(self._chain.submit(read_bytes(raw, "the transaction")))

    async def _transaction(self, transaction_hash: Any) -> Document | None:
        wanted = read_bytes(transaction_hash, "the hash", 32)
        position = self._chain.chain.find(wanted)
        chain_id = self._chain.terms.chain_id
        if position is not None:
            block, place = position
            mined = block.transactions[place]
            return transaction_document(
                mined.signed, mined.hash, mined.sender, chain_id, block, place
            )
        waiting = self._chain.pool.get(wanted)
        if waiting is None:
            return None
        return transaction_document(waiting.transaction, waiting.hash, waiting.sender, chain_id)

    async def _receipt(self, transaction_hash: Any) -> Document | None:
        chain, wanted = self._chain, read_bytes(transaction_hash, "the hash", 32)
        receipt, waiting = chain.receipt(wanted), chain.pool.get(wanted)
        if receipt is None and waiting is None:
            return None
        if chain.faults.meets(chain.terms.short_name, FORGED_RECEIPT):
            return forged_receipt(receipt, waiting, chain.head)
        return receipt

    async def _block_by_number(self, block: Any, whole: Any = False) -> Document | None:
        return self._block(chosen_block(self._chain, block), whole)

    async def _block_by_hash(self, block_hash: Any, whole: Any = False) -> Document | None:
        wanted = read_bytes(block_hash, "the hash", 32)
        return self._block(self._chain.chain.block_of(wanted), whole)

    def _block(self, at: Block | None, whole: Any) -> Document | None:
        if not isinstance(whole, bool):
            raise bad("whether to show whole transactions is true or false")
        if at is None:
            return None
        return block_document(at, self._chain.terms.chain_id, whole=whole)

    async def _logs(self, wanted: Any) -> list[Document]:
        return await self._chain.logs(*read_filter(self._chain, wanted))

    async def _fee_history(self, count: Any, newest: Any, percentiles: Any = None) -> Document:
        blocks = count if isinstance(count, int) else read_quantity(count, "the block count")
        at = require_block(self._chain, newest)
        if percentiles is not None and not isinstance(percentiles, list):
            raise bad("the percentiles are no list")
        try:
            places = [float(percentile) for percentile in percentiles or []]
        except (TypeError, ValueError):
            raise bad("a percentile is no number") from None
        if blocks < 1:
            return {"oldestBlock": "0x0", "gasUsedRatio": []}
        return fee_history(self._chain.chain, blocks, at, places)

    async def _gas_price(self) -> str:
        return quantity(self._chain.next_base_fee + usual_tip(self._chain.chain))

    async def _priority_fee(self) -> str:
        return quantity(usual_tip(self._chain.chain))

    def _request(self, request: Any) -> CallRequest:
        return CallRequest.read(request, self._chain.terms.chain_id)

    def _accounts(self, block: Any) -> AccountsAt:
        return self._chain.chain.states.at(require_block(self._chain, block).number)
