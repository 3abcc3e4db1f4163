"""Sandboxes for the tests of this room."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

from furnished_home import furnish
from sandbox.running import Running
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node.node import Node


@contextmanager
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A furnished sandbox at speed 600."""
    home = tmp_path_factory.mktemp("running")
    furnish(home, wallet=False)
    with Running(home / "sandbox", seed=None) as sandbox:
        yield sandbox


@pytest.fixture(scope="package")
def everyones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One sandbox for all modules that end none of its processes, move no clock of it and leave
    no fault behind."""
    with furnished(tmp_path_factory) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def running(everyones: Running) -> Running:
    """A module that needs a sandbox to itself has its own one in place of this."""
    return everyones


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """For one module alone."""
    with furnished(tmp_path_factory) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx2.Client]:
    """With the key of the first partner."""
    with running.api() as client:
        yield client


@pytest.fixture
def control(running: Running) -> Iterator[httpx2.Client]:
    """No fault outlives its test."""
    with running.control() as client:
        yield client
        client.delete("/faults")


@pytest.fixture(scope="session")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a new node: issuing the world's money is most of what a test of one costs."""
    path = tmp_path_factory.mktemp("issued") / "node.db"
    Node(path, SystemClock(), seed=7, speed=Decimal(1)).close()
    return path


@pytest.fixture
def node(tmp_path: Path, issued: Path) -> Iterator[Node]:
    """A node in this process, at speed 1: its time moves only by ``advance``."""
    shutil.copy(issued, tmp_path / "node.db")
    made = Node(tmp_path / "node.db", SystemClock(), seed=7, speed=Decimal(1))
    yield made
    made.close()
