"""Exports orders for other programs, as CSV or JSON with exact amounts and ISO 8601 times. A
deposit address that must not be paid is left out. No cell of the CSV is a formula to a spreadsheet,
even if the service sent one."""

from __future__ import annotations

import csv
import io
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from swapdesk.flows.notation import copied_amount, iso
from swapdesk.flows.orders.deposit_destination import (
    deposit_destination,
    deposit_hash,
    deposit_known,
    kept_of,
)
from swapdesk.flows.orders.order_fields import route_of
from swapdesk.flows.orders.order_merge import display_of, payout_hash
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.order_transactions import OrderTransaction, TransactionRole
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.paths import Home, write_private
from swapdesk.wire.encoding.codec import encode_json

FORMULA = frozenset("=+-@\t\r＝＋－＠")
_FORMULA = r"(?:^|(?<=;))%s(?='*(?:\s*[=+\-@＝＋－＠]|(?<!;)[\t\r]))"
"""The start of a formula in a spreadsheet cell, also after a semicolon. ``%s`` is an apostrophe or
empty."""
_OPEN, _CLOSED = (re.compile(_FORMULA % mark) for mark in ("", "'"))
ROWS = "orders"


ExportForm = Literal["csv", "json"]


Made = Mapping[str, Sequence[OrderTransaction]]
"""By order id, the transactions of the order."""


def export_rows(orders: Iterable[TrackedOrder], now: datetime, made: Made) -> list[dict[str, Any]]:
    """Returns one flat row for each order, with :data:`COLUMNS` as keys. Amounts are Decimals,
    times are aware datetimes. ``made`` has the transactions of the orders."""
    return [_row(tracked, now, made.get(tracked.service_id, ())) for tracked in orders]


def export_bytes(
    orders: Iterable[TrackedOrder], now: datetime, form: ExportForm, made: Made
) -> bytes:
    """Returns the whole export file in UTF-8. A CSV without orders still has its column heads."""
    rows = export_rows(orders, now, made)
    if form == "json":
        return encode_json({ROWS: rows, "total": len(rows), "at": now}) + b"\n"
    return _csv(rows)


def export_name(now: datetime, form: ExportForm) -> str:
    """Returns the name of the export file: ``swapdesk-orders-20261120-140211Z.csv``. The time is
    ``now``, in UTC."""
    return f"swapdesk-orders-{now:%Y%m%d-%H%M%S}Z.{form}"


def write_export(first: Path, content: bytes) -> Path:
    """Writes a new file with mode 0600 and returns its path: ``first`` or, if that name is taken,
    the same name with a number. Raises OSError."""
    first.parent.mkdir(parents=True, exist_ok=True)
    for number in range(100):
        path = first if not number else first.with_name(f"{first.stem}-{number}{first.suffix}")
        try:
            _write_whole(path, content)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{first} and 99 more names are taken")


def write_export_file(path: Path, content: bytes) -> None:
    """Writes the export to ``path``. Raises OSError. An existing file, or the target of a symbolic
    link, is replaced as a whole; a pipe or device is written into."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        regular = True
    if regular:
        write_private(path.resolve(), content, replace=True)
        return
    with path.open("wb", buffering=0) as place:
        rest = memoryview(content)
        while rest:
            rest = rest[place.write(rest) :]


def export_directory(home: Home, person: Path) -> Path:
    """Returns the directory for exports: ``Downloads`` in the user's home directory ``person`` or,
    if it is missing or ``SWAPDESK_HOME`` is set, ``exports`` in the desk's data directory."""
    downloads = person / "Downloads"
    own = home.config == home.data
    return downloads if downloads.is_dir() and not own else home.data / "exports"


class UnknownForm(ValueError):
    """Raised if the suffix of a file name is neither ``.csv`` nor ``.json``. The message proposes a
    file name."""


def form_of(path: Path) -> ExportForm:
    """Returns the export form for the suffix of ``path``. Raises UnknownForm with a proposal for
    the name."""
    suffix = path.suffix.lower()
    forms: tuple[ExportForm, ...] = ("csv", "json")
    known = {f".{form}": form for form in forms}
    if suffix in known:
        return known[suffix]
    nearest = get_close_matches(suffix, known, n=1, cutoff=0.0)
    wanted = path.with_suffix(nearest[0] if suffix and nearest else ".csv").name
    raise UnknownForm(f'Orders are written as {" or ".join(known)}: write "{wanted}".')


def _write_whole(path: Path, content: bytes) -> None:
    """Writes ``content`` so that a reader of ``path`` sees the whole file or none. An existing file
    is not replaced."""
    beside = path.with_name(f".{path.name}.part")
    write_private(beside, content, replace=True)
    try:
        path.hardlink_to(beside)
    finally:
        beside.unlink(missing_ok=True)


def _row(tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction]) -> dict[str, Any]:
    order, intent, status = tracked.order, tracked.intent, order_status(tracked, now, made)
    sent, received = tracked.symbols
    hidden, place = tracked.withheld is not None, deposit_destination(tracked, made)
    return {
        "serviceId": order.service_id,
        "created": order.created,
        "expires": order.expires,
        "finished": order.order_finished_received,
        "state": status.word,
        "displayStatus": display_of(order),
        "ended": tracked.ended,
        "route": route_of(order).value,
        "provider": order.swap_name,
        "fixed": order.fixed,
        "sendAmount": order.in_amount,
        "sendSymbol": sent,
        "sendChain": order.in_token.chain_data.short_name if order.in_token else None,
        "sendUsd": order.in_amount_usd,
        "getAmount": order.out_amount,
        "getSymbol": received,
        "getChain": order.out_token.chain_data.short_name if order.out_token else None,
        "getUsd": order.out_amount_usd,
        "quotedGetAmount": order.quoted_out_amount or (intent.amount_out if intent else None),
        "rerouted": bool(order.rerouted),
        "depositAddress": None if hidden else order.deposit_address,
        "depositMemo": None if hidden else order.deposit_tag,
        "paidTo": place.address if place is not None else None,
        "paidMemo": place.memo if place is not None else None,
        "recipient": order.receiver_address,
        "recipientLabel": tracked.recipient_label,
        "recipientMemo": order.receiver_tag,
        "depositHash": deposit_hash(order, made),
        "approveHash": _hashes(made, "reset", "approve"),
        "swapHash": _hashes(made, "swap"),
        "payoutHash": payout_hash(order),
        "refundAddress": order.refund_address,
        "refundAmount": order.refund_amount,
        "refundKept": kept_of(order, deposit_known(tracked, made)),
        "refundChain": order.refund_chain,
        "refundHash": order.refund_hash,
        "money": status.money,
        "next": status.next,
        "withheld": tracked.withheld,
        "seen": tracked.seen_at,
        "source": tracked.source,
    }


def _hashes(made: Sequence[OrderTransaction], *roles: TransactionRole) -> str | None:
    hashes = [sent.hash for sent in made if sent.role in roles and sent.fate != "failed"]
    return " ".join(hashes) or None


def _csv(rows: Sequence[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([csv_cell(row[name]) for name in COLUMNS] for row in rows)
    return text.getvalue().encode()


def csv_cell(value: Any) -> str:
    """Returns a value as the text of a CSV cell: a Decimal with all digits, a time in ISO 8601,
    other values as a text that :func:`inert` has made safe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return copied_amount(value)
    if isinstance(value, datetime):
        return iso(value)
    return inert(str(value))


def inert(text: str) -> str:
    """Returns the text with an apostrophe before every part that a spreadsheet would evaluate as a
    formula."""
    return _OPEN.sub("'", text)


def as_written(cell: str) -> str:
    """Returns the text of a CSV cell without the apostrophes that :func:`inert` added."""
    return _CLOSED.sub("", cell)


COLUMNS = (
    "serviceId", "created", "expires", "finished", "state", "displayStatus", "ended", "route",
    "provider", "fixed", "sendAmount", "sendSymbol", "sendChain", "sendUsd", "getAmount",
    "getSymbol", "getChain", "getUsd", "quotedGetAmount", "rerouted", "depositAddress",
    "depositMemo", "paidTo", "paidMemo", "recipient", "recipientLabel", "recipientMemo",
    "depositHash", "approveHash", "swapHash", "payoutHash",
    "refundAddress", "refundAmount", "refundKept", "refundChain", "refundHash", "money", "next",
    "withheld", "seen", "source",
)  # fmt: skip
"""Columns of the CSV and names in the JSON, in this sequence."""
