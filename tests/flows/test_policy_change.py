"""A change of the spending policy as it is typed on the desk."""

from __future__ import annotations

import pytest

from rows import each_row
from swapdesk.flows.wallet.policy_change import PolicyChange, PolicyProblem, typed_change


@each_row(
    ("text", "change"),
    [
        (
            "per-day usdc.base=100",
            {"per_day": ("usdc.base=100",)},
        ),
        (
            "--per-day usdc.base=100, --PER-DAY usd=5 until 2026-12-31",
            {"per_day": ("usdc.base=100", "usd=5"), "until": ("2026-12-31",)},
        ),
        (
            "anew payee 0x12 payee 0x34 call-payee any chain base token usdc.base price eth.base=3",
            {
                "anew": (), "payees": ("0x12", "0x34"), "call_payees": ("any",),
                "chains": ("base",), "tokens": ("usdc.base",), "prices": ("eth.base=3",),
            },
        ),
        ("", {}),
    ],
)  # fmt: skip
def test_the_options_of_the_command_are_typed(text: str, change: PolicyChange) -> None:
    assert typed_change(text) == change


@each_row(
    ("text", "said"),
    [("usdc.base=100", "is no rule; there are per-call"), ("per-day", "has no value after it")],
)
def test_what_is_no_rule_is_said(text: str, said: str) -> None:
    with pytest.raises(PolicyProblem, match=said):
        typed_change(text)
