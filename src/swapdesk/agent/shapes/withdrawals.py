"""``executeBatch`` called by the owner of a smart account: payments out of what it holds, and out
of what the EntryPoint keeps for its gas."""

from __future__ import annotations

from swapdesk.agent.shapes.claim import (
    Act,
    Claim,
    ClaimField,
    Outflow,
    PayloadRefused,
    Target,
)
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.agent.shapes.payments import Payment, payment_fields, read_payment
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.user_operation.batch import EXECUTE_BATCH, InnerCall, decode_batch
from swapdesk.chain.user_operation.entry_point import WITHDRAW_TO

SELECTOR = EXECUTE_BATCH.selector
CODE = "WITHDRAWAL_CALLS"


def read_withdrawal(
    account: str, data: bytes, value: int, chain_id: int | None, owner: str, content: bytes
) -> Claim:
    """The claim of a call of ``account`` that ``owner`` would sign. Raises PayloadRefused for one
    that does anything but pay."""
    try:
        calls = decode_batch(data)
    except CalldataError as error:
        raise PayloadRefused("CALLDATA_UNREADABLE", str(error)) from error
    paid = [_paid(number, call) for number, call in enumerate(calls)]
    sent = ClaimField("value", "Coin sent", Meaning.VALUE, value)
    fields = (
        ClaimField("to", "Smart account", Meaning.SMART_ACCOUNT, account),
        ClaimField("chainId", "Chain", Meaning.CHAIN, chain_id or 0),
        ClaimField("method", "Call", Meaning.METHOD, EXECUTE_BATCH.signature),
        *(field for fields, _ in paid for field in fields),
        sent,
        ClaimField("from", "From", Meaning.OWNER, owner),
    )
    count = f"{len(paid)} payment{'' if len(paid) == 1 else 's'}"
    return Claim(
        shape="executeBatch",
        act=Act.WITHDRAW,
        title=f"A withdrawal out of a smart account: {count}, all or none",
        contract=account,
        chain_id=chain_id,
        content=content,
        fields=fields,
        target=Target.SMART_ACCOUNT,
        outflows=(*(flow for _, flow in paid), Outflow(None, value, sent)),
    )


def _paid(number: int, call: InnerCall) -> Payment:
    if call.data[:4] != WITHDRAW_TO.selector:
        return read_payment(number, call, CODE)
    if call.value:
        raise PayloadRefused(CODE, f"call {number + 1} is no payment")
    try:
        prepaid = WITHDRAW_TO.read(call.data)
    except CalldataError as error:
        raise PayloadRefused(CODE, f"call {number + 1} is no payment") from error
    fields = payment_fields(number, prepaid["payee"], prepaid["amount"])
    keeper = ClaimField(
        f"callData[{number}].entryPoint",
        f"Kept for gas {number + 1}",
        Meaning.CONTRACT,
        checksummed(call.to),
    )
    return (*fields, keeper), Outflow(None, prepaid["amount"], fields[-1])
