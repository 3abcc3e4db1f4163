"""The line of the first screen: ``0.5 btc eth``, ``900 usdc.base to sol``, ``0.5 eth @bob``.

``AMOUNT SELL BUY`` is a swap, ``=AMOUNT SELL BUY`` sells whatever is needed to receive that
much, ``AMOUNT TOKEN @name`` is a private send, with a name or an address. In place of ``BUY`` a
payment link names token, recipient and amount. An amount is digits, ``1k`` or ``2.5m``, a sum of
dollars (``$500``), or a share of what the wallet has (``max``, ``50%``). Read at every key,
without a call; what it resolved to is shown in words before anything is asked.

One token of a line, chosen among all that its words could mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.kind import AddressProblem, with_article
from swapdesk.chain.addresses.payments import LinkedPayment, is_link, read_payment_link
from swapdesk.flows.catalog.catalog import Catalog, native_coin, resolve
from swapdesk.flows.catalog.token_list import TokenRow
from swapdesk.flows.catalog.token_safety import token_refusal
from swapdesk.flows.notation import exact_amount, ungrouped_address, usd
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.flows.payees.recipients import RecipientCheck, linked_amount, payee_check, pays_on
from swapdesk.flows.wallet.own_accounts import OwnBalance
from swapdesk.wire.encoding.numbers import ROUGH, AmountError, parse_amount, quantize, short
from swapdesk.wire.tokens import Token

MAX = "max"
BOUGHT_KEY, SOLD_KEY = "tab", "shift+tab"
"""The keys that walk through what the token bought, or the one sold, could be."""


class TokenChoice(Struct, frozen=True):
    """One token of the line with all it could have been."""

    token: Token
    rows: tuple[TokenRow, ...]
    at: int

    @property
    def row(self) -> TokenRow:
        return self.rows[self.at]

    @property
    def tied(self) -> bool:
        """Whether nothing but the order of names put the first candidate first."""
        return len(self.rows) > 1 and self.rows[0].order[:4] == self.rows[1].order[:4]

    @property
    def chains(self) -> int:
        """On how many chains it could be."""
        return len({row.chain for row in self.rows})

    def question(self, key: str = BOUGHT_KEY) -> str:
        """Of a choice that is tied: what ``key`` chooses among."""
        row = self.row
        return f"{row.symbol} is on {self.chains} chains: {key} chooses, now {row.chain_name}"

    def brief(self, can: str = "is") -> str:
        """How much else it could be, in a few words; empty where there is no choice."""
        if len(self.rows) < 2:
            return ""
        if self.chains == 1:
            return f"{self.row.symbol} on {self.row.chain_name} is {len(self.rows)} tokens"
        return f"{self.row.symbol} {can} on {self.chains} chains"

    def hint(self, can: str = "is") -> str:
        """As :meth:`brief`, with what was chosen."""
        brief = self.brief(can)
        chosen = "the first" if self.chains == 1 else self.row.chain_name
        return f"{brief}, {chosen} chosen" if brief else ""


NO_PRIVATE_REVERSE = "A private send states what is sent: leave out the =."
NAME_TOKEN = "Name the token you sell."
TYPE_AMOUNT = "Type the amount before it."
AMOUNT_FIRST = "Write the amount first: 0.5 btc eth."
NAME_BOUGHT = "Name the token you buy, or @name."
ARRIVES_IN_DIGITS = "What is to arrive is written in digits or in dollars: =2 btc eth."
READING = "The wallet is asked what it has."
LONGEST = 1_000
"""Characters of a line; a payment link with a message has hundreds."""

Held = Mapping[str, OwnBalance | str]
"""What the own wallet has by the id of the token, or why nobody can say, as far as it was asked."""
CheckPayee = Callable[[str, Token], RecipientCheck]
"""How the desk checks a recipient of a token: by the address book and by what was paid before."""

_JOINERS = frozenset({"to", "for", "into", "->", "=>", "→", "⇒", ">"})
"""Words between what is sold and what is bought, or whom it is for."""
_ARROW = re.compile("(->|=>|→|⇒)")
_SCALES = {"k": 3, "m": 6}
_ESTIMATE_DIGITS = 6
"""Digits of an amount that is made of dollars: a price knows no more."""
_SERVICE_DIGITS = 15
"""Digits that a service which keeps doubles returns as they were sent."""


LineState = Literal["empty", "incomplete", "ambiguous", "valid", "refused"]
"""``ambiguous`` is complete too, with a token chosen among equals: keys walk the others."""


class IntentLine(Struct, frozen=True):
    """What the line says so far.

    ``message`` is what is wrong or what comes next, ``place`` the 0-based character at fault.
    ``receive``: ``amount`` is what is to arrive, in the token bought.
    ``hints`` are facts for the line below, ``rows`` the tokens Tab walks through, ``chosen``
    the place of the chosen one, ``choices`` how many values of ``choose`` there are.
    ``both_hints`` of the token sold and the one bought, where each could be another one.
    ``wants_amount``: only the amount is missing before what is written. ``recipient`` is the
    address or payment link of who is paid, where that is no name. ``share`` of what the wallet
    has and ``dollars`` are what an amount was written as; ``derived`` says how it came of them.
    """

    state: LineState
    amount: Decimal | None = None
    token_in: Token | None = None
    token_out: Token | None = None
    recipient_name: str | None = None
    message: str = ""
    place: int | None = None
    hints: tuple[str, ...] = ()
    rows: tuple[TokenRow, ...] = ()
    chosen: int = 0
    choices: int = 1
    private_send: bool = False
    receive: bool = False
    both_hints: tuple[str, str] | None = None
    wants_amount: bool = False
    recipient: str = ""
    share: Decimal | None = None
    dollars: Decimal | None = None
    derived: str = ""

    @property
    def ready(self) -> bool:
        """Whether Enter may ask for quotes."""
        return self.state in ("valid", "ambiguous")

    @property
    def pair(self) -> tuple[Token, Token] | None:
        """The token sold and the token bought, once both are known."""
        if self.token_in is None or self.token_out is None:
            return None
        return self.token_in, self.token_out

    @property
    def stated(self) -> Token | None:
        """The token that the amount is of."""
        return self.token_out if self.receive else self.token_in

    @property
    def payee(self) -> str:
        """Who is paid, by name where there is one."""
        return f"@{self.recipient_name}" if self.recipient_name else self.recipient

    @property
    def value_usd(self) -> Decimal | None:
        """Worth of the amount in USD, or None without a price."""
        token = self.stated
        if self.amount is None or token is None or token.price is None:
            return None
        return ROUGH.multiply(self.amount, token.price)


class _Word(Struct, frozen=True):
    text: str
    start: int
    last: bool


class _Stop(Exception):
    """The reading ends here with this line."""

    def __init__(self, line: IntentLine) -> None:
        super().__init__(line.message)
        self.line = line


class _Known(Struct, frozen=True):
    """What a line is read with."""

    catalog: Catalog
    book: AddressBook
    held: Held
    check: CheckPayee


def parse_intent_line(
    text: str,
    catalog: Catalog,
    book: AddressBook,
    *,
    choose: int = 0,
    sold: int = 0,
    held: Held | None = None,
    check: CheckPayee | None = None,
    private: bool = False,
) -> IntentLine:
    """Read the line; never raises on any text.

    ``choose`` counts presses of one key: the token bought is walked through first, then the
    token sold, and it goes round after ``choices``. ``sold`` counts those of the key that walks
    the token sold alone; it goes round, too.

    ``private``: only tokens that can be sent privately are chosen, and of them those on a chain
    that the recipient is an address of: what is none costs no quote. Without a recipient the form
    asks for it.
    """
    if not text.strip():
        return IntentLine("empty")
    if len(text) > LONGEST:
        return IntentLine(
            "refused", message=f"A line has at most {LONGEST:,} characters.", place=LONGEST
        )
    known = _Known(catalog, book, held or {}, check or payee_check(catalog, book))
    try:
        if private:
            line = _read_private(_words(text), known, choose + sold)
        else:
            line = _read(_words(text), known, choose, sold)
    except _Stop as stop:
        line = stop.line
    return replace(line, private_send=True) if private else line


def _words(text: str) -> list[_Word]:
    """The words with their places, without the one that joins the two sides of the line."""
    words: list[_Word] = []
    at = 0
    for written in text.split():
        parts = [written] if is_link(written) else _ARROW.split(written)
        for part in filter(None, parts):
            at = text.index(part, at)
            ends = at + len(part)
            words.append(_Word(part, at, ends == len(text)))
            at = ends
    sides = 2 if len(words) > 1 and _is_amount(words[0].text) else 1
    if len(words) > sides and words[sides].text.lower() in _JOINERS:
        del words[sides]
    if len(words) > _MOST_WORDS:
        # A recipient as the desk draws it, in groups.
        groups = " ".join(word.text for word in words[_MOST_WORDS - 1 :])
        whole = ungrouped_address(groups)
        if whole != groups:
            first, last = words[_MOST_WORDS - 1], words[-1]
            words[_MOST_WORDS - 1 :] = [_Word(whole, first.start, last.last)]
    return words


_MOST_WORDS = 3


def _is_amount(text: str) -> bool:
    return not text[0].isalpha() or text.lower() == MAX


def _read(words: list[_Word], known: _Known, choose: int, sold: int) -> IntentLine:
    if is_link(words[0].text):
        raise _before_link(words, known)
    if words[0].text.lower() != MAX and _is_token(words[0], known.catalog):
        if len(words) == 2 and is_link(words[1].text):
            return _to_link(IntentLine("incomplete"), words, known, choose, sold)
        return _without_amount(words, known.catalog)
    line = _amount(words[0], alone=len(words) == 1)
    if len(words) == 1:
        return replace(line, message=NAME_TOKEN)
    if is_link(words[1].text):
        raise _before_link(words, known)
    if len(words) > 3:
        raise _refused(line, "Write an amount and two tokens.", words[3].start)
    if len(words) == 3 and is_link(words[2].text):
        return _to_link(line, words, known, choose, sold)
    if len(words) == 3 and words[2].text.startswith("@"):
        if line.receive:
            raise _refused(line, NO_PRIVATE_REVERSE, words[0].start)
        return _private_send(line, words, known, choose + sold)
    return _swap(line, words, known, choose, sold)


def _is_token(word: _Word, catalog: Catalog) -> bool:
    """Whether a token stands, or is being typed, where an amount belongs."""
    if not word.text[0].isalpha():
        return False
    if word.start or (word.last and catalog.begins_a_symbol(word.text)):
        # A token that was chosen into an empty line leaves a blank for the amount.
        return True
    return bool(resolve(word.text, catalog).candidates)


def _without_amount(words: list[_Word], catalog: Catalog) -> IntentLine:
    """What is written without its amount, which is asked for once the words are tokens."""
    line = IntentLine("incomplete", message=TYPE_AMOUNT, wants_amount=True)
    if len(words) == 1:
        return line
    sells = _candidates(line, words[0], catalog)
    if not words[1].text.startswith("@"):
        _candidates(line, words[1], catalog)
    if len(words) > 2:
        raise _refused(line, AMOUNT_FIRST, words[2].start)
    return replace(line, message=f"How much {sells[0].symbol}? {TYPE_AMOUNT}")


def _amount(word: _Word, *, alone: bool) -> IntentLine:
    """The amount as it is written; a share and dollars become one once their token is known."""
    receive = word.text.startswith("=")
    text = word.text.removeprefix("=")
    start = word.start + int(receive)
    typing: LineState = "incomplete" if alone and word.last else "refused"
    if alone and word.last and text.isalpha() and MAX.startswith(text.lower()) and text != MAX:
        raise _Stop(IntentLine("incomplete", message=TYPE_AMOUNT))
    if receive and not text:
        said = "Type what is to arrive: =2 btc eth."
        raise _Stop(IntentLine(typing, message=said, place=word.start, receive=True))
    if text.lower() == MAX or text.endswith("%"):
        if receive:
            raise _Stop(IntentLine("refused", message=ARRIVES_IN_DIGITS, place=start))
        share = Decimal(1) if text.lower() == MAX else _share(text, start)
        return IntentLine("incomplete", share=share)
    dollars = text.startswith("$") or text.endswith("$")
    start += int(text.startswith("$"))
    digits = text.strip("$") if dollars else text
    if dollars and not digits:
        said = "Type how many dollars: $500 btc eth."
        raise _Stop(IntentLine(typing, message=said, place=word.start, receive=receive))
    try:
        amount = _scaled(digits)
    except AmountError as error:
        place = start + error.position
        # "0." on the way to "0.5" is not a mistake yet.
        unfinished = digits[:-1].isdigit() and digits[-1] == "."
        state: LineState = typing if unfinished else "refused"
        raise _Stop(IntentLine(state, message=error.message, place=place)) from None
    if amount == 0:
        raise _Stop(IntentLine(typing, message="Type an amount above 0.", place=word.start))
    if dollars:
        return IntentLine("incomplete", dollars=amount, receive=receive)
    return IntentLine("incomplete", amount=amount, receive=receive)


def _scaled(text: str) -> Decimal:
    """Digits, with ``k`` for thousands and ``m`` for millions behind them. Raises AmountError."""
    zeros = _SCALES.get(text[-1:].lower(), 0) if text[:-1] else 0
    amount = parse_amount(text[:-1] if zeros else text)
    return short(ROUGH.scaleb(amount, zeros)) if zeros else amount


def _share(text: str, start: int) -> Decimal:
    try:
        percent = parse_amount(text[:-1])
    except AmountError as error:
        said, place = error.message, start + error.position
    else:
        if 0 < percent <= 100:
            return ROUGH.scaleb(percent, -2)
        said, place = "A share of what you have is above 0% and at most 100%.", start
    raise _Stop(IntentLine("refused", message=said, place=place))


def _with_amount(line: IntentLine, token: Token, word: _Word, held: Held) -> IntentLine:
    """The line with its amount in ``token``, whose decimals bound it."""
    if line.share is not None:
        return _of_wallet(line, line.share, token, word, held)
    if line.dollars is not None:
        return _of_dollars(line, line.dollars, token, word)
    if line.amount is not None:
        _fitting(line, token, word)
    return line


def _of_wallet(
    line: IntentLine, share: Decimal, token: Token, word: _Word, held: Held
) -> IntentLine:
    """A share of what the wallet has, and never what the fee of the payment takes."""
    has = held.get(token.id, READING)
    if isinstance(has, str):
        return replace(line, amount=None, message=has)
    wanted = has.spendable if share == 1 else min(ROUGH.multiply(has.amount, share), has.spendable)
    amount = _cut(wanted, token, _SERVICE_DIGITS)
    symbol, chain = token.symbol, token.chain_data.name
    if amount <= 0:
        said = f"Your wallet has no {symbol} on {chain} to spend."
        if has.amount > 0:
            said = f"Your {exact_amount(has.amount)} {symbol} on {chain} is less than the fee."
        raise _refused(line, said, word.start)
    of = "all" if share == 1 else f"{short(ROUGH.scaleb(share, 2)):f}%"
    kept = short(ROUGH.subtract(has.amount, has.spendable))
    less = f", less {exact_amount(kept)} for the fee" if kept and share == 1 else ""
    said = f"{of} of the {exact_amount(has.amount)} {symbol} you have{less}"
    return replace(line, amount=amount, derived=said)


def _of_dollars(line: IntentLine, dollars: Decimal, token: Token, word: _Word) -> IntentLine:
    if not token.price:
        said = f"The service states no price of {token.symbol}: write the amount in it."
        raise _refused(line, said, word.start)
    amount = _cut(ROUGH.divide(dollars, token.price), token, _ESTIMATE_DIGITS)
    if amount <= 0:
        said = f"{usd(dollars)} is less than the smallest amount of {token.symbol}."
        raise _refused(line, said, word.start)
    said = f"{usd(dollars)} at {usd(token.price)} {with_article(token.symbol)}, an estimate"
    return replace(line, amount=amount, derived=said)


def _cut(amount: Decimal, token: Token, digits: int) -> Decimal:
    """Rounded down to so many digits, and to the decimals of the token."""
    places = min(token.decimals, max(0, digits - 1 - amount.adjusted()))
    return short(quantize(amount, places, up=False)) if amount > 0 else Decimal(0)


def _swap(
    line: IntentLine, words: list[_Word], known: _Known, choose: int, first: int
) -> IntentLine:
    sells = _candidates(line, words[1], known.catalog)
    if len(words) == 2:
        sold = _pick(sells, choose + first, known.catalog)
        line = _sold(line, sold, words, known)
        return replace(_walked(line, sold, None, choose), message=line.message or NAME_BOUGHT)
    buys = _candidates(line, words[2], known.catalog)
    return _pair(line, words, (sells, buys), known, choose, first)


def _pair(
    line: IntentLine,
    words: list[_Word],
    tokens: tuple[list[TokenRow], list[TokenRow]],
    known: _Known,
    choose: int,
    first: int,
) -> IntentLine:
    """``tokens`` are what the second word can mean, which is sold, and the third."""
    (sells, buys), catalog = tokens, known.catalog
    # The bought token is walked through first; each sold token has its own list of others.
    lists = [(at, [row for row in buys if row.id != sell.id]) for at, sell in enumerate(sells)]
    first %= len(lists)
    lists = lists[first:] + lists[:first]
    total = sum(len(others) for _, others in lists)
    if total == 0:
        raise _refused(
            _sold(line, _pick(sells, 0, catalog), words, known),
            f"Both sides are {sells[0].symbol} on {sells[0].chain_name}. "
            'To send it privately, write "0.5 eth @name".',
            words[2].start,
        )
    step = choose % total
    for at, others in lists:
        if step < len(others):
            sold, bought = _pick(sells, at, catalog), _pick(others, step, catalog)
            break
        step -= len(others)
    line = _sold(line, sold, words, known)
    _allow(line, bought.token, words[2])
    line = replace(line, token_out=bought.token)
    if line.receive:
        line = _with_amount(line, bought.token, words[0], known.held)
    return replace(_walked(line, sold, bought, choose, first), choices=total)


def _private_send(line: IntentLine, words: list[_Word], known: _Known, choose: int) -> IntentLine:
    """To a name of the address book or to an address: of the token, that on a chain it fits."""
    word, catalog = words[2], known.catalog
    rows = _candidates(line, words[1], catalog)
    if word.text.startswith("@"):
        entry = _entry(line, word, known.book)
        line = replace(line, recipient_name=entry.name, private_send=True)
        reachable = [row for row in rows if entry.fits(row.kind, row.chain)]
        if not reachable:
            sold = _pick(rows, 0, catalog)
            said = _misfit(entry, sold.token)
            raise _refused(_sold(line, sold, words, known), said, word.start)
        private = _privately_sent(line, reachable, words[1])
    else:
        line = replace(
            _asked_by(line, word, rows[0], known), recipient=word.text, private_send=True
        )
        private = _reached(line, _privately_sent(line, rows, words[1]), word, known, choose)
    sold = _pick(private, choose, catalog)
    line = replace(_sold(line, sold, words, known), token_out=sold.token)
    return _walked(line, sold, None, choose)


def _privately_sent(line: IntentLine, rows: list[TokenRow], word: _Word) -> list[TokenRow]:
    private = [row for row in rows if row.has_self_private]
    if not private:
        sentence = f"{rows[0].symbol} on {rows[0].chain_name} cannot be sent privately."
        raise _refused(line, sentence, word.start)
    return private


def _reached(
    line: IntentLine, rows: list[TokenRow], word: _Word, known: _Known, choose: int = 0
) -> list[TokenRow]:
    """Those that can be paid to an address, by the chain's own form and by whom it looks like."""
    checks = [(row, _checked(line, row, word, known)) for row in rows]
    reached = [row for row, check in checks if check.ok]
    if not reached:
        # A look-alike is an address of its chain: that says more than what another chain needs.
        by_chain = next((check for _, check in checks if check.address), None)
        check = by_chain or checks[choose % len(checks)][1]
        place = word.start + max(0, (check.position or 1) - 1)
        raise _refused(line, check.problem, place)
    return reached


def _checked(line: IntentLine, row: TokenRow, word: _Word, known: _Known) -> RecipientCheck:
    return known.check(word.text, _pick([row], 0, known.catalog).token)


def _before_link(words: list[_Word], known: _Known) -> _Stop:
    """A link without what is sold for it: what it asks for, and what comes before it."""
    at = 0 if is_link(words[0].text) else 1
    line = IntentLine("incomplete")
    if len(words) > at + 1:
        return _refused(line, "A payment link is the end of the line.", words[at + 1].start)
    token = _pick(_linked(line, words[at], known), 0, known.catalog).token
    asked = linked_amount(_link(line, words[at]), token)
    what = token.symbol if asked is None else f"{exact_amount(asked)} {token.symbol}"
    said = f"The link asks for {what} on {token.chain_data.name}. Write what you sell before it."
    return _Stop(replace(line, message=said))


def _to_link(
    line: IntentLine, words: list[_Word], known: _Known, choose: int, first: int
) -> IntentLine:
    """The end of the line is a payment link: it says what arrives where and, unless an amount is
    written, how much. Of the token itself it is a private send."""
    *before, word = words
    sells = _candidates(line, before[-1], known.catalog)
    buys = _linked(line, word, known)
    asked = linked_amount(_link(line, word), _pick(buys, 0, known.catalog).token)
    line = replace(line, recipient=word.text)
    if len(before) == 1:
        if asked is None:
            raise _Stop(replace(line, message=f"How much? {TYPE_AMOUNT}", wants_amount=True))
        line = replace(line, amount=asked, receive=True)
        words = [_Word("", word.start, last=False), *words]
    else:
        line = _asked_by(line, word, buys[0], known)
    if sells[0].id in {row.id for row in buys}:
        line = replace(line, receive=False, private_send=True)
        sold = _pick(_privately_sent(line, sells[:1], words[1]), 0, known.catalog)
        line = replace(_sold(line, sold, words, known), token_out=sold.token)
        return _walked(line, sold, None, choose)
    return _pair(line, words, (sells, buys), known, choose, first)


def _asked_by(line: IntentLine, word: _Word, row: TokenRow, known: _Known) -> IntentLine:
    """The line, with the amount of its link where another one is written."""
    link = _link(line, word) if is_link(word.text) else None
    token = known.catalog.token(row.id)
    asked = linked_amount(link, token) if link is not None and token is not None else None
    if asked is None or line.amount == asked:
        return line
    return replace(line, derived=f"the link asks for {exact_amount(asked)} {row.symbol}")


def _link(line: IntentLine, word: _Word) -> LinkedPayment:
    try:
        link = read_payment_link(word.text)
    except AddressProblem as problem:
        raise _refused(line, problem.sentence("payment"), word.start) from None
    assert link is not None  # the word is a link
    return link


def _linked(line: IntentLine, word: _Word, known: _Known) -> list[TokenRow]:
    """The tokens that a link can ask for: by its contract, else the coin of its chain."""
    link, catalog = _link(line, word), known.catalog
    chains = [chain for chain in catalog.chains() if pays_on(link, chain)]
    if not chains:
        said = f"No chain is called {link.chain_name[:20]} here."
        if link.kind:
            said = f"The service swaps nothing on {link.chain_name}."
        raise _refused(line, said, word.start)
    names = {chain.short_name for chain in chains}
    if link.contract is not None:
        rows = [row for row in catalog.rows_of_contract(link.contract) if row.chain in names]
    else:
        coins = (native_coin(catalog, chain.short_name) for chain in chains)
        found = (catalog.row(coin.id) for coin in coins if coin is not None)
        rows = [row for row in found if row is not None]
    usable = [row for row in rows if row.enabled]
    if not usable:
        said = f"No listed token on {chains[0].name} is what the link asks for."
        if rows:
            said = f"{rows[0].symbol} on {rows[0].chain_name} is disabled at the service."
        raise _refused(line, said, word.start)
    if link.kind == "evm" and link.chain_id is None:
        # One that names no chain is for the first of those that its address is one on.
        usable = usable[:1]
    return _reached(line, usable, word, known)


def _candidates(line: IntentLine, word: _Word, catalog: Catalog) -> list[TokenRow]:
    if word.text.startswith("@"):
        raise _refused(line, "Name the token before the recipient.", word.start)
    found = resolve(word.text, catalog)
    if found.candidates:
        return list(found.candidates)
    if word.last and _is_unfinished(word.text, catalog):
        raise _Stop(replace(line, message="", place=None))
    raise _refused(line, found.problem, word.start)


def _is_unfinished(text: str, catalog: Catalog) -> bool:
    """Whether it begins a symbol, or behind a symbol the name of a chain."""
    symbol, dot, chain = text.rpartition(".")
    if dot and catalog.rows_of_symbol(symbol):
        begun = chain.lower()
        return any(one.short_name.lower().startswith(begun) for one in catalog.chains())
    return catalog.begins_a_symbol(text) and not catalog.rows_of_symbol(text)


def _pick(rows: list[TokenRow], at: int, catalog: Catalog) -> TokenChoice:
    at %= len(rows)
    token = catalog.token(rows[at].id)
    if token is None:
        raise _Stop(IntentLine("refused", message="The list of tokens changed."))
    return TokenChoice(token, tuple(rows), at)


def _sold(line: IntentLine, sold: TokenChoice, words: list[_Word], known: _Known) -> IntentLine:
    """The line with its token to sell, whose decimals bound the amount."""
    line = replace(line, token_in=sold.token)
    _allow(line, sold.token, words[1])
    return line if line.receive else _with_amount(line, sold.token, words[0], known.held)


def _fitting(line: IntentLine, token: Token, word: _Word) -> None:
    """Refuses an amount with more decimals than the token it is in."""
    assert line.amount is not None
    text = word.text.removeprefix("=")
    try:
        parse_amount(f"{line.amount:f}", decimals=token.decimals, symbol=token.symbol)
    except AmountError as error:
        begin = word.start + len(word.text) - len(text)
        place = begin + min(error.position, max(0, len(text) - 1))
        raise _refused(line, error.message, place) from None


def _allow(line: IntentLine, token: Token, word: _Word) -> None:
    if refusal := token_refusal(token):
        raise _refused(line, refusal, word.start)


def _walked(
    line: IntentLine, sold: TokenChoice, bought: TokenChoice | None, choose: int, first: int = 0
) -> IntentLine:
    """The complete line: which tokens were chosen among several, and what the keys do."""
    picks = [pick for pick in (sold, bought) if pick is not None]
    walk = next((pick for pick in reversed(picks) if len(pick.rows) > 1), None)
    tied = [pick for pick in picks if pick.tied and choose == 0 and (first == 0 or pick is bought)]
    both = None
    if bought is not None and sold.brief() and bought.brief():
        both = (sold.brief(), bought.brief())
    hints = (pick.hint("can be sent" if line.private_send else "is") for pick in picks)
    line = replace(
        line,
        hints=tuple(filter(None, hints)),
        rows=walk.rows if walk is not None else (),
        chosen=walk.at if walk is not None else 0,
        choices=len(walk.rows) if walk is not None else 1,
        both_hints=both,
    )
    if line.token_out is None or line.amount is None:
        return line
    if tied:
        asked = tied[-1]
        key = SOLD_KEY if both is not None and asked is sold else BOUGHT_KEY
        return replace(line, state="ambiguous", message=asked.question(key))
    return replace(line, state="valid")


def _entry(line: IntentLine, word: _Word, book: AddressBook) -> BookEntry:
    entry = book.entry(word.text)
    if entry is not None:
        return entry
    begun = word.text[1:].lower()
    if word.last and any(name.startswith(begun) for name in book.names()):
        raise _Stop(replace(line, private_send=True))
    raise _refused(line, book.missing(word.text), word.start)


def _misfit(entry: BookEntry, token: Token) -> str:
    chain = token.chain_data
    if entry.kind == chain.kind:
        return f"{entry.label} is an address on {entry.chain}, not on {chain.name}."
    verdict = check_address(chain.kind, entry.address, chain_name=chain.name, symbol=token.symbol)
    return f"{entry.label}: {verdict.reason}"


def _refused(line: IntentLine, message: str, place: int) -> _Stop:
    return _Stop(replace(line, state="refused", message=message, place=place))


def _read_private(words: list[_Word], known: _Known, choose: int) -> IntentLine:
    linked = next((at for at, word in enumerate(words) if is_link(word.text)), None)
    if linked is not None and len(words) <= 2:
        return _private_link(words, linked, known, choose)
    if len(words) > 3:
        said = "Write an amount, a token and whom to pay."
        raise _refused(IntentLine("refused"), said, 0)
    if words[0].text.lower() != MAX and _is_token(words[0], known.catalog):
        return _without_amount(words, known.catalog)
    line = _amount(words[0], alone=len(words) == 1)
    if len(words) == 1:
        return replace(line, message="Name the token you send.")
    if line.receive:
        raise _refused(line, NO_PRIVATE_REVERSE, words[0].start)
    if len(words) == 3:
        return _private_send(line, words, known, choose)
    private = _privately_sent(line, _candidates(line, words[1], known.catalog), words[1])
    sold = _pick(private, choose, known.catalog)
    line = replace(line, private_send=True)
    line = replace(_sold(line, sold, words, known), token_out=sold.token)
    return _walked(line, sold, None, choose)


def _private_link(words: list[_Word], at: int, known: _Known, choose: int) -> IntentLine:
    """A link alone, or behind an amount: it names the token, whom to pay and how much."""
    line, word = IntentLine("incomplete"), words[at]
    if len(words) > at + 1:
        raise _refused(line, "A payment link is the end of the line.", words[at + 1].start)
    if at:
        line = _amount(words[0], alone=False)
    row = _linked(line, word, known)[0]
    spelled = _Word(row.id, word.start, last=False)
    return _to_link(line, [*words[:at], spelled, word], known, choose, 0)
