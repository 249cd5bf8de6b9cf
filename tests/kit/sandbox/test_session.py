"""Tests sessions with real workers: a failure affects one call, and every limit holds."""

import resource
import time

import pytest
import torch

from autograder.results import Status
from autograder.sandbox.faults import Fault, NotFinished
from autograder.sandbox.protocol import OpaqueValue, Statement
from autograder.sandbox.session import Session
from autograder.sandbox.tensors import decode, encode_tensor
from autograder.sandbox.worker_process import PRINTED_BYTES
from autograder.suite.student_proxy import fault_of

BREAKING = """
import os, signal, sys, time
import torch

def double(x=1):
    return 2 * x

def leave():
    os._exit(7)

def crash():
    import ctypes
    ctypes.string_at(0)

def hang():
    while True: pass

def bomb():
    return torch.zeros(1 << 33).sum()

def flood_disk():
    for number in range(30):
        with open(f"{number}", "wb") as file:
            file.write(b"x" * (1 << 20))
    time.sleep(30)

def many_files():
    for number in range(300):
        open(f"{number}", "w").close()

def say(text):
    print(text, end="")

def say_and_leave(text):
    print(text)
    os._exit(7)

def say_and_hang(text):
    print(text)
    hang()

def silence(text):
    print(text)
    sys.stdout = None

def shout():
    for _ in range(1000):
        print("x" * 1000)

def too_much():
    return "x" * (1 << 22)

def no_unicode():
    return chr(0xD800)

def write(data):
    os.write(3, data.encode("latin-1"))
    while True:
        pass
"""


def asked(session: Session, name: str, *args: object) -> Fault:
    """Call *name*, which must fail, and return the fault."""
    with pytest.raises(Fault) as caught:
        session.ask("call", name=name, args=args)
    return caught.value


def opened(session: Session) -> Fault:
    """Import the module, which must fail, and return the fault."""
    with pytest.raises(Fault) as caught:
        session.open()
    return caught.value


def test_a_call_is_answered_from_another_process(open_session):
    """The worker calls the function and sends its result."""
    session = open_session(BREAKING)

    assert session.ask("call", name="double", args=(21,)).value == 42


def test_definitions_and_problems_are_known_after_opening(open_session):
    """A session holds the names in the source and the statements that failed."""
    session = open_session("def f(x): return x.softmax(-1)", "1 / 0")
    session.open()

    assert [use.name for use in session.definitions[0].uses] == ["x.softmax"]
    assert [problem.type for problem in session.problems] == ["ZeroDivisionError"]


@pytest.mark.parametrize(
    "deep",
    [
        pytest.param("x = " + "(" * 5000 + "0" + ")" * 5000, id="parentheses"),
        pytest.param("x = " + "-" * 3000 + "1", id="signs"),
        pytest.param("x = " + "-" * 100_000 + "1", id="more-signs"),
        pytest.param("x = " + "1 + " * 2900 + "1", id="sum"),
        pytest.param("def g(): return x" + ".x" * 2900, id="attributes"),
        pytest.param("def g(): return x" + "()" * 2900, id="calls"),
        pytest.param("if x: pass\n" + "elif x: pass\n" * 3000, id="branches"),
        pytest.param("".join(" " * i + "if x:\n" for i in range(200)), id="indentation"),
    ],
)
def test_a_cell_that_is_nested_too_deeply_costs_itself(open_session, deep: str):
    """A cell that is nested too deeply is reported, and the cells around it run."""
    session = open_session("x = 1", deep, "def f(): return 3")

    assert session.ask("call", name="f").value == 3
    [problem] = session.problems
    assert problem.statement is not None
    assert problem.statement.place == "cell 2"
    assert [item.name for item in session.definitions if item.name == "f"] == ["f"]


def test_the_names_are_read_before_student_code_runs(open_session):
    """Student code that replaces the reader of names does not change its own list of names."""
    forger = (
        "import autograder.sandbox.executor as e\ne.static_names.definitions = lambda trees: ()\n"
        "import os\ndef leave(): os._exit(7)"
    )
    session = open_session(forger)
    with pytest.raises(Fault):
        session.ask("call", name="leave")
    session.ask("has", name="leave")

    assert "leave" in {definition.name for definition in session.definitions}


def test_tensors_are_sent_both_ways(open_session):
    """A tensor arrives in the worker, and its double arrives here."""
    sent = encode_tensor(torch.tensor([0.5, 1.5]), 1 << 20)
    reply = open_session(BREAKING).ask("call", name="double", args=(sent,))

    assert torch.equal(decode(reply.value, lambda _handle: None), torch.tensor([1.0, 3.0]))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("leave", "exit code 7", id="os-exit"),
        pytest.param("crash", "SIGSEGV", id="signal"),
    ],
)
def test_a_crash_costs_its_call_and_the_next_is_answered(open_session, name: str, words: str):
    """After a crash a new worker serves the next call."""
    session = open_session(BREAKING)
    fault = asked(session, name)

    assert (fault.status, words in fault.message) == (Status.CRASHED, True)
    assert session.ask("call", name="double").value == 2


def test_a_hang_is_killed_and_the_next_is_answered(open_session):
    """The supervisor ends a worker that hangs, and a new one serves the next call."""
    session = open_session(BREAKING, call_seconds=1.0)
    fault = asked(session, "hang")

    line = 1 + BREAKING[: BREAKING.index("while True")].count("\n")
    assert fault.status is Status.TIMEOUT
    assert f"within 1 s; it was running line {line}." in fault.message
    assert session.ask("call", name="double").value == 2


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        pytest.param(3, "; it was running line 3", id="a-line-of-the-source"),
        pytest.param(12, "", id="a-line-that-the-source-does-not-have"),
    ],
)
def test_the_line_of_a_hang_is_a_hint_that_is_a_number(open_session, line: int, hint: str):
    """A worker may forge its stack dump, so only a line number from it is shown."""
    forging = f"""
import signal, sys, time
def hang():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    while True:
        print('File "SECRET.py", line {line} in SECRET', flush=True)
        time.sleep(0.01)
"""
    fault = asked(open_session(forging, call_seconds=0.3), "hang")

    assert fault.message == f"Your code did not finish within 0.3 s{hint}."
    assert fault.public == "Your code did not finish in time."


def test_a_hang_is_told_from_other_faults(open_session):
    """A hang of the student's code is distinguished from other faults."""
    fault = asked(open_session("def hang():\n    while True: pass\n", call_seconds=0.3), "hang")

    assert isinstance(fault, NotFinished)
    assert (fault.status, fault.loads_compiler) == (Status.TIMEOUT, False)


def test_a_call_that_loads_the_compiler_is_told_from_a_loop(open_session):
    """The stack of the worker shows that a call loads torch's compiler, which takes seconds."""
    text = "def hang():\n    import torch._inductor.codecache\n"
    fault = asked(open_session(text, call_seconds=0.4), "hang")

    assert isinstance(fault, NotFinished)
    assert fault.loads_compiler


def test_a_hang_in_a_cell_is_named_by_its_cell(open_session):
    """A hang in a notebook is reported with its cell, and without a stack it has no place."""
    session = open_session(
        "def hang():\n    while True: pass\n",
        "import signal\ndef silent():\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])\n    hang()\n",
        call_seconds=0.3,
    )

    assert asked(session, "hang").message.endswith("; it was running cell 1, line 2.")
    assert asked(session, "silent").message == "Your code did not finish within 0.3 s."


def test_an_import_that_loops_is_killed(open_session):
    """An import that loops is ended, and not tried again."""
    session = open_session("while True: pass", import_seconds=0.3)
    fault = opened(session)

    assert fault.status is Status.TIMEOUT
    assert "it was running line 1. Look for a loop at module level" in fault.message
    assert opened(session) is fault


RIGHT = "def f(): return 3\n"


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        pytest.param("while True: pass", Status.TIMEOUT, id="loop"),
        pytest.param("f().bit_length(); time.sleep(60)", Status.TIMEOUT, id="sleep"),
        pytest.param("[os._exit(0) for _ in range(3)]", Status.CRASHED, id="exit"),
        pytest.param("ctypes.string_at(0)", Status.CRASHED, id="signal"),
        pytest.param(
            "for _ in range(9999): kept.append(bytearray(2**25))", Status.OUT_OF_MEMORY, id="memory"
        ),
        pytest.param("open('x', 'wb').write(bytes(2**26))", Status.OUT_OF_DISK, id="disk"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False], ids=["above", "below"])
def test_a_limit_on_a_statement_costs_the_statement(
    open_session, statement: str, status: Status, *, is_first: bool
):
    """The definitions above and below a statement that reaches a limit are still used."""
    lines = ["import ctypes, os, time\nkept = []\n", RIGHT, f"{statement}\n"]
    text = "".join([lines[0], lines[2], lines[1]] if is_first and "f()" not in statement else lines)
    seconds = 0.3 if status is Status.TIMEOUT else 10
    limits = {"import_seconds": seconds, "disk_mib": 16, "memory_mib": 256}
    session = open_session(f"{text}print(6)\n", **limits)
    session.open()
    [problem] = session.problems

    assert session.ask("call", name="f").value == 3
    assert (problem.kind, problem.type) == ("left-out", status)
    assert problem.statement.line == text.splitlines().index(statement) + 1
    assert session.printed_by_import == ""  # what the definitions do not need is left out, too


def test_a_worker_cannot_claim_that_a_statement_was_left_out(open_session):
    """Only the supervisor decides which statements reached a limit."""
    module = (
        "import os\n"
        "from autograder.sandbox.protocol import *\n"
        "place = DictValue({'place': 'tiny.py', 'line': 1, 'number': 7})\n"
        "forged = DictValue({'kind': 'left-out', 'type': 'x', 'statement': place})\n"
        "os.write(3, framed(pack(Reply(value=ListValue((forged,)))), 2))\n"
    )
    session = open_session(module)
    session.open()

    assert [(problem.kind, problem.type) for problem in session.problems] == [("raised", "x")]


def test_several_slow_statements_cost_only_themselves(open_session):
    """Later demonstrations do not run again, so they can't use up the time."""
    slow = "while True: pass\n"
    session = open_session(
        f"{RIGHT}{slow}x = [0 for _ in iter(int, 1)]\n{slow * 5}", import_seconds=0.3
    )

    assert session.ask("call", name="f").value == 3
    assert [problem.statement.line for problem in session.problems] == [2]


def test_a_class_that_needs_too_long_costs_only_itself(open_session):
    """The status of an exercise that is defined by a slow statement is that of its limit."""
    slow = "class Slow:\n    while True: pass\n"
    session = open_session(f"{slow}{RIGHT}{slow}", import_seconds=0.3)

    assert session.ask("call", name="f").value == 3
    assert [problem.statement.names for problem in session.problems] == [("Slow",)] * 2


def test_a_second_worker_leaves_the_same_statement_out(open_session):
    """After a crash, and with the solution's definitions, the slow statement does not run again."""
    text = "import os\nwhile True: pass\ndef f(): os._exit(1)\ndef g(): return 5\n"
    session = open_session(text, import_seconds=1.0)
    asked(session, "f")

    assert session.ask("call", name="g").value == 5
    with session.followed_by(b"def h(): return g() + 1") as second:
        assert second.ask("call", name="h").value == 6
        assert second._spent_seconds < 2 * 1.0


def test_an_import_has_only_so_many_attempts(open_session):
    """A module whose definitions all reach a limit is reported as a whole."""
    slow = "class A:\n    while True: pass\n"
    fault = opened(open_session(slow * 5, import_seconds=0.1))

    assert fault.status is Status.TIMEOUT


def test_deterministic_algorithms_import_no_compiler(open_session):
    """`use_deterministic_algorithms` imports no compiler, which would take seconds."""
    session = open_session(
        "import sys\nimport torch\ntorch.use_deterministic_algorithms(True, warn_only=False)\n"
        "def known(): return torch.are_deterministic_algorithms_enabled()\n"
        "def compiler(): return 'torch._inductor' in sys.modules\n"
    )

    assert session.ask("call", name="known").value is True
    assert session.ask("call", name="compiler").value is False


@pytest.mark.parametrize(
    ("module", "words"),
    [
        pytest.param("import os; os._exit(3)", "exit code 3", id="exit"),
        pytest.param("import ctypes; ctypes.string_at(0)", "signal SIGSEGV", id="signal"),
    ],
)
def test_an_import_that_crashes_is_reported_as_such(open_session, module: str, words: str):
    """The message about a crash during the import contains how the process ended."""
    fault = opened(open_session(module))

    assert fault.status is Status.CRASHED
    assert fault.message.startswith("While your file was imported: ")
    assert words in fault.message


def test_an_exit_at_module_level_costs_its_statement(open_session):
    """``exit()`` at module level is an exception like any other."""
    session = open_session("exit()\ndef f(): return 3\n")
    session.open()

    assert session.problems[0].statement == Statement("tiny.py", 1, number=1)
    assert session.ask("call", name="f").value == 3


def test_a_download_at_module_level_costs_its_statement(open_session):
    """A download at module level fails, because a worker has no network."""
    url = "https://example.org/model.pt"
    download = f"import torch\nmodel = torch.hub.load_state_dict_from_url('{url}')\n"
    session = open_session(f"{download}def f(): return 3\n", import_seconds=20.0)
    session.open()

    assert [problem.statement.line for problem in session.problems] == [2]
    assert session.problems[0].statement.names == ("model",)
    assert session.ask("call", name="f").value == 3


def test_the_main_block_of_a_script_does_not_run(open_session):
    """The main block of a script does not run, because the file is imported."""
    session = open_session("if __name__ == '__main__':\n    raise SystemExit\n")
    session.open()

    assert session.problems == ()


def test_a_memory_bomb_is_out_of_memory(open_session):
    """Beyond the limit an allocation fails, and the worker continues."""
    session = open_session(BREAKING, memory_mib=256)
    problem = session.ask("call", name="bomb").problem

    assert problem is not None
    assert problem.kind == "out-of-memory"
    assert session.ask("call", name="double").value == 2


@pytest.mark.parametrize(
    "name",
    [pytest.param("flood_disk", id="many-bytes"), pytest.param("many_files", id="many-files")],
)
def test_a_disk_flood_is_out_of_disk(open_session, name: str):
    """Bytes and files of the private folder are limited in total; the worker continues."""
    session = open_session(BREAKING, disk_mib=2)
    problem = session.ask("call", name=name).problem

    assert problem is not None
    assert problem.kind == "out-of-disk"
    assert fault_of(problem, name).status is Status.OUT_OF_DISK
    assert session.ask("call", name="double").value == 2


def test_printed_text_does_not_block_a_call(open_session):
    """A call that prints more than a pipe holds is not blocked."""
    session = open_session(BREAKING)

    assert session.ask("call", name="shout").problem is None


def test_what_code_prints_is_kept_until_the_next_check(open_session):
    """Each check has its own output, separate from the output of the import."""
    session = open_session("print('imported')\n" + BREAKING)
    session.begin("first")
    session.ask("call", name="say", args=("one ",))
    session.ask("call", name="say", args=("two",))
    first = session.printed
    session.begin("second")
    session.ask("call", name="say", args=("three",))

    assert (first, session.printed) == ("one two", "three")
    assert session.printed_by_import == "imported\n"


@pytest.mark.parametrize("name", ["say_and_leave", "say_and_hang"])
def test_what_code_prints_before_it_ends_is_kept(open_session, name: str):
    """The output before a crash or an endless loop is kept, because it shows where the code was."""
    session = open_session("print('imported')\n" + BREAKING, call_seconds=1.0)
    session.begin("first")
    asked(session, name, "here")
    session.ask("call", name="double")  # by a new worker, which imports the file again

    assert session.printed == "here\n"


def test_code_may_replace_what_it_prints_to(open_session):
    """Code that replaces `sys.stdout` is answered like any other."""
    session = open_session(BREAKING)
    session.begin("first")

    assert session.ask("call", name="silence", args=("x",)).problem is None
    assert session.ask("call", name="double").value == 2
    assert session.printed == "x\n"


def test_a_debugger_prints_no_private_folder(open_session):
    """A debugger stops without input, and prints the file's name with a dot as its folder."""
    session = open_session(
        "import os\ndef f(x):\n    print(os.getcwd())\n    breakpoint()\n    x\n"
    )
    session.begin("first")
    problem = session.ask("call", name="f", args=(1,)).problem

    assert problem.type == "BdbQuit"
    assert "private" not in session.printed
    assert session.printed.startswith(".\n> ")
    assert ".py(" in session.printed


def test_a_program_can_read_nothing(open_session):
    """A call that asks a person for a value raises an exception at once."""
    problem = open_session("def f():\n    return input()\n").ask("call", name="f").problem

    assert (problem.type, problem.text) == ("EOFError", "EOF when reading a line")


def test_only_the_end_of_what_code_prints_is_kept(open_session):
    """Only the end of the output is kept, so it takes bounded memory."""
    session = open_session(BREAKING)
    session.begin("first")
    session.ask("call", name="shout")
    session.ask("call", name="say", args=("the end",))

    assert len(session.printed) == PRINTED_BYTES
    assert session.printed.endswith("x\nthe end")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("\xff" * 4 + "\x03" + "\x00" * 11, id="huge-length"),
        pytest.param("\x01\x00\x00\x00\x03" + "\x00" * 11 + "\xc0", id="no-reply"),
        pytest.param("\x01\x00\x00\x00\x63" + "\x00" * 11 + "\x80", id="wrong-number"),
        pytest.param(
            "\x01\x00\x00\x00\x03" + "\x00" * 7 + "\x01\x00\x00\x00\x80", id="beyond-its-batch"
        ),
    ],
)
def test_bytes_written_into_the_connection_are_bad_output(open_session, data: str):
    """Bytes that a student's code writes to the grader are the submission's fault."""
    fault = asked(open_session(BREAKING), "write", data)

    assert fault.status is Status.BAD_OUTPUT


def test_a_text_that_is_too_long_arrives_as_its_type(open_session):
    """A worker says what could not be sent, and continues."""
    session = open_session(BREAKING, answer_mib=1)
    answer = session.ask("call", name="too_much").value

    assert answer == OpaqueValue("text of length 4194304, too long to send")
    assert session.ask("call", name="double").value == 2


def test_half_a_surrogate_pair_arrives_as_it_is(open_session):
    """A text that is not valid Unicode is sent like any other."""
    answer = open_session(BREAKING).ask("call", name="no_unicode").value

    assert decode(answer, lambda _handle: None) == chr(0xD800)


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param("TensorValue('float32', (5,), b'')", id="impossible-tensor"),
        pytest.param("'fine'", id="text"),
        pytest.param("ListValue((1, 2))", id="list-of-numbers"),
        pytest.param("ListValue((problem('f'),) * 51)", id="too-many-problems"),
        pytest.param("ListValue((problem('not a name'),))", id="sentence-as-a-name"),
        pytest.param("ListValue((problem('f' * 81),))", id="long-name"),
    ],
)
def test_a_forged_answer_to_the_import_is_bad_output(open_session, forged: str):
    """The list of import problems is validated like any other reply."""
    module = (
        "import os\n"
        "from autograder.sandbox.protocol import *\n"
        "def problem(name):\n"
        "    names = ListValue((name,))\n"
        "    statement = DictValue({'place': 'tiny.py', 'line': 1, 'names': names})\n"
        "    return DictValue({'kind': 'raised', 'statement': statement})\n"
        f"os.write(3, framed(pack(Reply(value={forged})), 2))\n"
    )

    assert opened(open_session(module)).status is Status.BAD_OUTPUT


def forging(value: str) -> str:
    """Return a module whose function answers with the bytes *value* instead of its result."""
    return f"""
import os, sys
from autograder.sandbox import worker

def forge():
    frame = sys._getframe()
    while "number" not in frame.f_locals:
        frame = frame.f_back
    body = b"\\x81\\xa5value" + {value}
    rest = memoryview(worker.framed(body, frame.f_locals["number"]))
    while rest:
        rest = rest[os.write(3, rest):]
    while True:
        pass
"""


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(
            "b'\\x82\\xa4type\\xa4list\\xa5items\\xdd\\x00\\xa0\\x00\\x00' + 10485760 * b'\\xc0'",
            id="ten-million-nils",
        ),
        pytest.param("b'\\xdb\\x00\\xa0\\x00\\x00' + 10485760 * b'x'", id="long-text"),
    ],
)
def test_a_reply_is_bounded_before_it_is_decoded(open_session, value: str):
    """Ten million values in one reply cost the supervisor no memory and no time."""
    session = open_session(forging(value))
    session.open()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used = time.process_time()
    fault = asked(session, "forge")

    assert fault.status is Status.BAD_OUTPUT
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024  # a few copies
    assert time.process_time() - used < 2  # decoding them took ten


def test_the_answers_of_one_check_have_one_limit(open_session):
    """Many answers together stay within one limit of memory, and the next check has its own."""
    session = open_session("def f():\n    return [0.0] * 9000\n")
    session.begin("first")
    session.ask("call", name="f")
    session.ask("call", name="f")
    fault = asked(session, "f")
    session.begin("first")

    assert fault.status is Status.BAD_OUTPUT
    assert session.ask("call", name="f").problem is None


def test_a_verb_that_answers_nothing_gets_no_value(open_session):
    """A forged value is accepted only if the kit's own code would send one for the verb."""
    module = (
        "import torch\nfrom autograder.sandbox import executor\n"
        "class M(torch.nn.Module): pass\n"
        "table = dict(executor.VERBS)\ntable['mode'] = lambda call: [1, 2]\n"
        "executor.VERBS = table\n"
    )
    session = open_session(module)
    session.ask("new", name="M")
    with pytest.raises(Fault) as caught:
        session.ask("mode", name="eval", handle=0)

    assert caught.value.status is Status.BAD_OUTPUT


def test_what_the_grader_needs_for_an_answer_is_charged(open_session):
    """Comparing and diagnosing count towards the submission's time beyond the grader's own."""
    session = open_session(BREAKING, submission_seconds=1.0)
    with session.charged(100.0):
        sum(range(1_000_000))
    session.ask("call", name="double")
    with session.charged(-100.0):
        pass

    assert "used up" in asked(session, "double").message


def test_what_the_grader_needs_is_charged_while_it_works(open_session):
    """A check that compares for too long is stopped before its next request."""
    session = open_session(BREAKING, submission_seconds=1.0)
    session.ask("call", name="double")
    with session.charged(-100.0):
        fault = asked(session, "double")

    assert fault.status is Status.TIMEOUT
    assert session.seconds_left() < 0


def test_an_exercise_is_restarted_up_to_the_limit(open_session):
    """After two crashes an exercise gets no more workers, but a different exercise does."""
    session = open_session(BREAKING, restarts_per_exercise=2)
    session.begin("first")
    crashes = [asked(session, "leave").status for _ in range(2)]
    refused = asked(session, "double")
    session.begin("second")

    assert crashes == [Status.CRASHED] * 2
    assert "first has crashed or hung 2 times" in refused.message
    assert session.ask("call", name="double").value == 2


def test_a_second_worker_shares_nothing_with_the_first(open_session):
    """The first worker ends before the second one starts, and a new one serves later calls."""
    session = open_session(
        "calls = []\n\ndef count():\n    calls.append(1)\n    return len(calls)\n"
    )
    before = [session.ask("call", name="count").value for _ in range(2)]
    with session.followed_by(b"calls = [1] * 9") as second:
        inside = second.ask("call", name="count").value

    assert (before, inside) == ([1, 2], 10)
    assert session.ask("call", name="count").value == 1


def test_a_second_worker_uses_the_time_that_is_left(open_session):
    """The time of the second worker counts for the submission, and nothing that it prints."""
    session = open_session(BREAKING, call_seconds=0.5, submission_seconds=0.9)
    session.open()
    with session.followed_by(b"print('seen')") as second:
        asked(second, "hang")
        asked(second, "hang")

    assert "seconds are used up" in asked(session, "hang").message
    assert (session.printed, session.printed_by_import) == ("", "")


def test_a_submission_has_a_limit_of_seconds(open_session):
    """When the seconds of a submission are used up, nothing more runs."""
    session = open_session(BREAKING, submission_seconds=1.5)
    session.open()
    spent = asked(session, "hang")
    refused = asked(session, "double")

    assert spent.status is Status.TIMEOUT
    assert "used up" in refused.message


def test_a_submission_has_a_limit_on_the_clock(open_session):
    """A submission also has a wall-clock limit, a multiple of its seconds."""
    session = open_session(BREAKING)
    session.open()
    before = session._wall_seconds
    session.ask("call", name="double")
    after, session._wall_seconds = session._wall_seconds, 0.0

    assert after < before
    assert "used up" in asked(session, "double").message


def test_a_new_worker_has_no_state_of_the_last_one(open_session):
    """After a crash, the module starts without the changes that it made to itself."""
    count = "import os\nseen = []\ndef f():\n    seen.append(1)\n    return len(seen)\n"
    session = open_session(count + "def leave(): os._exit(1)\n")
    before = [session.ask("call", name="f").value for _ in range(2)]
    asked(session, "leave")

    assert before == [1, 2]
    assert session.ask("call", name="f").value == 1


def test_closing_twice_does_nothing(open_session):
    """Closing a session twice is not an error."""
    session = open_session(BREAKING)
    session.open()
    session.close()
    session.close()


@pytest.mark.parametrize(
    ("cells", "place", "line", "shown"),
    [
        pytest.param(1, "tiny.py", 3, 3, id="line-of-the-module"),
        pytest.param(1, "tiny.py", 31415, 0, id="line-after-its-end"),
        pytest.param(1, "cell 2", 1, 0, id="cell-of-a-module"),
        pytest.param(2, "cell 2", 1, 1, id="line-of-a-cell"),
        pytest.param(2, "cell 31", 1, 0, id="cell-after-the-last"),
        pytest.param(2, "tiny.py", 1, 0, id="module-of-a-notebook"),
    ],
)
def test_only_lines_of_the_source_are_accepted(
    open_session, cells: int, place: str, line: int, shown: int
):
    """A worker can't send a number of its choice as a line or a cell."""
    forging = (
        "from autograder.sandbox import protocol, statements\n"
        f"problem = protocol.Problem(kind='raised', place={place!r}, line={line})\n"
        "statements.ProblemReader.describe = lambda *_: problem\n"
        "def f(): raise ValueError\n"
    )
    session = open_session(*[forging, "pass"][:cells])
    problem = session.ask("call", name="f").problem

    assert problem is not None
    assert (problem.line, bool(problem.place)) == (shown, shown > 0)


def test_the_import_names_only_lines_of_the_source(open_session):
    """A module that forges the report of its import can't name a line outside its source."""
    forging = (
        "from autograder.sandbox import protocol, statements\n"
        "statements.statement_at = lambda *_: protocol.Statement('cell 7', 31415, ('f',))\n"
        "f = 1 / 0\n"
    )
    session = open_session(forging)
    session.open()

    assert session.problems[0].statement == Statement("", 0, ("f",))


def test_a_crash_says_no_number_next_to_hidden_inputs(open_session):
    """In a hidden check the message about a crash has no exit code, which the code chooses."""
    fault = asked(open_session(BREAKING), "leave")

    assert "exit code 7" in fault.message
    assert "7" not in fault.public
