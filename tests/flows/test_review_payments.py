"""Payments of one review drawn together: only what agrees is, and nothing is left out."""

from __future__ import annotations

import pytest

from swapdesk.flows.signing.review_words import PAID_BELOW, SAME, MatchRow, PaymentRow, folded
from swapdesk.wallet.review import Match

PAYEES = ("0x d502 5181", "0x 440b 2dcf", "0x D51A 6783")
CHAIN = MatchRow("Chain", "Base, id 1337008453", Match.EQUAL, "node and key agree")


def of_bundle(number: int) -> list[MatchRow]:
    """As an operation names one payment."""
    return [
        MatchRow(f"Paid to {number}", PAYEES[number - 1], Match.EQUAL, f"of order order{number}"),
        MatchRow(f"Amount {number}", f"{99 + number} USDC", Match.EQUAL, SAME),
        MatchRow(f"Token {number}", "0x 8335 89fC", Match.EQUAL, "USDC"),
    ]


def on_solana(number: int) -> list[MatchRow]:
    """As a transaction of Solana names one payment."""
    payee = PAYEES[number - 1]
    return [
        MatchRow(f"You pay ({number})", f"{99 + number} USDC", Match.EQUAL, SAME),
        MatchRow(f"Paid to ({number})", payee, Match.EQUAL, f"{payee} of order order{number}"),
        MatchRow(f"Token program ({number})", "Toke nkeg", Match.UNMATCHED, ""),
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
        MatchRow(f"Account for ({10 + at})", payee, Match.EQUAL, "one that the payment needs")
        for at, payee in enumerate(PAYEES[:2])
    ]
    other = MatchRow("Account for (13)", "0x 9999 9999", Match.EQUAL, "one that the payment needs")
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
        MatchRow("Amount 2", "900 USDC", Match.DIFFERS, "101 USDC"),
        MatchRow("Amount 2", "101 USDC", Match.EQUAL, "101 USDC or more"),
        MatchRow("Paid to 2", "0x 9999 9999", Match.DIFFERS, "0x 440b 2dcf of order order2"),
        MatchRow("Token 2", "0x 1111 1111", Match.DIFFERS, "USDC"),
        MatchRow("Token 2", "0x 1111 1111", Match.UNMATCHED, "", weight=True),
        MatchRow("Spender 2", "0x 1111 1111", Match.UNMATCHED, "", weight=True),
    ],
)
def test_what_objects_keeps_a_row_for_every_field(wrong: MatchRow) -> None:
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
    other = MatchRow("Token 3", "0x 2222 2222", Match.EQUAL, "USDT")
    rows += [*of_bundle(3)[:2], other]
    drawn = folded(rows)
    assert [row.field for row in drawn.rows] == ["Token, 2 times", "Token 3"]
    assert len(drawn.payments) == 3
