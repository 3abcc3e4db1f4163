"""What the wallet signs for its owner alone, while it is signed: an allowance that ends, money of a
smart account that comes back. Nobody else is paid.

What an earlier run signed is sent again, never signed anew: the wallet's own records know it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.signing.signing_session import RunningSignings, TransactionSigning, open_keys
from swapdesk.flows.transactions import (
    LOOK_AGAIN,
    MOST_LOOKS,
    NotAgreed,
    NotSignable,
    Outcome,
    Proposal,
    UnderWay,
    refused,
)
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.revoking import Revoking, revocation_id
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.answers import Allowance
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import Refused, WalletError

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

GO_ON = "you: r goes on with it"


class WalletSigning(TransactionSigning):
    """``asset`` is what it is about. What was asked for by a key is never signed by a phrase."""

    PROMISE = "request"
    EXPIRED = "NOT_CONFIRMED"
    AFTER = "you"
    AGAIN: ClassVar[str]
    """Who asks for it once more, by which key."""

    def __init__(
        self,
        wallet: LocalWallet,
        clock: Clock,
        account: Account,
        link: ChainLink,
        asset: Asset,
        changed: Callable[[], None],
        *,
        coin: str = "",
    ) -> None:
        chain_name = wallet.tokens.chain_name(link.name)
        kind = "evm" if link.kind is Kind.EVM else "sol"
        super().__init__(
            TokenFacts(
                "", asset.symbol, link.name, chain_name, kind, asset.contract, asset.decimals,
                link.chain_id,
            ),
            clock,
            changed,
            wallet=account.name or account.address,
            coin=coin,
            confirmations=link.confirmations,
        )  # fmt: skip
        self.account, self.link = account, link

    @property
    def amount(self) -> Decimal:
        return Decimal(0)

    @property
    def against(self) -> str:
        return ""

    async def carry_out(self) -> Outcome:
        """Do it, or go on with what an earlier run signed. Raises WalletError, NotAgreed,
        NotSignable and JournalUnavailable."""
        looks = 0
        while True:
            step = await self._propose()
            if isinstance(step, Outcome):
                return step
            if isinstance(step, Proposal):
                if step.refusal is not None:
                    raise NotSignable(step.review.findings)
                if await self.look(step.review) is None:
                    raise NotAgreed
                self.signing(step.review)
            try:
                outcome = await self._send(step)
            except Refused as stale:
                # The chain or the wallet changed under the review: it is shown once more.
                looks += 1
                if stale.code not in LOOK_AGAIN or looks == MOST_LOOKS:
                    raise
                continue
            if not (outcome.done and self._goes_on):
                return outcome
            self._signed = self.payload = None
            self.started()

    @abstractmethod
    async def _propose(self) -> Proposal | UnderWay | Outcome: ...

    @abstractmethod
    async def _send(self, step: Proposal | UnderWay) -> Outcome: ...

    @property
    def _goes_on(self) -> bool:
        """Whether what was sent is followed by another transaction."""
        return False

    def finish(self, outcome: Outcome) -> None:
        """In the words of the screens, whose keys act next."""
        failure = outcome.failure
        if failure is not None:
            next_ = GO_ON if outcome.open else _NEXT.get(outcome.code, self.AGAIN) or failure.next
            outcome = replace(outcome, failure=replace(failure, next=next_))
        super().finish(outcome)


_NEXT = {
    "GATE": "",
    "NO_JOURNAL": "",
    "READ_ONLY": "",
    "NEEDED_BY_BUNDLE": "you: let the group end first; b shows it",
    "NOTHING_HELD": "you: r reads the wallet again",
}
"""Who acts where asking once more is not enough; empty: as the failure says."""


class RevocationSigning(WalletSigning):
    """The end of one allowance."""

    NOUN = "revocation"
    DONE = "The allowance is over: nobody may take this any more."
    AGAIN = "you: x on the allowance asks again"

    def __init__(
        self,
        wallet: LocalWallet,
        clock: Clock,
        account: Account,
        link: ChainLink,
        allowance: Allowance,
        changed: Callable[[], None],
        *,
        coin: str = "",
    ) -> None:
        super().__init__(wallet, clock, account, link, allowance.token, changed, coin=coin)
        self.allowance = allowance
        self._revoking = Revoking(wallet, clock, self)
        whom = allowance.venue or "an unknown contract"
        self.called = f"{self.token.symbol} allowance of {whom}"

    @property
    def id(self) -> str:
        return revocation_id(self.account, self.link, self.allowance)

    @property
    def whereabouts(self) -> str:
        return "in your wallet"

    @property
    def notice(self) -> str:
        return f"on {self.token.chain_name} is over: nobody may take this any more."

    @property
    def _arrived(self) -> str:
        return "in your wallet"

    async def _propose(self) -> Proposal | UnderWay:
        return await self._revoking.propose(self.account, self.link, self.allowance)

    async def _send(self, step: Proposal | UnderWay) -> Outcome:
        return await self._revoking.send(step)


class RunningWallet(RunningSignings[WalletSigning]):
    """By what is done to what."""

    FAILURES = (WalletError, JournalUnavailable, NotAgreed, NotSignable)

    def revoke(self, account: Account, link: ChainLink, allowance: Allowance) -> WalletSigning:
        """The session of a revocation."""
        return self.begin(
            revocation_id(account, link, allowance),
            lambda desk, changed, coin: RevocationSigning(
                desk.wallet, desk.clock, account, link, allowance, changed, coin=coin
            ),
            link,
        )

    def begin(
        self,
        id_: str,
        made: Callable[[Desk, Callable[[], None], str], WalletSigning],
        link: ChainLink,
    ) -> WalletSigning:
        """The session of this id, the one there is while it is not over; ``made`` gets the desk,
        what is called after each change, and the coin of the chain."""
        known = self.known(id_)
        if known is not None and not known.over:
            return known
        coin = self._coin(link.name)
        return self._kept(made(self._desk, lambda: self._changed(id_), coin))

    async def _work(self, session: WalletSigning) -> Outcome | None:
        wallet = self._desk.wallet
        await open_keys(wallet, session.account.address, session)
        return await session.carry_out()

    def _failed(self, session: WalletSigning, error: Exception) -> Outcome:
        money = session.whereabouts
        if isinstance(error, JournalUnavailable):
            return refused("NO_JOURNAL", NO_JOURNAL)
        if isinstance(error, NotAgreed):
            return refused(error.code, Failure(str(error), money, ""))
        if isinstance(error, NotSignable):
            said = f"Your wallet refuses to sign this: {error}"
            return refused("GATE", Failure(said, money, error.next(session.AGAIN)))
        assert isinstance(error, WalletError)
        told = failure_of_wallet(error)
        return refused(told.code, Failure(told.cause, money, told.next))
