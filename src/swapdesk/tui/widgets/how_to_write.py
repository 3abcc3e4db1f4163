"""Four examples of an intent line and what they mean."""

from __future__ import annotations

from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, Span

TWO_FROM = 92
EXAMPLES = (
    ("0.5 btc eth", "sell 0.5 BTC, buy ETH"),
    ("=2 btc eth", "get exactly 2 ETH, sell BTC"),
    ("0.5 eth @bob", "private send to bob"),
    ("900 usdc.base sol", "name the chain after a dot"),
)


class HowToWrite(LinesView):
    """Two examples a row from 92 cells, else one."""

    def lines(self, width: int) -> list[Line]:
        return how_lines(width)


def how_lines(width: int) -> list[Line]:
    if width < TWO_FROM:
        return [_example(line, means, 19) for line, means in EXAMPLES]
    column = width // 2
    return [
        [*_padded(_example(*EXAMPLES[at], 15), column), *_example(*EXAMPLES[at + 1], 19)]
        for at in range(0, len(EXAMPLES), 2)
    ]


def _example(line: str, means: str, size: int) -> Line:
    return [Span(line.ljust(size)), Span(means, "muted")]


def _padded(line: Line, width: int) -> Line:
    used = sum(len(span.text) for span in line)
    return [*line, Span(" " * max(0, width - used))]
