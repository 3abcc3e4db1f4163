"""The same keys in the libraries that other wallets sign with: every byte is equal.

Run where node is and ``SWAPDESK_NPM`` names a ``node_modules`` directory with ``ethers`` 6 or
``@solana/web3.js`` 1; skipped elsewhere. Both sign deterministically (RFC 6979, Ed25519), so that
whole transactions can be compared and not only who signed them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from solders.message import to_bytes_versioned
from solders.transaction import VersionedTransaction

from agent.honest import CALLS, DOCUMENTS
from agent.honest_solana import ALICE as SOLANA_ALICE
from agent.honest_solana import HONEST as SOLANA
from patience import PATIENCE
from swapdesk.agent.signers import EvmSigner, SolanaSigner
from swapdesk.agent.typed_data import read_document
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.secret import SecretBytes
from swapdesk.wallet.answers import EvmTerms
from swapdesk.wallet.promise import Purpose, TransactionPayload

NODE = shutil.which("node")
NPM = Path(os.environ.get("SWAPDESK_NPM", "node_modules"))
SCRIPT = Path(__file__).parent / "npm" / "sign.cjs"
SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
CHAINS = (1, 56, 8453, 1_337_008_453, 2**53 - 1)


def needs(package: str) -> pytest.MarkDecorator:
    there = NODE is not None and (NPM / package).is_dir()
    return pytest.mark.skipif(not there, reason=f"node with npm {package} is not here")


def theirs(**asked: Any) -> dict[str, Any]:
    """What the libraries make of it."""
    ended = subprocess.run(
        [str(NODE), str(SCRIPT), str(NPM)],
        input=json.dumps(asked).encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr.decode()
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def transactions(rng: random.Random) -> list[tuple[TransactionPayload, EvmTerms]]:
    """Every kind of call of the honest set, and numbers at the edges of their fields."""
    calls = [
        (one.payload.to, bytes.fromhex(one.payload.data[2:]), one.payload.value)
        for one in CALLS.values()
    ]
    edges = (0, 1, 127, 128, 255, 256, 2**63, 2**64 - 1)
    calls += [(calls[0][0], rng.randbytes(size), 0) for size in (0, 1, 2, 55, 56, 57, 4_096)]
    calls += [(calls[0][0], b"", value) for value in (*edges, 2**128, 2**255, 2**256 - 1)]
    return [
        (
            TransactionPayload(Purpose.SWAP, checksummed(to), f"0x{data.hex()}", value),
            EvmTerms(
                chain_id=CHAINS[i % len(CHAINS)],
                nonce=(*edges[:6], 2**53 - 1)[i % 7],
                gas=21_000 + edges[i % 6],
                max_fee=max(edges[(i + 3) % len(edges)], 1),
                max_priority=min(edges[i % len(edges)], edges[(i + 3) % len(edges)]),
            ),
        )
        for i, (to, data, value) in enumerate(calls)
    ]


@needs("ethers")
def test_ethers_signs_the_same_bytes() -> None:
    rng = random.Random(20261122)
    secrets = [rng.randrange(1, SECP256K1_ORDER) for _ in range(3)] + [1, SECP256K1_ORDER - 1]
    wanted = transactions(rng)
    documents = [
        {name: one.payload.document[name] for name in ("domain", "types", "message")}
        for one in DOCUMENTS.values()
    ]
    digests = [read_document(one.payload.document).digest for one in DOCUMENTS.values()]
    for secret in secrets:
        raw = secret.to_bytes(32, "big")
        told = theirs(
            key=f"0x{raw.hex()}",
            transactions=[
                {
                    "type": 2,
                    "chainId": terms.chain_id,
                    "nonce": str(terms.nonce),
                    "to": payload.to,
                    "value": str(payload.value),
                    "data": payload.data,
                    "gasLimit": str(terms.gas),
                    "maxFeePerGas": str(terms.max_fee),
                    "maxPriorityFeePerGas": str(terms.max_priority),
                }
                for payload, terms in wanted
            ],
            documents=documents,
        )
        signer = EvmSigner(told["address"], SecretBytes(raw))
        ours = [f"0x{signer.sign_transaction(*one)[0].hex()}" for one in wanted]
        assert told["transactions"] == ours
        assert told["documents"] == [signer.sign_digest(one) for one in digests]


@needs("@solana/web3.js")
def test_solana_web3_signs_the_same_bytes() -> None:
    unsigned = [one.payload.transaction for one in SOLANA.values()]
    assert len(unsigned) >= 5
    seed = bytes(SOLANA_ALICE.secret())
    told = theirs(seed=seed.hex(), messages=unsigned)
    signer = SolanaSigner(str(SOLANA_ALICE.pubkey()), SecretBytes(seed))
    assert told["owner"] == signer.address
    for name, each, one in zip(SOLANA, told["messages"], unsigned, strict=True):
        signed, *_ = signer.sign(b64decode(one))
        assert each["raw"] == b64encode(signed).decode(), name
        message = VersionedTransaction.from_bytes(signed).message
        assert each["message"] == b64encode(to_bytes_versioned(message)).decode(), name
