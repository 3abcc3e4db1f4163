"""A dishonest service: answers that a wallet would sign from, changed on the way.

Every change is a function from an answer to another one. Nothing is kept: what the service stored
stays as it was, so that only the wallet's own checks stand between these and a signature.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.method import CalldataError, Method
from swapdesk.chain.calldata.venues import (
    SEND,
    SWAP_FOR_NATIVE,
    SWAP_NATIVE,
    SWAP_TOKENS,
    SWAP_WITH_PERMIT,
)
from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.chain.smart_account import InnerCall, decode_batch, encode_batch
from swapdesk.chain.user_operation import (
    EntryPointVersion,
    UserOperation,
    operation_json,
    read_operation,
    user_operation_hash,
)
from swapdesk.sandbox.answer_faults import (
    ANSWER_FAULTS,
    AnswerFault,
    BrokenRequest,
    StreamFault,
    WholeAnswer,
)
from swapdesk.sandbox.faults import ActiveFault
from swapdesk.wire.encoding.codec import decode_json, encode_json

APPROVE, CHAIN, CREATE = "dex_approve", "dex_chain_signatures", "create_exchange"
BUILD = "build_multi_transactions"
FUND = frozenset({BUILD, "get_multi_transactions"})
"""What tells how a group on Solana is paid."""
_SIGNED = frozenset({APPROVE, CHAIN, CREATE})

ATTACKER = checksummed("0x" + "bad0" * 10)
"""Nobody has the key of this address."""

_ANSWER_LIMIT = 1 << 20
_STALE_SECONDS = 3600
_CALLS = (SWAP_TOKENS, SWAP_NATIVE, SWAP_FOR_NATIVE, SWAP_WITH_PERMIT, SEND)
_AMOUNTS = ("value", "sellAmount", "amount")

Json = dict[str, Any]
Change = Callable[[Json], bool]
"""Changes a part of an answer in place; False where there is nothing that it could change."""


async def _answer_changed(request: BrokenRequest) -> None:
    fault, kind = request.fault, request.fault.kind
    assert isinstance(kind, ContentFault)
    answer = await request.whole_answer()
    changed = kind.change(fault, request.operation, answer)
    if changed is None:
        request.faults.give_back(fault)
        await answer.pass_on(request.send)
        return
    if request.operation == CREATE:
        request.faults.lies[str(changed["serviceId"])] = changed["metadata"]
    await answer.pass_on(request.send, encode_json(changed))


@dataclass(frozen=True, eq=False)
class ContentFault(AnswerFault):
    """The request is carried out; its answer says something else. ``change`` has the fault, the
    operation and the answer, and None where it changes nothing."""

    change: Callable[[ActiveFault[AnswerFault], str, WholeAnswer], Any]
    _: KW_ONLY
    apply: Callable[[BrokenRequest], Awaitable[None]] = _answer_changed
    operations: frozenset[str] | None = _SIGNED


def _told(answer: WholeAnswer) -> Any:
    return decode_json(answer.body, max_bytes=_ANSWER_LIMIT)


class Tampering(Struct, frozen=True):
    """What a fault changes in each place that a wallet signs from; None: nothing there."""

    approval: Change | None = None
    """The call of ``approve``."""
    document: Change | None = None
    """Typed data, with the order that it carries."""
    order: Change | None = None
    """The transaction of an order on an EVM chain: its ``metadata``."""
    solana_order: Change | None = None
    """The same on Solana, where it is not of ``solana_tampering``."""
    solana: str | None = None
    """Its name in ``solana_tampering``."""

    def __call__(self, fault: ActiveFault[AnswerFault], operation: str, answer: WholeAnswer) -> Any:
        return self.changed(operation, _told(answer)) if answer.status == 200 else None

    def changed(self, operation: str, answer: Any) -> Any:
        """The answer as this changes it; None where there is nothing it could change."""
        changed = copy.deepcopy(answer)
        places: list[tuple[Change | None, Json]]
        if operation == CREATE:
            places = [(self._order, changed)]
        elif operation in FUND:
            places = [(self._deposit, payment["txData"]) for payment in changed["transactions"]]
        elif operation == APPROVE:
            places = [(self.approval, approval) for approval in changed["approvals"]]
            places += [(self.document, signature["data"]) for signature in changed["signatures"]]
        else:
            places = [(self.document, step["data"]) for step in changed]
        done = [change(place) for change, place in places if change is not None]
        return changed if any(done) else None

    def _order(self, order: Json) -> bool:
        metadata = order.get("metadata")
        if not isinstance(metadata, dict) or "data" not in metadata:
            return False
        if "to" in metadata:
            return self.order is not None and self.order(metadata)
        # A transaction of Solana, which has no id of its chain and is all that is to be sent.
        if self.solana_order is not None:
            return self.solana_order(metadata)
        changed = self._half(bytes.fromhex(metadata["data"]))
        if changed is not None:
            metadata["data"] = changed.hex()
        return changed is not None

    def _deposit(self, told: Json) -> bool:
        """One transaction of a group on Solana; operations have a fault of their own."""
        if "userOperation" in told:
            return False
        changed = self._half(base64.b64decode(told["data"]))
        if changed is not None:
            told["data"] = base64.b64encode(changed).decode()
        return changed is not None

    def _half(self, raw: bytes) -> bytes | None:
        if self.solana is None:
            return None
        from swapdesk.sandbox.solana_tampering import tampered_half

        return tampered_half(self.solana, raw)


# Approvals


def _approval(change: Callable[[str, int], bytes]) -> Change:
    """Another call in place of ``approve``, of its spender and amount."""

    def changed(approval: Json) -> bool:
        try:
            call = erc20.APPROVE.read(bytes.fromhex(approval["data"][2:]))
        except CalldataError:
            return False
        approval["data"] = _hex(change(call["spender"], call["amount"]))
        return True

    return changed


def _approval_elsewhere(approval: Json) -> bool:
    approval["fromChain"]["chainId"] = elsewhere(approval["fromChain"]["chainId"])
    return True


def _approval_of_stranger(approval: Json) -> bool:
    approval["to"] = ATTACKER
    return True


# Typed data


def _parts(document: Json) -> list[Json]:
    """What Permit2 takes, and the order that it carries."""
    message = document["message"]
    return [message, *(message[name] for name in ("permitted", "witness") if name in message)]


def _document_spender(document: Json) -> bool:
    if "spender" in document["message"]:
        document["message"]["spender"] = ATTACKER
    else:
        document["domain"]["verifyingContract"] = ATTACKER
    return True


def _document_amount(document: Json) -> bool:
    for part in _parts(document):
        part |= {name: str(2 * int(part[name])) for name in _AMOUNTS if name in part}
    return True


def _document_chain(document: Json) -> bool:
    document["domain"]["chainId"] = elsewhere(document["domain"]["chainId"])
    return True


def _document_receiver(document: Json) -> bool:
    carried = _parts(document)[-1]
    if "receiver" not in carried:
        return False
    carried["receiver"] = ATTACKER
    return True


def _document_note(document: Json) -> bool:
    document["message"]["note"] = "also signed"
    return True


# Transactions of orders


def _order_field(name: str, value: Callable[[Json], Any]) -> Change:
    def changed(metadata: Json) -> bool:
        metadata[name] = value(metadata)
        return True

    return changed


def _order_call(change: Callable[[Json, Json], None]) -> Change:
    """The call with other arguments."""

    def changed(metadata: Json) -> bool:
        data = bytes.fromhex(metadata["data"][2:])
        for method in _CALLS:
            try:
                arguments = dict(method.read(data).arguments)
            except CalldataError:
                continue
            change(arguments, metadata)
            metadata["data"] = _hex(_written(method, arguments))
            return True
        return False

    return changed


def _written(method: Method, arguments: Json) -> bytes:
    return method.call(*(arguments[name] for name in method.names))


def _more(arguments: Json, metadata: Json) -> None:
    if "amount" in arguments:
        arguments["amount"] *= 2
    else:
        metadata["value"] = str(2 * int(metadata["value"]))


def _to_attacker(arguments: Json, _: Json) -> None:
    arguments["to"] = ATTACKER


def _stale(arguments: Json, metadata: Json) -> None:
    arguments["deadline"] -= _STALE_SECONDS
    metadata["deadline"] = str(arguments["deadline"])


def elsewhere(chain_id: Any) -> int:
    """The id of the real chain behind one of the sandbox, or of another one."""
    number = int(chain_id)
    return number - SANDBOX_CHAIN_IDS if number > SANDBOX_CHAIN_IDS else number + 1


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


# Signature chains


def _repeated(_: ActiveFault[AnswerFault], __: str, answer: WholeAnswer) -> Any:
    if answer.status != 200:
        return None
    return [{**step, "step": 0, "isComplete": False} for step in _told(answer)]


def _endless(fault: ActiveFault[AnswerFault], _: str, answer: WholeAnswer) -> Any:
    """The step as if others followed; after the last one, one more."""
    if answer.status == 200:
        fault.told = [{**step, "isComplete": False} for step in _told(answer)]
    elif fault.told is not None:
        fault.told = [{**step, "step": int(step["step"]) + 1} for step in fault.told]
    return fault.told


# Operations of a group. The hash told beside each is that of what was changed, so that only a
# wallet that recomputes it, and reads what is in it, can tell.


class TamperedPart(StrEnum):
    """The part of an operation that is tampered with."""

    RECIPIENT = "recipient"
    AMOUNT = "amount"
    CALL = "call"
    """One more call."""
    NONCE = "nonce"
    ENTRY_POINT = "entry_point"
    CHAIN = "chain"


def tampered_operations(part: TamperedPart, answer: Json) -> Json | None:
    """The build answer with this part of every operation changed; None where there is none."""
    changed = copy.deepcopy(answer)
    told = [payment["txData"] for payment in changed["transactions"]]
    operations = [data for data in told if "userOperation" in data]
    for operation in operations:
        _tamper_operation(part, operation)
    return changed if operations else None


def _tamper_operation(part: TamperedPart, told: Json) -> None:
    version = EntryPointVersion(told["entryPointVersion"])
    operation = read_operation(told["userOperation"], signed=False)
    if part is TamperedPart.ENTRY_POINT:
        told["entryPoint"] = ATTACKER
    elif part is TamperedPart.CHAIN:
        told["chainId"] = elsewhere(told["chainId"])
    elif part is TamperedPart.NONCE:
        operation = replace(operation, nonce=operation.nonce + 1)
    else:
        operation = _rebuilt(operation, version, _BATCH_CHANGES[part])
    told["userOperation"] = operation_json(operation, with_signature=False)
    hashed = user_operation_hash(operation, told["entryPoint"], int(told["chainId"]), version)
    told["userOpHash"] = "0x" + hashed.hex()


def _rebuilt(
    operation: UserOperation,
    version: EntryPointVersion,
    change: Callable[[list[InnerCall]], list[InnerCall]],
) -> UserOperation:
    calls = change(list(decode_batch(operation.call_data, version)))
    return replace(operation, call_data=encode_batch(calls, version))


def _first_to_attacker(calls: list[InnerCall]) -> list[InnerCall]:
    first, *others = calls
    units = _units(first)
    if units is None:
        return [replace(first, to=ATTACKER), *others]
    return [replace(first, data=erc20.TRANSFER.call(ATTACKER, units)), *others]


def _twice_the_first(calls: list[InnerCall]) -> list[InnerCall]:
    first, *others = calls
    units = _units(first)
    if units is None:
        return [replace(first, value=2 * first.value), *others]
    receiver = erc20.TRANSFER.read(first.data)["to"]
    return [replace(first, data=erc20.TRANSFER.call(receiver, 2 * units)), *others]


def _one_more(calls: list[InnerCall]) -> list[InnerCall]:
    first = calls[0]
    units = _units(first)
    if units is None:
        return [*calls, InnerCall(ATTACKER, 1)]
    return [*calls, replace(first, data=erc20.TRANSFER.call(ATTACKER, 1))]


def _units(call: InnerCall) -> int | None:
    """What a call moves of a token; None for a payment in the chain's coin."""
    try:
        return int(erc20.TRANSFER.read(call.data)["amount"])
    except CalldataError:
        return None


_BATCH_CHANGES: dict[TamperedPart, Callable[[list[InnerCall]], list[InnerCall]]] = {
    TamperedPart.RECIPIENT: _first_to_attacker,
    TamperedPart.AMOUNT: _twice_the_first,
    TamperedPart.CALL: _one_more,
}


def _operations(fault: ActiveFault[AnswerFault], _: str, answer: WholeAnswer) -> Any:
    if answer.status != 200 or fault.part is None:
        return None
    return tampered_operations(TamperedPart(fault.part), _told(answer))


SIGNING_FAULTS = {
    kind.name: kind
    for kind in (
        ContentFault(
            "tamper_spender",
            "What is to be signed allows a stranger to spend, or pays one.",
            Tampering(
                approval=_approval(lambda spender, amount: erc20.APPROVE.call(ATTACKER, amount)),
                document=_document_spender,
                order=_order_field("to", lambda _: ATTACKER),
                solana="other payee",
            ),
            operations=_SIGNED | FUND,
        ),
        ContentFault(
            "tamper_amount",
            "What is to be signed moves or allows more than was asked for.",
            Tampering(
                approval=_approval(
                    lambda spender, amount: erc20.APPROVE.call(spender, erc20.UNLIMITED)
                ),
                document=_document_amount,
                order=_order_call(_more),
                solana="twice",
            ),
            operations=_SIGNED | FUND,
        ),
        ContentFault(
            "tamper_chain_id",
            "What is to be signed is for another chain.",
            Tampering(
                approval=_approval_elsewhere,
                document=_document_chain,
                order=_order_field("chainId", lambda metadata: elsewhere(metadata["chainId"])),
                solana_order=_order_field("chainId", lambda _: 1),
            ),
        ),
        ContentFault(
            "tamper_recipient",
            "What is to be signed goes to a stranger.",
            Tampering(
                approval=_approval_of_stranger,
                document=_document_receiver,
                order=_order_call(_to_attacker),
                solana="other receiver",
            ),
        ),
        ContentFault(
            "tamper_calldata",
            "What is to be signed calls something else.",
            Tampering(
                approval=_approval(lambda spender, amount: erc20.TRANSFER.call(ATTACKER, amount)),
                order=_order_field("data", lambda metadata: "0xdeadbeef" + metadata["data"][10:]),
                solana="delegated",
            ),
            operations=frozenset({APPROVE, CREATE}) | FUND,
        ),
        ContentFault(
            "tamper_extra_field",
            "What is to be signed has one more field or instruction.",
            Tampering(
                document=_document_note,
                order=_order_field(
                    "authorizationList",
                    lambda _: [{"address": ATTACKER, "chainId": "0x0", "nonce": "0x0"}],
                ),
                solana="one more",
            ),
            operations=_SIGNED | FUND,
        ),
        ContentFault(
            "chain_repeat_step",
            "A step of a signature chain comes that was signed before.",
            _repeated,
            operations=frozenset({CHAIN}),
        ),
        ContentFault(
            "chain_endless",
            "A signature chain gets another step whenever its last one is handed in.",
            _endless,
            operations=frozenset({CHAIN}),
        ),
        ContentFault(
            "stale_calldata",
            "The transaction to be signed is past its deadline, or built on another blockhash.",
            Tampering(order=_order_call(_stale), solana="other blockhash"),
            operations=frozenset({CREATE}) | FUND,
        ),
        ContentFault(
            "tamper_user_operation",
            "A part of the operations that fund a group is another one.",
            _operations,
            needs="part",
            operations=frozenset({BUILD}),
        ),
    )
}
"""What a dishonest service says, and the operations it says it with."""

SERVICE_FAULTS: dict[str, AnswerFault | StreamFault] = {**ANSWER_FAULTS, **SIGNING_FAULTS}
"""Everything that happens to what a service says."""
