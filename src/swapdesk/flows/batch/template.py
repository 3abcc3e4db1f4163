"""The file to begin with: heads, and a row for each kind of recipient."""

from __future__ import annotations

import csv
import io

from swapdesk.flows.batch.sheet import TEMPLATE
from swapdesk.flows.payees.address_book import AddressBook

NAME = "batch-template.csv"

_ROWS: tuple[tuple[str, ...], ...] = (
    ("@bob", "0.5", "ETH.ethereum", "ETH", "base", "", "standard"),
    ("@cold", "0.25", "ETH.ethereum", "BTC", "bitcoin", "", "private"),
    ("@rita", "250", "USDC.ethereum", "XRP", "xrp", "20117", "standard"),
)


def template(book: AddressBook) -> str:
    """CSV with the heads, and example rows as far as the address book has their names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.value for column in TEMPLATE])
    writer.writerows(row for row in _ROWS if book.entry(row[0]) is not None)
    return out.getvalue()
