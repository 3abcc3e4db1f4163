"""From a payload to a review, and from a review to a signature.

A review is what the trader saw. Signing asks the chain and the gate once more, and goes on only
when they say the same: the same content, no new objection, the same nonce, a price that holds.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import b64decode
from dataclasses import dataclass, replace

from swapdesk.agent.gate.case import Case
from swapdesk.agent.gate.facts import Facts, needed
from swapdesk.agent.gate.memory import Signed
from swapdesk.agent.gate.policy import Policy
from swapdesk.agent.gate.verdict import Verdict, judge, unreadable
from swapdesk.agent.process.chains import Chains, refuse_foreign_chain
from swapdesk.agent.process.evm_facts import EvmFacts, read_facts
from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.process.wallet import Wallet
from swapdesk.agent.shapes.claim import Act, Claim, PayloadRefused
from swapdesk.agent.shapes.reading import read_payload
from swapdesk.agent.signers.evm import EvmTransaction, signing_hash
from swapdesk.agent.signers.typed_data import digest_of_others
from swapdesk.agent.transactions.records import (
    AlreadySigned,
    BadReplacement,
    Draft,
    Given,
    NonceTaken,
    OtherChain,
    Records,
    Unresolved,
)
from swapdesk.chain.deployments import SANDBOX_VENUES
from swapdesk.chain.rpc.evm import Call
from swapdesk.clock import Clock
from swapdesk.wallet.accounts import Account, Kind
from swapdesk.wallet.payload import Payload, SolanaPayload, TransactionPayload, TypedDataPayload
from swapdesk.wallet.place import ChainLink, WalletPlace
from swapdesk.wallet.promise import Promise
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import Finding, Review, Severity
from swapdesk.wallet.transactions import Signature, SignedTransaction, TransactionState

MAX_REVIEWS = 64
_NEVER_ARRIVES = frozenset({TransactionState.ABANDONED, TransactionState.REPLACED})
"""And one of Solana that is LOST: its blockhash has expired."""


@dataclass(frozen=True)
class Looked:
    """One look at a payload: the claim, what the chain said and what the gate made of it.

    ``plan`` is the transaction that would be signed, ``of_node`` the nonce its node gave.
    """

    claim: Claim | None
    facts: Facts
    verdict: Verdict
    plan: EvmTransaction | None = None
    of_node: int | None = None
    base_fee: int | None = None
    last_valid: int | None = None


@dataclass(frozen=True)
class Pending:
    """A review that may be signed: what it was about and what was seen."""

    review: Review
    payload: Payload
    promise: Promise
    account: Account
    link: ChainLink
    looked: Looked
    replaces: str | None


class Reviewing:
    """Raises Refusal for what is no matter of the gate, and RecordsUnavailable."""

    def __init__(
        self, place: WalletPlace, wallet: Wallet, chains: Chains, records: Records, clock: Clock
    ) -> None:
        self._place = place
        self._wallet = wallet
        self._chains = chains
        self.records = records
        self._clock = clock
        self._pending: dict[str, Pending] = {}

    def forget(self) -> None:
        """Nothing that was reviewed can be signed any more."""
        self._pending.clear()

    async def review(self, payload: Payload, promise: Promise, replaces: str | None) -> Review:
        """Judge a payload. Nothing is signed, also for a wallet that is locked."""
        account = self._wallet.account(promise.account)
        link = self._chains.link(promise.chain, account.kind)
        looked = await self._look(payload, promise, account, link, replaces, None)
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
        )
        while len(self._pending) >= MAX_REVIEWS:
            del self._pending[next(iter(self._pending))]
        self._pending[review.id] = Pending(
            review, payload, promise, account, link, looked, replaces
        )
        return review

    async def sign(
        self, review_id: str, digest: str, phrase: str | None
    ) -> Signature | SignedTransaction:
        """Sign what was reviewed under this id, if chain and gate still say the same.

        A review is used once, whatever comes of it but a wrong phrase.
        """
        pending = self._pending.get(review_id)
        if pending is None:
            raise Refusal(Code.UNKNOWN_REVIEW, "there is no such review: look at it once more")
        review = pending.review
        if not digest or not hmac.compare_digest(digest.encode(), review.digest.encode()):
            raise Refusal(Code.STALE_REVIEW, "the digest is not the one that was reviewed")
        if review.refused:
            raise _refused(review.findings)
        if review.phrase is not None and phrase != review.phrase:
            raise Refusal(Code.NOT_CONFIRMED, "the phrase that had to be typed was not")
        if self._clock.now() >= review.valid_until:
            del self._pending[review_id]
            raise Refusal(Code.STALE_REVIEW, "the review has expired: look at it once more")
        signer_kind = self._wallet.evm if pending.account.kind is Kind.EVM else self._wallet.solana
        signer_kind(pending.account.address)
        del self._pending[review_id]
        looked = await self._look(
            pending.payload,
            pending.promise,
            pending.account,
            pending.link,
            pending.replaces,
            pending.looked,
        )
        refuse_foreign_chain(pending.account, pending.link, looked.facts.genesis_hash)
        self._agree(pending, looked)
        self._bind(pending, looked)
        if isinstance(pending.payload, TypedDataPayload):
            return self._sign_document(pending, pending.payload, looked)
        if isinstance(pending.payload, TransactionPayload):
            return self._sign_transaction(pending, looked)
        return self._sign_solana(pending, pending.payload, looked)

    # Looking

    async def _look(
        self,
        payload: Payload,
        promise: Promise,
        account: Account,
        link: ChainLink,
        replaces: str | None,
        before: Looked | None,
    ) -> Looked:
        now = self._clock.now()
        policy = self._policy(account, link)
        if before is not None and before.claim is not None:
            # The payload is the very object that was reviewed; only the chain may have moved.
            claim = before.claim
        else:
            try:
                claim = read_payload(payload, promise)
            except PayloadRefused as refusal:
                return Looked(None, Facts(now), unreadable(refusal, now))
        call = None
        if isinstance(payload, TransactionPayload):
            data = bytes.fromhex(payload.data[2:])
            call = Call(payload.to, data, account.address, payload.value)
        read, last_valid = EvmFacts(Facts(now)), None
        if isinstance(payload, SolanaPayload) and link.kind is Kind.SOLANA:
            from swapdesk.agent.process.solana_facts import read_solana_facts

            client = self._chains.solana(link)
            seen = await read_solana_facts(
                client, payload, b64decode(payload.transaction), promise, now
            )
            read, last_valid = EvmFacts(seen.facts, problem=seen.problem), seen.last_valid
        elif link.kind is Kind.EVM:
            needs = needed(claim, promise, policy)
            read = await read_facts(self._chains.evm(link), needs, promise, now, call)
        if not policy.genesis_hash:
            # First use: the chain is the one the node serves, and from the first signature on
            # no other.
            policy = replace(policy, genesis_hash=read.facts.genesis_hash or "")
        facts = read.facts
        plan = None
        if isinstance(payload, TransactionPayload) and facts.gas is not None:
            plan, facts = self._plan(payload, promise, account, read, replaces, before)
        step = payload.step if isinstance(payload, TypedDataPayload) else None
        memory = tuple(_remembered(one) for one in self.records.given(promise.intent_id))
        case = Case(claim, payload.purpose, step, promise, policy, facts, memory)
        verdict = judge(case)
        extra = [] if read.problem is None else [_unread(read.problem)]
        if isinstance(payload, TypedDataPayload) and before is None:
            extra += _second_opinion(payload, claim)
        if extra:
            verdict = replace(verdict, findings=(*extra, *verdict.findings))
        return Looked(claim, facts, verdict, plan, read.nonce, read.base_fee, last_valid)

    def _policy(self, account: Account, link: ChainLink) -> Policy:
        place = self._place
        return Policy(
            account=account.address,
            chain_id=link.chain_id,
            genesis_hash=self.records.genesis(link.name) or "",
            venues=() if place.live else SANDBOX_VENUES,
            makers=frozenset(place.makers),
            spenders=frozenset(place.spenders),
            known=frozenset(place.known),
            blind=place.blind,
        )

    def _plan(
        self,
        payload: TransactionPayload,
        promise: Promise,
        account: Account,
        read: EvmFacts,
        replaces: str | None,
        before: Looked | None,
    ) -> tuple[EvmTransaction | None, Facts]:
        """The transaction to sign. On the second look it is the one of the first."""
        facts, gas = read.facts, read.facts.gas
        if gas is None or read.nonce is None or read.priority is None or promise.chain_id is None:
            return None, facts
        if before is not None and before.plan is not None:
            agreed = replace(gas, limit=before.plan.gas, fee=before.plan.max_fee)
            if gas.limit > before.plan.gas * 2:
                raise Refusal(Code.STALE_REVIEW, "it would need more gas than was reviewed")
            return before.plan, replace(facts, gas=agreed)
        nonce = self.records.next_nonce(promise.chain, account.address, read.nonce)
        fee, priority = gas.fee, min(read.priority, gas.fee)
        if replaces is not None:
            old = self.records.find(replaces)
            if old is None or old.nonce is None:
                raise Refusal(Code.NO_TRANSACTION, "there is no such transaction to replace")
            nonce = old.nonce
            old_fee, old_priority = self.records.fees(replaces)
            fee = max(fee, old_fee * 9 // 8 + 1)
            priority = min(max(priority, old_priority * 9 // 8 + 1), fee)
        planned = replace(gas, fee=fee)
        plan = EvmTransaction(
            chain_id=promise.chain_id,
            nonce=nonce,
            to=payload.to,
            value=payload.value,
            data=bytes.fromhex(payload.data[2:]),
            gas=gas.limit,
            max_fee=fee,
            max_priority=priority,
        )
        return plan, replace(facts, gas=planned)

    # Signing

    def _agree(self, pending: Pending, looked: Looked) -> None:
        """Refuse when the second look differs from the first."""
        verdict, seen = looked.verdict, pending.looked
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
        if looked.plan is not None and (looked.base_fee or 0) > looked.plan.max_fee:
            raise Refusal(Code.STALE_REVIEW, "the price of gas rose above what was reviewed")

    def _bind(self, pending: Pending, looked: Looked) -> None:
        genesis = looked.facts.genesis_hash
        if genesis is None:
            raise Refusal(Code.CHAIN_UNREACHABLE, "the node did not say which chain it is on")
        try:
            self.records.bind_chain(pending.link.name, pending.link.chain_id, genesis)
        except OtherChain as other:
            raise Refusal(Code.OTHER_CHAIN, str(other)) from None

    def _sign_document(
        self, pending: Pending, payload: TypedDataPayload, looked: Looked
    ) -> Signature:
        claim = looked.claim
        if claim is None or f"0x{claim.content.hex()}" != pending.review.digest:
            raise Refusal(Code.STALE_REVIEW, "the digest is not the one that was reviewed")
        signature = self._wallet.evm(pending.account.address).sign_digest(claim.content)
        given = _given(claim, pending.promise, pending.link)
        step = payload.step
        given = replace(
            given, key=step.key, step=step.step, total=step.total, complete=step.complete
        )
        # Written down before it leaves: what may be in the world is remembered.
        self.records.write_given(pending.promise.intent_id, given, self._clock.now())
        return Signature(pending.review.digest, signature)

    def _sign_transaction(self, pending: Pending, looked: Looked) -> SignedTransaction:
        claim, plan, promise = looked.claim, looked.plan, pending.promise
        if claim is None or plan is None or plan != pending.looked.plan:
            raise Refusal(Code.STALE_REVIEW, "the transaction could not be prepared again")
        if plan.chain_id != pending.link.chain_id or plan.chain_id != looked.facts.chain_id:
            raise Refusal(Code.OTHER_CHAIN, "the node is on another chain than the wallet")
        signed = self._wallet.evm(pending.account.address).sign_transaction(plan)
        draft = Draft(
            hash=signed.hash,
            intent_id=promise.intent_id,
            purpose=pending.payload.purpose,
            chain=pending.link.name,
            account=pending.account.address,
            content=claim.content,
            raw=signed.raw,
            nonce=plan.nonce,
            fee=plan.max_fee,
            priority=plan.max_priority,
            replaces=pending.replaces,
        )
        given = replace(_given(claim, promise, pending.link), hash=signed.hash)
        self._write(draft, given, looked.of_node)
        found = self.records.find(signed.hash)
        if found is None:
            raise Refusal(Code.RECORDS, "the transaction was not written down")
        return found

    def _sign_solana(
        self, pending: Pending, payload: SolanaPayload, looked: Looked
    ) -> SignedTransaction:
        claim, promise = looked.claim, pending.promise
        if claim is None or looked.last_valid is None:
            raise Refusal(Code.STALE_REVIEW, "how long it is valid could not be read again")
        signed = self._wallet.solana(pending.account.address).sign(b64decode(payload.transaction))
        if not signed.complete:
            raise Refusal(Code.BAD_REQUEST, "another signature is missing that comes before ours")
        draft = Draft(
            hash=signed.signature,
            intent_id=promise.intent_id,
            purpose=payload.purpose,
            chain=pending.link.name,
            account=pending.account.address,
            content=claim.content,
            raw=signed.raw,
            last_valid=looked.last_valid,
        )
        given = replace(_given(claim, promise, pending.link), hash=signed.signature)
        self._write(draft, given, None)
        found = self.records.find(signed.signature)
        if found is None:
            raise Refusal(Code.RECORDS, "the transaction was not written down")
        return found

    def _write(self, draft: Draft, given: Given, of_node: int | None) -> None:
        try:
            self.records.write(draft, given, of_node, self._clock.now())
        except AlreadySigned as already:
            raise Refusal(Code.ALREADY_SIGNED, str(already)) from None
        except Unresolved as unresolved:
            raise Refusal(Code.UNRESOLVED, str(unresolved)) from None
        except (NonceTaken, BadReplacement) as stale:
            raise Refusal(Code.STALE_REVIEW, str(stale)) from None


def _digest(looked: Looked) -> str:
    """What is signed: of a transaction the hash with its nonce and fees, else the content."""
    if looked.plan is not None:
        return f"0x{signing_hash(looked.plan).hex()}"
    content = looked.verdict.content
    return "" if content is None else f"0x{content.hex()}"


def _refused(findings: tuple[Finding, ...]) -> Refusal:
    first = next(one for one in findings if one.severity is Severity.REFUSE)
    return Refusal(Code.GATE, first.words, findings)


def _unread(problem: str) -> Finding:
    return Finding("CHAIN_UNREAD", Severity.REFUSE, f"The chain could not be read: {problem}.")


def _second_opinion(payload: TypedDataPayload, claim: Claim) -> list[Finding]:
    other = digest_of_others(payload.document)
    if other is None or other == claim.content:
        return []
    words = "Other wallets would compute another digest of it."
    return [Finding("DIGEST_DISAGREES", Severity.REFUSE, words)]


def _given(claim: Claim, promise: Promise, link: ChainLink) -> Given:
    flows = (*claim.allowed, *claim.outflows)
    return Given(
        content=claim.content,
        act=claim.act.value,
        quote_id=promise.quote_id,
        chain_id=link.chain_id,
        owner=promise.account,
        token=flows[0].token if flows else promise.sell.contract,
        contract=claim.contract,
    )


def _remembered(given: Given) -> Signed:
    return Signed(
        content=given.content,
        act=Act(given.act),
        quote_id=given.quote_id,
        chain_id=given.chain_id,
        owner=given.owner,
        token=given.token,
        contract=given.contract,
        key=given.key,
        step=given.step,
        total=given.total,
        complete=given.complete,
        # Not even a failure: a node can tell a wrong one, and the money leaves twice.
        spent=given.state in _NEVER_ARRIVES
        or (given.state is TransactionState.LOST and given.chain_id is None),
    )
