"""The process with the keys: how it shuts itself off, hears the desk and answers it.

``confinement`` comes first, ``pipe`` carries frames, ``service`` answers them, ``wallet`` holds
the keys that are open, ``reviewing`` is the way from a payload to a review to a signature.
"""
