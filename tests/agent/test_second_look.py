"""A signature is given for what was seen: whatever differs at the second look refuses it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agent.gate_world import MALLORY, NOW
from swapdesk.agent.gate.case import Facts
from swapdesk.agent.gate.verdict import GateVerdict
from swapdesk.agent.process.payload_assessment import ChainReading, Looked
from swapdesk.agent.process.request import AgentRefusal
from swapdesk.agent.process.signing import require_agreement
from swapdesk.agent.signers.evm import EvmTransaction
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import RuleFinding, Severity

WARNING = RuleFinding("RECIPIENT_HAS_CODE", Severity.WARN, "There is code.", "Paid to")
PLAN = EvmTransaction(1, 7, MALLORY, 5, b"", 21_000, 100, 1)
VERDICT = GateVerdict("A payment", (WARNING,), (), NOW, b"content", "phrase")
SEEN = Looked(None, ChainReading(Facts(NOW), base_fee=90), VERDICT, PLAN)


def test_the_same_is_signed() -> None:
    require_agreement(SEEN, SEEN)
    require_agreement(SEEN, replace(SEEN, read=replace(SEEN.read, base_fee=100)))
    require_agreement(SEEN, replace(SEEN, verdict=replace(VERDICT, findings=())))


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"findings": (replace(WARNING, severity=Severity.REFUSE),)}, Code.GATE),
        ({"findings": (WARNING, replace(WARNING, field="Token"))}, Code.STALE_REVIEW),
        ({"content": b"another"}, Code.STALE_REVIEW),
        ({"content": None}, Code.STALE_REVIEW),
        ({"phrase": None}, Code.STALE_REVIEW),
        ({"plan": replace(PLAN, nonce=8)}, Code.STALE_REVIEW),
        ({"plan": None}, Code.STALE_REVIEW),
        ({"read": replace(SEEN.read, base_fee=101)}, Code.STALE_REVIEW),
    ],
)
def test_whatever_differs_is_not(changed: dict[str, Any], code: Code) -> None:
    of_look = {name: value for name, value in changed.items() if name in ("plan", "read")}
    verdict = VERDICT if of_look else replace(VERDICT, **changed)
    with pytest.raises(AgentRefusal) as refused:
        require_agreement(SEEN, replace(SEEN, verdict=verdict, **of_look))
    assert refused.value.code is code
