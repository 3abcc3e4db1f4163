"""The commands. ``main`` names them; ``*_command`` and ``*_commands`` are what click reads, the
other modules what they do. ``call`` and ``session`` are one call and the desk behind it.

The installed command (``scripts/swapdesk``) drops ``PYTHONPATH``, ``PYTHONSTARTUP`` and other
variables that load code, and begins anew without them before anything of swapdesk is imported. It
cannot prevent a ``sitecustomize`` on such a path: Python runs that first. ``python -I -m
swapdesk`` begins without it; ``python -m swapdesk`` takes the environment as it is.
"""
