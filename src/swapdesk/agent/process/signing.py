"""Reviewing and signing: from a payload to a review, and from a review to a signature.

A review is what the trader saw. Before signing, chain and gate are asked again. The agent signs
only if the content and the nonce are the same, there is no new objection, and the gas price still
suffices. The signature is recorded before it leaves the agent.

The payload and the promise of a transaction are stored with it. If it is replaced with a higher fee
later, the replacement is judged by that stored promise, whatever the desk says then.
"""

from __future__ import annotations

import hmac
import json
import secrets
from base64 import b64decode

from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.agent.gate.case import PastSignature, taking_of
from swapdesk.agent.process.chains import Chains, refuse_foreign_chain
from swapdesk.agent.process.payload_assessment import Looked, Looking, SigningRequest
from swapdesk.agent.process.wallet import Wallet
from swapdesk.agent.shapes.calls import nonce_of
from swapdesk.agent.shapes.claim import Claim
from swapdesk.agent.signers import EvmSigner, SolanaSigner, signing_hash
from swapdesk.agent.spending.policy_file import PolicyKeeper
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.smart_account import EntryPointVersion, signed_digest
from swapdesk.clock import Clock
from swapdesk.wallet.accounts import Kind, WalletPlace
from swapdesk.wallet.answers import (
    EvmTerms,
    Review,
    RuleFinding,
    Severity,
    Signature,
    SignedTransaction,
)
from swapdesk.wallet.promise import (
    OperationPayload,
    Payload,
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wallet.protocol import (
    MessageError,
    Refused,
    from_json,
    payload_from_json,
    payload_to_json,
)
from swapdesk.wallet.protocol import to_json as as_json


def read_asked(text: str) -> tuple[TransactionPayload, Promise]:
    """Returns a transaction's payload and what the user confirmed for it, from their JSON in the
    records. Raises MessageError if another release wrote them differently."""
    entry = json.loads(text)
    payload = payload_from_json(entry.get("payload"))
    if not isinstance(payload, TransactionPayload):
        raise MessageError("a payload of another kind")
    return payload, from_json(Promise, entry.get("promise"))


MAX_REVIEWS = 64


class Reviewing:
    """Reviews and signs payloads for one wallet. If a method raises Refused, no signature has been
    given out."""

    def __init__(
        self,
        place: WalletPlace,
        wallet: Wallet,
        chains: Chains,
        records: Records,
        policy: PolicyKeeper,
        clock: Clock,
    ) -> None:
        self._wallet = wallet
        self._chains = chains
        self._records = records
        self._clock = clock
        self._looking = Looking(place, chains, records, policy, clock)
        self._pending: dict[str, tuple[Review, SigningRequest, Looked]] = {}
        """The reviews that may still be signed, by id, each with its request and its first
        assessment."""

    def forget(self) -> None:
        self._pending.clear()

    async def review(self, payload: Payload, promise: Promise, replaces: str | None) -> Review:
        """Assesses a payload without signing it, even while the wallet is locked. ``replaces`` is
        the hash of the waiting transaction whose nonce the payload reuses, None if it has its
        own."""
        account = self._wallet.account(promise.account)
        link = self._chains.link(promise.chain, account.kind)
        if isinstance(payload, SolanaPayload) is not (account.kind is Kind.SOLANA):
            raise Refused("other_chain", f"nothing of this kind is signed for {link.name}")
        subject = SigningRequest(payload, promise, account, link, replaces)
        looked = await self._looking.look(subject)
        refuse_foreign_chain(account, link, looked.facts.genesis_hash)
        digest = looked.verdict.digest
        if looked.plan is not None and isinstance(payload, TransactionPayload):
            # A transaction with its nonce and fees; anything else by its content.
            digest = f"0x{signing_hash(payload, looked.plan).hex()}"
        review = replace(
            looked.verdict,
            id=secrets.token_hex(16),
            account=account.address,
            chain=link.name,
            digest=digest,
            terms=looked.plan,
        )
        while len(self._pending) >= MAX_REVIEWS:
            del self._pending[next(iter(self._pending))]
        self._pending[review.id] = review, subject, looked
        return review

    async def bump(self, hash_: str, gas_units: int) -> tuple[Payload, Review]:
        """Returns the call of a waiting transaction, and a review of that call with the same nonce
        and a higher fee. Gas may cost the confirmed amount, or ``gas_units`` wei if that is higher.
        Signs nothing."""
        transaction = self._records.find(hash_)
        asked = None if transaction is None else self._records.asked(hash_)
        if transaction is None or asked is None:
            raise Refused("no_transaction", "what this was signed for is not known here")
        try:
            payload, promise = read_asked(asked)
        except MessageError as error:
            raise Refused("no_transaction", f"{error}, of what this was signed for") from None
        promise = replace(promise, gas_units=max(promise.gas_units, gas_units))
        # The transaction that pays most for gas must be outbid.
        dearest = max(
            (transaction, *self._records.twins(transaction)),
            key=lambda it: self._records.fees(it.hash),
        )
        return payload, await self.review(payload, promise, dearest.hash)

    async def sign(
        self, review_id: str, digest: str, phrase: str | None
    ) -> Signature | SignedTransaction:
        """Signs the payload of a review if a second assessment agrees with the first; otherwise
        raises Refused. A wrong ``phrase`` raises Refused too and leaves the review usable. From the
        second assessment on, the review is used up."""
        pending = self._pending.get(review_id)
        if pending is None:
            raise Refused("unknown_review", "there is no such review: look at it once more")
        review, subject, seen = pending
        if not digest or not hmac.compare_digest(digest.encode(), review.digest.encode()):
            raise Refused("stale_review", "the digest is not the one that was reviewed")
        if review.refused:
            raise _refused(review.findings)
        if review.phrase is not None and phrase != review.phrase:
            raise Refused("not_confirmed", "the phrase that had to be typed was not")
        if self._clock.now() >= review.valid_until:
            del self._pending[review_id]
            raise Refused("stale_review", "the review has expired: look at it once more")
        of_kind = EvmSigner if subject.account.kind is Kind.EVM else SolanaSigner
        self._wallet.signer(subject.account.address, of_kind)
        del self._pending[review_id]
        looked = await self._looking.look(subject, seen)
        refuse_foreign_chain(subject.account, subject.link, looked.facts.genesis_hash)
        require_agreement(seen, looked)
        claim, payload = looked.claim, subject.payload
        link, genesis = subject.link, looked.facts.genesis_hash
        if genesis is None:
            raise Refused("chain_unreachable", "the node did not say which chain it is on")
        self._records.bind_chain(link.name, link.chain_id, genesis)
        if claim is None or (
            not isinstance(payload, TransactionPayload) and f"0x{claim.content.hex()}" != digest
        ):
            raise Refused("stale_review", "the digest is not the one that was reviewed")
        if isinstance(payload, TransactionPayload):
            return self._transaction(subject, payload, claim, looked)
        if isinstance(payload, SolanaPayload):
            return self._solana(subject, payload, claim, looked)
        return self._signature(subject, claim, looked)

    def _signature(self, subject: SigningRequest, claim: Claim, looked: Looked) -> Signature:
        payload = subject.payload
        given, content, call = _given(claim, subject), claim.content, None
        if isinstance(payload, TypedDataPayload):
            step = payload.step
            given = replace(
                given, key=step.key, step=step.step, total=step.total, complete=step.complete
            )
            if payload.purpose is Purpose.CALL:
                [payee] = [text for _, text in claim.texts("payee")]
                call = (subject.link.chain_id, given.token, payee)
        elif isinstance(payload, OperationPayload):
            given = replace(given, key=nonce_of(claim), step=0, total=1)
            content = signed_digest(content, EntryPointVersion(payload.version))
        signature = self._wallet.signer(subject.account.address, EvmSigner).sign_digest(content)
        # Recorded before it leaves: whatever may have left is counted.
        self._records.write_given(
            subject.promise.intent_id, given, self._clock.now(), looked.spending, call
        )
        return Signature(f"0x{claim.content.hex()}", signature, looked.taken)

    def _transaction(
        self, subject: SigningRequest, payload: TransactionPayload, claim: Claim, looked: Looked
    ) -> SignedTransaction:
        plan = looked.plan
        if plan is None:
            raise Refused("stale_review", "the transaction could not be prepared again")
        if plan.chain_id != subject.link.chain_id or plan.chain_id != looked.facts.chain_id:
            raise Refused("other_chain", "the node is on another chain than the wallet")
        signer = self._wallet.signer(subject.account.address, EvmSigner)
        raw, hash_ = signer.sign_transaction(payload, plan)
        asked = {"payload": payload_to_json(payload), "promise": as_json(subject.promise)}
        return self._written(subject, claim, looked, raw, hash_, plan, json.dumps(asked))

    def _solana(
        self, subject: SigningRequest, payload: SolanaPayload, claim: Claim, looked: Looked
    ) -> SignedTransaction:
        if looked.facts.last_valid is None:
            raise Refused("stale_review", "how long it is valid could not be read again")
        signer = self._wallet.signer(subject.account.address, SolanaSigner)
        raw, hash_, complete = signer.sign(b64decode(payload.transaction))
        if not complete:
            raise Refused("bad_request", "another signature is missing that comes before ours")
        return self._written(subject, claim, looked, raw, hash_)

    def _written(
        self,
        subject: SigningRequest,
        claim: Claim,
        looked: Looked,
        raw: bytes,
        hash_: str,
        terms: EvmTerms | None = None,
        asked: str | None = None,
    ) -> SignedTransaction:
        signed = SignedTransaction(
            hash=hash_,
            intent_id=subject.promise.intent_id,
            purpose=subject.payload.purpose,
            chain=subject.link.name,
            account=subject.account.address,
            state=State.PREPARED,
            nonce=None if terms is None else terms.nonce,
            last_valid_height=looked.facts.last_valid,
            confirmations=0,
            replaces=None if terms is None else subject.replaces,
            created=self._clock.now(),
        )
        given = _given(claim, subject)
        fees = (terms.max_fee, terms.max_priority) if terms else (0, 0)
        return self._records.write(
            signed, raw, given, looked.facts.nonce, looked.spending, fees=fees, asked=asked
        )


def require_agreement(seen: Looked, looked: Looked) -> None:
    """Raises Refused if the second assessment of a payload (``looked``) refuses it or differs from
    the first (``seen``)."""
    verdict = looked.verdict
    if verdict.refused:
        raise _refused(verdict.findings)
    if not verdict.digest or verdict.digest != seen.verdict.digest:
        raise Refused("stale_review", "the payload reads another way than it did")
    known = {(finding.code, finding.field) for finding in seen.verdict.findings}
    new = [finding for finding in verdict.findings if (finding.code, finding.field) not in known]
    if new or verdict.phrase != seen.verdict.phrase:
        raise Refused(
            "stale_review",
            "something changed since it was reviewed: look once more",
            tuple(new),
        )
    if looked.plan != seen.plan:
        raise Refused("stale_review", "the transaction could not be prepared again")
    if looked.plan is not None and (looked.facts.base_fee or 0) > looked.plan.max_fee:
        raise Refused("stale_review", "the price of gas rose above what was reviewed")


def _refused(findings: tuple[RuleFinding, ...]) -> Refused:
    first = next(finding for finding in findings if finding.severity is Severity.REFUSE)
    return Refused("gate", first.words, findings)


def _given(claim: Claim, subject: SigningRequest) -> PastSignature:
    promise, flows = subject.promise, (*claim.allowed, *claim.outflows)
    return PastSignature(
        content=claim.content,
        act=claim.act,
        quote_id=promise.quote_id,
        chain_id=subject.link.chain_id,
        owner=promise.account,
        token=flows[0].token if flows else promise.sell.contract,
        contract=claim.contract,
        taking=taking_of(claim, promise),
    )
