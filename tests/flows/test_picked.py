"""A token that was chosen among several, and what is said of the others."""

from __future__ import annotations

import pytest

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.catalog.token_row import TokenRow
from swapdesk.flows.quotes.intent_line import TokenChoice


@pytest.fixture
def rows(catalog: Catalog) -> tuple[TokenRow, ...]:
    """Of USDC, which is on several chains."""
    found = resolve("usdc", catalog).candidates
    assert len({row.chain for row in found}) == len(found) > 2
    return found


def picked(catalog: Catalog, rows: tuple[TokenRow, ...], at: int = 0) -> TokenChoice:
    return TokenChoice(catalog.token(rows[at].id), rows, at)


async def test_one_candidate_leaves_nothing_to_say(
    catalog: Catalog, rows: tuple[TokenRow, ...]
) -> None:
    alone = picked(catalog, rows[:1])
    assert (alone.hint(), alone.tied, alone.chains) == (None, False, 1)


async def test_of_several_chains_the_chosen_one_is_named(
    catalog: Catalog, rows: tuple[TokenRow, ...]
) -> None:
    second = picked(catalog, rows, 1)
    assert second.row is rows[1]
    assert second.chains == len(rows)
    name = rows[1].chain_name
    assert second.hint() == f"USDC is on {len(rows)} chains, {name} chosen"
    assert second.hint(private=True) == f"USDC can be sent on {len(rows)} chains, {name} chosen"
    assert second.question() == f"USDC is on {len(rows)} chains: tab chooses, now {name}"
    assert second.question("shift+tab").endswith(f": shift+tab chooses, now {name}")
    assert (second.brief, picked(catalog, rows[:1]).brief) == (f"USDC is on {len(rows)} chains", "")


async def test_several_tokens_of_one_chain_are_counted_as_tokens(
    catalog: Catalog, rows: tuple[TokenRow, ...]
) -> None:
    twice = picked(catalog, (rows[0], rows[0]))
    assert twice.hint() == f"USDC on {rows[0].chain_name} is 2 tokens, the first chosen"
    assert twice.brief == f"USDC on {rows[0].chain_name} is 2 tokens"
    assert twice.tied


async def test_a_better_first_candidate_is_no_tie(
    catalog: Catalog, rows: tuple[TokenRow, ...]
) -> None:
    other = next(row for row in catalog.rows if row.order[:4] != rows[0].order[:4])
    assert not picked(catalog, (rows[0], other)).tied
