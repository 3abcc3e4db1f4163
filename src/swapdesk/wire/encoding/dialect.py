"""Names and forms of the public service that differ from the contract: a client reads both, the
service writes ours, or theirs where configured (contract 1.22)."""

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
"""Our name, then the other names that are read, best first."""


CHAIN_NAMES: Mapping[str, str] = MappingProxyType(
    {"xrp": "ripple", "stellar": "xlm", "dogecoin": "doge", "cosmos": "cosmoshub-4"}
)
"""Our short name of a chain, then theirs."""

_OUR_CHAINS = {theirs: ours for ours, theirs in CHAIN_NAMES.items()}
_NAMING_CHAINS = ("chain", "shortName", "refundChain")
_ASKING_CHAINS = ("chain", "name")
_SENT = ("to", "data", "value", "gasLimit")

_REPLACED = ("serviceId", "serviceIds")
"""Only the vendor's name is written for these; others stand beside ours, as in the public
record."""


class Dialect(StrEnum):
    """Whose names a service writes."""

    CONTRACT = "contract"
    VENDOR = "vendor"

    def names(self, value: Any) -> Any:
        """A plain JSON value as this dialect writes it, at every depth."""
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
        """Query parameters with our names of chains in place of theirs."""
        if self is Dialect.CONTRACT:
            return pairs
        return [
            (name, _OUR_CHAINS.get(sent.casefold(), sent) if name in _ASKING_CHAINS else sent)
            for name, sent in pairs
        ]

    def path(self, path: str) -> str:
        """A dotted path to an input (contract 3.2) with the names of this dialect."""
        if self is Dialect.CONTRACT:
            return path
        parts = path.split(".")
        return ".".join(VENDOR_NAMES[part][0] if part in _REPLACED else part for part in parts)


def _in_their_form(value: Mapping[str, Any]) -> dict[str, Any]:
    """The end of a fixed rate in Unix seconds, as a text; and for a DEX order whose ``metadata`` is
    an object, the transaction as ``tx`` beside it."""
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
    """All names under which ``name`` is read; our own comes first."""
    return AliasChoices(name, *VENDOR_NAMES.get(name, ()))
