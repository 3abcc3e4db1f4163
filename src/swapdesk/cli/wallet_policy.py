"""``wallet policy``: what the wallet may sign at most, shown and set."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError, Exit, bad_input
from swapdesk.cli.output import Output
from swapdesk.cli.secret_input import read_passphrase
from swapdesk.cli.session import CommandSession
from swapdesk.flows.failure_messages import POLICY_ANEW
from swapdesk.flows.notation import IsoTime, iso
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.policy_change import (
    NO_POLICY,
    PolicyChange,
    PolicyProblem,
    named_token,
    policy_facts,
    proposed_policy,
)
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.spending import (
    LimitUse,
    PolicyStatus,
    SpendingPolicy,
    SpendWindow,
    plain_amount,
)


class PolicyFacts(Struct, frozen=True):
    """A list that is None allows all; ``until`` None has no end. ``callPayees`` None: of who is
    paid for calls only a change is asked about."""

    MERGED: ClassVar = "policy"

    limits: tuple[LimitUse, ...]
    until: IsoTime | None
    policy: SpendingPolicy


class PolicyDocument(Struct, frozen=True):
    """``policy`` None: everything that is confirmed is signed. ``problem``: the file of the policy
    is not what was set, and nothing is signed."""

    policy: PolicyFacts | None
    problem: str | None


async def show_policy(call: CliContext, wallet: LocalWallet) -> int:
    return _told(call.output, await (await wallet.client()).policy())


async def set_policy(
    session: CommandSession,
    per_call: tuple[str, ...],
    per_payment: tuple[str, ...],
    per_hour: tuple[str, ...],
    per_day: tuple[str, ...],
    **rules: Any,
) -> int:
    """Set limits and the other ``rules`` of a :class:`PolicyChange`. Exit 2 without any."""
    limits = {
        SpendWindow.CALL: per_call,
        SpendWindow.PAYMENT: per_payment,
        SpendWindow.HOUR: per_hour,
        SpendWindow.DAY: per_day,
    }
    change, wallet = PolicyChange(limits, **rules), session.desk.wallet
    if change.says_nothing:
        raise bad_input("NOTHING_GIVEN", "Give at least one rule to set, or --anew.")
    try:
        policy = await proposed_policy(wallet, change)
    except PolicyProblem as problem:
        raise _refused(problem) from None
    try:
        given = session.call.passphrase_fd is not None
        status = await wallet.set_policy(policy, read_passphrase(session.call) if given else None)
    except Refused as refused:
        if refused.code is not RefusalCode.PASSPHRASE_NEEDED:
            raise
        status = await wallet.set_policy(policy, read_passphrase(session.call))
    return _told(session.call.output, status)


_ENDS = {"POLICY_CHANGED": Exit.OWN_REFUSAL, "TOKEN_NOT_FOUND": Exit.NOT_FOUND}


def _refused(problem: PolicyProblem) -> CommandError:
    if (end := _ENDS.get(problem.code)) is not None:
        return CommandError(end, problem.code, str(problem), next=problem.next)
    return bad_input(problem.code, str(problem), field=problem.field)


# What is told


def _told(output: Output, status: PolicyStatus) -> int:
    policy = status.policy
    if output.json:
        shown = None
        if policy is not None:
            until = None if policy.until is None else iso(policy.until)
            shown = PolicyFacts(status.uses, until, policy)
        output.document(PolicyDocument(shown, status.problem))
    elif policy is not None and policy != SpendingPolicy():
        rows = [
            (f"per {one.limit.window.value}", plain_amount(one.limit.most),
             "USD" if one.limit.token is None else named_token(one.limit.token),
             "?" if one.used is None else plain_amount(one.used), plain_amount(one.left))
            for one in status.uses
        ]  # fmt: skip
        if rows:
            output.table(("limit", "most", "of", "used", "left"), rows, numbers=(1, 3, 4))
        output.facts(policy_facts(policy))
    elif status.problem is None:
        output.say(NO_POLICY)
    if status.problem is None:
        return Exit.DONE
    output.talk(
        f"{status.problem[:1].upper()}{status.problem[1:]}.",
        f"Money stays where it is. Next {POLICY_ANEW}.",
    )
    return Exit.OWN_REFUSAL
