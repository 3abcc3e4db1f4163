"""Payments of one signature as rows: whole addresses at every width."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from flows.signing import GROUPED, line, review
from swapdesk.flows.signing.review_words import Names, PaymentRow, match_rows
from swapdesk.tui.spans import plain_text
from swapdesk.tui.widgets.match_lines import match_table, payment_lines

EVM = "0x d502 5181 635c 6707 50c7 ED7F df05 B972 3497 4e69"
SOLANA = "7xKX tg2C W87d 97TX JSDp bD5j BkhE TQbs pKuN KcRT gAsU"
PAYMENTS = [
    PaymentRow("1,000.25 USDC", EVM, "order b7o4FU4zQmN9UtNGyGQMjz"),
    PaymentRow("5 USDC", SOLANA, "order 5XSNaNriKHN4XKJoe62ZKu"),
]


@pytest.mark.parametrize("width", [56, 76, 96, 116, 196])
def test_addresses_and_amounts_are_never_cut(width: int) -> None:
    rows = [plain_text(line) for line in payment_lines(PAYMENTS, width)]
    assert all(cell_len(row) <= width for row in rows), rows
    said = "".join("".join(rows).split())
    for payment in PAYMENTS:
        assert payment.amount.replace(" ", "") in said
    for address in (EVM, SOLANA):
        groups = address.split()
        found = [group for row in rows[1:] for group in row.split()]
        assert [group for group in found if group in groups][: len(groups)] == groups
    assert "2 payments" in rows[0]


@pytest.mark.parametrize(
    ("width", "named"), [(76, "b7o4FU"), (96, "order b7o4FU"), (196, PAYMENTS[0].promised)]
)
def test_the_order_is_named_whole_where_there_is_room(width: int, named: str) -> None:
    rows = [plain_text(line).rstrip() for line in payment_lines(PAYMENTS, width)]
    assert rows[1].endswith(named)


def test_without_payments_there_is_nothing() -> None:
    assert payment_lines([], 96) == []


def test_on_the_narrowest_whole_screen_a_payment_is_one_row() -> None:
    evm = [PaymentRow("1,000 USDC", EVM, PAYMENTS[0].promised)] * 50
    assert len(payment_lines(evm, 76)) == 51


def test_what_a_batch_of_three_signs_fits_a_screen_of_30_rows() -> None:
    """Of 30 rows 22 are for a review: two of heading, four below the fields, 16 of fields."""
    rows = [
        line("Chain", "id 1337008453", "base, id 1337008453, node and key agree"),
        line("EntryPoint 0.7", EVM, "the EntryPoint that everybody uses"),
        line("Smart account", EVM, f"the smart account of {GROUPED}"),
        line("Made by", EVM, EVM),
        line("Made for", GROUPED, GROUPED),
        line("Nonce", "0 of its key", "the next one of group oAHTiTcUW7qPiEGnL43dRy"),
        line("Gas", "at most 0.0000065 ETH", "0.006040361696858408 ETH at most"),
    ]
    for at in (1, 2, 3):
        rows += [
            line(f"Token ({at})", EVM, f"USDC {EVM}"),
            line(f"You pay ({at})", f"{at} USDC", f"{at} USDC"),
            line(f"Paid to ({at})", EVM, f"order {at} {EVM}"),
        ]
    fields = match_rows(review(lines=tuple(rows)), Names("trading", chain="Base"))
    drawn = [plain_text(one) for one in match_table(fields, 96)]
    assert len(drawn) <= 16, "\n".join(drawn)


def test_an_address_of_solana_is_one_row_on_a_screen_of_100_columns() -> None:
    fields = match_rows(review(lines=(line("Pays the fee", SOLANA, "wallet solana"),)), Names())
    (drawn,) = match_table(fields, 96)
    assert SOLANA in plain_text(drawn)
    assert plain_text(drawn).endswith("wallet solana")
