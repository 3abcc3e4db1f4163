"""The commands of the program. ``main`` lists them. Modules named ``*_command`` and ``*_commands``
declare commands for click; the other modules carry them out. ``cli_context`` represents one run of
a command, and ``session`` opens the desk for it.

The installed program (``scripts/swapdesk``) drops ``PYTHONPATH``, ``PYTHONSTARTUP`` and other
variables that load code, and starts itself again without them before it imports anything of
swapdesk. It cannot prevent a ``sitecustomize`` on such a path, because Python runs that first.
``python -I -m swapdesk`` starts without these variables; ``python -m swapdesk`` uses the
environment as it is.
"""
