"""What the desk does, without a screen: both front ends, ``tui`` and ``cli``, are built on it.

``desk`` is the bundle they use and works from disk. ``connected_desk`` is its connected half,
loaded when the desk connects; ``connection`` says where to. ``failure_messages`` says what a
refusal or a failure of the service means. docs/architecture.md shows the rooms and which of them
may use which. Below ``desk`` and ``connected_desk`` the whole desk is a type alone, and is handed
to whom it concerns.
"""
