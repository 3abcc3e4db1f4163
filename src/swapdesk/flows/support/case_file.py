"""Writes and reads a support case as one file: a JSON document that may be posted publicly as it
is.

Keys, secrets and texts that look like them are never in the file. Addresses, amounts, memos, hashes
and names are masked unless they were asked for. A file that is read counts as hostile: its size and
shape are bounded, its texts are made safe, and nothing in it is run. A reply in a file may send a
customer to a thief, so it cannot be copied.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import MAXYEAR, UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from swapdesk import __version__
from swapdesk.flows.notation import clock_time, copied_amount, exact_amount, tracker_amount
from swapdesk.flows.notation.hidden_amounts import DOTS, without_amounts
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.orders.situations import HUES
from swapdesk.flows.support.pasted_secret import secret_in
from swapdesk.flows.support.support_case import CaseFacts, CaseRecord, record_of, timeline
from swapdesk.paths import write_private
from swapdesk.settings import Settings
from swapdesk.wire.encoding.codec import CodecError, refuse_deep
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.orders import Order

SCHEMA = 1
MOST_BYTES = 8 << 20
LONGEST_TEXT = 4_000
LONGEST_LIST = 2_000
ZIP = b"PK\x03\x04"
NOT_OURS = (
    "From a file: what stands here was written by whoever made it, and this desk knows nothing of"
    " it. Send none of its words on."
)
NOT_OUR_REPLY = "Reply, not of this desk"
WHOSE = "by the file, "
"""Marks what the file, and not this desk, says about the money."""
SECRET = "«removed: it looks like a key»"


Shown = Literal["addresses", "amounts", "memos", "hashes", "names"]
"""Kinds of facts that are in a file only if they were asked for."""


class CaseFile(Struct, frozen=True, rename="camel"):
    """A support case as a file. ``order`` is the service's last answer; ``masked`` lists the kinds
    of facts that are masked."""

    schema: int
    written: datetime
    masked: tuple[str, ...]
    program: Mapping[str, str]
    """Versions, the clock, and settings that are not secret."""
    record: CaseRecord
    order: Mapping[str, Any]

    @property
    def newer(self) -> str:
        if self.schema <= SCHEMA:
            return ""
        return (
            f"A newer version wrote it (schema {self.schema}, this one knows {SCHEMA}): what was"
            " added since is not shown."
        )

    @property
    def made(self) -> str:
        """When the file was written and what is masked in it: ``Written 2025-11-17 13:51 UTC.
        Masked in it: addresses, memos.``"""
        masked = ", ".join(self.masked) or "nothing"
        return f"Written {self.written.astimezone(UTC):%Y-%m-%d %H:%M} UTC. Masked in it: {masked}."


class CaseFileRefused(ValueError):
    """Raised if a case file cannot be read or written. The message is a sentence for the user."""


# What is masked

_FIELDS: Mapping[Shown, tuple[str, ...]] = {
    "addresses": (
        "receiver_address",
        "deposit_address",
        "refund_address",
        "intermediate_refund_address",
    ),
    "memos": ("receiver_tag", "deposit_tag"),
    "hashes": ("in_transaction_out_hash", "out_transaction_out_hash", "refund_hash"),
}
_AMOUNTS = (
    "in_amount",
    "in_amount_usd",
    "out_amount",
    "out_amount_usd",
    "quoted_in_amount",
    "quoted_out_amount",
    "refund_amount",
)
_KEPT = frozenset(
    """service_id id created modified expires status status_label display_status in_status
    in_status_label in_created out_status out_status_label out_created anonymous is_dex fixed in_
    swap_name in_symbol out_symbol in_token_id out_token_id eta order_finished_received
    action_required non_refundable rerouted refund_chain multi_id""".split()  # noqa: SIM905
)
"""Fields that are never masked. Fields listed nowhere are left out of the file."""


_ONE_OF: Mapping[Shown, str] = {
    "addresses": "address",
    "memos": "memo",
    "hashes": "hash",
    "names": "name",
}


class Masks:
    """Replaces texts by masks such as ``address-1``. Equal texts get the same mask. Kinds of facts
    in ``shown`` are not masked."""

    def __init__(self, shown: Iterable[Shown]) -> None:
        self.shown = frozenset(shown)
        self._names: dict[tuple[Shown, str], str] = {}

    def of(self, kind: Shown, text: str) -> str:
        if kind in self.shown:
            # Sixty-four digits in a memo or a name are no hash, so they may be a key.
            free = kind in ("memos", "names")
            return SECRET if free and secret_in(f"private key: {text}") else text
        # EVM addresses and hashes are written in either case.
        same = text.lower() if text.startswith(("0x", "0X")) else text
        count = sum(known == kind for known, _ in self._names) + 1
        return self._names.setdefault((kind, same), f"{_ONE_OF[kind]}-{count}")

    def maybe(self, kind: Shown, text: str | None) -> str | None:
        return None if text is None else self.of(kind, text)

    def order(self, order: Order) -> Order:
        """Returns the order with addresses, memos and hashes masked. Amounts are masked later, in
        texts."""
        changed: dict[str, Any] = {
            field: self.maybe(kind, getattr(order, field))
            for kind, fields in _FIELDS.items()
            for field in fields
        }
        if not {"addresses", "hashes"} <= self.shown:
            changed["hash_url"] = None
        return order.model_copy(update=changed | {"metadata": None})

    def facts(self, facts: CaseFacts) -> CaseFacts:
        tracked = facts.tracked
        intent = tracked.intent
        if intent is not None:
            intent = replace(
                intent,
                recipient=self.of("addresses", intent.recipient),
                recipient_label=self.maybe("names", intent.recipient_label),
                memo=self.maybe("memos", intent.memo),
                refund_address=self.maybe("addresses", intent.refund_address),
                refund_memo=self.maybe("memos", intent.refund_memo),
                intermediate_refund=self.maybe("addresses", intent.intermediate_refund),
            )
        own = tracked.own_payment
        return replace(
            facts,
            tracked=replace(
                tracked,
                order=self.order(tracked.order),
                intent=intent,
                own_payment=replace(own, hash=self.of("hashes", own.hash)) if own else None,
                payments=tuple(
                    replace(
                        paid,
                        hash=self.of("hashes", paid.hash),
                        to=self.of("addresses", paid.to),
                        memo=self.maybe("memos", paid.memo),
                    )
                    for paid in tracked.payments
                ),
            ),
            made=tuple(
                replace(
                    sent,
                    hash=self.of("hashes", sent.hash),
                    address=self.maybe("addresses", sent.address),
                )
                for sent in facts.made
            ),
            seen=tuple((at, source, self.order(order)) for at, source, order in facts.seen),
            calls=tuple(
                replace(call, target=call.target.partition("?")[0]) for call in facts.calls
            ),
            # From the customer's text, which the file leaves out.
            named=(),
            addresses=(),
        )


# Writing


def case_file(
    facts: CaseFacts,
    shown: Iterable[Shown] = (),
    *,
    program: Mapping[str, str],
    secrets: tuple[str, ...] = (),
) -> CaseFile:
    """Returns the support case as a file. ``shown`` are the kinds of facts that are not masked.
    ``secrets`` are this desk's secrets, which are always left out."""
    masks = Masks(shown)
    masked = masks.facts(facts)
    document = msgspec.to_builtins(record_of(masked))
    order = _order_document(masked.tracked.order, masks.shown)
    whole: dict[str, Any] = {"record": document, "order": order, "program": dict(program)}
    if "amounts" not in masks.shown:
        forms, symbols = _amounts_of(facts), set(facts.tracked.symbols)
        whole["record"] = _each_text(document, lambda text: _hidden(text, forms, symbols))
    whole = _each_text(whole, lambda text: SECRET if secret_in(text, secrets) else text)
    return msgspec.convert(
        {
            "schema": SCHEMA,
            "written": facts.at,
            "masked": [kind for kind in get_args(Shown) if kind not in masks.shown],
            **whole,
        },
        CaseFile,
    )


def file_bytes(file: CaseFile) -> bytes:
    return msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n"


def file_name(order_id: str, suffix: str = ".json") -> str:
    """Returns the name of the case file of an order: ``swapdesk-case-w2Bn8L.json``."""
    return f"swapdesk-case-{re.sub('[^A-Za-z0-9]', '', order_id)[:12]}{suffix}"


def write_case(data: bytes, path: Path) -> Path:
    """Writes ``data`` to a new file that only its owner can read. Raises CaseFileRefused if the
    file exists or cannot be written."""
    try:
        write_private(path, data)
    except FileExistsError:
        raise CaseFileRefused(f"{path} is there already; it was not replaced.") from None
    except OSError as error:
        raise CaseFileRefused(f"{path} cannot be written: {error.strerror}.") from None
    return path


def read_case_file(path: Path) -> CaseFile:
    """Returns the support case in a file. Raises CaseFileRefused if the file cannot be read or is
    not a support case."""
    try:
        with path.open("rb") as file:
            return read_bytes(file.read(MOST_BYTES + 1))
    except OSError as error:
        raise CaseFileRefused(f"It cannot be read: {error.strerror}.") from None


def contents(file: CaseFile) -> list[tuple[str, str]]:
    record = file.record
    return [
        ("order", f"{len(file.order)} fields as the service said them last"),
        ("updates", f"{len(record.moments)}, each with what it meant"),
        ("requests", f"{len(record.calls)}, without their bodies"),
        ("diagnosis", f"rule {record.sheet.rule}, the reply and the text to the service"),
        ("program", ", ".join(file.program)),
        *((kind, "masked" if kind in file.masked else "as they are") for kind in get_args(Shown)),
        ("ids", "of the order, its group and its create as they are"),
        ("secrets", "none: no key, secret, token, pass phrase or hash of one"),
    ]


def program_facts(skew: float | None, settings: Settings) -> dict[str, str]:
    """Returns versions, clock and settings of this desk as texts. Nothing in them reveals a person,
    a machine or a secret. ``skew`` is how many seconds the clock is behind the service's; None if
    unknown."""
    facts = {
        "swapdesk": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "service": "live" if settings.live else "sandbox",
        "clock": "not compared" if skew is None else f"{skew:+.1f} s behind the service's",
    }
    return facts | {name: value for name, value, _ in settings.rows() if name in _SETTINGS}


_SETTINGS = frozenset({"theme", "glyphs", "notify", "output_tolerance", "read_only"})


def _order_document(order: Order, shown: frozenset[Shown]) -> dict[str, Any]:
    amounts = _AMOUNTS if "amounts" in shown else ()
    named = {field for fields in _FIELDS.values() for field in fields}
    kept = {*_KEPT, *named, *amounts, "hash_url"}
    return order.model_dump(mode="json", by_alias=True, exclude_none=True, include=kept)


def _amounts_of(facts: CaseFacts) -> set[str]:
    orders = [facts.tracked.order, *(order for _, _, order in facts.seen)]
    amounts = {getattr(order, field) for order in orders for field in _AMOUNTS}
    intent, payments = facts.tracked.intent, facts.tracked.payments
    if intent is not None:
        amounts |= {intent.amount_in, intent.amount_out, intent.net_amount_out}
    deposit = facts.tracked.deposit
    amounts |= {paid.amount for paid in (*payments, deposit) if paid is not None}
    forms = (plain, exact_amount, copied_amount, tracker_amount)
    return {form(amount) for amount in amounts if amount is not None for form in forms}


def _hidden(text: str, forms: set[str], symbols: set[str]) -> str:
    text = without_amounts(text, lambda word: word in symbols)
    for form in sorted(forms, key=len, reverse=True):
        # One or two digits may be a count; amounts with a symbol are hidden already.
        if len(form) > 2 and form in text:
            text = text.replace(form, DOTS)
    return text


def _each_text(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _each_text(inner, change) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(inner, change) for inner in value]
    return value


# Reading


def read_bytes(data: bytes) -> CaseFile:
    """Returns the support case in the bytes of a file. Members that this version does not know are
    ignored. Raises CaseFileRefused if the bytes are not a support case."""
    if data.startswith(ZIP):
        raise CaseFileRefused(
            "It is a zip, as an earlier version wrote it: unpack it, and open the case.json in it."
        )
    if len(data) > MOST_BYTES:
        raise CaseFileRefused(f"It is larger than {MOST_BYTES >> 20} MiB.")
    try:
        refuse_deep(data)
        document = msgspec.json.decode(data)
    except (CodecError, msgspec.DecodeError, ValueError) as error:
        raise CaseFileRefused(f"It is no support case: {error}.") from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if type(schema) is not int or schema < 1:
        raise CaseFileRefused("It is no support case: it names no schema.")
    for part in _each_part(document):
        if isinstance(part, list | dict) and len(part) > LONGEST_LIST:
            raise CaseFileRefused(f"A list in it has more than {LONGEST_LIST} entries.")
    try:
        safe = _each_text(document, lambda text: safe_text(text, LONGEST_TEXT))
        file = msgspec.convert(safe, CaseFile)
    except msgspec.ValidationError as error:
        newer = f" It was written by a newer version (schema {schema})." if schema > SCHEMA else ""
        raise CaseFileRefused(f"It is no whole support case: {error}.{newer}") from None
    # Times are compared and shown in UTC, which overflows on the calendar's first and last day.
    for part in _each_part(msgspec.to_builtins(file, builtin_types=(datetime,))):
        if isinstance(part, datetime) and (part.tzinfo is None or not 1 < part.year < MAXYEAR):
            raise CaseFileRefused(f"A time in it is none of an order: {part.isoformat()}.")
    return file


def _each_part(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _each_part(inner)


# As a web page, for a colleague without the desk


PAGE = "case"
MOST_STAGES = 20
"""Largest number of stages that the page shows one by one."""
_SIDES = (
    ("What is sent", re.compile(r"(in|quotedIn|deposit|refund|intermediateRefund)(?![a-z])")),
    ("What is paid out", re.compile(r"(out|quotedOut|receiver)(?![a-z])")),
)
_REST = "The order"


def case_page(file: CaseFile) -> str:
    # Imported on use: the desk opens files and renders none of them.
    from swapdesk.web_page import web_page

    return web_page(
        PAGE,
        title=f"Order {short_id(file.record.sheet.order_id)}, a support case",
        file=file,
        sheet=file.record.sheet,
        stages=range(file.record.sheet.stages if file.record.sheet.stages <= MOST_STAGES else 0),
        not_ours=NOT_OURS,
        not_our_reply=NOT_OUR_REPLY,
        whose=WHOSE,
        sides=list(_sides(file.order)),
        timeline=list(timeline(file.record)),
        clock_time=clock_time,
        hue=lambda sign: HUES.get(sign, HUES["unknown"]).removeprefix("status-"),
        version=__version__,
    )


def _sides(order: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    left = dict(order)
    for title, names in _SIDES:
        side = {name: left.pop(name) for name in order if names.match(name)}
        yield title, [(name, _written(value)) for name, value in side.items()]
    yield _REST, [(name, _written(value)) for name, value in left.items()]


def _written(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
