"""Looking after the desk: what is wrong, in one sentence each, and the command that mends it.

``home_checks`` reads files alone, ``service_checks`` asks the service and the nodes. Looking
changes nothing: no file is made, no mode is closed and no sandbox is started.
"""
