"""The rules by subject. A module lists its own; ``registry`` has them all in their order."""
