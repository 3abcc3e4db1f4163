"""A plan as one document for programs: every row with what is wrong, groups, totals, calls."""

from __future__ import annotations

from typing import Any

from swapdesk.client.budget import Allowance
from swapdesk.flows.batch.plan import BatchPlan, PlannedGroup
from swapdesk.flows.batch.planned import Finding, PlannedRow


def plan_document(plan: BatchPlan, left: Allowance | None) -> dict[str, Any]:
    """``left`` is what the exchanges of the account still allow, None when not known."""
    return {
        "file": plan.sheet.name,
        "separator": plan.sheet.separator.word,
        "header": plan.sheet.headed,
        "unusedColumns": list(plan.sheet.unused),
        "headsNote": plan.heads_note or None,
        "decimalComma": plan.sheet.decimal_comma,
        "rows": [_row(row) for row in plan.rows],
        "ready": plan.count("ready"),
        "look": plan.count("look"),
        "problems": plan.count("problem"),
        "creatable": plan.creatable,
        "groups": [_group(group) for group in plan.groups],
        "totals": [
            {
                "tokenId": total.token.id,
                "symbol": total.token.symbol,
                "chain": total.token.chain_data.short_name,
                "amount": total.amount,
                "rows": total.rows,
            }
            for total in plan.totals
        ],
        "arrivals": [
            {
                "tokenId": arrival.token.id,
                "symbol": arrival.token.symbol,
                "chain": arrival.token.chain_data.short_name,
                "about": arrival.about,
                "rows": arrival.rows,
            }
            for arrival in plan.arrivals
        ],
        "calls": {"create": plan.creates, "build": plan.builds, "submit": plan.submits},
        "budget": None
        if left is None
        else {"left": left.left, "limit": left.limit, "resetsIn": round(left.resets_in)},
    }


def finding_document(one: Finding) -> dict[str, Any]:
    return {
        "code": one.code,
        "level": one.level.value,
        "column": one.column.value if one.column is not None else None,
        "reason": one.reason,
        "do": one.do,
    }


def _row(row: PlannedRow) -> dict[str, Any]:
    order = row.order
    return {
        "row": row.number,
        "line": row.row.line,
        "state": row.state,
        "findings": [finding_document(one) for one in row.findings],
        "order": None
        if order is None
        else {
            "addressTo": order.recipient,
            "name": order.label,
            "amount": order.amount,
            "from": order.token_in.id,
            "sells": order.token_in.symbol,
            "to": order.token_out.id,
            "buys": order.token_out.symbol,
            "arrivesAbout": order.about,
            "route": order.route,
            "memo": order.memo,
            "refundAddress": order.refund,
        },
    }


def _group(group: PlannedGroup) -> dict[str, Any]:
    return {
        "group": group.number,
        "chain": group.chain,
        "paid": group.paid,
        "signatures": group.signatures,
        "rows": [row.number for row in group.rows],
    }
