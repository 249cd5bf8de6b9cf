"""Removes written questions in ``nbgrader generate_assignment``, as ``release`` does."""

from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.authoring.lab_notebook import remove_questions


class RemoveQuestions(NbGraderPreprocessor):
    """Removes the written questions of a lab, if ``course.toml`` sets ``written = false``."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Remove the questions and their answer cells from *nb*."""
        remove_questions(nb)
        return nb, resources
