"""Checks of the desk: what is wrong, a sentence each, and the command that repairs it.

``home_checks`` reads files alone, ``service_checks`` asks the service and the nodes. A check
changes nothing: it makes no file, closes no mode and starts no sandbox.
"""
