"""The wire format of the Partner Swap API v2: pure data without I/O, shared by client and service.

``operations`` lists every operation of the API. The models that the operations use are in the other
modules, one subject each, and are based on the classes in ``model``. ``encoding`` reads and writes
the values of the models.
"""
