"""EntryPoint, smart account and factory, on an EVM of other hands.

Where ``SWAPDESK_NPM`` names a ``node_modules`` directory with the official EntryPoint, that one has
to say and do the same: both stand at one address, on chains of one id. Gas is not compared.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from eth_tester.exceptions import TransactionFailed
from hexbytes import HexBytes

from sandbox.contracts.contract_world import ALICE, BOB, CAROL, KEEPER, ORDER, Bench, place
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    FAILED_OP,
    FAILED_OP_WITH_REVERT,
    InnerCall,
    UserOperation,
    account_address,
    encode_batch,
    pack,
    read_failed_op,
    read_outcome,
    read_revert_reason,
    user_operation_hash,
)
from swapdesk.sandbox.contracts.artefact import artefact
from swapdesk.sandbox.evm_world.genesis import TokenContract, TokenContractKind, account_contracts

DOLLAR = place(0)
HELD = 10**9
FEE = 3 * 10**9
"""Above the base fee of a bench, and the same for the tip: the price is then known."""


def bench_with(*owners: LocalAccount) -> Bench:
    """EntryPoint, factory and a token that the accounts of the owners hold."""
    bench = Bench()
    for address, (name, storage) in account_contracts().items():
        bench.put(address, name, storage)
    units = {account_address(one.address): HELD for one in owners}
    bench.put_token(DOLLAR, TokenContract(TokenContractKind.TOKEN, "Dollar"), "USD", 6, units)
    return bench


OFFICIAL = Path(os.environ.get("SWAPDESK_NPM", "node_modules")) / "@account-abstraction/contracts"
VERSION = "0.7.0"


def official() -> dict[str, tuple[bytes, dict[int, int]]]:
    """The official EntryPoint (npm's ``@account-abstraction/contracts``) and the helper that its
    constructor makes, as that leaves them: code and storage by address."""
    package = OFFICIAL / "package.json"
    if not package.is_file() or json.loads(package.read_text())["version"] != VERSION:
        pytest.skip(f"npm @account-abstraction/contracts {VERSION} is not here")
    document = json.loads((OFFICIAL / "artifacts" / "EntryPoint.json").read_text())
    eth = Bench().open().web3.eth
    sent = eth.contract(abi=document["abi"], bytecode=document["bytecode"]).constructor()
    made_at = eth.wait_for_transaction_receipt(
        sent.transact({"from": eth.accounts[0], "gas": 6_000_000})
    )["contractAddress"]
    # The helper is the first contract that the EntryPoint makes: CREATE with nonce 1.
    helper = checksummed("0x" + keccak(b"\xd6\x94" + bytes.fromhex(made_at[2:]) + b"\1")[12:].hex())
    words = {slot: int.from_bytes(eth.get_storage_at(made_at, slot), "big") for slot in range(4)}
    storage = {slot: word for slot, word in words.items() if word}
    return {
        ENTRY_POINT: (bytes(eth.get_code(made_at)), storage),
        helper: (bytes(eth.get_code(helper)), {}),
    }


def receivers(count: int, first: int = 1) -> list[str]:
    return [place(10_000 + first + number) for number in range(count)]


def transfers(count: int, units: int = 5) -> list[InnerCall]:
    return [InnerCall(DOLLAR, 0, TRANSFER.call(to, units)) for to in receivers(count)]


def made(
    calls: Sequence[InnerCall] | bytes,
    owner: LocalAccount = ALICE,
    *,
    nonce: int = 0,
    creates: bool = False,
    **changed: Any,
) -> UserOperation:
    fields: dict[str, Any] = {
        "sender": account_address(owner.address),
        "nonce": nonce,
        "call_data": calls if isinstance(calls, bytes) else encode_batch(calls),
        "call_gas_limit": 2_500_000,
        "verification_gas_limit": 400_000,
        "pre_verification_gas": 100_000,
        "max_fee_per_gas": FEE,
        "max_priority_fee_per_gas": FEE,
    }
    if creates:
        fields["factory"] = SANDBOX_ACCOUNT_FACTORY
        fields["factory_data"] = CREATE_ACCOUNT.call(owner.address, 0)
    return UserOperation(**{**fields, **changed})


def hash_of(operation: UserOperation, chain_id: int) -> bytes:
    return user_operation_hash(operation, ENTRY_POINT, chain_id)


def signed(operation: UserOperation, chain_id: int, owner: LocalAccount = ALICE) -> UserOperation:
    """Signed by another hand than ours: eth_account's personal message."""
    message = encode_defunct(hash_of(operation, chain_id))
    return operation.signed(bytes(owner.sign_message(message).signature))


def handle(bench: Bench, *operations: UserOperation, beneficiary: str) -> Any:
    return bench.at(ENTRY_POINT).functions.handleOps(
        [tuple(pack(one)) for one in operations], beneficiary
    )


def said(failed: TransactionFailed) -> bytes:
    """What a call reverted with, byte for byte, out of eth-tester's words for it."""
    (text,) = failed.args
    told = str(text).removeprefix("execution reverted: ")
    if told.startswith(("b'", 'b"')):
        return bytes(ast.literal_eval(told))
    return words(told)


def words(reason: str) -> bytes:
    """``Error(string)``."""
    return bytes.fromhex("08c379a0") + encode(["string"], [reason])


MINE = account_address(ALICE.address)
HERS = account_address(CAROL.address)
PURSE = place(900)
"""Who is paid for the gas."""


@pytest.fixture(scope="module", params=["ours", "official"])
def opened(request: pytest.FixtureRequest) -> Bench:
    bench = bench_with(ALICE, CAROL)
    if request.param == "official":
        bench.replaced = official()
    return bench.open()


def deposit(bench: Bench, account: str, wei: int = 10**18) -> None:
    bench.send(bench.at(ENTRY_POINT).functions.depositTo(account), KEEPER, value=wei)


def run(bench: Bench, *operations, gas: int = 8_000_000):
    return bench.send(handle(bench, *operations, beneficiary=PURSE), KEEPER, gas=gas)


def error_of(bench: Bench, *operations) -> bytes:
    """What handleOps reverts with, as it is."""
    with pytest.raises(TransactionFailed) as caught:
        bench.ask(handle(bench, *operations, beneficiary=PURSE), KEEPER)
    return said(caught.value)


def outcomes(bench: Bench, receipt):
    found = []
    for log in receipt["logs"]:
        topics = tuple("0x" + bytes(one).hex() for one in log["topics"])
        outcome = read_outcome(topics, bytes(log["data"]))
        if log["address"] == ENTRY_POINT and outcome is not None:
            found.append(outcome)
    return found


def ready(bench: Bench, calls, **changed):
    return signed(made(calls, **changed), bench.chain_id)


def test_the_hash_is_the_one_that_the_desk_computes(bench):
    operation = made(transfers(3), creates=True, nonce=7 << 64)
    functions = bench.at(ENTRY_POINT).functions
    asked = bench.ask(functions.getUserOpHash(tuple(pack(operation))))
    assert bytes(asked) == hash_of(operation, bench.chain_id)
    interfaces = ("01ffc9a7", "60fc6b6e", "915074d8", "cf28ef97", "3e84f021", "ffffffff")
    told = [bench.ask(functions.supportsInterface(bytes.fromhex(one))) for one in interfaces]
    assert told == [True] * 5 + [False]


def test_an_account_stands_where_it_was_said_to(bench):
    factory = bench.at(SANDBOX_ACCOUNT_FACTORY)
    for owner, salt in ((ALICE, 0), (ALICE, 5), (BOB, 0)):
        said = account_address(owner.address, salt)
        assert bench.ask(factory.functions.getAddress(owner.address, salt)) == said
        assert bench.web3.eth.get_code(said) == b""
        for _ in range(2):
            bench.send(factory.functions.createAccount(owner.address, salt), BOB)
        assert len(bench.web3.eth.get_code(said)) == 45
        assert bench.ask(at_account(bench, said).owner()) == owner.address


def test_one_operation_makes_the_account_and_pays_everybody(bench):
    deposit(bench, MINE)
    operation = ready(bench, transfers(3), creates=True)
    receipt = run(bench, operation)
    assert [bench.balance(DOLLAR, to) for to in receivers(3)] == [5, 5, 5]
    assert bench.balance(DOLLAR, MINE) == HELD - 15
    (outcome,) = outcomes(bench, receipt)
    assert outcome.success
    assert outcome.hash == hash_of(operation, bench.chain_id)
    assert outcome.sender == MINE
    # What was taken from the deposit is what the bundler got, to the wei, and covers its gas.
    left = bench.ask(bench.at(ENTRY_POINT).functions.balanceOf(MINE))
    assert 10**18 - left == outcome.actual_gas_cost == bench.coins(PURSE)
    assert outcome.actual_gas_cost == outcome.actual_gas_used * FEE
    assert outcome.actual_gas_used >= receipt["gasUsed"]
    (born,) = bench.events(ENTRY_POINT, "AccountDeployed", receipt)
    assert (born["sender"], born["factory"]) == (MINE, SANDBOX_ACCOUNT_FACTORY)
    assert bench.events(ENTRY_POINT, "BeforeExecution", receipt) == [{}]
    assert bench.ask(bench.at(ENTRY_POINT).functions.getNonce(MINE, 0)) == 1


def test_fifty_payments_of_coins_and_tokens_fit_one_operation(bench):
    deposit(bench, MINE)
    account(bench)
    calls = [
        InnerCall(to, 7) if number % 2 else transfers(50)[number]
        for number, to in enumerate(receivers(50))
    ]
    _send_coins(bench, MINE, 10**6)
    assert outcomes(bench, run(bench, ready(bench, calls)))[0].success
    assert [bench.coins(to) for to in receivers(50)[1::2]] == [7] * 25
    assert [bench.balance(DOLLAR, to) for to in receivers(50)[::2]] == [5] * 25


def _send_coins(bench: Bench, to: str, wei: int) -> None:
    signed_ = KEEPER.sign_transaction(
        {
            "to": to,
            "value": wei,
            "gas": 60_000,
            "chainId": bench.chain_id,
            "nonce": bench.web3.eth.get_transaction_count(KEEPER.address),
            "maxFeePerGas": 10**10,
            "maxPriorityFeePerGas": 10**9,
        }
    )
    sent = bench.web3.eth.send_raw_transaction(signed_.raw_transaction)
    assert bench.web3.eth.get_transaction_receipt(sent)["status"] == 1


def test_calls_are_made_all_or_none_and_the_gas_is_paid_either_way(bench):
    deposit(bench, MINE)
    calls = [*transfers(2), InnerCall(DOLLAR, 0, transfers(1, HELD + 1)[0].data)]
    operation = ready(bench, calls, creates=True)
    other = ready(bench, b"", nonce=1 << 64)
    receipt = run(bench, operation, other)
    outcome, done = outcomes(bench, receipt)
    assert (outcome.success, done.success) == (False, True)
    assert [bench.balance(DOLLAR, to) for to in receivers(2)] == [0, 0]
    assert bench.balance(DOLLAR, MINE) == HELD
    assert outcome.actual_gas_cost > 0
    assert bench.coins(PURSE) == outcome.actual_gas_cost + done.actual_gas_cost
    (told,) = bench.events(ENTRY_POINT, "UserOperationRevertReason", receipt)
    assert told["userOpHash"] == outcome.hash
    raw = [log for log in receipt["logs"] if log["address"] == ENTRY_POINT]
    reason = read_revert_reason(bytes(raw[-3]["data"]))
    assert reason == told["revertReason"] != b""
    # The nonce is used up: the same operation is never executed again.
    assert read_failed_op(error_of(bench, operation)).code in ("AA10", "AA25")


def test_operations_of_two_owners_and_of_many_keys_go_into_one_bundle(bench):
    for account in (MINE, HERS):
        deposit(bench, account)
    first = ready(bench, transfers(1), creates=True)
    other = signed(made(transfers(1), CAROL, creates=True), bench.chain_id, CAROL)
    more = [ready(bench, transfers(1), nonce=key << 64) for key in (1, 9)]
    found = outcomes(bench, run(bench, first, other, *more))
    assert [one.success for one in found] == [True] * 4
    assert [one.nonce for one in found] == [0, 0, 1 << 64, 9 << 64]
    assert bench.balance(DOLLAR, receivers(1)[0]) == 20
    assert bench.coins(PURSE) == sum(one.actual_gas_cost for one in found)


# What is refused, as the original words it


def failed(index: int, reason: str) -> bytes:
    return FAILED_OP + encode(["uint256", "string"], [index, reason])


def reverted(index: int, inner: bytes) -> bytes:
    arguments = [index, "AA23 reverted", inner]
    return FAILED_OP_WITH_REVERT + encode(["uint256", "string", "bytes"], arguments)


NONCE = failed(0, "AA25 invalid account nonce")
REFUSED = {
    "an account that is made again": (
        {"creates": True},
        failed(0, "AA10 sender already constructed"),
    ),
    "too little gas to check with": ({"verification_gas_limit": 2_000}, reverted(0, b"")),
    "a factory that makes nothing": (
        {"factory": DOLLAR, "factory_data": b"\1\2\3\4"},
        failed(0, "AA13 initCode failed or OOG"),
    ),
    "a factory that makes another account": (
        {
            "factory": SANDBOX_ACCOUNT_FACTORY,
            "factory_data": CREATE_ACCOUNT.call(BOB.address, 0),
        },
        failed(0, "AA14 initCode must return sender"),
    ),
    "a sender that does not stand": ({}, b""),
    "a nonce ahead": ({"creates": True, "nonce": 1}, NONCE),
    "a nonce ahead under a key": ({"creates": True, "nonce": 5 << 64 | 1}, NONCE),
    "the last nonce": ({"creates": True, "nonce": (1 << 64) - 1}, NONCE),
    "numbers that could overflow": (
        {"creates": True, "pre_verification_gas": 1 << 120},
        words("AA94 gas values overflow"),
    ),
}


STANDING = ("an account that is made again", "too little gas to check with")


@pytest.mark.parametrize("name", REFUSED)
def test_the_entry_point_refuses(bench, name):
    changed, error = REFUSED[name]
    deposit(bench, MINE)
    if name in STANDING:
        account(bench)
    assert error_of(bench, ready(bench, transfers(1), **changed)) == error


@pytest.mark.parametrize("opened", ["ours"], indirect=True)
def test_what_ours_refuses_alone(bench):
    """More operations than the bound, whoever else pays, and who opens the frame of one."""
    deposit(bench, MINE)
    account(bench)
    many = [ready(bench, transfers(1), nonce=key << 64) for key in range(5)]
    assert error_of(bench, *many) == b""
    paid = ready(bench, transfers(1), paymaster_and_data=bytes.fromhex(DOLLAR[2:]) + bytes(32))
    assert error_of(bench, paid) == failed(0, "AA30 paymaster not deployed")
    info = (MINE, 0, 1, 1, b"\0" * 32, 1, 1)
    call = bench.at(ENTRY_POINT).functions.innerHandleOp(b"", info)
    bench.refused(call, "AA92 internal call only", KEEPER)


def test_signatures_of_others_and_bent_ones_are_refused(bench):
    deposit(bench, MINE)
    operation = made(transfers(1), creates=True)
    good = signed(operation, bench.chain_id).signature
    high = (ORDER - int.from_bytes(good[32:64], "big")).to_bytes(32, "big")
    bent = good[:32] + high + bytes([55 - good[64]])
    stranger, elsewhere = (
        signed(operation, bench.chain_id, BOB),
        signed(operation, bench.chain_id + 1),
    )
    length = keccak(b"ECDSAInvalidSignatureLength(uint256)")[:4]
    for signature, error in (
        (stranger.signature, failed(0, "AA24 signature error")),
        (elsewhere.signature, failed(0, "AA24 signature error")),
        (good[:64], reverted(0, length + (64).to_bytes(32, "big"))),
        (good + b"\0", reverted(0, length + (66).to_bytes(32, "big"))),
        (bent, reverted(0, keccak(b"ECDSAInvalidSignatureS(bytes32)")[:4] + high)),
        (good[:64] + b"\0", reverted(0, keccak(b"ECDSAInvalidSignature()")[:4])),
    ):
        assert error_of(bench, operation.signed(signature)) == error
    assert outcomes(bench, run(bench, operation.signed(good)))[0].success


def test_the_second_operation_of_a_bundle_is_named_by_its_place(bench):
    for each in (MINE, HERS):
        deposit(bench, each)
    good = ready(bench, transfers(1), creates=True)
    bad = made(transfers(1), CAROL, creates=True).signed(good.signature)
    assert error_of(bench, good, bad) == failed(1, "AA24 signature error")
    account(bench)
    same = ready(bench, transfers(1))
    assert error_of(bench, same, same) == failed(1, "AA25 invalid account nonce")


def test_a_paymaster_that_is_cut_short_and_a_bundle_without_a_payee_are_refused(bench):
    whole = pack(ready(bench, transfers(1), creates=True))
    cut = tuple(whole._replace(paymaster_and_data=b"\1" * 51))
    call = bench.at(ENTRY_POINT).functions.handleOps([cut], PURSE)
    bench.refused(call, "AA93 invalid paymasterAndData", KEEPER)
    unpaid = handle(bench, beneficiary="0x" + "00" * 20)
    bench.refused(unpaid, "AA90 invalid beneficiary", KEEPER)


def test_a_bundle_with_too_little_gas_is_refused_whole(bench):
    deposit(bench, MINE)
    operation = ready(bench, transfers(1), creates=True)
    call = handle(bench, operation, beneficiary=PURSE)
    with pytest.raises(TransactionFailed) as caught:
        bench.ask(call, KEEPER, gas=2_000_000)
    assert said(caught.value) == failed(0, "AA95 out of gas")


def test_a_bundle_inside_a_bundle_is_refused(bench):
    deposit(bench, MINE)
    inside = handle(bench, beneficiary=PURSE)._encode_transaction_data()
    call = InnerCall(ENTRY_POINT, 0, bytes(HexBytes(inside)))
    receipt = run(bench, ready(bench, [call], creates=True))
    assert not outcomes(bench, receipt)[0].success
    (told,) = bench.events(ENTRY_POINT, "UserOperationRevertReason", receipt)
    assert told["revertReason"] == keccak(b"ReentrancyGuardReentrantCall()")[:4]


# The account


def account(bench: Bench):
    bench.send(bench.at(SANDBOX_ACCOUNT_FACTORY).functions.createAccount(ALICE.address, 0))
    return at_account(bench, MINE)


def at_account(bench: Bench, address: str):
    return bench.web3.eth.contract(address, abi=artefact("Account").abi).functions


def test_only_owner_and_entry_point_move_anything(bench):
    mine = account(bench)
    batch = mine.executeBatch([DOLLAR], [], [transfers(1)[0].data])
    one = mine.execute(DOLLAR, 0, transfers(1)[0].data)
    checked = mine.validateUserOp(tuple(pack(made(transfers(1)))), b"\0" * 32, 0)
    for call, words_, by in (
        (batch, "account: not Owner or EntryPoint", BOB),
        (one, "account: not Owner or EntryPoint", BOB),
        (mine.withdrawDepositTo(BOB.address, 0), "only owner", BOB),
        (checked, "account: not from EntryPoint", ALICE),
        (mine.executeBatch([DOLLAR], [], []), "wrong array lengths", ALICE),
        (mine.executeBatch([DOLLAR], [0, 0], [b""]), "wrong array lengths", ALICE),
    ):
        bench.refused(call, words_, by)
    bench.send(batch, ALICE)
    assert bench.balance(DOLLAR, receivers(1)[0]) == 5


def test_an_account_gets_its_owner_once(bench):
    mine = account(bench)
    for each in (mine, bench.at(SANDBOX_ACCOUNT).functions):
        with pytest.raises(TransactionFailed):
            bench.ask(each.initialize(BOB.address), BOB)
    assert bench.ask(mine.entryPoint()) == ENTRY_POINT
    assert bench.ask(mine.getNonce()) == 0
