"""Defects of what stands on the screen: other layouts, other glyphs, rows that do not follow."""

from __future__ import annotations

from .defect import Defect

SCREENS = (
    Defect(
        "screen-in-unicode-on-a-plain-terminal",
        "A terminal without Unicode shows question marks for every state and sign of an order.",
        "swapdesk/tui/painting.py",
        '    if getattr(app, "glyph_set", GlyphSet.UNICODE) is GlyphSet.ASCII:\n',
        '    if getattr(app, "glyph_set", GlyphSet.UNICODE) is None:\n',
        ("tests/tui/test_scenes.py::test_scene",),
    ),
    Defect(
        "trouble-looks-done-in-ascii",
        "In ASCII an order in trouble looks as one that is done.",
        "swapdesk/tui/glyphs.py",
        '    TROUBLE: "!",\n',
        '    TROUBLE: "*",\n',
        ("tests/tui/test_terminal.py::test_states_look_different_in_ascii",),
    ),
    Defect(
        "who-acts-next-on-the-widest-screen-alone",
        "On a screen of 120 cells the tracker does not say who acts next.",
        "swapdesk/tui/screens/orders.py",
        "ROOMY = 120\n",
        "ROOMY = 160\n",
        ("tests/tui/test_scenes.py::test_scene",),
    ),
    Defect(
        "two-columns-of-quotes-too-early",
        "On a screen of 100 cells the panel of a route takes the room of fees and validity.",
        "swapdesk/tui/screens/quotes_view.py",
        "NORMAL, ROOMY, WIDE = 100, 120, 160",
        "NORMAL, ROOMY, WIDE = 100, 100, 160",
        ("tests/tui/test_scenes.py::test_scene",),
    ),
    Defect(
        "pane-names-nobody",
        "Where a state takes many words, the pane of the tracker leaves out who acts next.",
        "swapdesk/tui/widgets/order_table.py",
        "    shown = [*said[: max(1, rows - len(last))], *last][:rows]\n",
        "    shown = [*said, *last][: len(said)]\n",
        ("tests/tui/test_scenes.py::test_scene",),
    ),
)
