"""The wallets of exchanges and payer on one embedded EVM chain.

Addresses are known at once; py-evm is loaded only when the chain is open. Numbers and bytes of
payments come from the books (``node.ledger``), so that nothing here remembers anything.

A block does not tell what a contract paid in coins. What our own account pays stands in the
calldata of its operation, and the EntryPoint's event says whether its calls were made: all of
them were, or none.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT
from swapdesk.chain.smart_account import HANDLE_OPS, MOST_CALLS, decode_batch, read_outcome
from swapdesk.chain.user_operation import (
    OperationError,
    PackedUserOperation,
    UserOperation,
    unpack,
)
from swapdesk.sandbox.node.chain_wallets import (
    ChainClosed,
    Inclusion,
    IncomingPayment,
    SignedPayment,
)
from swapdesk.sandbox.node.evm.genesis import SandboxKey, sandbox_key
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.evm.schema import ChainFileMismatch
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.world import WorldToken

if TYPE_CHECKING:
    from swapdesk.sandbox.node.evm.embedding import Embedding
    from swapdesk.sandbox.node.evm.live_chain import LiveChain


_FIRST = 1_000_000
"""Positions below are those of logs."""

_PROXY = bytes.fromhex(f"363d3d373d3d3d363d73{SANDBOX_ACCOUNT[2:]}5af43d82803e903d91602b57fd5bf3")
"""Code of an account that is ours (EIP-1167); what another one makes of a call is its own."""

CodeAt = Callable[[str], bytes]


class InnerPayment(Struct, frozen=True):
    """``position`` tells payments of one transaction apart; ``units`` in wei."""

    position: int
    sender: str
    receiver: str
    units: int


def inner_payments(document: Any, receipt: Any, code_at: CodeAt) -> Iterator[InnerPayment]:
    """What the operations of this transaction paid in coins; nothing for other transactions."""
    if document["to"] is None or document["to"].lower() != ENTRY_POINT.lower():
        return
    done = _executed(receipt)
    for number, operation in enumerate(_operations(document)):
        key = operation.sender, operation.nonce
        if key not in done or code_at(operation.sender) != _PROXY:
            continue
        try:
            calls = decode_batch(operation.call_data)
        except CalldataError:
            continue
        for place, call in enumerate(calls):
            if call.value:
                position = _FIRST + number * MOST_CALLS + place
                yield InnerPayment(position, operation.sender, call.to, call.value)


def _executed(receipt: Any) -> set[tuple[str, int]]:
    """Sender and nonce of the operations whose calls were made."""
    found = set()
    for log in receipt["logs"]:
        if log["address"].lower() != ENTRY_POINT.lower():
            continue
        outcome = read_outcome(tuple(log["topics"]), bytes.fromhex(log["data"][2:]))
        if outcome is not None and outcome.success:
            found.add((outcome.sender, outcome.nonce))
    return found


def _operations(document: Any) -> list[UserOperation]:
    try:
        call = HANDLE_OPS.read(bytes.fromhex(document["input"][2:]))
        return [unpack(PackedUserOperation(*packed)) for packed in call["operations"]]
    except (CalldataError, OperationError):
        return []


logger = logging.getLogger(__name__)

COIN_GAS, TOKEN_GAS = 100_000, 200_000
"""Bounds; a payee may be a contract. What is not used is not paid."""
_TIP = 10**9
_FEE_ROOM = 20
"""So many times the base fee may rise until a payment waits."""
_KNOWN = 4_096
AT_ONCE = 500
"""Blocks that the books read at a time."""

_TRANSFER = "0x" + keccak(b"Transfer(address,address,uint256)").hex()


class EvmWallets:
    """As ChainWallets says, over the chains of an embedding."""

    def __init__(self, name: str, key: bytes) -> None:
        self.name = name
        self.began = 0
        self.at_once = AT_ONCE
        self.embedding: Embedding | None = None
        """Set once the process carries the chains."""
        self._secret = key
        self._key = lru_cache(maxsize=_KNOWN)(self._derive)

    @property
    def touched(self) -> bool:
        return self.embedding is not None and self.embedding.touched(self.name)

    @property
    def is_open(self) -> bool:
        return self.embedding is not None and self.embedding.live(self.name) is not None

    def wake(self) -> None:
        if self.embedding is not None:
            self.embedding.wake()

    async def opened(self) -> None:
        if self.embedding is None:
            raise LedgerRefusal("no chain is embedded here")
        try:
            await self.embedding.node()
        except (ChainFileMismatch, OSError, sqlite3.Error) as error:
            raise LedgerRefusal(f"the chain could not be opened: {error}") from error

    def address(self, wallet: str) -> str:
        return checksummed("0x" + self._key(wallet).address.hex())

    def sign(
        self, wallet: str, number: int, token: WorldToken, receiver: str, units: int
    ) -> SignedPayment:
        from eth.vm.forks.prague.transactions import PragueTransactionBuilder
        from eth_keys.datatypes import PrivateKey
        from eth_typing import Address

        chain = self._live()
        coin = token.address is None
        payee = receiver if token.address is None else token.address
        raw = (
            PragueTransactionBuilder.new_unsigned_dynamic_fee_transaction(
                chain_id=chain.terms.chain_id,
                nonce=number,
                max_priority_fee_per_gas=_TIP,
                max_fee_per_gas=_FEE_ROOM * chain.next_base_fee + _TIP,
                gas=COIN_GAS if coin else TOKEN_GAS,
                to=Address(bytes.fromhex(payee[2:])),
                value=units if coin else 0,
                data=b"" if coin else TRANSFER.call(receiver, units),
                access_list=(),
            )
            .as_signed_transaction(PrivateKey(self._key(wallet).secret))
            .encode()
        )
        return SignedPayment(raw, "0x" + keccak(raw).hex())

    def submit(self, raw: bytes) -> None:
        chain = self._live()
        if chain.pool.get(keccak(raw)) is not None or chain.mined(keccak(raw)):
            return
        try:
            # Faults that are asked for meet the transactions of others.
            chain.submit(raw, faulty=False)
        except Problem as problem:
            logger.info("%s takes a payment later: %s", self.name, problem)

    def mined(self, transaction_hash: str) -> Inclusion | None:
        chain = self._live()
        found = chain.index.receipt(bytes.fromhex(transaction_hash[2:]))
        if found is None or found[0] > chain.head.number:
            return None
        return Inclusion(found[0], json.loads(found[1])["status"] == "0x1")

    def refusal(self, transaction_hash: str) -> str | None:
        """None: a payment waits in the mempool until it is in a block, and fails there."""
        return None

    @property
    def height(self) -> int:
        return self._live().head.number

    def arrivals(self, first: int, last: int) -> Iterable[IncomingPayment]:
        """Payments of coins to an address, also by smart accounts, and transfers of tokens. What
        other contracts pay in coins leaves no trace in a block and is not among them."""
        for document, receipt in self._live().index.transactions(first, last):
            yield from _paid(
                json.loads(document), json.loads(receipt), self._seconds, self._code_at
            )

    def balance(self, token: WorldToken, address: str) -> int:
        """Base units at the newest block. Raises ChainClosed."""
        from swapdesk.sandbox.evm_world.pools import contract_of
        from swapdesk.sandbox.node.evm.state_trie import read_storage

        chain = self._live()
        if token.address is None:
            return int(chain.account(bytes.fromhex(address[2:])).balance)
        from swapdesk.sandbox.contracts.artefact import artefact, entry

        slot = artefact(contract_of(token).kind).variables["ledger.balanceOf"].slot
        root = bytes(chain.head.header.state_root)
        contract = bytes.fromhex(token.address[2:])
        return read_storage(chain.state, root, contract, entry(slot, address))

    def _code_at(self, address: str) -> bytes:
        from swapdesk.sandbox.node.evm.state_trie import read_code

        chain = self._live()
        root = bytes(chain.head.header.state_root)
        return read_code(chain.state, root, bytes.fromhex(address[2:]))

    def _derive(self, wallet: str) -> SandboxKey:
        return sandbox_key(self._secret, wallet)

    def _seconds(self, height: int) -> int:
        header = self._live().index.header_at(height)
        return 0 if header is None else int(header.timestamp)

    def _live(self) -> LiveChain:
        chain = None if self.embedding is None else self.embedding.live(self.name)
        if chain is None:
            self.wake()
            raise ChainClosed(f"the chain {self.name} is being opened")
        return chain


def _paid(
    document: Any, receipt: Any, seconds_at: Callable[[int], int], code_at: CodeAt
) -> Iterable[IncomingPayment]:
    if receipt["status"] != "0x1":
        return
    height = int(document["blockNumber"], 16)
    units = int(document["value"], 16)
    hash_, seconds = document["hash"], seconds_at(height)
    if units and document["to"] is not None:
        yield IncomingPayment(
            hash_, -1, height, seconds, None, document["from"], document["to"], units
        )
    for paid in inner_payments(document, receipt, code_at):
        yield IncomingPayment(
            hash_, paid.position, height, seconds, None, paid.sender, paid.receiver, paid.units
        )
    for position, log in enumerate(receipt["logs"]):
        topics = log["topics"]
        if len(topics) == 3 and topics[0] == _TRANSFER and len(log["data"]) == 66:
            yield IncomingPayment(
                hash_,
                position,
                height,
                seconds,
                log["address"],
                checksummed("0x" + topics[1][-40:]),
                checksummed("0x" + topics[2][-40:]),
                int(log["data"], 16),
            )
