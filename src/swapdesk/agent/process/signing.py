"""A signature for what was looked at twice: written down before anybody else sees it."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace

from swapdesk.agent.gate.taking import taking_of
from swapdesk.agent.process.looking import Looked, Subject
from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.process.wallet import Wallet
from swapdesk.agent.shapes.claim import Claim
from swapdesk.agent.shapes.operations import nonce_of
from swapdesk.agent.transactions.admission import (
    AlreadySigned,
    BadReplacement,
    NonceTaken,
    Unresolved,
)
from swapdesk.agent.transactions.asked import asked_text
from swapdesk.agent.transactions.entries import Draft, Given
from swapdesk.agent.transactions.records import OtherChain, Records
from swapdesk.chain.user_operation.hashing import signed_digest
from swapdesk.chain.user_operation.operation import EntryPointVersion
from swapdesk.clock import Clock
from swapdesk.wallet.payload import (
    OperationPayload,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import Signature, SignedTransaction


class Signing:
    """Raises Refusal, and RecordsUnavailable; after each of them no signature has left."""

    def __init__(self, wallet: Wallet, records: Records, clock: Clock) -> None:
        self._wallet = wallet
        self._records = records
        self._clock = clock

    def sign(self, subject: Subject, digest: str, looked: Looked) -> Signature | SignedTransaction:
        """Sign the payload as it was looked at; ``digest`` is that of the review."""
        self._bind(subject.link, looked)
        payload = subject.payload
        if isinstance(payload, TypedDataPayload):
            return self._document(subject, payload, digest, looked)
        if isinstance(payload, OperationPayload):
            return self._operation(subject, payload, digest, looked)
        if isinstance(payload, TransactionPayload):
            return self._transaction(subject, payload, looked)
        return self._solana(subject, payload, looked)

    def _bind(self, link: ChainLink, looked: Looked) -> None:
        genesis = looked.facts.genesis_hash
        if genesis is None:
            raise Refusal(Code.CHAIN_UNREACHABLE, "the node did not say which chain it is on")
        try:
            self._records.bind_chain(link.name, link.chain_id, genesis)
        except OtherChain as other:
            raise Refusal(Code.OTHER_CHAIN, str(other)) from None

    def _document(
        self, subject: Subject, payload: TypedDataPayload, digest: str, looked: Looked
    ) -> Signature:
        claim = looked.claim
        if claim is None or f"0x{claim.content.hex()}" != digest:
            raise Refusal(Code.STALE_REVIEW, "the digest is not the one that was reviewed")
        signature = self._wallet.evm(subject.account.address).sign_digest(claim.content)
        step = payload.step
        given = replace(
            _given(claim, subject),
            key=step.key,
            step=step.step,
            total=step.total,
            complete=step.complete,
        )
        # Written down before it leaves: what may be in the world is remembered.
        self._records.write_given(subject.promise.intent_id, given, self._clock.now())
        return Signature(digest, signature, looked.taken)

    def _operation(
        self, subject: Subject, payload: OperationPayload, digest: str, looked: Looked
    ) -> Signature:
        """The owner's signature over the hash that was computed here, as the release asks."""
        claim = looked.claim
        if claim is None or f"0x{claim.content.hex()}" != digest:
            raise Refusal(Code.STALE_REVIEW, "the digest is not the one that was reviewed")
        version = EntryPointVersion(payload.version)
        signer = self._wallet.evm(subject.account.address)
        signature = signer.sign_digest(signed_digest(claim.content, version))
        given = replace(_given(claim, subject), key=nonce_of(claim), step=0, total=1)
        self._records.write_given(subject.promise.intent_id, given, self._clock.now())
        return Signature(digest, signature, looked.taken)

    def _transaction(
        self, subject: Subject, payload: TransactionPayload, looked: Looked
    ) -> SignedTransaction:
        claim, plan = looked.claim, looked.plan
        if claim is None or plan is None:
            raise Refusal(Code.STALE_REVIEW, "the transaction could not be prepared again")
        if plan.chain_id != subject.link.chain_id or plan.chain_id != looked.facts.chain_id:
            raise Refusal(Code.OTHER_CHAIN, "the node is on another chain than the wallet")
        signed = self._wallet.evm(subject.account.address).sign_transaction(plan)
        draft = Draft(
            hash=signed.hash,
            intent_id=subject.promise.intent_id,
            purpose=payload.purpose,
            chain=subject.link.name,
            account=subject.account.address,
            content=claim.content,
            raw=signed.raw,
            nonce=plan.nonce,
            fee=plan.max_fee,
            priority=plan.max_priority,
            replaces=subject.replaces,
            asked=asked_text(payload, subject.promise),
        )
        return self._written(draft, _given(claim, subject), looked.of_node)

    def _solana(
        self, subject: Subject, payload: SolanaPayload, looked: Looked
    ) -> SignedTransaction:
        claim = looked.claim
        if claim is None or looked.last_valid is None:
            raise Refusal(Code.STALE_REVIEW, "how long it is valid could not be read again")
        signed = self._wallet.solana(subject.account.address).sign(b64decode(payload.transaction))
        if not signed.complete:
            raise Refusal(Code.BAD_REQUEST, "another signature is missing that comes before ours")
        draft = Draft(
            hash=signed.signature,
            intent_id=subject.promise.intent_id,
            purpose=payload.purpose,
            chain=subject.link.name,
            account=subject.account.address,
            content=claim.content,
            raw=signed.raw,
            last_valid=looked.last_valid,
        )
        return self._written(draft, _given(claim, subject), None)

    def _written(self, draft: Draft, given: Given, of_node: int | None) -> SignedTransaction:
        """The transaction as it stands in the records now."""
        given = replace(given, hash=draft.hash)
        try:
            self._records.write(draft, given, of_node, self._clock.now())
        except AlreadySigned as already:
            raise Refusal(Code.ALREADY_SIGNED, str(already)) from None
        except Unresolved as unresolved:
            raise Refusal(Code.UNRESOLVED, str(unresolved)) from None
        except (NonceTaken, BadReplacement) as stale:
            raise Refusal(Code.STALE_REVIEW, str(stale)) from None
        found = self._records.find(draft.hash)
        if found is None:
            raise Refusal(Code.RECORDS, "the transaction was not written down")
        return found


def _given(claim: Claim, subject: Subject) -> Given:
    promise, flows = subject.promise, (*claim.allowed, *claim.outflows)
    return Given(
        content=claim.content,
        act=claim.act.value,
        quote_id=promise.quote_id,
        chain_id=subject.link.chain_id,
        owner=promise.account,
        token=flows[0].token if flows else promise.sell.contract,
        contract=claim.contract,
        taking=taking_of(claim, promise),
    )
