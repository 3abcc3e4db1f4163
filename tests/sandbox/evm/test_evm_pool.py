"""The pool: its rules as properties, whatever is sent in whatever order."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Struct, field

from sampling import examples
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.evm.mempool import MOST_BY_SENDER, Candidate, Mempool

GAS = 21_000
BALANCE = 10**9
SENDERS = [bytes([number]) * 20 for number in (1, 2, 3)]


def candidate(sender: bytes, nonce: int, fee: int, tip: int, *, gas: int = GAS) -> Candidate:
    mark = sender[:1] + nonce.to_bytes(4, "big") + fee.to_bytes(8, "big") + tip.to_bytes(8, "big")
    return Candidate(SimpleNamespace(value=0), b"", mark, sender, nonce, gas, fee, min(fee, tip))


class Account(Struct):
    nonce: int = 0
    held: dict[int, Candidate] = field(default_factory=dict)


class PoolMachine(RuleBasedStateMachine):
    """Against the plainest model there is: a dictionary for each sender."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = Mempool()
        self.accounts = {sender: Account() for sender in SENDERS}

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
        assert {each.hash for each in self.pool.waiting()} == {each.hash for each in held}
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


def test_what_waits_for_a_lower_fee_is_not_forgotten() -> None:
    pool = Mempool()
    pool.add(candidate(SENDERS[0], 0, 50, 10), 0, BALANCE)
    assert pool.ready(lambda _: 0, 60, 10**6) == []
    assert pool.waits_for_fee(lambda _: 0, 50)
    assert not pool.waits_for_fee(lambda _: 0, 51)
    assert not pool.waits_for_fee(lambda _: 1, 1), "its nonce is used"
