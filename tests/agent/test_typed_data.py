"""Typed data: the standard's own example, and what other encoders let through."""

import copy

import pytest

from swapdesk.agent.typed_data import TypedDataRefused, read_document
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


def _changed(change):
    document = copy.deepcopy(MAIL)
    change(document)
    return document


def _set(path, value):
    def change(document):
        *places, last = path
        for place in places:
            document = document[place]
        document[last] = value

    return change


def _drop(*path):
    def change(document):
        *places, last = path
        for place in places:
            document = document[place]
        del document[last]

    return change


@pytest.mark.parametrize("chain_id", ["1", "0x1", 1, WireNumber("1")])
def test_a_chain_id_has_one_meaning_in_every_spelling(chain_id):
    document = read_document(_changed(_set(("domain", "chainId"), chain_id)))
    assert document.domain["chainId"] == 1
    assert document.digest.hex() == DIGEST


def test_an_undeclared_domain_follows_from_its_values():
    assert read_document(_changed(_drop("types", "EIP712Domain"))).digest.hex() == DIGEST


def test_the_domain_is_encoded_in_the_order_it_is_declared():
    def swap(document):
        fields = document["types"]["EIP712Domain"]
        fields[0], fields[1] = fields[1], fields[0]

    # MetaMask's digest of the same document.
    assert read_document(_changed(swap)).digest.hex().startswith("6b87af0a")


def test_a_type_that_nothing_uses_changes_nothing():
    unused = [{"name": "x", "type": "uint256"}]
    assert read_document(_changed(_set(("types", "Unused"), unused))).digest.hex() == DIGEST


REFUSED = {
    "extra field": (_set(("message", "note"), "x"), "EXTRA_FIELD"),
    "extra field inside": (_set(("message", "to", "note"), "x"), "EXTRA_FIELD"),
    "extra in domain": (_set(("domain", "salt"), "0x" + "00" * 32), "EXTRA_FIELD"),
    "extra on top": (_set(("note",), "x"), "TOP_LEVEL"),
    "missing field": (_drop("message", "contents"), "MISSING_FIELD"),
    "null field": (_set(("message", "contents"), None), "MISSING_FIELD"),
    "null struct": (_set(("message", "to"), None), "MISSING_FIELD"),
    "struct as text": (_set(("message", "to"), "Bob"), "STRUCT"),
    "chainId typed string": (
        _set(("types", "EIP712Domain", 2, "type"), "string"),
        "DOMAIN_FIELD",
    ),
    "unknown domain field": (
        _set(("types", "EIP712Domain", 2, "name"), "chain"),
        "DOMAIN_FIELD",
    ),
    "empty domain": (_set(("domain",), {}), "MISSING_FIELD"),
    "checksum": (
        _set(("message", "to", "wallet"), "0xbBBBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"),
        "CHECKSUM",
    ),
    "19-byte address": (_set(("message", "to", "wallet"), "0x" + "bb" * 19), "ADDRESS"),
    "no primary type": (_drop("primaryType"), "TOP_LEVEL"),
    "other primary type": (_set(("primaryType",), "Post"), "PRIMARY_TYPE"),
    "domain as primary type": (_set(("primaryType",), "EIP712Domain"), "PRIMARY_TYPE"),
    "duplicate field": (
        _set(("types", "Person", 1), {"name": "name", "type": "string"}),
        "DUPLICATE_FIELD",
    ),
    "recursion": (_set(("types", "Person", 1, "type"), "Mail"), "RECURSIVE"),
    "recursion in an array": (_set(("types", "Person", 1, "type"), "Person[]"), "RECURSIVE"),
    "number as text": (_set(("message", "contents"), WireNumber("5")), "STRING"),
    "unknown type": (_set(("types", "Person", 1, "type"), "Wallet"), "UNKNOWN_TYPE"),
    "alias": (_set(("types", "Person", 1, "type"), "uint"), "ALIAS"),
    "no such size": (_set(("types", "Person", 1, "type"), "uint7"), "ALIAS"),
    "size 0": (_set(("types", "Person", 1, "type"), "bytes0"), "ALIAS"),
    "spelled with a blank": (_set(("types", "Person", 1, "type"), "uint256 "), "FIELD_TYPE"),
    "leading zero": (_set(("types", "Person", 1, "type"), "uint256[02]"), "FIELD_TYPE"),
    "struct named like a type": (
        _set(("types", "uint256"), [{"name": "x", "type": "bool"}]),
        "TYPE_NAME",
    ),
    "chainId as bool": (_set(("domain", "chainId"), True), "INTEGER"),
    "chainId as float": (_set(("domain", "chainId"), WireNumber("1.0")), "INTEGER"),
    "chainId negative": (_set(("domain", "chainId"), "-1"), "RANGE"),
    "chainId too large": (_set(("domain", "chainId"), str(1 << 256)), "RANGE"),
    "underscore": (_set(("domain", "chainId"), "1_000"), "INTEGER"),
    "full-width digits": (_set(("domain", "chainId"), "１"), "INTEGER"),
    "leading blank": (_set(("domain", "chainId"), " 1"), "INTEGER"),
    "minus zero": (_set(("domain", "chainId"), "-0"), "INTEGER"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_two_meanings_is_refused(name):
    change, code = REFUSED[name]
    with pytest.raises(TypedDataRefused) as caught:
        read_document(_changed(change))
    assert caught.value.code == code


def _one(kind, value):
    return {
        "types": {"Box": [{"name": "it", "type": kind}]},
        "primaryType": "Box",
        "domain": {"chainId": 1},
        "message": {"it": value},
    }


@pytest.mark.parametrize(
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
    with pytest.raises(TypedDataRefused) as caught:
        read_document(_one(kind, value))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int8", "-128"), ("int8", "127"), ("uint8", "255"), ("uint256[2][]", [["1", "2"]])],
)
def test_the_ends_of_a_range_are_inside(kind, value):
    assert len(read_document(_one(kind, value)).digest) == 32
