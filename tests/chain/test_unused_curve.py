"""A curve that nothing of ours is on is not worked out; what stands on it works when asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

TABLES = "py_ecc.optimized_bls12_381"

SIGNED = f"""
import sys
from swapdesk.chain.unused_curve import ORDER, leave_out_validator_keys
leave_out_validator_keys()
from eth_account import Account
from eth_account.messages import encode_defunct
assert "{TABLES}" not in sys.modules
said = encode_defunct(text="said")
own = Account.from_key(b"\\1" * 32)
assert Account.recover_message(said, signature=own.sign_message(said).signature) == own.address
kept = own.encrypt("words", iterations=2)
assert Account.decrypt(kept, "words") == own.key
import eth_keyfile.keyfile as keyfile
assert keyfile.MAX_V4_PRIVATE_KEY + 1 == ORDER
try:
    keyfile.create_keyfile_json(b"\\1" * 32, b"words", version=4, iterations=2)
except NotImplementedError as error:
    assert "SkToPk" in str(error)
else:
    raise AssertionError("a key of a validator was made of nothing")
"""

CALLED = f"""
import sys
from types import SimpleNamespace
from swapdesk.chain.unused_curve import leave_out_validator_keys, postpone_precompiles
leave_out_validator_keys()
import eth_account
postpone_precompiles()
from eth.vm.forks.prague.computation import PragueComputation
assert "{TABLES}" not in sys.modules
first = 0x0B
contracts = [PragueComputation._precompiles[n.to_bytes(20, "big")] for n in range(first, 0x12)]
G1_ADD, G1_MSM, G2_ADD, G2_MSM, PAIRING, TO_G1, TO_G2 = range(7)
inputs = {{
    G1_ADD: bytes(256),
    G1_MSM: bytes(160),
    G2_ADD: bytes(512),
    G2_MSM: bytes(288),
    PAIRING: bytes(384),
    TO_G1: bytes(64),
    TO_G2: bytes(128),
}}
sizes = {{G1_ADD: 128, G1_MSM: 128, G2_ADD: 256, G2_MSM: 256, PAIRING: 32, TO_G1: 128, TO_G2: 256}}
from eth.precompiles import bls12_g1_add as stands_for
for which, data in inputs.items():
    called = SimpleNamespace(
        msg=SimpleNamespace(data=data),
        consume_gas=lambda amount, reason: None,
        output=b"",
    )
    contracts[which](called)
    assert len(called.output) == sizes[which], which
assert "{TABLES}" in sys.modules
from eth.precompiles.bls12_381 import bls12_g1_add
assert bls12_g1_add is not stands_for
assert bls12_g1_add.__module__.startswith("eth.precompiles.bls12_381.")
"""


def run(program: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_keys_of_wallets_need_no_keys_of_validators() -> None:
    pytest.importorskip("eth_account")
    run(SIGNED)


def test_the_contracts_of_the_curve_are_loaded_with_the_first_call() -> None:
    pytest.importorskip("eth")
    run(CALLED)


def test_what_was_imported_before_stays_and_is_of_the_same_order() -> None:
    pytest.importorskip("eth_account")
    run(
        "import sys, eth_account; before = sys.modules['py_ecc.bls']\n"
        "from py_ecc.bls12_381 import curve_order\n"
        "from swapdesk.chain.unused_curve import ORDER, leave_out_validator_keys\n"
        "assert ORDER == curve_order\n"
        "leave_out_validator_keys(); assert sys.modules['py_ecc.bls'] is before\n"
    )
