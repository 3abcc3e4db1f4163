"""Payments of one signature as rows: whole addresses at every width."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from swapdesk.flows.signing.review_payments import PaymentRow
from swapdesk.tui.spans import plain_text
from swapdesk.tui.widgets.payment_lines import payment_lines

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
