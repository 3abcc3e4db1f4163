"""Swaps on chains while they are signed: new ones, and those an earlier run left open.

The line of steps follows from the journal, so that a swap that is taken on shows where it stands.
A swap whose payment is already signed needs no pass phrase.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from itertools import zip_longest

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.dex.dex_ending import AGAIN, DexEnding, goes_on
from swapdesk.flows.dex.dex_plan import RESET_FIRST, NoDexSwap, SwapPlan, journaled_plan
from swapdesk.flows.dex.dex_swap import DexSwapFlow
from swapdesk.flows.failure_messages import NOTHING_SENT, Failure
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.creates import acts_of, newest_part, open_swaps
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.signing.signing_session import (
    FlowStep,
    Mark,
    RunningSignings,
    SigningSession,
    is_shut,
    open_keys,
)
from swapdesk.flows.transactions import Outcome, refused, still_open
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.encoding.numbers import NumberError


def flow_steps(
    acts: Sequence[Operation],
    plan: SwapPlan | None = None,
    *,
    ended: bool = False,
    allows: bool = True,
) -> tuple[FlowStep, ...]:
    """The line of a swap: of its create and the parts of that. ``plan`` counts until one is in the
    journal; ``ended``: nothing more is done, so what is not done failed; ``allows`` as of a plan.
    """
    plan = journaled_plan(acts) or plan
    planned = plan.signatures if plan is not None else ()
    signed = _signed(acts)
    begun = {act.kind for act in acts if act.kind != "create" or act.sent_at is not None}
    behind = bool(begun & {"create", "swap", "confirm"})
    allowed = behind or "sign" in begun
    line = _allowance(acts, plan, allowed) if allows else []
    for at, (kind, one) in enumerate(zip_longest(planned, signed)):
        kind = kind or ""
        if one is not None:
            kind = one.result.get("kind") or kind
        done = behind or (one is not None and one.state is State.DONE)
        mark = Mark.DONE if done else Mark.AHEAD if one is None else Mark.NOW
        line.append(FlowStep(f"sign {at + 1} {kind}".rstrip(), mark))
    line.append(_payment(acts, plan, begun, allows))
    confirm = _last(acts, "confirm")
    told = Mark.AHEAD if confirm is None else Mark.NOW
    line.append(FlowStep("confirm", Mark.DONE if confirm and confirm.state is State.DONE else told))
    return tuple(_failed(line) if ended or _refused(acts) else line)


def _allowance(acts: Sequence[Operation], plan: SwapPlan | None, allowed: bool) -> list[FlowStep]:
    now = Mark.DONE if allowed else Mark.NOW
    if plan is None or plan.approvals < len(RESET_FIRST):
        return [FlowStep("allowance", now)]
    reset = _last(acts, "reset")
    done = allowed or (reset is not None and reset.state is State.DONE)
    first, second = RESET_FIRST
    return [
        FlowStep(first, Mark.DONE if done else Mark.NOW),
        FlowStep(second, now if done else Mark.AHEAD),
    ]


def _signed(acts: Sequence[Operation]) -> list[Operation]:
    """The newest of each signature, in the order they were begun; chains follow one another."""
    return list({act.body["name"]: act for act in acts if act.kind == "sign"}.values())


def _payment(
    acts: Sequence[Operation], plan: SwapPlan | None, begun: Collection[str], allows: bool
) -> FlowStep:
    swap = _last(acts, "swap")
    settles = swap is None and ("confirm" in begun or (plan is not None and plan.settles))
    name = "settle" if settles else "send"
    if swap is not None:
        return FlowStep(name, Mark.DONE if swap.state is State.DONE else Mark.NOW)
    if "confirm" in begun:
        return FlowStep(name, Mark.DONE)
    now = "create" in begun or not allows
    return FlowStep(name, Mark.NOW if now else Mark.AHEAD)


def _refused(acts: Sequence[Operation]) -> bool:
    return any(act.state is State.REFUSED for act in (*acts[:1], *acts[-1:]))


def _failed(line: list[FlowStep]) -> list[FlowStep]:
    """The first step that is not done is where it ended."""
    at = next((at for at, one in enumerate(line) if one.mark is not Mark.DONE), None)
    return [
        FlowStep(one.name, Mark.FAILED if place == at else one.mark)
        if place == at
        else FlowStep(one.name, Mark.AHEAD if one.mark is Mark.NOW else one.mark)
        for place, one in enumerate(line)
    ]


def _last(acts: Sequence[Operation], kind: str) -> Operation | None:
    return next((act for act in reversed(acts) if act.kind == kind), None)


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
        create = self._journal.ledger.get(self.id)
        return None if create is None else create.subject

    @property
    def steps(self) -> tuple[FlowStep, ...]:
        """From the journal."""
        ended = self.outcome is not None and self.outcome.refused
        allows = self.token.kind == "evm"
        return flow_steps(
            acts_of(self._journal.ledger, self.id), self.plan, ended=ended, allows=allows
        )

    @property
    def doing(self) -> str:
        if self.transaction is not None:
            return self.following(self.transaction)
        swap = acts_of(self._journal.ledger, self.id)
        if swap and swap[0].left:
            return "The service creates the order."
        if not swap[1:] or swap[-1].state is State.DONE:
            return "The desk asks the service what comes next."
        if swap[-1].kind == "confirm":
            return "The desk tells the service of the swap."
        return "The wallet reads the chain and looks at what is to be signed."

    @property
    def notice(self) -> str:
        return f"is signed and sent. {self.intent.provider_name or 'The venue'} pays out next."

    @property
    def brief(self) -> str | None:
        if self.outcome is not None and self.outcome.done:
            return "swapped"
        swap = newest_part(self._journal.ledger, self.id, "swap")
        if swap is None or swap.hash is None:
            return None
        if swap.state is State.DONE:
            return "with the venue"
        return "on its way" if swap.left else None

    @property
    def whereabouts(self) -> str:
        return DexEnding(self.intent, self._journal).whereabouts()

    def finish(self, outcome: Outcome) -> None:
        self.fresh = False
        super().finish(outcome)


class RunningSwaps(RunningSignings[SwapSigning]):
    """By the ids of their intents."""

    FAILURES = (WalletError, NoDexSwap, NumberError)

    @property
    def waiting(self) -> list[SwapSigning]:
        """Those on which nothing goes on without the trader, oldest first."""
        return [one for one in self.open if one.waits]

    def begin(
        self, intent: Intent, *, wallet: str = "", plan: SwapPlan | None = None
    ) -> SwapSigning:
        """The session of a swap that was just confirmed; :meth:`run` does the work."""
        return self._session(intent, fresh=True, wallet=wallet, plan=plan)

    def left_open(self) -> list[SwapSigning]:
        """Sessions for what the journal has open and nobody here works on. Raises
        JournalUnavailable."""
        found = open_swaps(self._desk.journal.ledger)
        return [self._session(one, fresh=False) for one in found if self.known(one.id) is None]

    def _session(
        self, intent: Intent, *, fresh: bool, wallet: str = "", plan: SwapPlan | None = None
    ) -> SwapSigning:
        link = self._desk.wallet.link(intent.token_in.chain)
        session = SwapSigning(
            intent,
            self._desk.journal,
            self._desk.clock,
            lambda: self._changed(intent.id),
            fresh=fresh,
            wallet=wallet,
            coin=self._coin(intent.token_in.chain),
            plan=plan,
            confirmations=link.confirmations if link is not None else 0,
        )
        return self._kept(session)

    async def _work(self, session: SwapSigning) -> Outcome | None:
        await self._name_account(session)
        if session.fresh or not self._desk.wallet.live:
            await self._open_keys(session)
        outcome = await self._once(session)
        while (
            outcome is not None
            and outcome.open
            and self._desk.wallet.live
            and await self._shut(session)
        ):
            await self._open_keys(session)
            outcome = await self._once(session)
        return outcome

    async def _once(self, session: SwapSigning) -> Outcome | None:
        desk, link = self._desk, self._desk.link
        flow = DexSwapFlow(
            link.api,
            link.exchange,
            desk.journal,
            desk.clock,
            await desk.wallet.client(),
            session.look,
            watch=session,
        )
        if not session.fresh:
            return await flow.take_on(session.intent)
        session.fresh = False
        return await flow.swap(session.intent, session.plan)

    def _failed(self, session: SwapSigning, error: Exception) -> Outcome:
        """The wallet could not be asked before the flow began, or it is no swap on chains."""
        if not isinstance(error, WalletError):
            failure = Failure(f"This swap cannot be signed here: {error}.", NOTHING_SENT, AGAIN)
            return refused("NOT_CONFIRMABLE", failure)
        told = failure_of_wallet(error)
        if session.fresh:
            return refused(told.code, told)
        said = goes_on(told.cause, "as it was left", told.next)
        return replace(still_open(told.code, said), order_id=session.order_id)

    async def _name_account(self, session: SwapSigning) -> None:
        terms = session.intent.dex
        if session.wallet or terms is None:
            return
        accounts = (await self._desk.wallet.accounts()).accounts
        found = next((one for one in accounts if one.address == terms.sender), None)
        session.wallet = found.name if found is not None else ""

    async def _shut(self, session: SwapSigning) -> bool:
        terms = session.intent.dex
        return terms is not None and await is_shut(self._desk.wallet, terms.sender)

    async def _open_keys(self, session: SwapSigning) -> None:
        if session.intent.dex is not None:
            await open_keys(self._desk.wallet, session.intent.dex.sender, session)
