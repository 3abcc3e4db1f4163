"""Defects of the sandbox around its chains: the exchanges' books, faults, the server."""

from __future__ import annotations

from .defect import Defect

BOOKS: tuple[Defect, ...] = ()

FAULTS: tuple[Defect, ...] = ()

SERVER: tuple[Defect, ...] = ()
