"""Field names and value forms in which the public service of the API's vendor differs from the
contract. A client reads both forms. This project's service writes the forms of the contract, unless
it is configured to write those of the public service (contract 1.22)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from pydantic import AliasChoices

from swapdesk.wire.encoding.timestamps import parse_rfc3339

VENDOR_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "serviceId": ("houdiniId",),
        "serviceIds": ("houdiniIds",),
        "depositTag": ("senderTag",),
        "rerouted": ("reRouted", "isRerouted"),
        "inTransactionOutHash": ("inTransactionInHash", "transactionHash"),
        "actionRequired": ("ffSetEmergency",),
    }
)
"""For each name that the contract gives to a field: the other names under which the field is also
read, in order of preference."""


CHAIN_NAMES: Mapping[str, str] = MappingProxyType(
    {"xrp": "ripple", "stellar": "xlm", "dogecoin": "doge", "cosmos": "cosmoshub-4"}
)
"""For each short name that the contract gives to a chain: the name that the public service uses
instead."""

_OUR_CHAINS = {theirs: ours for ours, theirs in CHAIN_NAMES.items()}
_NAMING_CHAINS = ("chain", "shortName", "refundChain")
_ASKING_CHAINS = ("chain", "name")
_SENT = ("to", "data", "value", "gasLimit")

_REPLACED = ("serviceId", "serviceIds")
"""Fields that are written only under the public service's name if the dialect is ``VENDOR``. All
other fields in ``VENDOR_NAMES`` are then written under both the contract's name and the public
service's names, because the records of the public service contain both."""


class Dialect(StrEnum):
    """The set of names that a service writes for fields and chains: those of the contract
    (``CONTRACT``), or those of the public service of the API's vendor (``VENDOR``)."""

    CONTRACT = "contract"
    VENDOR = "vendor"

    def names(self, value: Any) -> Any:
        """Returns a plain JSON value, with the fields and chains renamed to the names of this
        dialect at every depth. For ``CONTRACT``, the value itself is returned."""
        if self is Dialect.CONTRACT:
            return value
        if isinstance(value, list):
            return [self.names(key) for key in value]
        if not isinstance(value, dict):
            return value
        written: dict[str, Any] = {}
        for name, held in value.items():
            others = VENDOR_NAMES.get(name, ())
            written_value = self.names(held)
            if name in _NAMING_CHAINS and isinstance(held, str):
                written_value = CHAIN_NAMES.get(held, held)
            for key in others if name in _REPLACED else (name, *others):
                written[key] = written_value
        return written | _in_their_form(value)

    def asked(self, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Returns the query parameters of a request with every chain name of this dialect replaced
        by the contract's name."""
        if self is Dialect.CONTRACT:
            return pairs
        return [
            (name, _OUR_CHAINS.get(sent.casefold(), sent) if name in _ASKING_CHAINS else sent)
            for name, sent in pairs
        ]

    def path(self, path: str) -> str:
        """Returns the dotted path of an input, as an error names it (contract 3.2), with the field
        names of this dialect."""
        if self is Dialect.CONTRACT:
            return path
        parts = path.split(".")
        return ".".join(VENDOR_NAMES[part][0] if part in _REPLACED else part for part in parts)


def _in_their_form(value: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members that the public service writes in another form than the contract. The
    ``validUntil`` of a fixed rate becomes Unix seconds, as text. A DEX order whose ``metadata``
    says ``offChain`` gets ``offChain: true``; any other DEX order with ``metadata`` gets its
    transaction as ``tx``."""
    written: dict[str, Any] = {}
    ends, sends = value.get("validUntil"), value.get("metadata")
    if value.get("fixed") is True and isinstance(ends, str):
        written["validUntil"] = str(int(parse_rfc3339(ends).timestamp()))
    if value.get("isDex") is True and isinstance(sends, dict):
        if sends.get("offChain") is True:
            written["offChain"] = True
        else:
            written["tx"] = {name: sends[name] for name in _SENT if name in sends}
    return written


def alias(name: str) -> AliasChoices:
    """Returns all names under which the field ``name`` is read. The contract's name comes first."""
    return AliasChoices(name, *VENDOR_NAMES.get(name, ()))
