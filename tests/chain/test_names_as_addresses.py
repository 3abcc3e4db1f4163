"""A kind whose addresses are names: it proves little, and so it never stands in for another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rows import each_row
from swapdesk.chain.addresses import display
from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.display import grouped, groups, looks_like, short
from swapdesk.chain.addresses.kind import (
    AddressKind,
    AddressProblem,
    ParsedAddress,
    Proof,
    wrong_length,
)
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, KINDS, derive_address, kinds_by_proof
from swapdesk.flows.payees import address_book
from swapdesk.flows.payees.address_book import AddressBook, check_entry

KEY = "e9873d79c6d87dc0fb6a5778633389f4453213303da61f20bd67fc233aa33262"
MISTYPED = {
    "bitcoin": "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdp",
    "ltc": "ltc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdp",
    "evm": "0x12",
    "bch": "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6q",
    "cosmos": "cosmos1hello",
}
"""Texts of lower case that are an address but for a typing error."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}[a-z0-9]")


def read_name(text: str) -> ParsedAddress:
    if not 2 <= len(text) <= 64:
        raise wrong_length(len(text), "2 to 64")
    if _NAME.fullmatch(text) is None:
        raise AddressProblem("character", "it is no name")
    proves = Proof.SHAPE if text.endswith(".word") else None
    return ParsedAddress(
        text, proof="a name has no checksum", warnings=("No checksum.",), proves=proves
    )


WORDS = AddressKind(
    name="words",
    chain="Wordy",
    called="a Wordy name",
    needs="a name",
    proof=Proof.ANY_WORD,
    shape="^.*$",
    read=read_name,
    is_name=lambda text: text.endswith(".word"),
    generate=lambda seed, _: seed.hex(),
)


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(ADDRESS_KINDS, "words", WORDS)
    monkeypatch.setattr(address_book, "KINDS", (*KINDS, "words"))
    display.name_forms.cache_clear()
    yield
    display.name_forms.cache_clear()


@each_row(("kind", "text"), MISTYPED.items())
def test_a_typing_error_is_not_named_after_the_weak_kind(kind: str, text: str) -> None:
    verdict = check_address(kind, text)
    assert not verdict.ok
    assert "Wordy" not in verdict.reason


@each_row(("kind", "text"), MISTYPED.items())
def test_a_typing_error_is_no_name_either(kind: str, text: str) -> None:
    verdict = check_address("words", text)
    assert (verdict.ok, verdict.code) == (False, "other_chain")
    called = ADDRESS_KINDS[kind].called
    assert verdict.reason == f"This is {called} with a typing error. Wordy needs a name."


@each_row("kind", [kind.name for kind in kinds_by_proof(Proof.ANY_WORD)])
def test_what_another_kind_proves_is_no_name(kind: str) -> None:
    address = derive_address(kind, bytes(range(32)))
    assert not check_address("words", address).ok
    assert not (
        check_address(kind, address.lower()).ok and check_address("words", address.lower()).ok
    )


def test_a_name_that_says_its_chain_is_named() -> None:
    verdict = check_address("evm", "alice.word")
    assert (verdict.code, verdict.reason) == (
        "other_chain",
        "This is a Wordy name. Ethereum needs one that starts with 0x.",
    )
    assert check_address("words", "alice.word").ok
    assert check_address("words", "alice").proves is Proof.ANY_WORD


def test_a_private_key_stays_one_and_says_what_else_it_may_be() -> None:
    verdict = check_address("evm", KEY)
    assert verdict.code == "unsafe"
    assert verdict.reason.startswith("This is a private key, a transaction hash")
    assert verdict.reason.endswith(" or a Wordy name. Never paste a private key.")


@pytest.mark.parametrize("text", ["0x12", "hello", KEY, *MISTYPED.values()])
def test_a_word_enters_the_address_book_only_when_its_kind_is_chosen(
    text: str, tmp_path: Path
) -> None:
    book = AddressBook.load(tmp_path / "book.toml")
    check = check_entry(book, "zed", text, "")
    assert check.entry is None
    assert check.problem == "This is no address of a chain the desk knows."
    chosen = check_entry(book, "zed", text, "", "words")
    assert (chosen.entry is not None) == (text in ("hello", KEY))


def test_names_are_compared_as_they_are_drawn() -> None:
    assert not looks_like("alicia.word", "alice.word")
    assert not looks_like("alice.word", "alice.word")
    assert looks_like("a1ice.word", "alice.word")
    assert looks_like("morning.word", "moming.word")


def test_a_name_stands_in_one_piece() -> None:
    assert groups("alice.wonder.word") == ["alice.wonder.word"]
    assert grouped("alice.wonder.word") == short("alice.wonder.word") == "alice.wonder.word"
    assert grouped("abcdefgh") == "abcd efgh"
