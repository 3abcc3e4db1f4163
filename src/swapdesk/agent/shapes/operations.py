"""UserOperations of ERC-4337: their hash is computed here, out of every field they have.

An operation is read only where its smart account makes plain payments, of the chain's coin or
of tokens, and pays its gas itself. Each call is read as the one payment that it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from swapdesk.agent.shapes.claim import (
    Act,
    Claim,
    ClaimField,
    Meaning,
    Outflow,
    PayloadRefused,
    Target,
)
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    NO_SALT,
    EntryPointVersion,
    InnerCall,
    OperationError,
    UserOperation,
    decode_batch,
    is_address,
    read_operation,
    user_operation_hash,
)
from swapdesk.wallet.promise import OperationPayload

Payment = tuple[tuple[ClaimField, ...], Outflow]


def read_payment(number: int, call: InnerCall, code: str) -> Payment:
    """Of the chain's coin or of a token; ``number`` counts from 0. Raises PayloadRefused with
    ``code`` for anything else."""
    if call.value and not call.data:
        payee, units, token = checksummed(call.to), call.value, None
    elif call.data and not call.value:
        try:
            transfer = TRANSFER.read(call.data)
        except CalldataError as error:
            raise PayloadRefused(code, f"call {number + 1} is no payment") from error
        payee, units, token = transfer["to"], transfer["amount"], checksummed(call.to)
    else:
        raise PayloadRefused(code, f"call {number + 1} is no payment")
    fields = payment_fields(number, payee, units)
    if token is not None:
        label = f"Token {number + 1}"
        held = ClaimField(f"callData[{number}].token", label, Meaning.SOLD_TOKEN, token)
        return (*fields, held), Outflow(token, units, fields[-1], payee)
    return fields, Outflow(None, units, fields[-1], payee)


def payment_fields(number: int, payee: str, units: int) -> tuple[ClaimField, ...]:
    """Who is paid, and last how much."""
    path, name = f"callData[{number}]", number + 1
    return (
        ClaimField(f"{path}.to", f"Paid to {name}", Meaning.PAYEE, payee),
        ClaimField(f"{path}.amount", f"Amount {name}", Meaning.SOLD_UNITS, units),
    )


SHAPE = "UserOperation"
_NEEDED = (
    "call_gas_limit",
    "verification_gas_limit",
    "pre_verification_gas",
    "max_fee_per_gas",
)
"""No EntryPoint executes, and no bundler takes, an operation with nothing of one of these. A tip of
nothing is none of them: some chains take no tips."""


def read_bundle(payload: OperationPayload) -> Claim:
    """The claim of an operation. Raises PayloadRefused for one that does anything but pay."""
    operation = _operation(payload)
    if type(payload.chain_id) is not int or not 0 < payload.chain_id < 1 << 256:
        raise PayloadRefused("CHAIN_ID_MISSING", "the operation is for no chain")
    if not is_address(payload.entry_point):
        raise PayloadRefused("OPERATION_UNREADABLE", "the EntryPoint is no address")
    try:
        version = EntryPointVersion(payload.version)
    except ValueError:
        raise PayloadRefused(
            "OPERATION_VERSION", "the release of the EntryPoint is not known here"
        ) from None
    entry_point = checksummed(payload.entry_point)
    calls = _calls(operation, version)
    paid = [read_payment(number, call, "OPERATION_CALLS") for number, call in enumerate(calls)]
    fields = (
        ClaimField("chainId", "Chain", Meaning.CHAIN, payload.chain_id),
        ClaimField("entryPoint", f"EntryPoint {version}", Meaning.CONTRACT, entry_point),
        ClaimField("sender", "Smart account", Meaning.SMART_ACCOUNT, operation.sender),
        *_factory(operation),
        ClaimField("nonce", "Nonce", Meaning.NONCE, operation.nonce),
        *(field for fields, _ in paid for field in fields),
        ClaimField("gas", "Gas", Meaning.NETWORK_FEE, operation.required_prefund),
    )
    return Claim(
        shape=f"{SHAPE} {version}",
        act=Act.BUNDLE,
        title=f"A bundle: {len(paid)} {'payment' if len(paid) == 1 else 'payments'}, all or none",
        contract=entry_point,
        chain_id=payload.chain_id,
        content=user_operation_hash(operation, entry_point, payload.chain_id, version),
        fields=fields,
        target=Target.ENTRY_POINT,
        outflows=tuple(flow for _, flow in paid),
    )


def nonce_of(claim: Claim) -> str:
    """Account and nonce of an operation: two with the same are never both executed."""
    sender = next(text for _, text in claim.texts(Meaning.SMART_ACCOUNT))
    nonce = next(number for _, number in claim.numbers(Meaning.NONCE))
    return f"{sender} {nonce:#x}"


def _operation(payload: OperationPayload) -> UserOperation:
    try:
        operation = read_operation(payload.operation, signed=False)
    except OperationError as error:
        raise PayloadRefused("OPERATION_UNREADABLE", str(error)) from error
    if operation.paymaster is not None:
        raise PayloadRefused("OPERATION_PAYMASTER", "somebody else would pay for the operation")
    if not all(getattr(operation, one) for one in _NEEDED):
        raise PayloadRefused("OPERATION_GAS", "without gas or a fee for it, it can only fail")
    if operation.signature:
        raise PayloadRefused("OPERATION_UNREADABLE", "it is signed already")
    return operation


def _calls(operation: UserOperation, version: EntryPointVersion) -> tuple[InnerCall, ...]:
    try:
        return decode_batch(operation.call_data, version)
    except CalldataError as error:
        raise PayloadRefused("OPERATION_CALLS", str(error)) from error


def _factory(operation: UserOperation) -> Iterator[ClaimField]:
    """Who makes the account, and for whom."""
    if operation.factory is None:
        return
    try:
        call = CREATE_ACCOUNT.read(operation.factory_data)
    except CalldataError as error:
        raise PayloadRefused("OPERATION_FACTORY", str(error)) from error
    if call["salt"] != NO_SALT:
        raise PayloadRefused("OPERATION_FACTORY", "it makes another account than the owner's one")
    yield ClaimField("factory", "Made by", Meaning.ACCOUNT_FACTORY, operation.factory)
    yield ClaimField("factoryData.owner", "Made for", Meaning.OWNER, call["owner"])
