"""What a person types before something is signed or created, and what counts as no."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from swapdesk.cli.command_error import CommandError, Exit
from swapdesk.cli.output import Form, Output
from swapdesk.cli.wallet_session import consent, require_consent, says_yes
from swapdesk.flows.transactions.transactor import Agreed
from swapdesk.wallet.review import Match, Review, ReviewLine, RuleFinding, Severity

REVIEW = Review(
    id="r1",
    title="Approve",
    account="0xabc",
    chain="Base",
    digest="0x12",
    lines=(ReviewLine("spender", "0xdef", "0xdef", Match.EQUAL),),
    findings=(),
    simulation=None,
    valid_until=datetime(2026, 1, 1, tzinfo=UTC),
)
PHRASED = replace(REVIEW, phrase="send 1 ETH")
REFUSED = replace(REVIEW, findings=(RuleFinding("CHAIN_ID", Severity.REFUSE, "Another chain."),))


class Typist:
    """Types on standard input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, text: str) -> Output:
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return Output(Form.TABLE, stderr=io.StringIO())


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Typist:
    return Typist(monkeypatch)


@pytest.mark.parametrize(
    "no", ["", "\n", "y\n", "no\n", "YES\n", "Sign\n", "yes please\n", "send 1 eth\n"]
)
def test_only_the_word_itself_is_yes(types: Typist, no: str) -> None:
    assert consent(types(no), REVIEW, yes=False) is None
    assert not says_yes(types(no), "Create this order?")
    assert consent(types(no), PHRASED, yes=True) is None


def test_each_question_has_its_own_word(types: Typist) -> None:
    assert consent(types("sign\n"), REVIEW, yes=False) == Agreed()
    assert consent(types("yes\n"), REVIEW, yes=False) is None
    assert says_yes(types("yes\n"), "Create this order?")
    assert not says_yes(types("sign\n"), "Create this order?")


def test_yes_in_advance_types_no_phrase(types: Typist) -> None:
    assert consent(types(""), REVIEW, yes=True) == Agreed()
    assert consent(types("send 1 ETH\n"), PHRASED, yes=True) == Agreed("send 1 ETH")


@pytest.mark.parametrize(
    ("review", "exit_code"),
    [
        (REVIEW, Exit.INTERRUPTED),
        (PHRASED, Exit.OWN_REFUSAL),
        (REFUSED, Exit.OWN_REFUSAL),
    ],
)
def test_what_was_asked_for_by_name_ends_with_an_exit_code(
    types: Typist, review: Review, exit_code: Exit
) -> None:
    with pytest.raises(CommandError) as ended:
        require_consent(types("send 1 ETH\n"), review, yes=False, money="in your wallet")
    assert (ended.value.exit, ended.value.money) == (exit_code, "in your wallet")
