"""What is drawn of a link search, and where it is cut."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from msgspec.structs import replace

from recorded_demo import recorded
from swapdesk.flows.demo.link_graph import MOST_OF_CROWD, Island, link_graph
from swapdesk.flows.demo.link_search import LinkSearch, Movement
from swapdesk.flows.demo.stage import Stage

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def account(letter: str) -> str:
    return "0x" + letter * 40


def paid(minute: int, sender: str, receiver: str, chain: str = "base") -> Movement:
    return Movement(
        chain=chain,
        height=minute,
        hash=f"0x{minute:064x}",
        position=0,
        sender=account(sender),
        receiver=account(receiver),
        token=None,
        units=minute,
        symbol="USDC",
        amount=Decimal(minute),
        at=BEGAN + timedelta(minutes=minute),
    )


def stage(*moved: Movement, **known: object) -> Stage:
    """Of no order, so that nobody has a name."""
    last = recorded("private").stages[-1]
    nobody = replace(last, legs=(), moved=moved, paid=None, got=None, crowd=(), search=None)
    return replace(nobody, **known)


def ends(island: Island) -> list[tuple[str, str]]:
    return [
        (edge.sender.address[-1].lower(), edge.receiver.address[-1].lower())
        for edge in island.edges
    ]


def test_alice_and_bob_stand_on_islands_of_their_own() -> None:
    """Bob's has the crowd on it: payouts of the same wallet that fit as well as his."""
    last = recorded("private").stages[-1]
    hers, middle, his = link_graph(last)[0]
    assert [each.chains for each in (hers, middle, his)] == [("base",), ("ethereum",), ("base",)]
    named = [[account.name for account in each.accounts] for each in (hers, middle)]
    assert named == [["Alice", "Pell, deposit"], ["Pell, wallet", "Halyard, deposit"]]
    assert {edge.sender.name for edge in his.edges} == {"Halyard, wallet"}
    assert [edge.payment for edge in his.edges if edge.receiver.name == "Bob"] == [last.got]
    others = [edge.payment for edge in his.edges if not edge.receiver.name]
    assert sorted(others, key=lambda each: each.hash) == sorted(
        last.crowd, key=lambda each: each.hash
    )
    assert f"{len(others)} other payouts since fit" in last.compared[0].remark
    assert not any(edge.linked for each in (hers, middle, his) for edge in each.edges)


def test_the_crowd_nearest_in_time_is_drawn_and_the_rest_counted() -> None:
    got = paid(30, "a", "b")
    times = [*range(1, 30), *range(31, 60)]
    crowd = [paid(minute, "a", "c") for minute in times]
    islands, left_out = link_graph(stage(got, got=got, crowd=tuple(crowd)))
    drawn = [edge.payment.height for each in islands for edge in each.edges]
    half = MOST_OF_CROWD // 2
    assert drawn == list(range(30 - half, 30 + half + 1))
    assert left_out == len(crowd) - MOST_OF_CROWD


def test_whatever_joins_two_islands_makes_them_one() -> None:
    """Also a payment that comes last, on another chain, or back to where money came from."""
    apart = [paid(1, "a", "b"), paid(2, "c", "d"), paid(3, "e", "f")]
    assert list(map(ends, link_graph(stage(*apart))[0])) == [
        [("a", "b")], [("c", "d")], [("e", "f")]
    ]  # fmt: skip
    (joined, third) = link_graph(stage(*apart, paid(4, "b", "d", "ethereum")))[0]
    assert ends(joined) == [("a", "b"), ("c", "d"), ("b", "d")]
    assert joined.chains == ("base", "ethereum")
    assert ends(third) == [("e", "f")]
    (circle,) = link_graph(stage(paid(1, "a", "b"), paid(2, "b", "a")))[0]
    assert (circle.columns, circle.height) == (2, 1)


def test_a_path_that_was_found_is_marked_and_leads_to_the_right() -> None:
    """Its payments are drawn also where none of them touches an address of the order."""
    path = (paid(1, "a", "b"), paid(2, "b", "c"), paid(3, "c", "d"))
    (island,) = link_graph(stage(path[0], paid(2, "b", "e"), search=LinkSearch({}, 4, 5, path)))[0]
    assert [edge.linked for edge in island.edges] == [True, False, True, True]
    assert island.columns == 4
    at = {
        each.address[-1].lower(): (each.column, island.below_top(each)) for each in island.accounts
    }
    assert at == {"a": (0, 0.5), "b": (1, 0.5), "e": (2, 0.25), "c": (2, 0.75), "d": (3, 0.5)}
