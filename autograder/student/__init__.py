"""What students run themselves, on their own machine and their own code."""
