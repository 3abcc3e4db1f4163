"""Readers of EVM transactions that are known by their selector, and of UserOperations of ERC-4337.
Everything else is refused.

A call without data is a payment of the native coin. ``executeBatch``, called by a smart account's
owner, makes payments out of the smart account's balance and of what the EntryPoint keeps for its
gas.

The hash of an operation is computed here, from all of its fields. An operation is read only if its
smart account makes plain payments, of the native coin or of tokens, and pays its gas itself. Each
call in it is read as one payment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from swapdesk.agent.shapes.claim import (
    Claim,
    ClaimField,
    Meanings,
    Outflow,
    PayloadRefused,
    Shape,
    moves_of,
)
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.calldata.method import CalldataError, Method
from swapdesk.chain.deployments import Role
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    EXECUTE_BATCH,
    NO_SALT,
    WITHDRAW_TO,
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


@contextmanager
def _exact_call(code: str, words: str = "") -> Iterator[None]:
    """Turns a decoding error of calldata into PayloadRefused with ``code``. ``words`` replaces the
    error's message unless empty."""
    try:
        yield
    except CalldataError as error:
        raise PayloadRefused(code, words or str(error)) from error


def read_payment(number: int, call: InnerCall, code: str) -> Payment:
    """Returns the fields and amount of a call that pays the native coin or a token. ``number`` is
    the call's position, from 0. Raises PayloadRefused with ``code`` if the call does anything
    else."""
    if call.value and not call.data:
        payee, units, token = checksummed(call.to), call.value, None
    elif call.data and not call.value:
        with _exact_call(code, f"call {number + 1} is no payment"):
            transfer = TRANSFER.read(call.data)
        payee, units, token = transfer["to"], transfer["amount"], checksummed(call.to)
    else:
        raise PayloadRefused(code, f"call {number + 1} is no payment")
    fields = payment_fields(number, payee, units)
    if token is not None:
        label = f"Token {number + 1}"
        held = ClaimField(f"callData[{number}].token", label, "sold token", token)
        return (*fields, held), Outflow(token, units, fields[-1], payee)
    return fields, Outflow(None, units, fields[-1], payee)


def payment_fields(number: int, payee: str, units: int) -> tuple[ClaimField, ...]:
    path, name = f"callData[{number}]", number + 1
    return (
        ClaimField(f"{path}.to", f"Paid to {name}", "payee", payee),
        ClaimField(f"{path}.amount", f"Amount {name}", "sold units", units),
    )


SHAPE = "UserOperation"
_NEEDED = (
    "call_gas_limit",
    "verification_gas_limit",
    "pre_verification_gas",
    "max_fee_per_gas",
)
"""The fields of an operation that must not be 0, because no bundler accepts and no EntryPoint
executes such an operation. A priority fee of 0 is allowed, because some chains take none."""


def read_bundle(payload: OperationPayload) -> Claim:
    """Returns the decoded content of a UserOperation. Raises PayloadRefused if the operation does
    anything but pay."""
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
    with _exact_call("OPERATION_CALLS"):
        calls = decode_batch(operation.call_data, version)
    paid = [read_payment(number, call, "OPERATION_CALLS") for number, call in enumerate(calls)]
    fields = (
        ClaimField("chainId", "Chain", "chain", payload.chain_id),
        ClaimField("entryPoint", f"EntryPoint {version}", "contract", entry_point),
        ClaimField("sender", "Smart account", "smart account", operation.sender),
        *_factory(operation),
        ClaimField("nonce", "Nonce", "nonce", operation.nonce),
        *(field for fields, _ in paid for field in fields),
        ClaimField("gas", "Gas", "network fee", operation.required_prefund),
    )
    return Claim(
        shape=f"{SHAPE} {version}",
        act="bundle",
        title=f"A bundle: {len(paid)} {'payment' if len(paid) == 1 else 'payments'}, all or none",
        contract=entry_point,
        chain_id=payload.chain_id,
        content=user_operation_hash(operation, entry_point, payload.chain_id, version),
        fields=fields,
        target="entry point",
        outflows=tuple(flow for _, flow in paid),
    )


def nonce_of(claim: Claim) -> str:
    """Returns the smart account and nonce of an operation as text. Of operations with the same
    text, only one is ever executed."""
    sender = next(text for _, text in claim.texts("smart account"))
    nonce = next(number for _, number in claim.numbers("nonce"))
    return f"{sender} {nonce:#x}"


def _operation(payload: OperationPayload) -> UserOperation:
    try:
        operation = read_operation(payload.operation, signed=False)
    except OperationError as error:
        if error.field == "paymaster":
            raise PayloadRefused("OPERATION_PAYMASTER", error.words) from error
        raise PayloadRefused("OPERATION_UNREADABLE", str(error)) from error
    if not all(getattr(operation, name) for name in _NEEDED):
        raise PayloadRefused("OPERATION_GAS", "without gas or a fee for it, it can only fail")
    if operation.signature:
        raise PayloadRefused("OPERATION_UNREADABLE", "it is signed already")
    return operation


def _factory(operation: UserOperation) -> Iterator[ClaimField]:
    if operation.factory is None:
        return
    with _exact_call("OPERATION_FACTORY"):
        call = CREATE_ACCOUNT.read(operation.factory_data)
    if call["salt"] != NO_SALT:
        raise PayloadRefused("OPERATION_FACTORY", "it makes another account than the owner's one")
    yield ClaimField("factory", "Made by", "account factory", operation.factory)
    yield ClaimField("factoryData.owner", "Made for", "owner", call["owner"])


SELECTOR = EXECUTE_BATCH.selector
CODE = "WITHDRAWAL_CALLS"


def read_withdrawal(
    account: str, data: bytes, value: int, chain_id: int | None, owner: str, content: bytes
) -> Claim:
    """Returns the decoded ``executeBatch`` call of a smart account. ``content`` identifies the
    transaction. Raises PayloadRefused if the call does anything but pay."""
    with _exact_call("CALLDATA_UNREADABLE"):
        calls = decode_batch(data)
    paid = [_paid(number, call) for number, call in enumerate(calls)]
    sent = ClaimField("value", "Coin sent", "value", value)
    fields = (
        ClaimField("to", "Smart account", "smart account", account),
        ClaimField("chainId", "Chain", "chain", chain_id or 0),
        ClaimField("method", "Call", "method", EXECUTE_BATCH.signature),
        *(field for fields, _ in paid for field in fields),
        sent,
        ClaimField("from", "From", "owner", owner),
    )
    count = f"{len(paid)} payment{'' if len(paid) == 1 else 's'}"
    return Claim(
        shape="executeBatch",
        act="withdraw",
        title=f"A withdrawal out of a smart account: {count}, all or none",
        contract=account,
        chain_id=chain_id,
        content=content,
        fields=fields,
        target="smart account",
        outflows=(*(flow for _, flow in paid), Outflow(None, value, sent)),
    )


def _paid(number: int, call: InnerCall) -> Payment:
    if call.data[:4] != WITHDRAW_TO.selector:
        return read_payment(number, call, CODE)
    if call.value:
        raise PayloadRefused(CODE, f"call {number + 1} is no payment")
    with _exact_call(CODE, f"call {number + 1} is no payment"):
        prepaid = WITHDRAW_TO.read(call.data)
    fields = payment_fields(number, prepaid["payee"], prepaid["amount"])
    keeper = ClaimField(
        f"callData[{number}].entryPoint",
        f"Kept for gas {number + 1}",
        "contract",
        checksummed(call.to),
    )
    return (*fields, keeper), Outflow(None, prepaid["amount"], fields[-1], prepaid["payee"])


MAX_DATA = 32_768
"""The longest calldata that is read, in bytes."""

_SWAP: Meanings = {
    "amount": ("sold units", "You sell"),
    "least": ("least units", "You get"),
    "to": ("receiver", "Paid to"),
    "deadline": ("ends", "Valid until"),
}
_FIRST, _LAST = "path[0]", "path[-1]"
_SOLD: Meanings = {_FIRST: ("sold token", "Token sold")}
_BOUGHT: Meanings = {_LAST: ("bought token", "Token bought")}
_NATIVE_SOLD: Meanings = {_FIRST: ("route", "Wrapped as")}
_NATIVE_BOUGHT: Meanings = {_LAST: ("route", "Unwrapped from")}
_ROUTER = frozenset({Role.ROUTER, Role.PERMIT_ROUTER})


def _swap(name: str, fields: Meanings, *, sells_native: bool = False) -> Shape:
    return Shape(
        name=name,
        title="A swap: sell a token for another",
        act="swap",
        target="venue",
        roles=_ROUTER,
        fields=fields,
        sells_native=sells_native,
    )


SHAPES: dict[Method, Shape] = {
    erc20.APPROVE: Shape(
        name="approve",
        title="An approval: a contract may take a token",
        act="allow",
        target="token",
        limitless=erc20.UNLIMITED,
        sells_contract=True,
        fields={
            "spender": ("spender", "Spender"),
            "amount": ("allowed units", "May take"),
        },
    ),
    erc20.TRANSFER: Shape(
        name="transfer",
        title="A payment of a token",
        act="pay",
        target="token",
        sells_contract=True,
        fields={
            "to": ("payee", "Paid to"),
            "amount": ("sold units", "You pay"),
        },
    ),
    permit2.APPROVE: Shape(
        name="Permit2 approve",
        title="An approval in Permit2: a contract may take a token",
        act="allow",
        target="permit2",
        limitless=permit2.UNLIMITED,
        fields={
            "token": ("sold token", "Token"),
            "spender": ("spender", "Spender"),
            "amount": ("allowed units", "May take"),
            "expiration": ("allowance ends", "Allowance until"),
        },
    ),
    venues.SWAP_TOKENS: _swap("swapExactTokensForTokens", {**_SWAP, **_SOLD, **_BOUGHT}),
    venues.SWAP_NATIVE: _swap(
        "swapExactETHForTokens",
        {**_SWAP, **_NATIVE_SOLD, **_BOUGHT, "value": ("sold units", "You sell")},
        sells_native=True,
    ),
    venues.SWAP_FOR_NATIVE: _swap("swapExactTokensForETH", {**_SWAP, **_SOLD, **_NATIVE_BOUGHT}),
    venues.SWAP_WITH_PERMIT: _swap(
        "swapWithPermit",
        {
            **_SWAP,
            **_SOLD,
            **_BOUGHT,
            "permitDeadline": ("ends", "Permit until"),
            "v": ("permit", "Permit signature v"),
            "r": ("permit", "Permit signature r"),
            "s": ("permit", "Permit signature s"),
        },
    ),
    venues.SEND: Shape(
        name="send",
        title="A swap into another chain",
        act="swap",
        target="venue",
        roles=frozenset({Role.PORTAL}),
        fields={
            "token": ("sold token", "Token sold"),
            "amount": ("sold units", "You sell"),
            "destination": ("destination", "Paid out on"),
            "tokenOut": ("bought token", "Token bought"),
            "least": ("least units", "You get"),
            "to": ("receiver", "Paid to"),
            "deadline": ("ends", "Valid until"),
            "value": ("value", "Bridge fee"),
        },
    ),
    CREATE_ACCOUNT: Shape(
        name="createAccount",
        title="Your smart account is made where its address says",
        act="deploy",
        target="factory",
        fields={
            "owner": ("owner", "Made for"),
            "salt": ("salt", "Number of the account"),
        },
    ),
}
_BY_SELECTOR = {method.selector: (method, shape) for method, shape in SHAPES.items()}

_PAYMENT = Shape(
    name="payment",
    title="A payment of the chain's own coin",
    act="pay",
    target="payee",
    sells_native=True,
    fields={},
)

_NOTHING = Shape(
    name="nothing",
    title="Nothing: it only takes the place of a transaction that waits",
    act="nothing",
    target="payee",
    sells_native=True,
    fields={},
)


def read_transaction(to: str, data: str, value: int, chain_id: int | None, owner: str) -> Claim:
    """Returns the decoded content of an EVM call. Raises PayloadRefused if the data is not an exact
    call of a known method."""
    target, payload = _address(to), _bytes(data)
    if type(value) is not int or not 0 <= value < 1 << 256:
        raise PayloadRefused("VALUE_UNREADABLE", "the value is no amount of the chain's coin")
    content = keccak(
        b"transaction" + bytes.fromhex(target[2:]) + value.to_bytes(32, "big") + payload
    )
    if payload[:4] == SELECTOR:
        return read_withdrawal(target, payload, value, chain_id, _spelled(owner), content)
    if not payload and value == 0 and target == _spelled(owner):
        shape = _NOTHING
        fields: tuple[ClaimField, ...] = (
            ClaimField("chainId", "Chain", "chain", chain_id or 0),
            ClaimField("to", "Sent to", "owner", target),
            ClaimField("value", "Coin sent", "value", 0),
        )
    elif not payload:
        shape = _PAYMENT
        fields = (
            ClaimField("chainId", "Chain", "chain", chain_id or 0),
            ClaimField("to", "Paid to", "payee", target),
            ClaimField("value", "You pay", "sold units", value),
        )
    else:
        method, shape = _known(payload)
        with _exact_call("CALLDATA_UNREADABLE"):
            call = method.read(payload)
        fields = (
            ClaimField("to", "Contract", "contract", target),
            ClaimField("chainId", "Chain", "chain", chain_id or 0),
            ClaimField("method", "Call", "method", method.signature),
            *_arguments(call, shape),
            _value(shape, value),
        )
    outflows, allowed, bought = moves_of(fields, shape, target)
    return Claim(
        shape=shape.name,
        act=shape.act,
        title=shape.title,
        contract=None if shape.target == "payee" else target,
        chain_id=chain_id,
        content=content,
        fields=(*fields, ClaimField("from", "From", "owner", _spelled(owner))),
        target=shape.target,
        roles=shape.roles,
        outflows=outflows,
        allowed=allowed,
        limitless=shape.limitless,
        bought=bought,
    )


def _value(shape: Shape, value: int) -> ClaimField:
    meaning, label = shape.fields.get("value", ("value", "Coin sent"))
    return ClaimField("value", label, meaning, value)


def _known(payload: bytes) -> tuple[Method, Shape]:
    method = _BY_SELECTOR.get(payload[:4])
    if method is None:
        raise PayloadRefused(
            "METHOD_UNKNOWN", "the transaction calls a method that is not known here"
        )
    return method


def _arguments(call: dict[str, Any], shape: Shape) -> Iterator[ClaimField]:
    for name, value in call.items():
        if isinstance(value, tuple):
            yield from _route(value, shape)
        else:
            meaning, label = shape.fields[name]
            yield ClaimField(f"data.{name}", label, meaning, value)


def _route(tokens: tuple[str, ...], shape: Shape) -> Iterator[ClaimField]:
    if len(tokens) < 2:
        raise PayloadRefused("CALLDATA_UNREADABLE", "a path leads from one token to another")
    for i, token in enumerate(tokens):
        place = _FIRST if i == 0 else _LAST if i == len(tokens) - 1 else ""
        meaning, label = shape.fields.get(place, ("route", f"By way of {i}"))
        yield ClaimField(f"data.path[{i}]", label, meaning, token)


def _address(text: object) -> str:
    if type(text) is not str or len(text) != 42 or not text.startswith("0x"):
        raise PayloadRefused("TARGET_UNREADABLE", "the transaction names no address")
    digits = text[2:]
    if any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise PayloadRefused("TARGET_UNREADABLE", "the transaction names no address")
    spelled = checksummed(text)
    if text != spelled and digits not in (digits.lower(), digits.upper()):
        raise PayloadRefused("TARGET_UNREADABLE", "the checksum of the address is wrong")
    return spelled


def _spelled(owner: str) -> str:
    try:
        return _address(owner)
    except PayloadRefused:
        return owner


def _bytes(text: object) -> bytes:
    if type(text) is not str or not text.startswith("0x") or len(text) > 2 + 2 * MAX_DATA:
        raise PayloadRefused("CALLDATA_UNREADABLE", "the data is not 0x and hexadecimal digits")
    digits = text[2:]
    if len(digits) % 2 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise PayloadRefused("CALLDATA_UNREADABLE", "the data is not 0x and hexadecimal digits")
    return bytes.fromhex(digits)
