"""What a dishonest service would hand a wallet: answers of DEX operations, changed on the way.

Pure functions from an answer to another one. Nothing is kept: what the service stored stays as
it was, so that only the wallet's own checks stand between these and a signature.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

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

APPROVE, CHAIN, CREATE = "dex_approve", "dex_chain_signatures", "create_exchange"
BUILD = "build_multi_transactions"
FUND = frozenset({BUILD, "get_multi_transactions"})
"""What tells how a group on Solana is paid."""

ATTACKER = checksummed("0x" + "bad0" * 10)
"""Nobody has the key of this address."""

_STALE_SECONDS = 3600
_CALLS = (SWAP_TOKENS, SWAP_NATIVE, SWAP_FOR_NATIVE, SWAP_WITH_PERMIT, SEND)
_AMOUNTS = ("value", "sellAmount", "amount")

Json = dict[str, Any]


def tampered(fault: str, operation: str, answer: Any) -> Any:
    """The answer as this fault changes it; None where there is nothing it could change."""
    changed = copy.deepcopy(answer)
    if operation == CREATE:
        done = _create(fault, changed)
    elif operation in FUND:
        deposits = [_deposits(fault, each["txData"]) for each in changed["transactions"]]
        done = any(deposits)
    elif operation == APPROVE:
        approvals = [_approval(fault, each) for each in changed["approvals"]]
        signatures = [_document(fault, each["data"]) for each in changed["signatures"]]
        done = any(approvals) or any(signatures)
    else:
        steps = [_document(fault, each["data"]) for each in changed]
        done = any(steps)
    return changed if done else None


def repeated(answer: list[Json]) -> list[Json]:
    """A step of a chain that was signed already."""
    return [{**each, "step": 0, "isComplete": False} for each in answer]


def unfinished(answer: list[Json]) -> list[Json]:
    """The step, as if others followed."""
    return [{**each, "isComplete": False} for each in answer]


def endless(answer: list[Json]) -> list[Json]:
    """The step after this one, of a chain that has no last one."""
    return [{**each, "step": int(each["step"]) + 1} for each in answer]


def _approval(fault: str, approval: Json) -> bool:
    try:
        call = erc20.APPROVE.read(bytes.fromhex(approval["data"][2:]))
    except CalldataError:
        return False
    spender, amount = call["spender"], call["amount"]
    if fault == "tamper_spender":
        spender = ATTACKER
    elif fault == "tamper_amount":
        amount = erc20.UNLIMITED
    elif fault == "tamper_chain_id":
        approval["fromChain"]["chainId"] = elsewhere(approval["fromChain"]["chainId"])
        return True
    elif fault == "tamper_recipient":
        approval["to"] = ATTACKER
        return True
    elif fault == "tamper_calldata":
        approval["data"] = _hex(erc20.TRANSFER.call(ATTACKER, amount))
        return True
    else:
        return False
    approval["data"] = _hex(erc20.APPROVE.call(spender, amount))
    return True


def _document(fault: str, document: Json) -> bool:
    message, domain = document["message"], document["domain"]
    # What Permit2 takes, and the order that it carries.
    parts = [message, *(message[name] for name in ("permitted", "witness") if name in message)]
    if fault == "tamper_spender":
        if "spender" in message:
            message["spender"] = ATTACKER
        else:
            domain["verifyingContract"] = ATTACKER
    elif fault == "tamper_amount":
        for part in parts:
            part |= {name: str(2 * int(part[name])) for name in _AMOUNTS if name in part}
    elif fault == "tamper_chain_id":
        domain["chainId"] = elsewhere(domain["chainId"])
    elif fault == "tamper_recipient" and "receiver" in parts[-1]:
        parts[-1]["receiver"] = ATTACKER
    elif fault == "tamper_extra_field":
        message["note"] = "also signed"
    else:
        return False
    return True


def _create(fault: str, order: Json) -> bool:
    metadata = order.get("metadata")
    if not isinstance(metadata, dict) or "data" not in metadata:
        return False
    if "to" not in metadata:
        return _half(fault, metadata)
    change = _CHANGES.get(fault)
    if change is not None:
        return _recalled(metadata, change)
    if fault == "tamper_spender":
        metadata["to"] = ATTACKER
    elif fault == "tamper_chain_id":
        metadata["chainId"] = elsewhere(metadata["chainId"])
    elif fault == "tamper_calldata":
        metadata["data"] = "0xdeadbeef" + metadata["data"][10:]
    elif fault == "tamper_extra_field":
        metadata["authorizationList"] = [{"address": ATTACKER, "chainId": "0x0", "nonce": "0x0"}]
    else:
        return False
    return True


def _half(fault: str, metadata: Json) -> bool:
    """A transaction of Solana, which has no id of its chain and is all that is to be sent."""
    from swapdesk.sandbox.solana_tampering import tampered_half

    if fault == "tamper_chain_id":
        metadata["chainId"] = 1
        return True
    changed = tampered_half(fault, bytes.fromhex(metadata["data"]))
    if changed is None:
        return False
    metadata["data"] = changed.hex()
    return True


def _deposits(fault: str, told: Json) -> bool:
    """One transaction of a group on Solana; operations have a fault of their own."""
    from swapdesk.sandbox.solana_tampering import tampered_half

    if "userOperation" in told:
        return False
    changed = tampered_half(fault, base64.b64decode(told["data"]))
    if changed is None:
        return False
    told["data"] = base64.b64encode(changed).decode()
    return True


def _recalled(metadata: Json, change: Callable[[Json, Json], None]) -> bool:
    """The call with other arguments."""
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


_CHANGES: dict[str, Callable[[Json, Json], None]] = {
    "tamper_amount": _more,
    "tamper_recipient": _to_attacker,
    "stale_calldata": _stale,
}


def elsewhere(chain_id: Any) -> int:
    """The id of the real chain behind one of the sandbox, or of another one."""
    number = int(chain_id)
    return number - SANDBOX_CHAIN_IDS if number > SANDBOX_CHAIN_IDS else number + 1


def _hex(data: bytes) -> str:
    return "0x" + data.hex()
