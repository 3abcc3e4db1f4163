"""What the public service calls otherwise than the contract, and writes in another form: a client
reads both, the service writes ours, or theirs for who asked for them.

Source: contract 1.22.
"""

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
"""Our name, then the names also accepted, best first."""


CHAIN_NAMES: Mapping[str, str] = MappingProxyType(
    {"xrp": "ripple", "stellar": "xlm", "dogecoin": "doge", "cosmos": "cosmoshub-4"}
)
"""Our short name of a chain, then theirs."""

_OUR_CHAINS = {theirs: ours for ours, theirs in CHAIN_NAMES.items()}
_NAMING_CHAINS = ("chain", "shortName", "refundChain")
_ASKING_CHAINS = ("chain", "name")
_SENT = ("to", "data", "value", "gasLimit")

_REPLACED = ("serviceId", "serviceIds")
"""Only the vendor's name is written for these; any other stands beside ours, since the public
record has both."""


class Dialect(StrEnum):
    """Whose names a service writes."""

    CONTRACT = "contract"
    VENDOR = "vendor"

    def names(self, value: Any) -> Any:
        """A plain JSON value as this dialect writes it, at every depth."""
        if self is Dialect.CONTRACT:
            return value
        if isinstance(value, list):
            return [self.names(each) for each in value]
        if not isinstance(value, dict):
            return value
        written: dict[str, Any] = {}
        for name, held in value.items():
            known = VENDOR_NAMES.get(name, ())
            told = self.names(held)
            if name in _NAMING_CHAINS and isinstance(held, str):
                told = CHAIN_NAMES.get(held, held)
            for each in known if name in _REPLACED else (name, *known):
                written[each] = told
        return written | _in_their_form(value)

    def asked(self, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Query parameters with our names of chains where theirs were sent."""
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
        return ".".join(VENDOR_NAMES[one][0] if one in _REPLACED else one for one in parts)


def _in_their_form(value: Mapping[str, Any]) -> dict[str, Any]:
    """The end of a fixed rate in Unix seconds, as a text; and beside ``metadata`` in the answer to
    the create of a DEX order, where it is an object, the transaction as ``tx``."""
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
