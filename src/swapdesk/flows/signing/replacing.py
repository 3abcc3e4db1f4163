"""More gas for the transaction that a session waits for, or its cancellation, asked by its trader.

The review stands in the session like any other, and what it signs goes into the wallet's records.
The work that waits meanwhile goes on by itself with whichever of the two the chain takes, and a
review that it overtakes is withdrawn.
"""

from __future__ import annotations

from swapdesk.flows.signing.review_words import objections
from swapdesk.flows.signing.running_signings import open_keys
from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import Agreed, NotAgreed, Proposal
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import Replacement
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.review import Severity
from swapdesk.wallet.transactions import SignedTransaction

_NOTHING = "Nothing more was signed."


async def replace(
    wallet: LocalWallet, replacement: Replacement, session: SigningSession
) -> str | None:
    """Ask for it, sign and send it. What is to be told, unless the session tells it: why nothing
    came of it."""
    one = session.transaction
    if one is None or not session.replaceable:
        return None
    session.replacing = True
    try:
        return await _replaced(wallet, replacement, session, one)
    except NotAgreed:
        return None
    except WalletError as error:
        return replacement.words.not_sent(error)
    finally:
        session.replacing = False


async def _replaced(
    wallet: LocalWallet, replacement: Replacement, session: SigningSession, one: SignedTransaction
) -> str | None:
    step = await replacement.propose(one.hash)
    phrase = None
    if isinstance(step, Proposal):
        said = await _asked(wallet, session, one, step)
        if not isinstance(said, Agreed):
            return said
        phrase = said.phrase
    outcome = step if isinstance(step, Outcome) else await replacement.replace(step, phrase)
    if outcome.open:
        return replacement.words.undecided
    if outcome.code == replacement.words.kept_code:
        return replacement.words.stays(outcome)
    return None


async def _asked(
    wallet: LocalWallet, session: SigningSession, one: SignedTransaction, proposed: Proposal
) -> Agreed | str | None:
    """Yes, why it cannot be signed, or None for no. Raises NotAgreed once it is overtaken."""
    if proposed.review.refused:
        return " ".join((*objections(proposed.review, Severity.REFUSE), _NOTHING))
    await open_keys(wallet, one.account, session)
    return await session.look_beside(proposed.payload, proposed.review)
