"""Runs every attack, alone and in a class, and prints what it gained: python -m benchmarks.hostile.

Ends with code 1 if an attack gained points or a secret, changed an honest grade, left something
behind, or cost more than `course.toml` allows.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import get_args

from autograder.course import COURSE_FILE, Course, Stage
from autograder.course_file import CourseFile, read_toml
from autograder.diagnosis.misconceptions import read
from autograder.grading.grade import cores, grade, grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Results, Status, SubmissionResult
from autograder.sandbox.session import WALL_CLOCK_FACTOR
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite.checks import CheckSpec
from benchmarks import plain_pytest
from tools import hostile_submissions as hostile

CLASS_SIZE, HOSTILE_SHARE = 200, 0.2
PARTS = 6  # of the attacks; each other stage gets one
OWN_SECONDS = 10.0  # wall-clock time, for each hostile submission: starts and ends of its workers
BROKEN = ("", "class SelfAttentionV1:\n", "import attention_helpers\n", "raise SystemExit\n")
HEAD = (
    "| attacks | number | points gained | secrets read | honest grades changed "
    "| files and processes left | peak memory of a grading process, MiB |\n" + "|---" * 7 + "|"
)
NO_DISK_LIMIT = frozenset(
    {"creates_endless_folders", "fills_the_disk", "maps_unlinked_files", "writes_at_long_paths"}
)


@dataclass
class Cost:
    """The cost of one submission for the grading process."""

    seconds: float  # wall-clock time
    processor_seconds: float
    peak_mib: float
    added_mib: float


@dataclass
class Figures:
    """The results of a group of attacks."""

    attacks: int = 0
    points_gained: float = 0.0
    secrets_read: int = 0
    honest_changed: int = 0
    left_behind: int = 0
    longest: tuple[float, str] = (0.0, "")
    most_processor: tuple[float, str] = (0.0, "")
    most_added: tuple[float, str] = (0.0, "")
    peak_mib: float = 0.0
    gaining: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # a sentence for each bound that is broken

    def add(
        self,
        student: str,
        result: SubmissionResult,
        specs: dict[str, CheckSpec],
        allowed: float | None = None,
        where: str = "",
    ) -> None:
        """Add the attack *student*, which may earn *allowed* points, by default its `at_most`."""
        self.attacks += 1
        most = hostile.expected(student).at_most if allowed is None else allowed
        gained = max(0.0, (result.score or 0.0) - most)
        secrets = _secrets_in(result, specs)
        self.points_gained += gained
        self.secrets_read += bool(secrets)
        self.gaining += [student] * bool(gained)
        if gained or secrets:
            self.remarks.append(f"{student}{where}: {gained:g} points, {', '.join(secrets)}")

    def add_cost(self, student: str, cost: Cost) -> None:
        """Keep the highest costs."""
        self.longest = max(self.longest, (cost.seconds, student))
        self.most_processor = max(self.most_processor, (cost.processor_seconds, student))
        self.most_added = max(self.most_added, (cost.added_mib, student))
        self.peak_mib = max(self.peak_mib, cost.peak_mib)

    def add_traces(self, traces: hostile.Traces) -> None:
        """Count the files and processes that grading left behind."""
        left = [*traces.changed_files, *traces.left_folders, *traces.left_processes]
        self.left_behind = len(left)
        self.remarks += [f"left behind: {thing}" for thing in left]


def main() -> None:
    """Measure, print, and end with code 1 if a bound is broken."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)  # the plain grader's runs are another user's
        course = hostile.course_with_low_limits(folder / "course")
        attacks = hostile.hostile_submissions(course, folder / "hostile")
        seconds = course.limits.submission_seconds
        print(f"Stage {hostile.STAGE}, isolation full, {cores()} cores, {seconds:g} s for each.\n")
        print(HEAD, flush=True)
        alone, costs = _alone(course, attacks)
        _print_row("each alone", alone)
        together = _together(course, attacks)
        _print_row("all in one class", together)
        large, times = _large_class(course, attacks)
        _print_row(f"a class of {CLASS_SIZE}", large)
        others, most = _other_stages(folder)
        _print_row("in every other stage", others)
        print(f"\nThe process that takes {others.peak_mib:.0f} MiB grades stage {most}.")
        _print_costs(alone, times)
        figures = (alone, together, large, others)
        _print_groups(*_plain(course, folder), [name for one in figures for name in one.gaining])
    broken = _broken(course, figures, costs)
    print("\n" + ("\n".join(broken) or "Every bound is kept."))
    sys.exit(bool(broken))


def _alone(course: Course, attacks: Sequence[Submission]) -> tuple[Figures, dict[str, Cost]]:
    """Grade one attack after the other in this process, and measure what each adds to it."""
    figures, costs = Figures(), {}
    stage = course.stage(hostile.STAGE)
    with (
        hostile.watched(course) as traces,
        open_suites(course, [stage]) as runner,
        ForkServer("full", course.limits) as fork_server,
    ):
        fork_server.wait_ready()
        specs = _specs(runner)
        for submission in honest_class(
            course, 12
        ):  # the first of each kind fills the runner's caches
            grade_one(runner, fork_server, submission)
        for submission in attacks:
            result, costs[submission.student] = _measured(runner, fork_server, submission)
            figures.add(submission.student, result, specs)
            figures.add_cost(submission.student, costs[submission.student])
    figures.add_traces(traces)
    return figures, costs


def _measured(
    runner: SuiteRunner, fork_server: ForkServer, submission: Submission
) -> tuple[SubmissionResult, Cost]:
    Path("/proc/self/clear_refs").write_text("5")  # the highest memory is counted again
    _, before = memory("self")
    clock, processor = time.monotonic(), time.process_time()
    result = grade_one(runner, fork_server, submission)
    seconds, processor_seconds = time.monotonic() - clock, time.process_time() - processor
    peak, _ = memory("self")
    return result, Cost(seconds, processor_seconds, peak, peak - before)


def memory(process: str) -> tuple[float, float]:
    """Return the highest and the present memory of *process* in MiB."""
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    found = {line.split()[0]: int(line.split()[1]) / 1024 for line in lines if "kB" in line}
    return found["VmHWM:"], found["VmRSS:"]


def _together(course: Course, attacks: Sequence[Submission]) -> Figures:
    """Grade the attacks in one class, with honest submissions between them."""
    honest = hostile.honest_submission(course)
    class_ = hostile.among_honest(attacks, honest)
    with hostile.watched(course) as traces:
        results, peak, _ = graded(course, class_)
    figures = _figures_of_class(course, results, {"honest": results.submissions[0]})
    figures.peak_mib = peak
    figures.add_traces(traces)
    return figures


def _large_class(course: Course, attacks: Sequence[Submission]) -> tuple[Figures, str]:
    """Grade a class of which a fifth is hostile or broken, and its honest part alone."""
    count = int(CLASS_SIZE * HOSTILE_SHARE)
    bad = [*_broken_work(), *attacks[:: len(attacks) // (count - len(BROKEN))]][:count]
    honest = honest_class(course, CLASS_SIZE - len(bad))
    every = len(honest) // len(bad)
    mixed = [
        one
        for number, hostile_one in enumerate(bad)
        for one in (hostile_one, *honest[number * every : (number + 1) * every])
    ]
    mixed += honest[len(bad) * every :]
    alone, _, honest_seconds = graded(course, honest)
    with hostile.watched(course) as traces:
        results, peak, seconds = graded(course, mixed)
    figures = _figures_of_class(course, results, {one.student: one for one in alone.submissions})
    figures.peak_mib = peak
    figures.add_traces(traces)
    granted = len(bad) * (course.limits.submission_seconds + OWN_SECONDS) / cores()
    if seconds > honest_seconds + granted:
        figures.remarks.append(f"the class took {seconds:.0f} s")
    times = (
        f"{len(mixed)} submissions, {len(bad)} of them hostile or broken: {seconds:.0f} s; "
        f"the {len(honest)} honest ones alone: {honest_seconds:.0f} s; "
        f"at most {honest_seconds + granted:.0f} s by the limits."
    )
    return figures, times


def _other_stages(folder: Path) -> tuple[Figures, str]:
    """Grade attacks in every other stage; return also the stage that takes the most memory.

    An attack there is its file and, below it, the hollow module of the stage, which may earn its
    points. Each stage gets a part of the attacks, and then its solution, which must earn 10.
    """
    file = read_toml(hostile.ROOT / COURSE_FILE, CourseFile)
    course = hostile.course_with_low_limits(folder / "all", last=file.stages[-1])
    texts = {name: text for name in hostile.attacks() if (text := _python_of(name))}
    figures, peaks = Figures(), {}
    with open_suites(course, course.stages) as runner:
        specs = {one.name: _specs(runner, one.name) for one in course.stages}
    with hostile.watched(course) as traces:
        others = [stage for stage in course.stages if stage.name != hostile.STAGE]
        for number, stage in enumerate(others):
            names = [*texts][number % PARTS :: PARTS]
            chosen = {name: texts[name] for name in names}
            peaks[stage.name] = _attack(course, stage, chosen, figures, specs)
    figures.add_traces(traces)
    figures.peak_mib = max(peaks.values())
    return figures, max(peaks, key=lambda name: peaks[name])


def _attack(
    course: Course,
    stage: Stage,
    texts: Mapping[str, str],
    figures: Figures,
    specs: Mapping[str, dict[str, CheckSpec]],
) -> float:
    """Grade the attacks *texts* in *stage*, and add them; return the highest memory in MiB.

    A record may also have checks of the stage that an exercise was copied from.
    """
    hollow = (stage.hidden / "hollow.py").read_text("utf-8")
    class_ = [module("hollow", hollow, stage)]
    class_ += [module(name, f"{text}\n\n{hollow}", stage) for name, text in texts.items()]
    class_.append(module("honest", stage.solution.read_text("utf-8"), stage))
    results, peak, _ = graded(course, class_)
    by_name = {one.student: one for one in results.submissions}
    allowed = by_name["hollow"].score or 0.0
    known = {name: one for each in specs.values() for name, one in each.items()}
    known |= specs[stage.name]
    for name in texts:
        figures.add(name, by_name[name], known, allowed, f" in {stage.name}")
    honest = by_name["honest"]
    if honest.score != honest.max_score:
        figures.honest_changed += 1
        lost = [one for one in hostile.checks_of(honest) if one.status is not Status.OK]
        said = "; ".join(f"{one.name}: {one.message or one.status}" for one in lost)
        figures.remarks.append(f"the solution of {stage.name} earned {honest.score} ({said})")
    return peak


def _python_of(attack: str) -> str:
    """Return the text of a quick attack if it is Python that other code may follow."""
    path = hostile.HOSTILE / attack / hostile.MODULE
    try:
        text = path.read_text("utf-8")
        compile(text, path.name, "exec")
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return "" if hostile.expected(attack).slow else text


def graded(course: Course, class_: Sequence[Submission]) -> tuple[Results, float, float]:
    """Grade *class_*; return also the highest memory of a grading process, and the seconds."""
    peaks = [0.0]
    start = time.monotonic()
    results = grade(
        course, class_, jobs=cores(), on_result=lambda _result: peaks.append(_peak_of_forks())
    )
    return results, max(peaks), time.monotonic() - start


def _peak_of_forks() -> float:
    """Return the highest memory of the forks of this process, except the fork server."""
    lists = Path("/proc/self/task").glob("*/children")
    children = {child for path in lists for child in path.read_text("ascii").split()}
    own = Path("/proc/self/cmdline").read_bytes()
    peaks = [0.0]
    for child in children:
        try:
            is_fork = Path(f"/proc/{child}/cmdline").read_bytes() == own
            peaks += [memory(child)[0]] if is_fork else []
        except (OSError, KeyError):  # it has just ended
            continue
    return max(peaks)


def _figures_of_class(
    course: Course, results: Results, alone: dict[str, SubmissionResult]
) -> Figures:
    """Count the gains of the attacks in *results*, and the honest results that differ from *alone*.

    *alone* has a result for each honest student, or one for all of them as ``honest``.
    """
    figures = Figures()
    with open_suites(course, [course.stage(hostile.STAGE)]) as runner:
        specs = _specs(runner)
    known = set(hostile.attacks())
    for result in results.submissions:
        wanted = alone.get(result.student) or alone.get("honest")
        if result.student in known:
            figures.add(result.student, result, specs)
        elif result.student.startswith("honest") and wanted:
            changes = _changes(wanted, result)
            figures.honest_changed += bool(changes)
            figures.remarks += [f"{result.student}: {one}" for one in changes]
        else:  # broken
            figures.attacks += 1
            figures.points_gained += result.score or 0.0
            figures.remarks += [f"{result.student}: {result.score:g} points"] * bool(result.score)
    return figures


def _changes(alone: SubmissionResult, result: SubmissionResult) -> list[str]:
    """Describe how the grade in *result* differs from that of the same work *alone*."""
    pairs = zip(hostile.checks_of(alone), hostile.checks_of(result), strict=True)
    return [
        f"{one.name} was {one.status} with {one.points:g} points, is {other.status} with "
        f"{other.points:g}: {other.message or one.message}"
        for one, other in pairs
        if (one.status, one.points) != (other.status, other.points)
    ]


def honest_class(course: Course, count: int) -> list[Submission]:
    """Return right and wrong programs that students write in good faith."""
    stage = course.stage(hostile.STAGE)
    solution = stage.solution.read_text("utf-8")
    variants = (hostile.ROOT / "tests/hidden" / hostile.STAGE / "variants").glob("*.py")
    stub = hostile.ROOT / "assignments" / hostile.STAGE / hostile.MODULE
    texts = [solution, stub.read_text("utf-8")]
    texts += [path.read_text("utf-8") for path in sorted(variants)]
    texts += [one.module(solution) for one in read(stage.misconceptions)[::3]]
    named = enumerate(islice(cycle(texts), count))
    return [module(f"honest {number}", text) for number, text in named]


def _broken_work() -> list[Submission]:
    return [module(f"broken {number}", text) for number, text in enumerate(BROKEN)]


def module(student: str, text: str, stage: Stage | None = None) -> Submission:
    """Return a submission with the code *text*, of the attacked stage or of another *stage*."""
    label = f"{stage.module}.py" if stage else hostile.MODULE
    code = Code(kind="module", cells=(text.encode(),), label=label)
    return Submission(student=student, stage=stage.name if stage else hostile.STAGE, code=code)


def _specs(runner: SuiteRunner, stage: str = hostile.STAGE) -> dict[str, CheckSpec]:
    return {check.name: check.spec for check in runner.checks(stage)}


def _secrets_in(result: SubmissionResult, specs: dict[str, CheckSpec]) -> list[str]:
    """List the texts in *result* that no student may read."""
    checks = hostile.checks_of(result)
    said = " ".join([result.message, *result.notices, *(check.message for check in checks)])
    found = [one for one in (hostile.SECRET, "BEGIN SOLUTION", *specs) if one in said]
    hidden = hostile.said_next_to_hidden_inputs(result, specs)
    return [*found, *re.findall(r"CANARY|\d\.\d", hidden)]


def _plain(course: Course, folder: Path) -> tuple[dict[str, float], list[str]]:
    """Run the attacks against a plain grader; return their points and the omitted attacks."""
    solution = course.stage(hostile.STAGE).solution
    has_module = [name for name in hostile.attacks() if _has_module(folder / "hostile" / name)]
    names = [name for name in has_module if name not in NO_DISK_LIMIT]
    folders = {name: folder / "plain" / name for name in ("", *names)}
    folders[""] = folder / "plain" / "honest"
    for name, place in folders.items():
        place.mkdir(parents=True)
        submission = folder / "hostile" / name if name else None
        plain_pytest.prepare(place, submission, solution)
    command = [sys.executable, "-B", "-m", "benchmarks.plain_pytest", *map(str, folders.values())]
    subprocess.run(command, cwd=hostile.ROOT, check=False, capture_output=True)  # noqa: S603  # our own command
    if plain_pytest.score(folders.pop("")) != plain_pytest.MOST:
        sys.exit("The plain grader does not give full marks to the solution.")
    skipped = [name for name in hostile.attacks() if name not in names]
    return {name: plain_pytest.score(place) for name, place in folders.items()}, skipped


def _has_module(folder: Path) -> bool:
    return (folder / hostile.MODULE).is_file() and not (folder / hostile.MODULE).is_symlink()


def _print_row(name: str, one: Figures) -> None:
    cells = (
        one.attacks,
        f"{one.points_gained:g}",
        one.secrets_read,
        one.honest_changed,
        one.left_behind,
        f"{one.peak_mib:.0f}",
    )
    print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)


def _print_costs(alone: Figures, times: str) -> None:
    print("\nThe most that one attack costs the grading process:")
    print(f"  delay            {alone.longest[0]:7.1f} s    {alone.longest[1]}")
    print(f"  processor time   {alone.most_processor[0]:7.2f} s    {alone.most_processor[1]}")
    print(f"  added memory     {alone.most_added[0]:7.1f} MiB  {alone.most_added[1]}")
    print(f"\n{times}\n", flush=True)


def _print_groups(
    plain: dict[str, float], skipped: Iterable[str], gaining_here: Collection[str]
) -> None:
    print("| group | attacks | gain points from a plain pytest grader | gain points here |")
    print("|---|---|---|---|")
    for group in get_args(hostile.Group):
        names = [name for name in hostile.attacks() if hostile.expected(name).group == group]
        gaining = [name for name in names if plain.get(name, 0.0) > 0]
        asked = [name for name in names if name in plain]
        best = max((plain[name] for name in gaining), default=0.0)
        shown = f"{len(gaining)} of {len(asked)}" + f", up to {best:g} of 10" * bool(gaining)
        here = len(set(names) & set(gaining_here))
        print(f"| {group} | {len(names)} | {shown} | {here} |")
    print(f"\nNot given to the plain grader: {', '.join(skipped)}.")


def _broken(course: Course, figures: Iterable[Figures], costs: dict[str, Cost]) -> list[str]:
    """List the bounds that are broken."""
    limits, broken = course.limits, [remark for one in figures for remark in one.remarks]
    for student, cost in costs.items():
        if cost.processor_seconds > limits.grader_seconds:
            broken.append(f"{student}: {cost.processor_seconds:.1f} s of processor time")
        if cost.added_mib > limits.grader_mib:
            broken.append(f"{student}: {cost.added_mib:.0f} MiB")
        if cost.seconds > limits.submission_seconds * WALL_CLOCK_FACTOR:
            broken.append(f"{student}: {cost.seconds:.0f} s")
    return broken


if __name__ == "__main__":
    main()
