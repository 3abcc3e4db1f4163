"""From the line a trader types to routes that are compared by what arrives."""
