"""Hidden and public suites: checks as plain pytest, judged across a wire."""
