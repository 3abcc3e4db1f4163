"""One chain: the writer's time, room, old blocks, log and other worlds; its pool, whose rules are
properties whatever is sent in whatever order; coins that smart accounts pay out, which are read
from the operations that were executed; and the same transactions on eth-tester.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rlp
from eth.vm.forks.prague.blocks import PragueBlockHeader
from eth_account import Account
from eth_tester import EthereumTester, PyEVMBackend
from eth_utils import to_checksum_address
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Struct, field
from msgspec.structs import replace
from web3 import Web3

from sampling import examples
from sandbox.evm.evm_world import bare_genesis, faucet, stranger
from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT
from swapdesk.chain.smart_account import (
    HANDLE_OPS,
    USER_OPERATION_EVENT,
    InnerCall,
    UserOperation,
    encode_batch,
    pack,
)
from swapdesk.clock import Clock, SystemClock
from swapdesk.sandbox.node.evm.blocks import (
    Block,
    Log,
    MinedTransaction,
    block_document,
    receipt_document,
)
from swapdesk.sandbox.node.evm.calls import CallExecutor
from swapdesk.sandbox.node.evm.chain import Beat, EvmChain
from swapdesk.sandbox.node.evm.genesis import Allocation, Genesis
from swapdesk.sandbox.node.evm.json_rpc import CallRequest, Problem
from swapdesk.sandbox.node.evm.mempool import MOST_BY_SENDER, Candidate, Mempool, read_candidate
from swapdesk.sandbox.node.evm.wallets import CoinPayment, inner_payments, payments_of
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, chains_in
from swapdesk.sandbox.tables import ChainIds, chain_terms

NOW = 1_700_000_000
ENDLESS, DEEP, COUNTER, OTHER = (bytes([number]) * 20 for number in range(0x11, 0x15))
CODES = {
    ENDLESS: bytes.fromhex("5b600056"),
    DEEP: bytes.fromhex("600060006000600060003060fa5a03f1"),  # CALL(gas-250, ADDRESS, 0...)
    **dict.fromkeys((COUNTER, OTHER), bytes.fromhex("60005460010160005560005460005260206000a0")),
}
"""A counter adds one to its word, and logs it."""
GWEI = 10**9


def opened(
    directory: Path,
    *,
    clock: Clock | None = None,
    ids: ChainIds = "sandbox",
    mark: bytes | None = None,
) -> EvmChain:
    terms = chain_terms(ids)["base"]
    first = bare_genesis()
    contracts = {address: Allocation(code=code) for address, code in CODES.items()}
    genesis = Genesis({**first.accounts, **contracts}, first.mark if mark is None else mark)
    return EvmChain(directory, terms, genesis, Beat(NOW, 0), clock or SystemClock())


def mine(
    chain: EvmChain, batch: Iterable[Candidate], seconds: int = 1
) -> tuple[list[bytes], dict[bytes, str]]:
    """Hashes of what came into the next block, and what was refused."""
    beat = Beat(NOW + seconds, chain.head.slot + 1)
    mined, refused = chain.mine(list(batch), beat)
    chain.add(mined)
    return [each.hash for block, _ in mined for each in block.transactions], refused


def signed(chain: EvmChain, nonce: int, **changed: Any) -> bytes:
    """A transfer; one with a ``gasPrice`` is of the old form, which may name no chain at all."""
    fields = {
        "chainId": chain.terms.chain_id,
        "nonce": nonce,
        "to": stranger(7).address,
        "value": 1,
        "gas": 21_000,
        "maxFeePerGas": GWEI,
        "maxPriorityFeePerGas": 1,
        **changed,
    }
    if "gasPrice" in fields:
        del fields["maxFeePerGas"], fields["maxPriorityFeePerGas"]
    given = {name: value for name, value in fields.items() if value is not None}
    return bytes(faucet().sign_transaction(given).raw_transaction)


def transfer(chain: EvmChain, nonce: int, **changed: Any) -> Candidate:
    return read_candidate(signed(chain, nonce, **changed), chain.terms)


def calling(chain: EvmChain, nonce: int, contract: bytes, gas: int = 90_000) -> Candidate:
    return transfer(chain, nonce, to="0x" + contract.hex(), value=0, gas=gas)


def balance(chain: EvmChain, number: int = 7, at: int | None = None) -> int:
    accounts = chain.states.at(chain.head.number if at is None else at)
    return accounts.get_balance(bytes.fromhex(stranger(number).address[2:]))


def hurried() -> Clock:
    """A second passes whenever somebody looks."""
    seconds = count()
    return SystemClock(monotonic=lambda: float(next(seconds)))


def test_what_runs_too_long_is_dropped_and_the_rest_is_mined(tmp_path: Path) -> None:
    chain = opened(tmp_path, clock=hurried())
    endless = calling(chain, 0, ENDLESS, 30_000_000)
    included, refused = mine(chain, [endless, transfer(chain, 0)])
    assert refused == {endless.hash: "it runs too long"}
    if not included:
        mine(chain, [transfer(chain, 0)])
    assert balance(chain) == 1


def test_a_call_that_runs_too_long_is_ended(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    with pytest.raises(Problem, match="execution aborted"):
        CallExecutor(chain, hurried()).call(chain.head, CallRequest(to=ENDLESS))


def test_a_contract_that_calls_itself_ends_like_any_other(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    deep = calling(chain, 0, DEEP, 29_000_000)
    assert mine(chain, [deep]) == ([deep.hash], {})
    assert chain.head.gas_used > 60_000, "hundreds of calls deep"


def test_a_block_that_is_full_leaves_the_rest(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    big = [transfer(chain, nonce, gas=29_990_000) for nonce in range(2)]
    assert mine(chain, big) == ([big[0].hash], {})
    assert mine(chain, big[1:]) == ([big[1].hash], {})


def test_one_that_cannot_be_executed_spoils_no_block(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    batch = [transfer(chain, 0), transfer(chain, 5), transfer(chain, 1)]
    included, refused = mine(chain, batch)
    assert included == [batch[0].hash, batch[2].hash]
    assert list(refused) == [batch[1].hash]
    mine(chain, [transfer(chain, 9)])
    assert chain.head.number == 1


def test_blocks_follow_what_was_sent_and_never_run_ahead_of_the_clock(tmp_path: Path) -> None:
    chain = opened(tmp_path)

    def rested(seconds: int, blocks: int) -> int:
        slot = chain.head.slot + 1
        chain.add(chain.rest([Beat(NOW + seconds, slot + number) for number in range(blocks)]))
        return chain.head.timestamp - NOW

    assert rested(0, 3) == 0
    for nonce in range(2):
        mine(chain, [transfer(chain, nonce)], 5)
    assert chain.head.timestamp == NOW + 5
    assert chain.head.awaited == chain.terms.confirmations - 1
    assert rested(4, 1) == 5, "nor back, where the clock was set back"
    assert chain.head.awaited == chain.terms.confirmations - 2
    assert rested(100, 1) == 100


def test_every_block_can_be_read_as_it_was_also_after_a_start(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    for nonce in range(3):
        mine(chain, [calling(chain, nonce, COUNTER)])
    mine(chain, [calling(chain, 3, COUNTER), calling(chain, 4, OTHER)])
    before = chain.blocks
    chain.close()
    chain = opened(tmp_path)
    assert chain.blocks == before
    for number in range(5):
        assert chain.states.at(number).get_storage(COUNTER, 0) == number
    found = chain.logs(3, 4, [frozenset({COUNTER})])
    numbers = [(int(log["blockNumber"], 16), int(log["data"], 16)) for log in found]
    assert numbers == [(3, 3), (4, 4)]
    assert chain.logs(0, 4, [frozenset({ENDLESS})]) == []
    place = chain.find(before[2].transactions[0].hash)
    assert place == (before[2], 0)


def test_what_is_done_in_one_block_costs_and_does_the_same_in_two(tmp_path: Path) -> None:
    told = []
    for blocks in (1, 2):
        chain = opened(tmp_path / str(blocks))
        calls = [calling(chain, nonce, COUNTER) for nonce in range(2)]
        for batch in ([calls], [[each] for each in calls])[blocks - 1]:
            mine(chain, batch)
        used = [each.gas_used for block in chain.blocks for each in block.transactions]
        told.append((used, chain.states.at(blocks).get_storage(COUNTER, 0)))
    assert told[0] == told[1]
    assert told[0][1] == 2


REFUSED = [
    *(
        ({"chainId": chain_id}, "invalid chain id for signer")
        for chain_id in (1, 8453, 1_337_000_001)
    ),
    ({"chainId": 1, "gasPrice": GWEI}, "invalid chain id for signer"),
    ({"chainId": None, "gasPrice": GWEI}, "only replay-protected"),
    ({"gas": 20_999}, "intrinsic gas too low: gas 20999"),
    ({"gas": 25_000, "data": "0x" + "ff" * 200}, "intrinsic gas too low: gas 25000"),
    ({"gas": 30_000_001}, "exceeds block gas limit"),
]
BYTES = [
    (b"\x03\x01\x02", "transaction type not supported"),
    *((raw, "rlp") for raw in (b"\xc0", b"\x02\xc0", b"")),
]


@pytest.mark.parametrize(("changed", "words"), [*REFUSED, *BYTES])
def test_what_no_pool_takes_says_why(
    tmp_path: Path, changed: dict[str, Any] | bytes, words: str
) -> None:
    """What was signed for another chain, or is none of this one's form."""
    chain = opened(tmp_path)
    raw = changed if isinstance(changed, bytes) else signed(chain, 0, **changed)
    with pytest.raises(Problem, match=words):
        read_candidate(raw, chain.terms)


def header(block: Block) -> PragueBlockHeader:
    names = [name for name, _ in PragueBlockHeader._meta.fields]
    told = {name: getattr(block, name) for name in names if hasattr(block, name)}
    bloom = int.from_bytes(block.bloom, "big")
    return PragueBlockHeader(
        difficulty=0, nonce=bytes(8), block_number=block.number, **{**told, "bloom": bloom}
    )


def test_a_block_has_the_hash_and_size_of_its_header_and_transactions(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    old = transfer(chain, 1).transaction
    mine(chain, [calling(chain, 0, COUNTER), transfer(chain, 1)])
    for block in chain.blocks:
        assert block.hash == header(block).hash
    head = chain.head
    assert old.encode() in [each.raw for each in head.transactions]
    whole = [header(head), [each.raw for each in head.transactions], [], []]
    document = block_document(head, chain.terms.chain_id)
    assert int(document["size"], 16) == len(rlp.encode(whole))
    assert chain.blocks[0].state_root != head.state_root


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda path: opened(path, ids="real"), "holds chain id 1337008453, not 8453"),
        (lambda path: opened(path, mark=b"another"), "other contracts or keys"),
    ],
)
def test_another_world_is_refused(
    tmp_path: Path, other: Callable[[Path], EvmChain], words: str
) -> None:
    opened(tmp_path).close()
    with pytest.raises(ChainFileMismatch, match=words):
        other(tmp_path)


def test_a_chain_of_another_release_is_refused(tmp_path: Path) -> None:
    chains_in(tmp_path).mkdir()
    (chains_in(tmp_path) / "base.db").touch()
    with pytest.raises(ChainFileMismatch, match="another release"):
        opened(tmp_path)


def test_a_block_that_cannot_be_stored_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = opened(tmp_path)

    def full(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="full"):
            mine(chain, [transfer(chain, 0)])
    assert chain.head.number == balance(chain) == 0
    assert len(mine(chain, [transfer(chain, 0)])[0]) == 1
    chain.close()
    assert balance(opened(tmp_path)) == 1


GAS = 21_000
BALANCE = 10**9
SENDERS = [bytes([number]) * 20 for number in (1, 2, 3)]


def candidate(sender: bytes, nonce: int, fee: int, tip: int, *, gas: int = GAS) -> Candidate:
    mark = sender[:1] + nonce.to_bytes(4, "big") + fee.to_bytes(8, "big") + tip.to_bytes(8, "big")
    return Candidate(SimpleNamespace(value=0), b"", mark, sender, nonce, gas, fee, min(fee, tip))


class Held(Struct):
    nonce: int = 0
    held: dict[int, Candidate] = field(default_factory=dict)


class PoolMachine(RuleBasedStateMachine):
    """Against the plainest model there is: a dictionary for each sender."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = Mempool()
        self.accounts = {sender: Held() for sender in SENDERS}

    @rule(
        sender=st.sampled_from(SENDERS),
        nonce=st.integers(0, 8),
        fee=st.integers(1, 8000),
        tip=st.integers(1, 8000),
    )
    def send(self, sender: bytes, nonce: int, fee: int, tip: int) -> None:
        account = self.accounts[sender]
        new = candidate(sender, nonce, fee, tip)
        old = account.held.get(nonce)
        others = sum(each.cost for number, each in account.held.items() if number != nonce)
        fits = others + new.cost <= BALANCE
        allowed = nonce >= account.nonce and fits
        if old is not None:
            allowed = allowed and (
                new.max_fee * 10 >= old.max_fee * 11 and new.max_tip * 10 >= old.max_tip * 11
            )
        if allowed:
            self.pool.add(new, account.nonce, BALANCE)
            account.held[nonce] = new
        else:
            with pytest.raises(Problem):
                self.pool.add(new, account.nonce, BALANCE)

    @rule(base_fee=st.integers(0, 4000), blocks=st.integers(1, 6))
    def mine(self, base_fee: int, blocks: int) -> None:
        ready = self.pool.ready(self.nonce_of, base_fee, blocks * GAS)
        assert len(ready) <= blocks
        expected = dict.fromkeys(SENDERS, 0)
        for sender, account in self.accounts.items():
            expected[sender] = account.nonce
        for each in ready:
            assert each.nonce == expected[each.sender], "a sender's nonces follow each other"
            assert each.tip_at(base_fee) >= 0
            expected[each.sender] += 1
        payable = [
            each
            for sender, account in self.accounts.items()
            if (each := account.held.get(account.nonce)) and each.tip_at(base_fee) >= 0
        ]
        assert bool(ready) == bool(payable), "nothing that can be executed is left waiting"
        if ready:
            assert ready[0].tip_at(base_fee) == max(each.tip_at(base_fee) for each in payable)
        for each in ready:
            account = self.accounts[each.sender]
            del account.held[each.nonce]
            account.nonce += 1
        self.pool.remove(each.hash for each in ready)

    @rule(sender=st.sampled_from(SENDERS), count=st.integers(1, 3))
    def overtaken(self, sender: bytes, count: int) -> None:
        """Transactions that took the place of others used nonces."""
        account = self.accounts[sender]
        account.nonce += count
        account.held = {
            nonce: each for nonce, each in account.held.items() if nonce >= account.nonce
        }
        self.pool.outdated([sender], self.nonce_of)

    @precondition(lambda self: any(account.held for account in self.accounts.values()))
    @rule(data=st.data())
    def again(self, data: st.DataObject) -> None:
        every = [each for account in self.accounts.values() for each in account.held.values()]
        one = data.draw(st.sampled_from(every))
        with pytest.raises(Problem, match="already known"):
            self.pool.add(one, self.accounts[one.sender].nonce, BALANCE)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        held = [each for account in self.accounts.values() for each in account.held.values()]
        assert len(self.pool) == len(held)
        assert {each.hash for each in self.pool._by_hash.values()} == {each.hash for each in held}
        for sender, account in self.accounts.items():
            nonce = account.nonce
            while nonce in account.held:
                nonce += 1
            assert self.pool.next_nonce(sender, account.nonce) == nonce

    def nonce_of(self, sender: bytes) -> int:
        return self.accounts[sender].nonce


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


def test_every_sender_is_bounded() -> None:
    pool = Mempool()
    for nonce in range(MOST_BY_SENDER):
        pool.add(candidate(SENDERS[0], nonce, 1, 1), 0, BALANCE)
    with pytest.raises(Problem, match="account limit exceeded"):
        pool.add(candidate(SENDERS[0], MOST_BY_SENDER, 1, 1), 0, BALANCE)
    pool.add(candidate(SENDERS[0], 3, 2, 2), 0, BALANCE)
    pool.add(candidate(SENDERS[1], 0, 1, 1), 0, BALANCE)
    assert len(pool) == MOST_BY_SENDER + 1


def test_a_replacement_pays_a_tenth_more_of_both_fees() -> None:
    pool = Mempool()
    pool.add(candidate(SENDERS[0], 0, 100, 10), 0, BALANCE)
    for fee, tip in ((100, 9), (109, 11), (110, 10)):
        with pytest.raises(Problem, match="replacement transaction underpriced"):
            pool.add(candidate(SENDERS[0], 0, fee, tip), 0, BALANCE)
    pool.add(candidate(SENDERS[0], 0, 110, 11), 0, BALANCE)
    assert [each.max_fee for each in pool._by_hash.values()] == [110]


def test_what_waits_for_a_lower_fee_is_not_forgotten() -> None:
    pool = Mempool()
    pool.add(candidate(SENDERS[0], 0, 50, 10), 0, BALANCE)
    assert pool.ready(lambda _: 0, 60, 10**6) == []
    assert pool.waits_for_fee(lambda _: 0, 50)
    assert not pool.waits_for_fee(lambda _: 0, 51)
    assert not pool.waits_for_fee(lambda _: 1, 1), "its nonce is used"


OURS = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
FOREIGN = "0x97518736834b15523de22e1eb773F2eAc928f113"
PAID = "0x568ba20066d0503329631401d74238b25Fbe8E4a"
PROXY = bytes.fromhex(f"363d3d373d3d3d363d73{SANDBOX_ACCOUNT[2:]}5af43d82803e903d91602b57fd5bf3")


def operation(sender: str, nonce: int, *calls: InnerCall) -> UserOperation:
    return UserOperation(sender, nonce, encode_batch(calls), 1, 2, 3, 4, 5)


def document(*operations: UserOperation, to: str = ENTRY_POINT) -> tuple[bytes, bytes]:
    data = HANDLE_OPS.call([tuple(pack(each)) for each in operations], PAID)
    return octets(to), data


def event(sender: str, nonce: int, *, success: bool = True, address: str = ENTRY_POINT) -> Log:
    words = (nonce, int(success), 1, 1)
    topics = (octets(USER_OPERATION_EVENT), b"\xab" * 32, bytes(12) + octets(sender), bytes(32))
    return Log(octets(address), topics, b"".join(word.to_bytes(32, "big") for word in words))


def octets(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def code_at(address: bytes) -> bytes:
    return PROXY if address == octets(OURS) else b"\xfe"


def read(told: tuple[bytes, bytes], *logs: Log) -> list[CoinPayment]:
    return list(inner_payments(*told, logs, code_at))


def test_what_was_executed_was_paid() -> None:
    first = operation(OURS, 1, InnerCall(PAID, 5), InnerCall(PAID, 0, b"\1"), InnerCall(FOREIGN, 7))
    second = operation(OURS, 2, InnerCall(PAID, 9))
    told = document(first, second)
    assert read(told, event(OURS, 1), event(OURS, 2)) == [
        (1_000_000, OURS, PAID, 5),
        (1_000_002, OURS, FOREIGN, 7),
        (1_000_050, OURS, PAID, 9),
    ]
    assert read(told, event(OURS, 1, success=False), event(OURS, 2)) == [(1_000_050, OURS, PAID, 9)]


def test_what_failed_moved_neither_coins_nor_tokens() -> None:
    fields = {"nonce": 0, "chainId": 1, "to": PAID, "value": 5, "gas": 21_000, "gasPrice": 1}
    raw = bytes(faucet().sign_transaction(fields).raw_transaction)
    word = bytes(12) + octets(PAID)
    moved = Log(
        octets(FOREIGN), (keccak(b"Transfer(address,address,uint256)"), word, word), bytes(32)
    )
    block = Block(7, 1_000, bytes(32), bytes(32), 30_000_000, 1)
    for succeeded, paid in ((True, [(None, 5), (FOREIGN, 0)]), (False, [])):
        one = MinedTransaction(raw, keccak(raw), bytes(20), succeeded, 1, 1, b"", (moved,))
        told = list(payments_of(block, one, code_at))
        assert [(each.token, each.units) for each in told] == paid


def test_what_was_not_executed_or_is_not_ours_paid_nothing() -> None:
    ours = operation(OURS, 1, InnerCall(PAID, 5))
    assert read(document(ours)) == []
    assert read(document(ours), event(OURS, 2)) == [], "another nonce"
    assert read(document(ours), event(OURS, 1, address=FOREIGN)) == [], "an event of somebody else"
    assert read(document(ours, to=FOREIGN), event(OURS, 1)) == []
    assert read(document(ours, to="0x"), event(OURS, 1)) == []
    foreign = operation(FOREIGN, 1, InnerCall(PAID, 5))
    assert read(document(foreign), event(FOREIGN, 1)) == [], "its code may do anything"
    assert read((octets(ENTRY_POINT), b"\x12\x34"), event(OURS, 1)) == []


ETH_TESTER_CHAIN = 131277322940537
"""eth-tester has one chain id of its own, so that our chain takes that one beside it."""


def cases(signer: Any, created: str, abi: Any) -> list[dict[str, Any]]:
    """Transfers, a deployment, calls, reverts, out of gas, access lists, the old forms."""
    contract = Web3().eth.contract(abi=abi, address=to_checksum_address(created))

    def call(name: str, *values: Any) -> dict[str, Any]:
        return {"to": contract.address, "data": contract.encode_abi(name, args=list(values))}

    words = ["0x" + f"{slot:064x}" for slot in (0, 1)]
    return [
        call("bump", 5),
        call("bump", 6),
        {**call("bump", 500)},
        {**call("bump", 5), "gas": 22_500},
        {**call("spin"), "gas": 90_000},
        {**call("give", stranger(40).address), "value": 10**9},
        {"to": stranger(41).address, "value": 5},
        {"to": stranger(41).address, "value": 5, "data": "0x" + "00ff" * 300, "gas": 60_000},
        {**call("bump", 1), "accessList": [{"address": contract.address, "storageKeys": words}]},
        {**call("bump", 1), "old": True},
        {"to": signer.address, "value": 1, "old": True},
        {**call("refuse")},
        {"data": "0x60016000fe", "gas": 100_000},
        {"data": "0x600160005560026000556001600055", "gas": 100_000},
        {"data": "0x", "gas": 60_000},
    ]


def signed_case(signer: Any, chain_id: int, nonce: int, case: dict[str, Any]) -> bytes:
    given = {"gas": 200_000, "value": 0, **case}
    price = {"maxFeePerGas": 5 * GWEI, "maxPriorityFeePerGas": GWEI}
    if given.pop("old", False):
        price = {"gasPrice": 5 * GWEI}
    fields = {"chainId": chain_id, "nonce": nonce, **price, **given}
    return bytes(signer.sign_transaction(fields).raw_transaction)


def test_receipts_gas_and_state_are_equal(tmp_path: Path) -> None:
    import vyper

    source = (Path(__file__).parent / "counter.vy").read_text()
    compiled = vyper.compile_code(source, output_formats=["abi", "bytecode"])
    signer = Account.from_key("0x" + "31" * 32)
    tester = EthereumTester(PyEVMBackend())
    rich = tester.get_accounts()[0]
    tester.send_transaction({"from": rich, "to": signer.address, "value": 10**21, "gas": 21_000})

    terms = replace(chain_terms()["base"], chain_id=ETH_TESTER_CHAIN)
    genesis = Genesis({bytes.fromhex(signer.address[2:]): Allocation(balance=10**21)})
    chain = EvmChain(tmp_path, terms, genesis, Beat(1_700_000_000, 0), SystemClock())

    created = ""
    nonce = 0
    every = [{"data": compiled["bytecode"], "gas": 1_000_000}]
    while every:
        case = every.pop(0)
        raw = signed_case(signer, ETH_TESTER_CHAIN, nonce, case)
        theirs = tester.get_transaction_receipt(tester.send_raw_transaction("0x" + raw.hex()))
        candidate = read_candidate(raw, terms)
        mined, refused = chain.mine([candidate], Beat(1_700_000_100 + nonce, nonce + 1))
        assert not refused
        chain.add(mined)
        ours = receipt_document(chain.head, 0)
        assert int(ours["status"], 16) == theirs["status"], case
        assert int(ours["gasUsed"], 16) == theirs["gas_used"], case
        assert int(ours["cumulativeGasUsed"], 16) == theirs["cumulative_gas_used"]
        assert ours["type"] == theirs["type"]
        if theirs["status"]:  # of a creation that failed, geth and we name the address
            assert ours["contractAddress"] == (theirs["contract_address"] or None)
        assert [(log["data"], log["topics"]) for log in ours["logs"]] == [
            (log["data"], list(log["topics"])) for log in theirs["logs"]
        ]
        if nonce == 0:
            created = ours["contractAddress"]
            every = cases(signer, created, compiled["abi"])
        nonce += 1

    accounts = chain.states.at(chain.head.number)
    for address in (created, stranger(40).address, stranger(41).address, signer.address):
        octets = bytes.fromhex(address[2:])
        assert accounts.get_nonce(octets) == tester.get_nonce(address)
        assert "0x" + accounts.get_code(octets).hex() == tester.get_code(address)
        if address != signer.address:  # who paid for gas, at another base fee
            assert accounts.get_balance(octets) == tester.get_balance(address)
    slot = int(tester.get_storage_at(created, "0x0"), 16)
    assert accounts.get_storage(bytes.fromhex(created[2:]), 0) == slot == 13
    chain.close()
