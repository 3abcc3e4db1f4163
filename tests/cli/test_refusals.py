"""What bad input and a bad service get: the code, the reason, and nothing created."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.desks import Desk
from harness import Result
from swapdesk.chain.addresses.kinds import derive_address

ETH = derive_address("evm", b"a wallet of the tests".ljust(32))
BTC = derive_address("bitcoin", b"a wallet of the tests".ljust(32))
# The same letters with the other case: its checksum is wrong.
MISTYPED = "0x" + ETH[2:].swapcase()
XRP = derive_address("xrp", b"a wallet of the tests".ljust(32))
XLM = derive_address("xlm", b"a wallet of the tests".ljust(32))
# Off the curve, as every token account of Solana.
TOKEN_ACCOUNT = "9yBYCtnWi87UWjgXrGsEFgnmDejXWieHVT9JSsQawdjK"


def order_ids(desk: Desk) -> set[str]:
    listed = desk("orders", "list", "--json")
    assert listed.code == 0, listed.stderr
    return {order["serviceId"] for order in listed.document["orders"]}


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
    # recipients
    (("0.1", "btc.bitcoin", "eth.ethereum", BTC), 2, "BAD_RECIPIENT"),
    (("0.1", "btc.bitcoin", "eth.ethereum", "@nobody"), 2, "BAD_RECIPIENT"),
    (("0.1", "btc.bitcoin", "eth.ethereum", "@cold"), 2, "BAD_RECIPIENT"),
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH[:-1]), 2, "BAD_RECIPIENT"),
    # Before a quote, of which there would be none.
    (("0.00000001", "btc.bitcoin", "eth.ethereum", BTC), 2, "BAD_RECIPIENT"),
    (("0.00000001", "btc.bitcoin", "eth.ethereum", ETH, "--refund", ETH), 2, "BAD_REFUND_ADDRESS"),
    (("0.1", "btc.bitcoin", "eth.ethereum", f"base:{ETH}"), 2, "BAD_RECIPIENT"),
    (
        ("0.1", "btc.bitcoin", "eth.ethereum", MISTYPED),
        2,
        "BAD_RECIPIENT",
    ),
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--refund", ETH), 2, "BAD_REFUND_ADDRESS"),
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--memo", "7"), 2, "BAD_MEMO"),
    (("0.1", "btc.bitcoin", "xrp.xrp", XRP), 2, "BAD_MEMO"),
    (("0.1", "btc.bitcoin", "xrp.xrp", XRP, "--memo", "x" * 12), 2, "BAD_MEMO"),
    # routes
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--provider", "nobody"), 2, "NO_SUCH_PROVIDER"),
    (("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--quote", "0" * 24), 5, "QUOTE_NOT_FOUND"),
    # Kestrel keeps 1.5 %, more than prices move while those of the list age.
    (
        ("0.1", "btc.bitcoin", "eth.ethereum", ETH, "--provider", "kestrel", "--max-loss", "0"),
        3,
        "MAX_LOSS",
    ),
]


def test_bad_input_is_refused_and_creates_nothing(desk: Desk, subtests: pytest.Subtests) -> None:
    before = order_ids(desk)
    for arguments, code, name in CASES:
        with subtests.test(arguments=arguments):
            result = swap(desk, *arguments)
            assert result.code == code, result
            assert name is None or result.error["code"] == name
            assert result.stdout == ""
            assert result.error["money"] == "in your wallet; nothing was sent" or code == 4
    assert order_ids(desk) == before


def test_an_ambiguous_symbol_lists_what_can_be_written(desk: Desk) -> None:
    error = refused(desk("quote", "5", "usdc", "eth.ethereum", "--json"), 2, "AMBIGUOUS_TOKEN")
    assert "USDC.base" in str(error["message"])
    fields = error["fields"]
    assert isinstance(fields, dict)
    for spec in fields["from"]["candidates"]:
        assert desk("tokens", "--symbol", "usdc", "--json").code == 0
        assert spec.lower().startswith("usdc.") or len(spec) == 24


def test_a_malicious_token_is_refused(desk: Desk) -> None:
    tokens = desk("tokens", "--limit", "20000", "--json").document["tokens"]
    bad = next(t for t in tokens if t["verdict"] == "malicious" and t["enabled"])
    result = swap(desk, "0.1", "btc.bitcoin", bad["id"], ETH)
    refused(result, 9, "TOKEN_REFUSED")
    quoted = desk("quote", "0.1", "btc.bitcoin", bad["id"])
    assert "malicious. It cannot be chosen." in quoted.stderr


def test_a_warned_token_needs_consent(desk: Desk) -> None:
    error = refused(swap(desk, "0.1", "btc.bitcoin", "btc.bsc", ETH), 9, "TOKEN_WARNING")
    assert "The service says" in str(error["message"])
    consented = swap(desk, "0.1", "btc.bitcoin", "btc.bsc", ETH, "--accept-warnings")
    assert consented.code == 0, consented
    assert "The service says" in consented.stderr


def test_a_look_alike_is_refused(desk: Desk) -> None:
    book = (desk.home / "profiles" / "sandbox" / "address_book.toml").read_text()
    bob = next(line.split('"')[1] for line in book.splitlines() if line.startswith("address"))
    other = derive_address("evm", b"somebody else".ljust(32))
    lookalike = (bob[:8] + other[8:-6] + bob[-6:]).lower()
    refused(swap(desk, "0.1", "btc.bitcoin", "eth.ethereum", lookalike), 9, "LOOKALIKE_ADDRESS")


def test_a_deposit_address_is_no_wallet(desk: Desk) -> None:
    order = swap(desk, "3", "eth.ethereum", "btc.bitcoin", BTC).document
    deposit = order["deposit"]["address"]
    refused(swap(desk, "0.1", "btc.bitcoin", "eth.ethereum", deposit), 9, "ADDRESS_REFUSED")


def test_a_memo_is_given_waived_or_known(desk: Desk) -> None:
    given = swap(desk, "0.1", "btc.bitcoin", "xrp.xrp", XRP, "--memo", "12345")
    assert given.document["order"]["receiverTag"] == "12345"
    waived = swap(desk, "0.1", "btc.bitcoin", "xrp.xrp", XRP, "--waive-memo", "NO MEMO")
    assert waived.code == 0, waived
    assert waived.document["order"]["receiverTag"] is None
    known = swap(desk, "0.1", "btc.bitcoin", "xrp.xrp", "@rita")
    assert known.document["order"]["receiverTag"] == "20117"
    linked = swap(desk, "0.1", "btc.bitcoin", "xrp.xrp", f"ripple:{XRP}?amount=20&dt=777")
    assert linked.document["order"]["receiverTag"] == "777"
    assert linked.document["order"]["receiverAddress"] == XRP
    assert "The link asks for 20 XRP, and " in linked.stderr


@pytest.mark.parametrize(
    ("to", "said", "changed"),
    [
        ("@rita", "@rita: 20117.", ("--memo", "20118")),
        ("@rita", "@rita: 20117.", ("--waive-memo", "NO MEMO")),
        (f"xrpl:{XRP}?dt=777", "the payment link: 777.", ("--memo", "778")),
    ],
)
def test_another_memo_than_that_of_the_recipient_needs_consent(
    desk: Desk, to: str, said: str, changed: tuple[str, str]
) -> None:
    said = f"This is not the tag of {said}"
    pair = ("0.1", "btc.bitcoin", "xrp.xrp", to)
    error = refused(swap(desk, *pair, *changed), 9, "MEMO_WARNING")
    assert error["message"] == said
    consented = swap(desk, *pair, *changed, "--accept-warnings")
    assert consented.code == 0, consented
    assert said in consented.stderr


def test_a_memo_that_a_program_spoilt_needs_consent(desk: Desk) -> None:
    spoilt = ("0.1", "btc.bitcoin", "xlm.stellar", XLM, "--memo", "1.07712E+09")
    dry = desk("swap", *spoilt[:3], "--to", *spoilt[3:], "--dry-run", "--json")
    assert any("rounded" in line for line in dry.document["checks"])
    error = refused(swap(desk, *spoilt), 9, "MEMO_WARNING")
    assert "Compare it with the one you were given." in str(error["message"])
    consented = swap(desk, *spoilt, "--accept-warnings")
    assert consented.document["order"]["receiverTag"] == "1.07712E+09"


@pytest.mark.parametrize(
    "named",
    [
        ("0.5", "eth.ethereum", "usdc.solana", TOKEN_ACCOUNT),
        ("0.5", "sol.solana", "eth.ethereum", ETH, "--refund", TOKEN_ACCOUNT, "--fixed"),
    ],
)
def test_an_address_that_only_a_program_can_spend_from_needs_consent(
    desk: Desk, named: tuple[str, ...]
) -> None:
    error = refused(swap(desk, *named), 9, "ADDRESS_WARNING")
    assert "Only that program can move what it gets." in str(error["message"])
    dry = desk("swap", *named[:3], "--to", *named[3:], "--dry-run", "--json")
    assert any("Only that program" in line for line in dry.document["checks"])


def test_a_vault_is_paid_once_it_is_agreed_to(desk: Desk) -> None:
    vault = ("0.5", "eth.ethereum", "usdc.solana", TOKEN_ACCOUNT, "--accept-warnings")
    consented = swap(desk, *vault)
    assert consented.document["order"]["receiverAddress"] == TOKEN_ACCOUNT, consented


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
    assert error["fields"]["pageSize"]["message"]  # type: ignore[index]


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


def test_not_found(desk: Desk) -> None:
    refused(desk("orders", "show", "doesnotexist1234567890", "--json"), 5, "NOT_FOUND")
    refused(desk("orders", "watch", "doesnotexist1234567890", "--json"), 5, "NOT_FOUND")
    refused(desk("tokens", "zzzzzzzz", "--json"), 5, "TOKEN_NOT_FOUND")
    refused(desk("api", "GET", "/nothing", "--json"), 2, "REQUEST_REFUSED")


def test_rate_limited(desk: Desk) -> None:
    desk.sandbox.fault("rate_limited", operation="get_quotes", times=9, seconds=1)
    result = desk("quote", "0.1", "btc.bitcoin", "eth.ethereum", "--json")
    error = refused(result, 6, "RATE_LIMIT_EXCEEDED")
    assert error["status"] == 429


def test_the_service_fails_or_is_not_there(desk: Desk, tmp_path: Path) -> None:
    desk.sandbox.fault("http_500", operation="get_quotes", times=9)
    result = desk("quote", "0.1", "btc.bitcoin", "eth.ethereum", "--json")
    refused(result, 7, "INTERNAL_SERVER_ERROR")
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


def test_a_page_for_people_is_no_answer_to_a_call(desk: Desk) -> None:
    desk.sandbox.fault("garbage", operation="list_swaps", times=9)
    result = desk("api", "GET", "/swaps", "--json")
    error = refused(result, 7, "ANSWER_NOT_JSON")
    assert (result.stdout, "text/html" in str(error["message"])) == ("", True)


def test_an_order_that_cannot_be_asked_after_is_not_said_to_be_at_home(desk: Desk) -> None:
    desk.sandbox.fault("http_503", operation="get_order", times=20)
    result = desk("orders", "show", "kXb7PqLmN4sTvWzYcDfGhJ", "--json")
    error = refused(result, 7, "SERVICE_UNAVAILABLE")
    assert error["money"] == "where the service has this order; it could not be asked"
    desk.sandbox.fault("http_503", operation="list_orders", times=20)
    listed = desk("orders", "list")
    assert listed.code == 0
    assert "The service is not available. This is what the journal knows." in listed.stderr


def test_funding_is_for_the_sandbox(other_desk: Desk) -> None:
    result = swap(other_desk, "0.1", "btc.bitcoin", "eth.ethereum", ETH, "--fund")
    refused(result, 2, "SANDBOX_ONLY")


def test_an_order_that_ends_otherwise(desk: Desk) -> None:
    order = swap(desk, "0.1", "btc.bitcoin", "eth.ethereum", ETH).document
    name = order["serviceId"]
    desk.sandbox.fault("expire", serviceId=name)
    watched = desk("orders", "watch", name, "--json")
    assert watched.code == 10, watched
    assert watched.documents[-1]["displayStatus"] == "EXPIRED"
    assert watched.documents[-1]["deposit"] is None
    waited = desk("orders", "watch", name, "--json", "--until", "refunded", "--timeout", "3")
    refused(waited, 3, "TIMEOUT")


def test_an_order_that_fails_after_its_deposit(desk: Desk) -> None:
    order = swap(desk, "0.1", "btc.bitcoin", "eth.ethereum", ETH).document
    name = order["serviceId"]
    desk.sandbox.fault("fail_after_deposit", serviceId=name)
    desk.sandbox.control("POST", "/deposits", {"serviceId": name})
    watched = desk("orders", "watch", name, "--json")
    assert watched.code == 10, watched
    assert watched.documents[-1]["displayStatus"] == "FAILED"
    assert "with the service" in watched.documents[-1]["money"]


def test_a_second_partner_sees_nothing(desk: Desk, other_desk: Desk) -> None:
    order = swap(desk, "0.1", "btc.bitcoin", "eth.ethereum", ETH).document
    name = order["serviceId"]
    listed = other_desk("orders", "list", "--json").document
    assert name not in [each["serviceId"] for each in listed["orders"]]
    unknown = name[:-4] + "zzzz"
    answers = [other_desk("orders", "show", each, "--json") for each in (name, unknown)]
    foreign, absent = (
        answer.stderr.replace(each, "ID")
        for answer, each in zip(answers, (name, unknown), strict=True)
    )
    assert [answer.code for answer in answers] == [5, 5]
    assert foreign == absent
