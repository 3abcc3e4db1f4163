"""What the desk does, without a screen: both front ends, ``tui`` and ``cli``, are built on it.

``desk`` is the bundle they use, ``link`` its connected half. The rooms and which of them uses
which stand in docs/architecture.md.
"""
