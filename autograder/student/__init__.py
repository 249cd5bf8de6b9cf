"""What students run on their own machine: checks in the terminal and in the lab notebook."""
