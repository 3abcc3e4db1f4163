"""The Partner Swap API v2 as it is on the wire: pure data, no I/O, shared by both of its sides.

``operations`` has every operation once; the other modules are the models it names, one subject
each, on the base classes of ``model``; ``encoding`` is how their values are read and written.
"""
