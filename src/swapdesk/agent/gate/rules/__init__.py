"""The rules by subject. A module lists its own in ``RULES``; ``registry`` has them all."""
