"""What is repainted of a row: from the first to the last cell that differs, found from spans."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from swapdesk.tui.spans import Line, Span, plain_text
from swapdesk.tui.widgets.lines_view import changed_cells
from tui.cells import cells_of

SPANS = st.builds(
    Span,
    st.text(alphabet="ab 1○━漢e\u0301\u0308", max_size=4),
    st.sampled_from(["muted", "foreground"]),
    st.booleans(),
)
LINES = st.lists(SPANS, max_size=5)


def by_cells(old: Line, new: Line) -> tuple[int, int] | None:
    """The same, cell by cell over the whole row."""
    before, after = cells_of(old), cells_of(new)
    longest = max(len(before), len(after))
    before += [(" ", "", False)] * (longest - len(before))
    after += [(" ", "", False)] * (longest - len(after))
    places = [at for at in range(longest) if before[at] != after[at]]
    return (places[0], places[-1] + 1) if places else None


@given(LINES, LINES, LINES, LINES)
@example([Span("1"), Span("")], [], [Span("1")], [Span("\u0301")])
def test_it_is_what_a_comparison_of_all_cells_finds(
    head: Line, one: Line, other: Line, tail: Line
) -> None:
    old, new = [*head, *one, *tail], [*head, *other, *tail]
    found, wanted = changed_cells(old, new), by_cells(old, new)
    if all(cell_len(char) for char in plain_text([*old, *new])):
        assert found == wanted
    elif wanted is not None:
        assert found[0] <= wanted[0] < wanted[1] <= found[1]


def test_one_figure_between_equal_cells_is_its_place() -> None:
    left, right = Span("✓ 0.5 BTC "), Span(" left", "muted")
    assert changed_cells([left, Span("27:12"), right], [left, Span("27:09"), right]) == (13, 15)
    assert changed_cells([left, right], [left, right]) is None
