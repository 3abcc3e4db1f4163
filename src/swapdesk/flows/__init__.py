"""What the desk does without a screen; both front ends, ``tui`` and ``cli``, are built on this
package.

``desk`` works from disk. ``connected_desk`` has the parts that need the service. Other modules use
the whole desk only as a type; their callers pass it in. docs/architecture.md shows which packages
may use which.
"""
