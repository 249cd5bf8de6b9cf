"""Makes mistakes by rewriting the solution's syntax tree, and holds their sentences."""
