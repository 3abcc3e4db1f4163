"""Signing: a review to read, one that was refused, what goes on, and the pass phrase."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from flows.orders import NOW
from flows.signing import TRANSACTION, document, refused, review, swap_intent
from swapdesk.acts import State
from swapdesk.flows.creation.creates import begin_create
from swapdesk.flows.dex.dex_plan import SwapPlan
from swapdesk.flows.dex.dex_swap import AGAIN, GOES_ON
from swapdesk.flows.dex.swap_signing import Swap, begin_swap
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.flows.transactions import NotAgreed, Outcome
from swapdesk.wallet.answers import Match, Review, SignedTransaction
from swapdesk.wallet.promise import Purpose
from tui.desk_run import DeskRun
from tui.picture import NORMAL
from tui.scenes import scene

MONEY = "in your wallet; nothing was swapped"


async def opened(run: DeskRun) -> SigningSession[Swap]:
    """A swap whose permit is signed, in the journal as it would be, on the screen."""
    await run.ready()
    desk: Any = run.app.session.desk
    app = run.app
    # Nothing of another scene goes on.
    app.signing._begun = None
    plan = SwapPlan(0, ("permit", "order"))
    signing = begin_swap(app.signing.running, swap_intent(), wallet="trading", plan=plan)
    signing.confirmations = 2
    ledger = desk.journal.ledger
    if ledger.get(signing.id) is not None:
        return signing
    begin_create(ledger, signing.about.intent, "")
    for place, state in enumerate((State.DONE, State.PREPARED)):
        ledger.begin("sign", {"name": f"sign order {place}"}, parent=signing.id, state=state)
    return signing


async def asks(run: DeskRun, signing: SigningSession[Swap], asked: Review) -> None:
    """The flow at its question."""
    signing.reviewed(document(), asked)
    await asked_in_a_worker(run, signing, asked)


async def asked_in_a_worker(run: DeskRun, signing: Any, asked: Review) -> None:
    """As the flows ask: an answer that does not come in time ends the work."""

    async def work() -> None:
        with contextlib.suppress(NotAgreed):
            await signing.look(asked)

    run.app.run_worker(work(), group="swap", exit_on_error=False)
    await run.settle(lambda: signing.review is not None, "the question")


@scene("sign", apart="signing", decides=True)
async def sign(run: DeskRun) -> None:
    signing = await opened(run)
    await asks(run, signing, review())
    run.app.signing.open(signing)
    await run.see("sign or refuse in")


@scene("sign-transaction", apart="signing", decides=True)
async def transaction(run: DeskRun) -> None:
    signing = await opened(run)
    await asks(run, signing, review(title="A swap: sell a token for another"))
    signing.payload = TRANSACTION
    run.app.signing.open(signing)
    await run.see("sign or refuse in")


@scene("sign-phrase", apart="signing", decides=True)
async def phrase(run: DeskRun) -> None:
    """A field that weighs more than a label stands in no quote."""
    signing = await opened(run)
    lines = tuple(
        one
        if one.match is Match.EQUAL
        else type(one)(one.field, one.signed, one.promised, one.match, True)
        for one in review().lines
    )
    await asks(run, signing, review(lines=lines, phrase="SIGN WHAT IS NOT IN THE QUOTE"))
    run.app.signing.open(signing)
    await run.see("sign or refuse in")
    await run.press("j", "j")
    await run.press_still("s", sees="Not all of this is in the quote")


@scene("sign-refused", apart="signing", decides=True, also=(NORMAL,))
async def refusal(run: DeskRun) -> None:
    signing = await opened(run)
    signing.reviewed(document(), refused())
    said = "Your wallet refuses to sign this: It pays another address than yours."
    signing.finish(Outcome(State.REFUSED, "RECIPIENT_DIFFERS", Failure(said, MONEY, AGAIN)))
    run.app.signing.open(signing)
    await run.see("Rule RECIPIENT_DIFFERS") if run.app.size.height > 30 else await run.see(
        said[:30]
    )


@scene("sign-sent", apart="signing")
async def sent(run: DeskRun) -> None:
    signing = await opened(run)
    signing.seen(
        SignedTransaction(
            "0x" + "12" * 32, signing.id, Purpose.SWAP, "ethereum", "0x70",
            State.SENT, 1, None, 1, None, NOW, code="MINED",
        )
    )  # fmt: skip
    run.app.signing.open(signing)
    await run.see("1 of 2 confirmations")


@scene("sign-waiting", apart="signing")
async def waiting(run: DeskRun) -> None:
    """No block has it: it may get a higher fee, or be taken back."""
    signing = await opened(run)
    signing.seen(
        SignedTransaction(
            "0x" + "12" * 32, signing.id, Purpose.SWAP, "ethereum", "0x70",
            State.SENT, 1, None, 0, None, NOW,
        )
    )  # fmt: skip
    run.app.signing.open(signing)
    await run.see("+ pay more gas")


@scene("sign-stopped", apart="signing")
async def stopped(run: DeskRun) -> None:
    signing = await opened(run)
    said = Failure("The wallet agent was killed.", MONEY, GOES_ON)
    signing.finish(Outcome(State.UNKNOWN, "WALLET", said))
    run.app.signing.open(signing)
    await run.see("r go on")


@scene("sign-locked", apart="signing")
async def locked(run: DeskRun) -> None:
    signing = await opened(run)
    run.app.run_worker(signing.passphrase(), group="swap", exit_on_error=False)
    await run.settle(lambda: signing.waits, "the question")
    run.app.signing.open(signing)
    await run.see("pass phrase")
    await run.type("open sesame")


@scene("sign-raw", after=sign)
async def raw(run: DeskRun) -> None:
    await run.press("J", sees="sellAmount")


@scene("home-signing", apart="signing")
async def home(run: DeskRun) -> None:
    signing = await opened(run)
    await asks(run, signing, review())
    await run.see("waits for your signature")
    await asyncio.sleep(0)
