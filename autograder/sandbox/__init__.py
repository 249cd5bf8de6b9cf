"""The sandbox: student code runs in confined worker processes with limits."""
