"""Keeps the curve BLS12-381, which no signing key of this program uses, from slowing process
starts.

eth_keyfile and py-evm import it through py_ecc, whose tables take a third of a process's start.
Call both functions before these libraries are imported; later calls do nothing.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

_CURVE = ("py_ecc.bls", "py_ecc.bls12_381")
_PRECOMPILED = "eth.precompiles.bls12_381"
_CONTRACTS = (
    "bls12_g1_add",
    "bls12_g1_msm",
    "bls12_g2_add",
    "bls12_g2_msm",
    "bls12_map_fp2_to_g2",
    "bls12_map_fp_to_g1",
    "bls12_pairing_check",
)
ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
"""The order of the curve's subgroup (EIP-2333). eth_keyfile derives the largest key from it."""


class _Instead(ModuleType):
    """A module that takes the place of a module of py_ecc or py-evm."""


class _Validators:
    """Takes the place of eth_keyfile's class for validators' keys. Every use raises
    NotImplementedError."""

    def __getattr__(self, name: str) -> NoReturn:
        raise NotImplementedError(f"keys of validators are not used here: {name}")


def leave_out_validator_keys() -> None:
    """Lets eth_keyfile be imported without py_ecc's BLS curve, which only validators' keys need.
    Key files of version 3 still work."""
    if "eth_keyfile" in sys.modules:
        return
    curve, group = _CURVE
    _place(curve, G2ProofOfPossession=_Validators())
    _place(group, curve_order=ORDER)


def postpone_precompiles() -> None:
    """Makes py-evm load the precompiled contracts of EIP-2537 only when one of them is first
    called."""
    if "eth" not in sys.modules:
        _place(_PRECOMPILED, **{name: _postponed(name) for name in _CONTRACTS})


def _place(name: str, **names: Any) -> None:
    module = _Instead(name)
    vars(module).update(names)
    sys.modules[name] = module


def _postponed(name: str) -> Callable[[Any], Any]:
    def contract(computation: Any) -> Any:
        return getattr(_precompiled(), name)(computation)

    return contract


def _precompiled() -> ModuleType:
    for name in (_PRECOMPILED, *_CURVE):
        if isinstance(sys.modules.get(name), _Instead):
            del sys.modules[name]
    return importlib.import_module(_PRECOMPILED)
