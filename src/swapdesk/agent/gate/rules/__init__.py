"""The rules by subject. A module lists its own; ``verdict`` has them all in their order."""
