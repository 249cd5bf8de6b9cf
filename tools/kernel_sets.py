"""Proves a course under the kernels that torch has loaded: python -m tools.kernel_sets STAGE….

Prints the problems: findings of `verify`, programs that a student's machine names differently
from grading, and records that `release` would write in other bytes. torch chooses its kernels
when it is loaded, so each set of them needs its own process.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring import release
from autograder.authoring.fingerprinting import kinds_of
from autograder.authoring.recording import open_recorder
from autograder.authoring.verify import verify
from autograder.course import Course, Stage, find_root, load
from autograder.diagnosis import fingerprints
from autograder.diagnosis.diagnostician import Source, diagnose
from autograder.diagnosis.live import LiveSource
from autograder.diagnosis.observation import Failure
from autograder.diagnosis.recorded import recorded_source
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.suite.in_process import LocalChannel, solution_channel
from tools.wrong_programs import submitted

# The sets that one processor has: different instructions, sums and numbers of threads.
SETS = {
    "as-it-is": {},
    "no-vectors": {"ATEN_CPU_CAPABILITY": "default"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "compatible-mkl": {"MKL_CBWR": "COMPATIBLE"},
    "one-thread": {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    "two-threads": {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"},
}
Names = dict[str, list[str]]  # of mistakes, by check


def main() -> None:
    """Print each problem on a separate line."""
    parser = ArgumentParser()
    parser.add_argument("stages", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="compare names of one program in N")
    parser.add_argument("--full", action="store_true", help="the full proof, and names")
    parser.add_argument(
        "--build", nargs="*", default=(), help="stages whose records are made again"
    )
    words = parser.parse_args()
    course = load(find_root(Path(__file__).parent))
    stages = [course.stage(name) for name in words.stages] or list(course.every_stage)
    built = [course.stage(name) for name in words.build]
    for problem in verify(course, stages, full=words.full, prices=False).findings:
        print(problem)
    named = other_names(course, stages, words.every) if words.full else ()
    for problem in (*named, *other_bytes(course, built)):
        print(problem)
    print(f"{len(stages)} stages done")  # after a crash this line is missing


def other_names(course: Course, stages: list[Stage], every: int) -> Iterator[str]:
    """List the programs that get different names from fingerprints and from wrong programs."""
    with open_suites(course, stages, public=True) as runner:
        for stage in stages:
            solution = solution_channel(stage.solution)
            by_code = LiveSource(stage, runner.run, solution)
            by_numbers = recorded_source(stage)
            undecided = fingerprints.read(stage.records).undecided_by_check()
            for number, kind in list(enumerate(kinds_of(stage, solution)))[::every]:
                if kind.channel is None:
                    continue
                code, numbers = (
                    names(source, runner, stage, kind.exercise, kind.channel)
                    for source in (by_code, by_numbers)
                )
                label = fingerprints.kind_label(number)
                checks = {
                    check
                    for check in code.keys() | numbers.keys()
                    if (check, label) not in undecided
                }
                if any(code.get(check) != numbers.get(check) for check in checks):
                    change = f"{stage.name}, {kind.rewrite.explanation}"
                    yield f"{change}: {code} in grading, {numbers} elsewhere"


def names(
    source: Source, runner: SuiteRunner, stage: Stage, exercise: str, code: LocalChannel
) -> Names:
    """Name the mistakes in *code* as *source* does."""
    checks = [one.item for one in runner.checks(stage.name) if one.spec.exercise == exercise]
    seen = [Failure(check, runner.run(check, code)) for check in checks]
    failures = [one for one in seen if one.observation.error is not None]
    passed = [one.item for one in seen if one.observation.error is None]
    found = diagnose(source, submitted(stage, exercise, failures, passed, code)).diagnoses
    return {check: sorted(one.misconceptions) for check, one in found.items()}


def other_bytes(course: Course, stages: list[Stage]) -> Iterator[str]:
    """List the records whose bytes would change if they were made again."""
    if not stages:
        return
    with open_recorder(course, stages) as recorder:
        for stage in stages:
            digest = release.sources_digest(stage)
            text = release.public_suite_of(stage) + release.stub_of(stage)
            if recorder.content(stage, digest, text) != stage.records.read_bytes():
                yield f"{stage.name}: release writes another {stage.records.name}"


if __name__ == "__main__":
    main()
