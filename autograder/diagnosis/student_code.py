"""Reads facts about the source of one exercise, on which the names of mistakes depend.

The source is only parsed. A fact is about the exercise's own definition, the helpers that it uses
and, where it extends a class of the same file, that class. Other exercises do not count.
"""

import ast
import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeGuard, TypeVar

from autograder.diagnosis.vocabulary import ORDINALS, role_of
from autograder.sandbox.notebook_magics import read_parts

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
LOOPS = (ast.For, ast.While, ast.comprehension)
REDUCTIONS: Final = frozenset(
    {"sum", "mean", "max", "min", "amax", "amin", "var", "std", "norm", "logsumexp", "prod"}
)
AXES: Final = {word: number for number, word in ORDINALS.items()}
SWAPS: Final = frozenset({"transpose", "transpose_", "swapaxes", "swapdims"})
AXES_IN_ANY_ORDER: Final = frozenset({"permute", "movedim", "moveaxis", "T", "t", "einsum"})
MODULES: Final = {"Softmax", "LogSoftmax"}
SOFTMAXES: Final = ("softmax", "log_softmax", "Softmax")
HALF: Final = {0.5, -0.5}
LIBRARIES: Final = frozenset({"torch", "F", "nn", "functional", "np", "numpy", "math"})
# What a node of the syntax tree does, and the functions that do the same.
NODES: Final[Mapping[type[ast.AST], str]] = {
    ast.Add: "adds",
    ast.Sub: "subtracts",
    ast.Mult: "multiplies",
    ast.Div: "divides",
    ast.FloorDiv: "rounds",
    ast.MatMult: "multiplies matrices",
    ast.USub: "negates",
    ast.Compare: "compares",
    ast.Slice: "slices",
    ast.Subscript: "indexes",
    ast.Raise: "raises",
    **dict.fromkeys(LOOPS, "loops"),
}
FUNCTIONS: Final = {
    "adds": "add add_ sum logaddexp logsumexp lerp addmm baddbmm",
    "subtracts": "sub sub_ subtract lerp var std",
    "multiplies": "mul mul_ multiply prod einsum outer",
    "divides": "div div_ divide true_divide mean reciprocal rsqrt normalize var std lerp",
    "rounds": "floor floor_ floor_divide int trunc",
    "multiplies matrices": "matmul bmm mm mv dot inner einsum outer linear vdot tensordot",
    "negates": "neg neg_",
    "compares": "lt le gt ge eq ne less greater less_equal greater_equal equal triu tril",
    "slices": "narrow split chunk tensor_split index_select roll slice",
    "indexes": "narrow select gather index_select take unbind",
    "loops": "map stack vmap",
    "takes roots": "sqrt sqrt_ rsqrt isqrt norm",
    "takes a softmax": "softmax log_softmax Softmax LogSoftmax exp exp_ logsumexp "
    "scaled_dot_product_attention cross_entropy",
    "takes exponentials": "exp exp_",
    "swaps axes": "transpose transpose_ permute swapaxes swapdims movedim moveaxis t T mT einsum",
    "reshapes": "view reshape flatten unflatten split chunk stack cat view_as reshape_as squeeze",
    "joins": "cat concat concatenate stack hstack vstack dstack einsum view reshape flatten append",
    "repeats": "repeat repeat_interleave expand expand_as tile stack cat broadcast_to",
    "takes a maximum": "max amax maximum topk argmax sort aminmax cummax",
    "takes a mean": "mean var std var_mean std_mean layer_norm",
    "takes a variance": "var std var_mean std_mean layer_norm",
    "takes a sum": "sum einsum cumsum nansum",
    "takes a minimum": "min amin minimum argmin",
    "takes a product": "prod cumprod",
    "seeds": "manual_seed seed Generator fork_rng set_rng_state",
    "detaches": "detach detach_ data item tolist no_grad inference_mode numpy tensor float int "
    "requires_grad_ set_grad_enabled",
    "takes lengths": "norm normalize cosine_similarity vector_norm sqrt rsqrt",
    "makes tensors": "tensor as_tensor stack from_numpy cat FloatTensor Tensor LongTensor",
    "clears gradients": "zero_grad zero_",
    "registers buffers": "register_buffer",
    "fills": "masked_fill masked_fill_ where masked_scatter",
}
BY_FUNCTION: Final = {
    name: {one for one, names in FUNCTIONS.items() if name in names.split()}
    for name in " ".join(FUNCTIONS.values()).split()
}
OPERATIONS: Final = frozenset({*NODES.values(), *FUNCTIONS})


N = TypeVar("N", bound=ast.AST)


class StudentCode:
    """The definitions in the source of a submission; statements that can't be parsed are absent."""

    def __init__(self, cells: Sequence[bytes], exercises: Collection[str]) -> None:
        self.cells = cells
        self._exercises = frozenset(exercises)
        self._written: dict[str, WrittenCode] = {}

    @cached_property
    def _statements(self) -> list[ast.stmt]:
        return [one for cell in self.cells for one in read_parts(cell).tree.body]

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """The definitions of each name, in the order of the source."""
        found: dict[str, list[Definition]] = {}
        for node in self._statements:
            if isinstance(node, Definition):
                found.setdefault(node.name, []).append(node)
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that the module defines, assigns or imports."""
        rest = (node for node in self._statements if not isinstance(node, Definition))
        every = [each for node in rest for each in ast.walk(node)]
        imported = {
            (each.asname or each.name).partition(".")[0]
            for each in every
            if isinstance(each, ast.alias)
        }
        return frozenset(imported.union(self.definitions, map(name_of, every)))

    def written(self, exercise: str) -> "WrittenCode":
        """Return the facts about *exercise*; there are none if the source does not define it."""
        if exercise not in self._written:
            self._written[exercise] = WrittenCode([*self._reached(exercise)], self._exercises)
        return self._written[exercise]

    def uses(self, exercise: str) -> frozenset[str]:
        """Return the other exercises that *exercise* uses."""
        every = map(_free_names, self.written(exercise).definitions)
        return self._exercises & set().union(*every) - {exercise}

    def _reached(self, exercise: str) -> Iterator[Definition]:
        """Yield the last definition of *exercise*, and those of the helpers that it uses."""
        waiting, known = [exercise], {exercise} | self._exercises
        for name in waiting:  # the loop extends the list
            found = self.definitions.get(name, [])
            for node in _in_effect(found, name):
                yield node
                used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                waiting += sorted((used & self.definitions.keys()) - known)
                known |= used


def _in_effect(found: Sequence[Definition], name: str) -> Sequence[Definition]:
    """Return the last definition; if it extends an earlier one, also what it does not replace."""
    if name not in _bases(found):
        return found[-1:]
    *earlier, last = found
    new = {each.name for each in getattr(last, "body", ()) if isinstance(each, Function)}
    kept = []
    for node in earlier:
        body = [each for each in getattr(node, "body", ()) if getattr(each, "name", "") not in new]
        kept.append(ast.ClassDef(name, [], [], body or [ast.Pass()], []))
    return [*kept, last]


def _bases(found: Sequence[Definition]) -> set[str]:
    """Return the names of the classes that the last definition extends."""
    last = found[-1] if found else None
    bases = last.bases if isinstance(last, ast.ClassDef) else []
    return {base.id for base in bases if isinstance(base, ast.Name)}


class WrittenCode:
    """The facts about the source of one exercise; *exercises* are those of its stage."""

    def __init__(self, nodes: Sequence[Definition], exercises: Collection[str] = ()) -> None:
        self.definitions = nodes
        self.exercises = exercises
        self.nodes = [each for node in nodes for each in _walk(node)]

    @cached_property
    def mentions(self) -> Counter[str]:
        """How often each name occurs, such as that of a function that is called or passed on."""
        return Counter(map(name_of, [*self.of(ast.Attribute), *self.of(ast.Name)]))

    @cached_property
    def called(self) -> frozenset[str]:
        """The names of the functions and methods that are called, and of attributes but self's."""
        return called_names(self.nodes)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The names of the variables, arguments and attributes that are read."""
        return frozenset(
            name_of(each)
            for each in self.nodes
            if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Load)
        )

    @cached_property
    def sets(self) -> Counter[str]:
        """How often each attribute or variable gets a value; also registered names."""
        stored = (
            name_of(each)
            for each in self.nodes
            if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Store)
        )
        registered = (
            each.args[0].value
            for each in self.nodes
            if isinstance(each, ast.Call) and each.args and isinstance(each.args[0], ast.Constant)
        )
        return Counter([*stored, *(name for name in registered if isinstance(name, str))])

    @cached_property
    def operations(self) -> frozenset[str]:
        """The operations that the source contains, as operators or as functions."""
        return operations(self.nodes)

    @cached_property
    def softmaxes(self) -> int:
        """How many times the source mentions a softmax or an exponential, or calls its module."""
        names = [name for name in FUNCTIONS["takes a softmax"].split() if name in self.called]
        made = [name for name, used in self._assigned.items() if not used.isdisjoint(MODULES)]
        calls = Counter(name_of(each.func) for each in self.of(ast.Call))
        return sum(self.mentions[name] for name in names) + sum(
            max(0, calls[name] - 1) for name in made
        )

    @cached_property
    def divisors(self) -> frozenset[str]:
        """The names from which something that divides is computed."""
        found: set[str] = set()
        for each in self.nodes:
            found |= {name for part in _divisors(each) for name in names_in(part)}
        for _ in range(len(self._assigned)):
            more = {one for name in found for one in self._assigned.get(name, ())} - found
            found |= more
            if not more:
                break
        return frozenset(found)

    @cached_property
    def _assigned(self) -> dict[str, set[str]]:
        """The names from which the value of each variable is computed."""
        found: dict[str, set[str]] = {}
        for target, value in (one for each in self.nodes for one in _assignments(each)):
            for name in names_in(target):
                found.setdefault(name, set()).update(names_in(value))
        return found

    def computes(self, name: str, source: str) -> bool:
        """Whether a value of the variable or attribute *name* is computed from *source*."""
        return source in self._assigned.get(name, ())

    def of(self, kind: type[N]) -> Iterator[N]:
        """Yield the nodes of a *kind*."""
        return (each for each in self.nodes if isinstance(each, kind))

    @cached_property
    def loops(self) -> list[ast.For | ast.While]:
        """The loops that are statements."""
        return [*self.of(ast.For), *self.of(ast.While)]

    @cached_property
    def skips_iterations(self) -> bool:
        """Whether a loop runs over a part, such as a slice, or tests something in each round."""
        ends = (getattr(getattr(each, "test", None), "comparators", ()) for each in self.loops)
        limits = any(isinstance(one, ast.BinOp) for found in ends for one in found)
        tests = any(isinstance(one, ast.If) for loop in self.loops for one in loop.body)
        return self._loops_over_parts or limits or tests

    @cached_property
    def leaves_loops_early(self) -> bool:
        """Whether a loop runs over a part, or may end in its first iteration."""
        inside = (type(each) for loop in self.loops for each in ast.walk(loop))
        ends = not {ast.Break, ast.Return}.isdisjoint(inside)
        return self._loops_over_parts or ends or "next" in self.called

    @property
    def _loops_over_parts(self) -> bool:
        every = [each.iter for each in self.of(ast.For)]
        every += [each.iter for each in self.of(ast.comprehension)]
        return any(map(_is_part, every))

    @cached_property
    def changes_in_place(self) -> bool:
        """Whether an entry of a tensor, or a whole tensor, may be overwritten."""
        stores = any(
            isinstance(each, ast.AugAssign)
            or (isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store))
            for each in self.nodes
        )
        named = any(name[-1:] == "_" != name[:1] for name in self.called)
        return stores or named or "out" in self.keywords

    @cached_property
    def keywords(self) -> frozenset[str]:
        """The names of the keyword arguments that calls pass."""
        return frozenset(each.arg or "" for each in self.of(ast.keyword))

    def reads_axis(self, ordinal: str) -> bool:
        """Whether the size of an axis may be read: by its number, or with all others."""
        numbers = {number for each in self.nodes for number in _axis_numbers(each)}
        unpacked = any(
            isinstance(each.targets[0], ast.Tuple) and name_of(each.value) in {"shape", "size"}
            for each in self.of(ast.Assign)
        )
        return unpacked or any(_may_be(number, ordinal) for number in numbers)

    def swaps(self, one: str, other: str, role: str) -> bool:
        """Whether the axes *one* and *other* of *role* may be swapped; "" is anything."""
        swaps = (each for each in self.of(ast.Call) if name_of(each.func) in SWAPS)
        pairs = [_two_axes(each) for each in swaps if not role or role_of(each) in {"", role}]
        exchanges = any(_may_be_pair(pair, one, other) for pair in pairs)
        return exchanges or bool(AXES_IN_ANY_ORDER & self.called)

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names that occur outside of the list of base classes."""
        bases = {name for node in self.definitions for name in _bases([node])}
        return frozenset(self.mentions) - bases

    @cached_property
    def runs_along_another_axis(self) -> bool:
        """Whether a softmax may run along an axis that is not given as -1, the last one."""
        named = [each for each in self.of(ast.Call) if name_of(each.func) in SOFTMAXES]
        return not named or not all(is_along(-1, one) for one in named) or "exp" in self.mentions

    @cached_property
    def calls_without_axis(self) -> frozenset[str]:
        """The functions that are called without an axis, such as ``softmax``."""
        return frozenset(name_of(one.func) for one in self.of(ast.Call) if not _gives_axis(one))


def operations(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the operations of *nodes*, as operators or as functions."""
    every = list(nodes)
    found = {NODES[type(node)] for node in every if type(node) in NODES}
    found |= {"takes roots" for node in every if _is_root(node)}
    names = called_names(every) & BY_FUNCTION.keys()
    return frozenset(found.union(*(BY_FUNCTION[name] for name in names)))


def called_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names of what *nodes* call, and of the attributes of others than ``self``."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Call):
            names.add(name_of(node.func))
        elif isinstance(node, ast.Attribute) and name_of(node.value) != "self":
            names.add(node.attr)
    return frozenset(names)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield *node* and all nodes below it, except annotations, which compute nothing."""
    waiting = [node]
    for one in waiting:  # the loop extends the list
        yield one
        for name, value in ast.iter_fields(one):
            if name not in {"annotation", "returns"}:
                some = value if isinstance(value, list) else [value]
                waiting += [each for each in some if isinstance(each, ast.AST)]


def _free_names(node: ast.AST) -> set[str]:
    """Return the names in *node* that no function around them binds."""
    found = {node.id} if isinstance(node, ast.Name) else set[str]()
    found = found.union(*map(_free_names, ast.iter_child_nodes(node)))
    every = list(ast.walk(node)) if isinstance(node, Function | ast.Lambda) else []
    return found - variables_of(every) - {one.arg for one in every if isinstance(one, ast.arg)}


def variables_of(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names of the variables that *nodes* set."""
    names = (one for one in nodes if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Store)}


def name_of(node: ast.AST) -> str:
    """Return the last part of a dotted name."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def names_in(node: ast.AST) -> set[str]:
    """Return the names of the variables and attributes in *node*."""
    every = (each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute))
    return {name_of(each) for each in every} - {"self", "torch", "math"}


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets of an assignment with their values, of two tuples one by one."""
    match node:
        case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
            yield from zip(names, values, strict=True)
        case ast.Assign(targets, value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target, _, ast.expr() as value) | ast.AugAssign(target, _, value):
            yield target, value


def _divisors(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions by which *node* divides."""
    match node:
        case ast.BinOp(_, ast.Div() | ast.FloorDiv() | ast.Mod(), right):
            yield right
        case ast.AugAssign(_, ast.Div() | ast.FloorDiv(), right):
            yield right
        case ast.BinOp(left, ast.Pow()):  # a negative power
            yield left
        case ast.Call(ast.Attribute(value, name), args) if name in FUNCTIONS["divides"].split():
            yield from args
            yield value
        case ast.Call(ast.Name("softmax" | "rsqrt" | "sqrt"), args):
            yield from args


def _is_root(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(_, ast.Pow(), ast.Constant(power)):
            return power in HALF
        case ast.BinOp(_, ast.Pow()):  # such as -0.5 or 1 / 2
            return True
        case ast.Call(ast.Name("pow") | ast.Attribute(_, "pow" | "pow_")):
            return True
    return False


def _is_part(node: ast.expr) -> bool:
    """Whether a loop over *node* may leave out entries at an end."""
    match node:
        case ast.Call(ast.Name("range"), args):
            return len(args) > 1 or any(isinstance(each, ast.BinOp) for each in args)
        case ast.Subscript(_, ast.Slice()):
            return True
        case ast.Call(_, args):
            return any(map(_is_part, args))
    return False


def loses_axis(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether *node* is a reduction along an axis that does not keep this axis."""
    if not isinstance(node, ast.Call) or name_of(node.func) not in REDUCTIONS:
        return False
    is_pythons = getattr(node.func, "id", "") in {"max", "min", "sum"}  # such as max(1, n)
    given = {"keepdim", None} & {one.arg for one in node.keywords}
    return _gives_axis(node) and not (given or is_pythons)


def _gives_axis(call: ast.Call) -> bool:
    """Whether a call of a function of tensors, or of a method, has an argument for the axis."""
    is_method = isinstance(call.func, ast.Attribute) and name_of(call.func.value) not in LIBRARIES
    given = call.args[0 if is_method else 1 :]
    if name_of(call.func) in {"max", "min"}:  # which also compare two tensors
        given = [one for one in given if name_of(one) in {"dim", ""}]
    return bool(given) or any(each.arg in {"dim", "axis", None} for each in call.keywords)


def _may_be(number: int, ordinal: str) -> bool:
    """Whether the axis *number*, which may count from either end, may be the *ordinal* one."""
    wanted = AXES[ordinal]
    from_other_end = (number < 0) is not (wanted < 0) and {number, wanted} != {0, -1}
    return number == wanted or from_other_end


def _two_axes(call: ast.Call) -> list[int]:
    """Return the numbers of the axes that *call* swaps; fewer if the source does not give both."""
    given = [*call.args[-2:], *(one.value for one in call.keywords)]
    return [number for each in given for number in _whole_number(each)]


def _may_be_pair(numbers: Sequence[int], one: str, other: str) -> bool:
    """Whether two *numbers* of axes may be those of *one* and *other*."""
    if len(numbers) != 2:  # noqa: PLR2004  # of two axes
        return True
    first, second = numbers
    apart = abs(AXES[one] - AXES[other])  # both count from the same end
    if (first < 0) is (second < 0) and abs(first - second) != apart:
        return False
    return any(_may_be(first, a) and _may_be(second, b) for a, b in ((one, other), (other, one)))


def _axis_numbers(node: ast.AST) -> Iterator[int]:
    """Yield the number of the axis whose size *node* reads."""
    match node:
        case ast.Subscript(ast.Attribute(_, "shape"), axis):
            pass
        case ast.Call(ast.Attribute(_, "size"), [axis]):
            pass
        case ast.Call(ast.Name("len")):
            axis = ast.Constant(0)
        case _:
            return
    yield from _whole_number(axis)


def _whole_number(node: ast.expr) -> Iterator[int]:
    with contextlib.suppress(ValueError):
        number = ast.literal_eval(node)
        yield from [number] if isinstance(number, int) else []


def is_along(axis: int, call: ast.Call) -> bool:
    """Whether a call gives the number *axis*."""
    axes = [each.value for each in call.keywords if each.arg in {"dim", "axis"}]
    return any(axis in _whole_number(each) for each in (*axes, *call.args))
