"""The writer's side of one chain: time, room, old blocks, the log, other worlds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import rlp
from eth.vm.forks.prague.blocks import PragueBlockHeader

from sandbox.evm.evm_world import bare_genesis, faucet, stranger
from swapdesk.clock import Clock, SystemClock
from swapdesk.sandbox.node.evm.blocks import Block, block_document
from swapdesk.sandbox.node.evm.calls import CallExecutor
from swapdesk.sandbox.node.evm.chain import Beat, EvmChain
from swapdesk.sandbox.node.evm.genesis import Allocation, Genesis
from swapdesk.sandbox.node.evm.json_rpc import CallRequest, Problem
from swapdesk.sandbox.node.evm.mempool import Candidate, read_candidate
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


def transfer(chain: EvmChain, nonce: int, **changed: Any) -> Candidate:
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
    return read_candidate(bytes(faucet().sign_transaction(fields).raw_transaction), chain.terms)


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
    assert [(block.number, int.from_bytes(log.data, "big")) for log, block, *_ in found] == [
        (3, 3),
        (4, 4),
    ]
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
