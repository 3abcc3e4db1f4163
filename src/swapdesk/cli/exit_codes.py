"""What a command ends with: one number for each way to end, in one table.

The numbers are an outer interface; scripts branch on them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swapdesk.client.errors import ClientError


class Exit(IntEnum):
    DONE = 0
    DEFECT = 1
    BAD_INPUT = 2
    """Bad input, an ambiguous token, a setting that is wrong or missing."""
    THRESHOLD = 3
    """A limit set by the caller: the loss in value, or the time to wait."""
    REFUSED = 4
    """Refused by the service (401, 403, 409, 422 and other refusals), or no usable route."""
    NOT_FOUND = 5
    RATE_LIMITED = 6
    UNREACHABLE = 7
    """Not reachable, 5xx, or an answer of no use; nothing was created."""
    UNKNOWN = 8
    """The outcome of a create is not known; it is in the journal."""
    OWN_REFUSAL = 9
    """Refused by the checks of the desk itself."""
    ENDED_OTHERWISE = 10
    """An order ended, and not as completed."""
    NOT_WRITTEN = 11
    """Standard output could not be written; what the command did stands."""
    INTERRUPTED = 130
    """Ctrl-C, or the question was not answered with yes."""


MEANINGS: dict[Exit, str] = {
    Exit.DONE: "done",
    Exit.DEFECT: "a defect in swapdesk",
    Exit.BAD_INPUT: "bad input or ambiguity",
    Exit.THRESHOLD: "a threshold was exceeded; nothing was created",
    Exit.REFUSED: "refused by the service",
    Exit.NOT_FOUND: "not found",
    Exit.RATE_LIMITED: "rate limited",
    Exit.UNREACHABLE: "not reachable or 5xx; nothing was created",
    Exit.UNKNOWN: "outcome unknown; journaled, see orders list",
    Exit.OWN_REFUSAL: "refused by the desk's own checks",
    Exit.ENDED_OTHERWISE: "an order ended otherwise than completed",
    Exit.NOT_WRITTEN: "the output could not be written; what was done stands",
    Exit.INTERRUPTED: "interrupted",
}

NOT_CREATED: dict[str, Exit] = {
    "NOT_CREATED": Exit.UNREACHABLE,
    "NOT_REACHABLE": Exit.UNREACHABLE,
    "NO_JOURNAL": Exit.OWN_REFUSAL,
    "ALREADY_ASKED": Exit.OWN_REFUSAL,
    "QUOTE_EXPIRED": Exit.OWN_REFUSAL,
    "OUTCOME_PENDING": Exit.UNKNOWN,
}
"""Codes of the desk itself for a create that did not happen; other codes are the service's."""


def exit_of(error: ClientError) -> Exit:
    """The end a client error leads to. For a writing call all but 8 mean: nothing was created."""
    from swapdesk.client import errors

    table: tuple[tuple[type[ClientError], Exit], ...] = (
        (errors.OutcomeUnknown, Exit.UNKNOWN),
        (errors.RequestRefused, Exit.BAD_INPUT),
        (errors.NotPaid, Exit.OWN_REFUSAL),
        (errors.RateLimited, Exit.RATE_LIMITED),
        (errors.NotFound, Exit.NOT_FOUND),
        (errors.ServiceFailed, Exit.UNREACHABLE),
        (errors.ApiError, Exit.REFUSED),
        (errors.Unreachable, Exit.UNREACHABLE),
        (errors.NoAnswer, Exit.UNREACHABLE),
        (errors.AnswerRefused, Exit.UNREACHABLE),
    )
    return next((end for kind, end in table if isinstance(error, kind)), Exit.DEFECT)


def exit_of_refused_create(code: str, error: ClientError | None) -> Exit:
    """The end of a create after which nothing exists, by the desk's code, else by the error."""
    from swapdesk.client.errors import ApiError, OutcomeUnknown

    if code in NOT_CREATED and not isinstance(error, ApiError):
        return NOT_CREATED[code]
    if error is None or isinstance(error, OutcomeUnknown):
        # Looked for afterwards and not there: it failed at the service.
        return Exit.UNREACHABLE
    return exit_of(error)
