"""More gas for the transaction that a session waits for, or its cancellation, asked by its trader.

The review stands in the session like any other, and what it signs goes into the wallet's records.
The work that waits meanwhile goes on by itself with whichever of the two the chain takes, and a
review that it overtakes is withdrawn.
"""

from __future__ import annotations

from swapdesk.clock import Clock
from swapdesk.flows import bumping, cancelling
from swapdesk.flows.dex_payment import NotAgreed
from swapdesk.flows.local_wallet import LocalWallet
from swapdesk.flows.review_words import objections
from swapdesk.flows.signing_keys import open_keys
from swapdesk.flows.signing_session import SigningSession
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.review import Review, Severity
from swapdesk.wallet.transactions import SignedTransaction

_NOTHING = "Nothing more was signed."


async def bump(wallet: LocalWallet, clock: Clock, session: SigningSession) -> str | None:
    """Ask for a higher fee, sign and send it. What is to be told, unless the session tells it:
    why nothing came of it."""
    one = session.transaction
    if one is None or not session.replaceable:
        return None
    session.replacing = True
    try:
        return await _bumped(wallet, bumping.Bumping(wallet, clock), session, one)
    except NotAgreed:
        return None
    except WalletError as error:
        return f"No higher fee was sent: {error.words}."
    finally:
        session.replacing = False


async def _bumped(
    wallet: LocalWallet, flow: bumping.Bumping, session: SigningSession, one: SignedTransaction
) -> str | None:
    ended = await flow.propose(one.hash)
    if isinstance(ended, bumping.Proposed):
        said = await _asked(wallet, session, one, ended.payload, ended.review)
        if not isinstance(said, _Yes):
            return said
        ended = await flow.bump(ended, said.phrase)
    elif isinstance(ended, bumping.UnderWay):
        ended = await flow.bump(ended)
    match ended:
        case bumping.NotBumped():
            return f"It got no higher fee. {ended.reason}"
        case bumping.StillWaiting():
            return "The higher fee was signed, and neither of the two is executed yet."
        case bumping.Executed():
            return None


async def cancel(wallet: LocalWallet, clock: Clock, session: SigningSession) -> str | None:
    """Ask for the cancellation, sign and send it; as :func:`bump`."""
    one = session.transaction
    if one is None or not session.replaceable:
        return None
    session.replacing = True
    try:
        return await _cancelled(wallet, cancelling.Cancelling(wallet, clock), session, one)
    except NotAgreed:
        return None
    except WalletError as error:
        return f"No cancellation was sent: {error.words}."
    finally:
        session.replacing = False


async def _cancelled(
    wallet: LocalWallet,
    flow: cancelling.Cancelling,
    session: SigningSession,
    one: SignedTransaction,
) -> str | None:
    ended = await flow.propose(one.hash)
    if isinstance(ended, cancelling.Proposed):
        said = await _asked(wallet, session, one, ended.payload, ended.review)
        if not isinstance(said, _Yes):
            return said
        ended = await flow.cancel(ended, said.phrase)
    elif isinstance(ended, cancelling.UnderWay):
        ended = await flow.cancel(ended)
    match ended:
        case cancelling.NotCancelled():
            return f"It was not cancelled. {ended.reason}"
        case cancelling.Undecided():
            return "The cancellation was signed, and neither of the two is executed yet."
        case cancelling.Cancelled():
            return None


class _Yes:
    def __init__(self, phrase: str | None) -> None:
        self.phrase = phrase


async def _asked(
    wallet: LocalWallet,
    session: SigningSession,
    one: SignedTransaction,
    payload: Payload,
    review: Review,
) -> _Yes | str | None:
    """Yes, why it cannot be signed, or None for no. Raises NotAgreed once it is overtaken."""
    if review.refused:
        return " ".join((*objections(review, Severity.REFUSE), _NOTHING))
    await open_keys(wallet, one.account, session)
    agreed = await session.look_beside(payload, review)
    return None if agreed is None else _Yes(agreed.phrase)
