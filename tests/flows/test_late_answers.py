"""Late, doubled and contradicting answers: what was decided first stands, in every log of acts.

Every sequence of three outcomes is told to every log, by two connections in turn. Each log has its
law here: from which states an outcome may come, and into which.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from itertools import product
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
    keep_group,
    leave_group,
    lose_group,
    refuse_group,
)
from swapdesk.flows.batch.group_transactions import _PaymentEntry
from swapdesk.flows.batch.rows import NOT_CREATED
from swapdesk.flows.deposits.wallet_funding import PaymentEntry
from swapdesk.flows.dex.dex_permission import SwapPart
from swapdesk.flows.intents.intent import FOREIGN, UNREPEATED, ReleaseVerdict
from swapdesk.flows.journal.batch_records import (
    BundleState,
    Paying,
    WalletPayment,
)
from swapdesk.flows.journal.creates import become_order, begin_create, refuse_create
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.ledger import LEFT, OPEN, State
from swapdesk.flows.journal.outgoing_writes import WALLET_PAYMENT, PaidBefore
from swapdesk.flows.journal.wallet_payment_log import Taken

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


def a_part(journal: Journal, number: int) -> Act:
    """The order's transaction of a swap on chains."""
    one = intent(amount_in=Decimal(number + 1))
    begin_create(journal.ledger, one, "digest")
    id_, hash_ = journal.ledger.begin("swap", {}, parent=one.id).id, f"0xsent{number}"

    def to(state: State, *among: State, **told: Any) -> Law:
        name = told.get("hash") if state is State.DONE else None
        return Law(lambda j: j.ledger.move(id_, state, **told), state, among, name)

    assert journal.ledger.move(id_, State.SENT, hash=hash_)
    laws = {
        "sent": to(State.SENT, State.PREPARED),
        "again": to(State.PREPARED, *LEFT),
        "done": to(State.DONE, *OPEN, hash=hash_),
        "refused": to(State.REFUSED, *OPEN, code="FAILED"),
        "unknown": to(State.UNKNOWN, *LEFT, code="LOST"),
    }
    return Act(laws, lambda j: j.ledger.get(id_).state)


def a_group(journal: Journal, number: int) -> Act:
    batch_id = batch_of_one(journal, number)
    group = group_of(journal, batch_id)
    assert leave_group(journal.ledger, group, NOW)
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

    def refused(journal: Journal, code: str) -> bool:
        return refuse_group(journal.ledger, group, ["no"], code=code, status=422)

    laws = {
        "sent": Law(lambda j: leave_group(j.ledger, group, NOW), State.SENT, (State.PREPARED,)),
        "not sent": Law(lambda j: keep_group(j.ledger, group), State.PREPARED, left),
        "unknown": Law(lambda j: lose_group(j.ledger, group, "NO"), State.UNKNOWN, left),
        "refused": Law(lambda j: refused(j, "NO"), State.REFUSED, left),
        "created": Law(
            lambda j: create_group(j, group, f"multi{number}", f"row{number}"), State.DONE, left
        ),
        "not created": Law(lambda j: refused(j, NOT_CREATED), State.REFUSED, left),
    }
    return Act(laws, of)


def a_bundle(journal: Journal, number: int) -> Act:
    batch_id, paid = batch_of_one(journal, number), f"paid{number}"
    one = signed_bundle(journal, batch_id, paid)
    assert payable(journal, paid)
    assert journal.bundles.sent(one, NOW)
    assert not payable(journal, paid)
    with pytest.raises(ValueError, match="on its way"):
        signed_bundle(journal, batch_id, paid)
    state = BundleState
    under_way = (state.SENT, state.UNKNOWN, state.SUBMITTED)
    open_ = (state.SIGNED, *under_way)
    unsure = (state.SENT, state.UNKNOWN)

    def ended(to: BundleState, hash_: str | None = None) -> Law:
        return Law(lambda j: j.bundles.ended(one, to, tx_hash=hash_), to, open_, hash_, keeps=True)

    laws = {
        "sent": Law(lambda j: j.bundles.sent(one, NOW), state.SENT, (state.SIGNED,)),
        "again": Law(lambda j: j.bundles.again(one), state.SIGNED, unsure),
        "unknown": Law(lambda j: j.bundles.unknown(one, "LOST"), state.UNKNOWN, unsure),
        "submitted": Law(lambda j: j.bundles.submitted(one), state.SUBMITTED, open_),
        "confirmed": ended(state.CONFIRMED, f"0xpaid{number}"),
        "failed": ended(state.FAILED),
        "withdrawn": ended(state.WITHDRAWN),
        "refused": ended(state.REFUSED),
    }

    def of(journal: Journal) -> str:
        newest = journal.bundles.newest(batch_id, 1)
        return newest.state

    return Act(laws, of, paid, "confirmed")


def a_payment(journal: Journal, number: int) -> Act:
    """A part of a group on Solana, which pays an order itself."""
    batch_id, paid = batch_of_one(journal, number), f"paid{number}"
    one: WalletPayment = journal.payments.begin(
        batch_id, 1, Paying.PART, NEED, f"part{number}", [paid]
    )
    open_ = (StepState.PREPARED, StepState.SENT)

    def to(state: StepState, hash_: str | None = None) -> Law:
        return Law(
            lambda j: j.payments.set(batch_id, 1, one, state, hash_=hash_),
            state,
            open_,
            hash_,
            keeps=state is StepState.ACKED,
        )

    laws = {
        "sent": to(StepState.SENT, f"0xpaid{number}"),
        "done": to(StepState.ACKED, f"0xpaid{number}"),
        "refused": to(StepState.REFUSED),
    }
    return Act(laws, lambda j: j.payments.of(batch_id, 1)[-1].state, paid, "done")


def a_withdrawal(journal: Journal, number: int) -> Act:
    name, taken = f"withdraw#{number}", (Taken("USDC", 6, "0xdd", 1),)
    prepared, sent = StepState.PREPARED, StepState.SENT

    def begin(journal: Journal) -> bool:
        return journal.withdrawals.begin(name, "0xowner", "0xsender", "base", taken)

    def ended(journal: Journal, succeeded: bool) -> bool:
        return journal.withdrawals.ended(name, f"0x{number}", succeeded=succeeded)

    assert begin(journal)
    open_ = (prepared, sent)
    laws = {
        "begun": Law(begin, prepared, (prepared,)),
        "sent": Law(lambda j: j.withdrawals.sent(name, f"0x{number}"), sent, (prepared,)),
        "done": Law(lambda j: ended(j, True), StepState.ACKED, open_, f"0x{number}"),
        "refused": Law(lambda j: ended(j, False), StepState.REFUSED, open_, f"0x{number}"),
    }

    def of(journal: Journal) -> str:
        entry = journal.withdrawals.get(name)
        return entry.state

    return Act(laws, of)


def _state_of(journal: Journal, call_id: int) -> str:
    [row] = journal._file.read("SELECT state FROM call WHERE id = ?", (call_id,))
    return str(row["state"])


def a_deposit(journal: Journal, number: int) -> Act:
    """The payment of an order from the wallet."""
    paid = f"paid{number}"
    id_ = journal.calls.add_payment(paid, b"{}", path=WALLET_PAYMENT)
    left = (StepState.SENT, StepState.UNKNOWN)
    open_ = (StepState.PREPARED, *left)
    hash_ = f"0xpaid{number}"
    laws = {
        "asked": Law(lambda j: j.calls.mark_asked(id_), StepState.SENT, open_),
        "unsigned": Law(lambda j: j.calls.mark_unsigned(id_), StepState.PREPARED, left),
        "done": Law(
            lambda j: j.calls.mark_done(id_, status=200, request_id=None, hash_=hash_),
            StepState.ACKED,
            open_,
            hash_,
            keeps=True,
        ),
        "refused": Law(lambda j: j.calls.mark_refused(id_, code="NO"), StepState.REFUSED, open_),
        "unknown": Law(lambda j: j.calls.mark_unknown(id_, code="LOST"), StepState.UNKNOWN, open_),
    }
    return Act(laws, lambda j: _state_of(j, id_), paid, "done")


def a_call(journal: Journal, number: int) -> Act:
    """A create by hand."""
    id_ = journal.calls.add("POST", "/exchanges", b"{}")
    made = order(service_id=f"order{number}")
    left = (StepState.SENT, StepState.UNKNOWN)
    laws = {
        "created": Law(
            lambda j: j.calls.mark_created(id_, made, status=200, request_id="r"),
            StepState.ACKED,
            left,
            made.service_id,
            keeps=True,
        ),
        "done": Law(
            lambda j: j.calls.mark_done(id_, status=200, request_id=None), StepState.ACKED, left
        ),
        "refused": Law(lambda j: j.calls.mark_refused(id_, code="NO"), StepState.REFUSED, left),
        "unknown": Law(lambda j: j.calls.mark_unknown(id_, code="LOST"), StepState.UNKNOWN, left),
    }
    return Act(laws, lambda j: _state_of(j, id_))


LOGS = {
    "creates": the_create,
    "parts of a create": a_part,
    "batches": a_group,
    "bundles": a_bundle,
    "payments": a_payment,
    "withdrawals": a_withdrawal,
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
        id_ = journal.calls.add_payment(service_id, b"{}")
    except PaidBefore:
        return False
    assert journal.calls.mark_refused(id_, code="NOT_SENT")
    return True


_TORN = """
SELECT state, subject, service_id FROM operation LEFT JOIN orders ON operation = id
WHERE kind = 'create' AND
  ((state = 'done') IS NOT (service_id NOT NULL) OR subject IS NOT service_id)
"""
"""A create that is done has its order, and no other one has any."""


@pytest.mark.parametrize("log", LOGS)
def test_what_was_decided_first_stands(
    log: str, both: tuple[Journal, Journal], tmp_path: Path
) -> None:
    names = list(LOGS[log](both[0], 0).laws)
    ids = set()
    for number, told in enumerate(product(names, repeat=LENGTH), start=1):
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
        refused = act.state(both[0]) in (StepState.REFUSED, State.REFUSED)
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
    batch_id, bundles = batch_of_one(both[0]), both[0].bundles
    first = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert bundles.sent(first, NOW)
    assert bundles.ended(first, BundleState.FAILED)
    second = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert not payable(both[1], "paid1")
    assert bundles.ended(second, BundleState.REFUSED)
    assert not payable(both[1], "paid1")


def test_a_deposit_that_was_paid_by_itself_is_not_paid_by_a_bundle(
    both: tuple[Journal, Journal],
) -> None:
    batch_id = batch_of_one(both[0])
    bundle = signed_bundle(both[0], batch_id, "paid1")
    both[1].calls.add_payment("paid1", b"{}")
    with pytest.raises(PaidBefore):
        both[0].bundles.sent(bundle, NOW)
    assert both[1].bundles.newest(batch_id, 1).state is BundleState.SIGNED


def test_a_deposit_that_is_signed_after_it_was_refused_is_a_payment_of_its_own(
    both: tuple[Journal, Journal],
) -> None:
    here, there = both
    entry = PaymentEntry(here.calls, "paid1", "0xme", None)
    entry.begin()
    begun = there.calls.payment_of("paid1")
    assert there.calls.mark_refused(begun.id, code="NOT_PAYABLE")
    entry.signed("0xhash")
    stands = there.calls.payment_of("paid1")
    assert (stands.id != begun.id, stands.hash, stands.state) == (True, "0xhash", StepState.SENT)
    # Where another payment stands by then, not a byte of this one leaves.
    assert there.calls.mark_refused(stands.id, code="NOT_PAYABLE")
    there.calls.add_payment("paid1", b"{}")
    with pytest.raises(PaidBefore):
        entry.signed("0xhash")


def test_a_part_of_a_group_that_is_signed_after_it_was_refused_is_one_of_its_own(
    both: tuple[Journal, Journal],
) -> None:
    here, there = both
    batch_id = batch_of_one(here)
    one = here.payments.begin(batch_id, 1, Paying.PART, NEED, "part", ["paid1"])
    entry = _PaymentEntry(here.payments, batch_id, 1, one, True)
    assert there.payments.set(batch_id, 1, one, StepState.REFUSED, code="NOT_SIGNED")
    entry.signed("0xhash")
    entry.done("0xhash")
    assert [each.state for each in there.payments.of(batch_id, 1)] == [
        StepState.REFUSED,
        StepState.ACKED,
    ]
    assert not payable(there, "paid1")


def test_a_swap_that_was_executed_after_it_was_refused_is_told_as_executed(
    both: tuple[Journal, Journal],
) -> None:
    here, there = both
    one = intent()
    begin_create(here.ledger, one, "digest")
    entry = SwapPart(here.ledger, one.id, "swap", {"digest": "digest"})
    entry.begin()
    entry.signed("0xhash")
    part = there.ledger.parts(one.id)[-1]
    assert there.ledger.move(part.id, State.REFUSED, code="LOST")
    entry.done("0xhash")
    last = there.ledger.parts(one.id)[-1]
    assert last.id != part.id
    assert (last.kind, last.state, last.result) == ("swap", State.DONE, {"hash": "0xhash"})
