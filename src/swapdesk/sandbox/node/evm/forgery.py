"""The receipt of a node that lies: a success that was a failure, or that has not happened."""

from __future__ import annotations

import json
from typing import Any

from swapdesk.sandbox.node.evm.candidate import Candidate
from swapdesk.sandbox.node.evm.machine import BlockHeader
from swapdesk.sandbox.node.evm.serialize import receipt_document


def forged_receipt(
    receipt: str | None, waiting: Candidate | None, head: BlockHeader
) -> dict[str, Any] | None:
    """The opposite of what happened: of a mined transaction the other status, of a waiting one
    a success in the newest block."""
    if receipt is not None:
        told: dict[str, Any] = json.loads(receipt)
        told["status"] = "0x0" if told["status"] == "0x1" else "0x1"
        return told
    if waiting is None:
        return None
    return receipt_document(
        waiting,
        head,
        0,
        succeeded=True,
        gas_used=21_000,
        cumulative_gas=21_000,
        bloom=0,
        created=None,
        logs=(),
    )
