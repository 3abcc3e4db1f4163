"""A new entry of the address book from what a person typed: name, address, memo.

The kind of chain is found from the address. Where the forms of several kinds are the same, or
several chains of a kind write their addresses differently, the chain is named beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.display import looks_like
from swapdesk.chain.addresses.kind import Proof
from swapdesk.chain.addresses.kinds import KINDS
from swapdesk.chain.addresses.memos import check_memo
from swapdesk.flows.check_line import CheckLine, refused
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.book_file import NAME, Entry


@dataclass(frozen=True)
class EntryCheck:
    """``entry`` is what would be written; None while something refuses it. ``kinds`` are the
    kinds of chains the address may be of, ``kind`` the one it is taken for; empty where the
    text proves too little to be taken for any."""

    entry: Entry | None
    kinds: tuple[str, ...]
    kind: str
    name: tuple[CheckLine, ...]
    address: tuple[CheckLine, ...]
    memo: tuple[CheckLine, ...]

    @property
    def problem(self) -> str | None:
        lines = (*self.name, *self.address, *self.memo)
        return next((line.text for line in lines if line.level == "refuse"), None)


def check_entry(
    book: AddressBook, name: str, address: str, memo: str, kind: str = ""
) -> EntryCheck:
    """``kind`` chooses among those the address may be of; the first one without it.

    A form that nearly any word has is never taken unless ``kind`` asks for it.
    """
    named = _check_name(book, name)
    found = {known: check_address(known, address) for known in KINDS}
    kinds = tuple(known for known in KINDS if found[known].ok)
    proven = [known for known in kinds if found[known].proves is not Proof.ANY_WORD]
    chosen = kind if kind in kinds else proven[0] if proven else ""
    placed = _check_address(book, address, chosen)
    tagged: tuple[CheckLine, ...] = ()
    if memo and chosen:
        verdict = check_memo(chosen, memo, None)
        tagged = (CheckLine("ok" if verdict.ok else "refuse", verdict.reason),)
    entry = None
    if not refused((*named, *placed, *tagged)):
        wanted = name.removeprefix("@").lower()
        normal = found[chosen].normalized
        entry = Entry(wanted, normal, chosen, memo=memo or None)
    return EntryCheck(entry, kinds, chosen, named, placed, tagged)


def _check_name(book: AddressBook, name: str) -> tuple[CheckLine, ...]:
    wanted = name.removeprefix("@").lower()
    if NAME.fullmatch(wanted) is None:
        return (CheckLine("refuse", "A name has up to 32 letters, digits, - and _."),)
    if book.entry(wanted) is not None:
        return (CheckLine("refuse", f"@{wanted} is in the address book already."),)
    return (CheckLine("ok", f"Written @{wanted} where a recipient is asked for."),)


def _check_address(book: AddressBook, address: str, kind: str) -> tuple[CheckLine, ...]:
    if not kind:
        return (CheckLine("refuse", "This is no address of a chain the desk knows."),)
    verdict = check_address(kind, address)
    known = book.name_of(kind, verdict.normalized)
    if known is not None:
        return (CheckLine("refuse", f"This address has a name already: @{known}."),)
    for entry in book.entries():
        if looks_like(verdict.normalized, entry.address):
            said = f"This address looks like {entry.label} and is not."
            return (CheckLine("refuse", said),)
    lines = [CheckLine("ok", verdict.reason)]
    return (*lines, *(CheckLine("warn", warning) for warning in verdict.warnings))
