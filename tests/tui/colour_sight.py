"""How far two colours are apart, for eyes of three kinds, and how they contrast.

Contrast as WCAG 2 defines it; distance as CIE76 in CIELAB (D65); deuteranopia and protanopia as
Machado, Oliveira and Fernandes (2009) at severity 1, on linear light.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from textual.color import Color

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

NORMAL: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
DEUTERANOPIA: Matrix = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
PROTANOPIA: Matrix = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
EYES = {"normal": NORMAL, "deuter": DEUTERANOPIA, "protan": PROTANOPIA}
_TO_XYZ: Matrix = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
_WHITE = (0.95047, 1.0, 1.08883)


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def smallest_distance(colours: Sequence[str], eyes: Matrix = NORMAL) -> float:
    """Of the two colours of a group that are most alike to these eyes."""
    seen = [_lab(colour, eyes) for colour in colours]
    return min(
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        for one, other in combinations(seen, 2)
    )


def _linear(colour: str) -> Triple:
    parts = [part / 255 for part in Color.parse(colour).rgb]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return red, green, blue


def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _times(matrix: Matrix, vector: Sequence[float]) -> Triple:
    a, b, c = (sum(x * y for x, y in zip(row, vector, strict=True)) for row in matrix)
    return a, b, c


def _lab(colour: str, eyes: Matrix) -> Triple:
    light = [min(1.0, max(0.0, part)) for part in _times(eyes, _linear(colour))]
    x, y, z = (part / white for part, white in zip(_times(_TO_XYZ, light), _WHITE, strict=True))
    fx, fy, fz = (t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29
                  for t in (x, y, z))  # fmt: skip
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)
