"""Groups paid by bundles through a real agent, gate, service, bundler and chain: once, whatever is
lost on the way."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from flows.batch.paying import RECIPIENT, Payer, PayingPlace, paying, told_otherwise
from flows.faulty_network import After, DishonestService, changed, lose_answer, on
from flows.killed_desk import BATCH, gone_on_with, paid_once, sampled
from swapdesk.flows.batch.bundles import move_bundle, sum_of
from swapdesk.flows.batch.progress import Until
from swapdesk.flows.batch.rows import Became
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.payments import begin_payment, payment_of
from swapdesk.wallet.promise import Purpose
from swapdesk.wire.multi import MultiSubmitRequest
from swapdesk.wire.orders import LegStatus

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROWS = (("USDC", "20"), ("USDC", "30"), ("ETH", "0.02"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PayingPlace]:
    async with paying(tmp_path_factory.mktemp("paying")) as made:
        yield made


async def test_a_group_is_built_funded_signed_submitted_and_paid(someone: Payer) -> None:
    await someone.created("b1000", *ROWS)
    assert someone.standing("b1000").next is Until.BUILT
    await someone.settles("b1000", Until.BUILT)
    standing = someone.standing("b1000")
    assert (standing.word, standing.next) == ("built", Until.SIGNED)
    assert standing.whereabouts == "in your wallet; no deposit was paid"
    assert "3 transfers, 2 signatures; the smart account needs" in standing.plan
    assert someone.reviews == []

    await someone.settles("b1000", Until.SIGNED)
    standing = someone.standing("b1000")
    assert (standing.word, standing.next) == ("signed", Until.SETTLED)
    assert standing.bundle.sender in standing.whereabouts
    # Coins and dollars to the smart account, then an operation for each token.
    assert len(someone.reviews) == 4

    done = await someone.settles("b1000")
    assert done.hash is not None
    standing = someone.standing("b1000")
    assert (standing.word, standing.next) == ("paid", None)
    assert await someone.paid_exactly("b1000")
    assert len(someone.reviews) == 4
    # Nothing more is done for it.
    again = await someone.settling("b1000").advance(Until.SETTLED)
    assert again.hash == done.hash
    assert [act.state for act in standing.payments] == [State.DONE] * 2


async def test_no_is_no_and_asked_again(someone: Payer) -> None:
    await someone.created("b1002", ("USDC", "25"))
    someone.agrees = lambda review: False
    said_no = await someone.stops("b1002")
    assert (said_no.code, said_no.open) == ("NOT_CONFIRMED", True)
    assert said_no.failure.money == "in your wallet; no deposit was paid"
    # The funding is agreed to, the operation is not.
    someone.agrees = lambda review: (
        "UserOperation" not in review.title and "bundle" not in (review.title)
    )
    said_no = await someone.stops("b1002")
    standing = someone.standing("b1002")
    assert standing.word == "funded"
    assert standing.begun
    assert "in your smart account" in said_no.failure.money
    someone.agrees = lambda review: True
    before = len(someone.reviews)
    await someone.settles("b1002")
    # Nothing is funded twice.
    assert len(someone.reviews) == before + 1
    paid = [sum_of(act).symbol for act in someone.standing("b1002").payments if act.hash]
    assert paid == ["ETH", "USDC"]
    assert await someone.paid_exactly("b1002")


async def test_a_status_that_nobody_knows_is_neither_refused_nor_sent_again(
    someone: Payer,
) -> None:
    """The bundle is carried out meanwhile: given up, it would be built and paid again."""
    await someone.created("b1020", ("USDC", "25"))
    await someone.settling("b1020").advance(Until.SIGNED)
    network = someone.place.network
    network.seen.clear()

    def newer(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        told = rb'"bundleStatus":"[a-z]+"', b'"bundleStatus":"hovering"'
        return changed(lose_answer(request, response), lambda body: re.sub(*told, body))

    network.after = newer
    stopped = await someone.settling("b1020", arrives=timedelta(0)).advance(Until.SETTLED)
    assert stopped.failure is not None
    assert (stopped.code, stopped.open) == ("UNKNOWN_STATUS", True)
    assert "hovering of the bundle, a status that this desk does not know" in stopped.failure.cause
    bundle = someone.bundle("b1020")
    assert bundle.under_way
    network.after = None
    await someone.settles("b1020")
    assert network.posts() == 1
    assert someone.standing("b1020").word == "paid"


async def test_what_never_arrived_leaves_again_as_it_was(someone: Payer) -> None:
    """Killed between the journal and the request: the service still waits for the signatures."""
    await someone.created("b1004", ("USDC", "25"))
    await someone.settling("b1004").advance(Until.SIGNED)
    bundle = someone.bundle("b1004")
    long_ago = someone.place.api.server_now() - timedelta(seconds=70)
    assert move_bundle(someone.journal.ledger, bundle, State.SENT, server_at=long_ago)
    stopped = await someone.stops("b1004")
    assert (stopped.code, stopped.open) == ("NOT_SUBMITTED", True)
    again = someone.bundle("b1004")
    assert (again.word, again.signatures) == ("signed", bundle.signatures)
    await someone.settles("b1004")


def refusing(status: int, code: str) -> After:
    told = {"code": code, "message": "no"}
    return on("POST", lambda request, _: httpx2.Response(status, json=told, request=request))


@pytest.mark.parametrize(
    ("batch", "submitted", "answer"),
    [
        ("b1003", False, lose_answer),
        # The same signatures were submitted by another hand.
        ("b1005", True, None),
        ("b1015", True, refusing(404, "NO_BUNDLE")),
        ("b1025", True, refusing(409, "ALREADY_SUBMITTED")),
    ],
)
async def test_an_answer_to_the_submit_is_no_word_about_the_bundle(
    someone: Payer, batch: str, submitted: bool, answer: After | None
) -> None:
    """Neither a lost one nor a refusal, whatever its code: the status is asked for, and nothing is
    sent again."""
    await someone.created(batch, ("USDC", "25"))
    await someone.settling(batch).advance(Until.SIGNED)
    network, bundle = someone.place.network, someone.bundle(batch)
    if submitted:
        await someone.place.api.submit_multi_transactions(
            str(someone.group(batch).multi_id), MultiSubmitRequest(signatures=[*bundle.signatures])
        )
    network.seen.clear()
    network.after = answer
    await someone.settles(batch)
    assert network.posts() == 1
    assert len(someone.deposits(batch)) == 1
    assert await someone.paid_exactly(batch)


@pytest.mark.parametrize(
    ("fault", "code", "word"),
    [
        ("bundle_fail", "BUNDLE_FAILED", "failed"),
        ("bundle_withdraw", "WITHDRAWN", "withdrawn"),
    ],
)
async def test_a_bundle_that_is_given_up_is_told_and_built_again(
    someone: Payer, fault: str, code: str, word: str
) -> None:
    batch = f"b2{fault[7:]}"
    await someone.created(batch, ("USDC", "25"))
    multi_id = str(someone.group(batch).multi_id)
    someone.place.faults.set(fault, "multiId", multi_id)
    ended = await someone.stops(batch)
    assert ended.code == code
    standing = someone.standing(batch)
    assert standing.bundle.word == word
    assert f"in your smart account {standing.bundle.sender}" in ended.failure.money
    assert standing.next is Until.BUILT
    # Not by itself: the trader builds it again, and what was funded is there.
    same = await someone.settling(batch).advance(Until.SETTLED)
    assert same.code == code
    await someone.settles(batch, Until.BUILT)
    again = someone.bundle(batch)
    assert (again.number, again.needs) == (2, ())
    await someone.settles(batch)
    assert len(someone.deposits(batch)) == 1
    assert await someone.paid_exactly(batch)


async def test_a_tampered_build_obtains_no_signature(someone: Payer) -> None:
    """What the gate refuses is proved in ``tests/agent``."""
    await someone.created("b3001", ("USDC", "25"), ("USDC", "35"))
    multi_id = str(someone.group("b3001").multi_id)
    paid = (await someone.place.api.get_multi_exchange(multi_id)).orders[0].deposit_address

    def lie(calls: str) -> str:
        return calls.replace(str(paid)[2:].lower(), "bad0" * 10)

    service = DishonestService("/tx/build", "transactions.0.txData.userOperation.callData", lie)
    someone.place.network.after = service
    ended = await someone.settling("b3001").advance(Until.SETTLED)
    someone.place.network.after = None
    assert service.lies
    assert "BUNDLE_RECIPIENT_DIFFERS" in ended.failure.cause
    assert someone.bundle("b3001").signatures == ()
    assert not any("bundle" in review.title for review in someone.reviews)
    # The next build is honest, and what was funded is enough.
    await someone.settles("b3001", Until.BUILT)
    await someone.settles("b3001")
    assert await someone.paid_exactly("b3001")


async def test_groups_of_one_smart_account_go_one_after_another(someone: Payer) -> None:
    await someone.created("b4001", ("USDC", "25"))
    await someone.created("b4002", ("USDC", "35"))
    await someone.created("b4003", ("USDC", "45"))
    await someone.settling("b4003").advance(Until.BUILT)
    await someone.settling("b4001").advance(Until.SIGNED)
    refused = await someone.stops("b4002", Until.BUILT)
    assert refused.code == "OTHER_UNDER_WAY"
    assert "group 1 of batch b4001, which is signed" in refused.failure.cause
    await someone.settling("b4001").advance(Until.SETTLED)
    await someone.settles("b4002")
    # What this one needs was computed before the others were paid.
    reviews = len(someone.reviews)
    late = await someone.settling("b4003").advance(Until.SETTLED)
    assert (late.code, len(someone.reviews)) == ("BUILT_BEFORE", reviews)
    await someone.settling("b4003").advance(Until.BUILT)
    await someone.settles("b4003")


async def test_addresses_that_change_stop_everything(someone: Payer) -> None:
    await someone.created("b5001", ("USDC", "25"))
    await someone.settling("b5001").advance(Until.BUILT)
    status = await someone.place.api.get_multi_exchange(str(someone.group("b5001").multi_id))
    other = "0x" + "5" * 40
    someone.place.network.after = told_otherwise(str(status.orders[0].deposit_address), other)
    stopped = await someone.stops("b5001")
    assert stopped.code == "GROUP_CHANGED"
    assert "the service repeats another deposit address" in stopped.failure.cause
    assert someone.reviews == []
    assert await someone.held(other, "USDC") == 0


@pytest.mark.parametrize(
    ("batch", "old", "new", "state"),
    [
        ("b5002", RECIPIENT, "0x" + "7" * 40, "differs"),
        (
            "b5003",
            f'"inStatus":{LegStatus.WAITING:d}',
            f'"inStatus":{LegStatus.CONFIRMING:d}',
            "created",
        ),
    ],
)
async def test_an_order_that_is_another_one_or_was_paid_is_not_paid(
    someone: Payer, batch: str, old: str, new: str, state: Became
) -> None:
    await someone.created(batch, ("USDC", "25"), ("USDC", "35"))
    one, other = (str(row.service_id) for row in someone.group(batch).rows)
    someone.place.network.after = told_otherwise(old, new, beside=one)
    await someone.settles(batch, Until.BUILT)
    assert [row.became for row in someone.group(batch).rows] == [state, "created"]
    assert [deposit.service_id for deposit in someone.deposits(batch)] == [other]


async def test_a_deposit_is_paid_by_the_bundle_or_by_itself_and_never_by_both(
    someone: Payer,
) -> None:
    await someone.created("b6001", ("USDC", "25"), ("USDC", "35"))
    ledger = someone.journal.ledger
    one, other = (str(row.service_id) for row in someone.group("b6001").rows)
    await someone.settling("b6001").advance(Until.SIGNED)
    begin_payment(ledger, one, "faucet", b"{}")
    stopped = await someone.settling("b6001").advance(Until.SETTLED)
    assert stopped.code == "GROUP_CHANGED"
    assert someone.standing("b6001").word == "signed"
    # Built again, it leaves that row out.
    await someone.settling("b6001").advance(Until.BUILT)
    assert [row.service_id for row in someone.deposits("b6001")] == [other]
    assert someone.standing("b6001").left_out == 1
    await someone.settles("b6001")
    paid = payment_of(ledger, other)
    assert (paid.body["by"], paid.state) == ("bundle", State.DONE)


async def test_an_account_that_has_too_little_is_told_so(
    place: PayingPlace, first: Payer, tmp_path: Path
) -> None:
    async with place.payer(tmp_path / "poor", first, usdc="10") as poor:
        await poor.created("b5003", ("USDC", "25"))
        ended = await poor.stops("b5003")
        assert ended.code == "NOT_ENOUGH"
        assert "15 USDC are missing" in ended.failure.cause
        assert poor.reviews == []


# kill -9 of the desk

CREATING = ("api.create_multi_exchange.before.1", "api.create_multi_exchange.after.1")
CREATED = ("creation._create.after.1", "api.build_multi_transactions.after.1")
FUNDING = (
    "ledger.bundle_prepared.after.1",
    "ledger.fund_prepared.after.1",
    "wallet.sign.after.1",
    "ledger.fund_sent.after.1",
    "wallet.broadcast.after.1",
    "ledger.fund_prepared.after.2",
    "wallet.sign.after.2",
)
SIGNING = ("wallet.review.after.3", "wallet.sign.after.3", "ledger.bundle_told.after.1")
SUBMITTING = (
    "ledger.bundle_sent.after.1",
    "api.submit_multi_transactions.after.1",
    "ledger.bundle_told.after.2",
    "ledger.bundle_done.before.1",
    "ledger.bundle_done.after.1",
)
BOUNDARIES = CREATING + CREATED + FUNDING + SIGNING + SUBMITTING
SAMPLE = frozenset(
    {
        "api.create_multi_exchange.after.1",
        "wallet.sign.after.1",
        "ledger.bundle_sent.after.1",
        "api.submit_multi_transactions.after.1",
    }
)
"""Killed always, at each kind of boundary once; the others with ``--full``."""


@pytest.mark.parametrize("boundary", sampled(BOUNDARIES, SAMPLE))
async def test_a_killed_group_is_gone_on_with_and_paid_once(
    place: PayingPlace, tmp_path: Path, boundary: str
) -> None:
    async with gone_on_with(place, tmp_path, boundary) as someone:
        if boundary == "api.create_multi_exchange.before.1":
            # It may have left; the service shows no such group.
            assert {row.became for row in someone.group(BATCH).rows} == {"failed"}
            assert await someone.held(someone.account.address, "USDC") == 1000 * 10**6
            return
        # The smart account was filled once, and holds nothing that was not needed.
        built = await paid_once(someone, Purpose.FUND, timedelta(seconds=1))
        assert await someone.held(built.sender, "USDC") == 0
