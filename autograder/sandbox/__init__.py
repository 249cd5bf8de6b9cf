"""Where student code runs: confined, watched and killed from outside."""
