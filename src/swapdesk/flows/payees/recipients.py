"""Who gets the money: the recipient and the refund address, checked without a call.

The local decoder decides, the service's pattern may only narrow. An address that is drawn
like a known one and is not is refused: that is how address poisoning works.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from swapdesk.chain.addresses.checking import check_recipient as check_by_pattern
from swapdesk.chain.addresses.checking import same_address
from swapdesk.chain.addresses.display import differing_characters, looks_like
from swapdesk.chain.addresses.memos import memo_label
from swapdesk.flows.catalog.token_safety import token_refusal
from swapdesk.flows.check_line import CheckLine, refused
from swapdesk.flows.notation import short_address
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.book_file import Entry
from swapdesk.flows.payees.memo_check import another_memo, check_memo
from swapdesk.flows.payees.recipient_check import RecipientCheck
from swapdesk.wire.tokens import Token

NEVER_PAID = "Never paid before."
NEVER_DEPOSIT = (
    "Never give an exchange deposit address as refund address: "
    "it may have changed by the time a refund is sent."
)


def check_recipient(
    text: str,
    token: Token,
    *,
    book: AddressBook,
    paid: Mapping[str, int],
    own_deposits: Collection[tuple[str, str]] = (),
    contracts: Collection[str] = (),
) -> RecipientCheck:
    """Can a payout of ``token`` go to ``text``, an address or ``@name``?

    ``paid`` counts payments by address, ``own_deposits`` are deposit addresses of the user's
    own orders after the kind of their chain, ``contracts`` token contracts of the chain.
    """
    chain = token.chain_data
    label = memo_label(chain.kind)
    needs = bool(chain.memo_needed)
    refusal = token_refusal(token)
    if refusal is not None:
        lines = (CheckLine("refuse", refusal),)
        return RecipientCheck(text, "", None, False, lines, needs_memo=needs, memo_label=label)
    read = _read(text, token, book, contracts)
    if isinstance(read, _Unreadable):
        return RecipientCheck(
            text,
            "",
            None,
            False,
            (CheckLine("refuse", read.reason),),
            needs_memo=needs,
            memo_label=label,
            position=read.position,
        )
    address, account, entry, found = read
    if entry is not None and entry.own:
        found.append(CheckLine("note", "Your own wallet."))
    found += _own_deposit(chain.kind, address, own_deposits)
    times = _times_paid(chain.kind, address, paid)
    lookalike = None
    if entry is None and times == 0:
        lookalike = _lookalike(address, book, paid)
    if lookalike is not None:
        name, known = lookalike
        count = differing_characters(address, known)
        characters = "1 character differs" if count == 1 else f"{count} characters differ"
        sentence = f"This address looks like {name} and is not. {characters}."
        found.append(CheckLine("refuse", sentence))
    elif times:
        found.append(CheckLine("note", f"Paid {_times(times)}."))
    else:
        found.append(CheckLine("warn" if entry is None else "note", NEVER_PAID))
    return RecipientCheck(
        text=text,
        address=address,
        label=entry.label if entry else None,
        ok=not refused(found),
        lines=tuple(found),
        first_use=times == 0,
        lookalike=lookalike,
        needs_memo=needs,
        memo_label=label,
        account=account,
        memo=entry.memo if entry else None,
    )


def check_refund(
    text: str,
    token: Token,
    *,
    required: bool,
    book: AddressBook,
    paid: Mapping[str, int],
    own_deposits: Collection[tuple[str, str]] = (),
    contracts: Collection[str] = (),
    memo: str | None = None,
) -> RecipientCheck:
    """Where the deposit of ``token`` comes back to if the swap fails: on the source chain.

    An empty one is right unless ``required`` (a fixed rate, or the route demands it). The
    memo of the address book belongs to it unless ``memo`` is given ("" for none); either is
    checked, because a refund without its memo is lost, and another one is agreed to first.
    """
    if not text.strip():
        on = token.chain_data.name
        if required:
            lines = (CheckLine("refuse", f"This route needs a refund address on {on}."),)
            return RecipientCheck(text, "", None, False, lines)
        return RecipientCheck(text, "", None, True, (CheckLine("note", "No refund address."),))
    check = check_recipient(
        text, token, book=book, paid=paid, own_deposits=own_deposits, contracts=contracts
    )
    if not check.address:
        return check
    kept = tuple(line for line in check.lines if line.text != NEVER_PAID)
    typed = check.memo if memo is None else memo
    found = check_memo(typed, False, token) if typed else None
    ok = check.ok and (found is None or found.ok)
    memo = found.memo if found is not None else None
    differs = another_memo(check.label, check.memo, memo, token) if ok else None
    warned = (CheckLine("warn", differs),) if differs is not None else ()
    return replace(
        check,
        ok=ok,
        memo=memo,
        lines=(*kept, *(found.lines if found else ()), *warned, CheckLine("note", NEVER_DEPOSIT)),
        differs=differs,
    )


@dataclass(frozen=True)
class _Unreadable:
    reason: str
    position: int | None = None


def _read(
    text: str, token: Token, book: AddressBook, contracts: Collection[str]
) -> tuple[str, str, Entry | None, list[CheckLine]] | _Unreadable:
    """The address, its account, its entry and the lines of the decoder."""
    chain = token.chain_data
    entry: Entry | None = None
    typed = text
    if text.startswith("@"):
        entry = book.entry(text)
        if entry is None:
            return _Unreadable(f"{text[:40]} is not in the address book.")
        if entry.chain is not None and not entry.fits(entry.kind, chain.short_name):
            return _Unreadable(
                f"{entry.label} is an address on {entry.chain}, not on {chain.name}."
            )
        typed = entry.address
    verdict = check_by_pattern(
        chain.kind,
        typed,
        chain.address_validation,
        chain_name=chain.name,
        symbol=token.symbol,
        contracts=contracts,
    )
    if not verdict.ok:
        if entry is not None:
            return _Unreadable(f"{entry.label}: {verdict.reason}")
        return _Unreadable(verdict.reason, verdict.position)
    if entry is None:
        name = book.name_of(chain.kind, verdict.normalized)
        entry = book.entry(name) if name else None
    lines = [CheckLine("ok", verdict.reason)]
    lines += [CheckLine("warn", warning) for warning in verdict.warnings]
    return verdict.normalized, verdict.account, entry, lines


def _own_deposit(
    kind: str, address: str, own_deposits: Collection[tuple[str, str]]
) -> list[CheckLine]:
    same = (one for on, one in own_deposits if on == kind)
    if not any(same_address(kind, address, deposit) for deposit in same):
        return []
    sentence = "This is the deposit address of one of your orders, not a wallet."
    return [CheckLine("refuse", sentence)]


def _times_paid(kind: str, address: str, paid: Mapping[str, int]) -> int:
    times = paid.get(address, 0)
    if times or not address.startswith("0x"):
        return times
    return next((n for known, n in paid.items() if known.lower() == address.lower()), 0)


def _lookalike(address: str, book: AddressBook, paid: Mapping[str, int]) -> tuple[str, str] | None:
    for name, known in _known(book, paid):
        if looks_like(address, known):
            return name, known
    return None


def _known(book: AddressBook, paid: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Payees only: what merely sent something to the user is no one to be mistaken for."""
    for entry in book.entries():
        yield entry.label, entry.address
    for address in paid:
        yield short_address(address), address


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
