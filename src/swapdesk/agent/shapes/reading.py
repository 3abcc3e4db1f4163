"""Reads any payload and returns its claim (decoded content); typed data is recognized by its exact
declaration.

The typed data are permits, orders and authorizations. Sources: EIP-2612, Permit2
(AllowanceTransfer, SignatureTransfer), EIP-3009, and the order of the Isthmus settlement contract.
A declaration that differs in one character is another shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from swapdesk.agent.shapes.calls import read_bundle, read_transaction
from swapdesk.agent.shapes.claim import (
    Claim,
    ClaimField,
    Meanings,
    Shape,
    Value,
    moves_of,
)
from swapdesk.agent.typed_data import Document, read_document
from swapdesk.chain.calldata import erc20, permit2
from swapdesk.chain.deployments import Role
from swapdesk.chain.typed_data import (
    AUTHORIZATION,
    ORDER,
    PERMIT,
    PERMITTED_ORDER,
    TOKEN_PERMISSIONS,
)
from swapdesk.wallet.promise import (
    OperationPayload,
    Payload,
    Promise,
    SolanaPayload,
    TypedDataPayload,
)

_DOMAIN: Meanings = {
    "domain.name": ("domain", "Signed for"),
    "domain.version": ("domain", "Version"),
    "domain.chainId": ("chain", "Chain"),
    "domain.verifyingContract": ("contract", "Contract"),
    "domain.salt": ("domain", "Salt"),
}

_DETAILS = "PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)"
_PERMISSIONS = f"TokenPermissions({TOKEN_PERMISSIONS})"
_ORDER = f"Order({ORDER})"


def _order(place: str) -> Meanings:
    return {
        f"{place}.owner": ("owner", "Owner"),
        f"{place}.sellToken": ("sold token", "Token sold"),
        f"{place}.buyToken": ("bought token", "Token bought"),
        f"{place}.receiver": ("receiver", "Paid to"),
        f"{place}.sellAmount": ("sold units", "You sell"),
        f"{place}.buyAmount": ("least units", "You get"),
        f"{place}.feeAmount": ("fee units", "Fee"),
        f"{place}.validTo": ("ends", "Valid until"),
        f"{place}.nonce": ("nonce", "Nonce"),
        f"{place}.partiallyFillable": ("partial", "Fills"),
        f"{place}.appData": ("label", "App data"),
    }


def _details(place: str) -> Meanings:
    return {
        f"{place}.token": ("sold token", "Token"),
        f"{place}.amount": ("allowed units", "May take"),
        f"{place}.expiration": ("allowance ends", "Allowance until"),
        f"{place}.nonce": ("nonce", "Nonce"),
        "message.spender": ("spender", "Spender"),
        "message.sigDeadline": ("ends", "Valid until"),
    }


def _permitted(place: str) -> Meanings:
    return {
        f"{place}.token": ("sold token", "Token"),
        f"{place}.amount": ("allowed units", "May take"),
        "message.spender": ("spender", "Spender"),
        "message.nonce": ("nonce", "Nonce"),
        "message.deadline": ("ends", "Valid until"),
    }


def _authorization(name: str) -> Shape:
    return Shape(
        name=name,
        title="A payment by signature",
        act="pay",
        target="token",
        nonce_kind="authorization",
        sells_contract=True,
        fields={
            "message.from": ("owner", "From"),
            "message.to": ("payee", "Paid to"),
            "message.value": ("sold units", "You pay"),
            "message.validAfter": ("begins", "Valid from"),
            "message.validBefore": ("ends", "Valid until"),
            "message.nonce": ("nonce", "Nonce"),
        },
    )


SHAPES: dict[str, Shape] = {
    f"Permit({PERMIT})": Shape(
        name="Permit",
        title="A permit: a contract may take a token",
        act="allow",
        target="token",
        nonce_kind="sequence",
        limitless=erc20.UNLIMITED,
        sells_contract=True,
        fields={
            "message.owner": ("owner", "Owner"),
            "message.spender": ("spender", "Spender"),
            "message.value": ("allowed units", "May take"),
            "message.nonce": ("nonce", "Nonce"),
            "message.deadline": ("ends", "Valid until"),
        },
    ),
    f"PermitSingle(PermitDetails details,address spender,uint256 sigDeadline){_DETAILS}": Shape(
        name="PermitSingle",
        title="A permit of Permit2: a contract may take a token",
        act="allow",
        target="permit2",
        nonce_kind="permit2 allowance",
        limitless=permit2.UNLIMITED,
        fields=_details("message.details"),
    ),
    f"PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline){_DETAILS}": Shape(
        name="PermitBatch",
        title="Permits of Permit2: a contract may take tokens",
        act="allow",
        target="permit2",
        nonce_kind="permit2 allowance",
        limitless=permit2.UNLIMITED,
        fields=_details("message.details[]"),
    ),
    "PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,"
    f"uint256 deadline){_PERMISSIONS}": Shape(
        name="PermitTransferFrom",
        title="A transfer by Permit2: a contract may take a token once",
        act="allow",
        target="permit2",
        nonce_kind="permit2 bitmap",
        fields=_permitted("message.permitted"),
    ),
    "PermitBatchTransferFrom(TokenPermissions[] permitted,address spender,uint256 nonce,"
    f"uint256 deadline){_PERMISSIONS}": Shape(
        name="PermitBatchTransferFrom",
        title="Transfers by Permit2: a contract may take tokens once",
        act="allow",
        target="permit2",
        nonce_kind="permit2 bitmap",
        fields=_permitted("message.permitted[]"),
    ),
    f"PermitWitnessTransferFrom({PERMITTED_ORDER}){_ORDER}{_PERMISSIONS}": Shape(
        name="PermitWitnessTransferFrom",
        title="An order paid through Permit2: sell a token for another",
        act="order",
        target="permit2",
        nonce_kind="permit2 bitmap",
        fields={
            **_order("message.witness"),
            **_permitted("message.permitted"),
            # The order's own nonce is not Permit2's: the transfer is what is used once.
            "message.witness.nonce": ("label", "Order number"),
            "message.witness.validTo": ("ends", "Order until"),
            "message.permitted.token": ("sold token", "Token taken"),
        },
    ),
    _ORDER: Shape(
        name="Order",
        title="An order: sell a token for another",
        act="order",
        target="venue",
        roles=frozenset({Role.SETTLEMENT}),
        nonce_kind="settlement",
        fields=_order("message"),
    ),
    f"TransferWithAuthorization({AUTHORIZATION})": _authorization("TransferWithAuthorization"),
    f"ReceiveWithAuthorization({AUTHORIZATION})": _authorization("ReceiveWithAuthorization"),
}

_INDEX = re.compile(r"\[([0-9]+)\]")


def read_typed(raw: object) -> Claim:
    """Returns the decoded content of an EIP-712 document. A document of unknown type has the act
    ``unknown``. Raises PayloadRefused if the document is not strictly valid."""
    document = read_document(raw)
    shape = SHAPES.get(document.declaration)
    fields = tuple(_fields(document, shape))
    contract = document.domain.get("verifyingContract")
    chain_id = document.domain.get("chainId")
    contract = contract if isinstance(contract, str) else None
    form = shape or Shape(
        name=document.primary_type,
        title="A document of a kind that is not known here",
        act="unknown",
        target="any",
        fields={},
    )
    outflows, allowed, bought = moves_of(fields, form, contract)
    return Claim(
        shape=form.name,
        act=form.act,
        title=form.title,
        contract=contract,
        chain_id=chain_id if isinstance(chain_id, int) else None,
        content=document.digest,
        fields=fields,
        target=form.target,
        roles=form.roles,
        outflows=outflows,
        allowed=allowed,
        limitless=form.limitless,
        bought=bought,
        nonce_kind=form.nonce_kind,
        typed=True,
        domain_separator=document.domain_separator,
    )


def _fields(document: Document, shape: Shape | None) -> Iterator[ClaimField]:
    for leaf in document.leaves():
        places = _INDEX.findall(leaf.path)
        path = _INDEX.sub("[]", leaf.path)
        if path in _DOMAIN:
            meaning, label = _DOMAIN[path]
        elif shape is None:
            meaning, label = "unknown", leaf.path
        else:
            # A known declaration has no other fields: a missing one here is a defect and raises.
            meaning, label = shape.fields[path]
        number = f" {int(places[0]) + 1}" if places and shape is not None else ""
        value: Value = leaf.value
        yield ClaimField(leaf.path, f"{label}{number}", meaning, value)


def read_payload(payload: Payload, promise: Promise) -> Claim:
    """Returns the decoded content of a payload. An EVM transaction is read for the chain in
    ``promise``. Raises PayloadRefused if the payload cannot be decoded exactly."""
    if isinstance(payload, TypedDataPayload):
        return read_typed(payload.document)
    if isinstance(payload, SolanaPayload):
        # solders is loaded only when something is signed for Solana.
        from swapdesk.agent.shapes.solana import read_message

        return read_message(payload.transaction, promise)
    if isinstance(payload, OperationPayload):
        return read_bundle(payload)
    return read_transaction(
        payload.to, payload.data, payload.value, promise.chain_id, promise.account
    )
