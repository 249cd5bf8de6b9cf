"""Grades submissions in one pytest session that collects each suite once.

pytest runs every check with its fixtures and marks. The kit replaces only the loop: for each
submission, it runs the checks of its stage.
"""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import pytest
from msgspec.structs import replace

from autograder.course import Course, Handout, Stage
from autograder.diagnosis.diagnostician import Diagnostician, diagnose
from autograder.diagnosis.observation import Failure, Observation, Submitted
from autograder.diagnosis.programs import SolvedCheck
from autograder.diagnosis.recorded import RecordedSource, recorded_source
from autograder.diagnosis.student_code import StudentCode
from autograder.errors import CourseError, GraderError, UsageError, require_memory
from autograder.grading.context import SuiteContext
from autograder.grading.known_replies import KnownReplies
from autograder.grading.neighbours import Neighbours
from autograder.grading.outcomes import (
    GRADED_AGAIN,
    CheckOutcome,
    flags_of,
    import_submission,
    is_import_missing,
    missing_exercise,
    notices_of,
    submission_result,
    submission_status,
)
from autograder.grading.prices import Graded, breaks_point, priced, with_evidence
from autograder.grading.pytest_session import (
    CHECK,
    CollectedSuites,
    collected_suites,
    require_all_checks,
)
from autograder.grading.start import Start, is_written, needs_of, to_run_again
from autograder.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Outcome,
    SubmissionResult,
    add,
)
from autograder.sandbox.faults import Fault, Raised
from autograder.sandbox.notebook_magics import read_parts
from autograder.sandbox.process_limits import MIB, collect_memory
from autograder.sandbox.session import CHECK_SECONDS, Session
from autograder.sandbox.static_names import definitions, odd_words
from autograder.sandbox.transcript import OtherRequestError
from autograder.submission import Submission
from autograder.submission.notebook import code_cells
from autograder.suite.checks import CollectedCheck, Layer, WrongAnswer, collected_check, spec_of
from autograder.suite.compare import explain_nan
from autograder.suite.documented import noting_uncompared
from autograder.suite.forbidden import Answers, doubts_about
from autograder.suite.in_process import RecordingChannel
from autograder.suite.limits import limit_check
from autograder.suite.noise import watching_bounds
from autograder.suite.student_proxy import Channel

MOST_KEPT = MIB  # bytes of replies to one check until its diagnosis; honest ones have 58 KB


@contextmanager
def open_suites(
    course: Course,
    stages: Sequence[Stage],
    *,
    public: bool = False,
    diagnose: bool = True,
    context: SuiteContext | None = None,
) -> Iterator["SuiteRunner"]:
    """Collect the hidden (or public) suites of *stages* once; yield their runner.

    Raises ``CourseError`` if a suite can't be collected or has no check, and ``UsageError`` if a
    public suite lacks some of its checks.
    """
    suites = [stage.public_suite if public else stage.hidden_suite for stage in stages]
    context = context or SuiteContext(course)
    top = course.root if public else course.documented.parent
    with collected_suites(course.root, top, suites, context, public=public) as found:
        runner = SuiteRunner(course, context, found, public=public, diagnose=diagnose)
        for stage in stages:
            if not runner.checks(stage.name):
                raise CourseError(f"The suite of {stage.name} has no checks.")
            if public:
                require_all_checks(stage, add(runner.points(stage).values()))
        with runner.opened:
            yield runner


class SuiteRunner:
    """Runs the checks of the stages on one submission after another.

    *origins* are the runners of the stages that copies come from, which are in *opened*.
    """

    def __init__(
        self,
        course: Course,
        context: SuiteContext,
        suites: CollectedSuites,
        *,
        public: bool,
        diagnose: bool,
    ) -> None:
        self.course = course
        self.is_public = public
        self.diagnoses = diagnose
        self.opened = ExitStack()
        self.origins: dict[str, SuiteRunner | None] = {}
        self._context = context
        self._suites = suites
        self._sources: dict[str, RecordedSource] = {}
        self._diagnosticians: dict[str, Diagnostician] = {}
        self._solved_checks: dict[str, SolvedCheck] = {}
        self._neighbours: dict[str, Neighbours] = {}
        self._known: defaultdict[str, KnownReplies] = defaultdict(KnownReplies)
        self._usual: dict[str, frozenset[str]] = {}
        self._checks: dict[str, list[CollectedCheck]] = {}
        for item in suites.items:
            self._checks.setdefault(item.path.parent.name, []).append(collected_check(item))

    def checks(self, stage: str) -> list[CollectedCheck]:
        """List the checks of *stage* in order."""
        return list(self._checks.get(stage, []))

    def points(self, stage: Stage) -> dict[str, float]:
        """Sum the points of the checks of each exercise of *stage*."""
        specs = [check.spec for check in self.checks(stage.name)]
        return {
            exercise.name: add(spec.points for spec in specs if spec.exercise == exercise.name)
            for exercise in stage.exercises
        }

    @property
    def used_documented_tensors(self) -> frozenset[str]:
        """The names of the documented tensors that checks have used so far."""
        tensors = self._context.documented_tensors
        return frozenset(tensors.used) if tensors is not None else frozenset()

    def wrong_documented_values(self, stage: Stage) -> Iterator[str]:
        """Yield a sentence for each documented value that the solution does not give here."""
        return self._failures_of_solution(stage, {Layer.PARAMETERS, Layer.DOCUMENTED})

    def require_right_solutions(self) -> None:
        """Raise ``CourseError`` if a solution does not pass every check on this machine.

        A wrong suite, documented value or torch would take points from correct submissions.
        """
        for name in self._checks:
            stage = self.course.stage(name)
            failure = next(self._failures_of_solution(stage, set(Layer)), None)
            if failure is not None:
                raise CourseError(
                    f"The course's own solution fails a check. {failure}\n"
                    "Nothing was graded: the same check would take points from correct "
                    "submissions. "
                    f"Run `autograder doctor` and `autograder verify --stage {name}`."
                )

    def _failures_of_solution(self, stage: Stage, layers: Collection[Layer]) -> Iterator[str]:
        """Yield a sentence for each check of *layers* that the solution of *stage* fails."""
        for check in self.checks(stage.name):
            if check.spec.layer in layers:
                error = self._solve(check.item).error
                if error is not None:
                    yield f"{stage.name}, {check.name}: {error}"

    def methods(self, item: pytest.Item) -> frozenset[str]:
        """Return the grading methods of ``rules.toml`` that *item* uses."""
        return self._solve(item).methods

    def grade_submission(
        self, submission: Submission, session: Session, exercise: str = ""
    ) -> SubmissionResult:
        """Run every check of the submission's stage, or only those of one *exercise*.

        Student code never causes an exception here.
        """
        stage = self.course.stage(submission.stage)
        import_fault = import_submission(session)
        by_exercise: dict[str, list[CollectedCheck]] = {}
        for check in self.checks(stage.name):
            if exercise in {"", check.spec.exercise}:
                by_exercise.setdefault(check.spec.exercise, []).append(check)
        code = StudentCode(submission.code.cells if submission.code else (), _exercises(stage))
        start = self._start(stage, by_exercise, session, import_fault, code)
        graded = [
            self._grade_exercise(stage, checks, session, start) for checks in by_exercise.values()
        ]
        given = submission.code.given if submission.code else ()
        unclear = self._unclear(stage, by_exercise, session, start)
        flags = () if self.is_public else flags_of(session, unclear, start.faults)
        exercises = self._priced(stage, graded, session, start)
        status, message = submission_status(session, import_fault)
        unclear = ((GRADED_AGAIN,) if session.quiet else ()) + unclear
        notices = notices_of(session, _exercises(stage), given, unclear)
        result = submission_result(submission, status, message, exercises, notices, flags)
        return replace(result, printed=session.printed_by_import) if self.is_public else result

    def _unclear(
        self,
        stage: Stage,
        by_exercise: Mapping[str, Sequence[CollectedCheck]],
        session: Session,
        start: Start,
    ) -> tuple[str, ...]:
        """Return a sentence for each reason why the source does not show which functions run."""
        found = [*start.doubts]
        if not self.is_public:
            with_rules = [
                name
                for name, checks in by_exercise.items()
                if any(check.spec.layer is Layer.FORBIDDEN for check in checks)
            ]
            usual = self._usual_words(stage) if odd_words(session.definitions) else frozenset()
            found += doubts_about(session.definitions, with_rules, usual)
            defined = {definition.name for definition in session.definitions}
            found += [
                f"{name} exists when the file has run, but the source does not define it, so an "
                "instructor should read the code."
                for name, fault in start.missing.items()
                if fault is None and name not in defined
            ]
        return tuple(dict.fromkeys(found))

    def _usual_words(self, stage: Stage) -> frozenset[str]:
        """Return the unusual words that the course's own code of *stage* contains."""
        if stage.name not in self._usual:
            paths = (stage.solution, *stage.variants)
            sources: list[tuple[bytes, ...]] = [(path.read_bytes(),) for path in paths]
            if stage.lab.is_file():
                sources.append(code_cells(stage.lab.read_bytes(), stage.lab.name))
            trees = ([read_parts(cell).tree for cell in cells] for cells in sources)
            found = (odd_words(definitions(one)) for one in trees)
            self._usual[stage.name] = frozenset(use.name for uses in found for use in uses)
        return self._usual[stage.name]

    def _priced(
        self, stage: Stage, graded: Sequence[Graded], session: Session, start: Start
    ) -> tuple[ExerciseResult, ...]:
        """Return the results of the exercises with their points; public suites give none."""
        if self.is_public:
            graded = [self._diagnosed(stage, one, start) for one in graded]
            return tuple(ExerciseResult.of(one.exercise, tuple(one.results)) for one in graded)
        if self.course.grading.right_neighbours:
            graded = self._with_right_neighbours(stage, graded, session, start)
        wrong = [one.exercise for one in graded if not one.is_right]
        graded = [
            dataclasses.replace(self._diagnosed(stage, one, start), uses=start.used(one, wrong))
            for one in graded
        ]
        return tuple(priced(one, self.course.grading) for one in graded)

    def run(self, item: pytest.Item, channel: Channel) -> Observation:
        """Run one check on *channel* as pytest does, and return the observation.

        On a submission, the check does not run if it has already passed with the same replies.
        """
        if not isinstance(channel, Session):
            return self._observe(item, channel)
        run = self._observe if self.is_public else self._run_unless_known
        received = channel.received
        with channel.charged(CHECK_SECONDS), limit_check(channel.seconds_left, CHECK):
            observation = run(item, channel)
        if channel.received - received > MOST_KEPT:
            observation = observation.without_answers()
            collect_memory()  # frames and exceptions that refer to each other keep the replies
        return observation

    def _run_unless_known(self, item: pytest.Item, session: Session) -> Observation:
        known = self._known[item.nodeid]
        if (spec := spec_of(item)) is not None:
            session.begin(spec.exercise)
        followed = known.follow(session)
        if isinstance(followed, Observation):
            return followed
        with session.continuing(followed):
            observation = self._observe(item, session)
        if isinstance(observation.error, OtherRequestError):  # not only replies decide its requests
            return self._observe(item, session)
        if observation.error is None:
            known.add(followed, observation)
        return observation

    def _observe(self, item: pytest.Item, channel: Channel) -> Observation:
        self._context.channel, self._context.last_student = channel, None
        with (
            watching_bounds(on=not isinstance(channel, Session)) as margins,
            noting_uncompared() as uncompared,
        ):
            error = self._suites.run(item)
        require_memory(error)  # otherwise the answer would be blamed for it
        student = self._context.last_student
        self._context.channel = self._context.last_student = None
        if student is None:
            return Observation((), error)
        changed, methods = bool(student.changed_inputs), frozenset(student.methods)
        margin = min(map(abs, margins), default=math.inf)
        notices, doubts = (*student.notices, *uncompared), tuple(student.doubts.values())
        shown = Observation(student.observed, error, changed, methods, margin, notices, doubts)
        return shown._replace(uncompared=bool(uncompared), given_back=student.given_back)

    def _start(
        self,
        stage: Stage,
        by_exercise: dict[str, list[CollectedCheck]],
        session: Session,
        import_fault: Fault | None,
        code: StudentCode,
    ) -> Start:
        """Find missing exercises, and run the checks that show values.

        These run before checks with hidden inputs, because later messages of a worker could contain
        such inputs.
        """
        checks = [check for checks in by_exercise.values() for check in checks]
        start = Start(code)
        for need in dict.fromkeys(need for check in checks for need in needs_of(check)):
            session.begin(need)
            fault = import_fault or missing_exercise(session, need, _exercises(stage))
            start.missing[need] = fault
        for check in checks if not self.is_public else ():
            if not check.spec.layer.hidden and start.fault(check) is None:
                start.observed[check] = self.run(check.item, session)
        return start

    def _grade_exercise(
        self, stage: Stage, checks: list[CollectedCheck], session: Session, start: Start
    ) -> Graded:
        """Run the checks of one exercise."""
        results: list[CheckResult] = []
        answers: dict[str, Answers] = {}
        failures = start.failures.setdefault(checks[0].spec.exercise, [])
        reveal = self.course.reveal
        if session.quiet:  # values of its answers may be hidden inputs
            reveal = replace(reveal, documented_values=False)
        for check in checks:
            outcome = CheckOutcome(check, reveal, session.problems, public=self.is_public)
            fault = start.fault(check)
            if fault is not None:
                results.append(outcome.skipped(fault))
                continue
            observation = start.observed.get(check) or self.run(check.item, session)
            start.doubts += observation.doubts
            start.faults += [observation.error] if isinstance(observation.error, Raised) else []
            result = self._result(outcome, session.module, observation)
            answers[check.name] = observation.answers
            results.append(outcome.add_printed(result, session.printed))
            if observation.uncompared:
                start.uncompared.add(check)
            if (
                observation.error is not None
                and is_written(observation, start.code, check.spec.exercise)
                and not is_import_missing(observation.error, session.problems)
            ):
                failures.append(Failure(check.item, observation, outcome.shows_values))
        compared = start.uncompared.isdisjoint(checks)
        if compared and all(result.outcome is Outcome.PASSED for result in results):
            start.right.append(checks[0].spec.exercise)
        if self.is_public:
            return Graded(checks, results, {})
        found, doubts = with_evidence(checks, results, self._context.needed(stage), answers)
        start.doubts += doubts
        printed = [check for check in checks if check.spec.layer is Layer.DOCUMENTED]
        uncompared = frozenset(one.name for one in printed if self._solve(one.item).uncompared)
        return Graded(checks, found, {}, uncompared, breaks_point(stage, checks, found))

    def _diagnosed(self, stage: Stage, graded: Graded, start: Start) -> Graded:
        """Name the mistakes in an exercise that remain with right neighbours."""
        found = self._examine(stage, start.submitted(graded))
        results = [
            CheckOutcome(check, self.course.reveal, public=self.is_public).add_diagnosis(one, found)
            for check, one in zip(graded.checks, graded.results, strict=True)
        ]
        return dataclasses.replace(graded, results=results)

    def _examine(self, stage: Stage, submitted: Submitted) -> Mapping[str, Diagnosis]:
        """Name the mistakes in an exercise; a student's machine has only records for this."""
        if not submitted.failures or not self.diagnoses:
            return {}
        if not isinstance(self.course, Handout):
            return self.diagnostician(stage).examine(submitted)
        return diagnose(self._recorded(stage), submitted).diagnoses

    def _with_right_neighbours(
        self, stage: Stage, graded: Sequence[Graded], session: Session, start: Start
    ) -> list[Graded]:
        """Run failed checks again with the solution's definitions of the wrong exercises they use.

        Only pass or fail of each check leaves the second run.
        """
        if stage.name not in self._neighbours:
            self._neighbours[stage.name] = Neighbours(stage, self.checks(stage.name))
        neighbours = self._neighbours[stage.name]
        wrong: list[str] = []
        found = []
        for one in graded:
            used = [name for name in neighbours.of(one.exercise) if name in wrong]
            passed: list[str] = []
            if used and (failed := to_run_again(one, start)):
                with session.followed_by(neighbours.code(used)) as second:
                    passed = [check.name for check in failed if self._passes(check, second)]
            found.append(dataclasses.replace(one, given=dict.fromkeys(passed, " and ".join(used))))
            wrong += [] if found[-1].is_right else [one.exercise]
        return found

    def _passes(self, check: CollectedCheck, session: Session) -> bool:
        seen = self.run(check.item, session)
        return seen.error is None and not seen.uncompared

    def diagnostician(self, stage: Stage) -> Diagnostician:
        """Return the diagnostician of *stage*, which needs the solution."""
        if isinstance(self.course, Handout):
            raise CourseError(f"{stage.name} has no solution here.")
        if stage.name not in self._diagnosticians:
            solution = self._context.solution(stage)
            self._diagnosticians[stage.name] = Diagnostician(
                stage, self.run, self._solved_check, solution
            )
        return self._diagnosticians[stage.name]

    def _result(self, outcome: CheckOutcome, module: str, observation: Observation) -> CheckResult:
        """Return the result of a check; an unexpected error is the answer's if the solution passes.

        A student's copy has no solution, but ``verify`` has run the public suite on it.
        """
        error = observation.error
        if error is None:
            return outcome.passed(observation.notices)
        if isinstance(error, WrongAnswer):
            error = explain_nan(error, (answer for _, answer in observation.answers))
        if known := outcome.failed(error):
            return known
        if isinstance(error, UsageError):  # the public suite can't be used
            raise error
        item = outcome.check.item
        if isinstance(error, Exception) and (
            isinstance(self.course, Handout) or self._solve(item).error is None
        ):
            return outcome.unusable(error)
        msg = f"{item.nodeid} failed on {module}: {type(error).__name__}: {error}"
        raise GraderError(msg) from error

    def _solve(self, item: pytest.Item) -> Observation:
        return self._solved_check(item).observation

    def _solved_check(self, item: pytest.Item) -> SolvedCheck:
        """Run the check *item* once on the solution of its stage, and cache its replies."""
        if item.nodeid not in self._solved_checks:
            solution = RecordingChannel(self._context.solution(self._context.stage(item)))
            solved = self.run(item, solution)
            self._solved_checks[item.nodeid] = SolvedCheck(item.nodeid, solution.exchanges, solved)
            if solved.error is None:
                self._known[item.nodeid].add(solution.transcript, solved)
        return self._solved_checks[item.nodeid]

    def _recorded(self, stage: Stage) -> RecordedSource:
        if stage.name not in self._sources:
            self._sources[stage.name] = recorded_source(stage)
        return self._sources[stage.name]


def _exercises(stage: Stage) -> tuple[str, ...]:
    return tuple(exercise.name for exercise in stage.exercises)
