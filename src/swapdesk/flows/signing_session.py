"""One swap on chains while it is signed: what is shown, and what the trader says to it.

The flow asks through :meth:`SigningSession.look` and goes on with the answer; who shows the
session may come and go meanwhile. Nothing here signs: the answer names the review it is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from enum import Enum

from swapdesk.clock import Clock
from swapdesk.flows.dex_outcome import DexOutcome, SwapEnded, SwapOpen, Swapped
from swapdesk.flows.dex_payment import Agreed, NotAgreed
from swapdesk.flows.dex_plan import ORDER, PERMIT, SwapPlan, is_permit
from swapdesk.flows.dex_watch import Watch
from swapdesk.flows.intent import Intent
from swapdesk.flows.journal import Journal
from swapdesk.flows.journal_records import StepState
from swapdesk.flows.signing_steps import FlowStep, flow_steps
from swapdesk.secret import Secret
from swapdesk.wallet.payload import Payload, TypedDataPayload
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import FINAL, SignedTransaction

EXPIRED = "The quote ended before you signed."


class Stage(Enum):
    """What a session waits for."""

    WORKING = "working"
    """The desk, the service or the chain."""
    LOCKED = "locked"
    """The pass phrase of the wallet."""
    REVIEW = "review"
    """The trader: a review is open."""
    STOPPED = "stopped"
    """Nothing: it is open and can be gone on with."""
    ENDED = "ended"
    """Nothing: it is over."""


class SigningSession(Watch):
    """``changed`` is called after everything that is to be shown. ``fresh``: its intent is not
    in the journal yet; an earlier run left it open otherwise.

    ``wallet`` names the account and ``coin`` the coin of its chain; ``confirmations`` is how many
    count there."""

    def __init__(
        self,
        intent: Intent,
        journal: Journal,
        clock: Clock,
        changed: Callable[[], None],
        *,
        fresh: bool,
        wallet: str = "",
        coin: str = "",
        plan: SwapPlan | None = None,
        confirmations: int = 0,
    ) -> None:
        self.intent = intent
        self.fresh = fresh
        self.wallet = wallet
        self.coin = coin
        self.plan = plan
        self.confirmations = confirmations
        self.review: Review | None = None
        """What waits for an answer."""
        self.refused: Review | None = None
        """What the wallet refused to sign, once it did."""
        self.payload: Payload | None = None
        """What the newest review is about."""
        self.transaction: SignedTransaction | None = None
        """The newest one that was sent and is not final."""
        self.outcome: DexOutcome | None = None
        self.said = ""
        """Why the pass phrase is asked for again."""
        self._journal = journal
        self._clock = clock
        self._changed = changed
        self._kinds: dict[int, str] = {}
        self._answer: asyncio.Future[Agreed | None] | None = None
        self._phrase: asyncio.Future[Secret] | None = None

    @property
    def id(self) -> str:
        return self.intent.id

    @property
    def stage(self) -> Stage:
        if self.outcome is not None:
            return Stage.STOPPED if isinstance(self.outcome, SwapOpen) else Stage.ENDED
        if self._phrase is not None:
            return Stage.LOCKED
        return Stage.REVIEW if self.review is not None else Stage.WORKING

    @property
    def waits(self) -> bool:
        """Whether nothing goes on before the trader does something."""
        return self.stage in (Stage.REVIEW, Stage.LOCKED)

    @property
    def over(self) -> bool:
        return self.stage is Stage.ENDED

    @property
    def steps(self) -> tuple[FlowStep, ...]:
        """The line of steps, from the journal."""
        ended = isinstance(self.outcome, SwapEnded)
        steps = self._journal.swaps.steps(self.id)
        return flow_steps(steps, self.plan, self._kinds, ended=ended)

    @property
    def place(self) -> tuple[int, int] | None:
        """Which signature of how many the open review is; None for a transaction."""
        payload = self.payload
        if not isinstance(payload, TypedDataPayload):
            return None
        return payload.step.step + 1, payload.step.total

    @property
    def doing(self) -> str:
        """What goes on while nobody is asked anything."""
        sent = self.transaction
        if sent is not None:
            return self._following(sent)
        steps = self._journal.swaps.steps(self.id)
        last = steps[-1] if steps else None
        if last is None or last.name == "permission" or last.state is StepState.ACKED:
            return "The desk asks the service what comes next."
        if last.name == "create":
            return "The service creates the order."
        if last.name == "confirm":
            return "The desk tells the service of the swap."
        return "The wallet reads the chain and looks at what is to be signed."

    def _following(self, sent: SignedTransaction) -> str:
        said = f"{sent.confirmations} of {self.confirmations} confirmations"
        if not self.confirmations or sent.confirmations > self.confirmations:
            said = f"{sent.confirmations} confirmations"
        where = self.intent.token_in.chain_name
        problem = f" The node says: {sent.problem}." if sent.problem else ""
        if not sent.confirmations:
            return f"Sent. {where} has not executed it yet.{problem}"
        return f"Executed on {where}, {said}.{problem}"

    # What the flow says

    def started(self) -> None:
        """A run over the swap begins, the first one or one more."""
        self.outcome, self.said = None, ""
        self._changed()

    async def look(self, review: Review) -> Agreed | None:
        """Wait for the trader, as long as the review is worth something."""
        answer: asyncio.Future[Agreed | None] = asyncio.get_running_loop().create_future()
        self.review, self._answer, self.transaction = review, answer, None
        self._changed()
        left = (review.valid_until - self._clock.now()).total_seconds()
        over = asyncio.create_task(self._clock.sleep(max(0.0, left)))
        over.add_done_callback(lambda _: answer.cancel())
        try:
            await asyncio.wait({answer})
            if answer.cancelled():
                raise NotAgreed(EXPIRED, "QUOTE_EXPIRED")
            return answer.result()
        finally:
            over.cancel()
            self.review = self._answer = None
            self._changed()

    def reviewed(self, payload: Payload, review: Review) -> None:
        self.payload, self.transaction = payload, None
        if isinstance(payload, TypedDataPayload):
            permit = is_permit(payload.document.get("primaryType"))
            self._kinds[payload.step.step] = PERMIT if permit else ORDER
        if review.refused:
            self.refused = review
        self._changed()

    def seen(self, signed: SignedTransaction) -> None:
        self.transaction = None if signed.state in FINAL else signed
        self._changed()

    def ended(self, outcome: DexOutcome) -> None:
        """The run came to this."""
        self.outcome, self.transaction, self.fresh = outcome, None, False
        self._changed()

    # What the trader says

    def agree(self, review_id: str, phrase: str | None = None) -> bool:
        """Yes to this review and no other; False where it is not open any more."""
        return self._say(review_id, Agreed(phrase))

    def refuse(self, review_id: str) -> bool:
        """No to this review: the swap ends, nothing of it is signed."""
        return self._say(review_id, None)

    def _say(self, review_id: str, answer: Agreed | None) -> bool:
        if self.review is None or self.review.id != review_id:
            return False
        if self._answer is None or self._answer.done():
            return False
        self._answer.set_result(answer)
        return True

    # The pass phrase of a live wallet

    async def passphrase(self, said: str = "") -> Secret:
        """Wait until it was typed; ``said`` is why it is asked for again."""
        self.said = said
        self._phrase = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            return await self._phrase
        finally:
            self._phrase = None
            self._changed()

    def unlock(self, phrase: Secret) -> bool:
        """Hand it over; False where nobody waits for it."""
        if self._phrase is None or self._phrase.done():
            return False
        self._phrase.set_result(phrase)
        return True

    def left(self, now: datetime) -> float | None:
        """Seconds in which the open review can be answered; None without one."""
        if self.review is None:
            return None
        return max(0.0, (self.review.valid_until - now).total_seconds())

    @property
    def order_id(self) -> str | None:
        """The order, once there is one."""
        if isinstance(self.outcome, Swapped):
            return self.outcome.order.service_id
        if self.outcome is not None and self.outcome.order_id is not None:
            return self.outcome.order_id
        return self._journal.swaps.order_of(self.id)
