"""Every code that a command ends with: what it means, whether to try again, where the money is,
who acts next, and the exit code.

A command may say more of the case at hand; the code is what a program branches on. Codes of the
service, of calls and of the wallet come from the tables of those, all others from ``OWN_ROWS``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from swapdesk.cli.command_error import MEANINGS, OWN_ROWS, REVIEW, UNPAID, Exit
from swapdesk.cli.output import Form, Output


class Retry(StrEnum):
    """Whether the same command helps when it is given again."""

    YES = "yes"
    """Nothing was done, or what was done is not done twice."""
    LATER = "later"
    """Once a window of time, a transaction or another desk is over."""
    CORRECTED = "corrected"
    """After ``next`` was done; the same again ends the same way."""
    NO = "no"
    """Look first: something may have happened, or the command did its work."""


class ErrorCodeFacts(Struct, frozen=True):
    """``exits`` are exit codes; several where the same thing is found at several places. ``status``
    is that of the service's answer."""

    code: str
    means: str
    retry: Retry
    money: str
    next: str
    exits: tuple[int, ...]
    status: int | None = None


class ExitFacts(Struct, frozen=True):
    """An exit code."""

    exit: int
    means: str


class ErrorsDocument(Struct, frozen=True):
    """Every code, and every exit code."""

    codes: tuple[ErrorCodeFacts, ...]
    exits: tuple[ExitFacts, ...]


RETRY_OF: dict[Exit, Retry] = {
    Exit.DEFECT: Retry.NO,
    Exit.BAD_INPUT: Retry.CORRECTED,
    Exit.THRESHOLD: Retry.YES,
    Exit.REFUSED: Retry.CORRECTED,
    Exit.NOT_FOUND: Retry.CORRECTED,
    Exit.RATE_LIMITED: Retry.LATER,
    Exit.UNREACHABLE: Retry.YES,
    Exit.UNKNOWN: Retry.NO,
    Exit.OWN_REFUSAL: Retry.CORRECTED,
    Exit.ENDED_OTHERWISE: Retry.NO,
    Exit.NOT_WRITTEN: Retry.NO,
    Exit.INTERRUPTED: Retry.YES,
}
"""Where a code does not say otherwise."""

_RETRY: dict[str, Retry] = {
    **dict.fromkeys(
        ("NOT_REPEATED", "ON_ITS_WAY", "NOT_FINAL", "NOT_SENT", "NOT_SEEN_YET", "STILL_WAITING",
         "UNDECIDED", "OWNED", "NOT_YET", "UNRESOLVED", "TOKEN_DISABLED"),
        Retry.LATER,
    ),
    **dict.fromkeys(
        ("ALREADY_ASKED", "ORDER_DIFFERS", "PAID_BEFORE", "SECRET_PASTED", "CREATED_BEFORE",
         "SENT_BEFORE", "ALREADY_SUBMITTED", "NOT_FAILED"),
        Retry.NO,
    ),
    **dict.fromkeys(
        ("AGENT_GONE", "BLOCKHASH_OLD", "DEMO_FAILED", "NOT_REVOKED", "NOT_WITHDRAWN",
         "NOT_SUBMITTED", "STALE_REVIEW", "WALLET"),
        Retry.YES,
    ),
    "TIMEOUT": Retry.YES,
    "CLOCK_SKEW": Retry.CORRECTED,
    "NEVER_CAME": Retry.CORRECTED,
}  # fmt: skip
"""Codes that their exit says too little of."""


def error_codes() -> tuple[ErrorCodeFacts, ...]:
    """Every code once, in the sequence of the alphabet. What the desk and the service both call
    by one name has the desk's words and the exits of both."""
    found: dict[str, ErrorCodeFacts] = {}
    for one in (*_own(), *_of_calls(), *_of_service(), *_of_wallet(), *_of_rules()):
        known = found.get(one.code)
        if known is None:
            found[one.code] = one
        else:
            exits = tuple(sorted({*known.exits, *one.exits}))
            status = known.status if known.status is not None else one.status
            found[one.code] = ErrorCodeFacts(
                known.code, known.means, known.retry, known.money, known.next, exits, status
            )
    return tuple(found[code] for code in sorted(found))


def _own() -> Iterator[ErrorCodeFacts]:
    for code, exits, means, money, next_ in OWN_ROWS:
        yield _facts(code, exits, means, money, next_)


def _facts(
    code: str,
    exits: tuple[Exit, ...],
    means: str,
    money: str,
    next_: str,
    status: int | None = None,
) -> ErrorCodeFacts:
    retry = _RETRY.get(code, RETRY_OF[exits[0]])
    return ErrorCodeFacts(
        code, means, retry, money, next_, tuple(sorted(one.value for one in exits)), status
    )


def _of_service() -> Iterator[ErrorCodeFacts]:
    from swapdesk.cli.command_error import of_client_error
    from swapdesk.client.errors import api_error
    from swapdesk.wire.errors import STATUS_OF

    for code, status in STATUS_OF.items():
        told = of_client_error(api_error(status, code))
        yield _facts(str(code), (told.exit,), told.message, told.money, told.next, status)


def _of_calls() -> Iterator[ErrorCodeFacts]:
    """Of one error of each kind."""
    from swapdesk.cli.command_error import of_client_error
    from swapdesk.client import errors as client

    kinds = (
        client.RequestRefused("The request cannot be made"),
        client.Unreachable(""),
        client.NoAnswer(""),
        *(client.AnswerRefused("", reason, 200) for reason in client.ANSWER_REASONS),
    )
    for error in kinds:
        told = of_client_error(error)
        yield _facts(told.code, (told.exit,), told.message.strip(), told.money, told.next)


def _of_wallet() -> Iterator[ErrorCodeFacts]:
    from swapdesk.cli.command_error import of_wallet_error
    from swapdesk.wallet.errors import AgentGone, AgentMissing, Refused
    from swapdesk.wallet.protocol import REFUSALS

    words = (
        *((Refused(code, means), means) for code, means in REFUSALS.items()),
        (AgentMissing(""), "No process with the keys could be started."),
        (AgentGone(""), "The process with the keys ended or cannot be understood."),
    )
    for error, means in words:
        told = of_wallet_error(error)
        yield _facts(told.code, (told.exit,), means, told.money, told.next)


_OWN = (Exit.OWN_REFUSAL,)


def _of_rules() -> Iterator[ErrorCodeFacts]:
    from swapdesk.flows.failure_messages import rule_next
    from swapdesk.wallet.rule_codes import PAYLOADS, RULES, SPENDING

    said = {
        **{code: f'The wallet refuses what breaks "{holds}".' for code, holds in RULES.items()},
        **{code: f"The wallet refuses: {why}." for code, why in PAYLOADS.items()},
        **{code: f"Your spending policy refuses: {why}." for code, why in SPENDING.items()},
    }
    for code, means in said.items():
        yield _facts(code, _OWN, means, UNPAID, rule_next(code, REVIEW))


def report_errors(output: Output) -> None:
    found = error_codes()
    exits = tuple(ExitFacts(end.value, said) for end, said in MEANINGS.items())
    output.table(
        ("code", "exit", "again", "means", "money", "next"),
        [
            (one.code, " or ".join(map(str, one.exits)), one.retry, one.means, one.money, one.next)
            for one in found
        ],
        document=ErrorsDocument(found, exits),
    )
    if output.form is Form.TABLE:
        output.talk(*(f"Exit {end.value}: {said}." for end, said in MEANINGS.items()))
