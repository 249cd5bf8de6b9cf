"""nbgrader reads this file when one of its commands is started in this folder.

Add your own settings below, such as the penalty for late work:

    c.LateSubmissionPlugin.penalty_method = "zero"
"""

c = get_config()  # noqa: F821  # nbgrader provides it
try:
    from autograder.gradebook.config import configure

    configure(c, __file__)
except Exception as error:
    # nbgrader would log this error, continue without this file, and run students' code unprotected.
    msg = f"{__file__} can't be used: {type(error).__name__}: {error}"
    raise SystemExit(msg) from error
