"""Typed data: the standard's own example, what other encoders let through, and digests as others
compute them: ethers' cases, the Permit2 SDK, and eth-account.

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

from agent.honest import (
    DETAILS_TYPE,
    ORDER_TYPE,
    PERMISSIONS_TYPE,
    typed,
    with_value,
    without,
)
from rows import each_row
from sampling import examples
from swapdesk.agent.shapes.claim import PayloadRefused
from swapdesk.agent.shapes.reading import read_typed
from swapdesk.agent.typed_data import read_document
from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.deployments import PERMIT2
from swapdesk.wire.encoding.numbers import WireNumber

MAIL = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        "Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
        "Mail": [
            {"name": "from", "type": "Person"},
            {"name": "to", "type": "Person"},
            {"name": "contents", "type": "string"},
        ],
    },
    "primaryType": "Mail",
    "domain": {
        "name": "Ether Mail",
        "version": "1",
        "chainId": WireNumber("1"),
        "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
    },
    "message": {
        "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
        "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
        "contents": "Hello, Bob!",
    },
}
DIGEST = "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2"


def test_the_example_of_the_standard():
    document = read_document(MAIL)
    assert document.digest.hex() == DIGEST
    assert document.declaration == (
        "Mail(Person from,Person to,string contents)Person(string name,address wallet)"
    )
    assert [leaf.path for leaf in document.leaves()][-2:] == [
        "message.to.wallet",
        "message.contents",
    ]


@each_row("chain_id", ["1", "0x1", 1, WireNumber("1")])
def test_a_chain_id_has_one_meaning_in_every_spelling(chain_id):
    document = read_document(with_value(MAIL, "domain.chainId", chain_id))
    assert document.domain["chainId"] == 1
    assert document.digest.hex() == DIGEST


def test_an_undeclared_domain_follows_from_its_values():
    assert read_document(without(MAIL, "types.EIP712Domain")).digest.hex() == DIGEST


def test_the_domain_is_encoded_in_the_order_it_is_declared():
    name, version, *others = MAIL["types"]["EIP712Domain"]
    swapped = with_value(MAIL, "types.EIP712Domain", [version, name, *others])
    # MetaMask's digest of the same document.
    assert read_document(swapped).digest.hex().startswith("6b87af0a")


def test_a_type_that_nothing_uses_changes_nothing():
    unused = [{"name": "x", "type": "uint256"}]
    assert read_document(with_value(MAIL, "types.Unused", unused)).digest.hex() == DIGEST


REFUSED = {
    "extra field": (with_value(MAIL, "message.note", "x"), "EXTRA_FIELD"),
    "extra field inside": (with_value(MAIL, "message.to.note", "x"), "EXTRA_FIELD"),
    "extra in domain": (with_value(MAIL, "domain.salt", "0x" + "00" * 32), "EXTRA_FIELD"),
    "extra on top": (with_value(MAIL, "note", "x"), "TOP_LEVEL"),
    "missing field": (without(MAIL, "message.contents"), "MISSING_FIELD"),
    "null field": (with_value(MAIL, "message.contents", None), "MISSING_FIELD"),
    "null struct": (with_value(MAIL, "message.to", None), "MISSING_FIELD"),
    "struct as text": (with_value(MAIL, "message.to", "Bob"), "STRUCT"),
    "chainId typed string": (
        with_value(MAIL, "types.EIP712Domain[2].type", "string"),
        "DOMAIN_FIELD",
    ),
    "unknown domain field": (
        with_value(MAIL, "types.EIP712Domain[2].name", "chain"),
        "DOMAIN_FIELD",
    ),
    "empty domain": (with_value(MAIL, "domain", {}), "MISSING_FIELD"),
    "checksum": (
        with_value(MAIL, "message.to.wallet", "0xbBBBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"),
        "CHECKSUM",
    ),
    "19-byte address": (with_value(MAIL, "message.to.wallet", "0x" + "bb" * 19), "ADDRESS"),
    "no primary type": (without(MAIL, "primaryType"), "TOP_LEVEL"),
    "other primary type": (with_value(MAIL, "primaryType", "Post"), "PRIMARY_TYPE"),
    "domain as primary type": (with_value(MAIL, "primaryType", "EIP712Domain"), "PRIMARY_TYPE"),
    "duplicate field": (
        with_value(MAIL, "types.Person[1]", {"name": "name", "type": "string"}),
        "DUPLICATE_FIELD",
    ),
    "recursion": (with_value(MAIL, "types.Person[1].type", "Mail"), "RECURSIVE"),
    "recursion in an array": (with_value(MAIL, "types.Person[1].type", "Person[]"), "RECURSIVE"),
    "number as text": (with_value(MAIL, "message.contents", WireNumber("5")), "STRING"),
    "unknown type": (with_value(MAIL, "types.Person[1].type", "Wallet"), "UNKNOWN_TYPE"),
    "alias": (with_value(MAIL, "types.Person[1].type", "uint"), "ALIAS"),
    "no such size": (with_value(MAIL, "types.Person[1].type", "uint7"), "ALIAS"),
    "size 0": (with_value(MAIL, "types.Person[1].type", "bytes0"), "ALIAS"),
    "spelled with a blank": (with_value(MAIL, "types.Person[1].type", "uint256 "), "FIELD_TYPE"),
    "leading zero": (with_value(MAIL, "types.Person[1].type", "uint256[02]"), "FIELD_TYPE"),
    "struct named like a type": (
        with_value(MAIL, "types.uint256", [{"name": "x", "type": "bool"}]),
        "TYPE_NAME",
    ),
    "chainId as bool": (with_value(MAIL, "domain.chainId", True), "INTEGER"),
    "chainId as float": (with_value(MAIL, "domain.chainId", WireNumber("1.0")), "INTEGER"),
    "chainId negative": (with_value(MAIL, "domain.chainId", "-1"), "RANGE"),
    "chainId too large": (with_value(MAIL, "domain.chainId", str(1 << 256)), "RANGE"),
    "underscore": (with_value(MAIL, "domain.chainId", "1_000"), "INTEGER"),
    "full-width digits": (with_value(MAIL, "domain.chainId", "１"), "INTEGER"),
    "leading blank": (with_value(MAIL, "domain.chainId", " 1"), "INTEGER"),
    "minus zero": (with_value(MAIL, "domain.chainId", "-0"), "INTEGER"),
}


@each_row("name", REFUSED)
def test_what_has_two_meanings_is_refused(name):
    document, code = REFUSED[name]
    with pytest.raises(PayloadRefused) as caught:
        read_document(document)
    assert caught.value.code == f"DOCUMENT_{code}"


def _one(kind, value):
    return {
        "types": {"Box": [{"name": "it", "type": kind}]},
        "primaryType": "Box",
        "domain": {"chainId": 1},
        "message": {"it": value},
    }


@each_row(
    ("kind", "value", "code"),
    [
        ("bool", "false", "BOOL"),
        ("bool", 0, "BOOL"),
        ("bytes", "zz", "BYTES"),
        ("bytes", "0xzz", "BYTES"),
        ("bytes", "12", "BYTES"),
        ("bytes", "0x1", "BYTES"),
        ("bytes4", "0x1234", "BYTES_LENGTH"),
        ("bytes32", WireNumber("1000"), "BYTES"),
        ("bytes32", "hello", "BYTES"),
        ("uint256[2]", ["1", "2", "3"], "ARRAY_LENGTH"),
        ("uint256[2]", ["1"], "ARRAY_LENGTH"),
        ("uint256[]", "1", "ARRAY"),
        ("int8", "128", "RANGE"),
        ("int8", "-129", "RANGE"),
        ("uint8", "256", "RANGE"),
        ("uint256[1025]", [], "ARRAY_LENGTH"),
        ("uint256[]", ["1"] * 1025, "ARRAY_LENGTH"),
        ("bool[][][][][]", [], "FIELD_TYPE"),
    ],
)
def test_a_value_of_another_spelling_is_refused(kind, value, code):
    with pytest.raises(PayloadRefused) as caught:
        read_document(_one(kind, value))
    assert caught.value.code == f"DOCUMENT_{code}"


@each_row("types", [{}, {"EIP712Domain": []}])
def test_a_document_without_a_domain_is_refused(types):
    box = _one("bool", True)
    with pytest.raises(PayloadRefused):
        read_document({**box, "types": {**box["types"], **types}, "domain": {}})


@each_row(
    ("kind", "value"),
    [("int8", "-128"), ("int8", "127"), ("uint8", "255"), ("uint256[2][]", [["1", "2"]])],
)
def test_the_ends_of_a_range_are_inside(kind, value):
    assert len(read_document(_one(kind, value)).digest) == 32


VECTORS = json.loads((Path(__file__).parent / "vectors" / "eip712.json").read_text())
NPM = Path(os.environ.get("SWAPDESK_NPM", "node_modules"))
ETHERS = NPM / "@ethersproject" / "testcases" / "testcases" / "eip712.json.gz"


@each_row("case", VECTORS, ids=lambda case: case["name"])
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


@each_row("name", SDK)
def test_a_hash_of_the_permit2_sdk_is_ours_and_its_shape_is_known(name):
    primary, types, message, expected = SDK[name]
    domain = {"name": "Permit2", "chainId": 1, "verifyingContract": PERMIT2}
    claim = read_typed(typed(domain, primary, types, message))
    assert claim.content.hex() == expected
    assert claim.shape == name
    assert claim.act != "unknown"


def test_a_witness_that_is_no_order_of_ours_has_no_known_shape():
    claim = read_typed(MOCK)
    assert claim.content.hex() == "a35378fc1fdc24fdbe1f77b55c168af05cbf5c7e80966c52a5945d43ef5f1940"
    assert claim.act == "unknown"


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
