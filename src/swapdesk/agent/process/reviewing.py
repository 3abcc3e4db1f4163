"""From a payload to a review, and from a review to a signature.

A review is what the trader saw. Signing asks the chain and the gate once more, and goes on only
when they say the same: the same content, no new objection, the same nonce, a price that holds.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, replace

from swapdesk.agent.process.chains import Chains, refuse_foreign_chain
from swapdesk.agent.process.looking import Looked, Looking, Subject
from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.process.signing import Signing
from swapdesk.agent.process.wallet import Wallet
from swapdesk.agent.signers.evm import signing_hash
from swapdesk.agent.transactions.asked import read_asked
from swapdesk.agent.transactions.records import Records
from swapdesk.clock import Clock
from swapdesk.wallet.accounts import Kind
from swapdesk.wallet.encoding import MessageError
from swapdesk.wallet.payload import Payload, SolanaPayload
from swapdesk.wallet.place import WalletPlace
from swapdesk.wallet.promise import Promise
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import EvmTerms, Finding, Review, Severity
from swapdesk.wallet.transactions import Signature, SignedTransaction

MAX_REVIEWS = 64


@dataclass(frozen=True)
class Pending:
    """A review that may be signed: what it was about and what was seen."""

    review: Review
    subject: Subject
    looked: Looked


class Reviewing:
    """Raises Refusal for what is no matter of the gate, and RecordsUnavailable."""

    def __init__(
        self, place: WalletPlace, wallet: Wallet, chains: Chains, records: Records, clock: Clock
    ) -> None:
        self._wallet = wallet
        self._chains = chains
        self._records = records
        self._clock = clock
        self._looking = Looking(place, chains, records, clock)
        self._signing = Signing(wallet, records, clock)
        self._pending: dict[str, Pending] = {}

    def forget(self) -> None:
        """Nothing that was reviewed can be signed any more."""
        self._pending.clear()

    async def review(self, payload: Payload, promise: Promise, replaces: str | None) -> Review:
        """Judge a payload. Nothing is signed, also for a wallet that is locked."""
        account = self._wallet.account(promise.account)
        link = self._chains.link(promise.chain, account.kind)
        if isinstance(payload, SolanaPayload) is not (account.kind is Kind.SOLANA):
            raise Refusal(Code.OTHER_CHAIN, f"nothing of this kind is signed for {link.name}")
        subject = Subject(payload, promise, account, link, replaces)
        looked = await self._looking.look(subject)
        refuse_foreign_chain(account, link, looked.facts.genesis_hash)
        verdict = looked.verdict
        review = Review(
            id=secrets.token_hex(16),
            title=verdict.title,
            account=account.address,
            chain=link.name,
            digest=_digest(looked),
            lines=verdict.lines,
            findings=verdict.findings,
            simulation=looked.facts.simulation,
            valid_until=verdict.valid_until,
            phrase=verdict.phrase,
            terms=_terms(looked),
        )
        while len(self._pending) >= MAX_REVIEWS:
            del self._pending[next(iter(self._pending))]
        self._pending[review.id] = Pending(review, subject, looked)
        return review

    async def bump(self, hash_: str, gas_units: int) -> tuple[Payload, Review]:
        """Judge the call of a transaction that waits once more, on its nonce for a higher fee,
        against the promise it was signed under. ``gas_units`` is the most that it may pay for
        gas now, where that is more than was confirmed then. Nothing is signed."""
        one = self._records.find(hash_)
        asked = None if one is None else self._records.asked(hash_)
        if one is None or asked is None:
            raise Refusal(Code.NO_TRANSACTION, "what this was signed for is not known here")
        try:
            payload, promise = read_asked(asked)
        except MessageError as error:
            raise Refusal(Code.NO_TRANSACTION, f"{error}, of what this was signed for") from None
        promise = replace(promise, gas_units=max(promise.gas_units, gas_units))
        # The one that pays most for gas is what has to be outbid.
        dearest = max((one, *self._records.twins(one)), key=lambda it: self._records.fees(it.hash))
        return payload, await self.review(payload, promise, dearest.hash)

    async def sign(
        self, review_id: str, digest: str, phrase: str | None
    ) -> Signature | SignedTransaction:
        """Sign what was reviewed under this id, if chain and gate still say the same.

        A review is used once, whatever comes of it but a wrong phrase.
        """
        pending = self._pending.get(review_id)
        if pending is None:
            raise Refusal(Code.UNKNOWN_REVIEW, "there is no such review: look at it once more")
        review, subject = pending.review, pending.subject
        if not digest or not hmac.compare_digest(digest.encode(), review.digest.encode()):
            raise Refusal(Code.STALE_REVIEW, "the digest is not the one that was reviewed")
        if review.refused:
            raise _refused(review.findings)
        if review.phrase is not None and phrase != review.phrase:
            raise Refusal(Code.NOT_CONFIRMED, "the phrase that had to be typed was not")
        if self._clock.now() >= review.valid_until:
            del self._pending[review_id]
            raise Refusal(Code.STALE_REVIEW, "the review has expired: look at it once more")
        signer_kind = self._wallet.evm if subject.account.kind is Kind.EVM else self._wallet.solana
        signer_kind(subject.account.address)
        del self._pending[review_id]
        looked = await self._looking.look(subject, pending.looked)
        refuse_foreign_chain(subject.account, subject.link, looked.facts.genesis_hash)
        _agree(pending.looked, looked)
        return self._signing.sign(subject, review.digest, looked)


def _agree(seen: Looked, looked: Looked) -> None:
    """Refuse when the second look differs from the first."""
    verdict = looked.verdict
    if verdict.refused:
        raise _refused(verdict.findings)
    if verdict.content is None or verdict.content != seen.verdict.content:
        raise Refusal(Code.STALE_REVIEW, "the payload reads another way than it did")
    known = {(one.code, one.field) for one in seen.verdict.findings}
    new = [one for one in verdict.findings if (one.code, one.field) not in known]
    if new or verdict.phrase != seen.verdict.phrase:
        raise Refusal(
            Code.STALE_REVIEW,
            "something changed since it was reviewed: look once more",
            tuple(new),
        )
    if looked.plan != seen.plan:
        raise Refusal(Code.STALE_REVIEW, "the transaction could not be prepared again")
    if looked.plan is not None and (looked.base_fee or 0) > looked.plan.max_fee:
        raise Refusal(Code.STALE_REVIEW, "the price of gas rose above what was reviewed")


def _digest(looked: Looked) -> str:
    """What is signed: of a transaction the hash with its nonce and fees, else the content."""
    if looked.plan is not None:
        return f"0x{signing_hash(looked.plan).hex()}"
    content = looked.verdict.content
    return "" if content is None else f"0x{content.hex()}"


def _terms(looked: Looked) -> EvmTerms | None:
    plan = looked.plan
    if plan is None:
        return None
    return EvmTerms(plan.chain_id, plan.nonce, plan.gas, plan.max_fee, plan.max_priority)


def _refused(findings: tuple[Finding, ...]) -> Refusal:
    first = next(one for one in findings if one.severity is Severity.REFUSE)
    return Refusal(Code.GATE, first.words, findings)
