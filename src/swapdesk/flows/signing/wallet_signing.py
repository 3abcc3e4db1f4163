"""What the wallet signs for its owner alone, while it is signed: an allowance that ends, money of a
smart account that comes back. Nobody else is paid.

What an earlier run signed is sent again, never signed anew: the wallet's own records know it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from swapdesk.flows.failure_messages import NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.signing.signing_session import (
    RunningSignings,
    SigningKind,
    SigningSession,
    open_keys,
)
from swapdesk.flows.transactions import (
    LOOK_AGAIN,
    MOST_LOOKS,
    NotAgreed,
    NotSignable,
    Outcome,
    Step,
    refused,
)
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.revoking import propose_revocation, revocation_id
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.answers import Allowance
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import Refused, WalletError

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

GO_ON = "you: r goes on with it"


def token_facts(wallet: LocalWallet, link: ChainLink, asset: Asset) -> TokenFacts:
    """What a session is about, on the chain of ``link``."""
    kind = "evm" if link.kind is Kind.EVM else "sol"
    chain_name = wallet.tokens.chain_name(link.name)
    return TokenFacts(
        "", asset.symbol, link.name, chain_name, kind, asset.contract, asset.decimals,
        link.chain_id,
    )  # fmt: skip


def nothing_paid(_: SigningSession[Any]) -> tuple[Decimal, str]:
    return Decimal(0), ""


async def carry_out(
    session: SigningSession[Any], propose: Callable[[], Awaitable[Step | Outcome]]
) -> Outcome:
    """Do it, or go on with what an earlier run signed; what was asked for by a key is never signed
    by a phrase. Raises WalletError, NotAgreed, NotSignable and JournalUnavailable."""
    looks = 0
    while True:
        step = await propose()
        if isinstance(step, Outcome):
            return step
        if step.payload is not None and step.review is not None:
            session.reviewed(step.payload, step.review)
            if step.refusal is not None:
                raise NotSignable(step.review.findings)
            if await session.look(step.review) is None:
                raise NotAgreed
            session.signing(step.review)
        try:
            return await step.send()
        except Refused as stale:
            # The chain or the wallet changed under the review: it is shown once more.
            looks += 1
            if stale.code not in LOOK_AGAIN or looks == MOST_LOOKS:
                raise


async def carried_out(
    desk: Desk,
    session: SigningSession[Any],
    account: Account,
    work: Callable[[], Awaitable[Outcome]],
    again: str,
) -> Outcome:
    """What ``work`` comes to with the keys of the account open, in the words of the screens, whose
    keys act next. ``again``: who asks for it once more, by which key."""
    try:
        await open_keys(desk.wallet, account.address, session)
        outcome = await work()
    except JournalUnavailable:
        outcome = refused("NO_JOURNAL", NO_JOURNAL)
    except (NotAgreed, NotSignable, WalletError) as error:
        outcome = _stopped(error, session.kind.whereabouts(session), again)
    failure = outcome.failure
    if failure is None:
        return outcome
    next_ = GO_ON if outcome.open else _NEXT.get(outcome.code, again) or failure.next
    return replace(outcome, failure=replace(failure, next=next_))


def _stopped(error: NotAgreed | NotSignable | WalletError, money: str, again: str) -> Outcome:
    match error:
        case NotAgreed():
            return refused(error.code, Failure(str(error), money, ""))
        case NotSignable():
            said = f"Your wallet refuses to sign this: {error}"
            return refused("GATE", Failure(said, money, error.next(again)))
    told = failure_of_wallet(error)
    return refused(told.code, Failure(told.cause, money, told.next))


_NEXT = {
    "GATE": "",
    "NO_JOURNAL": "",
    "READ_ONLY": "",
    "NEEDED_BY_BUNDLE": "you: let the group end first; b shows it",
    "NOTHING_HELD": "you: r reads the wallet again",
}
"""Who acts where asking once more is not enough; empty: as the failure says."""


Revocation = tuple[Account, ChainLink, Allowance]
_AGAIN = "you: x on the allowance asks again"


async def revoke(session: SigningSession[Revocation], wallet: LocalWallet) -> Outcome:
    """End the allowance. Raises as :func:`carry_out` does."""
    asked = partial(propose_revocation, wallet, session.clock, *session.about, session)
    return await carry_out(session, asked)


REVOCATION = SigningKind[Revocation](
    noun="revocation",
    promise="request",
    expired="NOT_CONFIRMED",
    done="The allowance is over: nobody may take this any more.",
    work=lambda desk, session: carried_out(
        desk, session, session.about[0], lambda: revoke(session, desk.wallet), _AGAIN
    ),
    pays=nothing_paid,
    whereabouts=lambda _: "in your wallet",
    after="you",
    rank=3,
)


def begin_revocation(
    running: RunningSignings, account: Account, link: ChainLink, allowance: Allowance
) -> SigningSession[Revocation]:
    """The session of a revocation."""
    token = token_facts(running.desk.wallet, link, allowance.token)
    whom = allowance.venue or "an unknown contract"
    return running.begin(
        REVOCATION,
        revocation_id(account, link, allowance),
        (account, link, allowance),
        token,
        wallet=account.name or account.address,
        called=f"{token.symbol} allowance of {whom}",
        notice=f"on {token.chain_name} is over: nobody may take this any more.",
    )
