"""The honest set: one payload of each shape beside the promise that it keeps."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from agent.gate_world import (
    ALICE,
    DEPOSIT,
    ETH,
    LEAST,
    NOTHING_MOVES,
    NOW,
    OTHER_CHAIN_ID,
    PERMIT2_DOMAIN,
    PERMIT2_NONCE,
    PERMIT_NONCE,
    PERMIT_ROUTER,
    POLICY,
    PORTAL,
    PROMISE,
    QUOTED,
    ROUTER,
    SECONDS,
    SELL,
    SETTLEMENT,
    SETTLEMENT_DOMAIN,
    SWAPPED,
    TOKEN_DOMAIN,
    USDC,
    WETH,
    World,
    changes,
    codes,
)
from swapdesk.agent.gate.case import Case, Facts, PastSignature, Policy, taking_of
from swapdesk.agent.gate.verdict import judge, unreadable
from swapdesk.agent.shapes.claim import PayloadRefused
from swapdesk.agent.shapes.reading import read_payload
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.deployments import PERMIT2, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.smart_account import CREATE_ACCOUNT, NO_SALT
from swapdesk.wallet.answers import Review
from swapdesk.wallet.promise import (
    ChainStep,
    DepositPromise,
    Payload,
    Promise,
    Purpose,
    TransactionPayload,
    TypedDataPayload,
)

SOON = SECONDS + 1200
SINGLE = ChainStep("permit", 0, 1, complete=True, chained=False)

PERMIT_TYPE = "owner:address spender:address value:uint256 nonce:uint256 deadline:uint256"
DETAILS_TYPE = "token:address amount:uint160 expiration:uint48 nonce:uint48"
PERMISSIONS_TYPE = "token:address amount:uint256"
ORDER_TYPE = (
    "owner:address sellToken:address buyToken:address receiver:address sellAmount:uint256 "
    "buyAmount:uint256 feeAmount:uint256 validTo:uint32 nonce:uint256 partiallyFillable:bool "
    "appData:bytes32"
)
AUTHORIZATION_TYPE = (
    "from:address to:address value:uint256 validAfter:uint256 validBefore:uint256 nonce:bytes32"
)


def struct(fields: str) -> list[dict[str, str]]:
    return [
        {"name": name, "type": kind} for name, kind in (one.split(":") for one in fields.split())
    ]


def typed(domain: dict[str, Any], primary: str, types: dict[str, str], message: dict[str, Any]):
    return {
        "types": {name: struct(fields) for name, fields in types.items()},
        "primaryType": primary,
        "domain": domain,
        "message": message,
    }


class Honest(Struct, frozen=True):
    """A payload, the promise that it keeps, and the chain and account that it is judged for; what
    its methods return differs in one thing."""

    payload: Payload
    promise: Promise
    world: World = field(default_factory=World)
    policy: Policy = POLICY
    memory: tuple[PastSignature, ...] = ()
    read: Callable[[Facts], Facts] = lambda facts: facts
    """What becomes of the facts."""
    replaces: str | None = None
    nonce: int | None = None

    @property
    def case(self) -> Case:
        claim = read_payload(self.payload, self.promise)
        facts = self.read(self.world.facts(claim, self.promise, self.policy, self.memory))
        return Case(
            claim,
            self.payload.purpose,
            self._step,
            self.promise,
            self.policy,
            facts,
            self.memory,
            self.replaces,
            self.nonce,
        )

    def verdict(self) -> Review:
        """As the process with the keys comes to it."""
        try:
            return judge(self.case)
        except PayloadRefused as refusal:
            return unreadable(refusal, self.promise, NOW)

    def codes(self) -> set[str]:
        return codes(self.verdict())

    @property
    def refused(self) -> bool:
        return self.verdict().refused

    @property
    def _step(self) -> ChainStep | None:
        return self.payload.step if isinstance(self.payload, TypedDataPayload) else None

    def signed(self, **fields: Any) -> PastSignature:
        """It once it was signed; ``nonce`` is that of a transaction."""
        claim, step = read_payload(self.payload, self.promise), self._step
        signed = PastSignature(
            content=claim.content,
            act=claim.act,
            quote_id=self.promise.quote_id,
            chain_id=self.promise.chain_id,
            owner=self.promise.account,
            token=self.promise.sell.contract,
            contract=claim.contract,
            key=step.key if step else None,
            step=step.step if step else None,
            total=step.total if step else None,
            complete=step.complete if step else False,
            taking=taking_of(claim, self.promise),
        )
        return replace(signed, **fields)

    def sent(self, **fields: Any) -> Honest:
        return replace(self, payload=replace(self.payload, **fields))

    def field(self, path: str, value: object) -> Honest:
        return self.sent(document=with_value(self.payload.document, path, value))

    def message(self, **fields: object) -> Honest:
        document = self.payload.document
        return self.sent(document={**document, "message": {**document["message"], **fields}})

    def step(self, **fields: Any) -> Honest:
        return self.sent(step=replace(self.payload.step, **fields))

    def call(self, data: bytes, **fields: Any) -> Honest:
        return self.sent(data="0x" + data.hex(), **fields)

    def promised(self, **fields: Any) -> Honest:
        return replace(self, promise=replace(self.promise, **fields))

    def selling(self, **fields: Any) -> Honest:
        return self.promised(sell=replace(self.promise.sell, **fields))

    def buying(self, **fields: Any) -> Honest:
        return self.promised(buy=replace(self.promise.buy, **fields))

    def deposit(self, **fields: Any) -> Honest:
        return self.promised(deposit=replace(self.promise.deposit, **fields))

    def holding(self, **fields: Any) -> Honest:
        return replace(self, policy=replace(self.policy, **fields))

    def on(self, **fields: Any) -> Honest:
        return replace(self, world=replace(self.world, **fields))

    def facts(self, **fields: Any) -> Honest:
        return replace(self, read=lambda facts: replace(facts, **fields))

    def code(self, address: str, code: bytes | None) -> Honest:
        def change(facts: Facts) -> Facts:
            known = {one: what for one, what in facts.code.items() if one != address}
            return replace(facts, code=known if code is None else {**known, address: code})

        return replace(self, read=change)

    def after(self, *memory: PastSignature) -> Honest:
        return replace(self, memory=memory)


def _reach(document: dict[str, Any], path: str) -> tuple[dict[str, Any], Any, Any]:
    """A copy, and in it the container and the key of ``message.details[0].amount``."""
    *places, last = [
        int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path)
    ]
    changed = copy.deepcopy(document)
    node: Any = changed
    for place in places:
        node = node[place]
    return changed, node, last


def with_value(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    changed, node, key = _reach(document, path)
    node[key] = value
    return changed


def without(document: dict[str, Any], path: str) -> dict[str, Any]:
    changed, node, key = _reach(document, path)
    del node[key]
    return changed


def _document(
    purpose: Purpose, document: dict[str, Any], promise: Promise = PROMISE, step: ChainStep = SINGLE
) -> Honest:
    return Honest(TypedDataPayload(purpose, document, step), promise)


def _call(
    purpose: Purpose, to: str, data: bytes, promise: Promise, simulation, value: int = 0
) -> Honest:
    payload = TransactionPayload(purpose, to, "0x" + data.hex(), value)
    return Honest(payload, promise, World(simulation))


def _promise(venue: str, **fields: Any) -> Promise:
    return replace(PROMISE, venue=venue, **fields)


ORDER = {
    "owner": ALICE,
    "sellToken": USDC.contract,
    "buyToken": WETH.contract,
    "receiver": ALICE,
    "sellAmount": str(SELL - 1_000_000),
    "buyAmount": str(LEAST),
    "feeAmount": "1000000",
    "validTo": SOON,
    "nonce": "17",
    "partiallyFillable": False,
    "appData": "0x" + "c9" * 32,
}
DETAILS = {
    "token": USDC.contract,
    "amount": str(SELL),
    "expiration": SOON,
    "nonce": PERMIT2_NONCE,
}
PERMITTED = {"token": USDC.contract, "amount": str(SELL)}
DEPOSITED = _promise(
    "ba",
    deposit=DepositPromise("o-1", DEPOSIT, None, SELL, NOW + timedelta(hours=2), refund=ALICE),
)
_AUTHORIZATION = {
    "from": ALICE,
    "to": DEPOSIT,
    "value": str(SELL),
    "validAfter": SECONDS - 60,
    "validBefore": SOON,
    "nonce": "0x" + "77" * 32,
}
_PATH = (USDC.contract, WETH.contract)
_PAID = changes((ALICE, USDC, -SELL), (DEPOSIT, USDC, SELL))
_NATIVE_SELL = 10**18

DOCUMENTS: dict[str, Honest] = {
    "Permit": _document(
        Purpose.APPROVE,
        typed(
            TOKEN_DOMAIN,
            "Permit",
            {"Permit": PERMIT_TYPE},
            {
                "owner": ALICE,
                "spender": SETTLEMENT,
                "value": str(SELL),
                "nonce": PERMIT_NONCE,
                "deadline": SOON,
            },
        ),
    ),
    "PermitSingle": _document(
        Purpose.APPROVE,
        typed(
            PERMIT2_DOMAIN,
            "PermitSingle",
            {
                "PermitSingle": "details:PermitDetails spender:address sigDeadline:uint256",
                "PermitDetails": DETAILS_TYPE,
            },
            {"details": DETAILS, "spender": SETTLEMENT, "sigDeadline": SOON},
        ),
    ),
    "PermitBatch": _document(
        Purpose.APPROVE,
        typed(
            PERMIT2_DOMAIN,
            "PermitBatch",
            {
                "PermitBatch": "details:PermitDetails[] spender:address sigDeadline:uint256",
                "PermitDetails": DETAILS_TYPE,
            },
            {"details": [DETAILS], "spender": SETTLEMENT, "sigDeadline": SOON},
        ),
    ),
    "PermitTransferFrom": _document(
        Purpose.APPROVE,
        typed(
            PERMIT2_DOMAIN,
            "PermitTransferFrom",
            {
                "PermitTransferFrom": "permitted:TokenPermissions spender:address "
                "nonce:uint256 deadline:uint256",
                "TokenPermissions": PERMISSIONS_TYPE,
            },
            {"permitted": PERMITTED, "spender": SETTLEMENT, "nonce": "77", "deadline": SOON},
        ),
    ),
    "PermitBatchTransferFrom": _document(
        Purpose.APPROVE,
        typed(
            PERMIT2_DOMAIN,
            "PermitBatchTransferFrom",
            {
                "PermitBatchTransferFrom": "permitted:TokenPermissions[] spender:address "
                "nonce:uint256 deadline:uint256",
                "TokenPermissions": PERMISSIONS_TYPE,
            },
            {"permitted": [PERMITTED], "spender": SETTLEMENT, "nonce": "300", "deadline": SOON},
        ),
    ),
    "PermitWitnessTransferFrom": _document(
        Purpose.ORDER,
        typed(
            PERMIT2_DOMAIN,
            "PermitWitnessTransferFrom",
            {
                "PermitWitnessTransferFrom": "permitted:TokenPermissions spender:address "
                "nonce:uint256 deadline:uint256 witness:Order",
                "TokenPermissions": PERMISSIONS_TYPE,
                "Order": ORDER_TYPE,
            },
            {
                "permitted": PERMITTED,
                "spender": SETTLEMENT,
                "nonce": "78",
                "deadline": SOON,
                "witness": ORDER,
            },
        ),
    ),
    "Order": _document(
        Purpose.ORDER,
        typed(SETTLEMENT_DOMAIN, "Order", {"Order": ORDER_TYPE}, ORDER),
        step=ChainStep("order", 1, 2, complete=True, chained=True),
    ),
    "TransferWithAuthorization": _document(
        Purpose.DEPOSIT,
        typed(
            TOKEN_DOMAIN,
            "TransferWithAuthorization",
            {"TransferWithAuthorization": AUTHORIZATION_TYPE},
            _AUTHORIZATION,
        ),
        DEPOSITED,
    ),
    "ReceiveWithAuthorization": _document(
        Purpose.DEPOSIT,
        typed(
            TOKEN_DOMAIN,
            "ReceiveWithAuthorization",
            {"ReceiveWithAuthorization": AUTHORIZATION_TYPE},
            _AUTHORIZATION,
        ),
        DEPOSITED,
    ),
}

CALLS: dict[str, Honest] = {
    "approve": _call(
        Purpose.APPROVE,
        USDC.contract,
        erc20.APPROVE.call(ROUTER, SELL),
        _promise("ba"),
        NOTHING_MOVES,
    ),
    "approve nothing": _call(
        Purpose.REVOKE,
        USDC.contract,
        erc20.APPROVE.call(ROUTER, 0),
        _promise("ba"),
        NOTHING_MOVES,
    ),
    "approve Permit2": _call(
        Purpose.APPROVE,
        USDC.contract,
        erc20.APPROVE.call(PERMIT2, SELL),
        _promise("is"),
        NOTHING_MOVES,
    ),
    "Permit2 approve": _call(
        Purpose.APPROVE,
        PERMIT2,
        permit2.APPROVE.call(USDC.contract, ROUTER, SELL, SOON),
        _promise("ba"),
        NOTHING_MOVES,
    ),
    "transfer": _call(
        Purpose.DEPOSIT, USDC.contract, erc20.TRANSFER.call(DEPOSIT, SELL), DEPOSITED, _PAID
    ),
    "payment": _call(
        Purpose.DEPOSIT,
        DEPOSIT,
        b"",
        replace(
            DEPOSITED,
            sell=ETH,
            sell_units=_NATIVE_SELL,
            deposit=replace(DEPOSITED.deposit, units=_NATIVE_SELL),
        ),
        changes((ALICE, ETH, -_NATIVE_SELL), (DEPOSIT, ETH, _NATIVE_SELL)),
        _NATIVE_SELL,
    ),
    "swapExactTokensForTokens": _call(
        Purpose.SWAP,
        ROUTER,
        venues.SWAP_TOKENS.call(SELL, LEAST, _PATH, ALICE, SOON),
        _promise("ba"),
        SWAPPED,
    ),
    "swapExactETHForTokens": _call(
        Purpose.SWAP,
        ROUTER,
        venues.SWAP_NATIVE.call(LEAST, (WETH.contract, USDC.contract), ALICE, SOON),
        _promise("ba", sell=ETH, sell_units=_NATIVE_SELL, buy=USDC),
        changes((ALICE, ETH, -_NATIVE_SELL), (ALICE, USDC, QUOTED)),
        _NATIVE_SELL,
    ),
    "swapExactTokensForETH": _call(
        Purpose.SWAP,
        ROUTER,
        venues.SWAP_FOR_NATIVE.call(SELL, LEAST, _PATH, ALICE, SOON),
        _promise("ba", buy=ETH),
        changes((ALICE, USDC, -SELL), (ALICE, ETH, QUOTED)),
    ),
    "swapWithPermit": _call(
        Purpose.SWAP,
        PERMIT_ROUTER,
        venues.SWAP_WITH_PERMIT.call(
            SELL, LEAST, _PATH, ALICE, SOON, SOON, 0, bytes(32), bytes(32)
        ),
        _promise("fa"),
        SWAPPED,
    ),
    "send": _call(
        Purpose.SWAP,
        PORTAL,
        venues.SEND.call(USDC.contract, SELL, OTHER_CHAIN_ID, WETH.contract, LEAST, ALICE, SOON),
        _promise("me", chain_out="base", chain_out_id=OTHER_CHAIN_ID, fee_units=10**15),
        changes((ALICE, USDC, -SELL), (ALICE, ETH, -(10**15))),
        10**15,
    ),
    "createAccount": _call(
        Purpose.DEPLOY,
        SANDBOX_ACCOUNT_FACTORY,
        CREATE_ACCOUNT.call(ALICE, NO_SALT),
        _promise("none", sell=ETH, sell_units=0, buy=ETH, least_units=0, quoted_units=0),
        NOTHING_MOVES,
    ),
}

HONEST: dict[str, Honest] = {**DOCUMENTS, **CALLS}
