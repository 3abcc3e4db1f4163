"""The frames between desk and wallet agent, and the JSON form of the objects in them.

A frame begins with two big-endian 32-bit numbers: the length of everything after these two numbers,
and the length of the head. Then come the head (a JSON object) and the secrets as raw bytes. Secrets
are raw so that a pass phrase never becomes a Python string, which cannot be wiped. The member
``secrets`` of the head has their names and lengths, in their order.

A request has ``id``, ``do`` (an :class:`AgentOperation`) and its arguments. Its answer has the same
``id`` and either ``done`` or ``refused``: {code, words, findings?}. A message that the agent sends
unasked has ``event`` instead: ``ready``, or ``locked`` if the agent dropped the keys because no
request came for a while. If a request fails in any way, the agent has given out no signature for
it.

The agent decides by these objects what it signs, so they are read strictly. If a field is missing,
unknown or of another type, the whole object is refused.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.secret import SecretBytes
from swapdesk.wallet.answers import RuleFinding
from swapdesk.wallet.promise import (
    OperationPayload,
    Payload,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json, refuse_deep

VERSION = 3
MAX_FRAME = 2 << 20
"""The largest frame, in bytes after its first length field. A larger frame ends the
conversation."""
MAX_SECRET = 16 << 10
_PREFIX = struct.Struct(">II")
PREFIX_BYTES = _PREFIX.size


AgentOperation = Literal[
    "open",
    "accounts",
    "unlock",
    "lock",
    "create",
    "preview",
    "import",
    "export",
    "rename",
    "clock",
    "review",
    "bump",
    "sign",
    "broadcast",
    "abandon",
    "resolve",
    "transactions",
    "balances",
    "allowances",
    "revocation",
    "solana_revocation",
    "solana_deposit",
    "smart_account",
    "withdrawal",
    "policy",
    "set_policy",
]
"""The requests that the desk may send. Their arguments and answers are those of the
``WalletClient`` methods that send them."""


RefusalCode = Literal[
    "bad_request",
    "wrong_passphrase",
    "locked",
    "read_only",
    "unsafe_files",
    "key_file",
    "no_account",
    "account_exists",
    "bad_key",
    "published_key",
    "not_confirmed",
    "other_profile",
    "other_chain",
    "no_smart_accounts",
    "token_decimals",
    "passphrase_needed",
    "gate",
    "stale_review",
    "unknown_review",
    "already_signed",
    "unresolved",
    "no_transaction",
    "chain_unreachable",
    "chain_refused",
    "records",
    "defect",
]
"""The codes of the agent's refusals. After a refusal nothing was signed and nothing was sent."""


REFUSALS: dict[RefusalCode, str] = {
    "bad_request": "What was asked cannot be read or done.",
    "wrong_passphrase": "No key opens with this pass phrase.",
    "locked": "The keys are not open.",
    "read_only": "Another desk has the wallet.",
    "unsafe_files": "A file of the wallet is open to other users, or cannot be kept.",
    "key_file": "A key file cannot be read or written.",
    "no_account": "The wallet has no such account.",
    "account_exists": "The wallet has this account already.",
    "bad_key": "What was given is no key.",
    "published_key": "Everybody knows this key.",
    "not_confirmed": "What has to be typed was not typed.",
    "other_profile": "The key belongs to another profile.",
    "other_chain": "The node is on another chain than it should be.",
    "no_smart_accounts": (
        "What makes the profile's smart accounts is not known, so none is its owner's for sure."
    ),
    "token_decimals": (
        "A token has other decimals than was said, or its contract does not say how many."
    ),
    "passphrase_needed": (
        "The spending policy would allow more than now, which takes the pass phrase."
    ),
    "gate": "The gate refused; findings say which rules.",
    "stale_review": "The review is too old, or what it showed has changed.",
    "unknown_review": "There is no such review.",
    "already_signed": "This review was signed before.",
    "unresolved": "A transaction before it is not decided yet.",
    "no_transaction": "The wallet signed no such transaction.",
    "chain_unreachable": "The node cannot be reached.",
    "chain_refused": "The node refused the call or the transaction.",
    "records": "transactions.db cannot be written, so nothing is signed.",
    "defect": "The wallet has a defect.",
}
"""The explanation of each refusal code in one sentence."""


class WalletError(Exception):
    """The base of all errors of the wallet. ``words`` is the message for the trader."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class AgentGone(WalletError):
    """Raised if the agent ended or its answer cannot be understood. The last request may have been
    carried out; ``WalletClient.transactions`` of a new agent shows whether. ``said`` has the last
    lines of the agent's standard error, without secrets."""

    def __init__(self, words: str, said: tuple[str, ...] = ()) -> None:
        super().__init__(words)
        self.said = said


class AgentMissing(WalletError):
    """Raised if no agent could be started or the agent cannot use keys. ``mend`` is the command
    that installs the missing packages, empty if no command helps."""

    def __init__(self, words: str, mend: str = "") -> None:
        super().__init__(words)
        self.mend = mend


class DeskReadsOnly(WalletError):
    """Raised if this desk was started read-only, so that it has no wallet agent and signs
    nothing."""


class Refused(WalletError):
    """Raised if the agent refused a request. ``findings`` are the objections to the payload if
    ``code`` is ``gate``, otherwise empty."""

    def __init__(
        self, code: RefusalCode, words: str, findings: tuple[RuleFinding, ...] = ()
    ) -> None:
        super().__init__(words)
        self.code = code
        self.findings = findings


class WrongPassphrase(Refused):
    """Raised if the pass phrase opens no key."""


class FrameError(Exception):
    """Raised for bytes that are not a valid frame. The connection is then unusable."""


class Frame(Struct, frozen=True):
    """One message between desk and agent. Whoever reads a frame has to wipe its ``secrets``."""

    head: dict[str, Any]
    secrets: dict[str, SecretBytes] = {}


def encode_frame(
    head: Mapping[str, Any], secrets: Mapping[str, SecretBytes] | None = None
) -> bytearray:
    """Returns the bytes of a frame; the caller has to wipe them after writing if they hold secrets.
    Raises FrameError if frame or secret is too large."""
    held = dict(secrets or {})
    whole = (
        {**head, "secrets": {name: len(secret) for name, secret in held.items()}} if held else head
    )
    text = json.dumps(whole, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    size = len(text) + sum(len(secret) for secret in held.values())
    if size > MAX_FRAME or any(len(secret) > MAX_SECRET for secret in held.values()):
        raise FrameError("a message is too large for the wallet agent")
    frame = bytearray(_PREFIX.pack(size, len(text)))
    frame += text
    for secret in held.values():
        frame += secret.reveal()
    return frame


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return entries


def _number(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("no number of JSON")
    return number


_READER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_number)
"""The JSON parser of both sides: it accepts no repeated member and only finite numbers."""


def frame_sizes(prefix: bytes | bytearray) -> tuple[int, int]:
    """Returns (size, head) from the 8 bytes before a frame: the number of bytes that follow, and
    how many of them are the JSON head. Raises FrameError if these numbers are out of bounds."""
    size, head = _PREFIX.unpack(prefix)
    if size > MAX_FRAME or head > size:
        raise FrameError("a frame of impossible size")
    return size, head


def decode_frame(body: bytearray, head: int) -> Frame:
    """Returns the frame in ``body``, whose first ``head`` bytes are the JSON head. Wipes the
    secrets in ``body``. Raises FrameError if the frame is not valid."""
    try:
        words = bytes(memoryview(body)[:head])
        refuse_deep(words)
        whole = _READER.decode(words.decode())
    except ValueError:
        whole = None
    if not isinstance(whole, dict):
        raise FrameError("a frame without a readable head")
    sizes = whole.pop("secrets", {})
    if (
        not isinstance(sizes, dict)
        or any(type(size) is not int or not 0 <= size <= MAX_SECRET for size in sizes.values())
        or head + sum(sizes.values()) != len(body)
    ):
        raise FrameError("a frame with secrets of other lengths than it says")
    secrets, at = {}, head
    for name, length in sizes.items():
        secrets[name] = SecretBytes(memoryview(body)[at : at + length])
        at += length
    body[head:] = bytes(len(body) - head)
    return Frame(whole, secrets)


S = TypeVar("S", bound=Struct)

_PLACE = re.compile(r"(?:field|at) `(?:\$\.)?([^`]+)`")
"""Matches the field names in an error of msgspec. Only these are passed on, because the rest of the
message may quote secret values."""
_PAYLOADS: dict[str, type[Any]] = {
    "typed_data": TypedDataPayload,
    "transaction": TransactionPayload,
    "solana": SolanaPayload,
    "operation": OperationPayload,
}
MAX_DOCUMENT = 256 << 10
"""The largest typed-data document accepted, in bytes of its JSON."""


class MessageError(ValueError):
    """Raised for JSON that is not an object of the protocol. The message names fields but never
    quotes values."""


def to_json(value: Struct) -> Any:
    return msgspec.to_builtins(value)


def from_json(kind: type[S], value: object) -> S:
    """Returns the struct of type ``kind`` parsed from JSON values. Raises MessageError if the
    values do not fit that type."""
    try:
        return msgspec.json.decode(json.dumps(value), type=kind)
    except msgspec.ValidationError as error:
        places = " in ".join(_PLACE.findall(str(error))) or "all of it"
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError):
        places = "all of it"
    raise MessageError(f"{kind.__name__} cannot be read: {places}")


def payload_to_json(payload: Payload) -> dict[str, Any]:
    """Returns the payload as JSON with its kind. A typed-data document becomes JSON text, so that
    each number keeps its digits."""
    kind = next(name for name, form in _PAYLOADS.items() if isinstance(payload, form))
    if not isinstance(payload, TypedDataPayload):
        return {"kind": kind, "payload": to_json(payload)}
    document = encode_json(payload.document).decode()
    bare = to_json(replace(payload, document={}))
    return {"kind": kind, "payload": bare, "document": document}


def payload_from_json(value: object) -> Payload:
    """Returns the payload in the JSON of ``payload_to_json``. Raises MessageError if its kind is
    unknown or its content does not fit."""
    if not isinstance(value, dict) or value.get("kind") not in _PAYLOADS:
        raise MessageError("a payload of no known kind")
    payload: Payload = from_json(_PAYLOADS[value["kind"]], value.get("payload"))
    if not isinstance(payload, TypedDataPayload):
        return payload
    text = value.get("document")
    if not isinstance(text, str):
        raise MessageError("typed data without its document")
    try:
        document = decode_json(text.encode(), max_bytes=MAX_DOCUMENT)
    except (CodecError, UnicodeEncodeError) as error:
        raise MessageError(f"the document is no acceptable JSON: {error}") from None
    if not isinstance(document, dict):
        raise MessageError("the document is no JSON object")
    return replace(payload, document=document)
