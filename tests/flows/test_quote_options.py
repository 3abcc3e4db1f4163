"""Options as typed, kept under a name, and as parameters of a call: both sides of every bound."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.test_recipients import BTC, ETH
from swapdesk.flows.quotes.quote_presets import QuotePresets, read_options, written_options
from swapdesk.flows.quotes.quote_request import (
    PLAIN,
    LegFilter,
    QuoteOptions,
    QuoteRequest,
    Rotation,
    WishRefused,
    cost_in_words,
    options_in_words,
)
from swapdesk.wire.encoding.query import encode_query
from swapdesk.wire.quotes import RouteType

CODES = st.lists(st.from_regex(r"[a-z]{2,4}", fullmatch=True), unique=True, max_size=4)


@st.composite
def all_options(draw: st.DrawFn) -> QuoteOptions:
    fixed = draw(st.booleans())
    legs = draw(CODES)
    cut = draw(st.integers(0, len(legs)))
    percent = st.decimals(0, 4, places=2)
    return QuoteOptions(
        fixed=fixed,
        floating=not fixed or draw(st.booleans()),
        types=draw(st.sampled_from([(), (RouteType.STANDARD,)])),
        providers=tuple(draw(CODES)),
        markup=draw(st.one_of(st.none(), percent)),
        use_xmr=draw(st.sampled_from([None, True])),
        rotation=draw(
            st.one_of(st.none(), st.builds(Rotation, percent, st.integers(1, 100), st.booleans()))
        ),
        in_leg=LegFilter(tuple(legs[:cut]), tuple(legs[cut:])),
    )


@given(all_options())
def test_what_is_written_is_read_as_it_was(options: QuoteOptions) -> None:
    assert read_options(written_options(options)) == options


@pytest.mark.parametrize(
    ("texts", "field"),
    [
        ({"rates": "cheap"}, "rates"),
        ({"types": "bridge"}, "types"),
        ({"markup": "4.01"}, "markup"),
        ({"markup": "-1"}, "markup"),
        ({"markup": "1", "types": "dex"}, "markup"),
        ({"providers": "aa aa"}, "providers"),
        ({"providers": "aa", "types": "private"}, "providers"),
        ({"providers": "é"}, "providers"),
        ({"in leg": "aa -aa"}, "in leg"),
        ({"out leg": "-"}, "out leg"),
        ({"rotation": "0"}, "rotation"),
        ({"rotation": "101"}, "rotation"),
        ({"rotation": "100.01%"}, "rotation"),
        ({"xmr": "no"}, "xmr"),
        ({"slippage": "51"}, "slippage"),
        ({"slippage": "0.3", "rates": "fixed"}, "slippage"),
        ({"slippage": "0.3", "types": "standard"}, "slippage"),
        ({"account": "two words"}, "account"),
    ],
)
def test_a_wrong_text_is_named(texts: dict[str, str], field: str) -> None:
    with pytest.raises(WishRefused) as refused:
        read_options(texts)
    assert refused.value.field == field


def test_the_last_values_inside_the_bounds_are_taken() -> None:
    options = read_options({"markup": "4", "rotation": "100 100% strict"})
    assert options.markup == 4
    assert options.rotation == Rotation(Decimal(100), 100, fallback=False)
    assert read_options({"markup": "0", "rotation": "1 0%"}).rotation == Rotation(
        Decimal(0), 1, fallback=True
    )


def test_plain_options_send_nothing_but_the_question() -> None:
    wish = QuoteRequest(BTC, ETH, Decimal("0.5"))
    sent = dict(encode_query(wish.query(fixed=False)))
    assert sent == {"amount": "0.5", "from": BTC.id, "to": ETH.id}
    assert (wish.cost, cost_in_words(wish), options_in_words(wish)) == (1, "1 quote", "")


def test_every_option_is_a_parameter_of_its_name() -> None:
    options = QuoteOptions(
        fixed=True,
        types=(RouteType.STANDARD, RouteType.PRIVATE),
        providers=("aa", "bb"),
        markup=Decimal("0.5"),
        use_xmr=True,
        rotation=Rotation(Decimal(7), 3, fallback=True),
        in_leg=LegFilter(("cc",), ("dd",)),
        out_leg=LegFilter((), ("ee", "ff")),
    )
    wish = QuoteRequest.of(options, BTC, ETH, Decimal(1))
    assert cost_in_words(wish) == "2 quotes"
    sent = encode_query(wish.query(fixed=True))
    assert sorted(sent) == sorted(
        [
            ("amount", "1"), ("from", BTC.id), ("to", ETH.id), ("types", "standard"),
            ("types", "private"), ("fixed", "true"), ("markup", "0.5"), ("useXmr", "true"),
            ("swaps", "aa"), ("swaps", "bb"), ("rotatePayoutWallets", "true"),
            ("deviationThreshold", "7"), ("rotationLookback", "3"), ("rotateFallback", "true"),
            ("inLegIncludedSwaps", "cc"), ("inLegExcludedSwaps", "dd"),
            ("outLegExcludedSwaps", "ee"), ("outLegExcludedSwaps", "ff"),
        ]
    )  # fmt: skip
    reverse = dict(encode_query(QuoteRequest(BTC, ETH, Decimal(2), receive=True).query(fixed=True)))
    assert (reverse["amountType"], reverse["fixed"]) == ("receive", "true")
    private = QuoteRequest.of(options, ETH, ETH, Decimal(1), private_send=True)
    assert private.providers == ()
    names = {name for name, _ in encode_query(private.private_send_query(fixed=True))}
    assert "types" not in names
    assert "swaps" not in names


def test_contradictions_of_a_wish_are_refused() -> None:
    with pytest.raises(WishRefused, match="states what is sent"):
        QuoteRequest(ETH, ETH, Decimal(1), receive=True, private_send=True)
    with pytest.raises(WishRefused, match="no fixed rate"):
        QuoteRequest(BTC, ETH, Decimal(1), receive=True, types=(RouteType.DEX,))
    with pytest.raises(WishRefused, match="or both"):
        QuoteOptions(floating=False)


def test_presets_are_kept_by_name_and_a_bad_file_is_as_good_as_none(tmp_path: Path) -> None:
    presets = QuotePresets(tmp_path / "quote_presets.json")
    options = QuoteOptions(providers=("aa",), markup=Decimal(1))
    presets.put("Mine", options)
    presets.put("other-1", PLAIN)
    assert presets.names() == ["mine", "other-1"]
    assert presets.find("MINE") == options
    assert presets.find("nobody") is None
    for name in ("", "a b", "x" * 25, "-a"):
        with pytest.raises(WishRefused):
            presets.put(name, options)
    presets.path.write_text('{"mine": {"markup": "5"}, "odd": 3, "new": {"colour": "red"}}')
    assert presets.names() == ["mine"]
    assert presets.find("mine") is None
    presets.path.write_text("[" * 100_000)
    assert presets.names() == []


def test_slippage_and_account_go_with_routes_on_chains_alone() -> None:
    """They are kept as typed, sent where they count, and never with what they cannot mean."""
    texts = {"slippage": "0.3", "account": "trading"}
    options = read_options(texts)
    assert (options.slippage, options.account) == (Decimal("0.3"), "trading")
    assert written_options(options) == texts
    assert options_in_words(options) == "slippage 0.3%, paid by trading"
    assert read_options({"slippage": "auto"}).slippage is None
    wish = QuoteRequest.of(options, BTC, ETH, Decimal(1), sender="0xme")
    sent = dict(encode_query(wish.query(fixed=False)))
    assert (sent["slippage"], sent["senderAddress"]) == ("0.3", "0xme")
    assert "slippage" not in dict(encode_query(wish.query(fixed=True)))
    private = QuoteRequest.of(options, ETH, ETH, Decimal(1), private_send=True)
    assert (private.slippage, private.account) == (None, "")
    other = wish.with_options(replace(options, account="second"))
    assert other.sender is None, "another account is another sender"
    assert wish.with_options(replace(options, slippage=Decimal(1))).sender == "0xme"
    with pytest.raises(WishRefused, match="alone"):
        QuoteRequest.of(options, BTC, ETH, Decimal(1), receive=True)


def test_providers_are_told_by_their_names() -> None:
    options = QuoteOptions(
        providers=("hy", "zz"), in_leg=LegFilter(only=("hy",)), out_leg=LegFilter(without=("hy",))
    )
    names = {"hy": "Halyard"}
    assert options_in_words(options, names.get) == (
        "only Halyard, zz, first leg only Halyard, second leg without Halyard"
    )
