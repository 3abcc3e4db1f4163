"""The checks of ``swapdesk doctor``. Each finding is a sentence; if something is wrong, it comes
with a command that repairs it. ``home_checks`` only reads files; ``service_checks`` asks the
service and the nodes; ``shell_checks`` looks for what a shell needs. A check changes nothing: it
creates no file, changes no file mode and starts no sandbox."""
