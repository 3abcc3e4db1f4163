"""The rules by subject. Each module lists its own rules; ``verdict`` lists all of them in order."""
