"""One swap on chains while it is signed: its documents, its transaction, its confirmation."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.flows.dex.dex_ending import DexEnding
from swapdesk.flows.dex.dex_plan import SwapPlan
from swapdesk.flows.dex.signing_steps import flow_steps
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.signing.flow_step import FlowStep
from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.flows.transactions.outcome import Outcome


class SwapSigning(SigningSession):
    """``fresh``: its intent is not in the journal yet; an earlier run left it open otherwise."""

    NOUN = "swap"
    PROMISE = "quote"
    EXPIRED = "QUOTE_EXPIRED"
    DONE = "The swap is done by you. The venue acts next."
    SHOWS_ORDER = True

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
        super().__init__(
            intent.token_in,
            clock,
            changed,
            provider=(intent.provider, intent.provider_name),
            wallet=wallet,
            coin=coin,
            confirmations=confirmations,
        )
        self.intent = intent
        self.fresh = fresh
        self.plan = plan
        self._journal = journal

    @property
    def id(self) -> str:
        return self.intent.id

    @property
    def amount(self) -> Decimal:
        return self.intent.amount_in

    @property
    def against(self) -> str:
        """The token, with its chain where that is another one."""
        bought = self.intent.token_out
        other = bought.chain != self.intent.token_in.chain
        return f"{bought.symbol} on {bought.chain_name}" if other else bought.symbol

    @property
    def order_id(self) -> str | None:
        if self.outcome is not None and self.outcome.order_id is not None:
            return self.outcome.order_id
        return self._journal.swaps.order_of(self.id)

    @property
    def steps(self) -> tuple[FlowStep, ...]:
        """From the journal."""
        ended = self.outcome is not None and self.outcome.refused
        steps = self._journal.swaps.steps(self.id)
        allows = self.token.kind == "evm"
        return flow_steps(steps, self.plan, ended=ended, allows=allows)

    @property
    def doing(self) -> str:
        if self.transaction is not None:
            return self.following(self.transaction)
        steps = self._journal.swaps.steps(self.id)
        last = steps[-1] if steps else None
        if last is None or last.name == "permission" or last.state is StepState.ACKED:
            return "The desk asks the service what comes next."
        if last.name == "create":
            return "The service creates the order."
        if last.name == "confirm":
            return "The desk tells the service of the swap."
        return "The wallet reads the chain and looks at what is to be signed."

    @property
    def notice(self) -> str:
        return f"is signed and sent. Next: {self.intent.provider_name or 'the venue'} pays out."

    @property
    def brief(self) -> str | None:
        if self.outcome is not None and self.outcome.done:
            return "swapped"
        step = self._journal.swaps.last(self.id, "swap")
        if step is None or not step.told.get("hash"):
            return None
        if step.state is StepState.ACKED:
            return "with the venue"
        return "on its way" if step.state in (StepState.SENT, StepState.UNKNOWN) else None

    @property
    def whereabouts(self) -> str:
        return DexEnding(self.intent, self._journal).whereabouts()

    def finish(self, outcome: Outcome) -> None:
        self.fresh = False
        super().finish(outcome)
