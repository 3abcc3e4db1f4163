"""One look at a payload: what it says, what the chain says to it, and what the gate makes of both.

Looking signs nothing and writes nothing down. On a second look the payload is the object of the
first one; only the chain may have moved.
"""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, replace
from datetime import datetime

from swapdesk.agent.gate.case import Case
from swapdesk.agent.gate.facts import Facts, needed
from swapdesk.agent.gate.memory import Memory, Signed
from swapdesk.agent.gate.policy import Policy
from swapdesk.agent.gate.rules.steps import taken_in_all
from swapdesk.agent.gate.verdict import Verdict, judge, unreadable
from swapdesk.agent.process.chains import Chains
from swapdesk.agent.process.evm_facts import EvmFacts, read_facts
from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.process.smart_accounts import account_factory
from swapdesk.agent.shapes.claim import Act, Claim, PayloadRefused
from swapdesk.agent.shapes.reading import read_payload
from swapdesk.agent.signers.evm import EvmTransaction
from swapdesk.agent.signers.typed_data import digest_of_others
from swapdesk.agent.transactions.entries import Given
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.deployments import SANDBOX_VENUES
from swapdesk.chain.rpc.evm import Call
from swapdesk.clock import Clock
from swapdesk.wallet.accounts import Account, Kind
from swapdesk.wallet.payload import Payload, SolanaPayload, TransactionPayload, TypedDataPayload
from swapdesk.wallet.place import ChainLink, WalletPlace
from swapdesk.wallet.promise import Promise
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import CHAIN_UNREAD, Finding, Severity
from swapdesk.wallet.transactions import TransactionState

_NEVER_ARRIVES = frozenset({TransactionState.ABANDONED, TransactionState.REPLACED})
"""And one of Solana that is LOST: its blockhash has expired."""


@dataclass(frozen=True)
class Subject:
    """What is looked at: a payload, what was confirmed for it, and who would sign it where.
    ``replaces`` is the hash of a transaction whose nonce it takes."""

    payload: Payload
    promise: Promise
    account: Account
    link: ChainLink
    replaces: str | None = None


@dataclass(frozen=True)
class Looked:
    """One look at a payload: the claim, what the chain said and what the gate made of it.

    ``plan`` is the transaction that would be signed, ``of_node`` the nonce its node gave, and
    ``taken`` the most that could be taken then by all that was signed under the intent.
    """

    claim: Claim | None
    facts: Facts
    verdict: Verdict
    plan: EvmTransaction | None = None
    of_node: int | None = None
    base_fee: int | None = None
    last_valid: int | None = None
    taken: int = 0


class Looking:
    """Raises Refusal for what is no matter of the gate, and RecordsUnavailable."""

    def __init__(self, place: WalletPlace, chains: Chains, records: Records, clock: Clock) -> None:
        self._place = place
        self._chains = chains
        self._records = records
        self._clock = clock

    async def look(self, subject: Subject, before: Looked | None = None) -> Looked:
        """``before`` is the first look at the same subject."""
        payload, promise, link = subject.payload, subject.promise, subject.link
        now = self._clock.now()
        policy = self._policy(subject.account, link)
        if before is not None and before.claim is not None:
            # The payload is the very object that was reviewed; only the chain may have moved.
            claim = before.claim
        else:
            try:
                claim = read_payload(payload, promise)
            except PayloadRefused as refusal:
                return Looked(None, Facts(now), unreadable(refusal, now))
        memory = tuple(_remembered(one) for one in self._records.given(promise.intent_id))
        read, last_valid = await self._read(subject, claim, policy, memory, now)
        if not policy.genesis_hash:
            # First use: the chain is the one the node serves, and from the first signature on
            # no other.
            policy = replace(policy, genesis_hash=read.facts.genesis_hash or "")
        facts = read.facts
        plan = None
        if isinstance(payload, TransactionPayload) and facts.gas is not None:
            plan, facts = self._plan(subject, payload, read, before)
        step = payload.step if isinstance(payload, TypedDataPayload) else None
        case = Case(
            claim,
            payload.purpose,
            step,
            promise,
            policy,
            facts,
            memory,
            subject.replaces,
            None if plan is None else plan.nonce,
        )
        verdict = judge(case)
        extra = [] if read.problem is None else [_unread(read.problem)]
        if isinstance(payload, TypedDataPayload) and before is None:
            extra += _second_opinion(payload, claim)
        if extra:
            verdict = replace(verdict, findings=(*extra, *verdict.findings))
        return Looked(
            claim,
            facts,
            verdict,
            plan,
            read.nonce,
            read.base_fee,
            last_valid,
            taken_in_all(case),
        )

    async def _read(
        self, subject: Subject, claim: Claim, policy: Policy, memory: Memory, now: datetime
    ) -> tuple[EvmFacts, int | None]:
        """What the chain says, and the last height of a Solana transaction."""
        payload, promise, link = subject.payload, subject.promise, subject.link
        if isinstance(payload, SolanaPayload) and link.kind is Kind.SOLANA:
            from swapdesk.agent.process.solana_facts import read_solana_facts

            client = self._chains.solana(link)
            raw = b64decode(payload.transaction)
            seen = await read_solana_facts(client, payload, raw, promise, now)
            return EvmFacts(seen.facts, problem=seen.problem), seen.last_valid
        if link.kind is not Kind.EVM:
            return EvmFacts(Facts(now)), None
        call = None
        if isinstance(payload, TransactionPayload):
            data = bytes.fromhex(payload.data[2:])
            call = Call(payload.to, data, subject.account.address, payload.value)
        needs = needed(claim, promise, policy, memory)
        return await read_facts(self._chains.evm(link), needs, promise, now, call), None

    def _policy(self, account: Account, link: ChainLink) -> Policy:
        place = self._place
        return Policy(
            account=account.address,
            chain_id=link.chain_id,
            genesis_hash=self._records.genesis(link.name) or "",
            venues=() if place.live else SANDBOX_VENUES,
            makers=frozenset(place.makers),
            spenders=frozenset(place.spenders),
            known=frozenset(place.known),
            blind=place.blind,
            accounts=account_factory(place),
        )

    def _plan(
        self,
        subject: Subject,
        payload: TransactionPayload,
        read: EvmFacts,
        before: Looked | None,
    ) -> tuple[EvmTransaction | None, Facts]:
        """The transaction to sign. On the second look it is the one of the first."""
        promise, replaces = subject.promise, subject.replaces
        facts, gas = read.facts, read.facts.gas
        if gas is None or read.nonce is None or read.priority is None or promise.chain_id is None:
            return None, facts
        if before is not None and before.plan is not None:
            agreed = replace(gas, limit=before.plan.gas, fee=before.plan.max_fee)
            if gas.limit > before.plan.gas * 2:
                raise Refusal(Code.STALE_REVIEW, "it would need more gas than was reviewed")
            return before.plan, replace(facts, gas=agreed)
        nonce = self._records.next_nonce(promise.chain, subject.account.address, read.nonce)
        fee, priority = gas.fee, min(read.priority, gas.fee)
        if replaces is not None:
            old = self._records.find(replaces)
            if old is None or old.nonce is None:
                raise Refusal(Code.NO_TRANSACTION, "there is no such transaction to replace")
            nonce = old.nonce
            old_fee, old_priority = self._records.fees(replaces)
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


def _unread(problem: str) -> Finding:
    return Finding(CHAIN_UNREAD, Severity.REFUSE, f"The chain could not be read: {problem}.")


def _second_opinion(payload: TypedDataPayload, claim: Claim) -> list[Finding]:
    other = digest_of_others(payload.document)
    if other is None or other == claim.content:
        return []
    words = "Other wallets would compute another digest of it."
    return [Finding("DIGEST_DISAGREES", Severity.REFUSE, words)]


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
        taking=given.taking,
        nonce=given.nonce,
    )
