"""Figures of one run and how they are told."""

from __future__ import annotations

import statistics
from collections import defaultdict

from msgspec import Struct


class Case(Struct, frozen=True):
    """One measured ratio against its baseline; ``demand`` is the largest ratio we ask for."""

    name: str
    subject: str
    baseline: str
    value: float
    base: float
    demand: float
    unit: str = "ms"
    scale: float = 1e3
    count: int = 0

    @property
    def ratio(self) -> float:
        return self.value / self.base

    @property
    def held(self) -> bool:
        return self.ratio <= self.demand

    def line(self) -> str:
        verdict = "held" if self.held else "FALLS SHORT"
        return (
            f"{self.name:32s} {self.value * self.scale:9.1f} {self.unit:3s}"
            f" {self.baseline} {self.base * self.scale:8.1f} {self.unit:3s}"
            f" {self.ratio:5.2f}x of at most {self.demand:.2f}x  n={self.count:<4d} {verdict}"
        )


class Figures:
    """Samples by program; medians are compared."""

    def __init__(self) -> None:
        self._samples: dict[str, list[float]] = defaultdict(list)

    def add(self, name: str, sample: float) -> None:
        self._samples[name].append(sample)

    def case(self, name: str, subject: str, baseline: str, demand: float) -> Case:
        return Case(
            name=name,
            subject=subject,
            baseline=baseline,
            value=statistics.median(self._samples[subject]),
            base=statistics.median(self._samples[baseline]),
            demand=demand,
            count=len(self._samples[subject]),
        )

    def limit(
        self, name: str, subject: str, most: float, unit: str = "MiB", scale: float = 1
    ) -> Case:
        """The median against a fixed limit."""
        samples = self._samples[subject]
        value = statistics.median(samples)
        return Case(name, subject, "limit", value, most, 1.0, unit, scale, len(samples))

    def best(
        self, name: str, subject: str, most: float, unit: str = "ms", scale: float = 1e3
    ) -> Case:
        """The smallest sample, in seconds, against a fixed limit: neighbours only add to it."""
        samples = self._samples[subject]
        return Case(name, subject, "limit", min(samples), most, 1.0, unit, scale, len(samples))
