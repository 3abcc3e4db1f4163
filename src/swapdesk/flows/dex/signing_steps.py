"""The steps of a swap on chains as one line: what is done, what goes on, what is ahead.

They follow from the journal, so that a swap that is taken on shows the step it stands at.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from swapdesk.flows.dex.dex_plan import RESET_FIRST, SwapPlan, journaled_plan
from swapdesk.flows.journal.dex_log import RESET, SwapStep
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.signing.flow_step import FlowStep, Mark

_OVER = frozenset({StepState.REFUSED, StepState.ABANDONED_BY_USER})


def flow_steps(
    steps: Sequence[SwapStep],
    plan: SwapPlan | None = None,
    *,
    ended: bool = False,
    allows: bool = True,
) -> tuple[FlowStep, ...]:
    """The line of a swap. ``plan`` counts until one is in the journal; ``ended``: nothing more is
    done, so what is not done failed; ``allows`` as of a plan."""
    plan = journaled_plan(steps) or plan
    planned = plan.signatures if plan is not None else ()
    signed = _signed(steps)
    begun = {one.name.partition(" ")[0] for one in steps}
    behind = bool(begun & {"create", "swap", "confirm"})
    allowed = behind or "sign" in begun
    line = _allowance(steps, plan, allowed) if allows else []
    for at, (kind, one) in enumerate(zip_longest(planned, signed)):
        kind = kind or ""
        if one is not None:
            kind = one.told.get("kind") or kind
        done = behind or (one is not None and one.state is StepState.ACKED)
        mark = Mark.DONE if done else Mark.AHEAD if one is None else Mark.NOW
        line.append(FlowStep(f"sign {at + 1} {kind}".rstrip(), mark))
    line.append(_payment(steps, plan, begun, allows))
    confirm = _last(steps, "confirm")
    told = Mark.AHEAD if confirm is None else Mark.NOW
    line.append(
        FlowStep("confirm", Mark.DONE if confirm and confirm.state is StepState.ACKED else told)
    )
    return tuple(_failed(line) if ended or _refused(steps) else line)


def _allowance(steps: Sequence[SwapStep], plan: SwapPlan | None, allowed: bool) -> list[FlowStep]:
    now = Mark.DONE if allowed else Mark.NOW
    if plan is None or plan.approvals < len(RESET_FIRST):
        return [FlowStep("allowance", now)]
    reset = _last(steps, RESET)
    done = allowed or (reset is not None and reset.state is StepState.ACKED)
    first, second = RESET_FIRST
    return [
        FlowStep(first, Mark.DONE if done else Mark.NOW),
        FlowStep(second, now if done else Mark.AHEAD),
    ]


def _signed(steps: Sequence[SwapStep]) -> list[SwapStep]:
    """The newest of each signature, in the order they were begun; chains follow one another."""
    return list({one.name: one for one in steps if one.name.startswith("sign ")}.values())


def _payment(
    steps: Sequence[SwapStep], plan: SwapPlan | None, begun: set[str], allows: bool
) -> FlowStep:
    swap = _last(steps, "swap")
    settles = swap is None and ("confirm" in begun or (plan is not None and plan.settles))
    name = "settle" if settles else "send"
    if swap is not None:
        return FlowStep(name, Mark.DONE if swap.state is StepState.ACKED else Mark.NOW)
    if "confirm" in begun:
        return FlowStep(name, Mark.DONE)
    now = "create" in begun or not allows
    return FlowStep(name, Mark.NOW if now else Mark.AHEAD)


def _refused(steps: Sequence[SwapStep]) -> bool:
    return bool(steps) and steps[-1].state in _OVER


def _failed(line: list[FlowStep]) -> list[FlowStep]:
    """The first step that is not done is where it ended."""
    at = next((at for at, one in enumerate(line) if one.mark is not Mark.DONE), None)
    return [
        FlowStep(one.name, Mark.FAILED if place == at else one.mark)
        if place == at
        else FlowStep(one.name, Mark.AHEAD if one.mark is Mark.NOW else one.mark)
        for place, one in enumerate(line)
    ]


def _last(steps: Sequence[SwapStep], name: str) -> SwapStep | None:
    return next((one for one in reversed(steps) if one.name == name), None)
