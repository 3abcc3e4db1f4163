"""Names the public service uses where the contract has another: read both, write ours.

Source: contract 1.22.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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


def alias(name: str) -> AliasChoices:
    """All names under which ``name`` is read; our own comes first."""
    return AliasChoices(name, *VENDOR_NAMES.get(name, ()))
