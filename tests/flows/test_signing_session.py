"""What is shown of a swap while it is signed, and what becomes of what the trader says."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from email.utils import format_datetime

import pytest

from flows.orders import NOW
from flows.signing import TRANSACTION, document, refused, review, steps_of, swap_intent
from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import ManualClock
from swapdesk.flows.dex.dex_plan import AT_ONCE, SwapPlan
from swapdesk.flows.dex.swap_signing import SwapSigning, flow_steps
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.journal.dex_log import SwapStep
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.signing.signing_session import FlowStep, Mark, Stage
from swapdesk.flows.transactions.outcome import End, Outcome
from swapdesk.flows.transactions.transactor import Agreed, NotAgreed
from swapdesk.secret import Secret
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

PLAN = SwapPlan(0, ("permit", "order"))
FAILURE = Failure("It broke.", "in your wallet", "you: ask for new quotes")


@pytest.fixture
def session(journal: Journal, clock: ManualClock) -> SwapSigning:
    one = SwapSigning(
        swap_intent(), journal, clock, lambda: None, fresh=True, wallet="trading", plan=PLAN,
        confirmations=2,
    )  # fmt: skip
    journal.intents.add(one.intent, "permission", "")
    return one


async def asked(session: SwapSigning) -> asyncio.Task[Agreed | None]:
    """The flow at its question."""
    task = asyncio.create_task(session.look(review()))
    for _ in range(3):
        await asyncio.sleep(0)
    assert session.review is not None
    return task


async def test_yes_counts_for_the_review_that_is_open(session: SwapSigning) -> None:
    task = await asked(session)
    assert session.stage is Stage.REVIEW
    assert session.waits
    assert not session.agree("another")
    assert session.agree("r1", "typed")
    # A second key comes too late to say anything.
    assert not session.refuse("r1")
    assert await task == Agreed("typed")
    assert session.stage is Stage.WORKING
    assert not session.agree("r1")


async def test_no_is_an_answer_too(session: SwapSigning) -> None:
    task = await asked(session)
    assert session.refuse("r1")
    assert await task is None


async def test_a_clock_that_is_moved_over_its_end_ends_the_question(
    journal: Journal, clock: ManualClock
) -> None:
    """The sandbox's time jumps; the desk hears of it with the next answer of the service."""
    server = ServerClock(clock)
    session = SwapSigning(
        swap_intent(), journal, server, lambda: None, fresh=True, wallet="trading", plan=PLAN,
        confirmations=2,
    )  # fmt: skip
    task = await asked(session)
    assert session.left(clock.now()) == 600
    at = clock.monotonic()
    server.observe(format_datetime(NOW + timedelta(minutes=9), usegmt=True), sent=at, received=at)
    clock.advance(1)
    await asyncio.sleep(0)
    assert not task.done()
    server.observe(format_datetime(NOW + timedelta(minutes=10), usegmt=True), sent=at, received=at)
    clock.advance(1)
    with pytest.raises(NotAgreed, match="quote ended") as ended:
        await task
    assert ended.value.code == "QUOTE_EXPIRED"
    assert session.review is None
    assert not session.agree("r1")


async def test_who_stops_asking_is_asked_no_more(session: SwapSigning) -> None:
    task = await asked(session)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.review is None
    assert session.stage is Stage.WORKING


async def test_a_pass_phrase_is_handed_over_once_and_kept_nowhere(session: SwapSigning) -> None:
    task = asyncio.create_task(session.passphrase("No key opened."))
    await asyncio.sleep(0)
    assert session.stage is Stage.LOCKED
    assert session.waits
    assert session.said == "No key opened."
    assert session.unlock(Secret("open sesame"))
    assert (await task).reveal() == "open sesame"
    assert not session.unlock(Secret("again"))
    assert "sesame" not in repr(vars(session))


def test_the_line_of_steps_follows_the_journal(session: SwapSigning, journal: Journal) -> None:
    swaps, it = journal.swaps, session.id
    assert steps_of(session) == "~ allowance  o sign 1 permit  o sign 2 order  o settle  o confirm"
    first = swaps.begin(it, "sign order 0", "")
    swaps.sent(it, first)
    assert steps_of(session) == "+ allowance  ~ sign 1 permit  o sign 2 order  o settle  o confirm"
    swaps.acked(it, first, signature="0x")
    second = swaps.begin(it, "sign order 1", "")
    assert steps_of(session) == "+ allowance  + sign 1 permit  ~ sign 2 order  o settle  o confirm"
    swaps.acked(it, second, signature="0x")
    swaps.sent(it, swaps.begin(it, "create", ""))
    assert steps_of(session) == "+ allowance  + sign 1 permit  + sign 2 order  ~ settle  o confirm"
    confirm = swaps.begin(it, "confirm", "")
    assert steps_of(session) == "+ allowance  + sign 1 permit  + sign 2 order  + settle  ~ confirm"
    swaps.acked(it, confirm)
    assert steps_of(session) == "+ allowance  + sign 1 permit  + sign 2 order  + settle  + confirm"


def test_what_is_taken_on_after_a_kill_reads_as_it_was_confirmed(
    journal: Journal, clock: ManualClock
) -> None:
    intent = swap_intent()
    journal.intents.add(intent, "permission", "", {"plan": PLAN.as_json()})
    taken_on = SwapSigning(intent, journal, clock, lambda: None, fresh=False)
    assert steps_of(taken_on) == "~ allowance  o sign 1 permit  o sign 2 order  o settle  o confirm"
    seq = journal.swaps.begin(intent.id, "sign order 0", "")
    journal.swaps.sent(intent.id, seq, kind="permit")
    assert steps_of(taken_on) == "+ allowance  ~ sign 1 permit  o sign 2 order  o settle  o confirm"
    create = journal.swaps.begin(intent.id, "create", "")
    journal.swaps.sent(intent.id, create)
    assert steps_of(taken_on) == "+ allowance  + sign 1 permit  + sign 2 order  ~ settle  o confirm"


def test_a_signature_that_was_planned_without_its_kind_has_it_once_it_is_asked_for(
    session: SwapSigning, journal: Journal
) -> None:
    session.plan = SwapPlan(0, ("permit", "", "order"))
    swaps, it = journal.swaps, session.id
    for name, kind in (("sign order 0", "permit"), ("sign order 1", "permit")):
        seq = swaps.begin(it, name, "")
        swaps.sent(it, seq, kind=kind)
        swaps.acked(it, seq, signature="0x", kind=kind)
    assert steps_of(session) == (
        "+ allowance  + sign 1 permit  + sign 2 permit  o sign 3 order  o settle  o confirm"
    )


def test_an_end_marks_the_step_it_ended_at(session: SwapSigning, journal: Journal) -> None:
    seq = journal.swaps.begin(session.id, "approve", "")
    journal.swaps.refused(session.id, seq, "SPENDER_UNKNOWN")
    session.finish(Outcome(End.REFUSED, "SPENDER_UNKNOWN", FAILURE))
    assert steps_of(session) == "x allowance  o sign 1 permit  o sign 2 order  o settle  o confirm"
    assert session.over


def test_without_a_plan_the_steps_are_those_that_were_seen(journal: Journal) -> None:
    assert flow_steps([]) == (
        FlowStep("allowance", Mark.NOW),
        FlowStep("send", Mark.AHEAD),
        FlowStep("confirm", Mark.AHEAD),
    )


def test_on_solana_nothing_is_allowed_before() -> None:
    assert flow_steps([], AT_ONCE, allows=False) == (
        FlowStep("send", Mark.NOW),
        FlowStep("confirm", Mark.AHEAD),
    )
    assert AT_ONCE.words == ("send", "confirm")


def test_what_is_reviewed_names_its_place(session: SwapSigning) -> None:
    session.reviewed(document(0, 2, "Permit"), review())
    assert session.place == (1, 2)
    session.reviewed(document(1, 2), review())
    assert session.place == (2, 2)
    assert session.refused is None
    session.reviewed(TRANSACTION, refused())
    assert session.place is None
    assert session.refused is not None


def sent(state: TransactionState, confirmations: int = 0) -> SignedTransaction:
    return SignedTransaction(
        "0x12", "i", Purpose.SWAP, "ethereum", "0x70", state, 1, None, confirmations, None, NOW
    )


def test_what_goes_on_is_told(session: SwapSigning) -> None:
    assert session.doing == "The desk asks the service what comes next."
    session.seen(sent(TransactionState.SENT))
    assert session.doing == "Sent. Ethereum has not executed it yet."
    session.seen(sent(TransactionState.MINED, 1))
    assert session.doing == "Executed on Ethereum, 1 of 2 confirmations."
    session.seen(sent(TransactionState.SUCCEEDED, 2))
    assert session.transaction is None


def test_what_stopped_can_be_gone_on_with(session: SwapSigning) -> None:
    session.finish(Outcome(End.OPEN, "WALLET", FAILURE))
    assert session.stage is Stage.STOPPED
    assert not session.over
    session.started()
    assert session.stage is Stage.WORKING


def test_the_plan_in_words() -> None:
    assert PLAN.words == ("allowance ok", "sign 1/2 permit", "sign 2/2 order", "settle", "confirm")
    assert SwapPlan(1).words == ("approve", "send", "confirm")
    assert SwapPlan(2).words == ("1/2 reset", "2/2 approve", "send", "confirm")
    assert SwapPlan(0, ("permit",)).words == ("allowance ok", "sign 1/1 permit", "send", "confirm")


@pytest.mark.parametrize(
    ("reset", "marks"),
    [
        (None, [Mark.NOW, Mark.AHEAD]),
        (StepState.SENT, [Mark.NOW, Mark.AHEAD]),
        (StepState.ACKED, [Mark.DONE, Mark.NOW]),
    ],
)
def test_an_allowance_in_two_steps_says_which_it_stands_at(
    reset: StepState | None, marks: list[Mark]
) -> None:
    steps = [] if reset is None else [SwapStep(1, "reset", reset, "", {}, NOW, NOW, None)]
    line = flow_steps(steps, SwapPlan(2))
    assert [(one.name, one.mark) for one in line[:2]] == list(
        zip(("1/2 reset", "2/2 approve"), marks, strict=True)
    )


def test_a_deadline_is_told_in_seconds(session: SwapSigning, clock: ManualClock) -> None:
    assert session.left(clock.now()) is None
    session.review = review(clock.now() + timedelta(seconds=48))
    assert session.left(clock.now()) == 48
