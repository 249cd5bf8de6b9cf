"""nbgrader reads this file when one of its commands is started in this folder.

Add your own settings below, such as what late work costs:

    c.LateSubmissionPlugin.penalty_method = "zero"
"""

from autograder.gradebook.config import configure

c = get_config()  # noqa: F821  # nbgrader provides it
configure(c, __file__)
