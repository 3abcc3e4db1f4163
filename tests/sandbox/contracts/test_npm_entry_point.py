"""The official EntryPoint v0.7 beside ours: the same signed operations, the same outcomes.

A signature holds the EntryPoint's address and the chain id, so both contracts stand at the same
address, on two benches of the same id. The official one is npm's ``@account-abstraction/contracts``
0.7.0, fetched and never shipped; it is placed as its constructor would leave it. Run where
``SWAPDESK_NPM`` names a ``node_modules`` directory that has it, skipped elsewhere.

Gas is not compared: code of another compiler costs other gas.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eth_tester import EthereumTester, PyEVMBackend
from eth_tester.exceptions import TransactionFailed
from msgspec import Struct
from web3 import EthereumTesterProvider, Web3

from sandbox.contracts.contract_world import ALICE, BOB, CAROL, KEEPER, ORDER, Bench, place
from sandbox.contracts.smart_accounts import (
    DOLLAR,
    HELD,
    bench_with,
    handle,
    hash_of,
    made,
    receivers,
    said,
    signed,
    transfers,
)
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    InnerCall,
    account_address,
    read_failed_op,
    read_outcome,
)
from swapdesk.chain.user_operation import UserOperation, pack
from swapdesk.sandbox.contracts.artefact import artefact

PACKAGE = Path(os.environ.get("SWAPDESK_NPM", "node_modules")) / "@account-abstraction/contracts"
ARTEFACT = PACKAGE / "artifacts" / "EntryPoint.json"
VERSION = "0.7.0"


def _there() -> bool:
    if not ARTEFACT.is_file():
        return False
    return bool(json.loads((PACKAGE / "package.json").read_text())["version"] == VERSION)


pytestmark = pytest.mark.skipif(
    not _there(), reason=f"npm @account-abstraction/contracts {VERSION} is not here"
)

MINE = account_address(ALICE.address)
HERS = account_address(CAROL.address)
PURSE = place(900)
NEXT = place(901)


class Outcome(Struct):
    """What a bundle did, gas left out."""

    refused: bytes | None
    events: list[tuple[Any, ...]]
    balances: dict[str, int]
    coins: dict[str, int]
    nonces: list[int]


def _official() -> tuple[bytes, dict[int, int], str, bytes]:
    """Runtime code and storage of the official contract, made by its own constructor, and the
    helper that the constructor makes: its address and code."""
    document = json.loads(ARTEFACT.read_text())
    tester = EthereumTester(PyEVMBackend())
    web3 = Web3(EthereumTesterProvider(tester))
    maker = web3.eth.accounts[0]
    sent = web3.eth.contract(abi=document["abi"], bytecode=document["bytecode"]).constructor()
    receipt = web3.eth.wait_for_transaction_receipt(
        sent.transact({"from": maker, "gas": 6_000_000})
    )
    made_at = receipt["contractAddress"]
    # The helper is the first contract that the EntryPoint makes: CREATE with nonce 1.
    helper = keccak(b"\xd6\x94" + bytes.fromhex(made_at[2:]) + b"\x01")[12:]
    helper_address = checksummed("0x" + helper.hex())
    storage = {
        slot: word
        for slot in range(4)
        if (word := int.from_bytes(web3.eth.get_storage_at(made_at, slot), "big"))
    }
    return (
        bytes(web3.eth.get_code(made_at)),
        storage,
        helper_address,
        bytes(web3.eth.get_code(helper_address)),
    )


@pytest.fixture(scope="module")
def benches() -> tuple[Bench, Bench]:
    ours, theirs = bench_with(ALICE, CAROL), bench_with(ALICE, CAROL)
    code, storage, helper, helper_code = _official()
    theirs.replaced = {ENTRY_POINT: (code, storage), helper: (helper_code, {})}
    return ours, theirs.open()


def _fund(bench: Bench) -> None:
    entry = bench.at(ENTRY_POINT).functions
    for account in (MINE, HERS):
        bench.send(entry.depositTo(account), KEEPER, value=10**18)


def _run(bench: Bench, before: Callable[[Bench], None], operations: list[UserOperation]) -> Outcome:
    with bench.kept():
        before(bench)
        call = handle(bench, *operations, beneficiary=PURSE)
        refused, events = None, []
        try:
            bench.ask(call, KEEPER, gas=12_000_000)
        except TransactionFailed as failed:
            refused = said(failed)
        else:
            receipt = bench.send(call, KEEPER, gas=12_000_000)
            events = [_event(log) for log in receipt["logs"]]
        everybody = [MINE, HERS, *receivers(50)]
        entry = bench.at(ENTRY_POINT).functions
        return Outcome(
            refused=refused,
            events=events,
            balances={who: bench.balance(DOLLAR, who) for who in everybody},
            coins={who: bench.coins(who) for who in receivers(50)},
            nonces=[
                bench.ask(entry.getNonce(who, key)) for who in (MINE, HERS) for key in (0, 1, 9)
            ],
        )


def _event(log: Any) -> tuple[Any, ...]:
    topics = tuple("0x" + bytes(one).hex() for one in log["topics"])
    outcome = read_outcome(topics, bytes(log["data"]))
    if outcome is not None:
        # Cost and gas are those of the compiler.
        return (topics, outcome.success, outcome.nonce, outcome.actual_gas_cost > 0)
    return (log["address"], topics, bytes(log["data"]))


def nothing(bench: Bench) -> None:
    """No deposit, no account."""


def standing(bench: Bench) -> None:
    _fund(bench)
    factory = bench.at(SANDBOX_ACCOUNT_FACTORY).functions
    bench.send(factory.createAccount(ALICE.address, 0), BOB)


CHAIN = 131277322940537
"""The id of both benches, as of every eth-tester."""


def ready(calls: Any, owner: Any = ALICE, **changed: Any) -> UserOperation:
    return signed(made(calls, owner, **changed), CHAIN, owner)


def bent(**changed: bytes) -> UserOperation:
    operation = ready(transfers(1), creates=True)
    signature = operation.signature
    r, s, v = signature[:32], signature[32:64], signature[64:]
    return operation.signed(
        changed.get("r", r) + changed.get("s", s) + changed.get("v", v) + changed.get("more", b"")
    )


def mirrored() -> UserOperation:
    signature = ready(transfers(1), creates=True).signature
    high = (ORDER - int.from_bytes(signature[32:64], "big")).to_bytes(32, "big")
    return bent(s=high, v=bytes([55 - signature[64]]))


def reverting() -> list[InnerCall]:
    return [*transfers(2), InnerCall(DOLLAR, 0, transfers(1, HELD + 1)[0].data)]


CASES: dict[str, tuple[Callable[[Bench], None], Callable[[], list[UserOperation]]]] = {
    "makes an account and pays 3": (_fund, lambda: [ready(transfers(3), creates=True)]),
    "pays 10": (standing, lambda: [ready(transfers(10))]),
    "pays 50": (standing, lambda: [ready(transfers(50))]),
    "a call inside fails": (standing, lambda: [ready(reverting())]),
    "nothing inside": (standing, lambda: [ready(b"")]),
    "an unknown call inside": (standing, lambda: [ready(b"\1\2\3\4")]),
    "two owners": (
        _fund,
        lambda: [
            ready(transfers(1), creates=True),
            ready(transfers(2), CAROL, creates=True),
        ],
    ),
    "three keys of one owner": (
        standing,
        lambda: [ready(transfers(1), nonce=key << 64) for key in (0, 1, 9)],
    ),
    "one of two fails inside": (
        standing,
        lambda: [ready(reverting()), ready(transfers(1), nonce=1 << 64)],
    ),
    "the second is signed by another": (
        standing,
        lambda: [
            ready(transfers(1)),
            signed(made(transfers(1), nonce=1 << 64), CHAIN, BOB),
        ],
    ),
    "no bundle": (nothing, list),
    "nobody pays the gas": (nothing, lambda: [ready(transfers(1), creates=True)]),
    "the account stands": (standing, lambda: [ready(transfers(1), creates=True)]),
    "the account does not stand": (_fund, lambda: [ready(transfers(1))]),
    "the factory is none": (
        _fund,
        lambda: [ready(transfers(1), factory=DOLLAR, factory_data=b"\1\2\3\4")],
    ),
    "the factory makes another": (
        _fund,
        lambda: [
            ready(
                transfers(1),
                factory=SANDBOX_ACCOUNT_FACTORY,
                factory_data=CREATE_ACCOUNT.call(BOB.address, 0),
            )
        ],
    ),
    "signed by another": (
        _fund,
        lambda: [signed(made(transfers(1), creates=True), CHAIN, BOB)],
    ),
    "signed for another chain": (
        _fund,
        lambda: [signed(made(transfers(1), creates=True), CHAIN + 1)],
    ),
    "a signature too short": (_fund, lambda: [bent(v=b"")]),
    "a signature too long": (_fund, lambda: [bent(more=b"\0")]),
    "a signature with a high s": (_fund, lambda: [mirrored()]),
    "a signature of nobody": (_fund, lambda: [bent(v=b"\0")]),
    "a changed amount": (
        _fund,
        lambda: [
            made(transfers(1, 6), creates=True).signed(ready(transfers(1), creates=True).signature)
        ],
    ),
    "a nonce ahead": (_fund, lambda: [ready(transfers(1), creates=True, nonce=1)]),
    "the same twice": (standing, lambda: [ready(transfers(1))] * 2),
    "numbers that overflow": (
        standing,
        lambda: [ready(transfers(1), pre_verification_gas=1 << 120)],
    ),
    "no gas to verify with": (standing, lambda: [ready(transfers(1), verification_gas_limit=500)]),
}


@pytest.mark.parametrize("name", CASES)
def test_both_say_and_do_the_same(benches: tuple[Bench, Bench], name: str) -> None:
    before, operations = CASES[name]
    ours, theirs = (_run(bench, before, operations()) for bench in benches)
    assert ours.refused == theirs.refused
    if ours.refused is not None and ours.refused:
        assert read_failed_op(ours.refused) is not None or ours.refused[:4].hex() == "08c379a0"
    assert ours == theirs


def test_the_codes_are_of_different_hands(benches: tuple[Bench, Bench]) -> None:
    ours, theirs = (bytes(bench.web3.eth.get_code(ENTRY_POINT)) for bench in benches)
    assert ours == artefact("EntryPoint").code
    shipped = json.loads(ARTEFACT.read_text())["deployedBytecode"]
    # But for the address of the helper, which the constructor writes into the code.
    assert len(theirs) == len(bytes.fromhex(shipped[2:]))
    assert sum(a != b for a, b in zip(theirs, bytes.fromhex(shipped[2:]), strict=True)) <= 2 * 20


def test_hashes_interfaces_and_places_are_equal(benches: tuple[Bench, Bench]) -> None:
    operation = made(transfers(2), creates=True, nonce=5 << 64)
    hashes, interfaces, senders = set(), [], []
    for bench in benches:
        entry = bench.at(ENTRY_POINT).functions
        assert bench.chain_id == CHAIN
        hashes.add(bytes(bench.ask(entry.getUserOpHash(tuple(pack(operation))))))
        ids = ("01ffc9a7", "60fc6b6e", "915074d8", "cf28ef97", "3e84f021", "ffffffff", "12345678")
        interfaces.append([bench.ask(entry.supportsInterface(bytes.fromhex(one))) for one in ids])
        with pytest.raises(TransactionFailed) as told:
            bench.ask(entry.getSenderAddress(pack(operation).init_code))
        senders.append(said(told.value))
    assert hashes == {hash_of(operation, CHAIN)}
    assert interfaces == [[True] * 5 + [False] * 2] * 2
    assert senders[0] == senders[1]


def test_what_our_interface_lists_is_what_theirs_lists() -> None:
    """Names, types and places of inputs; what is left out of ours is left out on purpose."""
    theirs = {_shape(item) for item in json.loads(ARTEFACT.read_text())["abi"]}
    mine = {_shape(item) for item in artefact("EntryPoint").abi}
    own = {one for one in mine if one[1] not in ("innerHandleOp", None)}
    assert own <= theirs


def _shape(item: dict[str, Any]) -> tuple[Any, ...]:
    def kind(one: dict[str, Any]) -> str:
        inner = ",".join(kind(part) for part in one.get("components", ()))
        return str(one["type"]).replace("tuple", f"({inner})")

    inputs = tuple(
        (one["name"] if item["type"] != "function" else "", kind(one), one.get("indexed", False))
        for one in item.get("inputs", ())
    )
    return (item["type"], item.get("name"), inputs)
