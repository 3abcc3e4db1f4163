"""What bad input, a bad service and one that lies get: the code, the reason, and nothing created or
nowhere an address to pay; and what options of quotes ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.desks import Desk
from cli.lying_service import Rewrite, rewriting_service
from harness import Result
from rows import each_row
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.quotes.quote_request import QuoteOptions, QuotePresets
from swapdesk.sandbox.world import find_token
from swapdesk.wire.choices import RouteType

ETH = derive_address("evm", b"a wallet of the tests".ljust(32))
BTC = derive_address("bitcoin", b"a wallet of the tests".ljust(32))
XRP = derive_address("xrp", b"a wallet of the tests".ljust(32))
CONTRACT = find_token("ethereum", "USDC").address
# Off the curve, as every token account of Solana.
TOKEN_ACCOUNT = "9yBYCtnWi87UWjgXrGsEFgnmDejXWieHVT9JSsQawdjK"


PAIR = ("btc.bitcoin", "eth.ethereum")
QUOTE = ("quote", "0.1", *PAIR)


def order_ids(desk: Desk) -> set[str]:
    listed = desk.made("orders", "list")
    return {order["serviceId"] for order in listed["orders"]}


def refused(result: Result, code: int, name: str) -> dict[str, object]:
    assert (result.code, result.error["code"]) == (code, name), result
    return result.error


def swap(desk: Desk, amount: str, sell: str, buy: str, to: str, *more: str) -> Result:
    return desk("swap", amount, sell, buy, "--to", to, "--yes", "--json", *more)


CASES = [
    # tokens
    (("0.1", "btc", "eth.ethereum", ETH), 2, "AMBIGUOUS_TOKEN"),
    (("0.1", "nosuchtoken", "eth.ethereum", ETH), 5, "TOKEN_NOT_FOUND"),
    (("100", "dai.polygon", "eth.ethereum", ETH), 9, "TOKEN_DISABLED"),
    # amounts
    (("0", "btc.bitcoin", "eth.ethereum", ETH), 2, "BAD_AMOUNT"),
    (("0.123456789", "btc.bitcoin", "eth.ethereum", ETH), 2, "BAD_AMOUNT"),
    (("0.00000001", "btc.bitcoin", "eth.ethereum", ETH), 4, None),
    # recipients: which addresses and memos are none, ``tests/flows/test_recipients.py``
    (("0.1", "btc.bitcoin", "eth.ethereum", BTC), 2, "BAD_RECIPIENT"),
    # Before a quote, of which there would be none.
    (("0.00000001", "btc.bitcoin", "eth.ethereum", BTC), 2, "BAD_RECIPIENT"),
    (("0.00000001", "btc.bitcoin", "eth.ethereum", ETH, "--refund", ETH), 2, "BAD_REFUND_ADDRESS"),
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--refund", ETH), 2, "BAD_REFUND_ADDRESS"),
    (("0.1", "btc.bitcoin", "eth.ethereum", str(CONTRACT)), 2, "BAD_RECIPIENT"),
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--refund-memo", "7"), 2, "BAD_REFUND_MEMO"),
    (
        ("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--refund", BTC, "--refund-memo", "7"),
        2,
        "BAD_REFUND_MEMO",
    ),
    (("0.1", "btc.bitcoin", "xrp.xrp", XRP), 2, "BAD_MEMO"),
    # routes
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--provider", "nobody"), 2, "NO_SUCH_PROVIDER"),
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--quote", "0" * 24), 5, "QUOTE_NOT_FOUND"),
    # Kestrel keeps 1.5 %, more than prices move while those of the list age.
    (
        ("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--provider", "kestrel", "--max-loss", "0"),
        3,
        "MAX_LOSS",
    ),
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--min-out", "1000"), 3, "MIN_OUT"),
]


def malicious(desk: Desk) -> str:
    """The id of a token that is."""
    tokens = desk.made("tokens", "--limit", "20000")["tokens"]
    return next(
        str(one["id"]) for one in tokens if one["verdict"] == "malicious" and one["enabled"]
    )


def lookalike(desk: Desk) -> str:
    """An address that begins and ends as one of the book, which the first command lays."""
    book = (desk.home / "profiles" / "sandbox" / "address_book.toml").read_text()
    bob = next(line.split('"')[1] for line in book.splitlines() if line.startswith("address"))
    other = derive_address("evm", b"somebody else".ljust(32))
    return (bob[:8] + other[8:-6] + bob[-6:]).lower()


def test_bad_input_is_refused_and_creates_nothing(desk: Desk, subtests: pytest.Subtests) -> None:
    before, bad = order_ids(desk), malicious(desk)
    of_this_home = [
        (("0.1", "btc.bitcoin", bad, ETH), 9, "TOKEN_REFUSED"),
        (("0.1", "btc.bitcoin", "eth.ethereum", lookalike(desk)), 9, "LOOKALIKE_ADDRESS"),
    ]
    for arguments, code, name in (*CASES, *of_this_home):
        with subtests.test(arguments=arguments):
            result = swap(desk, *arguments)
            assert result.code == code, result
            assert name is None or result.error["code"] == name
            assert result.stdout == ""
            assert result.error["money"] == "in your wallet; nothing was sent" or code == 4
    assert order_ids(desk) == before
    assert "malicious. It cannot be chosen." in desk("quote", "0.1", "btc.bitcoin", bad).stderr


def test_an_ambiguous_symbol_lists_what_can_be_written(desk: Desk) -> None:
    error = refused(desk("quote", "5", "usdc", "eth.ethereum", "--json"), 2, "AMBIGUOUS_TOKEN")
    assert "USDC.base" in str(error["message"])
    for spec in error["fields"]["from"]["candidates"]:
        assert spec.lower().startswith("usdc.") or len(spec) == 24


XRP_TO = ("0.1", "btc.bitcoin", "xrp.xrp")
RITA = "This is not the tag of @rita: 20117."
DOUBTED = [
    (("0.1", "btc.bitcoin", "btc.bsc", ETH), "TOKEN_WARNING", "The service says", {}),
    ((*XRP_TO, "@rita", "--memo", "20118"), "MEMO_WARNING", RITA, {"receiverTag": "20118"}),
    ((*XRP_TO, "@rita", "--waive-memo", "NO MEMO"), "MEMO_WARNING", RITA, {"receiverTag": None}),
    (
        ("0.5", "eth.ethereum", "usdc.solana", TOKEN_ACCOUNT),
        "ADDRESS_WARNING",
        "Only that program can move what it gets.",
        {"receiverAddress": TOKEN_ACCOUNT},
    ),
    (
        ("0.5", "sol.solana", "eth.ethereum", ETH, "--refund", TOKEN_ACCOUNT, "--fixed"),
        "ADDRESS_WARNING",
        "Only that program can move what it gets.",
        {"refundAddress": TOKEN_ACCOUNT},
    ),
]


@pytest.mark.parametrize(("named", "code", "said", "kept"), DOUBTED)
def test_what_is_doubted_needs_consent(
    desk: Desk, named: tuple[str, ...], code: str, said: str, kept: dict[str, str | None]
) -> None:
    error = refused(swap(desk, *named), 9, code)
    assert said in str(error["message"])
    dry = desk("swap", *named[:3], "--to", *named[3:], "--dry-run", "--json")
    assert any(said in line for line in dry.document["checks"])
    consented = swap(desk, *named, "--accept-warnings")
    assert said in consented.stderr
    order = consented.document["order"]
    assert {name: order[name] for name in kept} == kept


def test_a_memo_comes_with_a_name_or_a_link(desk: Desk) -> None:
    known = swap(desk, "0.1", "btc.bitcoin", "xrp.xrp", "@rita")
    assert known.document["order"]["receiverTag"] == "20117"
    linked = swap(desk, "0.1", "btc.bitcoin", "xrp.xrp", f"ripple:{XRP}?amount=20&dt=777")
    assert linked.document["order"]["receiverTag"] == "777"
    assert linked.document["order"]["receiverAddress"] == XRP
    assert "The link asks for 20 XRP, and " in linked.stderr


def test_a_loss_nobody_knows_is_not_accepted_silently(desk: Desk) -> None:
    pair = ("0.1", "btc.bitcoin", "krill.base", ETH)
    for more in ((), ("--max-loss", "100")):
        error = refused(swap(desk, *pair, *more), 3, "MAX_LOSS")
        assert "not known" in str(error["message"])
    assert swap(desk, *pair, "--max-loss", "any").code == 0


def test_shown_quotes_are_kept_privately(desk: Desk) -> None:
    shelf = desk.home / "profiles" / "sandbox" / "quotes.json"
    assert desk("quote", "0.1", "btc.bitcoin", "eth.ethereum").code == 0
    assert shelf.stat().st_mode & 0o077 == 0
    shelf.write_text("{")
    pair = ("0.1", "btc.bitcoin", "eth.ethereum", ETH)
    refused(swap(desk, *pair, "--quote", "0" * 24), 5, "QUOTE_NOT_FOUND")
    board = desk("quote", "0.1", "btc.bitcoin", "eth.ethereum", "--json").document
    quote = board["quotes"][0]["quoteId"]
    taken = swap(desk, *pair, "--quote", quote)
    assert taken.code == 0, taken
    # A quote makes one order: for another recipient it is used up.
    other = derive_address("evm", b"another wallet".ljust(32))
    again = swap(desk, *pair[:3], other, "--quote", quote)
    assert (again.code, again.error["status"]) == (4, 422), again


def test_a_quote_that_ended_or_is_for_something_else(desk: Desk) -> None:
    board = desk("quote", "0.1", "btc.bitcoin", "eth.ethereum", "--json").document
    quote = board["quotes"][0]["quoteId"]
    other = swap(desk, "0.2", "btc.bitcoin", "eth.ethereum", ETH, "--quote", quote)
    refused(other, 2, "QUOTE_DIFFERS")
    desk.sandbox.control("POST", "/clock", {"advance": 61})
    ended = swap(desk, "0.1", "btc.bitcoin", "eth.ethereum", ETH, "--quote", quote)
    refused(ended, 9, "QUOTE_EXPIRED")


def test_the_service_refuses(desk: Desk) -> None:
    body = json.dumps({"quoteId": "0" * 24, "addressTo": ETH})
    result = desk("api", "POST", "/exchanges", "-d", body, "--yes", "--json")
    error = refused(result, 4, "INVALID_SWAP")
    assert (error["status"], bool(error["requestId"])) == (422, True)
    wrong = desk("api", "GET", "/tokens", "-q", "pageSize=0", "--json")
    error = refused(wrong, 4, "VALIDATION_ERROR")
    assert error["fields"]["pageSize"]["message"]


def test_read_only_access_cannot_create(desk: Desk, tmp_path: Path) -> None:
    partner = desk.sandbox.partner()
    reader = Desk(
        desk.sandbox,
        tmp_path,
        {
            "SWAPDESK_API_URL": desk.sandbox.ready["url"],
            "SWAPDESK_PARTNER_ID": partner["partnerId"],
        },
    )
    result = swap(reader, "0.1", "btc.bitcoin", "eth.ethereum", ETH)
    refused(result, 9, "READ_ONLY")
    assert reader("quote", "0.1", "btc.bitcoin", "eth.ethereum", "--json").code == 0


NONE = "doesnotexist1234567890"
UNASKED = "where the service has this order; it could not be asked"


@pytest.mark.parametrize(
    ("asked", "fault", "code", "name", "said"),
    [
        (("orders", "show", NONE), None, 5, "NOT_FOUND", ""),
        (("orders", "watch", NONE), None, 5, "NOT_FOUND", ""),
        (("tokens", "zzzzzzzz"), None, 5, "TOKEN_NOT_FOUND", ""),
        (("api", "GET", "/nothing"), None, 2, "REQUEST_REFUSED", ""),
        (QUOTE, ("rate_limited", "get_quotes", 1), 6, "RATE_LIMIT_EXCEEDED", 429),
        (QUOTE, ("http_500", "get_quotes"), 7, "INTERNAL_SERVER_ERROR", 500),
        (("api", "GET", "/swaps"), ("garbage", "list_swaps"), 7, "ANSWER_NOT_JSON", "text/html"),
        (("orders", "show", NONE), ("http_503", "get_order"), 7, "SERVICE_UNAVAILABLE", UNASKED),
    ],
)
def test_what_the_service_does_not_answer_has_its_exit_code(
    desk: Desk, asked: tuple[str, ...], fault: tuple[Any, ...] | None, code: int, name: str,
    said: object,
) -> None:  # fmt: skip
    if fault is not None:
        kind, operation, *seconds = fault
        lasting = {"seconds": seconds[0]} if seconds else {}
        desk.sandbox.fault(kind, operation=operation, times=20, **lasting)
    result = desk(*asked, "--json")
    error = refused(result, code, name)
    assert result.stdout == ""
    assert str(said) in str(error)


def test_a_service_that_is_not_there_cannot_be_reached(desk: Desk, tmp_path: Path) -> None:
    nowhere = Desk(
        desk.sandbox,
        tmp_path,
        {
            "SWAPDESK_API_URL": "http://127.0.0.1:9/v2",
            "SWAPDESK_API_KEY": "k",
            "SWAPDESK_API_SECRET": "s",
        },
    )
    refused(nowhere("chains", "--json"), 7, "NOT_REACHABLE")


def test_a_lost_answer_is_found_again_and_not_sent_twice(desk: Desk) -> None:
    before = order_ids(desk)
    desk.sandbox.fault("lost_response", operation="create_exchange")
    result = swap(desk, "0.1", "btc.bitcoin", "eth.ethereum", ETH)
    assert result.code == 0, result
    assert result.document["foundAgain"] is True
    assert "It was not created twice." in result.stderr
    assert order_ids(desk) - before == {result.document["serviceId"]}


@pytest.mark.parametrize("fault", ["lost_response", "garbage"])
def test_an_unknown_outcome_is_in_the_journal(desk: Desk, tmp_path: Path, fault: str) -> None:
    board = desk("quote", "0.1", "btc.bitcoin", "eth.ethereum", "--json").document
    body = json.dumps({"quoteId": board["quotes"][0]["quoteId"], "addressTo": ETH})
    file = tmp_path / "body.json"
    file.write_text(f"\ufeff{body}")
    desk.sandbox.fault(fault, operation="create_exchange")
    result = desk("api", "POST", "/exchanges", "-d", f"@{file}", "--yes", "--json")
    error = refused(result, 8, "OUTCOME_UNKNOWN")
    assert (result.stdout, bool(error["next"])) == ("", True)
    assert "it may have created an order" in desk("orders", "list").stderr


def test_orders_are_listed_by_the_journal_where_the_service_is_not_available(desk: Desk) -> None:
    desk.sandbox.fault("http_503", operation="list_orders", times=20)
    listed = desk("orders", "list")
    assert listed.code == 0
    assert "The service is not available. This is what the journal knows." in listed.stderr


def test_funding_is_for_the_sandbox(other_desk: Desk) -> None:
    result = swap(other_desk, "0.1", "btc.bitcoin", "eth.ethereum", ETH, "--fund")
    refused(result, 2, "SANDBOX_ONLY")


@pytest.mark.parametrize(
    ("fault", "status", "money"),
    [("expire", "EXPIRED", "in your wallet"), ("fail_after_deposit", "FAILED", "with the service")],
)
def test_an_order_that_ends_otherwise(desk: Desk, fault: str, status: str, money: str) -> None:
    name = swap(desk, "0.1", "btc.bitcoin", "eth.ethereum", ETH).document["serviceId"]
    desk.sandbox.fault(fault, serviceId=name)
    if status == "FAILED":
        desk.sandbox.control("POST", "/deposits", {"serviceId": name})
    watched = desk("orders", "watch", name, "--json")
    assert watched.code == 10, watched
    told = watched.documents[-1]
    assert (told["displayStatus"], told["deposit"]) == (status, None)
    assert money in told["money"]
    waited = desk("orders", "watch", name, "--json", "--until", "refunded", "--timeout", "1")
    refused(waited, 3, "TIMEOUT")


THEIR_BTC = derive_address("bitcoin", b"theirs".ljust(32))


def swap_at(desk: Desk, rewrite: Rewrite, *more: str) -> tuple[Result, Result]:
    """What the create ended with, and the order as shown afterwards."""
    with rewriting_service(desk.sandbox.ready["url"], rewrite) as url:
        desk.environ["SWAPDESK_API_URL"] = url
        created = desk("swap", *QUOTE[1:], "--to", ETH, "--yes", "--json", *more)
        assert created.stdout, created
        return created, desk("orders", "show", created.document["serviceId"], "--json")


def answers(name: str, value: Any, on: str = "") -> Rewrite:
    """A service that says ``value`` of each order, or what that makes of what is so."""

    def rewrite(method: str, path: str, status: int, body: bytes) -> bytes:
        about_order = path.startswith(("/v2/exchanges", "/v2/orders/"))
        if status != 200 or not (about_order and path.startswith(on)):
            return body
        answer = json.loads(body)
        answer[name] = value(answer[name]) if callable(value) else value
        return json.dumps(answer).encode()

    return rewrite


SWAP = ("swap", *QUOTE[1:], "--to", ETH, "--yes", "--json")
BY_WALLET = ("swap", "20", "usdc.base", "weth.base", "--yes")
REFUSED = {
    2: [
        (SWAP, ("--fixed",), "refund"),
        (SWAP, ("--receive",), "refund"),
        (SWAP, ("--markup", "4.01"), "markup"),
        (SWAP, ("--deviation", "5"), "rotate"),
        (SWAP, ("--rotate", "--lookback", "0"), "lookback"),
        (SWAP, ("--rotate", "--deviation", "100.01"), "deviation"),
        (SWAP, ("--in-leg", "aa", "--in-leg", "aa"), "in-leg"),
        (SWAP, ("--min-out", "1,5"), "min-out"),
        (SWAP, ("--middle-refund", ETH), "middle-refund"),
        (SWAP, ("--fixed", "--refund", BTC, "--quote", "a" * 24), "quote"),
        (SWAP, ("--memo", "1", "--waive-memo", "NO MEMO"), "waive-memo"),
        (SWAP, ("--preset", "mine", "--markup", "1"), "preset"),
        (SWAP, ("--preset", "mine", "--type", "private"), "preset"),
        (SWAP, ("--preset", "mine", "--quote", "a" * 24), "quote"),
        (SWAP, ("--slippage", "1"), "slippage"),
        (SWAP, ("--account", "trading"), "account"),
        (QUOTE, ("--both", "--receive"), "both"),
        (QUOTE, ("--markup", "5"), "markup"),
        (QUOTE, ("--provider", "aa", "--type", "private"), "providers"),
        (QUOTE, ("--provider", "aa", "--provider", "aa"), "providers"),
        (QUOTE, ("--preset", "mine", "--fixed"), "preset"),
        (QUOTE, ("--slippage", "50.1"), "BAD_OPTION"),
        (QUOTE, ("--slippage", "-1"), "USAGE"),
        (QUOTE, ("--slippage", "much"), "USAGE"),
        (BY_WALLET, (), "USAGE"),
        (BY_WALLET, ("--type", "dex", "--fund"), "fund"),
        (("sign", "a" * 24), (), "NEEDS_DRY_RUN"),
    ],
    5: [
        (SWAP, ("--preset", "mine"), "preset"),
        (QUOTE, ("--preset", "mine"), "preset"),
        (BY_WALLET, ("--type", "dex", "--account", "nobody"), "NO_ACCOUNT"),
        (("sign", "a" * 24), ("--dry-run",), "QUOTE_NOT_FOUND"),
    ],
}


@each_row(
    ("end", "line", "options", "said"),
    [(end, *row) for end, rows in REFUSED.items() for row in rows],
)
def test_what_cannot_work_is_refused_before_a_quote_is_spent(
    desk: Desk, end: int, line: tuple[str, ...], options: tuple[str, ...], said: str
) -> None:
    refused = desk(*line, *options, "--json")
    assert refused.code == end, refused
    assert said in (refused.error["code"], *refused.error["fields"]), refused.error


def test_a_provider_that_does_not_take_the_amount_says_what_it_takes(desk: Desk) -> None:
    quoted = desk(*QUOTE, "--json").document
    small = next(one for one in quoted["unusable"] if "below minimum" in one["reason"])
    refused = desk(*SWAP, "--provider", small["swap"])
    assert (refused.code, refused.error["code"]) == (4, "NO_USABLE_ROUTE")
    assert small["reason"] in refused.error["message"]
    assert refused.error["next"] == "you: change the amount or the tokens"


LESS = answers("outAmount", lambda amount: amount * 0.9)


def test_less_than_quoted_is_accepted_down_to_the_least(other_desk: Desk) -> None:
    created, shown = swap_at(other_desk, LESS, "--min-out", "0.5")
    assert created.code == 0, created
    assert created.document["deposit"] == shown.document["deposit"]
    assert created.document["deposit"] is not None
    assert "less than its quote. That is not below --min-out." in created.stderr


def test_less_than_the_least_stays_hidden(other_desk: Desk) -> None:
    created, _ = swap_at(other_desk, LESS, "--min-out", "2.8")
    assert (created.code, created.error["code"]) == (9, "ORDER_DIFFERS"), created
    assert created.document["deposit"] is None


# Every other lie: ``tests/flows/test_order_check.py``.
LIES = {
    "deposit address of the create": answers("depositAddress", THEIR_BTC, on="/v2/exchanges"),
    "deposit address of the repetition": answers("depositAddress", THEIR_BTC, on="/v2/orders/"),
}


def test_a_different_order_is_not_to_be_paid_and_an_honest_one_is(
    other_desk: Desk, subtests: pytest.Subtests
) -> None:
    for lie, change in LIES.items():
        with subtests.test(lie=lie):
            created, shown = swap_at(other_desk, change)
            assert (created.code, created.error["code"]) == (9, "ORDER_DIFFERS"), created
            assert created.document["serviceId"] in created.error["message"]
            for result in (created, shown):
                document = result.document
                assert document["withheld"]
                assert document["deposit"] is None
                assert "depositAddress" not in document["order"]
                assert THEIR_BTC not in result.stdout + result.stderr
    created, shown = swap_at(other_desk, lambda *answer: answer[-1])
    assert created.code == 0, created
    assert shown.document["deposit"] == created.document["deposit"]


def test_an_order_that_was_not_repeated_differs_in_nothing(other_desk: Desk) -> None:
    other_desk.sandbox.fault("http_503", operation="get_order", times=1000)
    created = other_desk(*SWAP)
    assert (created.code, created.error["code"]) == (9, "NOT_REPEATED"), created
    assert created.document["deposit"] is None
    order = created.document["serviceId"]
    assert created.error["next"] == (
        f"{created.document['next']}; swapdesk orders show {order} asks again"
    )
    other_desk.sandbox.control("DELETE", "/faults")
    shown = other_desk("orders", "show", order, "--json")
    assert shown.document["deposit"] is not None, shown


def test_a_chosen_provider_and_an_explanation(desk: Desk) -> None:
    first = desk("quote", "0.1", *PAIR, "--type", "standard", "--json").document["quotes"]
    code = first[0]["swap"]
    board = desk("quote", "0.1", *PAIR, "--provider", code, "--explain", "--json").document
    assert {row["swap"] for row in board["quotes"]} == {code}
    steps = board["quotes"][0]["waterfall"]["steps"]
    assert [step["label"] for step in steps][:2] == ["You send", "Provider pays out"]
    assert board["quotes"][0]["waterfall"]["verdict"] == "sums"
    said = desk("quote", "0.1", *PAIR, "--provider", code).stderr
    assert "1 usable route. Nothing has moved." in said
    said = desk("quote", "0.1", *PAIR, "--provider", code, "--explain", "--plain").stdout
    assert "Provider fee in price: inside the rate (unknown)." in said


def test_a_preset_asks_as_it_was_kept(desk: Desk) -> None:
    desk("tokens", "btc")
    (profile,) = (desk.home / "profiles").iterdir()
    presets = QuotePresets(profile / "quote_presets.json")
    presets.put("sure", QuoteOptions(fixed=True, floating=False))
    refused = desk(*SWAP, "--preset", "sure")
    assert refused.error["code"] == "BAD_REFUND_ADDRESS", refused
    presets.put("quiet", QuoteOptions(types=(RouteType.PRIVATE,)))
    made = desk.made(*SWAP[:-1], "--preset", "quiet", "--max-loss", "any")
    assert made["order"]["anonymous"] is True, made
