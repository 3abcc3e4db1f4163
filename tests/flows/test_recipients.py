"""Who gets the money: decoders, patterns, look-alikes, memos, refund addresses, the question before
a first payment, who counts as paid, and that what was checked is what is locked for the review.

Names for addresses in a file the user edits.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows import old_journals
from flows.orders import NOW, RECIPIENT, created_batch, created_here, order
from rows import each_row
from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.display import grouped, wrapped_address
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.addresses.kinds import KINDS, derive_address
from swapdesk.chain.addresses.payments import WAIVER
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.batches import find_batch, mark_differing
from swapdesk.flows.batch.rows import ORDER_DIFFERS
from swapdesk.flows.catalog.token_safety import token_refusal
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import Checked, Consent, NotLockable, lock_for_review
from swapdesk.flows.intents.intent import (
    DepositRelease,
    Intent,
    IntentKind,
    ReleaseVerdict,
    contradiction,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.payees.address_book import (
    STARTERS,
    AddressBook,
    AddressBookError,
    BookEntry,
    check_entry,
    write_starters,
)
from swapdesk.flows.payees.recipients import (
    NEVER_DEPOSIT,
    RecipientCheck,
    challenge_for,
    check_memo,
    check_memo_of,
    check_recipient,
    check_refund,
    last_paid,
    own_deposits,
    paid_addresses,
    without,
)
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import rank
from swapdesk.wire.quotes import Quote
from swapdesk.wire.tokens import Token
from world import sandbox_goods

CHAINS = sandbox_goods(NOW)["chains"]
WORLD = sandbox_goods(NOW)["tokens"]
EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def token(kind: str) -> Token:
    """The coin of the first chain of a kind; no coin is traded on some of them."""
    chain = next(chain for chain in CHAINS if chain.kind == kind and chain.enabled)
    coins = [t for t in WORLD if t.chain == chain.short_name and t.mainnet]
    placed = {"chain": chain.short_name, "chain_data": chain}
    return coins[0] if coins else WORLD[0].model_copy(update=placed)


ETH, BTC, XRP, SOL = token("evm"), token("bitcoin"), token("xrp"), token("sol")


def address(kind: str, name: str) -> str:
    return derive_address(kind, hashlib.sha256(name.encode()).digest())


def check(text: str, asked: Token = ETH, *, book: AddressBook, **known: object) -> RecipientCheck:
    options: dict[str, object] = {"paid": {}, **known}
    return check_recipient(text, asked, book=book, **options)  # type: ignore[arg-type]


def texts(found: RecipientCheck) -> list[tuple[str, str]]:
    return [(line.level, line.text) for line in found.lines]


@each_row("kind", KINDS)
def test_an_address_of_the_chain_is_accepted_and_first_use_is_said(
    kind: str, book: AddressBook
) -> None:
    stranger = address(kind, "stranger")
    found = check(stranger, token(kind), book=book)
    assert (found.ok, found.address, found.first_use) == (True, stranger, True)
    assert (found.label, found.lookalike) == (None, None)
    assert found.lines[0].level == "ok"
    assert ("warn", "Never paid before.") in texts(found)
    # As the desk draws it: in groups, and in groups over lines.
    for drawn in (grouped(stranger), "\n".join(wrapped_address(stranger, 22))):
        assert replace(check(drawn, token(kind), book=book), text=stranger) == found


@each_row("kind", KINDS)
def test_an_address_of_another_kind_is_refused(kind: str, book: AddressBook) -> None:
    for other in KINDS:
        found = check(address(other, "x"), token(kind), book=book)
        assert found.ok is (kind == other), other
        assert (not found.problem) is (kind == other), other
        if kind != other:
            assert found.address == "", other


def test_a_name_stands_for_its_address(book: AddressBook, bob: BookEntry) -> None:
    found = check("@bob", book=book)
    assert (found.ok, found.address, found.label) == (True, bob.address, "@bob")
    assert check(bob.address, book=book).label == "@bob"
    assert check(bob.address.lower(), book=book).label == "@bob"


def test_a_name_of_one_chain_is_not_another_chain_of_its_kind(tmp_path: Path) -> None:
    book = AddressBook.load(tmp_path / "book.toml")
    book.add(BookEntry("deposit", EVM, "evm", chain="base"))
    found = check("@deposit", book=book)
    assert found.problem == "@deposit is an address on base, not on Ethereum."
    base = next(t for t in WORLD if t.chain_data.short_name == "base" and t.symbol == "ETH")
    assert check("@deposit", base, book=book).ok


@each_row(("text", "waived"), [("20118", False), ("", True), ("NO MEMO", False)])
def test_another_tag_than_the_one_kept_with_a_name_is_said(
    book: AddressBook, text: str, waived: bool
) -> None:
    said = "This is not the tag of @rita: 20117."
    found = check_memo_of(check("@rita", XRP, book=book), text, waived, XRP)
    assert (found.ok, found.doubt) == (True, said)
    assert found.lines[-1] == CheckLine("warn", said)
    asked = Consent().also(said)
    assert (asked.lines, asked.phrase) == ((said,), "yes")
    loss = Consent(("a loss",), "12").also(said)
    assert (loss.lines, loss.phrase) == (("a loss", said), "12")


@each_row(
    ("kind", "coin", "said"),
    [
        ("xrp", True, "An account exists once 1 XRP was paid to it"),
        ("xrp", False, "has set a trust line for it"),
        ("xlm", True, "An account exists once 1 XLM was paid to it"),
        ("xlm", False, "has added a trustline for it"),
        ("algo", False, "has opted in to it"),
        ("evm", True, ""),
        ("evm", False, ""),
    ],
)
def test_what_an_account_needs_first_is_said_before_an_order_is_created(
    book: AddressBook, kind: str, coin: bool, said: str
) -> None:
    asked = token(kind) if coin else token(kind).model_copy(update={"address": EVM})
    to = address(kind, "a new one")
    notes = [line.text for line in check(to, asked, book=book).lines if line.level == "note"]
    assert any(said in note for note in notes) if said else notes == []
    # Who was paid before has what it takes, and a refund goes to who has sent it.
    assert not any(said in line.text for line in check(to, asked, book=book, paid={to: 1}).lines
                   if said)  # fmt: skip
    back = check_refund(to, asked, required=True, book=book, paid={}, memo="")
    assert not any(said in line.text for line in back.lines if said)


@each_row(("arrives", "said"), [("0.999999", True), ("1", False), ("25", False)])
def test_a_payout_that_opens_an_account_needs_no_word_about_it(
    book: AddressBook, arrives: str, said: bool
) -> None:
    found = check(address("xrp", "new"), XRP, book=book, arrives=Decimal(arrives))
    sentence = "An account exists once 1 XRP was paid to it: less does not reach a new one."
    assert (CheckLine("warn", sentence) in found.lines) is said
    # It may be lost, so it is agreed to, as whatever else may be.
    assert found.doubt == (sentence if said else "")


OFF_THE_CURVE = "5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1"


def test_an_address_that_only_a_program_can_spend_from_is_agreed_to(book: AddressBook) -> None:
    vault, wallet = check(OFF_THE_CURVE, SOL, book=book), check("@sol", SOL, book=book)
    assert vault.ok
    assert vault.doubt.endswith("Only that program can move what it gets.")
    assert CheckLine("warn", vault.doubt) in vault.lines
    assert wallet.doubt == ""
    back = check_refund(OFF_THE_CURVE, SOL, required=True, book=book, paid={})
    none = check_memo("", False, SOL)
    assert Checked(vault, none, None).doubts == (vault.doubt,)
    assert Checked(wallet, none, back).doubts == (back.doubt,) == (vault.doubt,)
    assert Checked(wallet, none, wallet).doubts == ()
    # Who has been paid there before, and who is called by a name, is asked all the same.
    assert check(OFF_THE_CURVE, SOL, book=book, paid={OFF_THE_CURVE: 2}).doubt == vault.doubt
    book.add(BookEntry("vault", OFF_THE_CURVE, "sol"))
    assert check("@vault", SOL, book=book).doubt == vault.doubt


def test_a_swap_on_chains_carries_no_memo(book: AddressBook) -> None:
    """Whoever credits by memo would credit nobody."""
    plain = check(derive_address("sol", b"p" * 32), SOL, book=book)
    none = check_memo_of(plain, "", False, SOL, on_chain=True)
    assert (none.ok, none.used, none.memo) == (True, False, None)
    typed = check_memo_of(plain, "12345", False, SOL, on_chain=True)
    assert (typed.ok, typed.fault) == (False, "not used")
    assert "your own wallet" in typed.problem
    kept = check_memo_of(replace(plain, memo="77"), "", False, SOL, on_chain=True)
    assert not kept.ok
    assert check_memo_of(plain, "12345", False, SOL).memo == "12345"


@each_row(
    ("typed", "differs"),
    [(None, False), ("20117", False), ("020117", False), ("20118", True), ("", True)],
)
@each_row("by_name", [True, False])
def test_a_refund_without_the_tag_kept_with_its_name_is_said(
    book: AddressBook, rita: BookEntry, typed: str | None, differs: bool, by_name: bool
) -> None:
    text = "@rita" if by_name else rita.address
    said = "This is not the tag of @rita: 20117."
    found = check_refund(text, XRP, required=True, book=book, paid={}, memo=typed)
    assert found.ok
    assert found.memo_doubt == (said if differs else "")
    assert (CheckLine("warn", said) in found.lines) is differs


def test_a_token_that_is_refused_has_no_recipient(book: AddressBook) -> None:
    refused = next(one for one in WORLD if not one.enabled)
    found = check(EVM, refused, book=book)
    assert (found.ok, found.problem) == (False, token_refusal(refused))


def test_a_lookalike_of_a_name_is_said_with_its_differences(
    book: AddressBook, bob: BookEntry
) -> None:
    fake = checksummed(bob.address[:6].lower() + "f" * 32 + bob.address[-4:].lower())
    found = check(fake, book=book)
    assert found.lookalike == ("@bob", bob.address)
    assert found.problem
    count = sum(a != b for a, b in zip(fake.lower(), bob.address.lower(), strict=True))
    assert found.problem == f"This address looks like @bob and is not. {count} characters differ."
    assert count > 20


def test_an_empty_refund_address_is_right_unless_required(book: AddressBook) -> None:
    free = check_refund("", BTC, required=False, book=book, paid={})
    assert (free.ok, free.address) == (True, "")
    needed = check_refund("  ", BTC, required=True, book=book, paid={})
    assert needed.problem == "This route needs a refund address on Bitcoin."


def test_a_refund_goes_to_the_source_chain(book: AddressBook) -> None:
    right = check_refund("@cold", BTC, required=True, book=book, paid={})
    assert right.ok
    assert right.lines[-1].text == NEVER_DEPOSIT
    assert "Never paid before." not in [line.text for line in right.lines]
    wrong = check_refund(EVM, BTC, required=True, book=book, paid={})
    assert not wrong.ok
    assert wrong.problem.startswith("This is an Ethereum address.")
    deposit = address("bitcoin", "deposit")
    own = check_refund(
        deposit, BTC, required=False, book=book, paid={}, own_deposits=[("bitcoin", deposit)]
    )
    assert not own.ok


NEEDED = 'XRP needs a destination tag for exchanges. Type "NO MEMO" if this wallet has none.'


@each_row(
    ("kind", "text", "waived", "memo", "fault", "said"),
    [
        ("xrp", "", False, None, "missing", NEEDED),
        ("xrp", WAIVER, False, None, "", ""),
        ("xrp", None, True, None, "", ""),
        ("xrp", "no memo", False, None, "not valid yet", ""),
        ("xrp", "x", False, None, "not valid yet", ""),
        ("xrp", "20117", False, "20117", "", ""),
        # What was typed is sent, also where none has to be.
        ("xrp", "20117", True, "20117", "", ""),
        ("xrp", "007", False, "7", "", ""),
        ("xrp", "4294967296", False, None, "too large", ""),
        ("cosmos", "a" * 65, False, None, "too long", ""),
        ("xlm", "a" * 29, False, None, "too long", ""),
        ("evm", "", False, None, "", "Not used on Ethereum."),
        ("bitcoin", "", False, None, "", "Not used on Bitcoin."),
        ("xmr", "", False, None, "", "Not used on Monero."),
        ("evm", "123", False, None, "not used", "Ethereum has no memos. Leave it empty."),
        ("sol", "thanks", False, "thanks", "", ""),
        ("sol", None, False, None, "", ""),
    ],
)
def test_a_memo_of_a_chain(
    kind: str, text: str | None, waived: bool, memo: str | None, fault: str, said: str
) -> None:
    found = check_memo(text, waived, token(kind))
    assert (found.memo, found.fault, found.ok) == (memo, fault, not fault)
    assert found.used is (kind not in ("evm", "bitcoin", "xmr"))
    assert found.waived is (kind == "xrp" and found.ok and memo is None)
    (line,) = found.lines
    assert said in line.text
    assert line.level == ("refuse" if fault else "warn" if found.waived else "ok")
    assert found.problem == (line.text if fault else "")


USDC_BASE = next(t for t in WORLD if (t.chain, t.symbol, t.unverified) == ("base", "USDC", False))
LINK = f"ethereum:{USDC_BASE.address}@8453/transfer?address={EVM}&uint256=2500000"
TAGGED = f"ripple:{address('xrp', 'shop')}?amount=20&dt=777"


@each_row("before", ["base:", "BASE:", "eip155:8453:", "ethereum:", "Base:"])
def test_the_chain_before_an_address_is_the_one_that_was_chosen(
    before: str, book: AddressBook
) -> None:
    found = check(before + EVM, USDC_BASE, book=book)
    assert (found.ok, found.address, found.memo) == (True, EVM, None)


@each_row(
    ("text", "says"),
    [
        (f"eth:{EVM}", "This is for Ethereum, and this USDC is on Base."),
        (f"arb1:{EVM}", "This is for Arbitrum, and this USDC is on Base."),
        (f"eip155:4217:{EVM}", "This is for chain 4217, and this USDC is on Base."),
        (f"nowhere:{EVM}", '"nowhere:" in front of the address is not Base'),
        (f"ethereum:{EVM}@1", "This is for Ethereum, and this USDC is on Base."),
        ("bitcoin:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "This is for Bitcoin, and"),
        (f"ethereum:{EVM}@8453?value=1e18", "asks for the coin of Base, not for USDC."),
        (
            f"ethereum:{checksummed('0x' + 'ab' * 20)}@8453/transfer?address={EVM}&uint256=1",
            "not for USDC. To pay USDC there, paste the address alone.",
        ),
        (f"base:{EVM[:-1]}", "it has 41 characters"),
    ],
)
def test_a_link_for_something_else_says_for_what(text: str, says: str, book: AddressBook) -> None:
    found = check(text, USDC_BASE, book=book)
    assert (found.ok, found.address) == (False, "")
    assert says in found.problem


def test_the_ids_of_real_chains_name_those_of_the_sandbox(book: AddressBook) -> None:
    """And those of the service itself, whatever they are."""
    assert USDC_BASE.chain_data.chain_id not in (None, 8453)
    assert check(LINK, USDC_BASE, book=book).ok
    own = LINK.replace("@8453", f"@{USDC_BASE.chain_data.chain_id}")
    assert check(own, USDC_BASE, book=book).ok
    live = USDC_BASE.chain_data.model_copy(update={"chain_id": 10})
    misnamed = USDC_BASE.model_copy(update={"chain_data": live})
    assert not check(LINK, misnamed, book=book).ok, "an id that is another chain's is believed"


def test_the_memo_of_a_link_is_the_memo(book: AddressBook, rita: BookEntry) -> None:
    found = check(TAGGED, XRP, book=book)
    assert (found.ok, found.memo) == (True, "777")
    assert check_memo_of(found, found.memo, False, XRP).doubt == ""
    for typed, waived in (("778", False), ("", True)):
        other = check_memo_of(found, typed, waived, XRP)
        assert other.ok
        assert other.doubt == "This is not the tag of the payment link: 777."
    on_chain = check_memo_of(found, None, False, XRP, on_chain=True)
    assert not on_chain.ok, "a memo that cannot be sent is dropped"
    back = check_refund(TAGGED, XRP, required=True, book=book, paid={})
    assert (back.ok, back.memo) == (True, "777")
    known = check(f"ripple:{rita.address}?dt=777", XRP, book=book)
    assert (known.label, known.memo) == ("@rita", "777")
    assert any(text.startswith("This is not the tag of @rita: 20117.") for _, text in texts(known))


KNOWN = address("evm", "known")
TWIN = checksummed(KNOWN[:6].lower() + "f" * 32 + KNOWN[-4:].lower())
SHOP = f"solana:{address('sol', 'shop')}?reference=abc&label=Shop"
BECH32 = 'Not a Bitcoin address: character 23 is "o", which bech32 never uses.'
OTHER_KIND = "This is a Bitcoin address. ETH on Ethereum needs one that starts with 0x."
OWN = "This is the deposit address of one of your orders, not a wallet."


def matching(pattern: str) -> Token:
    chain = ETH.chain_data.model_copy(update={"address_validation": pattern})
    return ETH.model_copy(update={"chain_data": chain})


@each_row(
    ("text", "asked", "known", "level", "said"),
    [
        (EVM, ETH, {}, "ok", "Ethereum address, checksum correct"),
        ("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", ETH, {}, "refuse", OTHER_KIND),
        ("bc1qar0srrr7xfkvy5l643oydnw9re59gtzzwf5mdq", BTC, {}, "refuse", BECH32),
        ("@bob", ETH, {}, "note", "Never paid before."),
        ("@nobody", ETH, {}, "refuse", "@nobody is not in the address book."),
        ("@bob", BTC, {}, "refuse", "@bob: This is an Ethereum address."),
        (EVM, ETH, {"paid": {EVM: 1}}, "note", "Paid once."),
        (EVM, ETH, {"paid": {EVM.lower(): 4}}, "note", "Paid 4 times."),
        (EVM, ETH, {"own_deposits": [("evm", EVM.lower())]}, "refuse", OWN),
        # What was to be paid on another chain is no deposit on this one.
        (EVM, ETH, {"own_deposits": [("bitcoin", EVM)]}, "ok", ""),
        (EVM, ETH, {"contracts": [EVM.lower()]}, "refuse", "contract of a token"),
        # The pattern of the service only narrows.
        (EVM, matching("^0x00.*$"), {}, "refuse", ""),
        ("anything", matching(".*"), {}, "refuse", ""),
        (EVM, matching(""), {}, "ok", ""),
        (EVM, matching("^(?=0x).*$"), {}, "warn", "cannot be read"),
        (LINK, USDC_BASE, {}, "note", "The link asks for 2.5 USDC."),
        (LINK, USDC_BASE, {"arrives": Decimal("2.50")}, "ok", "As much as the link asks for: 2.5"),
        (LINK, USDC_BASE, {"arrives": Decimal(2)}, "warn", "asks for 2.5 USDC, and 2 USDC arrives"),
        (LINK, USDC_BASE, {"arrives": Decimal(3)}, "warn", "asks for 2.5 USDC, and 3 USDC arrives"),
        (f"ethereum:{EVM}", ETH, {}, "note", "The link names no chain: this pays on Ethereum."),
        # A look-alike, also in a link; two payees whose ends agree do not accuse one another.
        (TWIN, ETH, {"paid": {KNOWN: 1}}, "refuse", "looks like"),
        (f"eth:{TWIN}", ETH, {"paid": {KNOWN: 1}}, "refuse", "looks like"),
        (TWIN, ETH, {"paid": {KNOWN: 1, TWIN: 3}}, "note", "Paid 3 times."),
        (SHOP, SOL, {}, "warn", "The link also says reference, which no payout carries."),
    ],
)
def test_what_is_said_of_a_recipient(
    text: str, asked: Token, known: dict[str, object], level: str, said: str, book: AddressBook
) -> None:
    found = check(text, asked, book=book, **known)
    assert found.ok is (level != "refuse")
    assert any(one == level and said in sentence for one, sentence in texts(found))
    assert said in found.problem if level == "refuse" else not found.problem


SEEDS = st.integers(0, 2**32 - 1).map(lambda number: f"{number:08x}{'0' * 24}")


def first(address: str) -> RecipientCheck:
    return RecipientCheck(address, address, None, True, (), first_use=True)


@given(seed=SEEDS, secret=st.binary(min_size=32, max_size=32),
       kind=st.sampled_from(["evm", "bitcoin", "sol", "xmr", "xrp"]))  # fmt: skip
def test_a_whole_group_from_the_middle_is_asked_for(seed: str, secret: bytes, kind: str) -> None:
    address = derive_address(kind, secret)
    asked = challenge_for(first(address), seed)
    assert "".join(address[at] for at in sorted(asked.hidden)) == asked.answer
    assert len(asked.answer) == 4
    body = 2 if address.startswith("0x") else 0
    # Look-alikes are ground to have both ends: neither is asked for.
    assert min(asked.hidden) >= body + 4
    assert max(asked.hidden) < len(address) - 4
    assert asked.passed(asked.answer)
    assert asked.passed(f" {asked.answer} ")
    assert asked.answer not in " ".join(asked.question)
    assert without(address, asked.hidden).count("•") == 4


@given(
    seed=SEEDS, one=st.binary(min_size=32, max_size=32), other=st.binary(min_size=32, max_size=32)
)
def test_the_group_of_another_address_is_no_answer(seed: str, one: bytes, other: bytes) -> None:
    shown, meant = derive_address("sol", one), derive_address("sol", other)
    asked = challenge_for(first(shown), seed)
    read = "".join(meant[at] for at in sorted(asked.hidden) if at < len(meant))
    assert asked.passed(read) is (read == asked.answer)


def test_letters_count_where_they_mean_something() -> None:
    evm = challenge_for(first(EVM), "00000001")
    sol = challenge_for(first("7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"), "00000001")
    assert evm.passed(evm.answer.swapcase())
    assert not sol.passed(sol.answer.swapcase())


@each_row(
    ("typed", "paid", "asked"),
    [
        ("@bob", {}, False),
        ("@nobody", {}, False),
        ("", {}, False),
        ("0x12", {}, False),
        (EVM, {EVM: 1}, False),
        (EVM, {}, True),
    ],
)
def test_an_address_that_nobody_paid_or_named_is_asked_about(
    typed: str, paid: dict[str, int], asked: bool, book: AddressBook
) -> None:
    challenge = challenge_for(check(typed, book=book, paid=paid), "0" * 32)
    assert (challenge is not None) is asked


def test_the_place_of_the_fault_comes_with_the_refusal(book: AddressBook) -> None:
    wrong = check_recipient("bc1qar0srrr7xfkvy5l643oydnw9re59gtzzwf5mdq", BTC, book=book, paid={})
    assert wrong.position == 23
    assert check_recipient("@nobody", BTC, book=book, paid={}).position is None


def board(token_in: Token, **fields: Any) -> QuoteResult:
    quote = Quote(quote_id="a" * 24, type="standard", swap="hy", amount_out=Decimal(1), **fields)
    wish = QuoteRequest(token_in, ETH, Decimal(100))
    return QuoteResult(NOW, NOW, rank([(quote, NOW + timedelta(seconds=60))], wish, NOW), wish)


def refund_of(text: str, token: Token, book: AddressBook, **given: Any) -> RecipientCheck:
    return check_refund(text, token, required=True, book=book, paid={}, **given)


def frozen(token_in: Token, refund: RecipientCheck | None, book: AddressBook) -> Intent:
    asked = board(token_in, requires_refund_address=True)
    recipient = check_recipient(EVM, ETH, book=book, paid={})
    memo = check_memo("", False, ETH)
    (row,) = asked.ranking.rows
    kind = IntentKind.EXCHANGE
    return lock_for_review(kind, row, asked, recipient, memo, refund, ManualClock(NOW))


@each_row(("given", "posted"), [({}, "20117"), ({"memo": "7"}, "7"), ({"memo": ""}, None)])
def test_the_refund_memo_of_a_name_is_posted_unless_another_is_given(
    given: dict[str, str], posted: str | None, book: AddressBook
) -> None:
    refund = refund_of("@rita", XRP, book, **given)
    intent = frozen(XRP, refund, book)
    assert (intent.refund_address, intent.refund_memo) == (refund.address, posted)


@each_row(
    ("name", "token", "wrong", "said"),
    [
        ("@rita", XRP, "not a tag", "digits only"),
        ("@rita", XRP, "4294967296", "at most"),
        ("@cold", BTC, "1", "Bitcoin has no memos. Leave it empty."),
    ],
)
def test_a_refund_memo_that_is_none_is_refused(
    name: str, token: Token, wrong: str, said: str, book: AddressBook
) -> None:
    refund = refund_of(name, token, book, memo=wrong)
    assert not refund.ok
    assert said in refund.problem
    with pytest.raises(NotLockable):
        frozen(token, refund, book)


def test_no_refund_address_has_no_memo(book: AddressBook) -> None:
    with pytest.raises(NotLockable):
        frozen(XRP, None, book)
    free = check_refund("", XRP, required=False, book=book, paid={}, memo="7")
    assert free.memo is None


DONE = {"display_status": "SWAP_COMPLETED", "status": 4, "modified": NOW + timedelta(minutes=9)}
THEIRS = derive_address("evm", b"t" * 32)
DIFFERS = ReleaseVerdict(DepositRelease.DIFFERS, "the recipient differs")


@pytest.mark.parametrize(
    ("receiver", "code", "values", "times"),
    [
        (RECIPIENT, None, DONE, 3),
        (RECIPIENT.lower(), None, DONE, 3),
        (RECIPIENT, None, {}, 1),
        (RECIPIENT, ORDER_DIFFERS, DONE, 1),
        # The service says later that it paid somebody else, who was never confirmed.
        (THEIRS, None, DONE, 1),
    ],
)
def test_completed_orders_of_a_batch_count_as_those_made_one_by_one(
    journal: Journal, receiver: str, code: str | None, values: dict[str, object], times: int
) -> None:
    created_here(journal, order(service_id="o" * 22, **DONE))
    body = json.dumps({"orders": [{"addressTo": RECIPIENT}, {"addressTo": RECIPIENT}]})
    names = [f"{at:022d}" for at in range(2)]
    created_batch(journal, "b" * 32, "g" * 22, *names, code=code, body=body)
    for name in names:
        one = order(service_id=name, receiver_address=receiver, multi_id="g" * 22, **values)
        journal.orders.record([(one, "list", True)])
    assert paid_addresses(journal) == {RECIPIENT: times}
    assert list(last_paid(journal)) == [RECIPIENT]


@pytest.mark.parametrize("verdict", [None, DIFFERS, contradiction("it names another recipient")])
def test_an_order_of_others_or_not_as_confirmed_makes_nobody_known(
    journal: Journal, verdict: ReleaseVerdict | None
) -> None:
    """Whoever can make the list show an order could else have an address taken for a payee."""
    done = order(receiver_address=THEIRS, **DONE)
    if verdict is None:
        journal.orders.record([(done, "list", True)])
    else:
        created_here(journal, done, verdict=verdict)
    assert paid_addresses(journal) == {}
    assert last_paid(journal) == {}


@pytest.mark.parametrize("standing", DepositRelease)
def test_only_an_address_that_was_released_is_a_deposit_of_yours(
    journal: Journal, standing: DepositRelease
) -> None:
    """An answer that names the trader's own wallet as where to pay bars nobody from it."""
    verdict = ReleaseVerdict(standing, None if standing is DepositRelease.RELEASED else "hidden")
    named = order(deposit_address=RECIPIENT)
    if standing is DepositRelease.FOREIGN:
        journal.orders.record([(named, "list", False)])
    else:
        created_here(journal, named, verdict=verdict)
    released = own_deposits(journal)
    assert released == (
        {("bitcoin", RECIPIENT)} if standing is DepositRelease.RELEASED else frozenset()
    )


@pytest.mark.parametrize("dump", [old_journals.FIRST, old_journals.SECOND])
def test_what_a_bundle_pays_is_a_deposit_of_yours(tmp_path: Path, dump: Path) -> None:
    """Nobody releases an order of a batch: its bundle is built once it was found as asked for."""
    journal = Journal.open(old_journals.written(tmp_path / "journal.db", dump), ManualClock(NOW))
    single = {("bitcoin", "bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju")}
    kept = {
        ("evm", "0xE2f082B0499811C075Bfac0E6310C40776416Edb"),
        ("sol", "0x8802146860Ffa1782C99aB492329821cf6C6d8C7"),
    }
    first = ("evm", "0x7Bfc7c7F4DE49591c65B6820EF1535191051AF3A")
    assert own_deposits(journal) == {*single, *kept, first}
    batch = find_batch(journal.ledger, "ab" * 16)
    mark_differing(journal.ledger, batch.rows[0], "the recipient of the order is another one")
    assert own_deposits(journal) == {*single, *kept}
    journal.close()


@pytest.fixture
def book_file(tmp_path: Path) -> Path:
    return tmp_path / "profile" / "address_book.toml"


def write(book_file: Path, text: str) -> AddressBook:
    book_file.parent.mkdir(parents=True, exist_ok=True)
    book_file.write_text(text, encoding="utf-8")
    return AddressBook.load(book_file)


def test_an_absent_file_is_an_empty_book(book_file: Path) -> None:
    book = AddressBook.load(book_file)
    assert (len(book), book.problems) == (0, ())
    assert book.entry("@bob") is None
    assert not book_file.exists()


def test_the_sandbox_begins_with_one_name_for_each_kind_of_chain(book_file: Path) -> None:
    book = AddressBook.load(book_file, sandbox=True)
    assert book.problems == ()
    assert len(book) == len(STARTERS)
    for entry in book.entries():
        assert check_address(entry.kind, entry.address).ok
    bob = book.entry("@bob")
    assert (bob.kind, bob.label) == ("evm", "@bob")
    assert book_file.stat().st_mode & 0o777 == 0o600
    assert book_file.read_text(encoding="utf-8").startswith("# ")


def test_starters_never_replace_a_file(book_file: Path) -> None:
    book = write(book_file, f'[mine]\naddress = "{EVM}"\nkind = "evm"\n')
    assert not write_starters(book_file)
    assert AddressBook.load(book_file, sandbox=True).names() == book.names() == ["mine"]


RIPPLE = address("xrp", "r")
COLD = ("cold", "bitcoin", None)


@pytest.mark.parametrize(
    ("kind", "written", "more", "facts"),
    [
        ("evm", EVM.lower(), "own = true", {"address": EVM, "own": True}),
        # As the desk draws it.
        ("evm", grouped(EVM), "", {"address": EVM, "own": False}),
        # A memo may be written as the number it is.
        ("xrp", RIPPLE, "memo = 20117", {"address": RIPPLE, "memo": "20117"}),
    ],
)
def test_an_entry_as_it_is_written_by_hand(
    kind: str, written: str, more: str, facts: dict[str, object], book_file: Path
) -> None:
    """Behind a byte order mark."""
    book = write(book_file, f'\ufeff[Bob]\naddress = "{written}"\nkind = "{kind}"\n{more}\n')
    assert book.problems == ()
    for name in ("bob", "@bob", "@BOB"):
        assert {fact: getattr(book.entry(name), fact) for fact in facts} == facts
    assert book.name_of(kind, str(facts["address"])) == "bob"
    assert book.name_of("sol", EVM) is None
    book.add(BookEntry("ann", address("evm", "ann"), "evm"))
    assert AddressBook.load(book_file).names() == ["bob", "ann"]


def test_an_entry_is_typed_as_the_desk_draws_it(book_file: Path) -> None:
    added = check_entry(AddressBook.load(book_file), "carol", grouped(address("bitcoin", "g")), "")
    assert added.entry.address == address("bitcoin", "g")


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (("evm",), ["anywhere", "base_only"]),
        (("evm", "Base"), ["anywhere", "base_only"]),
        (("evm", "ethereum"), ["anywhere"]),
        ((), ["anywhere", "base_only", "cold"]),
        (("sol",), []),
    ],
)
def test_names_by_kind_and_chain(
    chosen: tuple[str, ...], names: list[str], book_file: Path
) -> None:
    book = AddressBook.load(book_file)
    for name, kind, chain in (("anywhere", "evm", None), ("base_only", "evm", "base"), COLD):
        book.add(BookEntry(name, address(kind, name), kind, chain=chain))
    assert book.names(*chosen) == names


def test_an_added_entry_is_read_back_and_the_users_text_stays(book_file: Path) -> None:
    before = f'# my friends\n[ann]  # from school\naddress = "{EVM}"\nkind = "evm"'
    book = write(book_file, before)
    added = BookEntry(
        "rita", address("xrp", "r"), "xrp", memo="20117", note='an "exchange" \\ käse', own=False
    )
    book.add(added)
    assert book_file.read_text(encoding="utf-8").startswith(before)
    again = AddressBook.load(book_file)
    assert again.problems == ()
    assert again.entry("rita") == added
    assert again.names() == ["ann", "rita"]
    assert book_file.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in book_file.parent.iterdir()] == [book_file.name]


@each_row(
    ("entry", "said"),
    [
        (BookEntry("a b", EVM, "evm"), "letters, digits"),
        (BookEntry("", EVM, "evm"), "letters, digits"),
        (BookEntry("x" * 33, EVM, "evm"), "letters, digits"),
        (BookEntry("eve", EVM[:-1] + "f", "evm"), "checksum"),
        (BookEntry("eve", EVM, "bitcoin"), "Ethereum address"),
        (BookEntry("eve", EVM, "moon"), "kind is one of"),
        (BookEntry("eve", EVM, "evm", note="a\nb"), "U+000A"),
        (BookEntry("eve", EVM, "evm", note="\u202eevil"), "U+202E"),
        (BookEntry("eve", EVM, "evm", memo="1"), "has no memos"),
        (BookEntry("eve", address("ton", "t"), "ton", memo="a\tb"), "plain text"),
        (BookEntry("eve", address("xrp", "x"), "xrp", memo="many"), "digits only"),
        (BookEntry("Bob", EVM, "evm"), "already"),
    ],
)
def test_a_wrong_entry_is_not_written(entry: BookEntry, said: str, book_file: Path) -> None:
    book = write(book_file, f'[bob]\naddress = "{EVM}"\nkind = "evm"\n')
    before = book_file.read_bytes()
    with pytest.raises(AddressBookError, match=said.replace("+", r"\+")):
        book.add(entry)
    assert book_file.read_bytes() == before
    assert book.names() == ["bob"]


def test_a_wrong_entry_is_reported_with_file_and_line_and_left_out(book_file: Path) -> None:
    book = write(
        book_file,
        f'# book\n[good]\naddress = "{EVM}"\nkind = "evm"\n\n'
        f'[typo]\naddress = "{EVM[:-1]}f"\nkind = "evm"\n\n'
        f'[odd]\naddres = "{EVM}"\n\nloose = 3\n',
    )
    assert book.names() == ["good"]
    assert book.problems == (
        "address_book.toml, line 6: @typo: The checksum of this address is wrong. "
        "Copy it again from its source.",
        'address_book.toml, line 10: @odd: "addres" is not a field of an entry.',
    )
    assert write(book_file, "bob = 3").problems == (
        "address_book.toml, line 1: [bob] is not a table with an address.",
    )


KEPT = [
    'note = "the \U0001f468\u200d\U0001f469\u200d\U0001f467 next door"',
    'note = "rent\\t\\u202E and more"',
    'note = """two\nrows"""',
    'note = " blanks "',
    f'note = "{"long " * 60}"',
    "note = 5",
    "note = ['a', 'b']",
    "note = 2026-11-27",
    'own = "yes"',
    'colour = "red"',
    'e-mail = "bob@example.com"\n"since when" = 2026-11-27',
]


@each_row("more", KEPT)
def test_an_entry_is_not_lost_for_what_pays_nobody(more: str, book_file: Path) -> None:
    book = write(book_file, f'[zwj]\naddress = "{EVM}"\nkind = "evm"\n{more}\n')
    entry = book.entry("@zwj")
    assert (entry.address, entry.memo) == (EVM, None)
    assert entry.note.isprintable()
    assert len(entry.note) <= 100
    # What is no note is told, and a note is nobody's business.
    assert bool(book.problems) is not more.startswith("note")


def test_a_change_keeps_what_the_desk_does_not_know_of_an_entry(book_file: Path) -> None:
    more = 'note = "\U0001f468\u200d\U0001f469 \\u007F"\ncolour = "red"\n"since when" = 3\n'
    book = write(book_file, f'[zwj]\naddress = "{EVM.lower()}"\nkind = "evm"\n{more}')
    before = tomllib.loads(book_file.read_text(encoding="utf-8"))["zwj"]
    book.mark_own("zwj", True)
    book.rename("zwj", "family")
    after = tomllib.loads(book_file.read_text(encoding="utf-8"))["family"]
    assert after == {**before, "own": True}


@each_row(
    ("table", "said"),
    [
        (f'[odd]\naddress = "{EVM[:-1]}f"\nkind = "evm"', "line 1: @odd: The checksum"),
        (f'[odd]\naddress = "{EVM}"\nkind = "evm"\nmeno = "5"', '"meno" is not a field'),
        (f'[odd]\naddress = "{EVM}"\nkind = "evm"\nDestinationTag = 5', "is not a field"),
        (f'[odd]\naddress = "{EVM}"', "kind is one of"),
        ("odd = 5", "is not a table"),
        (f'["@odd"]\naddress = "{EVM}"\nkind = "evm"', "A name has up to 32 letters"),
        (
            f'[odd]\naddress = "{EVM}"\nkind = "evm"\n[Odd]\naddress = "{EVM}"\nkind = "evm"',
            "@odd is there twice",
        ),
    ],
)
def test_what_stands_in_the_file_is_not_said_to_be_missing(
    table: str, said: str, book_file: Path
) -> None:
    book = write(book_file, table + "\n")
    assert book.entry("odd") is None
    assert book.missing("@odd").startswith("@odd stands in the address book and cannot be used: ")
    assert said in book.missing("@odd")
    assert book.missing("@other") == "@other is not in the address book."
    for name, why in (("odd", "cannot be used"), ("nobody", "not in the address book")):
        with pytest.raises(AddressBookError, match=why):
            book.remove(name)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (f'[bob]\naddress = "{EVM}\nkind = "evm"\n'.encode(), "address_book.toml, line 2: "),
        (b"\xff\xfe[bob]", "address_book.toml cannot be read: "),
        (b"#" * (1 << 20) + b"##", "address_book.toml cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_and_left_alone(
    data: bytes, said: str, book_file: Path
) -> None:
    book_file.parent.mkdir(parents=True)
    book_file.write_bytes(data)
    book = AddressBook.load(book_file)
    assert (len(book), len(book.problems)) == (0, 1)
    assert book.problems[0].startswith(said)
    # Nobody is said to be missing from it.
    assert book.missing("@bob") == f"@bob cannot be looked up: {book.problems[0]}"
    with pytest.raises(AddressBookError, match="Nothing is added"):
        book.add(BookEntry("ann", EVM, "evm"))
    assert book_file.read_bytes() == data


def test_a_directory_in_the_place_of_the_file_is_reported(book_file: Path) -> None:
    book_file.mkdir(parents=True)
    assert len(AddressBook.load(book_file).problems) == 1


HAND = f"""# my people
[bob]  # the one from work
address = "{EVM}"
kind = "evm"
note = "rent"

# an exchange
[rita]
address = "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"
kind = "xrp"
memo = "7"
"""


def test_a_change_leaves_every_other_byte_of_the_file(book_file: Path) -> None:
    book = write(book_file, HAND)
    book.rename("@bob", "robert")
    text = book_file.read_text()
    assert text.startswith("# my people\n[robert]\n")
    assert text[text.index("\n# an exchange") :] == HAND[HAND.index("\n# an exchange") :]
    assert [entry.name for entry in book.entries()] == ["robert", "rita"]
    book.mark_own("rita", True)
    assert AddressBook.load(book_file).entry("rita") == book.entry("rita")
    assert tomllib.loads(book_file.read_text())["rita"]["own"] is True
    book.remove("robert")
    assert [entry.name for entry in AddressBook.load(book_file).entries()] == ["rita"]
    assert "# an exchange" in book_file.read_text()


@each_row(
    ("fresh", "said"),
    [("rita", "already"), ("a b", "A name has"), ("", "A name has"), ("x" * 33, "A name has")],
)
def test_a_name_that_cannot_be_is_no_name(book_file: Path, fresh: str, said: str) -> None:
    book = write(book_file, HAND)
    with pytest.raises(AddressBookError, match=said):
        book.rename("bob", fresh)
    assert book_file.read_text() == HAND


@each_row(
    "text",
    [
        f'bob = {{ address = "{EVM}", kind = "evm" }}\n',
        f'bob.address = "{EVM}"\nbob.kind = "evm"\n',
        f'[x]\naddress = "{EVM}"\nkind = "evm"\nnote = """\n[bob]\n"""\n'
        f'[bob]\naddress = "{EVM}"\nkind = "evm"\n',
    ],
)
def test_a_file_written_otherwise_is_left_to_its_owner(book_file: Path, text: str) -> None:
    book = write(book_file, text)
    with pytest.raises(AddressBookError, match="by hand"):
        book.remove("bob")
    assert book_file.read_text() == text
    assert book.entry("bob") is not None


OTHER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"


def test_what_was_changed_by_hand_meanwhile_is_never_written_back(book_file: Path) -> None:
    """A desk that read the file earlier would else send the next payment to the old address."""
    book = write(book_file, f'[bob]\naddress = "{EVM}"\nkind = "evm"\n')
    by_hand = f'[bob]\naddress = "{OTHER}"\nkind = "evm"\n'
    book_file.write_text(by_hand, encoding="utf-8")
    for change in (
        lambda: book.mark_own("bob", True),
        lambda: book.rename("bob", "rob"),
        lambda: book.remove("bob"),
    ):
        with pytest.raises(AddressBookError, match="changed since"):
            change()
    assert book_file.read_text(encoding="utf-8") == by_hand


def test_a_name_that_another_desk_wrote_meanwhile_is_not_written_twice(book_file: Path) -> None:
    one, other = AddressBook.load(book_file), AddressBook.load(book_file)
    one.add(BookEntry("bob", EVM, "evm"))
    with pytest.raises(AddressBookError, match="in the address book already"):
        other.add(BookEntry("bob", OTHER, "evm"))
    other.add(BookEntry("rob", OTHER, "evm"))
    again = AddressBook.load(book_file)
    assert again.problems == ()
    assert again.names() == ["bob", "rob"]


def test_nothing_is_added_to_a_file_that_became_unreadable(book_file: Path) -> None:
    book = write(book_file, f'[bob]\naddress = "{EVM}"\nkind = "evm"\n')
    book_file.write_text("[bob\n", encoding="utf-8")
    with pytest.raises(AddressBookError, match="Nothing is added"):
        book.add(BookEntry("rob", OTHER, "evm"))
    assert book_file.read_text(encoding="utf-8") == "[bob\n"
