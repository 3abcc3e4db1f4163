"""Late, doubled and contradicting answers: what was decided first stands, in every log of acts.

Sequences of three outcomes are told to every log, by two connections in turn. Each log has its
law here: from which states an outcome may come, and into which.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from flows.orders import (
    NEED,
    NOW,
    batch_of_one,
    create_group,
    group_of,
    intent,
    order,
    signed_bundle,
)
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.batches import (
    find_batch,
    move_group,
)
from swapdesk.flows.batch.bundles import (
    accept_bundle,
    begin_transaction,
    begin_withdrawal,
    move_bundle,
    newest_bundle,
    transactions_of,
)
from swapdesk.flows.batch.rows import NOT_CREATED
from swapdesk.flows.creation.creates import become_order, begin_create, refuse_create
from swapdesk.flows.deposits.wallet_funding import PaymentEntry
from swapdesk.flows.dex.dex_swap import SwapPart
from swapdesk.flows.intents.intent import FOREIGN, UNREPEATED, ReleaseVerdict
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import LEFT, OPEN, ClaimTaken, Ledger, Operation, State
from swapdesk.flows.payments import (
    Sum,
    begin_payment,
    commit_signed,
    end_payment,
    end_transaction,
    payment_of,
)
from swapdesk.flows.transactions import ActEntry

LENGTH = 3


class Law(Struct, frozen=True):
    """``among`` are the states that ``told`` may come from, ``to`` the one it leads into. ``id`` is
    what it names, which must not be lost; ``keeps``: also where nothing moved."""

    told: Callable[[Journal], object]
    to: str
    among: tuple[str, ...]
    id: str | None = None
    keeps: bool = False


class Act(Struct, frozen=True):
    """One act of a log, begun. ``state`` is read from the file. ``order`` is what it pays."""

    laws: dict[str, Law]
    state: Callable[[Journal], str]
    order: str | None = None
    paid: str = ""
    """The outcome that says that the order was paid."""


def the_create(journal: Journal, number: int) -> Act:
    one = intent(amount_in=Decimal(number + 1))
    begin_create(journal.ledger, one, "digest")

    def created(name: str) -> Law:
        made = order(one, service_id=name)

        def told(journal: Journal) -> ReleaseVerdict:
            return become_order(
                journal,
                one.id,
                made,
                source="create",
                verdict=UNREPEATED,
                request_id=f"r{name}",
            )

        return Law(told, State.DONE, OPEN, name, keeps=True)

    def given_up(code: str, *among: State) -> Law:
        def told(journal: Journal) -> bool:
            return journal.ledger.move(one.id, State.REFUSED, among=among, code=code)

        return Law(told, State.REFUSED, among)

    def sent(journal: Journal) -> bool:
        return journal.ledger.move(one.id, State.SENT)

    assert sent(journal)
    assert not sent(journal)
    laws = {
        "created": created(f"order{number}"),
        "created another": created(f"other{number}"),
        "refused": Law(lambda j: refuse_create(j.ledger, one.id, "NO"), State.REFUSED, OPEN),
        "unknown": Law(
            lambda j: j.ledger.move(one.id, State.UNKNOWN, code="LOST"), State.UNKNOWN, LEFT
        ),
        "not created": given_up("NOT_CREATED", *LEFT),
        "abandoned": given_up("ABANDONED", State.UNKNOWN),
        "sent": Law(sent, State.SENT, ()),
    }
    return Act(laws, lambda j: j.ledger.get(one.id).state)


def a_group(journal: Journal, number: int) -> Act:
    batch_id = batch_of_one(journal, number)
    group = group_of(journal, batch_id)
    assert move_group(journal.ledger, group, State.SENT, server_at=NOW)
    left = (State.SENT, State.UNKNOWN)

    def of(journal: Journal) -> str:
        batch = find_batch(journal.ledger, batch_id)
        (now,), (row,) = batch.groups, batch.rows
        assert (now.multi_id, row.service_id) == (
            (f"multi{number}", f"row{number}") if now.act.state is State.DONE else (None, None)
        )
        # Its row goes with it, and the batch ends with it.
        assert row.act.state is now.act.state
        if not now.act.open:
            assert batch.operation.state is now.act.state
        return now.act.state

    def to(state: State, *among: State, **told: Any) -> Law:
        return Law(lambda j: move_group(j.ledger, group, state, **told), state, among)

    laws = {
        "sent": to(State.SENT, State.PREPARED, server_at=NOW),
        "not sent": to(State.PREPARED, *left),
        "unknown": to(State.UNKNOWN, *left, code="NO"),
        "refused": to(State.REFUSED, *left, code="NO", reasons=["no"], status=422),
        "created": Law(
            lambda j: create_group(j, group, f"multi{number}", f"row{number}"), State.DONE, left
        ),
        "not created": to(State.REFUSED, *left, code=NOT_CREATED, reasons=["no"]),
    }
    return Act(laws, of)


def a_bundle(journal: Journal, number: int) -> Act:
    batch_id, paid = batch_of_one(journal, number), f"paid{number}"
    one = signed_bundle(journal, batch_id, paid)
    assert payable(journal, paid)
    assert move_bundle(journal.ledger, one, State.SENT, server_at=NOW)
    assert not payable(journal, paid)
    with pytest.raises(ValueError, match="on its way"):
        signed_bundle(journal, batch_id, paid)
    under_way = ("sent", "unknown", "submitted")
    open_ = ("signed", *under_way)
    unsure = ("sent", "unknown")

    def to(state: State, word: str, among: tuple[str, ...], **told: Any) -> Law:
        return Law(lambda j: move_bundle(j.ledger, one, state, **told), word, among)

    def ended(state: State, word: str, hash_: str | None = None, **told: Any) -> Law:
        return Law(
            lambda j: move_bundle(j.ledger, one, state, hash=hash_, **told),
            word,
            open_,
            hash_,
            keeps=True,
        )

    laws = {
        "sent": to(State.SENT, "sent", ("signed",), server_at=NOW),
        "again": to(State.PREPARED, "signed", unsure),
        "unknown": to(State.UNKNOWN, "unknown", unsure, code="LOST"),
        "submitted": Law(lambda j: accept_bundle(j.ledger, one), "submitted", open_),
        "confirmed": ended(State.DONE, "confirmed", f"0xpaid{number}"),
        "failed": ended(State.REFUSED, "failed", code="FAILED"),
        "withdrawn": ended(State.REFUSED, "withdrawn", code="WITHDRAWN"),
        "refused": ended(State.REFUSED, "refused", code="REFUSED"),
    }

    def of(journal: Journal) -> str:
        newest = newest_bundle(journal.ledger, group_of(journal, batch_id).act.id)
        return newest.word

    return Act(laws, of, paid, "confirmed")


def _state_of(id_: str) -> Callable[[Journal], str]:
    def state(journal: Journal) -> str:
        return journal.ledger.get(id_).state

    return state


def a_payment(journal: Journal, number: int) -> Act:
    """A transaction of a group on Solana, which pays an order itself."""
    hash_, paid = f"0xpaid{number}", f"paid{number}"
    group = group_of(journal, batch_of_one(journal, number)).act.id
    act = begin_transaction(journal.ledger, "part", group, NEED, f"part{number}", [paid])
    laws = {
        "sent": Law(
            lambda j: commit_signed(j.ledger, act.id, hash_), "sent", ("prepared", "sent"), hash_
        ),
        "done": Law(
            lambda j: end_transaction(j.ledger, act, State.DONE, hash_=hash_),
            "done",
            OPEN,
            hash_,
            keeps=True,
        ),
        "refused": Law(
            lambda j: end_transaction(j.ledger, act, State.REFUSED, code="LOST", hash_=None),
            "refused",
            OPEN,
        ),
    }
    return Act(laws, _state_of(act.id), paid, "done")


def a_deposit(journal: Journal, number: int) -> Act:
    """The payment of an order from the wallet."""
    paid = f"paid{number}"
    act = begin_payment(journal.ledger, paid, "wallet", b"{}")
    hash_ = f"0xpaid{number}"

    def to(state: State, *among: State) -> Law:
        return Law(lambda j: j.ledger.move(act.id, state, code="WHY"), state, among)

    laws = {
        "asked": to(State.SENT, State.PREPARED),
        "unsigned": to(State.PREPARED, *LEFT),
        "done": Law(
            lambda j: end_payment(j.ledger, act, hash_), State.DONE, OPEN, hash_, keeps=True
        ),
        "refused": to(State.REFUSED, *OPEN),
        "unknown": to(State.UNKNOWN, *LEFT),
    }
    return Act(laws, _state_of(act.id), paid, "done")


def a_call(journal: Journal, number: int) -> Act:
    """A create by hand."""
    act = journal.ledger.begin("call", {}, state=State.SENT)
    made = order(service_id=f"order{number}")

    def to(state: State) -> Law:
        return Law(lambda j: j.ledger.move(act.id, state, code="WHY"), state, LEFT)

    laws = {
        "created": Law(
            lambda j: j.call_created(act.id, made, status=200),
            State.DONE,
            LEFT,
            made.service_id,
            keeps=True,
        ),
        "done": to(State.DONE),
        "refused": to(State.REFUSED),
        "unknown": to(State.UNKNOWN),
    }
    return Act(laws, _state_of(act.id))


LOGS = {
    "creates": the_create,
    "batches": a_group,
    "bundles": a_bundle,
    "payments": a_payment,
    "calls, a deposit": a_deposit,
    "calls, by hand": a_call,
}


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Journal, Journal]]:
    """Two desks on one journal. Nothing is killed here, so nothing waits for the disk."""
    path = tmp_path / "journal.db"
    desks = (Journal.open(path, ManualClock(NOW)), Journal.open(path, ManualClock(NOW)))
    for desk in desks:
        desk._file._connection.execute("PRAGMA synchronous=OFF")
    yield desks
    for desk in desks:
        desk.close()


def text_of(path: Path) -> str:
    """Everything that stands in the file."""
    with closing(sqlite3.connect(path)) as db:
        return "\n".join(db.iterdump())


def payable(journal: Journal, service_id: str) -> bool:
    """Whether the journal lets the order be paid. A payment that it lets begin is taken back."""
    try:
        act = begin_payment(journal.ledger, service_id, "faucet", b"{}")
    except ClaimTaken:
        return False
    assert journal.ledger.move(act.id, State.REFUSED, code="NOT_SENT")
    return True


_TORN = """
SELECT state, subject, service_id FROM operation LEFT JOIN orders ON operation = id
WHERE kind = 'create' AND
  ((state = 'done') IS NOT (service_id NOT NULL) OR subject IS NOT service_id)
"""
"""A create that is done has its order, and no other one has any."""


@pytest.mark.parametrize("log", LOGS)
def test_what_was_decided_first_stands(
    log: str, both: tuple[Journal, Journal], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    names = list(LOGS[log](both[0], 0).laws)
    # Of many outcomes every third sequence; it has each two that follow one another.
    part = 3 if len(names) > 6 and not pytestconfig.getoption("--full") else 1
    ids = set()
    for number, told in enumerate(islice(product(names, repeat=LENGTH), 0, None, part), start=1):
        act = LOGS[log](both[0], number)
        for turn, name in enumerate(told):
            law, before = act.laws[name], act.state(both[0])
            answer = law.told(both[turn % 2])
            after = act.state(both[1])
            if before in law.among:
                assert after == law.to, told
                assert answer is True or answer == UNREPEATED, told
            else:
                assert after == before, told
                same = name.startswith("created") and name in told[:turn]
                assert answer is False or answer == FOREIGN or same, told
            if law.id is not None and (answer is not False or law.keeps):
                ids.add(law.id)
        if act.order is not None and act.paid in told:
            assert not payable(both[1], act.order), told
        refused = act.state(both[0]) == State.REFUSED
        if act.order is not None and act.paid not in told and refused:
            assert payable(both[1], act.order), told
    said = text_of(tmp_path / "journal.db")
    assert not [one for one in ids if f"'{one}'" not in said and f'"{one}"' not in said]
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        assert db.execute(_TORN).fetchall() == []


def test_an_approval_that_was_mined_stays_so_when_the_swap_is_refused(
    both: tuple[Journal, Journal],
) -> None:
    """Who may take the tokens is told by it as long as it is not revoked."""
    one, ledger = intent(), both[0].ledger
    begin_create(ledger, one, "digest")
    approval = ledger.begin("approve", {}, parent=one.id, state=State.SENT, spender="0xvenue")
    assert ledger.move(approval.id, State.DONE, hash="0xa")
    assert refuse_create(ledger, one.id, "QUOTE_EXPIRED")
    part = both[1].ledger.get(approval.id)
    assert (part.state, part.result) == (State.DONE, {"hash": "0xa", "spender": "0xvenue"})


@pytest.mark.parametrize("sent", [False, True])
def test_what_stands_open_of_a_swap_is_over_with_it_before_its_create_left(
    both: tuple[Journal, Journal], sent: bool
) -> None:
    """Afterwards each has an end of its own: nobody knows yet what a part did that left."""
    one, ledger = intent(), both[0].ledger
    begin_create(ledger, one, "digest")
    parts = [ledger.begin("approve", {}, parent=one.id) for _ in range(2)]
    if sent:
        ledger.move(one.id, State.SENT)
    assert refuse_create(ledger, one.id, "QUOTE_EXPIRED")
    assert not refuse_create(both[1].ledger, one.id, "NO")
    over = (State.PREPARED, None) if sent else (State.REFUSED, "QUOTE_EXPIRED")
    ends = [(part.state, part.code) for part in both[1].ledger.parts(one.id)]
    assert ends == [(State.PREPARED, None), over]
    assert parts[-1].id == both[1].ledger.parts(one.id)[-1].id
    assert both[1].ledger.get(one.id).code == "QUOTE_EXPIRED"


def test_a_bundle_that_never_left_says_nothing_of_what_an_earlier_one_may_have_paid(
    both: tuple[Journal, Journal],
) -> None:
    batch_id, ledger = batch_of_one(both[0]), both[0].ledger
    first = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert move_bundle(ledger, first, State.SENT)
    assert move_bundle(ledger, first, State.REFUSED, code="FAILED")
    second = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert not payable(both[1], "paid1")
    assert move_bundle(ledger, second, State.REFUSED, code="REFUSED")
    assert not payable(both[1], "paid1")


def test_the_next_bundle_goes_on_with_what_an_earlier_one_may_have_paid(
    both: tuple[Journal, Journal],
) -> None:
    here, there = (journal.ledger for journal in both)
    batch_id = batch_of_one(both[0])
    first = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert move_bundle(here, first, State.SENT)
    assert move_bundle(here, first, State.REFUSED, code="FAILED")
    second = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert move_bundle(there, second, State.SENT)
    assert payment_of(here, "paid1").parent == second.operation.id
    # What a bundle on its way pays, no bundle of another group takes over.
    third = signed_bundle(both[0], batch_of_one(both[0], 2), "paid1")
    with pytest.raises(ClaimTaken):
        move_bundle(here, third, State.SENT)
    # It was the first one that paid, whatever is said of the second.
    move_bundle(here, first, State.DONE, hash="0xpaid")
    assert move_bundle(there, second, State.REFUSED, code="REFUSED")
    assert {payment_of(here, paid).hash for paid in ("paid1", "paid2")} == {"0xpaid"}
    assert not payable(both[1], "paid2")


def test_signatures_that_arrived_after_all_pay_their_orders(
    both: tuple[Journal, Journal],
) -> None:
    """The service was said not to have them; meanwhile somebody paid one of the orders."""
    here, there = (journal.ledger for journal in both)
    bundle = signed_bundle(both[0], batch_of_one(both[0]), "paid1", "paid2")
    assert move_bundle(here, bundle, State.SENT)
    assert move_bundle(here, bundle, State.PREPARED)
    own = begin_payment(there, "paid1", "wallet", b"{}")
    assert accept_bundle(here, bundle)
    assert payment_of(there, "paid1").id == own.id
    assert payment_of(there, "paid2").parent == bundle.operation.id
    assert not move_bundle(here, bundle, State.PREPARED)
    assert not payable(both[1], "paid2")


def test_a_deposit_that_was_paid_by_itself_is_not_paid_by_a_bundle(
    both: tuple[Journal, Journal],
) -> None:
    batch_id = batch_of_one(both[0])
    bundle = signed_bundle(both[0], batch_id, "paid1")
    begin_payment(both[1].ledger, "paid1", "faucet", b"{}")
    with pytest.raises(ClaimTaken):
        move_bundle(both[0].ledger, bundle, State.SENT)
    assert newest_bundle(both[1].ledger, group_of(both[1], batch_id).act.id).signed


def test_a_deposit_that_is_signed_after_it_was_refused_is_a_payment_of_its_own(
    both: tuple[Journal, Journal],
) -> None:
    here, there = (journal.ledger for journal in both)
    entry = PaymentEntry(here, "paid1", "0xme", None)
    entry.begin()
    begun = payment_of(there, "paid1")
    assert there.move(begun.id, State.REFUSED, code="NOT_PAYABLE")
    entry.signed("0xhash")
    stands = payment_of(there, "paid1")
    assert (stands.id != begun.id, stands.hash, stands.state) == (True, "0xhash", State.SENT)
    # Where another payment stands by then, not a byte of this one leaves.
    assert there.move(stands.id, State.REFUSED, code="NOT_PAYABLE")
    begin_payment(there, "paid1", "faucet", b"{}")
    with pytest.raises(ClaimTaken):
        entry.signed("0xhash")


def test_a_part_of_a_group_that_is_signed_after_it_was_refused_is_one_of_its_own(
    both: tuple[Journal, Journal],
) -> None:
    here, there = (journal.ledger for journal in both)
    group = group_of(both[0], batch_of_one(both[0])).act.id
    entry = ActEntry(here, lambda: begin_transaction(here, "part", group, NEED, "part", ["paid1"]))
    entry.begin()
    (one,) = transactions_of(there, group)
    assert end_transaction(there, one, State.REFUSED, code="NOT_SIGNED", hash_=None)
    entry.signed("0xhash")
    entry.done("0xhash")
    assert [each.state for each in transactions_of(there, group)] == [State.REFUSED, State.DONE]
    assert not payable(both[1], "paid1")
    # Where another payment stands by then, not a byte of it leaves.
    entry = ActEntry(here, lambda: begin_transaction(here, "part", group, NEED, "again", ["paid2"]))
    entry.begin()
    one = transactions_of(there, group)[-1]
    assert end_transaction(there, one, State.REFUSED, code="NOT_SIGNED", hash_=None)
    begin_payment(there, "paid2", "faucet", b"{}")
    with pytest.raises(ClaimTaken):
        entry.signed("0xhash")


def test_one_withdrawal_of_a_smart_account_is_under_way_at_a_time(
    both: tuple[Journal, Journal],
) -> None:
    """One that was prepared and never signed gives way to the next of its intent, one that left
    to none."""
    here, there = (journal.ledger for journal in both)
    taken = (Sum("USDC", 6, "0xdd", 1),)

    def begin(ledger: Ledger, intent_id: str, chain: str = "base") -> Operation:
        return begin_withdrawal(ledger, intent_id, "0xowner", "0xsender", chain, taken)

    first = begin(here, "withdraw#0")
    with pytest.raises(ClaimTaken):
        begin(there, "withdraw#1")
    again = begin(there, "withdraw#0")
    assert (here.get(first.id).code, here.get(again.id).state) == ("REPLACED", State.PREPARED)
    assert commit_signed(here, again.id, "0xhash")
    for intent_id in ("withdraw#0", "withdraw#1"):
        with pytest.raises(ClaimTaken):
            begin(there, intent_id)
    begin(there, "withdraw#0", "ethereum")
    assert end_transaction(there, again, State.DONE, hash_="0xhash")
    begin(here, "withdraw#1")


def test_a_swap_that_was_executed_after_it_was_refused_is_told_as_executed(
    both: tuple[Journal, Journal],
) -> None:
    here, there = both
    one = intent()
    begin_create(here.ledger, one, "digest")
    entry = SwapPart(here.ledger, lambda: here.ledger.begin("swap", {}, parent=one.id))
    entry.begin()
    entry.signed("0xhash")
    part = there.ledger.parts(one.id)[-1]
    assert there.ledger.move(part.id, State.REFUSED, code="LOST")
    entry.done("0xhash")
    last = there.ledger.parts(one.id)[-1]
    assert last.id != part.id
    assert (last.kind, last.state, last.result) == ("swap", State.DONE, {"hash": "0xhash"})
