"""The rules by subject. Each module lists its own rules; ``verdict`` has all of them in order."""
