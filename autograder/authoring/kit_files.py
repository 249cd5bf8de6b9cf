"""Provides what a course's folder needs to install the kit: wheel, constraints and workflows."""

from collections.abc import Iterator
from importlib import metadata
from typing import Final

from autograder.authoring import wheels
from autograder.course import Course
from autograder.errors import CourseError

WHEEL_FOLDER: Final = "kit"
STUDENTS: Final = "for-students"
FROM_SOURCE: Final = "--constraint constraints.txt ."  # how the kit's own workflow installs it
FROM_WHEEL: Final = f"--constraint constraints.txt {WHEEL_FOLDER}/*.whl"
BUILD: Final = (
    "kit as a wheel in kit/. Build the wheel in the course's repository:\n"
    "#\n"
    "#     python -m pip wheel --no-deps --wheel-dir kit .\n"
)
COPY: Final = "kit as a wheel in kit/: copy the wheel from handout/ of the course's repository.\n"


def documents() -> str:
    """Return the address of the kit's documents."""
    urls = metadata.metadata(wheels.KIT).get_all("Project-URL") or []
    return next(
        (str(url).partition(", ")[2] for url in urls if str(url).startswith("Documentation")),
        "the folder docs/ of the kit",
    )


def files_of(course: Course) -> Iterator[tuple[str, bytes]]:
    """Yield the path in the folder of *course* and the content of each file."""
    wheel = wheels.kit_wheel(course, ())
    yield f"{WHEEL_FOLDER}/{wheel.name}", wheel.content
    yield "constraints.txt", wheels.kit_file("constraints.txt")
    for name, folder, changed in (
        ("grade.yml", "", (FROM_SOURCE, FROM_WHEEL)),
        ("check.yml", f"{STUDENTS}/", (BUILD, COPY)),
    ):
        text = wheels.kit_file(name).decode()
        if changed[0] not in text:
            msg = f"{name} of the kit does not install it as expected; report this to the kit."
            raise CourseError(msg)
        text = text.replace(*changed).replace("docs/", f"{documents()}/")
        yield f"{folder}.github/workflows/{name}", text.encode()
