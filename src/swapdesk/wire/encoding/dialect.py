"""Names the public service uses where the contract has another: read both, write ours, or theirs
for who asked for them.

Source: contract 1.22.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from pydantic import AliasChoices

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


_REPLACED = ("serviceId", "serviceIds")
"""Only the vendor's name is written for these; any other stands beside ours, since the public
record has both."""


class Dialect(StrEnum):
    """Whose names a service writes."""

    CONTRACT = "contract"
    VENDOR = "vendor"

    def names(self, value: Any) -> Any:
        """A plain JSON value with the names of this dialect, at every depth."""
        if self is Dialect.CONTRACT:
            return value
        if isinstance(value, list):
            return [self.names(each) for each in value]
        if not isinstance(value, dict):
            return value
        written: dict[str, Any] = {}
        for name, held in value.items():
            known = VENDOR_NAMES.get(name, ())
            for each in known if name in _REPLACED else (name, *known):
                written[each] = self.names(held)
        return written

    def path(self, path: str) -> str:
        """A dotted path to an input (contract 3.2) with the names of this dialect."""
        if self is Dialect.CONTRACT:
            return path
        parts = path.split(".")
        return ".".join(VENDOR_NAMES[one][0] if one in _REPLACED else one for one in parts)


def alias(name: str) -> AliasChoices:
    """All names under which ``name`` is read; our own comes first."""
    return AliasChoices(name, *VENDOR_NAMES.get(name, ()))
