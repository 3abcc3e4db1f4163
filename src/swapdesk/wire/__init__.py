"""The wire format of the Partner Swap API v2: pure data without I/O, shared by client and service.

``operations`` has every operation once. The other modules define the models that the operations
name, one subject each, on the base classes of ``model``. ``encoding`` reads and writes their
values.
"""
