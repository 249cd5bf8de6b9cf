"""Counts habits of translated English: python -m tools.prose [--check] [FOLDER].

FOLDER is a repository, by default this one. Reads its tracked text files, except the work of
students and files that `release` builds, and prints the count of each habit for each group of
readers. With --check it lists each place with a replacement instead, and exits with 1 if there
is one.
"""

import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

OWNERS = "its|their|his|her|my|your|our|one's"
FUNCTION_WORDS = (
    "and|as|at|but|by|for|from|if|in|is|of|on|or|so|that|to|when|where|which|with|without"
)
# The replacement, and a pattern. No habit has an exception: each pattern is written so that it
# finds no literal meaning of its words.
HABITS = (
    ("fix", r"(\b|_)me[n]d(s|ed|ing)?(\b|_)"),
    ("again, reshaped", r"\banew\b"),
    ("next to, in addition to", r"\bbeside\b"),
    ("submission, submit", r"\bhand(s|ed|ing)?( it| them|)[ -_]ins?\b"),
    ("passed", r"\bhand(s|ed|ing)? (on|over)\b"),
    ("concatenated, built", r"\bput(s|ting)? together\b"),
    ("also, the reason itself", r"\blikewise\b"),
    ("must, should", r"\bshall\b"),
    ("at random", r"\bby lot\b"),
    ("on the student's machine", r"\bat home\b"),
    ("term", r"\bsummands?\b"),
    ("fork server", r"\bzygotes?\b"),
    ("a noun: the student who, each", r"\b(who|what|which)(so)?ever\b"),
    (
        "its own, separate",
        rf"\bof ({OWNERS}) own\b(?! [a-z]| `|-)|\bof ({OWNERS}) own ({FUNCTION_WORDS})\b",
    ),
    (
        "is not a",
        (
            r"(?<!\bthere) (is|are|was|were) no "
            r"(?!(longer|more|less|larger|smaller|better|worse|older|newer|higher|lower)\b)\w+"
        ),
    ),
    ("the wrong, a different", r"\banother \w+( of \w+)? than\b"),
    ("different from", r"\bother \w+ than\b|\b(otherwise|else) than\b"),
    (
        "is in, appears",
        (
            r"\b(stand|stands|stood|standing) "
            r"(in|on|at|below|above|behind|besid[e]|next to|there|where|nowhere)\b"
        ),
    ),
    ("in total", r"\ball in all\b"),
    ("grade, grader", r"(?<![\"`])(\b|_)judg(e[sdr]?|ing|e?ment)(\b|_)"),
    ("documented", r"\bworked (value|number|tensor)s?\b"),
    ("swapped", r"\bexchanged\b"),
    ("only", r"\bnothing (else )?but\b"),
    ("about", r"\bsome (ten|dozen|hundred|thousand)\b"),
    ("cannot", r"\bcan not\b"),
    ("a sentence that stands alone", r'"""(Also|They|Then|Of|Neither|Nor|So|Not|But|And)\b'),
    ("a noun", r'"""(What|Who|Which) [^?"]{3,200}?\.'),
    ("a noun", r'; (what|who)\b(?![^.!"]*\?)'),
    ("a noun", r"(?<=[a-z\d`)*\]]\.) +(?-i:What) [a-z][^.?!:\"|]{3,140}\."),
    ("a full stop", r"; (and|so|but)\b"),
    (
        "reports, prints, contains",
        r"\b(command|message|sentence|remark|notice|column|screen|card|title) (says|knows)\b",
    ),
    (
        "subject, verb, object",
        (
            r"(?<=[a-z\d`)*\]][.?!]) +(?-i:So|Thus|Nor|Neither|Only then) "
            r"(says?|is|are|does|did|has|have|can|must|may|will|was|were) (?!not\b)"
            r"|(?<=[a-z\d`)*\]][.?!]) +(?-i:Below|Above|Here|There|Next|Then) "
            r"(stands?|lies?|follows?|comes?|goes)\b"
        ),
    ),
    ("the reason", r"# (noqa: [\w, ]+ +)?(likewis[e]|as (in|above|below|there))\b"),
)
PATTERNS = [(advice, re.compile(pattern, re.IGNORECASE)) for advice, pattern in HABITS]

SUFFIXES = {".py", ".md", ".toml", ".html", ".js", ".css", ".ipynb", ".yml", ".yaml", ".cff", ".sh"}
NAMES = {"Makefile", "Dockerfile", "run", "run_autograder", "as_nobody"}  # text without a suffix
# Written as students write, or built from files that are read here.
SKIPPED = re.compile(
    r"(tests/corpora|examples|assignments)/|tests/hidden/[^/]+/(variants/|hollow\.py)"
    r"|source/[^/]+/\w+\.py|tests/e2e/golden_diagnoses/"
)
STUDENTS = re.compile(
    r"(source|solutions|tests/hidden|autograder/(student|suite|diagnosis))/|docs/student\.md"
    r"|autograder/(reports/terminal|grading/outcomes)\.py"
)
INSTRUCTORS = re.compile(
    r"(README|SECURITY|CHANGELOG)\.md|docs/(?!architecture|internals|api)|course\.toml|\.github"
    r"|autograder/(cli|reports|exports|gradebook|gradescope|submission|authoring|doctor|errors)"
)
GROUPS = ("students", "instructors", "developers")


def tracked_text(folder: Path) -> Iterator[Path]:
    """Yield the paths of the files to read, relative to *folder*."""
    command = ["git", "ls-files", "-z"]
    listed = subprocess.check_output(command, cwd=folder, text=True)  # noqa: S603  # a constant command
    for name in filter(None, listed.split("\0")):
        path = Path(name)
        is_text = path.suffix in SUFFIXES or path.name in NAMES
        if is_text and not SKIPPED.match(name) and (folder / path).is_file():
            yield path


def group_of(path: Path) -> str:
    """Return the group that reads *path*."""
    if STUDENTS.match(path.as_posix()):
        return "students"
    return "instructors" if INSTRUCTORS.match(path.as_posix()) else "developers"


def places(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the words and the replacement of each habit, across line ends as well."""
    lines = [line.strip().removeprefix("# ") + " " for line in text.splitlines()]
    starts = list(accumulate(map(len, lines), initial=0))
    joined = "".join(lines)
    for advice, pattern in PATTERNS:
        for found in pattern.finditer(joined):
            yield bisect_right(starts, found.start()), found[0].strip(), advice


def main() -> int:
    """Print the counts, or the places with --check; return the exit code."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    folder = Path(arguments[0]) if arguments else Path(__file__).parents[1]
    check = "--check" in sys.argv
    counts: Counter[tuple[str, str]] = Counter()
    for path in tracked_text(folder):
        for line, words, advice in places((folder / path).read_text("utf-8")):
            counts[advice, group_of(path)] += 1
            if check:
                print(f"{path}:{line}: {words!r}; write: {advice}")
    if not check:
        print(f"{'write instead':32}", *(f"{group:>12}" for group in GROUPS))
        for advice in dict.fromkeys(advice for advice, _ in HABITS):
            print(f"{advice:32}", *(f"{counts[advice, group]:12}" for group in GROUPS))
        totals = [sum(n for (_, who), n in counts.items() if who == group) for group in GROUPS]
        print(f"{'in total':32}", *(f"{total:12}" for total in totals))
    return int(check and counts.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
