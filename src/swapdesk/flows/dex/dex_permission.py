"""Letting the venue take what is sold: approvals mined one after the other, then signatures.

The service repeats what is still missing until nothing is (contract 10.3). A chain of signatures
goes forward by one step and has an end. Each step is journaled, signed once and sent to its end.
The agent's records decide: a transaction found there is sent again as it is, never made anew, and
a step that has become another document ends the swap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import OutcomeUnknown, RateLimited, Unreachable
from swapdesk.clock import Clock
from swapdesk.flows.dex.dex_plan import (
    MOST_APPROVALS,
    MOST_STEPS,
    PERMIT,
    approval_of,
    journaled_plan,
    plan_of,
    promise_of,
    signature_kind,
)
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.creates import acts_of, newest_part
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Kind, Ledger, Operation
from swapdesk.flows.orders.told_transaction import NotThisSwap
from swapdesk.flows.transactions import ActEntry, Look, Pace, Transactor, Watch
from swapdesk.wallet.answers import Signature, SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    ChainStep,
    Payload,
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wire.dex import (
    Approval,
    ApproveAnswer,
    ApproveRequest,
    ChainSignaturesRequest,
    GivenSignature,
    SignatureRequirement,
    SignatureType,
)
from swapdesk.wire.encoding.codec import encode_json

AFTER_QUOTE = timedelta(hours=1)
"""So long after its quote the transaction of an order may be signed, whatever the order says."""

AGAIN_LATER = frozenset({"locked", "read_only", "chain_unreachable"})
"""The swap goes on behind these, so that its step stays open: a refused one ends the swap."""
_LATER = frozenset(code.upper() for code in AGAIN_LATER)


class SwapPart(ActEntry):
    """A transaction that a swap takes, as a part of its create."""

    def done(self, hash_: str) -> None:
        """What was executed after it had been refused is an act of its own: it is never told as
        something that cannot be executed any more."""
        with self._ledger.transaction():
            super().done(hash_)
            part = self._act and self._ledger.get(self._act.id)
            if part is not None and part.state is State.REFUSED:
                result = part.result | {"hash": hash_}
                self._ledger.begin(
                    part.kind, part.body, parent=part.parent, state=State.DONE, **result
                )

    def refused(self, code: str, hash_: str | None = None) -> None:
        if hash_ is not None or code not in _LATER:
            super().refused(code, hash_)


class _SignaturePart(SwapPart):
    """A document that a swap takes; nothing of it leaves by itself."""

    def given(self, signature: Signature) -> None:
        assert self._act is not None  # begun before
        self._ledger.move(
            self._act.id, State.DONE, signature=signature.signature, taken=str(signature.taken)
        )


class SignedSteps:
    """Of one swap. Methods raise WalletError where the agent cannot be asked."""

    def __init__(
        self,
        wallet: WalletClient,
        journal: Journal,
        clock: Clock,
        promise: Promise,
        look: Look,
        pace: Pace,
        watch: Watch,
    ) -> None:
        self._ledger = journal.ledger
        self._promise = promise
        self._transactor = Transactor(wallet, clock, pace, look, watch)

    def order_until(self, until: datetime) -> None:
        """There is an order: its transaction may be signed until then, and the quote's end no
        longer counts; never longer than :data:`AFTER_QUOTE` behind it."""
        end = self._promise.valid_until
        if until > end:
            self._promise = replace(self._promise, valid_until=min(until, end + AFTER_QUOTE))

    async def of(self, purpose: Purpose) -> tuple[SignedTransaction, ...]:
        """What was signed for this swap and purpose, in that order."""
        return await self._transactor.signed(self._promise.intent_id, purpose)

    async def give_up_unsent(self, signed: SignedTransaction) -> SignedTransaction:
        """Give up what no node has seen; anything else stays what it is."""
        return await self._transactor.give_up_unsent(signed)

    async def sign_document(self, name: str, digest: str, payload: Payload, kind: str) -> Signature:
        """The signature of a document. Raises NotSignable and NotAgreed."""
        body = {"name": name, "digest": digest}
        entry = _SignaturePart(self._ledger, self._begins("sign", body, State.SENT, kind=kind))
        return await self._transactor.confirm_document(
            entry, lambda: self._transactor.agree(payload, self._promise)
        )

    async def sign_transaction(
        self, kind: Kind, digest: str, payload: TransactionPayload | SolanaPayload, **result: Any
    ) -> SignedTransaction:
        """A transaction, signed; its bytes may leave then (:meth:`settle`). Raises NotSignable and
        NotAgreed."""
        entry = SwapPart(self._ledger, self._begins(kind, {"digest": digest}, **result))
        return await self._transactor.confirm(
            entry, lambda: self._transactor.agree(payload, self._promise)
        )

    async def settle(
        self, signed: SignedTransaction, kind: Kind, *, until: datetime | None = None
    ) -> SignedTransaction:
        """Send the bytes, the same ones however often, and wait for their end: that of the
        transaction that was executed, where it got a higher fee meanwhile. Raises StillOpen when
        there is none in time, and Refused when the node does not take them."""
        part = newest_part(self._ledger, self._promise.intent_id, kind)
        entry = SwapPart(self._ledger, self._begins(kind, {"digest": ""}), part)
        return await self._transactor.settle(signed, entry, until=until)

    def _begins(
        self, kind: Kind, body: dict[str, str], state: State = State.PREPARED, /, **result: Any
    ) -> Callable[[], Operation]:
        intent_id = self._promise.intent_id
        return lambda: begin_part(self._ledger, intent_id, kind, body, state, **result)


def begin_part(
    ledger: Ledger,
    intent_id: str,
    kind: Kind,
    body: dict[str, str],
    state: State = State.PREPARED,
    **result: Any,
) -> Operation:
    """Commits the next part of a swap. What an earlier run prepared and never signed gives way to
    it."""
    with ledger.transaction():
        replace_prepared(ledger, intent_id)
        return ledger.begin(kind, body, parent=intent_id, state=state, **result)


def replace_prepared(ledger: Ledger, intent_id: str) -> None:
    """Commits that the prepared parts of a swap are never signed: it goes on without them."""
    for part in ledger.parts(intent_id):
        ledger.move(part.id, State.REFUSED, among=(State.PREPARED,), code="REPLACED")


_NOTHING = "0" * 64
"""The amount of an approval is the last word of its data."""
ATTEMPTS = 3

T = TypeVar("T")


class SwapFailed(Exception):
    """The swap ends unpaid; the text is in sentences for the trader, ``code`` for scripts."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


def _broken(what: str) -> SwapFailed:
    """What the service asks to be approved or signed does not go forward."""
    return SwapFailed("SIGNATURE_CHAIN", f"The service contradicts itself: {what}.")


async def asked(clock: Clock, pace: Pace, call: Callable[[], Awaitable[T]]) -> T:
    """The answer of a call that may be repeated because it changes nothing, or nothing twice."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return await call()
        except (OutcomeUnknown, Unreachable, RateLimited) as error:
            if attempt == ATTEMPTS:
                raise
            told = error.retry_after if isinstance(error, RateLimited) else None
            await clock.sleep(max(pace.look * attempt, told or 0.0))
    raise AssertionError("unreachable")


class DexPermission:
    """One swap's permissions. Raises ClientError, WalletError, NotThisSwap, and what the payment
    raises."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        intent: Intent,
        signed: SignedSteps,
        pace: Pace,
    ) -> None:
        assert intent.dex is not None
        self._api = api
        self._journal = journal
        self._clock = clock
        self._intent = intent
        self._steps = signed
        self._pace = pace
        self._request = ApproveRequest(quote_id=intent.quote_id, address_from=intent.dex.sender)

    async def obtain(self) -> list[GivenSignature]:
        """Approve and sign all that is missing; the signatures that belong to the create.

        Raises SwapFailed."""
        await self._finish_earlier()
        sent = 0
        while True:
            missing = await self._ask(lambda: self._api.dex_approve(self._request))
            self._plan(missing)
            if not missing.approvals:
                break
            for approval in missing.approvals:
                sent += 1
                if sent > MOST_APPROVALS:
                    raise _broken("it asks for one approval after the other")
                await self._approve(approval)
        replace_prepared(self._journal.ledger, self._intent.id)
        if len(missing.signatures) > MOST_STEPS:
            raise _broken("it asks for too many signatures")
        return [await self._chain(first) for first in missing.signatures]

    async def _ask(self, call: Callable[[], Awaitable[T]]) -> T:
        return await asked(self._clock, self._pace, call)

    def _plan(self, missing: ApproveAnswer) -> None:
        """Journal what the swap takes where it was confirmed without knowing it."""
        ledger, intent_id = self._journal.ledger, self._intent.id
        if journaled_plan(acts_of(ledger, intent_id)) is None:
            ledger.tell(intent_id, plan=plan_of(missing).as_json())

    async def _finish_earlier(self) -> None:
        """Approvals of an earlier run: sent again as they are, to their end."""
        for signed in await self._steps.of(Purpose.APPROVE):
            if not signed.final:
                await self._mined(signed, self._kind_of(signed.hash))

    def _kind_of(self, hash_: str) -> Kind:
        """What a transaction was signed for; as the newest where none tells a hash yet."""
        approvals = self._journal.ledger.parts(self._intent.id, "approve", "reset")[::-1]
        known = [part for part in approvals if part.hash == hash_]
        return next((part.kind for part in (*known, *approvals)), "approve")

    async def _approve(self, approval: Approval) -> None:
        payload = approval_of(approval, promise_of(self._intent))
        kind: Kind = "reset" if payload.data.endswith(_NOTHING) else "approve"
        digest, spender = _digest(encode_json(approval)), _spender_of(payload)
        signed = await self._steps.sign_transaction(kind, digest, payload, spender=spender)
        await self._mined(signed, kind)

    async def _mined(self, signed: SignedTransaction, kind: Kind) -> None:
        done = await self._steps.settle(signed, kind, until=self._intent.valid_until)
        if done.state is not State.DONE:
            told = f"is {done.word} and allows nothing"
            if done.code == "FAILED":
                told = "was executed and failed; its gas is paid"
            raise SwapFailed("APPROVAL_FAILED", f"The approval {done.hash} {told}.")

    async def _chain(self, first: SignatureRequirement) -> GivenSignature:
        """Sign from the first step to the last; the last signature is the one that counts."""
        requirement, total = first, first.total_steps
        if first.step != 0 or not 1 <= total <= MOST_STEPS:
            raise _broken(f"a chain of {total} steps begins with step {first.step}")
        while True:
            # A step that contradicts itself is not signed to find out.
            goes_on = _goes_on(requirement)
            given = await self._signed(requirement)
            if not goes_on:
                return given
            body = ChainSignaturesRequest(
                quote_id=self._intent.quote_id,
                address_from=self._request.address_from,
                previous_signature=given,
                signature_key=given.key,
                signature_step=requirement.step,
            )
            following = await self._ask(partial(self._api.dex_chain_signatures, body))
            if len(following) != 1:
                raise _broken(f"{len(following)} steps follow step {requirement.step}")
            (after,) = following
            if (after.step, after.total_steps, after.key) != (
                requirement.step + 1,
                total,
                requirement.key,
            ):
                raise _broken(f"step {after.step} does not follow step {requirement.step}")
            requirement = after

    async def _signed(self, requirement: SignatureRequirement) -> GivenSignature:
        """The signature of a step, made now or as the journal has it."""
        name = f"sign {requirement.key} {requirement.step}"
        digest = _digest(encode_json(requirement))
        before = newest_part(self._journal.ledger, self._intent.id, "sign", name)
        if before is not None and before.state is State.DONE:
            if before.body["digest"] != digest:
                raise _broken(f"step {requirement.step} is another document than before")
            return _given(requirement, str(before.result["signature"]))
        kind = signature_kind(requirement.data)
        payload = payload_of(requirement)
        signature = await self._steps.sign_document(name, digest, payload, kind)
        return _given(requirement, signature.signature)


def _spender_of(payload: TransactionPayload) -> str:
    """Whom an approval is for, in lower case: behind the selector, the right of the first word."""
    return f"0x{payload.data[34:74]}".lower()


def payload_of(requirement: SignatureRequirement) -> TypedDataPayload:
    """The document as it came, for the agent to judge. Raises NotThisSwap."""
    permits = signature_kind(requirement.data) == PERMIT
    return TypedDataPayload(
        Purpose.APPROVE if permits else Purpose.ORDER,
        requirement.data,
        ChainStep(
            key=requirement.key,
            step=requirement.step,
            total=requirement.total_steps,
            complete=requirement.is_complete,
            chained=_chained(requirement),
        ),
    )


def _chained(requirement: SignatureRequirement) -> bool:
    """Raises NotThisSwap for a type that is neither: what follows such a signature is not known."""
    kind = requirement.type.lower()
    if kind not in tuple(SignatureType):
        said = f"a signature of the type {requirement.type}, which this desk does not know"
        raise NotThisSwap("UNKNOWN_SIGNATURE", said)
    return kind == SignatureType.CHAINED


def _goes_on(requirement: SignatureRequirement) -> bool:
    """Raises SwapFailed for a chain that ends too early or not at all, and NotThisSwap."""
    last = requirement.step + 1 == requirement.total_steps
    if not _chained(requirement):
        if not last:
            raise _broken("a single signature is one of several steps")
        return False
    if requirement.is_complete is not last:
        raise _broken("the chain does not end with its last step")
    return not last


def _given(requirement: SignatureRequirement, signature: str) -> GivenSignature:
    metadata = requirement.swap_required_metadata
    return GivenSignature(signature=signature, key=requirement.key, swap_required_metadata=metadata)


def _digest(written: bytes) -> str:
    return hashlib.sha256(written).hexdigest()
