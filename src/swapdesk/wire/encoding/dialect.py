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
"""The other names under which a field is read, by its name in the contract, in order of
preference."""


CHAIN_NAMES: Mapping[str, str] = MappingProxyType(
    {"xrp": "ripple", "stellar": "xlm", "dogecoin": "doge", "cosmos": "cosmoshub-4"}
)
"""The public service's names of chains, by the contract's short name."""

_OUR_CHAINS = {theirs: ours for ours, theirs in CHAIN_NAMES.items()}
_NAMING_CHAINS = ("chain", "shortName", "refundChain")
_ASKING_CHAINS = ("chain", "name")
_SENT = ("to", "data", "value", "gasLimit")

_REPLACED = ("serviceId", "serviceIds")
"""Fields that the ``VENDOR`` dialect writes only under the public service's name; others it writes
under both."""


class Dialect(StrEnum):
    """The names that a service writes for fields and chains: the contract's, or those of the
    vendor's public service."""

    CONTRACT = "contract"
    VENDOR = "vendor"

    def names(self, value: Any) -> Any:
        """Returns a JSON value with fields and chains renamed to this dialect at every depth."""
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
        """Returns query parameters in which the contract's chain names replace those of this
        dialect."""
        if self is Dialect.CONTRACT:
            return pairs
        return [
            (name, _OUR_CHAINS.get(sent.casefold(), sent) if name in _ASKING_CHAINS else sent)
            for name, sent in pairs
        ]

    def path(self, path: str) -> str:
        """Returns the dotted path of an input, with its field names in this dialect (contract
        3.2)."""
        if self is Dialect.CONTRACT:
            return path
        parts = path.split(".")
        return ".".join(VENDOR_NAMES[part][0] if part in _REPLACED else part for part in parts)


def _in_their_form(value: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members of ``value`` that the public service writes in another form, not only
    under another name."""
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
