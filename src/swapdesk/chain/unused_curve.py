"""Keeps BLS12-381, which no key of ours is on, out of the start of a process.

py_ecc computes tables and checks of that curve in pure Python as it is imported: a third of what a
process with eth_account needs to start, and as much of one with py-evm. Two libraries ask for it:

- eth_keyfile (through eth_account) for the keys of validators, EIP-2335. We have none.

- py-evm for the precompiled contracts of EIP-2537. They are loaded when one is first called.

Both functions belong to the entry of a process, before the libraries are imported; later they do
nothing.
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
"""Points of the curve's subgroup (EIP-2333); eth_keyfile derives its largest key from it."""


class _Instead(ModuleType):
    """Stands in place of a library's own module."""


class _Validators:
    """What eth_keyfile calls for keys of validators."""

    def __getattr__(self, name: str) -> NoReturn:
        raise NotImplementedError(f"keys of validators are not used here: {name}")


def leave_out_validator_keys() -> None:
    """Let eth_keyfile be imported without py_ecc's BLS; version 3 key files are as ever."""
    if "eth_keyfile" in sys.modules:
        return
    curve, group = _CURVE
    _place(curve, G2ProofOfPossession=_Validators())
    _place(group, curve_order=ORDER)


def postpone_precompiles() -> None:
    """Let py-evm load the contracts of EIP-2537 with the first call of one."""
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
    """The library's own module, which stands on the library's own curve."""
    for name in (_PRECOMPILED, *_CURVE):
        if isinstance(sys.modules.get(name), _Instead):
            del sys.modules[name]
    return importlib.import_module(_PRECOMPILED)
