"""Payments of one review drawn together: only what agrees is, and nothing is left out."""

from __future__ import annotations

import pytest

from swapdesk.flows.signing.review_words import PAID_BELOW, SAME, PaymentRow, folded
from swapdesk.wallet.review import Match, ReviewLine

PAYEES = ("0x d502 5181", "0x 440b 2dcf", "0x D51A 6783")
CHAIN = ReviewLine("Chain", "Base, id 1337008453", "node and key agree", Match.EQUAL)


def of_bundle(number: int) -> list[ReviewLine]:
    """As an operation names one payment."""
    return [
        ReviewLine(f"Paid to {number}", PAYEES[number - 1], f"of order order{number}", Match.EQUAL),
        ReviewLine(f"Amount {number}", f"{99 + number} USDC", SAME, Match.EQUAL),
        ReviewLine(f"Token {number}", "0x 8335 89fC", "USDC", Match.EQUAL),
    ]


def on_solana(number: int) -> list[ReviewLine]:
    """As a transaction of Solana names one payment."""
    payee = PAYEES[number - 1]
    return [
        ReviewLine(f"You pay ({number})", f"{99 + number} USDC", SAME, Match.EQUAL),
        ReviewLine(f"Paid to ({number})", payee, f"{payee} of order order{number}", Match.EQUAL),
        ReviewLine(f"Token program ({number})", "Toke nkeg", "", Match.UNMATCHED),
    ]


@pytest.mark.parametrize("named", [of_bundle, on_solana])
def test_each_payment_is_one_row_and_what_is_alike_stands_once(named: object) -> None:
    assert callable(named)
    rows = [CHAIN, *named(1), *named(2), *named(3)]
    drawn = folded(rows)
    assert drawn.payments == tuple(
        PaymentRow(f"{100 + at} USDC", PAYEES[at], f"order order{at + 1}") for at in range(3)
    )
    chain, alike = drawn.rows
    assert chain == CHAIN
    assert alike.field.endswith(", 3 times")
    assert (alike.signed, alike.match) == (rows[3].signed, rows[3].match)


def test_an_account_opened_for_who_is_paid_names_him_where_he_is_paid() -> None:
    opened = [
        ReviewLine(f"Account for ({10 + at})", payee, "one that the payment needs", Match.EQUAL)
        for at, payee in enumerate(PAYEES[:2])
    ]
    other = ReviewLine(
        "Account for (13)", "0x 9999 9999", "one that the payment needs", Match.EQUAL
    )
    drawn = folded([*opened, other, *on_solana(1), *on_solana(2)])
    assert [(row.field, row.signed) for row in drawn.rows[:2]] == [
        ("Account for, 2 times", PAID_BELOW),
        ("Account for (13)", "0x 9999 9999"),
    ]


def test_one_payment_keeps_its_fields() -> None:
    rows = [CHAIN, *of_bundle(1)]
    assert folded(rows).rows == tuple(rows)
    assert folded(rows).payments == ()


@pytest.mark.parametrize(
    "wrong",
    [
        ReviewLine("Amount 2", "900 USDC", "101 USDC", Match.DIFFERS),
        ReviewLine("Amount 2", "101 USDC", "101 USDC or more", Match.EQUAL),
        ReviewLine("Paid to 2", "0x 9999 9999", "0x 440b 2dcf of order order2", Match.DIFFERS),
        ReviewLine("Token 2", "0x 1111 1111", "USDC", Match.DIFFERS),
        ReviewLine("Token 2", "0x 1111 1111", "", Match.UNMATCHED, weight=True),
        ReviewLine("Spender 2", "0x 1111 1111", "", Match.UNMATCHED, weight=True),
    ],
)
def test_what_objects_keeps_a_row_for_every_field(wrong: ReviewLine) -> None:
    second = [wrong if row.field == wrong.field else row for row in of_bundle(2)]
    if wrong not in second:
        second.append(wrong)
    drawn = folded([CHAIN, *of_bundle(1), *second, *of_bundle(3)])
    assert [one.promised for one in drawn.payments] == ["order order1", "order order3"]
    assert wrong in drawn.rows
    kept = {"Paid to 2", "Amount 2"}
    assert kept <= {row.field for row in drawn.rows}


def test_what_says_something_else_once_is_seen() -> None:
    """A token of one payment that is another one than in the rest has its own row."""
    rows = [*of_bundle(1), *of_bundle(2)]
    other = ReviewLine("Token 3", "0x 2222 2222", "USDT", Match.EQUAL)
    rows += [*of_bundle(3)[:2], other]
    drawn = folded(rows)
    assert [row.field for row in drawn.rows] == ["Token, 2 times", "Token 3"]
    assert len(drawn.payments) == 3
