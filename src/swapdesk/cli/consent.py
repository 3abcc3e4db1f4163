"""The one way a command asks a person: what is signed takes the word ``sign``, everything else the
word ``yes``, and what a rule warns of takes the phrase of its review.

``--yes`` answers in advance, but never for a phrase. What a person types otherwise, and an end of
the input, is no.
"""

from __future__ import annotations

from swapdesk.cli.command_error import UNTOUCHED, CommandError, Exit, not_confirmed
from swapdesk.cli.output import Output
from swapdesk.cli.session import CommandSession
from swapdesk.cli.wallet_session import unlock
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import Agreed, Proposal, UnderWay
from swapdesk.wallet.review import Match, Review, Severity

_MATCHES = {Match.EQUAL: " ", Match.DIFFERS: "x", Match.UNMATCHED: "?"}
_FINDINGS = {Severity.REFUSE: "x", Severity.WARN: "!"}


def says_yes(output: Output, question: str) -> bool:
    """Whether a person says yes to what is not signed."""
    return output.ask(f'{question} Type "yes":') == "yes"


def consent(output: Output, review: Review, *, yes: bool) -> Agreed | None:
    """Show what is to be signed and ask for it; None is no."""
    output.talk(*review_text(review))
    if review.phrase is not None:
        typed = output.ask(f'Type "{review.phrase}" to sign:')
        return Agreed(review.phrase) if typed == review.phrase else None
    return Agreed() if yes or output.ask('Sign this? Type "sign":') == "sign" else None


def require_consent(output: Output, review: Review, *, yes: bool, money: str = UNTOUCHED) -> None:
    """:func:`consent` to what was asked for by name, and which no phrase permits. Raises
    CommandError: exit 9 with the rules that refuse it, 130 for no."""
    if review.refused or review.phrase is not None:
        output.talk(*review_text(review))
        raise refused_by_gate(review, money=money)
    if consent(output, review, yes=yes) is None:
        raise not_confirmed("Nothing was signed.", money=money)


async def prepare(
    session: CommandSession,
    step: Proposal | UnderWay,
    *,
    yes: bool,
    before: str,
    money: str = UNTOUCHED,
) -> None:
    """Ask for what was proposed and open the keys; only say ``before`` of what was signed by an
    earlier run. ``money`` is where it is while nothing is signed. Raises CommandError."""
    if isinstance(step, UnderWay):
        session.call.output.talk(before)
        return
    require_consent(session.call.output, step.review, yes=yes, money=money)
    await unlock(session)


def require_done(outcome: Outcome, *, refused: Exit = Exit.OWN_REFUSAL) -> None:
    """Raises CommandError for any other end: exit 8 for what is open, ``refused`` for the rest."""
    failure = outcome.failure
    if outcome.done or failure is None:
        return
    end = Exit.UNKNOWN if outcome.open else refused
    raise CommandError(end, outcome.code, failure.cause, failure.money, failure.next)


def review_text(review: Review) -> list[str]:
    """What will be signed, line by line, and what was said against it."""
    width = max((len(line.field) for line in review.lines), default=0)
    lines = [f"{review.title} ({review.chain})"]
    lines += [
        f"{_MATCHES[line.match]} {line.field:<{width}}  {line.signed}" for line in review.lines
    ]
    lines += [
        f"{_FINDINGS[found.severity]} {found.words} ({found.code})" for found in review.findings
    ]
    return [*lines, f"  Digest {review.digest}"]


def refused_by_gate(review: Review, *, money: str = UNTOUCHED) -> CommandError:
    """Exit 9 with every rule that refuses, or because a phrase would have to be typed."""
    found = [one for one in review.findings if one.severity is Severity.REFUSE]
    said = " ".join(f"{one.words} Rule {one.code}." for one in found) or "It needs a typed phrase."
    next_ = "you: look at what was refused"
    return CommandError(Exit.OWN_REFUSAL, "GATE", f"Not signed: {said}", money, next_)
