"""Dishonest payloads made from the honest ones: every field to what a thief would like.

What harms nobody is left out and stands in ``HARMLESS``: an amount that sells less or asks for
more, an end that is earlier but not past, a free nonce instead of another, a label.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from agent.gate_world import (
    ALICE,
    BOB,
    DEPOSIT,
    MALLORY,
    OTHER_CHAIN_ID,
    PERMIT_NONCE,
    PERMIT_ROUTER,
    ROUTER,
    SECONDS,
    SETTLEMENT,
    TRAP,
    USDC,
    USED_NONCE,
    WETH,
)
from agent.honest import CALLS, DOCUMENTS, HONEST, Honest, with_value, without
from swapdesk.agent.gate.case import PastSignature
from swapdesk.agent.shapes import calls
from swapdesk.agent.shapes.claim import Meaning
from swapdesk.agent.shapes.reading import SHAPES, read_payload
from swapdesk.agent.typed_data import read_document
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.calldata.method import method
from swapdesk.chain.deployments import ENTRY_POINT, MULTICALL3, PERMIT2
from swapdesk.wallet.promise import Purpose, TransactionPayload, TypedDataPayload

ZERO = "0x" + "00" * 20
DEAD = "0x000000000000000000000000000000000000dEaD"
ADDRESSES = (
    ZERO,
    DEAD,
    "0x" + "00" * 19 + "01",
    ALICE,
    BOB,
    MALLORY,
    TRAP,
    DEPOSIT,
    USDC.contract,
    WETH.contract,
    PERMIT2,
    ROUTER,
    PERMIT_ROUTER,
    SETTLEMENT,
    MULTICALL3,
    ENTRY_POINT,
)
HARMLESS = frozenset({"label", "route", "proof"})
_ADDRESS_MEANINGS = frozenset(
    {
        "contract",
        "owner",
        "spender",
        "sold token",
        "bought token",
        "receiver",
        "payee",
    }
)


def numbers(meaning: Meaning, honest: int, bits: int) -> list[int]:
    """What a thief would write instead of a number of this meaning."""
    top = (1 << bits) - 1
    if meaning in ("allowed units", "sold units", "fee units", "value"):
        wished = [honest + 1, honest + 10**6, honest * 10 + 1, 1 << 80, top // 2, top - 1, top]
    elif meaning == "least units":
        wished = [0, 1, honest // 10, honest // 2, honest - 1]
    elif meaning in ("ends", "allowance ends"):
        wished = [0, 1, SECONDS - 1, SECONDS, SECONDS + 29, SECONDS + 86_401, SECONDS + 10**7, top]
    elif meaning == "begins":
        wished = [SECONDS, SECONDS + 60, top]
    elif meaning == "nonce":
        wished = [USED_NONCE]
    elif meaning == "salt":
        wished = [1, 7, 1 << 64, top]
    elif meaning in ("chain", "destination"):
        wished = [0, 1, 8453, honest + 1, honest - 1, 1_337_000_010, 1_337_042_161, top]
    else:
        wished = []
    return [one for one in wished if one != honest and 0 <= one <= top]


def _bits(kind: str) -> int:
    return int(kind.removeprefix("u").removeprefix("int"))


def _values(honest: Honest) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each leaf to other values of its type."""
    document = honest.payload.document
    kinds = {leaf.path: leaf.type for leaf in read_document(document).leaves()}
    claim = read_payload(honest.payload, honest.promise)
    free_nonce = claim.shape in ("Permit", "PermitSingle", "PermitBatch")
    for field in claim.fields:
        kind = kinds[field.path]
        wished: list[object] = []
        if field.meaning in HARMLESS:
            continue
        if kind == "address":
            wished = [one for one in ADDRESSES if one != field.value]
            if claim.act == "allow" and field.meaning == "spender":
                own = {SETTLEMENT, PERMIT2} if claim.shape == "Permit" else {SETTLEMENT}
                wished = [one for one in wished if one not in own]
        elif kind.startswith("uint"):
            wished = list(numbers(field.meaning, int(field.value), _bits(kind)))
            if field.meaning == "nonce" and free_nonce:
                wished += [0, int(field.value) + 1, int(field.value) - 1, PERMIT_NONCE + 100]
            wished = [str(one) for one in wished]
        elif kind == "bool":
            wished = [True]
        elif kind == "bytes32":
            wished = ["0x" + USED_NONCE.to_bytes(32, "big").hex()]
        elif kind == "string":
            wished = ["", "Permit3", f"{field.value} ", f"{field.value}\u200b", "USDC", "1", "3"]
        for value in wished:
            yield f"{field.path}={value}", with_value(document, field.path, value)
        for value in (None, [], {}, "", "0x", -1, "x", 1.5, True, "0x" + "ff" * 33):
            if kind in ("string", "bool") and value in ("", "x", "0x", True):
                continue
            yield f"{field.path}:{value!r}", with_value(document, field.path, value)


def _types(honest: Honest) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each declaration changed: names, types, order, one more field, one field less."""
    document = honest.payload.document
    for name, fields in document["types"].items():
        for i, field in enumerate(fields):
            place, new = f"types.{name}[{i}]", field["name"] + "_"
            renamed = with_value(document, f"{place}.name", new)
            yield f"{name}.{field['name']} renamed", renamed
            if name == document["primaryType"]:
                message = {
                    new if key == field["name"] else key: value
                    for key, value in document["message"].items()
                }
                moved = with_value(renamed, "message", message)
                yield f"{name}.{field['name']} renamed with its value", moved
            for kind in ("uint8", "uint256", "int256", "address", "bytes32", "string", "bytes"):
                if kind != field["type"]:
                    retyped = with_value(document, f"{place}.type", kind)
                    yield f"{name}.{field['name']} as {kind}", retyped
            yield f"{name} without {field['name']}", without(document, place)
        yield f"{name} reversed", with_value(document, f"types.{name}", fields[::-1])
        extra = {"name": "extra", "type": "address"}
        longer = with_value(document, f"types.{name}", [*fields, extra])
        yield f"{name} with a field without value", longer
        if name == document["primaryType"]:
            yield f"{name} with one more field", with_value(longer, "message.extra", MALLORY)


def _shape(honest: Honest) -> Iterator[tuple[str, dict[str, Any]]]:
    """Fields that are not signed, domains that are not the contract's, other primary types."""
    document = honest.payload.document
    for where in ("", "domain", "message"):
        for key in ("note", "chain_id", "__proto__", "recipient"):
            yield f"{where or 'top'} with {key}", with_value(document, f"{where}.{key}", MALLORY)
    for key in document["domain"]:
        yield f"domain without {key}", without(document, f"domain.{key}")
    for key, value in (("salt", "0x" + "00" * 32), ("version", "1"), ("version", "9")):
        if document["domain"].get(key) != value:
            yield f"domain {key} {value}", with_value(document, f"domain.{key}", value)
    kinds = {"verifyingContract": "address", "chainId": "uint256"}
    domain = [{"name": name, "type": kind} for name, kind in kinds.items()]
    declared = with_value(document, "types.EIP712Domain", domain)
    shorter = {key: document["domain"][key] for key in kinds}
    yield "domain declared shorter", with_value(declared, "domain", shorter)
    for name in ("Permit", "Order", "Mail", "EIP712Domain", "PermitDetails", "TokenPermissions"):
        if name != document["primaryType"]:
            yield f"primary type {name}", with_value(document, "primaryType", name)
    renamed = copy.deepcopy(document)
    primary = document["primaryType"]
    renamed["types"][primary + "2"] = renamed["types"].pop(primary)
    renamed["primaryType"] = primary + "2"
    yield "primary type renamed", renamed
    for key in document["message"]:
        value = document["message"][key]
        if isinstance(value, list):
            for items in ([], value * 2, value * 3):
                yield f"{key} of {len(items)}", with_value(document, f"message.{key}", items)


def _steps(honest: Honest) -> Iterator[tuple[str, TypedDataPayload]]:
    step = honest.payload.step
    for fields in (
        {"total": 0},
        {"total": 9},
        {"total": 10**9},
        {"total": -1},
        {"step": -1},
        {"step": step.total},
        {"step": 8, "total": 9},
        {"key": ""},
    ):
        yield f"step {fields}", replace(honest.payload, step=replace(step, **fields))


def documents() -> Iterator[tuple[str, Honest]]:
    """Mutated typed data beside the promise of the honest one."""
    for name, honest in DOCUMENTS.items():
        for source in (_values, _types, _shape):
            for what, document in source(honest):
                payload = replace(honest.payload, document=document)
                yield f"{name}: {what}", replace(honest, payload=payload)
        for what, payload in _steps(honest):
            yield f"{name}: {what}", replace(honest, payload=payload)
        yield from _purposes(name, honest)


def _purposes(name: str, honest: Honest) -> Iterator[tuple[str, Honest]]:
    for purpose in Purpose:
        harmless = {Purpose.APPROVE, Purpose.REVOKE} if name == "approve nothing" else set()
        if purpose is not honest.payload.purpose and purpose not in harmless:
            payload = replace(honest.payload, purpose=purpose)
            yield f"{name}: for {purpose}", replace(honest, payload=payload)


UNKNOWN_CALLS = (
    method("transferFrom(address,address,uint256)").call(ALICE, MALLORY, 1),
    method("increaseAllowance(address,uint256)").call(MALLORY, 1),
    method("setApprovalForAll(address,bool)").call(MALLORY, True),
    method("transferOwnership(address)").call(MALLORY),
    method("execute(address,uint256,bytes)").call(MALLORY, 1, b"x"),
    method("multicall(bytes[])").call([erc20.APPROVE.call(MALLORY, 1)]),
    venues.AGGREGATE.call([(USDC.contract, True, erc20.APPROVE.call(MALLORY, 1))]),
    erc20.DEPOSIT.call(),
    erc20.WITHDRAW.call(1),
    method("invalidate(uint256)").call(1),
    bytes.fromhex("deadbeef"),
    b"\0" * 4,
    b"\0" * 100,
    b"\x09",
)


def _words(honest: Honest) -> Iterator[tuple[str, TransactionPayload]]:
    """Each argument to other values, and each word of the data to what a thief would put in."""
    payload = honest.payload
    data = bytes.fromhex(payload.data[2:])
    if not data:
        return
    known, shape = next(
        (one, shape) for one, shape in calls.SHAPES.items() if one.selector == data[:4]
    )
    arguments = known.read(data)
    for name, value in arguments.items():
        meaning = shape.fields.get(name, ("route", ""))[0]
        wished: list[object] = []
        if isinstance(value, tuple):
            for address in ADDRESSES:
                for i, meant in ((0, "path[0]"), (len(value) - 1, "path[-1]")):
                    bound = shape.fields[meant][0] != "route"
                    if bound and value[i] != address:
                        wished.append((*value[:i], address, *value[i + 1 :]))
            if shape.fields["path[0]"][0] != "route":
                wished += [value[::-1], value[1:]]
        elif meaning in _ADDRESS_MEANINGS:
            wished = [one for one in ADDRESSES if one != value]
            if meaning == "spender":
                own = {ROUTER, SETTLEMENT, PERMIT2}
                wished = [one for one in wished if one not in own]
                wished = [] if arguments["amount"] == 0 else wished
        elif isinstance(value, int) and meaning not in HARMLESS:
            bits = 160 if known is permit2.APPROVE and name == "amount" else 256
            bits = 48 if name == "expiration" else bits
            wished = list(numbers(meaning, value, bits))
        for one in wished:
            changed = known.call(*{**arguments, name: one}.values())
            yield f"{name}={one}", replace(payload, data="0x" + changed.hex())
    for i in range(4, len(data), 32):
        for filled in (b"\xff" * 32, b"\x01" + data[i + 1 : i + 32]):
            if _harmless_word(known.name, i):
                continue
            changed = data[:i] + filled + data[i + 32 :]
            if changed != data:
                yield f"word {i}={filled[:2].hex()}", replace(payload, data="0x" + changed.hex())


def _harmless_word(name: str, place: int) -> bool:
    """What asks for more to arrive."""
    word = (place - 4) // 32
    least = {
        "swapExactTokensForTokens": 1,
        "swapExactTokensForETH": 1,
        "swapWithPermit": 1,
        "swapExactETHForTokens": 0,
        "send": 4,
    }.get(name)
    return word == least


def _calls(honest: Honest) -> Iterator[tuple[str, TransactionPayload]]:
    payload = honest.payload
    for address in ADDRESSES:
        if address != payload.to:
            yield f"to {address}", replace(payload, to=address)
    for address in ("", "0x", "alice", payload.to[:-1], payload.to + "0", payload.to[2:]):
        yield f"to {address!r}", replace(payload, to=address)
    for value in (payload.value + 1, payload.value * 3 + 7, 1 << 128, -1, 1 << 256):
        yield f"value {value}", replace(payload, value=value)
    for data in UNKNOWN_CALLS:
        yield f"data {data[:4].hex()}", replace(payload, data="0x" + data.hex())
    if payload.data != "0x":
        for data in (
            payload.data + "00",
            payload.data + "00" * 32,
            payload.data[:-2],
            payload.data[:-64],
            payload.data[:10],
            "0x",
            payload.data[2:],
            payload.data + "0",
            payload.data + "zz",
        ):
            if not (data == "0x" and payload.value):
                yield f"data of {len(data)}", replace(payload, data=data)


def _plain_payments(honest: Honest) -> Iterator[tuple[str, TransactionPayload]]:
    """The coin of the chain and no call: to oneself (as wallets cancel), to a thief, to whoever
    is known to the swap, with nothing, a little or all of it."""
    payload, promise = honest.payload, honest.promise
    wished = {0, 1, payload.value, payload.value + 1, promise.sell_units, honest.world.native}
    for to in (
        ALICE,
        BOB,
        MALLORY,
        TRAP,
        ZERO,
        ROUTER,
        PERMIT_ROUTER,
        USDC.contract,
        WETH.contract,
    ):
        for value in sorted(wished):
            for purpose in Purpose:
                changed = TransactionPayload(purpose, to, "0x", value)
                if changed != payload:
                    yield f"{purpose} of {value} to {to}", changed


def transactions() -> Iterator[tuple[str, Honest]]:
    """Mutated transactions beside the promise of the honest one."""
    for name, honest in CALLS.items():
        for source in (_words, _calls, _plain_payments):
            for what, payload in source(honest):
                yield f"{name}: {what}", replace(honest, payload=payload)
        yield from _purposes(name, honest)


def promises() -> Iterator[tuple[str, Honest]]:
    """The honest payload beside a promise that it does not keep."""
    for name, honest in {**DOCUMENTS, **CALLS}.items():
        promise = honest.promise
        wrong: list[dict[str, Any]] = [
            {"account": BOB},
            {"chain_id": OTHER_CHAIN_ID + 1},
            {"chain_id": None},
            {"gas_units": -1},
        ]
        if name not in ("approve nothing", "createAccount"):
            wrong += [{"sell_units": 0}, {"sell": replace(WETH, contract=TRAP)}]
        if honest.payload.purpose in (Purpose.ORDER, Purpose.SWAP):
            wrong += [
                {"recipient": BOB},
                {"buy": replace(WETH, contract=TRAP)},
                {"least_units": promise.least_units + 1},
                {"least_units": 0},
                {"sell_units": promise.sell_units - 1},
                {"chain_out": "bsc", "chain_out_id": 1_337_000_056},
                {"venue": None},
                {"venue": "xx"},
            ]
        if honest.payload.purpose is Purpose.DEPOSIT:
            wrong += [{"deposit": None}]
            for fields in (
                {"address": BOB},
                {"units": promise.deposit.units + 1},
                {"units": promise.deposit.units - 1},
                {"tag": "12345"},
                {"refund": promise.deposit.address},
                {"refund": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
                {"expires": promise.valid_until.replace(year=2025)},
            ):
                wrong.append({"deposit": replace(promise.deposit, **fields)})
        for fields in wrong:
            yield f"{name}: promised {fields}", replace(honest, promise=replace(promise, **fields))


_TAKING = (
    *(name for name in DOCUMENTS),
    "approve",
    "Permit2 approve",
    "transfer",
    "swapExactTokensForTokens",
    "swapExactTokensForETH",
    "swapWithPermit",
    "send",
)
"""Honest payloads by which all of the token sold can be taken: allowed to a contract, and taken
by it out of what it was allowed."""
_ALLOWING = {
    SETTLEMENT: frozenset(
        {
            "Permit",
            "PermitSingle",
            "PermitBatch",
            "PermitTransferFrom",
            "PermitBatchTransferFrom",
        }
    ),
    ROUTER: frozenset({"approve", "Permit2 approve"}),
}
_TAKEN = {
    SETTLEMENT: frozenset({"Order"}),
    ROUTER: frozenset({"swapExactTokensForTokens", "swapExactTokensForETH"}),
}


def second_takings() -> Iterator[tuple[str, Honest, tuple[PastSignature, ...]]]:
    """An honest payload after another one that lets the same amount be taken once more, with
    a key and a nonce of its own."""
    for before in _TAKING:
        first = HONEST[before]
        signed = first.signed()
        if isinstance(first.payload, TypedDataPayload):
            signed = replace(signed, key="earlier")
        else:
            signed = replace(signed, nonce=1)
        if signed.taking is not None and signed.taking.once is not None:
            signed = replace(
                signed,
                content=b"with another nonce".ljust(32),
                taking=replace(signed.taking, once="another nonce"),
            )
        for name in _TAKING:
            same = any(
                len({before, name} & _ALLOWING[by]) == len({before, name} & _TAKEN[by]) == 1
                for by in _ALLOWING
            )
            if not same:
                yield f"{name} after {before}", HONEST[name], (signed,)


def everything() -> list[tuple[str, Honest]]:
    return [*documents(), *transactions(), *promises()]


assert set(DOCUMENTS) == {shape.name for shape in SHAPES.values()}
