"""Names the mistake behind failed checks."""
