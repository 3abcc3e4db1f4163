"""Shows swaps on chains while they are signed: new swaps, and swaps that an earlier run left open.

The steps shown are derived from the journal, so a continued swap shows how far it is. If the swap's
payment is signed already, no pass phrase is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.flows.creation.creates import acts_of, newest_part, open_swaps
from swapdesk.flows.dex.dex_plan import RESET_FIRST, NoDexSwap, SwapPlan, journaled_plan
from swapdesk.flows.dex.dex_swap import AGAIN, DexSwapFlow, whereabouts
from swapdesk.flows.failure_messages import NOTHING_SENT, Failure
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.ledger import Operation
from swapdesk.flows.signing.signing_session import (
    FlowStep,
    RunningSignings,
    SigningKind,
    SigningSession,
    is_shut,
    open_keys,
)
from swapdesk.flows.transactions import Outcome, refused, still_open
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.encoding.numbers import NumberError

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


def flow_steps(
    acts: Sequence[Operation],
    plan: SwapPlan | None = None,
    *,
    ended: bool = False,
    allows: bool = True,
) -> tuple[FlowStep, ...]:
    """Returns the steps of a swap with their states. ``plan`` is used until the journal has a plan.
    If ``ended`` is True, the first unfinished step counts as failed. ``allows`` is False if no
    allowance is needed."""
    plan = journaled_plan(acts) or plan
    planned = plan.signatures if plan is not None else ()
    # The newest of each signature, in the order they were begun; chains follow one another.
    signed = list({act.body["name"]: act for act in acts if act.kind == "sign"}.values())
    begun = {act.kind for act in acts if act.kind != "create" or act.sent_at is not None}
    behind = bool(begun & {"create", "swap", "confirm"})
    allowed = behind or "sign" in begun
    line = _allowance(acts, plan, allowed) if allows else []
    for at, (kind, one) in enumerate(zip_longest(planned, signed)):
        kind = kind or ""
        if one is not None:
            kind = one.result.get("kind") or kind
        state = State.DONE if behind else _state(one)
        line.append(FlowStep(f"sign {at + 1} {kind}".rstrip(), state))
    line.append(_payment(acts, plan, begun, allows))
    confirm = _last(acts, "confirm")
    line.append(FlowStep("confirm", _state(confirm)))
    if ended or any(act.state is State.REFUSED for act in (*acts[:1], *acts[-1:])):
        line = _failed(line)
    return tuple(line)


def _allowance(acts: Sequence[Operation], plan: SwapPlan | None, allowed: bool) -> list[FlowStep]:
    now = State.DONE if allowed else State.SENT
    if plan is None or plan.approvals < len(RESET_FIRST):
        return [FlowStep("allowance", now)]
    reset = _last(acts, "reset")
    done = allowed or _state(reset) is State.DONE
    first, second = RESET_FIRST
    return [
        FlowStep(first, State.DONE if done else State.SENT),
        FlowStep(second, now if done else None),
    ]


def _state(act: Operation | None) -> State | None:
    if act is None:
        return None
    return State.DONE if act.state is State.DONE else State.SENT


def _payment(
    acts: Sequence[Operation], plan: SwapPlan | None, begun: Collection[str], allows: bool
) -> FlowStep:
    swap = _last(acts, "swap")
    settles = swap is None and ("confirm" in begun or (plan is not None and plan.settles))
    name = "settle" if settles else "send"
    if swap is not None:
        return FlowStep(name, _state(swap))
    if "confirm" in begun:
        return FlowStep(name, State.DONE)
    now = "create" in begun or not allows
    return FlowStep(name, State.SENT if now else None)


def _failed(line: list[FlowStep]) -> list[FlowStep]:
    at = next((at for at, step in enumerate(line) if step.state is not State.DONE), None)
    return [
        FlowStep(step.name, State.REFUSED)
        if place == at
        else FlowStep(step.name, step.state if step.state is State.DONE else None)
        for place, step in enumerate(line)
    ]


def _last(acts: Sequence[Operation], kind: str) -> Operation | None:
    return next((act for act in reversed(acts) if act.kind == kind), None)


class Swap(Struct, frozen=True):
    """What a swap's signing session is about. ``plan`` has the expected steps, None if unknown. It
    is used until the journal has a plan."""

    intent: Intent
    plan: SwapPlan | None = None


def swap_token(intent: Intent) -> str:
    """Returns the symbol of the token bought, with the chain's name unless both tokens share the
    chain."""
    bought = intent.token_out
    other = bought.chain != intent.token_in.chain
    return f"{bought.symbol} on {bought.chain_name}" if other else bought.symbol


def _order_id(session: SigningSession[Swap]) -> str | None:
    if session.outcome is not None and session.outcome.order_id is not None:
        return session.outcome.order_id
    create = session.journal.ledger.get(session.id)
    return None if create is None else create.subject


def _steps(session: SigningSession[Swap]) -> tuple[FlowStep, ...]:
    ended = session.outcome is not None and session.outcome.refused
    allows = session.token.kind == "evm"
    acts = acts_of(session.journal.ledger, session.id)
    return flow_steps(acts, session.about.plan, ended=ended, allows=allows)


def _doing(session: SigningSession[Swap]) -> str:
    acts = acts_of(session.journal.ledger, session.id)
    if acts and acts[0].left:
        return "The service creates the order."
    if not acts[1:] or acts[-1].state is State.DONE:
        return "The desk asks the service what comes next."
    if acts[-1].kind == "confirm":
        return "The desk tells the service of the swap."
    return "The wallet reads the chain and looks at what is to be signed."


def _brief(session: SigningSession[Swap]) -> str | None:
    if session.outcome is not None and session.outcome.done:
        return "swapped"
    swap = newest_part(session.journal.ledger, session.id, "swap")
    if swap is None or swap.hash is None:
        return None
    if swap.state is State.DONE:
        return "with the venue"
    return "on its way" if swap.left else None


async def _work(desk: Desk, session: SigningSession[Swap]) -> Outcome | None:
    try:
        return await _swapped(desk, session)
    except WalletError as error:
        told = failure_of_wallet(error)
        if session.asked:
            return refused(told.code, told)
        left = Failure(told.cause, "as it was left", told.next)
        return replace(still_open(told.code, left), order_id=_order_id(session))
    except (NoDexSwap, NumberError) as error:
        failure = Failure(f"This swap cannot be signed here: {error}.", NOTHING_SENT, AGAIN)
        return refused("NOT_CONFIRMABLE", failure)


async def _swapped(desk: Desk, session: SigningSession[Swap]) -> Outcome | None:
    """Runs a session's swap; None if another desk works on it. A continued live swap asks for the
    pass phrase only when needed."""
    wallet, terms = desk.wallet, session.about.intent.dex
    if terms is None:
        return await _once(desk, session)
    if not session.wallet:
        accounts = (await wallet.accounts()).accounts
        session.wallet = next(
            (account.name for account in accounts if account.address == terms.sender), ""
        )
    if session.asked or not wallet.live:
        await open_keys(wallet, terms.sender, session)
    outcome = await _once(desk, session)
    while (
        outcome is not None and outcome.open and wallet.live and await is_shut(wallet, terms.sender)
    ):
        await open_keys(wallet, terms.sender, session)
        outcome = await _once(desk, session)
    return outcome


async def _once(desk: Desk, session: SigningSession[Swap]) -> Outcome | None:
    swap, link = session.about, desk.link
    flow = DexSwapFlow(
        link.api,
        link.exchange,
        desk.journal,
        desk.clock,
        await desk.wallet.client(),
        session.look,
        watch=session,
    )
    if not session.asked:
        return await flow.take_on(swap.intent)
    # From here on it stands in the journal, as what an earlier run left open does.
    session.asked = False
    return await flow.swap(swap.intent, swap.plan)


SWAP = SigningKind[Swap](
    noun="swap",
    promise="quote",
    expired="QUOTE_EXPIRED",
    done="The swap is done by you. The venue acts next.",
    work=_work,
    pays=lambda session: (session.about.intent.amount_in, swap_token(session.about.intent)),
    steps=_steps,
    doing=_doing,
    whereabouts=lambda session: whereabouts(session.about.intent, session.journal.ledger),
    brief=_brief,
    order_id=_order_id,
    shows_order=True,
)


def begin_swap(
    running: RunningSignings,
    intent: Intent,
    *,
    wallet: str = "",
    plan: SwapPlan | None = None,
    asked: bool = True,
) -> SigningSession[Swap]:
    """Begins the session of a swap. ``asked`` is False if an earlier run left the swap open.
    ``wallet`` names the paying account; it is empty if unknown."""
    return running.begin(
        SWAP,
        intent.id,
        Swap(intent, plan),
        intent.token_in,
        provider=(intent.provider, intent.provider_name),
        wallet=wallet,
        asked=asked,
        notice=f"is signed and sent. {intent.provider_name or 'The venue'} pays out next.",
    )


def swaps_left_open(running: RunningSignings) -> list[SigningSession[Swap]]:
    """Begins and returns a session for each open swap that this process is not working on yet.
    Raises JournalUnavailable."""
    intents = open_swaps(running.desk.journal.ledger)
    return [
        begin_swap(running, intent, asked=False)
        for intent in intents
        if running.get(intent.id) is None
    ]
