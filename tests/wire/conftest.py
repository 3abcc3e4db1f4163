"""Properties are judged by their result, never by the load of the machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("swapdesk", deadline=None)
settings.load_profile("swapdesk")
