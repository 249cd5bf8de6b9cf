"""A course packed for a grader elsewhere: everything that grading reads there, and nothing else."""
