"""Leaves out written questions in ``nbgrader generate_assignment``, as ``release`` does."""

from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.authoring.lab_notebook import remove_questions


class RemoveQuestions(NbGraderPreprocessor):
    """The first step if ``course.toml`` has ``written = false``."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Remove the questions and the cells for the answers from *nb*."""
        remove_questions(nb)
        return nb, resources
