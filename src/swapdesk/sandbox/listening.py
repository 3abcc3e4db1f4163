"""Sockets that outlive the process that serves them."""

from __future__ import annotations

import socket

_BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, inheritable, so that a child started again keeps its address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it. uvloop sets it itself; asyncio's own loop does not for sockets that
    # it did not make, and every answer then waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind((host, port))
    listener.listen(_BACKLOG)
    listener.set_inheritable(True)
    return listener
