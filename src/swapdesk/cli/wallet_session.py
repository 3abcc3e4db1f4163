"""Opens the wallet for a command, alone or on a connected desk, and asks the user to agree.

A secret is typed without echo or read from a file descriptor. It is never an argument and never in
the environment, because other programs can read both.

To sign, the user types ``sign``; to agree to anything else, ``yes``; to agree to something that a
rule warns of, the phrase in its review. ``--yes`` answers in advance, but never replaces such a
phrase. Any other answer, and the end of the input, means no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    UNTOUCHED,
    CommandError,
    Exit,
    bad_input,
    not_confirmed,
    of_unusable_file,
    own_refusal,
)
from swapdesk.cli.output import Output
from swapdesk.cli.secret_input import read_passphrase
from swapdesk.cli.session import load_catalog, run_session
from swapdesk.clock import SystemClock
from swapdesk.flows.notation import counted
from swapdesk.flows.transactions import Agreed, Outcome, Step
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import Account, Accounts, Kind
from swapdesk.wallet.answers import Match, Review, Severity, objections

T = TypeVar("T")


def run_wallet(call: CliContext, work: Callable[[CliContext, LocalWallet], Awaitable[T]]) -> T:
    """Runs ``work`` with the wallet's keys and returns its result. No service is asked and no
    sandbox is started."""
    settings = call.settings()

    async def whole() -> T:
        wallet = LocalWallet(settings, SystemClock())
        try:
            return await work(call, wallet)
        finally:
            await wallet.close()

    try:
        return asyncio.run(whole())
    except OSError as error:
        raise of_unusable_file(error, money=UNTOUCHED) or error from None


def run_on_chains(
    call: CliContext,
    work: Callable[[CliContext], Awaitable[T]],
    *,
    fill: bool = False,
) -> T:
    """Runs ``work`` on a connected desk whose wallet can sign. In the sandbox, missing accounts are
    created; with ``fill``, empty ones also get money."""

    async def whole(call: CliContext) -> T:
        from swapdesk.client.errors import NotPaid
        from swapdesk.flows.failure_messages import unsent

        try:
            await load_catalog(call)
        except NotPaid as error:
            # The wallet has to be made able to pay first, which needs no call but a chain.
            if not call.desk.settings.pay.value or not call.desk.wallet.links:
                raise
            if call.desk.catalog.age is None:
                call.output.talk(
                    f"The service's list of chains could not be read. {unsent(error).cause}"
                )
        await make_ready(call, fill=fill)
        return await work(call)

    return run_session(call, whole)


async def make_ready(call: CliContext, *, fill: bool = False) -> None:
    """In the sandbox, creates and funds missing accounts; with ``fill``, also funds empty ones. On
    a live profile, raises CommandError (exit 2) if no chain has a node."""
    output, wallet = call.output, call.desk.wallet
    if wallet.live:
        from swapdesk.flows.wallet.chain_links import live_links

        if call.desk.catalog.age is not None:
            output.talk(*live_links(call.desk.settings, call.desk.catalog.chain)[1])
        if not wallet.links:
            raise bad_input(
                "NO_NODES",
                "No node of a chain is configured. Add one under"
                f" [profiles.{call.desk.settings.profile.value}.rpc].",
                field="rpc",
            )
        return
    from swapdesk.flows.wallet.wallet_reading import fill_wallet

    made = await wallet.prepare_sandbox()
    output.talk(
        *(f"The sandbox made the account {account.name}: {account.address}." for account in made)
    )
    control = call.link.control
    if control is None or not (made or fill):
        return
    gifts = await fill_wallet(wallet, control)
    if gifts.given:
        output.talk(f"The faucet sends money to try, in {counted(gifts.given, 'transaction')}.")
    output.talk(*gifts.problems)


async def unlock(call: CliContext) -> None:
    """Opens the wallet's keys, asking for the pass phrase if needed. Prints which key files stay
    closed, and why."""
    wallet = call.desk.wallet
    closed = await wallet.unlock(passphrase_of(call, wallet))
    call.output.talk(
        *(f"{account_file.file} stays closed: {account_file.reason}." for account_file in closed)
    )


def passphrase_of(call: CliContext, wallet: LocalWallet) -> Secret | None:
    """Returns the wallet's pass phrase, read from a descriptor or typed; None if the sandbox keeps
    it."""
    wanted = wallet.live or call.passphrase_fd is not None
    return read_passphrase(call) if wanted else None


def account_named(accounts: Accounts, named: str) -> Account:
    """Returns the account with this address or name. Raises CommandError: exit 5 if there is none,
    2 for several."""
    of_address = [
        account for account in accounts.accounts if account.address.lower() == named.lower()
    ]
    fitting = of_address or [account for account in accounts.accounts if account.name == named]
    if not fitting:
        raise CommandError(
            Exit.NOT_FOUND, "NO_ACCOUNT", f"There is no account {named!r} in this wallet."
        )
    if len(fitting) > 1:
        several = ", ".join(account.address for account in fitting)
        raise bad_input("AMBIGUOUS", f"{named!r} is the name of several accounts: {several}.")
    return fitting[0]


def account_on(
    accounts: Accounts, kind: Kind, chain: str, named: str | None, *, field: str
) -> Account:
    """Returns the account with the name or address ``named``; if that is None, the first account of
    the kind. Raises CommandError: exit 5 if there is none, 2 for another kind."""
    if named is not None:
        account = account_named(accounts, named)
        if account.kind is not kind:
            raise bad_input(
                "WRONG_CHAIN",
                f"{account.name or account.address} is no account of {chain}.",
                field=field,
            )
        return account
    first = accounts.first(kind)
    if first is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "NO_ACCOUNT",
            f"This wallet has no account of {chain}.",
            next=f"you: swapdesk wallet new --kind {kind} makes one",
        )
    return first


_MATCHES = {Match.EQUAL: " ", Match.DIFFERS: "x", Match.UNMATCHED: "?"}
_FINDINGS = {Severity.REFUSE: "x", Severity.WARN: "!"}


def says_yes(output: Output, question: str) -> bool:
    """Asks a question and returns True if the user types ``yes``. For a signature, :func:`consent`
    is used instead."""
    return output.ask(f'{question} Type "yes":') == "yes"


async def consent(output: Output, review: Review, *, yes: bool) -> Agreed | None:
    """Shows what is to be signed and asks the user to agree; returns None if the user refuses.
    ``yes`` answers in advance, except where the review demands a typed phrase."""
    output.talk(*review_text(review))
    if review.phrase is not None:
        typed = output.ask(f'Type "{review.phrase}" to sign:')
        return Agreed(typed) if typed == review.phrase else None
    return Agreed() if yes or output.ask('Sign this? Type "sign":') == "sign" else None


async def require_consent(
    output: Output, review: Review, *, yes: bool, money: str = UNTOUCHED
) -> None:
    """Asks like :func:`consent`. Raises CommandError: exit 9 if the wallet's rules refuse or a
    phrase must be typed, 130 if the user refuses. ``money`` says where the money is."""
    if review.refused or review.phrase is not None:
        output.talk(*review_text(review))
        reasons = " ".join(objections(review.findings)) or "It needs a typed phrase."
        raise own_refusal(
            "GATE", f"Not signed: {reasons}", money=money, next="you: look at what was refused"
        )
    if await consent(output, review, yes=yes) is None:
        raise not_confirmed("Nothing was signed.", money=money)


async def sign_and_send(
    call: CliContext,
    step: Step,
    *,
    yes: bool,
    before: str,
    money: str = UNTOUCHED,
) -> Outcome:
    """Asks the user to agree to a transaction, signs it and sends it. If an earlier run signed the
    transaction, prints ``before`` and sends it without asking. ``money`` says in errors where the
    money is before the signature."""
    if step.review is None:
        call.output.talk(before)
    else:
        await require_consent(call.output, step.review, yes=yes, money=money)
        await unlock(call)
    return await step.send()


def require_done(outcome: Outcome, *, refused: Exit = Exit.OWN_REFUSAL) -> None:
    """Raises CommandError for a failure: exit 8 if the step may still succeed, otherwise
    ``refused``."""
    failure = outcome.failure
    if outcome.done or failure is None:
        return
    end = Exit.UNKNOWN if outcome.open else refused
    raise CommandError(end, outcome.code, failure.cause, failure.money, failure.next)


def review_text(review: Review) -> list[str]:
    """Returns the review as lines: each value that will be signed, marked if it differs from what
    was confirmed."""
    width = max((len(line.field) for line in review.lines), default=0)
    lines = [f"{review.title} ({review.chain})"]
    lines += [
        f"{_MATCHES[line.match]} {line.field:<{width}}  {line.signed}" for line in review.lines
    ]
    lines += [
        f"{_FINDINGS[finding.severity]} {finding.words} ({finding.code})"
        for finding in review.findings
    ]
    return [*lines, f"  Digest {review.digest}"]
