"""The question before a first payment: what it asks, of whom, and what answers it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.test_recipients import BTC, ETH, EVM
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.recipients import RecipientCheck, challenge_for, check_recipient, without

SEEDS = st.integers(0, 2**32 - 1).map(lambda number: f"{number:08x}{'0' * 24}")


def first(address: str) -> RecipientCheck:
    return RecipientCheck(address, address, None, True, (), first_use=True)


@given(seed=SEEDS, secret=st.binary(min_size=32, max_size=32),
       kind=st.sampled_from(["evm", "bitcoin", "sol", "xmr", "xrp"]))  # fmt: skip
def test_a_whole_group_from_the_middle_is_asked_for(seed: str, secret: bytes, kind: str) -> None:
    address = derive_address(kind, secret)
    asked = challenge_for(first(address), seed)
    assert "".join(address[at] for at in sorted(asked.hidden)) == asked.answer
    assert len(asked.answer) == 4
    body = 2 if address.startswith("0x") else 0
    # Look-alikes are ground to have both ends: neither is asked for.
    assert min(asked.hidden) >= body + 4
    assert max(asked.hidden) < len(address) - 4
    assert asked.passed(asked.answer)
    assert asked.passed(f" {asked.answer} ")
    assert asked.answer not in " ".join(asked.question)
    assert without(address, asked.hidden).count("•") == 4


@given(
    seed=SEEDS, one=st.binary(min_size=32, max_size=32), other=st.binary(min_size=32, max_size=32)
)
def test_the_group_of_another_address_is_no_answer(seed: str, one: bytes, other: bytes) -> None:
    shown, meant = derive_address("sol", one), derive_address("sol", other)
    asked = challenge_for(first(shown), seed)
    read = "".join(meant[at] for at in sorted(asked.hidden) if at < len(meant))
    assert asked.passed(read) is (read == asked.answer)


def test_letters_count_where_they_mean_something() -> None:
    evm = challenge_for(first(EVM), "00000001")
    sol = challenge_for(first("7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"), "00000001")
    assert evm.passed(evm.answer.swapcase())
    assert not sol.passed(sol.answer.swapcase())


@pytest.mark.parametrize("typed", ["@bob", "@nobody", "", "0x12"])
def test_names_and_what_is_no_address_are_not_asked_about(book: AddressBook, typed: str) -> None:
    assert challenge_for(check_recipient(typed, ETH, book=book, paid={}), "0" * 32) is None


def test_an_address_that_was_paid_is_not_asked_about(book: AddressBook) -> None:
    never = check_recipient(EVM, ETH, book=book, paid={})
    paid = check_recipient(EVM, ETH, book=book, paid={never.address: 1})
    assert challenge_for(never, "0" * 32) is not None
    assert challenge_for(paid, "0" * 32) is None


def test_the_place_of_the_fault_comes_with_the_refusal(book: AddressBook) -> None:
    wrong = check_recipient("bc1qar0srrr7xfkvy5l643oydnw9re59gtzzwf5mdq", BTC, book=book, paid={})
    assert wrong.position == 23
    assert check_recipient("@nobody", BTC, book=book, paid={}).position is None
