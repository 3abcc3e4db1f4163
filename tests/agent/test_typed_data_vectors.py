"""Digests as others compute them: ethers' cases, the Permit2 SDK, and eth-account.

``vectors/eip712.json`` are cases of ``@ethersproject/testcases`` 5.8.0 (MIT); all 1,025 of them
are tried where ``SWAPDESK_NPM`` names a ``node_modules`` directory that has the package. The
hashes of Permit2 documents are those of ``@uniswap/permit2-sdk`` 1.4.0 (MIT).
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from eth_account.messages import encode_typed_data
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.honest import DETAILS_TYPE, ORDER_TYPE, PERMISSIONS_TYPE, typed
from sampling import examples
from swapdesk.agent.shapes.claim import Act
from swapdesk.agent.shapes.reading import read_typed
from swapdesk.agent.typed_data import TypedDataRefused, read_document
from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.deployments import PERMIT2

VECTORS = json.loads((Path(__file__).parent / "vectors" / "eip712.json").read_text())
NPM = Path(os.environ.get("SWAPDESK_NPM", "node_modules"))
ETHERS = NPM / "@ethersproject" / "testcases" / "testcases" / "eip712.json.gz"


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_a_digest_of_ethers(case):
    document = {key: case[key] for key in ("types", "primaryType", "domain", "message")}
    assert "0x" + read_document(document).digest.hex() == case["digest"]


@pytest.mark.skipif(not ETHERS.exists(), reason="npm @ethersproject/testcases is not here")
def test_all_digests_of_ethers():
    cases = json.loads(gzip.decompress(ETHERS.read_bytes()))
    # An empty domain is the only thing that ethers takes and we do not.
    taken = [case for case in cases if case["domain"]]
    for case in taken:
        document = {key: case[key] for key in ("types", "primaryType", "domain")}
        found = read_document({**document, "message": case["data"]})
        assert "0x" + found.digest.hex() == case["digest"], case["name"]
    assert (len(cases), len(taken)) == (1025, 999)


@pytest.mark.parametrize("types", [{}, {"EIP712Domain": []}])
def test_a_document_without_a_domain_is_refused(types):
    message = {"types": {"Box": [{"name": "it", "type": "bool"}], **types}, "domain": {}}
    with pytest.raises(TypedDataRefused):
        read_document({**message, "primaryType": "Box", "message": {"it": True}})


SPENDER = "0x" + "00" * 19 + "01"
TOKEN = "0x" + "11" * 20
DETAILS = {"token": TOKEN, "amount": "1000000", "expiration": "1800000000", "nonce": "3"}
PERMITTED = {"token": TOKEN, "amount": "1000000"}
TRANSFER = {"spender": SPENDER, "nonce": "77", "deadline": "1800000000"}
TRANSFER_TYPE = "spender:address nonce:uint256 deadline:uint256"
ORDER = {
    "owner": TOKEN,
    "sellToken": TOKEN,
    "buyToken": SPENDER,
    "receiver": TOKEN,
    "sellAmount": "1000000",
    "buyAmount": "5",
    "feeAmount": "0",
    "validTo": 1_800_000_000,
    "nonce": "1",
    "partiallyFillable": False,
    "appData": "0x" + "ab" * 32,
}
SDK = {
    "PermitSingle": (
        "PermitSingle",
        {
            "PermitSingle": "details:PermitDetails spender:address sigDeadline:uint256",
            "PermitDetails": DETAILS_TYPE,
        },
        {"details": DETAILS, "spender": SPENDER, "sigDeadline": "1800000100"},
        "7cdf058c8f925d220a936c1e91d20956cf6ef65662161c000d4c135efa179735",
    ),
    "PermitBatch": (
        "PermitBatch",
        {
            "PermitBatch": "details:PermitDetails[] spender:address sigDeadline:uint256",
            "PermitDetails": DETAILS_TYPE,
        },
        {
            "details": [
                DETAILS,
                {"token": SPENDER, "amount": "2", "expiration": "5", "nonce": "0"},
            ],
            "spender": SPENDER,
            "sigDeadline": "1800000100",
        },
        "59c16e5af7fe3f0b785daff29fb3f19ca473dcd74e990a207fcae6c3c92ec864",
    ),
    "PermitTransferFrom": (
        "PermitTransferFrom",
        {
            "PermitTransferFrom": f"permitted:TokenPermissions {TRANSFER_TYPE}",
            "TokenPermissions": PERMISSIONS_TYPE,
        },
        {"permitted": PERMITTED, **TRANSFER},
        "6444c6d3d44bbe2116d919a931af776cf8c02f44aeff5facba28673892b415d0",
    ),
    "PermitBatchTransferFrom": (
        "PermitBatchTransferFrom",
        {
            "PermitBatchTransferFrom": f"permitted:TokenPermissions[] {TRANSFER_TYPE}",
            "TokenPermissions": PERMISSIONS_TYPE,
        },
        {"permitted": [PERMITTED, {"token": SPENDER, "amount": "1"}], **TRANSFER},
        "7c736dc86ef777f55626dcb6781da05f134848e66a8116206a7c7b4305187115",
    ),
    "PermitWitnessTransferFrom": (
        "PermitWitnessTransferFrom",
        {
            "PermitWitnessTransferFrom": f"permitted:TokenPermissions {TRANSFER_TYPE} "
            "witness:Order",
            "TokenPermissions": PERMISSIONS_TYPE,
            "Order": ORDER_TYPE,
        },
        {"permitted": PERMITTED, **TRANSFER, "witness": ORDER},
        "7ca34ee81e746cec7dc0f73680a475d95fb20e5f74350a7a967ecc4153c9e372",
    ),
}
MOCK = typed(
    {"name": "Permit2", "chainId": 1, "verifyingContract": PERMIT2},
    "PermitWitnessTransferFrom",
    {
        "PermitWitnessTransferFrom": f"permitted:TokenPermissions {TRANSFER_TYPE} "
        "witness:MockWitness",
        "TokenPermissions": PERMISSIONS_TYPE,
        "MockWitness": "mock:uint256",
    },
    {"permitted": PERMITTED, **TRANSFER, "witness": {"mock": "5"}},
)


@pytest.mark.parametrize("name", SDK)
def test_a_hash_of_the_permit2_sdk_is_ours_and_its_shape_is_known(name):
    primary, types, message, expected = SDK[name]
    domain = {"name": "Permit2", "chainId": 1, "verifyingContract": PERMIT2}
    claim = read_typed(typed(domain, primary, types, message))
    assert claim.content.hex() == expected
    assert claim.shape == name
    assert claim.act is not Act.UNKNOWN


def test_a_witness_that_is_no_order_of_ours_has_no_known_shape():
    claim = read_typed(MOCK)
    assert claim.content.hex() == "a35378fc1fdc24fdbe1f77b55c168af05cbf5c7e80966c52a5945d43ef5f1940"
    assert claim.act is Act.UNKNOWN


@st.composite
def values(draw, kind: str):
    if kind == "address":
        return "0x" + draw(st.binary(min_size=20, max_size=20)).hex()
    if kind == "bool":
        return draw(st.booleans())
    if kind == "string":
        return draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
    if kind == "bytes":
        return "0x" + draw(st.binary(max_size=40)).hex()
    if kind.startswith("bytes"):
        size = int(kind.removeprefix("bytes"))
        return "0x" + draw(st.binary(min_size=size, max_size=size)).hex()
    bits = int(kind.removeprefix("u").removeprefix("int"))
    low, high = (0, 1 << bits) if kind.startswith("u") else (-(1 << bits - 1), 1 << bits - 1)
    return draw(st.integers(low, high - 1))


ELEMENTARY = st.sampled_from(
    ["address", "bool", "string", "bytes", "bytes1", "bytes31", "bytes32"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 24, 128, 248, 256)]
)


@st.composite
def documents(draw):
    """A message of elementary fields, lists of them, and a struct that may stand in a list."""
    inner = draw(st.lists(ELEMENTARY, min_size=1, max_size=3))
    outer = draw(st.lists(st.tuples(ELEMENTARY, st.sampled_from(["", "[]", "[2]"])), max_size=4))
    listed = draw(st.booleans())

    def one():
        return {f"i{n}": draw(values(kind)) for n, kind in enumerate(inner)}

    message = {"box": [one(), one()] if listed else one()}
    fields = [{"name": "box", "type": "Box[]" if listed else "Box"}]
    for n, (kind, many) in enumerate(outer):
        fields.append({"name": f"o{n}", "type": kind + many})
        count = {"": None, "[2]": 2, "[]": draw(st.integers(0, 3))}[many]
        drawn = values(kind)
        message[f"o{n}"] = draw(drawn) if count is None else [draw(drawn) for _ in range(count)]
    return {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "Box": [{"name": f"i{n}", "type": kind} for n, kind in enumerate(inner)],
            "Main": fields,
        },
        "primaryType": "Main",
        "domain": {
            "name": draw(values("string")),
            "chainId": draw(st.integers(0, 1 << 64)),
            "verifyingContract": draw(values("address")),
        },
        "message": message,
    }


@settings(max_examples=examples(80), deadline=None)
@given(documents())
def test_a_document_that_both_take_has_the_digest_of_eth_account(document):
    signable = encode_typed_data(full_message=document)
    theirs = keccak(b"\x19" + signable.version + signable.header + signable.body)
    assert read_document(document).digest == theirs
