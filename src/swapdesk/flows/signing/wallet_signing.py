"""Work that the wallet signs for its owner alone: revocations, and withdrawals from a smart
account. Nobody else is paid.

If an earlier run signed the transaction already, that transaction is sent again and no new one is
signed. It is found in the wallet's records by a name that is made from what the transaction does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from swapdesk.clock import Clock
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
    Delivered,
    NotAgreed,
    NotSignable,
    Outcome,
    Step,
    Watch,
    of_name,
    refused,
    still_open,
    under_way,
)
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.answers import Allowance
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Asset, Purpose, SolanaPayload, TransactionPayload
from swapdesk.wallet.protocol import Refused, WalletError

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

GO_ON = "you: r goes on with it"


def token_facts(wallet: LocalWallet, link: ChainLink, asset: Asset) -> TokenFacts:
    """Returns the facts about ``asset`` that a session needs. ``link`` is the chain of the
    token."""
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
    """Shows the review of the proposed step; once the trader agrees, signs and sends the step. A
    step that an earlier run signed is only sent. Raises WalletError, NotAgreed, NotSignable and
    JournalUnavailable."""
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
    account: str,
    work: Callable[[], Awaitable[Outcome | None]],
    again: str,
) -> Outcome | None:
    """Opens the account's keys and returns the outcome of ``work``. The keys stay locked if an
    earlier run left the work open. ``again`` tells the trader how to start the work again."""
    try:
        if session.asked:
            await open_keys(desk.wallet, account, session)
        outcome = await work()
    except JournalUnavailable:
        outcome = refused("NO_JOURNAL", NO_JOURNAL)
    except (NotAgreed, NotSignable, WalletError) as error:
        outcome = _stopped(error, session, again)
    failure = outcome.failure if outcome is not None else None
    if outcome is None or failure is None:
        return outcome
    next_ = GO_ON if outcome.open else _NEXT.get(outcome.code, again) or failure.next
    return replace(outcome, failure=replace(failure, next=next_))


def _stopped(
    error: NotAgreed | NotSignable | WalletError, session: SigningSession[Any], again: str
) -> Outcome:
    money = session.kind.whereabouts(session)
    match error:
        case NotAgreed():
            return refused(error.code, Failure(str(error), money, ""))
        case NotSignable():
            cause = f"Your wallet refuses to sign this: {error}"
            return refused("GATE", Failure(cause, money, error.next(again)))
    failure = failure_of_wallet(error)
    end = refused if session.asked else still_open
    return end(failure.code, Failure(failure.cause, money, failure.next))


_NEXT = {
    "GATE": "",
    "NO_JOURNAL": "",
    "READ_ONLY": "",
    "NEEDED_BY_BUNDLE": "you: let the group end first; b shows it",
    "NOTHING_HELD": "you: r reads the wallet again",
}
"""Who acts next, by the code of an outcome for which repeating the request is not enough. For an
empty text the failure's own words are shown."""


GAS_UNITS = {Kind.EVM: 10**16, Kind.SOLANA: 10**7}
"""The most that one transaction may pay for gas: 0.01 of the chain's native coin, in base units."""


async def propose_revocation(
    wallet: LocalWallet,
    clock: Clock,
    account: Account,
    link: ChainLink,
    allowance: Allowance,
    watch: Watch | None = None,
) -> Step:
    """Returns the step that ends an allowance; nothing is signed yet. If the step's outcome is
    refused, the allowance still stands, and the outcome's ``hash`` names the transaction that may
    have cost gas. Raises WalletError."""
    client = await wallet.client()
    name = revocation_id(account, link, allowance)
    earlier = of_name(await client.transactions(), name)
    step = Step(client=wallet.client, clock=clock, ended=_ended, watch=watch)
    pending = under_way(earlier, Purpose.REVOKE)
    if pending is not None:
        return replace(step, transaction=pending)
    gas, intent_id = GAS_UNITS[account.kind], f"{name}#{len(earlier)}"
    promise = own_promise(intent_id, account.address, link, allowance.token, clock.now(), gas)
    payload = await _payload(client, account, link, allowance)
    return replace(step, payload=payload, review=await client.review(payload, promise))


async def _ended(came: Delivered) -> Outcome:
    stands = Failure(
        "The allowance stands.",
        "in your wallet; gas may have been paid",
        "you: look at wallet allowances",
    )
    meanwhile = "in your wallet; the allowance stands until it is confirmed"
    return came.outcome("NOT_REVOKED", stands, meanwhile)


async def _payload(
    client: WalletClient, account: Account, link: ChainLink, allowance: Allowance
) -> TransactionPayload | SolanaPayload:
    token = allowance.token.contract or ""
    if account.kind is Kind.SOLANA:
        return await client.solana_revocation(account.address, link.name, token)
    return await client.revocation(token, allowance.spender, permit2=allowance.permit2)


def revocation_id(account: Account, link: ChainLink, allowance: Allowance) -> str:
    """Returns the name under which the wallet records a revocation, like ``revoke 0x… base 0x…
    0x…``."""
    kept = " permit2" if allowance.permit2 else ""
    token = allowance.token.contract
    return f"revoke {account.address} {link.name} {token} {allowance.spender}{kept}"


Revocation = tuple[Account, ChainLink, Allowance]
_AGAIN = "you: x on the allowance asks again"


async def revoke(session: SigningSession[Revocation], wallet: LocalWallet) -> Outcome:
    """Ends the allowance that the session is about, and returns the outcome. Raises WalletError,
    NotAgreed, NotSignable and JournalUnavailable."""
    propose = partial(propose_revocation, wallet, session.clock, *session.about, session)
    return await carry_out(session, propose)


REVOCATION = SigningKind[Revocation](
    noun="revocation",
    promise="request",
    expired="NOT_CONFIRMED",
    done="The allowance is over: nobody may take this any more.",
    work=lambda desk, session: carried_out(
        desk, session, session.about[0].address, lambda: revoke(session, desk.wallet), _AGAIN
    ),
    pays=nothing_paid,
    whereabouts=lambda _: "in your wallet",
    after="you",
    rank=3,
)


def begin_revocation(
    running: RunningSignings, account: Account, link: ChainLink, allowance: Allowance
) -> SigningSession[Revocation]:
    """Begins and returns the session that ends an allowance."""
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
