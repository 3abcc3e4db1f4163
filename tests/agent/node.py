"""A node of an EVM chain that answers as the test says, behind the agent's own client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field

from swapdesk.agent.process.chains import Chains
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import EvmClient, EvmRefused, Request
from swapdesk.wallet.accounts import ChainLink, Kind

Answer = bytes | None | Callable[[bytes], bytes | None]
"""What a call returns, perhaps by its data; None reverts."""


def word(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def text_word(text: str) -> bytes:
    """A text as contracts return it."""
    raw = text.encode()
    return word(32, len(raw)) + raw.ljust(-(-len(raw) // 32) * 32, b"\0")


def octets_of(told: str | None) -> bytes:
    """An answer of the corpus."""
    return bytes.fromhex((told or "")[2:])


class Contract(Struct):
    """``calls`` are answers by selector; ``balance`` is what everybody holds of it."""

    calls: dict[bytes, Answer] = field(default_factory=dict)
    balance: int = 0

    def answer(self, data: bytes) -> bytes | None:
        found = self.calls.get(data[:4])
        if callable(found):
            return found(data)
        if found is None and data[:4] == erc20.BALANCE_OF.selector:
            return word(self.balance)
        return found


def token(decimals: Answer | int, symbol: str = "", balance: int = 0) -> Contract:
    calls: dict[bytes, Answer] = {erc20.SYMBOL.selector: text_word(symbol)}
    calls[erc20.DECIMALS.selector] = word(decimals) if isinstance(decimals, int) else decimals
    return Contract(calls, balance)


class Move(Struct, frozen=True):
    """``units`` of a token, None for the coin, that a transaction would move."""

    token: str | None
    giver: str
    taker: str
    units: int


URL = "http://node.invalid"
"""Nobody is asked there: questions are answered here."""
NATIVE = "0x" + "ee" * 20
TRANSFERRED = "0x" + keccak(b"Transfer(address,address,uint256)").hex()


def _topic(address: str) -> str:
    return "0x" + "00" * 12 + address[2:].lower()


class Node(EvmClient):
    """``contracts`` by checksummed address; ``moves`` are what a transaction would do now."""

    def __init__(self, chain_id: int, genesis: str, contracts: dict[str, Contract]) -> None:
        super().__init__(URL)
        self.chain_id = chain_id
        self.genesis = genesis
        self.contracts = contracts
        self.coins = 10**19
        self.time = 0
        self.nonce = 0
        self.moves: Sequence[Move] | None = None
        self.calls = 0

    async def ask(self, method: str, *params: Any) -> Any:
        return self._answer(method, params)

    async def batch(self, requests: Sequence[Request]) -> list[Any]:
        found: list[Any] = []
        for one in requests:
            try:
                found.append(self._answer(one.method, one.params))
            except EvmRefused as refused:
                found.append(refused)
        return found

    def _answer(self, method: str, params: tuple[Any, ...]) -> Any:
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "eth_getBlockByNumber":
            return self._block(params[0])
        if method == "eth_getBalance":
            return hex(self.coins)
        if method == "eth_getCode":
            return "0x6080" if checksummed(params[0]) in self.contracts else "0x"
        if method == "eth_getTransactionCount":
            return hex(self.nonce)
        if method == "eth_simulateV1":
            return [{"calls": [self._outcome()]}]
        if method == "eth_maxPriorityFeePerGas":
            return hex(10**9)
        if method == "eth_estimateGas":
            return hex(60_000)
        if method == "eth_call":
            return self._call(params[0])
        raise AssertionError(f"nothing answers {method}")

    def _block(self, number: str) -> dict[str, str]:
        return {
            "number": hex(0 if number == "0x0" else 100),
            "hash": self.genesis if number == "0x0" else "0x" + "11" * 32,
            "parentHash": "0x" + "22" * 32,
            "timestamp": hex(self.time),
            "baseFeePerGas": hex(10**9),
        }

    def _outcome(self) -> dict[str, Any]:
        logs = [
            {
                "address": NATIVE if one.token is None else one.token,
                "topics": [TRANSFERRED, _topic(one.giver), _topic(one.taker)],
                "data": "0x" + word(one.units).hex(),
            }
            for one in self.moves or ()
        ]
        return {"status": "0x1", "returnData": "0x", "gasUsed": hex(60_000), "logs": logs}

    def _call(self, call: dict[str, str]) -> str:
        self.calls += 1
        contract = self.contracts.get(checksummed(call["to"]))
        found = b"" if contract is None else contract.answer(bytes.fromhex(call["data"][2:]))
        if found is None:
            raise EvmRefused(3, "execution reverted", b"")
        return "0x" + found.hex()


def chains(genesis: Callable[[str], str | None] = lambda _: None, **nodes: Node) -> Chains:
    """By the short names of their chains."""
    links = (ChainLink(name, Kind.EVM, one.chain_id, URL, 1) for name, one in nodes.items())
    made = Chains(links, genesis)
    made._evm.update(nodes)
    return made
