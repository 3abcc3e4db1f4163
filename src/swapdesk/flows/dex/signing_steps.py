"""The steps of a swap on chains as one line: what is done, what goes on, what is ahead.

They follow from the journal, so that a swap that is taken on shows the step it stands at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swapdesk.flows.dex.dex_plan import SwapPlan
from swapdesk.flows.journal.dex_log import SwapStep
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.signing.flow_step import FlowStep, Mark

_OVER = frozenset({StepState.REFUSED, StepState.ABANDONED_BY_USER})


def flow_steps(
    steps: Sequence[SwapStep],
    plan: SwapPlan | None,
    kinds: Mapping[int, str],
    *,
    ended: bool = False,
    allows: bool = True,
) -> tuple[FlowStep, ...]:
    """The line of a swap. ``kinds`` are the documents that were reviewed, by their step from 0;
    ``ended``: nothing more is done, so what is not done failed; ``allows`` as of a plan."""
    planned = plan.signatures if plan is not None else ()
    signed = _signed(steps)
    count = max([len(planned), len(kinds) and max(kinds) + 1, len(signed) and max(signed) + 1])
    begun = {one.name.partition(" ")[0] for one in steps}
    behind = bool(begun & {"create", "swap", "confirm"})
    allowed = behind or "sign" in begun
    line = [FlowStep("allowance", Mark.DONE if allowed else Mark.NOW)] if allows else []
    for at in range(count):
        kind = kinds.get(at) or (planned[at] if at < len(planned) else "")
        state = signed.get(at)
        done = behind or state is StepState.ACKED
        mark = Mark.DONE if done else Mark.AHEAD if state is None else Mark.NOW
        line.append(FlowStep(f"sign {at + 1} {kind}".rstrip(), mark))
    line.append(_payment(steps, plan, begun, allows))
    confirm = _last(steps, "confirm")
    told = Mark.AHEAD if confirm is None else Mark.NOW
    line.append(
        FlowStep("confirm", Mark.DONE if confirm and confirm.state is StepState.ACKED else told)
    )
    return tuple(_failed(line) if ended or _refused(steps) else line)


def _signed(steps: Sequence[SwapStep]) -> dict[int, StepState]:
    """The newest state of each signature by its place; chains follow one another."""
    found: dict[str, StepState] = {}
    for one in steps:
        if one.name.startswith("sign "):
            found[one.name] = one.state
    return dict(enumerate(found.values()))


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
