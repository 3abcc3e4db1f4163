"""The commands. ``main`` lists them; ``*_command`` and ``*_commands`` declare them for click, the
other modules carry them out. ``cli_context`` is one call, ``session`` the desk behind it.

The installed command (``scripts/swapdesk``) drops ``PYTHONPATH``, ``PYTHONSTARTUP`` and other
variables that load code, and begins anew without them before anything of swapdesk is imported. It
cannot prevent a ``sitecustomize`` on such a path: Python runs that first. ``python -I -m
swapdesk`` begins without it; ``python -m swapdesk`` takes the environment as it is.
"""
