"""Contracts on an EVM of other hands: eth-tester with code and storage in block 0.

A test's world is a few places of ``Bench``; calls that are refused are only simulated, so that
they cost nothing and leave nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_tester import EthereumTester, PyEVMBackend
from eth_tester.exceptions import TransactionFailed
from web3 import EthereumTesterProvider, Web3
from web3.logs import DISCARD

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.sandbox.contracts.artefact import artefact
from swapdesk.sandbox.evm_world.genesis import (
    Allowances,
    TokenContract,
    TokenContractKind,
    token_storage,
)

COINS = 10**24
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def person(number: int) -> LocalAccount:
    """An account with coins in every bench."""
    made: LocalAccount = Account.from_key((1_000 + number).to_bytes(32, "big"))
    return made


ALICE, BOB, CAROL, KEEPER = (person(number) for number in range(4))
ASKER: LocalAccount = Account.from_key((1).to_bytes(32, "big"))
"""Whose calls eth-tester takes those to be that name no sender."""
PEOPLE = (ASKER, ALICE, BOB, CAROL, KEEPER)


def place(number: int) -> str:
    """An address for a contract."""
    return checksummed("0x" + f"{0xC0DE0000 + number:040x}")


@dataclass
class Bench:
    """``places`` are contracts by address: artefact, storage and coins."""

    places: dict[str, tuple[str, Mapping[int, int], int]] = field(default_factory=dict)
    replaced: dict[str, tuple[bytes, Mapping[int, int]]] = field(default_factory=dict)
    """Code and storage of other hands, in place of an artefact or beside all of them."""
    web3: Web3 = field(init=False)
    tester: EthereumTester = field(init=False)

    def put(self, address: str, name: str, storage: Mapping[int, int], coins: int = 0) -> None:
        self.places[address] = (name, storage, coins)

    def put_token(
        self,
        address: str,
        contract: TokenContract,
        symbol: str,
        decimals: int,
        units: Mapping[str, int],
        allowed: Allowances | None = None,
    ) -> None:
        storage = token_storage(contract, symbol, decimals, units, allowed or {})
        coins = sum(units.values()) if contract.kind == TokenContractKind.WRAPPED else 0
        self.put(address, contract.kind, storage, coins)

    def open(self) -> Bench:
        state: dict[bytes, dict[str, Any]] = {
            bytes.fromhex(who.address[2:]): {
                "balance": COINS,
                "nonce": 0,
                "code": b"",
                "storage": {},
            }
            for who in PEOPLE
        }
        for address, (name, storage, coins) in self.places.items():
            state[bytes.fromhex(address[2:])] = {
                "balance": coins,
                "nonce": 1,
                "code": artefact(name).code,
                "storage": dict(storage),
            }
        for address, (code, words) in self.replaced.items():
            account = {"balance": 0, "nonce": 1, "code": code, "storage": dict(words)}
            state[bytes.fromhex(address[2:])] = account
        self.tester = EthereumTester(PyEVMBackend(genesis_state=state))
        self.web3 = Web3(EthereumTesterProvider(self.tester))
        self.chain_id = self.web3.eth.chain_id
        return self

    @contextmanager
    def kept(self) -> Iterator[Bench]:
        """What happens inside is undone."""
        snapshot = self.tester.take_snapshot()
        try:
            yield self
        finally:
            self.tester.revert_to_snapshot(snapshot)

    def at(self, address: str) -> Any:
        """The contract's functions and events by name."""
        name = self.places[address][0]
        return self.web3.eth.contract(address=address, abi=artefact(name).abi)

    @property
    def now(self) -> int:
        return int(self.web3.eth.get_block("latest")["timestamp"])

    def ask(self, call: Any, sender: LocalAccount = ALICE, **fields: Any) -> Any:
        return call.call({"from": sender.address, **fields})

    def send(self, call: Any, sender: LocalAccount = ALICE, **fields: Any) -> Any:
        """Mined, and not reverted; the receipt."""
        transaction = call.build_transaction(
            {
                "from": sender.address,
                "nonce": self.web3.eth.get_transaction_count(sender.address),
                "chainId": self.chain_id,
                "gas": 3_000_000,
                "maxFeePerGas": 10**10,
                "maxPriorityFeePerGas": 10**9,
                **fields,
            }
        )
        signed = sender.sign_transaction(transaction)
        sent = self.web3.eth.send_raw_transaction(signed.raw_transaction)
        receipt = self.web3.eth.get_transaction_receipt(sent)
        assert receipt["status"] == 1
        return receipt

    def events(self, address: str, name: str, receipt: Any) -> list[dict[str, Any]]:
        """The arguments of the events of a kind."""
        found = self.at(address).events[name]().process_receipt(receipt, errors=DISCARD)
        return [dict(event["args"]) for event in found if event["address"] == address]

    def travel(self, seconds: int) -> None:
        """Let so much time pass."""
        self.tester.time_travel(self.now + seconds)
        self.tester.mine_block()

    def refused(
        self, call: Any, words: str = "", sender: LocalAccount = ALICE, **fields: Any
    ) -> None:
        """The call reverts, with these words; without words it reverts without a reason."""
        with pytest.raises(TransactionFailed) as caught:
            self.ask(call, sender, **fields)
        said = str(caught.value)
        assert words in said if words else "execution reverted" in said, said

    def balance(self, token: str, holder: str) -> int:
        return int(self.at(token).functions.balanceOf(holder).call())

    def coins(self, holder: str) -> int:
        return int(self.web3.eth.get_balance(holder))


def typed(
    bench: Bench,
    contract: str,
    domain: Mapping[str, Any],
    primary: str,
    types: Mapping[str, str],
    message: Mapping[str, Any],
) -> dict[str, Any]:
    """An EIP-712 document; a type is written ``"address owner, uint256 value"``."""
    shown = {**domain, "chainId": bench.chain_id, "verifyingContract": contract}
    kinds = {
        "name": "string",
        "version": "string",
        "chainId": "uint256",
        "verifyingContract": "address",
    }
    return {
        "types": {
            "EIP712Domain": [
                {"name": name, "type": kind} for name, kind in kinds.items() if name in shown
            ],
            **{
                name: [
                    {"type": part.split()[0], "name": part.split()[1]} for part in text.split(",")
                ]
                for name, text in types.items()
            },
        },
        "primaryType": primary,
        "domain": shown,
        "message": dict(message),
    }


def signed(document: dict[str, Any], signer: LocalAccount) -> tuple[int, bytes, bytes]:
    """``v``, ``r`` and ``s`` by eth_account."""
    found = signer.sign_typed_data(full_message=document)
    return found.v, found.r.to_bytes(32, "big"), found.s.to_bytes(32, "big")


def mirrored(signature: tuple[int, bytes, bytes]) -> tuple[int, bytes, bytes]:
    """The same signature with a high ``s``: valid mathematics, and refused."""
    v, r, s = signature
    return 55 - v, r, (ORDER - int.from_bytes(s, "big")).to_bytes(32, "big")


PERMIT_TYPE = "address owner,address spender,uint256 value,uint256 nonce,uint256 deadline"


def permit_document(
    bench: Bench,
    token: str,
    contract: TokenContract,
    owner: str,
    spender: str,
    units: int,
    nonce: int,
    deadline: int,
) -> dict[str, Any]:
    return typed(
        bench,
        token,
        {"name": contract.name, "version": contract.version},
        "Permit",
        {"Permit": PERMIT_TYPE},
        {
            "owner": owner,
            "spender": spender,
            "value": units,
            "nonce": nonce,
            "deadline": deadline,
        },
    )
