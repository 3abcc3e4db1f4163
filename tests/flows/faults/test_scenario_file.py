"""Files of cases that somebody else wrote: read by the grammar, or refused with file and line."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from swapdesk.flows.faults.scenario_file import (
    Case,
    Deposit,
    Fault,
    MoveClock,
    ScenarioRefused,
    Until,
    read_answers,
    read_cases,
)

ONE = """\
[one]
customer = "Where is it?"
sell = "btc.bitcoin"
amount = 0.05
buy = "eth.ethereum"
to = "@bob"
"""
MINUTE = '{ clock = "1m" },'
# Whether it can be read at all belongs to the depth that the process allows.
DEEP = f"x = {'[' * 30_000}{']' * 30_000}"


def written(tmp_path: Path, text: str | bytes, name: str = "cases.toml") -> str:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)


def refusal(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(ScenarioRefused) as refused:
        read_cases(written(tmp_path, text))
    return str(refused.value)


def test_case_is_read_as_it_is_written(tmp_path: Path) -> None:
    steps = (
        'steps = [{ fault = "hold", leg = "out", on = "hy" }, { deposit = "as asked" },'
        ' { deposit = 0.1, memo = "" }, { clock = "+31m" }, { until = "VERIFYING" }]'
    )
    more = 'refund = "@me"\nroute = "private"\nfixed = true\nprovider = "hy"\n'
    (case,) = read_cases(written(tmp_path, f'{ONE}{more}pastes = "transaction"\n{steps}\n'))
    assert case == Case(
        "one",
        "Where is it?",
        "btc.bitcoin",
        Decimal("0.05"),
        "eth.ethereum",
        "@bob",
        (
            Fault("hold", "hy", {"leg": "out"}),
            Deposit(None, None),
            Deposit(Decimal("0.1"), ""),
            MoveClock("+31m"),
            Until("VERIFYING"),
        ),
        "@me",
        "private",
        True,
        "hy",
        pastes_transaction=True,
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("amout = 1", "cases.toml:7: one.amout is unknown; did you mean amount?"),
        ("fixed = 1", "cases.toml:7: one.fixed is true or false"),
        ('route = "dex"', "cases.toml:7: one.route is one of standard, private"),
        ('route = "privat"', "did you mean private?"),
        ('provider = ""', "one.provider has 1 to 300 characters"),
        ('provider = "\\u001b[2J"', "one.provider holds a character that cannot be shown"),
        ('provider = "\\u202e"', "one.provider holds a character that cannot be shown"),
        (f'provider = "{"x" * 301}"', "one.provider has 1 to 300 characters"),
        ("provider = 1979-05-27", "one.provider is a text in quotes"),
        ("provider = { a = { b = [] } }", "one.provider is a text in quotes"),
        ('"\\u001b[31m" = 1', "one.?[31m is unknown"),
        ("steps = 1", "cases.toml:7: one.steps is a list of at most 12 steps"),
        (f"steps = [{MINUTE * 13}]", "one.steps is a list of at most 12 steps"),
        ("steps = [1]", "one.steps.step 1 has one of fault, deposit, clock, until"),
        ("steps = [{}]", "one.steps.step 1 has one of fault"),
        ('steps = [{ clock = "1m", until = "FAILED" }]', "one.steps.step 1 has one of fault"),
        ('steps = [{ repeat = 9, clock = "1m" }]', "one.steps.step 1.repeat is unknown"),
        ('steps = [{ clock = "-1h" }]', "one.steps.step 1.clock is a number with s, m, h or d"),
        ("steps = [{ clock = 60 }]", "one.steps.step 1.clock is a text in quotes"),
        ('steps = [{ until = "DONE" }]', "one.steps.step 1.until is one of WAITING_FOR_DEPOSIT"),
        ('steps = [{ deposit = "all" }]', 'step 1.deposit is "as asked" or an amount'),
        ("steps = [{ deposit = true }]", 'step 1.deposit is "as asked" or an amount'),
        ('steps = [{ fault = "hold", leg = 1 }]', "step 1.leg is a text in quotes"),
        ('steps = [{ fault = "hold", times = 0 }]', "step 1.times is a whole number from 1"),
    ],
)
def test_what_is_not_of_the_grammar_is_named_with_its_line(
    tmp_path: Path, line: str, said: str
) -> None:
    told = refusal(tmp_path, f"{ONE}{line}\n")
    assert said in told
    assert told.isprintable()


@pytest.mark.parametrize("amount", ["inf", "nan", "-1", "0", "1e99999", "1e-19", '"1"', "true"])
def test_amount_is_a_number_that_can_be_sent(tmp_path: Path, amount: str) -> None:
    told = refusal(tmp_path, ONE.replace("0.05", amount))
    assert "cases.toml:4: one.amount is " in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no case"),
        ("[one]\n", "lacks customer"),
        ("one = 1\n", "cases.toml:1: one is no case"),
        ("[[one]]\n", "one is no case"),
        ('["O n e"]\n', "is no name of a case"),
        ("[one]\n[one]\n", "is no TOML"),
        ("".join(f"[c{at}]\n" for at in range(41)), "has more than 40 cases"),
        (DEEP, "cases.toml"),
        ("[one", "cases.toml:1: is no TOML"),
        (b"\xff\xfe", "is UTF-16"),
        ("#" * 65_537, "exceeds 65536 bytes"),
        (b"a = \x00", "is no TOML"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "bytes",
)
def test_file_that_is_none_is_refused_in_a_sentence(
    tmp_path: Path, text: str | bytes, said: str
) -> None:
    assert said in refusal(tmp_path, text)


def test_many_problems_are_told_in_part(tmp_path: Path) -> None:
    lines = "".join(f"x{at} = 1\n" for at in range(20))
    told = refusal(tmp_path, ONE + lines)
    assert told.count("is unknown") == 5
    assert told.endswith("and 15 more")


def test_only_a_file_is_read(tmp_path: Path) -> None:
    for place, said in ((tmp_path, "is no file"), (tmp_path / "none.toml", "does not exist")):
        with pytest.raises(ScenarioRefused, match=said):
            read_cases(str(place))


def test_answers_stand_beside_and_are_as_closed(tmp_path: Path) -> None:
    answer = '[one]\nrule = "held"\nmoney = "held at"\nowner = "you"\nwhy = "Because."\n'
    written(tmp_path, answer, "cases.answers.toml")
    (row,) = read_answers(str(tmp_path / "cases.toml"))
    assert (row.case, row.rule, row.owner) == ("one", "held", "you")
    written(tmp_path, answer.replace('"you"', '"me"'), "cases.answers.toml")
    with pytest.raises(ScenarioRefused, match=r"cases.answers.toml:4: one.owner is one of"):
        read_answers(str(tmp_path / "cases.toml"))
