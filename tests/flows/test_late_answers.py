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

from flows.orders import NEED, NOW, batch_of_one, intent, order, signed_bundle
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.group_transactions import _PaymentEntry
from swapdesk.flows.deposits.wallet_funding import PaymentEntry
from swapdesk.flows.dex.dex_permission import _Step
from swapdesk.flows.intents.intent import FOREIGN, UNREPEATED, ReleaseVerdict
from swapdesk.flows.journal.batch_records import (
    BundleState,
    Paying,
    RowEnd,
    RowState,
    WalletPayment,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import IntentState, StepState
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


def the_intent(journal: Journal, number: int) -> Act:
    one = intent(amount_in=Decimal(number + 1))
    journal.intents.add(one, "create", "digest")
    open_, unknown = IntentState.OPEN, IntentState.UNKNOWN
    both = (open_, unknown)

    def created(name: str) -> Law:
        made = order(one, service_id=name)

        def told(journal: Journal) -> ReleaseVerdict:
            return journal.intents.mark_created(
                one.id, made, source="create", verdict=UNREPEATED, request_id=f"r{name}"
            )

        return Law(told, IntentState.CREATED, both, name, keeps=True)

    assert journal.intents.mark_sent(one.id, NOW)
    assert not journal.intents.mark_sent(one.id, NOW)
    laws = {
        "created": created(f"order{number}"),
        "created another": created(f"other{number}"),
        "refused": Law(lambda j: j.intents.mark_refused(one.id, code="NO"), "refused", both),
        "unknown": Law(lambda j: j.intents.mark_unknown(one.id, code="LOST"), unknown, both),
        "not created": Law(lambda j: j.intents.mark_not_created(one.id), "not_created", both),
        "abandoned": Law(lambda j: j.intents.abandon(one.id), "abandoned", (unknown,)),
        "sent": Law(lambda j: j.intents.mark_sent(one.id, NOW), open_, ()),
    }

    def state(journal: Journal) -> str:
        entry = journal.intents.get(one.id)
        return entry.state

    return Act(laws, state)


def a_step(journal: Journal, number: int) -> Act:
    one = intent(amount_in=Decimal(number + 1))
    journal.intents.add(one, "permission", "digest")
    seq, swaps = journal.swaps.begin(one.id, "swap", "digest"), journal.swaps
    prepared, sent, unknown = StepState.PREPARED, StepState.SENT, StepState.UNKNOWN
    assert swaps.sent(one.id, seq, hash=f"0xsent{number}")
    laws = {
        "sent": Law(lambda j: j.swaps.sent(one.id, seq), sent, (prepared,)),
        "again": Law(lambda j: j.swaps.again(one.id, seq), prepared, (sent, unknown)),
        "done": Law(
            lambda j: j.swaps.acked(one.id, seq, hash=f"0xsent{number}"),
            StepState.ACKED,
            (prepared, sent, unknown),
            f"0xsent{number}",
        ),
        "refused": Law(
            lambda j: j.swaps.refused(one.id, seq, "FAILED"),
            StepState.REFUSED,
            (prepared, sent, unknown),
        ),
        "unknown": Law(lambda j: j.swaps.unknown(one.id, seq, "LOST"), unknown, (sent, unknown)),
    }
    return Act(laws, lambda j: j.swaps.steps(one.id)[seq - 1].state)


def a_group(journal: Journal, number: int) -> Act:
    batch_id = batch_of_one(journal, number)
    assert journal.batches.mark_sent(batch_id, 1, NOW)
    sent, unknown = StepState.SENT, StepState.UNKNOWN
    left = (sent, unknown)
    told: dict[str, Any] = {"code": "NO", "status": 422, "request_id": None}
    end = RowEnd(0, RowState.CREATED, f"row{number}")
    failed = RowEnd(0, RowState.FAILED, None, "NO", "no")

    def of(journal: Journal) -> str:
        batch = journal.batches.get(batch_id)
        (group,), (row,) = batch.groups, batch.rows
        created = group.state is StepState.ACKED
        assert (group.multi_id, row.service_id) == (
            (f"multi{number}", f"row{number}") if created else (None, None)
        )
        if group.state in (StepState.REFUSED, StepState.RESOLVED_NO):
            assert row.state is RowState.FAILED
        return group.state

    laws = {
        "sent": Law(lambda j: j.batches.mark_sent(batch_id, 1, NOW), sent, (StepState.PREPARED,)),
        "not sent": Law(lambda j: j.batches.mark_not_sent(batch_id, 1), StepState.PREPARED, left),
        "unknown": Law(lambda j: j.batches.mark_unknown(batch_id, 1, **told), unknown, left),
        "refused": Law(
            lambda j: j.batches.mark_refused(batch_id, 1, [failed], **told),
            StepState.REFUSED,
            left,
        ),
        "created": Law(
            lambda j: j.batches.mark_created(batch_id, 1, f"multi{number}", [end]),
            StepState.ACKED,
            left,
        ),
        "not created": Law(
            lambda j: j.batches.mark_not_created(batch_id, 1), StepState.RESOLVED_NO, left
        ),
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
    "intents": the_intent,
    "swaps": a_step,
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
SELECT intent.state, service_id FROM intent LEFT JOIN orders ON operation = intent.id
WHERE (intent.state = 'created') IS NOT (service_id NOT NULL)
"""
"""An intent that is created has its order, and no other one has any."""


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
        refused = act.state(both[0]) == StepState.REFUSED
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
    one, swaps = intent(), both[0].swaps
    both[0].intents.add(one, "permission", "digest")
    seq = swaps.begin(one.id, "approve", "digest")
    swaps.sent(one.id, seq, hash="0xa", spender="0xvenue")
    swaps.acked(one.id, seq, hash="0xa")
    assert both[0].intents.mark_refused(one.id, code="QUOTE_EXPIRED")
    step = both[1].swaps.steps(one.id)[-1]
    assert (step.state, step.told) == (StepState.ACKED, {"hash": "0xa", "spender": "0xvenue"})


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
    here.intents.add(one, "permission", "digest")
    entry = _Step(here.swaps, one.id, "swap", "digest", {})
    entry.begin()
    entry.signed("0xhash")
    step = there.swaps.steps(one.id)[-1]
    assert there.swaps.refused(one.id, step.seq, "LOST")
    entry.done("0xhash")
    last = there.swaps.steps(one.id)[-1]
    assert (last.name, last.state, last.told) == ("swap", StepState.ACKED, {"hash": "0xhash"})
