"""Sockets that outlive the process that serves them."""

from __future__ import annotations

import socket

_BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, inheritable, so that a child started again keeps its address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(_BACKLOG)
    listener.set_inheritable(True)
    return listener
