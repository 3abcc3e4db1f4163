"""What the desk does without a screen; both front ends, ``tui`` and ``cli``, are built on this
package.

``desk`` is the desk that both use; it works from disk. ``connected_desk`` has the parts that need
the service and is loaded when the desk connects; ``connection`` has the addresses.
``failure_messages`` explains refusals and failures of the service. docs/architecture.md shows the
packages and which of them may use which. Modules other than ``desk`` and ``connected_desk`` use the
whole desk only as a type; their callers pass it in.
"""
