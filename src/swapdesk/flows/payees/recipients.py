"""Who gets the money: recipient, refund address and memo, checked without a call (contract 5.4).

The local decoder decides, the service's pattern may only narrow. An address drawn like a known one
is refused: that is how address poisoning works. Known are the payees and deposit addresses of the
journal and the token contracts of the catalogue.

Before the first payment one group from the middle of the address is hidden and asked for. A
program that replaces a paste shows its own address throughout, so whoever types the group reads it
where the address came from. Look-alikes are made to have the same ends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from decimal import Decimal

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.chain.addresses.checking import check_recipient as check_by_pattern
from swapdesk.chain.addresses.checking import same_address
from swapdesk.chain.addresses.display import (
    SIZE,
    differing_characters,
    groups,
    looks_like,
    prefix_of,
)
from swapdesk.chain.addresses.kind import AddressProblem, Verdict
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.chain.addresses.payments import (
    EVM_CHAINS,
    WAIVER,
    LinkedPayment,
    memo_label,
    read_payment_link,
    uses_memo,
)
from swapdesk.chain.addresses.payments import check_memo as memo_verdict
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.token_safety import token_refusal
from swapdesk.flows.check_line import CheckLevel, CheckLine, refusal
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import exact_amount, short_address, ungrouped_address
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.tokens import Token


class RecipientCheck(Struct, frozen=True):
    """One address, checked. ``address`` is the spelling to send, empty unless it is one.

    ``label`` is ``@name`` when the address book has it. ``lookalike`` is the known name (or
    short address) and the whole known address it imitates. ``account`` is what all spellings of
    the address share. ``memo`` is the one that comes with it: of the payment ``link`` it was read
    from, else the one the address book keeps.
    ``position`` is the place of the character at fault in ``text``, from 1. ``doubt`` names how
    what is paid to it may be lost, ``memo_doubt`` is the warning about the memo of a refund
    address: either is agreed to first, as that of :class:`MemoCheck`.
    """

    text: str
    address: str
    label: str | None
    ok: bool
    lines: tuple[CheckLine, ...]
    first_use: bool = False
    lookalike: tuple[str, str] | None = None
    memo_label: str = "memo"
    account: str = ""
    memo: str | None = None
    position: int | None = None
    doubt: str = ""
    memo_doubt: str = ""
    link: LinkedPayment | None = None

    @property
    def problem(self) -> str:
        return refusal(self.lines)

    @property
    def memo_source(self) -> str:
        """Who states ``memo``, in few words; empty where nobody does."""
        if self.link is not None and self.link.memo:
            return THE_LINK
        return self.label or "" if self.memo else ""


THE_LINK = "the payment link"
_FAULTS = {"missing": "missing", "length": "too long", "range": "too large"}


class MemoCheck(Struct, frozen=True):
    """``memo`` is what to send, None for none; ``used`` is False where a chain has no memos.

    ``doubt`` is what has to be agreed to before it is sent: that a program may have changed the
    memo, that the address book keeps another one with the recipient. ``fault`` is what is wrong
    in a few words, empty for nothing.
    """

    memo: str | None
    waived: bool
    ok: bool
    label: str
    used: bool
    lines: tuple[CheckLine, ...] = field(default=())
    doubt: str = ""
    fault: str = ""

    @property
    def problem(self) -> str:
        return refusal(self.lines)


NO_MEMO = "A swap on chains carries no memo."
TO_YOURSELF = "Have it sent to your own wallet, and send it on from there."


def check_memo(
    text: str | None, waived: bool, token: Token, *, on_chain: bool = False
) -> MemoCheck:
    """The memo or destination tag for a payout of ``token``.

    ``waived`` (``--memo ""`` in a command) or the typed phrase ``NO MEMO`` sends none. A swap
    ``on_chain`` carries none, whatever its chain has.
    """
    chain = token.chain_data
    label = memo_label(chain.kind)
    typed = text or ""
    if on_chain and uses_memo(chain.kind):
        wanted = bool(typed or chain.memo_needed)
        return _no_memo(label, wanted, NO_MEMO, f"{NO_MEMO} {TO_YOURSELF}")
    if not (uses_memo(chain.kind) or chain.memo_needed):
        refusal = f"{chain.name} has no memos. Leave it empty."
        return _no_memo(label, bool(typed), f"Not used on {chain.name}.", refusal)
    verdict = memo_verdict(
        chain.kind,
        typed or (WAIVER if waived and chain.memo_needed else ""),
        chain.memo_needed,
        chain_name=chain.name,
        symbol=token.symbol,
    )
    warned = verdict.doubt or verdict.code == "waived"
    level: CheckLevel = "refuse" if not verdict.ok else "warn" if warned else "ok"
    return MemoCheck(
        memo=verdict.normalized or None,
        waived=verdict.code == "waived",
        ok=verdict.ok,
        label=label,
        used=True,
        lines=(CheckLine(level, verdict.doubt or verdict.reason),),
        doubt=verdict.doubt,
        fault="" if verdict.ok else _FAULTS.get(verdict.code, "not valid yet"),
    )


def _no_memo(label: str, wanted: bool, unused: str, refusal: str) -> MemoCheck:
    """Where no memo can be sent: right unless one is ``wanted``."""
    if wanted:
        line = CheckLine("refuse", refusal)
        return MemoCheck(None, False, False, label, False, (line,), fault="not used")
    return MemoCheck(None, False, True, label, False, (CheckLine("ok", unused),))


def check_memo_of(
    recipient: RecipientCheck,
    text: str | None,
    waived: bool,
    token: Token,
    *,
    on_chain: bool = False,
) -> MemoCheck:
    """:func:`check_memo`, compared with the memo that comes with ``recipient``.

    Another memo, or none, credits somebody else at an exchange: it is agreed to first, and where
    none can be sent refused.
    """
    if on_chain:
        return check_memo(text or recipient.memo, False, token, on_chain=True)
    check = check_memo(text, waived, token)
    if not (check.ok and check.used and recipient.ok):
        return check
    said = another_memo(recipient.memo_source, recipient.memo, check.memo, token)
    if not said:
        return check
    lines = (*check.lines, CheckLine("warn", said))
    return replace(check, lines=lines, doubt=f"{check.doubt} {said}".strip())


def another_memo(name: str, kept: str | None, memo: str | None, token: Token) -> str:
    """The warning that ``memo``, as it is sent, is not the one ``kept`` with ``name``; empty where
    it is."""
    if not name or not kept or check_memo(kept, False, token).memo == memo:
        return ""
    word = memo_label(token.chain_data.kind).removeprefix("destination ")
    return f"This is not the {word} of {name}: {kept}."


def _account_notes(token: Token, arrives: Decimal | None) -> tuple[CheckLine, ...]:
    """What a new account needs before it takes a payout of ``token``. Nobody here can ask whether
    it has it, and an exchange that cannot pay keeps the money until it is told another address."""
    kind = ADDRESS_KINDS.get(token.chain_data.kind)
    if kind is None:
        return ()
    if token.address is not None:
        return (CheckLine("note", kind.takes_token),) if kind.takes_token else ()
    least = kind.opens_with
    if not least or (arrives is not None and arrives >= least):
        return ()
    said = f"An account exists once {exact_amount(least)} {token.symbol} was paid to it: less does"
    return (CheckLine("warn" if arrives is not None else "note", f"{said} not reach a new one."),)


NEVER_PAID = "Never paid before."
OWN_DEPOSIT = "This is the deposit address of one of your orders, not a wallet."
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
    arrives: Decimal | None = None,
) -> RecipientCheck:
    """Can a payout of ``token`` go to ``text``, an address, a payment link or ``@name``?

    ``paid`` counts payments by address, ``own_deposits`` are deposit addresses of the user's
    own orders after the kind of their chain, ``contracts`` token contracts of the chain.
    ``arrives`` is what is paid out as far as it is known, compared with what a link asks for.
    """
    chain = token.chain_data
    label = memo_label(chain.kind)
    if unswappable := token_refusal(token):
        return _unusable(text, token, unswappable)
    read = _read(text, token, book, contracts)
    if isinstance(read, RecipientCheck):
        return read
    verdict, entry, link, found = read
    address, doubts = verdict.normalized, [verdict.doubt] if verdict.doubt else []
    if link is not None:
        found += _link_lines(link, token, entry, arrives)
    if entry is not None and entry.own:
        found.append(CheckLine("note", "Your own wallet."))
    if any(on == chain.kind and same_address(on, address, one) for on, one in own_deposits):
        found.append(CheckLine("refuse", OWN_DEPOSIT))
    times = _times_paid(chain.kind, address, paid)
    lookalike = _lookalike(address, book, paid) if entry is None and times == 0 else None
    if lookalike is not None:
        name, known = lookalike
        count = differing_characters(address, known)
        characters = "1 character differs" if count == 1 else f"{count} characters differ"
        sentence = f"This address looks like {name} and is not. {characters}."
        found.append(CheckLine("refuse", sentence))
    elif times:
        found.append(CheckLine("note", f"Paid {_times(times)}."))
    else:
        notes = _account_notes(token, arrives)
        found += notes
        doubts += [line.text for line in notes if line.level == "warn"]
        found.append(CheckLine("warn" if entry is None else "note", NEVER_PAID))
    return RecipientCheck(
        text=text,
        address=address,
        label=entry.label if entry else None,
        ok=not refusal(found),
        lines=tuple(found),
        first_use=times == 0,
        lookalike=lookalike,
        memo_label=label,
        account=verdict.account,
        memo=(link.memo if link else None) or (entry.memo if entry else None),
        doubt=" ".join(doubts),
        link=link,
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
    usual = {NEVER_PAID, *(line.text for line in _account_notes(token, None))}
    kept = tuple(line for line in check.lines if line.text not in usual)
    typed = check.memo if memo is None else memo
    found = check_memo(typed, False, token) if typed else None
    ok = check.ok and (found is None or found.ok)
    memo = found.memo if found is not None else None
    differs = another_memo(check.memo_source, check.memo, memo, token) if ok else ""
    warned = (CheckLine("warn", differs),) if differs else ()
    doubts = (found.doubt if found is not None else "", differs)
    return replace(
        check,
        ok=ok,
        memo=memo,
        lines=(*kept, *(found.lines if found else ()), *warned, CheckLine("note", NEVER_DEPOSIT)),
        memo_doubt=" ".join(filter(None, doubts)),
    )


def _unusable(text: str, token: Token, reason: str, position: int | None = None) -> RecipientCheck:
    return RecipientCheck(
        text,
        "",
        None,
        False,
        (CheckLine("refuse", reason),),
        memo_label=memo_label(token.chain_data.kind),
        position=position,
    )


def _read(
    given: str, token: Token, book: AddressBook, contracts: Collection[str]
) -> tuple[Verdict, BookEntry | None, LinkedPayment | None, list[CheckLine]] | RecipientCheck:
    """The address, its entry, its link and the lines of the decoder; or why it is of no use."""
    chain = token.chain_data
    entry: BookEntry | None = None
    link: LinkedPayment | None = None
    typed = text = ungrouped_address(given)
    if text.startswith("@"):
        entry = book.entry(text)
        if entry is None:
            return _unusable(given, token, book.missing(text))
        if entry.chain is not None and not entry.fits(entry.kind, chain.short_name):
            said = f"{entry.label} is an address on {entry.chain}, not on {chain.name}."
            return _unusable(given, token, said)
        typed = entry.address
    else:
        try:
            link = read_payment_link(text)
        except AddressProblem as problem:
            return _unusable(given, token, problem.sentence(chain.name), problem.position)
        if link is not None:
            if misfit := link_misfit(link, token):
                return _unusable(given, token, misfit)
            typed = link.address
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
            return _unusable(given, token, f"{entry.label}: {verdict.reason}")
        before = max(0, text.find(typed))
        at = None if verdict.position is None else before + verdict.position
        return _unusable(given, token, verdict.reason, at)
    if entry is None:
        name = book.name_of(chain.kind, verdict.normalized)
        entry = book.entry(name) if name else None
    lines = [CheckLine("ok", verdict.reason)]
    lines += [
        CheckLine("warn", warning) for warning in (verdict.doubt, *verdict.warnings) if warning
    ]
    return verdict, entry, link, lines


def link_misfit(link: LinkedPayment, token: Token) -> str:
    """Why a payout of ``token`` is not what a link asks for, in a sentence; empty where it is."""
    chain = token.chain_data
    if not pays_on(link, chain):
        if not link.kind:
            return (
                f'"{link.chain[:20]}:" in front of the address is not {chain.name}, which this'
                f" {token.symbol} is on. Paste the address alone if it is one on {chain.name}."
            )
        named = link.chain_name
        return (
            f"This is for {named}, and this {token.symbol} is on {chain.name}."
            f" Choose a token on {named}, or ask for an address on {chain.name}."
        )
    alone = f"To pay {token.symbol} there, paste the address alone."
    if link.contract is not None and not _is_contract(link, token):
        called = link.symbol[:12] or f"the token {short_address(link.contract[:80])}"
        return f"The link asks for {called}, not for {token.symbol}. {alone}"
    if link.contract is None and link.asks_amount and token.address is not None:
        return f"The link asks for the coin of {chain.name}, not for {token.symbol}. {alone}"
    return ""


def pays_on(link: LinkedPayment, chain: Chain) -> bool:
    """Whether ``chain`` is the one a link names, or one of its kind where it names no other."""
    if link.kind and link.kind != chain.kind:
        return False
    if link.chain_id is not None:
        known = EVM_CHAINS.get(link.chain_id, ())
        named = chain.chain_id not in EVM_CHAINS and _is_called(chain, *known)
        return chain.chain_id == link.chain_id or named
    return bool(link.kind) or _is_called(chain, link.chain)


def _is_called(chain: Chain, *names: str) -> bool:
    own = (chain.short_name, chain.short_name_v1 or "", chain.name, chain.name.replace(" ", ""))
    folded = {name.casefold() for name in own if name}
    return any(name.casefold() in folded for name in names)


def _is_contract(link: LinkedPayment, token: Token) -> bool:
    known = ADDRESS_KINDS.get(token.chain_data.kind)
    if token.address is None or link.contract is None or known is None:
        return False
    same = known.contract_account(link.contract) == known.contract_account(token.address)
    return same and link.symbol.casefold() in ("", token.symbol.casefold())


def linked_amount(link: LinkedPayment, token: Token) -> Decimal | None:
    """What a link asks for, in whole tokens; None where it states no amount."""
    if link.units is not None:
        return short(from_base_units(link.units, token.decimals))
    return link.amount


def _link_lines(
    link: LinkedPayment, token: Token, entry: BookEntry | None, arrives: Decimal | None
) -> Iterator[CheckLine]:
    """What the link says beside its address, and what of it is not so."""
    chain, asked = token.chain_data, linked_amount(link, token)
    if link.kind == chain.kind == "evm" and link.chain_id is None:
        yield CheckLine("note", f"The link names no chain: this pays on {chain.name}.")
    if asked is not None:
        amount = f"{exact_amount(asked)} {token.symbol}"
        if arrives is None:
            yield CheckLine("note", f"The link asks for {amount}.")
        elif arrives == asked:
            yield CheckLine("ok", f"As much as the link asks for: {amount}.")
        else:
            paid = f"{exact_amount(arrives)} {token.symbol}"
            yield CheckLine("warn", f"The link asks for {amount}, and {paid} arrives.")
    if link.memo and entry is not None and entry.memo:
        said = another_memo(entry.label, entry.memo, link.memo, token)
        if said:
            yield CheckLine("warn", f"{said} The link says {link.memo[:40]}.")
    if link.unused:
        said = ", ".join(link.unused[:4])
        yield CheckLine("warn", f"The link also says {said}, which no payout carries.")


def _times_paid(kind: str, address: str, paid: Mapping[str, int]) -> int:
    times = paid.get(address, 0)
    if times or not address.startswith("0x"):
        return times
    return next((n for known, n in paid.items() if known.lower() == address.lower()), 0)


def _lookalike(address: str, book: AddressBook, paid: Mapping[str, int]) -> tuple[str, str] | None:
    """Among payees only: what merely sent something to the user is no one to be mistaken for."""
    known = [(entry.label, entry.address) for entry in book.entries()]
    known += [(short_address(one), one) for one in paid]
    return next((one for one in known if looks_like(address, one[1])), None)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


_FOLDED = ("0x", "bc1", "ltc1")
"""Addresses whose letters mean the same in either case."""


class Challenge(Struct, frozen=True):
    """``group`` counts from 1 without ``0x``; ``hidden`` are its places in the address."""

    group: int
    of: int
    hidden: frozenset[int]
    answer: str
    folds: bool
    prefixed: bool

    @property
    def question(self) -> tuple[str, ...]:
        """The sentences above the field."""
        without = ", not counting 0x" if self.prefixed else ""
        return (
            "This address was never paid before.",
            f"The desk hides group {self.group} of {self.of}{without}: type its four characters"
            " as your source has them.",
        )

    def passed(self, typed: str) -> bool:
        said = typed.strip()
        return said.lower() == self.answer.lower() if self.folds else said == self.answer


def challenge_for(check: RecipientCheck, seed: str) -> Challenge | None:
    """What to ask before paying ``check``; None for an address that was paid before, or that
    the user's own address book names. ``seed`` (the intent's id, hexadecimal) picks the group,
    so that nobody knows it beforehand and a redraw does not change it.
    """
    if not check.ok or not check.address or not check.first_use or check.label is not None:
        return None
    prefix = prefix_of(check.address)
    body = groups(check.address)[1 if prefix else 0 :]
    # Neither end, and no last group that is only a part of one.
    middle = [at for at in range(1, len(body) - 1) if len(body[at]) == SIZE]
    if len(body[-1]) < SIZE and len(middle) > 1:
        middle.pop()
    if not middle:
        return None
    at = middle[int(seed[:8], 16) % len(middle)]
    begin = len(prefix) + at * SIZE
    return Challenge(
        group=at + 1,
        of=len(body),
        hidden=frozenset(range(begin, begin + SIZE)),
        answer=body[at],
        folds=check.address.lower().startswith(_FOLDED),
        prefixed=bool(prefix),
    )


def without(address: str, hidden: frozenset[int]) -> str:
    """The address with these places as dots."""
    return "".join("•" if at in hidden else char for at, char in enumerate(address))


def paid_addresses(journal: Journal) -> Mapping[str, int]:
    """Recipients of orders that completed, and how often; created or sent is not paid. Only what
    was confirmed here and stayed so: an order that the service lists by itself, or made for
    somebody else, never makes its recipient a known one."""
    return {one.address: one.times for one in journal.orders.paid_recipients()}


def last_paid(journal: Journal) -> Mapping[str, datetime]:
    """When each of :func:`paid_addresses` was paid last, as far as the service said."""
    found = journal.orders.paid_recipients()
    return {one.address: one.last for one in found if one.last is not None}


def own_deposits(journal: Journal) -> frozenset[tuple[str, str]]:
    """Deposit addresses that this desk released, each after the kind of its chain: never a
    recipient, never a refund address."""
    return journal.orders.released_deposits()


def payee_check(
    catalog: Catalog, book: AddressBook, journal: Journal | None = None
) -> Callable[[str, Token], RecipientCheck]:
    """:func:`check_recipient` by what this desk knows at each check. Without a journal that can be
    read it is the address book alone: whoever confirms a payment has to read the journal anyhow.
    """

    def check(text: str, token: Token) -> RecipientCheck:
        paid: Mapping[str, int] = {}
        deposits: frozenset[tuple[str, str]] = frozenset()
        with contextlib.suppress(JournalUnavailable):
            if journal is not None:
                paid, deposits = paid_addresses(journal), own_deposits(journal)
        return check_recipient(
            text,
            token,
            book=book,
            paid=paid,
            own_deposits=deposits,
            contracts=token_contracts(catalog, token),
        )

    return check


def token_contracts(catalog: Catalog, token: Token) -> frozenset[str]:
    """Token contracts on the chain of ``token``: what is sent to one of them is lost."""
    return catalog.rows.contracts_on(token.chain_data.short_name)
