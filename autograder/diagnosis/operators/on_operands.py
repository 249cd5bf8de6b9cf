"""Mistakes in what a step works on: projections, products, axes, heads and results."""

import ast
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from autograder.diagnosis.operators.rewrites import (
    Rewrite,
    Scope,
    Site,
    before,
    input_site,
    mistake,
    name_of,
    option,
    put,
    site_of,
)
from autograder.diagnosis.operators.vocabulary import PROJECTIONS, role_of

TRANSPOSES = ("transpose", "permute", "swapaxes", "t")
OTHER_AXES = ((0, 1), (1, 2), (0, 2), (1, 3), (2, 3), (0, -1), (1, -1), (-2, -1), (-3, -1))


def projections(scope: Scope) -> Iterator[Rewrite]:
    """One of queries, keys and values used for another, or the inputs for one of them."""
    if scope.is_constructor:
        return
    shapes = {id(site.node.value) for site in scope.of(ast.Attribute) if site.node.attr == "shape"}
    known = {role: scope.by_role[role] for role in PROJECTIONS if role in scope.by_role}
    for site in scope.of(ast.Name):
        role = role_of(site.node)
        loaded = isinstance(site.node.ctx, ast.Load) and id(site.node) not in shapes
        if role not in known or not loaded:
            continue
        others = [(other, name) for other, name in known.items() if other != role]
        for other, name in others:
            yield mistake(
                "projection_exchanged",
                put(site, name),
                f"The {other} are used where the {role} must be.",
                _question(role),
                group=f"{other} for {role}",
            )
        inputs = [name for name in scope.tensors if not role_of(ast.Name(name))]
        for name in inputs if known[role] not in scope.tensors else ():
            yield mistake(
                "projection_missing",
                put(site, name),
                f"`{name}` itself is used where the {role} must be.",
                group=f"inputs for {role}",
            )


def _question(role: str) -> str:
    return {
        "queries": "Which of the three stands for the token that asks?",
        "keys": "With what is a query compared?",
        "values": "What do the weights mix?",
    }[role]


def layers(scope: Scope) -> Iterator[Rewrite]:
    """A layer that is skipped, or exchanged with another one; another input of a layer."""
    if scope.is_constructor or scope.owner is None:
        return
    found = [site for site in _uses_of_layers(scope) if role_of(site.node) in PROJECTIONS]
    for one, other in combinations(found, 2):
        roles = role_of(one.node), role_of(other.node)
        if roles[0] != roles[1]:
            left, right = one.node, other.node
            yield mistake(
                "projection_exchanged",
                (
                    put(one, "NEW", NEW=right),
                    put(other, "NEW", NEW=left),
                ),
                *_exchange(*roles),
            )
    for site in scope.of(ast.Call):
        call = site.node
        own = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self"
        if own and len(call.args) == 1 and "dropout" not in name_of(call.func).lower():
            role = role_of(call)
            name = name_of(call.func)
            kind = "projection_missing" if role in PROJECTIONS else "layer_unused"
            sentence = (
                f"`{name}` has no effect: what goes in comes out unchanged."
                if kind == "layer_unused"
                else f"The inputs themselves are the {role}: `{name}` has no effect."
            )
            group = f"inputs for {role}" if role in PROJECTIONS else ""
            yield mistake(kind, put(site, "FIRST"), sentence, group=group)
    yield from _other_inputs(scope)


def _exchange(one: str, other: str) -> tuple[str, str, str]:
    """Say that two projections are exchanged: what is said and asked, and the group."""
    group = f"exchange {' '.join(sorted((one, other), reverse=True))}"
    if {one, other} != {"queries", "keys"}:
        return f"The {one} and the {other} are exchanged.", "", group
    sentence = "The queries and the keys are exchanged: row i of the scores belongs to key i."
    return sentence, "Which query does row i of the scores belong to?", group


def _other_inputs(scope: Scope) -> Iterator[Rewrite]:
    """Another argument goes into a projection."""
    tensors = [name for name in scope.tensors if name not in scope.optional]
    for site in scope.of(ast.Name):
        if site.node.id not in tensors or not isinstance(site.node.ctx, ast.Load):
            continue
        for name in tensors:
            if name != site.node.id:
                yield mistake(
                    "operand_repeated",
                    put(site, name),
                    f"`{name}` is used where `{site.node.id}` must be.",
                    f"What is `{site.node.id}` for?",
                    group=f"operand_repeated {name} {site.node.id}",
                )


def inputs(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments that are exchanged."""
    for one, other in combinations(scope.tensors, 2):
        sites = [site for site in scope.of(ast.Name) if site.node.id in {one, other}]
        sites = [site for site in sites if isinstance(site.node.ctx, ast.Load)]
        edits = [put(site, other if site.node.id == one else one) for site in sites]
        if {site.node.id for site in sites} == {one, other}:
            roles = [role_of(ast.Name(name)) for name in (one, other)]
            words = _exchange(*roles) if all(roles) else (f"`{one}` and `{other}` are exchanged.",)
            yield mistake("projection_exchanged", edits, *words)


def _uses_of_layers(scope: Scope) -> Iterator[Site]:
    for site in scope.of(ast.Attribute):
        if ast.unparse(site.node.value) == "self" and isinstance(site.node.ctx, ast.Load):
            yield site


def products(scope: Scope) -> Iterator[Rewrite]:
    """A matrix product: operands exchanged, repeated, transposed, or not added up."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if not isinstance(node.op, ast.MatMult):
            continue
        left, right = role_of(node.left), role_of(node.right)
        make = partial(put, site)
        if _transposed(node.right) is not None:
            yield mistake(
                "transposed",
                make("OLD.transpose(-2, -1)"),
                "The scores are transposed: row i holds those of key i with every query.",
                "Which query does row i of the scores belong to?",
                group="exchange queries keys",
            )
            yield from _repeated(scope, site)
        elif left == "weights":
            yield mistake(
                "transposed",
                make("LEFT.transpose(-2, -1) @ RIGHT"),
                "The transposed weights mix the values: row i has the weights that key i gets.",
                "Which weights mix the values for token i?",
            )
        else:
            yield mistake(
                "transposed",
                make("LEFT @ RIGHT.transpose(-2, -1)"),
                _needlessly_transposed(scope.phrase(node.right)),
            )
        yield from _other_products(scope, site)
        yield mistake(
            "wrong_reduction",
            make("LEFT * RIGHT"),
            "Products are formed entry by entry, and not added up.",
            "What turns the products of two vectors into one number?",
        )
        if right:
            continue
        yield mistake("wrong_axis", make("(LEFT * RIGHT).sum(-1)"), group="wrong_axis product")


def _needlessly_transposed(what: str) -> str:
    if what.startswith("the "):
        return f"{_capital(what)} of a product are transposed although they must not be."
    return f"{what or 'The second factor'} is transposed in a product although it must not be."


def _other_products(scope: Scope, site: Site) -> Iterator[Rewrite]:
    """The factors in the other order, only one of them, or their products not added up."""
    make = partial(put, site)
    left = scope.phrase(site.node.left) or "the first factor"
    transposed = _transposed(site.node.right)
    right = scope.phrase(transposed or site.node.right) or "the second factor"
    if right != left:
        sentence = f"{_capital(left)} and {right} are in the other order in their product."
        yield mistake("factors_exchanged", make("RIGHT @ LEFT"), sentence)
        named_otherwise = role_of(site.node.left) == "weights" or role_of(site.node.right)
        if transposed is not None or not named_otherwise:  # what is returned, or not projected
            sentence = f"{_capital(left)} are not multiplied by {right}: there is no product."
            sentence = sentence.replace("` are not", "` is not")
            yield mistake("step_missing", make("LEFT"), sentence)
    if transposed is not None:
        text = "LEFT.transpose(-2, -1) @ RIGHT.transpose(-2, -1)"
        sentence = "Features are compared with features, not tokens with tokens."
        yield mistake("wrong_axis", make(text), sentence)
        text = "LEFT.unsqueeze(-2) * RIGHT.transpose(-2, -1).unsqueeze(-3)"
        sentence = "The features are multiplied one by one, and their products are not added up."
        yield mistake("wrong_reduction", make(text), sentence)
        for name in scope.tensors:
            if not role_of(ast.Name(name)):
                sentence = f"`{name}` is compared with itself: queries and keys have no effect."
                text = f"{name} @ {name}.transpose(-2, -1)"
                yield mistake("projection_missing", make(text), sentence)
    if role_of(site.node.left) == "weights":
        what = right if right.startswith("`") else right.removeprefix("the ")
        for text, kind, sentence in (
            (
                "LEFT.unsqueeze(-1) * RIGHT",
                "wrong_reduction",
                f"The weighted {what} are not summed.",
            ),
            (
                "(LEFT.unsqueeze(-1) * RIGHT).sum(-1)",
                "wrong_axis",
                "The sum runs over the features, not over the tokens.",
            ),
            (
                "RIGHT[LEFT.argmax(-1)]",
                "wrong_reduction",
                "Only the token with the largest weight counts; all must, by their weights.",
            ),
            ("LEFT @ RIGHT + 1", "wrong_reduction", "The weighted sum starts at one, not at zero."),
        ):
            yield mistake(kind, make(text), sentence)
    elif transposed is None:
        sentence = "The products are added up along another axis."
        yield mistake("wrong_axis", make("(LEFT * RIGHT).sum(0)"), sentence)


def _repeated(scope: Scope, site: Site) -> Iterator[Rewrite]:
    left = scope.phrase(site.node.left) or "the vectors"
    right = scope.phrase(_transposed(site.node.right)) or "the vectors"
    if left == right:
        return
    for template, what, other in (
        ("LEFT @ LEFT.transpose(-2, -1)", left, right),
        ("RIGHT.transpose(-2, -1) @ RIGHT", right, left),
    ):
        yield mistake(
            "operand_repeated",
            put(site, template),
            f"{_capital(what)} are compared with themselves.",
            f"With what must {what} be compared?",
            group=f"{what} for {other}".replace("the ", ""),
        )


def axes(scope: Scope) -> Iterator[Rewrite]:
    """Axes that are not exchanged, only cut anew, or exchanged with others."""
    for site in scope.of((ast.Call, ast.Attribute)):
        tensor = _transposed(site.node)
        if tensor is None or scope.is_constructor:
            continue
        what = scope.phrase(tensor)
        of = f" of {what}" if what else ""
        make = partial(put, site)
        yield mistake(
            "transposed",
            make("OBJECT"),
            f"Two axes{of} are not exchanged although they must be.",
            group=f"not transposed {of}",
        )
        yield mistake(
            "reshaped",
            make("OBJECT.reshape(OLD.shape)"),
            f"Two axes{of} must be exchanged; a new shape alone leaves all numbers in their order, "
            "so that they end up in wrong places.",
            group=f"reshaped {of}",
        )
        for one, other in OTHER_AXES:
            yield mistake(
                "transposed",
                make(f"OBJECT.transpose({one}, {other})"),
                f"Other axes{of} are exchanged than those that must be.",
                group=f"other axes {of}",
            )
    swaps = [site for site in scope.calls("transpose") if _is_cut(site.node.func.value)]
    if len(swaps) > 1:
        sentence = (
            "The axes of heads and tokens must be exchanged; a new shape alone leaves all numbers "
            "in their order, so that heads and tokens are mixed up."
        )
        all_cut = [put(site, "OBJECT.reshape(OLD.shape)") for site in swaps]
        yield mistake("reshaped", all_cut, sentence)
    for site in scope.calls("view", "reshape"):
        if site.node.args and isinstance(site.node.args[-1], ast.BinOp):
            sentence = "The features of the heads alternate; those of each must be one block."
            alternating = put(site_of(site, site.node.func, "value"), "OLD.transpose(-2, -1)")
            yield mistake("heads_mixed", alternating, sentence)
        if len(site.node.args) == 4:  # noqa: PLR2004  # items, tokens, heads, features
            parts = dict(zip("ABCD", site.node.args, strict=True))
            cut = put(site, "OBJECT.view(A, B, D, C).transpose(-1, -2)", **parts)
            yield mistake(
                "reshaped",
                cut,
                "Neighbouring features go to different heads; each head must get one block.",
                "Which features belong to head 0?",
                group="interleaved heads",
            )


def _is_cut(node: ast.expr) -> bool:
    """Whether *node* is a tensor in a new shape."""
    return isinstance(node, ast.Call) and name_of(node.func) in {"view", "reshape"}


def _transposed(node: ast.expr | None) -> ast.expr | None:
    """Return the tensor of which *node* is the transposed one."""
    match node:
        case ast.Attribute(tensor, "T" | "mT"):
            return tensor
        case ast.Call(ast.Attribute(tensor, name)) if name in TRANSPOSES:
            return tensor
    return None


def heads(scope: Scope) -> Iterator[Rewrite]:
    """The results of heads, put together."""
    for site in scope.calls("cat", "concat"):
        parts = input_site(site)
        dim = option(site.node, "dim", 1)
        if parts is None or dim is None:
            continue
        for axis in ("0", "1", "-2"):
            yield _together(site, parts, f"torch.cat(H, dim={axis})", "concat_axis", "")
        for axis in ("0", "1", "-1"):
            sentence = (
                "The results of the heads get an axis of their own; they must be side by side."
            )
            yield _together(site, parts, f"torch.stack(H, dim={axis})", "concat_axis", sentence)
        for text, kind, sentence in (
            (
                "sum(H)",
                "heads_mixed",
                "The heads are added up, so no later step can distinguish them.",
            ),
            (
                "sum(H) / len(H)",
                "heads_mixed",
                "The heads are averaged, so no later step can distinguish them.",
            ),
            (
                "torch.cat(H[::-1], dim=D)",
                "heads_mixed",
                "The results of the heads are side by side in the reverse order.",
            ),
            (
                "torch.stack(H, dim=-1).flatten(-2)",
                "heads_mixed",
                "The results of the heads are interleaved: each must be one block.",
            ),
            (
                "torch.cat([H[0]] * len(H), dim=D)",
                "heads_repeated",
                "The result of the first head stands for all of them.",
            ),
            (
                "torch.cat([H[-1]] * len(H), dim=D)",
                "heads_repeated",
                "The result of the last head stands for all of them.",
            ),
            ("H[0]", "heads_mixed", "Only the first head's result is returned."),
            ("H[-1]", "heads_mixed", "Only the last head's result is returned."),
        ):
            yield _together(site, parts, text, kind, sentence, dim)


def _together(  # a row of a table
    site: Site, parts: Site, text: str, kind: str, sentence: str, dim: ast.expr | None = None
) -> Rewrite:
    return mistake(kind, put(site, text, H=parts, D=dim), sentence, group="" if sentence else kind)


def results(scope: Scope) -> Iterator[Rewrite]:
    """What is returned: an earlier step, several values, another dtype, cut from the graph."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Return):
        value = site.node.value
        if value is None:
            continue
        make = partial(put, site_of(site, site.node, "value"))
        final = role_of(value)
        for role, name in scope.by_role.items():
            if role not in {final, "mask"} and name not in scope.tensors:
                yield mistake(
                    "wrong_return",
                    make(name),
                    f"The {role} are returned, not the result of the last step.",
                    f"Which step comes after the {role}?",
                )
                text = f"(OLD, {name})"
                sentence = f"The {role} are returned as well; one result is asked for."
                question = "Can the caller use your result as one tensor?"
                yield mistake("wrong_return", make(text), sentence, question)
        for name in scope.tensors:
            sentence = f"The result is `{name}` itself, unchanged."
            yield mistake("wrong_return", make(name), sentence)
        for dtype in ("float64", "float32", "int64", "bool"):
            sentence = f"The result has the dtype {dtype}, not the one that is asked for."
            yield mistake("dtype", make(f"OLD.to(torch.{dtype})"), sentence, group="dtype")
        yield mistake(
            "detached",
            make("OLD.detach()"),
            "The result is cut from the graph: no gradient flows back from it.",
            group="result",
        )


def forms(scope: Scope) -> Iterator[Rewrite]:
    """The form of the result: True and False exchanged, several results in another order."""
    for site in scope.of(ast.Return):
        value = site.node.value
        make = partial(put, site_of(site, site.node, "value"))
        if isinstance(value, ast.Compare):
            sentence = "True and False are exchanged in the result."
            question = "What does True mean here, and what does False?"
            yield mistake("mask_inverted", make("~(OLD)"), sentence, question)
        for first, second in combinations(range(_length(value)), 2):
            order = list(range(_length(value)))
            order[first], order[second] = order[second], order[first]
            text = f"({', '.join(f'OLD[{index}]' for index in order)})"
            sentence = "The results are returned in another order than documented."
            yield mistake("wrong_return", make(text), sentence, group="order of results")


def _length(value: ast.expr | None) -> int:
    return len(value.elts) if isinstance(value, ast.Tuple) else 0


def graph(scope: Scope) -> Iterator[Rewrite]:
    """A quantity that is cut from the graph on its way to the result."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Assign):
        role = role_of(site.node.targets[0])
        if role == "scores" and "weights" in scope.by_role:
            role = "weights"  # which depend on nothing else
        if role and role != "mask":
            yield mistake(
                "detached",
                put(site_of(site, site.node, "value"), "OLD.detach()"),
                f"No gradient flows back through the {role}: what they come from is never trained.",
            )
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Div | ast.Sub) and isinstance(site.node.right, ast.Call):
            what = "divisor" if isinstance(site.node.op, ast.Div) else "number that is subtracted"
            yield mistake(
                "detached",
                put(site_of(site, site.node, "right"), "OLD.detach()"),
                f"No gradient flows back through the {what}, which depends on the input as well.",
            )


def batch(scope: Scope) -> Iterator[Rewrite]:
    """Items of a batch that are not independent."""
    if scope.is_constructor or not scope.tensors:
        return
    name = scope.tensors[0]
    first = scope.start
    for site in scope.of(ast.Assign):
        role, value = role_of(site.node.targets[0]), site_of(site, site.node, "value")
        if role in PROJECTIONS:
            text = "(lambda t: t[:1].expand_as(t) if t.ndim > 2 else t)(OLD)"
            sentence = f"The {role} of the first item of the batch stand for those of all items."
            yield mistake("batch_mixed", put(value, text), sentence)
            text = "(lambda t: t[:, :1].expand_as(t) if t.ndim > 3 else t)(OLD)"
            sentence = f"The {role} of the first head stand for those of all heads."
            yield mistake("heads_repeated", put(value, text), sentence)
    for text, sentence in (
        ("[:1]", "The first item of the batch stands for all items."),
        (".mean(0, keepdim=True)", "The items of the batch are averaged."),
    ):
        same = f"{name} = {name}{text}.expand_as({name}) if {name}.ndim > 2 else {name}"
        yield mistake("batch_mixed", before(first, same), sentence)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


RULES = (products, projections, layers, inputs, axes, heads, results, forms, graph, batch)
