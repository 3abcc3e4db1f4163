"""A review as a screen writes it."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from flows.signing import GROUPED, ORDER, line, refused, review
from swapdesk.flows.signing.review_words import (
    Names,
    digest_groups,
    match_count,
    match_rows,
    moved,
    objections,
    unmatched,
)
from swapdesk.wallet.review import BalanceChange, Match, Severity, Simulation

NAMES = Names("trading", "is", "Isthmus", "ETH", "Ethereum")


def promised(field: str, **changes: object) -> str:
    rows = match_rows(replace(review(), **changes), NAMES)  # type: ignore[arg-type]
    return next(one.promised for one in rows if one.field == field)


def test_a_promise_that_repeats_is_said_shorter() -> None:
    assert promised("Paid to") == "wallet trading"
    assert promised("You sell") == "the same"
    assert promised("Chain") == "node and key agree"
    (chain,) = [one for one in match_rows(review(), NAMES) if one.field == "Chain"]
    assert chain.signed == "Ethereum, id 1337000001"
    assert promised("Contract") == "a contract of Isthmus"
    assert promised("You get") == "0.300331 WETH less 0.50%"
    assert promised("Nonce") == "the next unused one"


def test_a_version_stands_with_its_name() -> None:
    named = line("Signed for", "Isthmus Settlement", "as the contract says")
    version = line("Version", "2", "as the contract says")
    (row,) = match_rows(review(lines=(named, version)), NAMES)
    assert row.signed == "Isthmus Settlement, version 2"
    said = match_count(review(lines=(named, version)))
    assert said == "1 of 1 field agrees. None contradicts the quote.", "as many as are drawn"
    other = line("Version", "3", "as the contract says", Match.DIFFERS)
    assert len(match_rows(review(lines=(named, other)), NAMES)) == 2


def test_only_what_is_equal_is_said_shorter() -> None:
    row = next(one for one in match_rows(refused(), NAMES) if one.field == "Paid to")
    assert row.match is Match.DIFFERS
    assert row.promised == GROUPED
    assert row.signed != GROUPED


def test_an_own_account_is_called_by_its_name_where_the_promise_names_it() -> None:
    smart = "0x 8EC8 F69f B2fF 0284 f75a 2652 9dc1 7cF5 c5f8 6FFc"
    mint = "EPjF Wdd5 Aufq SSqe M2qN 1xzy bapC 8G4w EGGk ZwyT Dt1v"
    whose = f"the smart account of {GROUPED}"
    lines = (line("Paid to", smart, whose), line("Token sold", mint, f"USDC {mint}"))
    rows = match_rows(review(lines=lines), NAMES)
    assert [one.promised for one in rows] == ["the smart account of trading", "USDC"]
    (differs,) = match_rows(review(lines=(line("Paid to", smart, whose, Match.DIFFERS),)), NAMES)
    assert differs.promised == whose


PARTS = tuple(
    line(f"Permit signature {part}", signed, "the permit that you signed for this swap")
    for part, signed in (("v", "28"), ("r", "0x d676"), ("s", "0x 253d"))
)
UNTIL = line("Permit until", "15:04:33, 19m 25s", "24h at most")


def test_a_permit_that_was_signed_before_is_one_row() -> None:
    rows = match_rows(review(lines=(ORDER[0], UNTIL, *PARTS, ORDER[1])), NAMES)
    (permit,) = (one for one in rows if one.field == "Permit")
    assert permit.signed == "the one you signed for this swap, until 15:04:33"
    assert (permit.match, permit.promised) == (Match.EQUAL, "24h at most")
    assert [one.field for one in rows] == [ORDER[0].field, "Permit", ORDER[1].field]
    said = match_count(review(lines=(ORDER[0], UNTIL, *PARTS, ORDER[1])))
    assert said.startswith("3 of 3 fields agree")
    # Where nothing had to be permitted that is said, and what is of no permit keeps its fields.
    empty = tuple(replace(one, promised="none: you allowed the token before") for one in PARTS)
    (row,) = match_rows(review(lines=empty), NAMES)
    assert (row.signed, row.promised) == ("none", "you allowed the token before")
    forged = (PARTS[0], replace(PARTS[1], match=Match.DIFFERS), PARTS[2])
    assert len(match_rows(review(lines=(*forged, UNTIL)), NAMES)) == 4


def test_the_coin_of_the_chain_has_its_name() -> None:
    gas = line("Gas", "at most 0.1 of the chain's coin", "0.2 of the chain's coin at most")
    (row,) = match_rows(review(lines=(gas,)), NAMES)
    assert (row.signed, row.promised) == ("at most 0.1 ETH", "0.2 ETH")


def test_fields_are_counted_and_named() -> None:
    said = match_count(review())
    assert said == ("10 of 11 fields agree, 1 is not in the quote: App data. None contradicts it.")
    assert unmatched(review()) == ("App data",)
    assert match_count(refused()).endswith(
        "1 is not in the quote: App data. Paid to contradicts it."
    )
    (said,) = objections(refused(), Severity.REFUSE)
    assert said == "It pays another address than yours. Rule RECIPIENT_DIFFERS."


def test_what_moves_is_told_by_holder() -> None:
    yours, other = moved(review(), NAMES)
    assert yours.yours
    assert [f"{amount:f} {symbol}" for amount, symbol in yours.amounts] == [
        "-1000 USDC",
        "0.300331 WETH",
    ]
    assert not other.yours
    assert moved(review(simulation=None), NAMES) == ()


def test_the_coin_that_moves_is_told_in_whole_coins() -> None:
    fee = BalanceChange(review().account, "?", None, None, -46_968_337_726_439)
    (yours,) = moved(review(simulation=Simulation(1, (fee,), 21_000)), NAMES)
    ((amount, symbol),) = yours.amounts
    assert (f"{amount:f}", symbol) == ("-0.000046968337726439", "ETH")
    unknown = BalanceChange(review().account, "?", "0x" + "1" * 40, None, 7)
    (yours,) = moved(review(simulation=Simulation(1, (unknown,), 21_000)), NAMES)
    assert yours.amounts == ((Decimal(7), "units of ?"),)


def test_a_digest_stands_whole_in_two_rows() -> None:
    first, second = digest_groups(review().digest)
    assert f"{first} {second}".replace(" ", "") == review().digest
    assert len(first.split()) == 9


def test_fields_of_several_payments_are_named_once() -> None:
    lines = [line(f"Decimals ({at})", "6", "", Match.UNMATCHED) for at in (1, 2, 3)]
    lines += [line("Memo (4)", "x", "", Match.UNMATCHED), line("App data", "", "", Match.UNMATCHED)]
    said = match_count(review(lines=tuple(lines)), "group")
    assert "5 are not in the group: Decimals (3 times), Memo (4), App data." in said
