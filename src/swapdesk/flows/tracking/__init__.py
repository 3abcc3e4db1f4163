"""All orders together: followed live, folded forward, announced."""
