# nbgrader reads this file when one of its commands is started in this folder.
# Add your own settings below, such as due dates' penalties:
#   c.AssignLatePenalties.plugin_class = "my_course.HalfAPointADay"

from autograder.gradebook.config import configure

c = get_config()  # noqa: F821  # nbgrader provides it
configure(c, __file__)
