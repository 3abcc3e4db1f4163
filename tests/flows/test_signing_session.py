"""What is shown of a swap while it is signed, and what becomes of what the trader says."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from msgspec.structs import asdict

from flows.orders import NOW
from flows.signing import TRANSACTION, document, refused, review, steps_of, swap_intent
from swapdesk.acts import State
from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import Clock, ManualClock
from swapdesk.flows.creation.creates import begin_create
from swapdesk.flows.dex.dex_plan import AT_ONCE, SwapPlan
from swapdesk.flows.dex.swap_signing import SWAP, Swap, flow_steps
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.signing.signing_session import FlowStep, SigningSession, Stage
from swapdesk.flows.transactions import Agreed, NotAgreed, Outcome
from swapdesk.secret import Secret
from swapdesk.wallet.answers import SignedTransaction, TransactionWord
from swapdesk.wallet.promise import Purpose
from wallet.words import standing

SwapSession = SigningSession[Swap]
PLAN = SwapPlan(0, ("permit", "order"))
FAILURE = Failure("It broke.", "in your wallet", "you: ask for new quotes")


def opened(
    journal: Journal, clock: Clock, plan: SwapPlan | None = PLAN, *, asked: bool = True
) -> SwapSession:
    intent = swap_intent()
    return SigningSession(
        SWAP, intent.id, Swap(intent, plan), intent.token_in, journal, clock, lambda: None,
        wallet="trading", confirmations=2, asked=asked,
    )  # fmt: skip


@pytest.fixture
def session(journal: Journal, clock: ManualClock) -> SwapSession:
    return opened(journal, clock)


async def asked(session: SwapSession) -> asyncio.Task[Agreed | None]:
    """The flow at its question."""
    task = asyncio.create_task(session.look(review()))
    for _ in range(3):
        await asyncio.sleep(0)
    assert session.review is not None
    return task


async def test_yes_counts_for_the_review_that_is_open(session: SwapSession) -> None:
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
    task = await asked(session)
    assert session.refuse("r1")
    assert await task is None


async def test_a_clock_that_is_moved_over_its_end_ends_the_question(
    journal: Journal, clock: ManualClock
) -> None:
    """The sandbox's time jumps; the desk hears of it with the next answer of the service."""
    server = ServerClock(clock)
    session = opened(journal, server)
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


async def test_who_stops_asking_is_asked_no_more(session: SwapSession) -> None:
    task = await asked(session)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.review is None
    assert session.stage is Stage.WORKING


async def test_a_pass_phrase_is_handed_over_once_and_kept_nowhere(session: SwapSession) -> None:
    task = asyncio.create_task(session.passphrase("No key opened."))
    await asyncio.sleep(0)
    assert session.stage is Stage.LOCKED
    assert session.waits
    assert session.said == "No key opened."
    assert session.unlock(Secret("open sesame"))
    assert (await task).reveal() == "open sesame"
    assert not session.unlock(Secret("again"))
    assert "sesame" not in repr(vars(session))


FIRST = ("sign order 0", State.DONE, "permit")
SECOND = ("sign order 1", State.DONE, "")
CREATE = ("create", State.SENT, "")


@pytest.mark.parametrize("taken_on", [False, True])
@pytest.mark.parametrize(
    ("plan", "steps", "line"),
    [
        (PLAN, (), "~ allowance  o sign 1 permit  o sign 2 order  o settle  o confirm"),
        (
            PLAN,
            (("sign order 0", State.SENT, "permit"),),
            "+ allowance  ~ sign 1 permit  o sign 2 order  o settle  o confirm",
        ),
        (
            PLAN,
            (FIRST, ("sign order 1", State.PREPARED, "")),
            "+ allowance  + sign 1 permit  ~ sign 2 order  o settle  o confirm",
        ),
        (
            PLAN,
            (FIRST, SECOND, CREATE),
            "+ allowance  + sign 1 permit  + sign 2 order  ~ settle  o confirm",
        ),
        (
            PLAN,
            (FIRST, SECOND, CREATE, ("confirm", State.PREPARED, "")),
            "+ allowance  + sign 1 permit  + sign 2 order  + settle  ~ confirm",
        ),
        (
            PLAN,
            (FIRST, SECOND, CREATE, ("confirm", State.DONE, "")),
            "+ allowance  + sign 1 permit  + sign 2 order  + settle  + confirm",
        ),
        (
            PLAN,
            (("approve", State.REFUSED, ""),),
            "x allowance  o sign 1 permit  o sign 2 order  o settle  o confirm",
        ),
        # Planned without its kind, it has it once it is asked for.
        (
            SwapPlan(0, ("permit", "", "order")),
            (FIRST, ("sign order 1", State.DONE, "permit")),
            "+ allowance  + sign 1 permit  + sign 2 permit  o sign 3 order  o settle  o confirm",
        ),
        (SwapPlan(2), (), "~ 1/2 reset  o 2/2 approve  o send  o confirm"),
        (
            SwapPlan(2),
            (("reset", State.SENT, ""),),
            "~ 1/2 reset  o 2/2 approve  o send  o confirm",
        ),
        (
            SwapPlan(2),
            (("reset", State.DONE, ""),),
            "+ 1/2 reset  ~ 2/2 approve  o send  o confirm",
        ),
    ],
)
def test_the_line_of_steps_follows_the_journal(
    journal: Journal,
    clock: ManualClock,
    taken_on: bool,
    plan: SwapPlan,
    steps: tuple[tuple[str, State, str], ...],
    line: str,
) -> None:
    """The same where it is taken on after a kill, by the plan that stands in the journal."""
    session = opened(journal, clock, None if taken_on else plan, asked=not taken_on)
    ledger = journal.ledger
    begin_create(ledger, session.about.intent, "", asdict(plan) if taken_on else None)
    for name, state, kind in steps:
        part: Any = name.partition(" ")[0]
        if part == "create":
            ledger.move(session.id, state)
        else:
            ledger.begin(part, {"name": name}, parent=session.id, state=state, kind=kind)
    assert steps_of(session) == line


def test_without_a_plan_the_steps_are_those_that_were_seen() -> None:
    assert flow_steps([]) == (
        FlowStep("allowance", State.SENT),
        FlowStep("send"),
        FlowStep("confirm"),
    )


def test_on_solana_nothing_is_allowed_before() -> None:
    assert flow_steps([], AT_ONCE, allows=False) == (
        FlowStep("send", State.SENT),
        FlowStep("confirm"),
    )
    assert AT_ONCE.words == ("send", "confirm")


def test_what_is_reviewed_names_its_place(session: SwapSession) -> None:
    session.reviewed(document(0, 2, "Permit"), review())
    assert session.place == (1, 2)
    session.reviewed(document(1, 2), review())
    assert session.place == (2, 2)
    assert session.refused is None
    session.reviewed(TRANSACTION, refused())
    assert session.place is None
    assert session.refused is not None


def sent(word: TransactionWord, confirmations: int = 0) -> SignedTransaction:
    state, code = standing(word)
    return SignedTransaction(
        "0x12", "i", Purpose.SWAP, "ethereum", "0x70", state, 1, None, confirmations, None, NOW,
        code=code,
    )  # fmt: skip


def test_what_goes_on_is_told(session: SwapSession) -> None:
    assert session.doing == "The desk asks the service what comes next."
    session.seen(sent("sent"))
    assert session.doing == "Sent. Ethereum has not executed it yet."
    session.seen(sent("mined", 1))
    assert session.doing == "Executed on Ethereum, 1 of 2 confirmations."
    session.seen(sent("succeeded", 2))
    assert session.transaction is None


def test_what_stopped_can_be_gone_on_with(session: SwapSession) -> None:
    session.finish(Outcome(State.REFUSED, "SPENDER_UNKNOWN", FAILURE))
    assert session.over
    session.finish(Outcome(State.UNKNOWN, "WALLET", FAILURE))
    assert session.stage is Stage.STOPPED
    assert not session.over
    session.started()
    assert session.stage is Stage.WORKING


def test_the_plan_in_words() -> None:
    assert PLAN.words == ("allowance ok", "sign 1/2 permit", "sign 2/2 order", "settle", "confirm")
    assert SwapPlan(1).words == ("approve", "send", "confirm")
    assert SwapPlan(2).words == ("1/2 reset", "2/2 approve", "send", "confirm")
    assert SwapPlan(0, ("permit",)).words == ("allowance ok", "sign 1/1 permit", "send", "confirm")


def test_a_deadline_is_told_in_seconds(session: SwapSession, clock: ManualClock) -> None:
    assert session.left(clock.now()) is None
    session.review = review(clock.now() + timedelta(seconds=48))
    assert session.left(clock.now()) == 48
