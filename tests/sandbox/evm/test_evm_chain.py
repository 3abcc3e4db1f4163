"""The writer's side of one chain: time, room, reorganisation, pruning, other worlds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from eth.db.atomic import AtomicDB

from sandbox.evm.evm_world import bare_genesis, faucet, stranger
from swapdesk.clock import Clock, SystemClock
from swapdesk.sandbox.chain_rows import ChainIds, chain_terms
from swapdesk.sandbox.node.evm import chain as chain_module
from swapdesk.sandbox.node.evm.calls import CallExecutor
from swapdesk.sandbox.node.evm.chain import Beat, EvmChain
from swapdesk.sandbox.node.evm.genesis import Allocation, Genesis
from swapdesk.sandbox.node.evm.json_rpc import CallRequest, Problem
from swapdesk.sandbox.node.evm.machine import EvmMachine
from swapdesk.sandbox.node.evm.mempool import Candidate, read_candidate
from swapdesk.sandbox.node.evm.schema import ChainFileMismatch
from swapdesk.sandbox.node.evm.state_trie import read_account
from swapdesk.sandbox.node.evm.storage import Index, unpacked

NOW = 1_700_000_000
ENDLESS = b"\x11" * 20
LOOP = bytes.fromhex("5b600056")
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
    genesis = Genesis(
        {**first.accounts, ENDLESS: Allocation(code=LOOP)}, first.mark if mark is None else mark
    )
    return EvmChain(directory / "base.db", terms, genesis, Beat(NOW, 0), clock or SystemClock())


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


def balance(chain: EvmChain, number: int = 7) -> int:
    address = bytes.fromhex(stranger(number).address[2:])
    return int(read_account(chain.state, chain.head.header.state_root, address).balance)


def hurried() -> Clock:
    """A second passes whenever somebody looks."""
    seconds = count()
    return SystemClock(monotonic=lambda: float(next(seconds)))


def test_what_runs_too_long_is_dropped_and_the_rest_is_mined(tmp_path: Path) -> None:
    chain = opened(tmp_path, clock=hurried())
    endless = transfer(chain, 0, to="0x" + ENDLESS.hex(), value=0, gas=30_000_000)
    mined = chain.mine([endless, transfer(chain, 0)], Beat(NOW + 2, 1))
    assert mined.refused == ((endless.hash, "it runs too long"),)
    assert len(mined.included) <= 1
    if not mined.included:
        mined = chain.mine([transfer(chain, 0)], Beat(NOW + 4, 2))
    assert balance(chain) == 1
    chain.close()


def test_a_call_that_runs_too_long_is_ended(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    machine = EvmMachine(chain.terms, AtomicDB(chain.state), lambda _: None)
    with pytest.raises(Problem, match="execution aborted"):
        CallExecutor(machine, hurried()).call(chain.head.header, CallRequest(to=ENDLESS))
    chain.close()


def test_a_contract_that_calls_itself_ends_like_any_other(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    itself = bytes.fromhex("600060006000600060003060fa5a03f1")  # CALL(gas-250, ADDRESS, 0...)
    terms = chain.terms
    chain.close()
    path = tmp_path / "other"
    path.mkdir()
    first = bare_genesis()
    accounts = {**first.accounts, ENDLESS: Allocation(code=itself)}
    genesis = Genesis(accounts, first.mark)
    chain = EvmChain(path / "base.db", terms, genesis, Beat(NOW, 0), SystemClock())
    deep = transfer(chain, 0, to="0x" + ENDLESS.hex(), value=0, gas=29_000_000)
    with ThreadPoolExecutor(1) as thread:
        mined = thread.submit(chain.mine, [deep], Beat(NOW + 1, 1)).result()
    assert mined.included == (deep.hash,)
    index = Index(chain.path)
    found = index.receipt(deep.hash)
    assert found is not None
    assert int(json.loads(found[1])["gasUsed"], 16) > 60_000, "hundreds of calls deep"
    index.close()
    chain.close()


def test_a_block_that_is_full_leaves_the_rest(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    big = [transfer(chain, nonce, gas=29_990_000) for nonce in range(2)]
    mined = chain.mine(big, Beat(NOW + 1, 1))
    assert mined.included == (big[0].hash,)
    assert mined.refused == ()
    assert chain.mine(big[1:], Beat(NOW + 2, 2)).included == (big[1].hash,)
    chain.close()


def test_one_that_cannot_be_executed_spoils_no_block(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    batch = [transfer(chain, 0), transfer(chain, 5), transfer(chain, 1)]
    mined = chain.mine(batch, Beat(NOW + 1, 1))
    assert mined.included == (batch[0].hash, batch[2].hash)
    assert [each for each, _ in mined.refused] == [batch[1].hash]
    nothing = chain.mine([transfer(chain, 9)], Beat(NOW + 2, 2))
    assert nothing.head.number == 1
    chain.close()


def test_timestamps_never_run_ahead_of_the_clock(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    chain.rest([Beat(NOW, slot) for slot in range(1, 4)])
    assert chain.head.header.timestamp == NOW
    chain.mine([transfer(chain, 0)], Beat(NOW + 5, 4))
    chain.mine([transfer(chain, 1)], Beat(NOW + 5, 5))
    assert chain.head.header.timestamp == NOW + 5
    chain.rest([Beat(NOW + 4, 6)])
    assert chain.head.header.timestamp == NOW + 5, "nor back, where the clock was set back"
    chain.rest([Beat(NOW + 100, 61)])
    assert chain.head.header.timestamp == NOW + 100
    chain.close()


def test_a_reorganisation_takes_blocks_state_and_index_with_it(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    index = Index(chain.path)
    sent = [transfer(chain, nonce) for nonce in range(3)]
    for nonce, each in enumerate(sent):
        chain.mine([each], Beat(NOW + nonce, nonce + 1))
    gone = index.header_at(2)
    assert gone is not None
    head, raw = chain.unwind(2)
    index.forget()
    assert head.number == 1
    assert raw == [each.raw for each in sent[1:]]
    assert balance(chain) == 1
    assert index.receipt(sent[1].hash) is None
    assert index.header_by_hash(gone.hash) is None
    # The same transactions in the same second make another block.
    chain.mine(sent[1:], Beat(NOW + 1, 9))
    again = index.header_at(2)
    assert again is not None
    assert again.hash != gone.hash
    assert balance(chain) == 3
    chain.close()
    chain = opened(tmp_path)
    assert chain.head.header.hash == again.hash
    with pytest.raises(ValueError, match="reorganisation"):
        chain.unwind(3)
    chain.close()
    index.close()


def test_old_state_goes_and_everything_new_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_module, "PRUNE_EVERY", 10)
    monkeypatch.setattr(chain_module, "KEPT_ROOTS", 4)
    chain = opened(tmp_path)
    for number in range(1, 31):
        block = [transfer(chain, number - 1, to=stranger(number).address)]
        chain.mine(block, Beat(NOW + number, number))
    kept = len(chain.state)
    first = bytes.fromhex(stranger(1).address[2:])
    index = Index(chain.path)
    for number in range(27, 31):
        header = index.header_at(number)
        assert header is not None
        assert read_account(chain.state, header.state_root, first).balance == 1
    old = index.header_at(20)
    assert old is not None
    with pytest.raises(Problem, match="state is not available"):
        read_account(chain.state, old.state_root, first)
    index.close()
    chain.close()
    with sqlite3.connect(tmp_path / "base.db") as connection:
        rows = [row for (row,) in connection.execute("SELECT entries FROM state")]
    assert sum(len(list(unpacked(row))) for row in rows) == kept
    chain = opened(tmp_path)
    assert len(chain.state) == kept
    assert [balance(chain, number) for number in range(1, 31)] == [1] * 30
    assert chain.state.get(bytes(32)) is None
    chain.mine([transfer(chain, 30)], Beat(NOW + 40, 40))
    chain.close()


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


def test_a_block_that_cannot_be_stored_is_not_published(tmp_path: Path) -> None:
    chain = opened(tmp_path)
    blocker = sqlite3.connect(chain.path)
    blocker.execute(
        "CREATE TRIGGER full BEFORE INSERT ON blocks BEGIN SELECT RAISE(ABORT, 'x'); END"
    )
    blocker.commit()
    with pytest.raises(sqlite3.DatabaseError):
        chain.mine([transfer(chain, 0)], Beat(NOW + 1, 1))
    assert chain.head.number == 0
    assert balance(chain) == 0
    blocker.execute("DROP TRIGGER full")
    blocker.commit()
    blocker.close()
    assert len(chain.mine([transfer(chain, 0)], Beat(NOW + 2, 2)).included) == 1
    chain.close()
    chain = opened(tmp_path)
    assert balance(chain) == 1
    chain.close()
