"""What a command does at most: one table for ``--read-only``, for ``swapdesk commands`` and for
the reference."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct


class Effect(StrEnum):
    MOVES_MONEY = "moves money"
    """It signs, pays, creates an order that may be paid at once, or sends what was signed."""
    SPENDS_LIMIT = "spends a limit"
    """It takes from what the account may still ask or create in a window of time."""
    CHANGES_DESK = "changes the desk"
    """It writes files, keys or notes of this machine, or a fault of the sandbox."""
    ONLY_READS = "only reads"


class CommandEffect(Struct, frozen=True):
    """``read_only``: it works on a desk that only reads. One that creates, signs or spends, or asks
    the process with the keys, does not."""

    effect: Effect
    read_only: bool


_ROWS: tuple[tuple[Effect, bool, str], ...] = (
    (Effect.MOVES_MONEY, False, "swap, send, fund"),
    (Effect.MOVES_MONEY, False, "batch sign, batch submit, batch run, batch resume"),
    (Effect.MOVES_MONEY, False, "wallet revoke, wallet cancel, wallet bump, wallet withdraw"),
    # The method of the call decides: one that writes is refused.
    (Effect.MOVES_MONEY, True, "api"),
    (Effect.SPENDS_LIMIT, False, "batch create, batch build, trigger run"),
    (Effect.SPENDS_LIMIT, True, "quote"),
    (Effect.CHANGES_DESK, False, "wallet new, wallet import, wallet export, wallet lock"),
    (Effect.CHANGES_DESK, True, "batch template, batch export, orders export, orders put-away"),
    (Effect.CHANGES_DESK, True, "support bundle, trigger NAME, trigger clear, trigger clock"),
    (Effect.CHANGES_DESK, True, "serve, node, tape run, tour"),
    (Effect.CHANGES_DESK, False, "partner payout, partner reverse, partner create, partner key"),
    (Effect.CHANGES_DESK, False, "partner revoke, partner suspend, partner tier"),
    (Effect.CHANGES_DESK, False, "partner override, partner origin"),
    (Effect.ONLY_READS, False, "sign, wallet list, wallet balance, wallet allowances"),
    (Effect.CHANGES_DESK, False, "wallet policy set"),
    (Effect.ONLY_READS, False, "wallet transactions, wallet policy show"),
    (Effect.ONLY_READS, True, "tokens, chains, orders list, orders show, orders watch"),
    (Effect.ONLY_READS, True, "batch plan, batch status, why, inspect, support open"),
    (Effect.CHANGES_DESK, True, "profile use"),
    (Effect.ONLY_READS, True, "trigger list, demo, config show, profile list, doctor, completion"),
    (Effect.ONLY_READS, True, "schema, errors, commands, listen, partner sums"),
    (Effect.ONLY_READS, True, "partner list, partner show"),
    (Effect.ONLY_READS, True, "account limits, account commissions, account volume"),
    (Effect.ONLY_READS, True, "account weekly, account chart"),
)
"""The effect, whether it works on a desk that only reads, and the commands."""


def _by_command() -> Iterator[tuple[str, CommandEffect]]:
    for effect, read_only, names in _ROWS:
        for name in names.split(", "):
            yield name, CommandEffect(effect, read_only)


EFFECTS: dict[str, CommandEffect] = dict(_by_command())
