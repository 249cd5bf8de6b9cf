"""What authors of hidden and public suites import."""
