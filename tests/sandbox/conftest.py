"""Sandboxes for the tests of this room."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

from furnished_home import furnish
from sandbox.running import Running
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node.node import Node


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A furnished sandbox at speed 600, shared by the tests of a module."""
    home = tmp_path_factory.mktemp("running")
    furnish(home, wallet=False)
    with Running(home / "sandbox", seed=None) as sandbox:
        yield sandbox


@pytest.fixture(scope="package")
def everyones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One sandbox for all modules that end none of its processes, count no orders but their own
    and leave no fault behind: they have it as their ``running``."""
    home = tmp_path_factory.mktemp("everyones")
    furnish(home, wallet=False)
    with Running(home / "sandbox", seed=None) as sandbox:
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
