"""A screen that is laid out once for each change.

Textual lays a screen out for a new size, tells every widget the size it got, which asks for the
same layout again, and then adds the classes of the new size, which ask for it a third time.
"""

from __future__ import annotations

from typing import Any

from textual.geometry import Size
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget


class OneLayout(Screen[ScreenResultType]):
    """The base of every screen and overlay."""

    def _screen_resized(self, size: Size) -> None:
        """Take the classes of this size before it is laid out for it, and that once: the layout
        tells a screen its size too."""
        if self._compositor.size == size:
            return
        self.update_classes(self._classes_at(size), animate=False)
        super()._screen_resized(size)

    def _classes_at(self, size: Size) -> dict[str, bool]:
        """Every class of a breakpoint, and whether a screen of this size has it."""
        found: dict[str, bool] = {}
        for cells, breakpoints in (
            (size.width, self.HORIZONTAL_BREAKPOINTS or []),
            (size.height, self.VERTICAL_BREAKPOINTS or []),
        ):
            now = self._get_breakpoint_classes(cells, breakpoints)
            found.update((name, name in now) for _, name in breakpoints)
        return found

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        """Lay out and draw. What widgets ask for because they were told their sizes is done."""
        waiting = {one for one in self._widgets() if one._layout_required}
        dirty = {one for one in self._widgets() if one._repaint_required}
        super()._refresh_layout(size, scroll)
        for widget, _ in self._compositor.layers:
            if widget not in waiting and not _has_bars(widget):
                widget._layout_required = False
            # Under an overlay a screen asks to be drawn again by itself.
            if widget not in dirty and (widget is not self or self.app.screen is self):
                widget._repaint_required = False

    def _widgets(self) -> list[Widget]:
        return [self, *self.walk_children(Widget)]


def _has_bars(widget: Widget) -> bool:
    """Whether a bar may come or go at the edge of the widget, which takes another layout."""
    styles: Any = widget.styles
    bars = styles.scrollbar_size_vertical or styles.scrollbar_size_horizontal
    return bool(bars) and "auto" in (styles.overflow_x, styles.overflow_y)
