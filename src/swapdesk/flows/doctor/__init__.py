"""Checks of the desk. Each finding is a sentence on what is wrong, with the command that repairs
it.

``home_checks`` only reads files; ``service_checks`` asks the service and the nodes. A check changes
nothing: it creates no file, changes no file mode and starts no sandbox.
"""
