"""Lets the storyteller write with your code, and teaches it your own sentence."""

import random
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from . import storyteller_slots
from .story_texts import text_of
from .storyteller import READ, Storyteller, cut, raised, read, unusable

ALONE, ALONE_RATE = 10, 0.1  # steps of teaching without stories, and their rate
MIXED, MIXED_RATE, PIECES = 20, 0.02, 4  # steps of each kind, their rate, stories in a batch
TAUGHT_LENGTH = 35  # characters after the sentence that it was taught
CONTRAST_LENGTH = 65
SAME = 1e-4  # nats; right code moves the loss by 1e-6
CLOSE = 1e-3  # a choice between two symbols that right code may make differently
FAR = 0.2  # nats; a loss that has risen by more has forgotten the stories


class Companion:
    """The storyteller in *folder*, with the learner's modules of several stages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.story = read(folder)
        self.held = text_of("held")[:READ]
        self.margins = []  # how clear each choice of the course's own text was
        self.fills = []  # what was filled, to fill it again with other weights
        self.problems = {}  # what happened while a stage was filled

    @property
    def running(self) -> str:
        """The exercise whose code runs now, or its stage alone; empty while the course's runs."""
        exercise, stage, _ = self.story.filled.get(
            self.story.running, (self.story.making, self.story.running, None)
        )
        return f"{stage}/{exercise}" if exercise else stage

    def fill(self, stage: str, glue: str, module: object) -> None:
        """Fill the slots of *stage* with the learner's *module*."""
        self.fills.append((stage, glue, module))
        problem = fill(self.story, stage, glue, module)
        if problem and problem not in self.problems.values():  # a later stage uses an earlier one
            self.problems[stage] = problem

    def show(self, prompt: str = "", **shown) -> dict:
        """Write after *prompt*, by default the start of the newest stage's text."""
        self.margins.clear()
        if teach := shown.pop("teach", ""):
            parts = self._teach(prompt, teach)
            own = Companion(self.folder)._teach(prompt, teach) if self.fills else parts  # noqa: SLF001  # same class
            is_own = [text for _, text in parts] == [text for _, text in own]
            if not is_own and not self.story.replaced:
                parts.append(["The course's code, with the same steps, leads to other texts.", ""])
        else:
            parts, is_own = self._write(prompt, **shown)
        notes = [f"{what}, so the course's own code took its place" for what in self._replaced()]
        return {
            "parts": parts,
            "notes": [f"{one}, and this text is not yours." for one in notes],
            "share": self.story.share(),
            "is_own": is_own and not notes,
            "margin": min(self.margins, default=None),
        }

    def _write(self, prompt, start, says="", then="", contrast="", contrast_says="", heat=0.0):
        story, prompt = self.story, prompt or start
        text = story.write(f"\n{prompt}", story.length, heat)
        loss, course = story.loss(self.held), read(self.folder)
        own_text = course.write(f"\n{prompt}", story.length, margins=self.margins)
        own_loss = course.loss(self.held)
        # Right code may choose differently where two symbols are nearly equally likely.
        near = [n for n, one in enumerate(self.margins) if one < CLOSE] or [len(text)]
        where = next((n for n in range(len(text)) if text[n] != own_text[n]), None)
        is_own = (heat > 0 or where is None or where >= near[0]) and abs(loss - own_loss) < SAME
        if self.problems or story.replaced or not is_own:  # the sentences speak of right code
            says = then = contrast = ""
        numbers = {"loss": f"{loss:.2f}", "course_loss": f"{own_loss:.2f}"}
        before = []
        if contrast:
            other = self._filled_again(read(self.folder))
            fill(other, "", contrast, story.modules.get(self.fills[-1][0]))
            if contrast_says:
                other_text = other.write(f"\n{prompt}", CONTRAST_LENGTH)
                before = [] if other.replaced else [[contrast_says, prompt + other_text]]
            numbers["contrast_loss"] = f"{other.loss(self.held):.2f}"
        parts = [*before, [says.format(**numbers), prompt + cut(text)]]
        parts += [[then.format(**numbers), ""]] if then else []
        if not is_own and not story.replaced:
            parts.append([difference(heat, where, loss, own_loss), ""])
        return parts, is_own

    def _replaced(self):
        """Yield each failure of the learner's code that the course's code replaced."""
        for problem in self.problems.values():
            yield f"Your {problem}"
        for name, problem in self.story.replaced.items():
            if problem:
                yield f"Your `{self.story.filled[name][0]}` {problem}"

    def _filled_again(self, story: Storyteller) -> Storyteller:
        for stage, glue, module in self.fills:
            fill(story, stage, glue, module)
        return story

    # Teaching.

    def _teach(self, prompt, sentence):
        """Teach the sentence alone, and then with stories in between; write after each."""
        story = self.story
        prompt = prompt or f"{sentence.split()[0]} "
        own = story.encode(f"\n{sentence}\n")[None]
        alone = [(own[:, :-1], own[:, 1:])] * ALONE
        ids = story.encode(text_of("train"))
        mixed = []
        draw = random.Random(0)  # noqa: S311  # no secret
        for _ in range(MIXED):
            starts = [draw.randrange(len(ids) - story.L) for _ in range(PIECES)]
            pieces = torch.stack([ids[one : one + story.L + 1] for one in starts])
            mixed += [alone[0], (pieces[:, :-1], pieces[:, 1:])]
        before = story.loss(self.held)
        one, lost = self._taught(alone, ALONE_RATE, prompt, sentence)
        two, kept = self._taught(mixed, MIXED_RATE, prompt, sentence)
        used = story.filled.keys() - story.replaced.keys()
        whose = "Your `train`" if "train" in used else "The course's code"
        if {"backward", "loss_backward"} <= used:
            whose += ", with the gradients that your code computes,"
        did = (
            "has taught it your sentence, in" if sentence in one else "was given your sentence for"
        )
        says = f"{whose} {did} {ALONE} steps at a rate of {ALONE_RATE}:"
        reads = "Its loss of reading stories"
        if lost > before + FAR:
            reads = "It forgot the stories: its loss of reading them"
        keeps = f"it keeps them ({kept:.2f})" if kept < before + FAR else f"it is {kept:.2f}"
        then = (
            f"{reads} went from {before:.2f} to {lost:.2f}. With smaller steps, and stories in "
            f"between, {keeps}:"
        )
        return [[says, one], [then, two]]

    def _taught(self, batches, rate, prompt, sentence):
        """Return a text and the loss of reading after training on *batches*."""
        weights = self._train(batches, rate)
        story = Storyteller(weights, self.story.symbols, self.story.H, self.story.L)
        story = self._filled_again(story)
        story.remembers = True  # which is quicker
        length = TAUGHT_LENGTH + len(sentence)
        text = prompt + story.write(f"\n{prompt}", length, margins=self.margins)
        self.story.replaced |= story.replaced
        return text, story.loss(self.held)

    def _train(self, batches, rate):
        """Train a copy of the weights with the learner's code, else with the course's."""
        story = self.story
        while True:
            slots = {name: one for name, one in story.filled.items() if name not in story.replaced}
            model = Teachable(story, slots, [targets for _, targets in batches])
            mine = [name for name in slots if name in {"train", "backward", "loss_backward"}]
            slot, problem = (mine or [""])[-1], ""
            try:
                story.running = "train" if "train" in slots else ""
                slots.get("train", (descend,))[-1](model, batches, rate)
            except Blamed as error:
                slot, problem = error.args
            except (Exception, SystemExit) as error:  # noqa: BLE001  # the learner's code may raise anything
                slot, problem = "train" if "train" in slots else slot, raised(error)
            else:
                found = [one.detach() for one in model.values]
                shapes = [one.shape for one in story.weights.values()]
                problem = next(filter(None, map(unusable, found, shapes)), "")
                if not problem:
                    return dict(zip(model.names, found, strict=False))
                problem = problem.replace("returned", "led to weights with")
            finally:
                story.running = ""
            if not mine:
                raise RuntimeError(problem)  # the course's own code
            story.replaced[slot] = problem


def fill(story, stage, glue, module) -> str:
    """Fill slots of *story*; return what the learner's code did if that failed."""
    story.stage = story.running = stage
    story.modules[stage] = module
    try:
        getattr(storyteller_slots, glue)(story, module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the learner's code may raise anything
        return f"{f'`{story.making}`' if story.making else f'code of {stage}'} {raised(error)}"
    finally:
        story.running = story.making = ""
    return ""


def difference(heat: float, where: int | None, loss: float, own_loss: float) -> str:
    """Return in which way a text or the loss of reading is not the course's."""
    pairs = [(f"{loss:.{digits}f}", f"{own_loss:.{digits}f}") for digits in (2, 3, 4)]
    ours, theirs = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
    reads = f"reading held-out stories, its loss is {ours}, and with the course's code {theirs}"
    if abs(loss - own_loss) < SAME:
        reads = f"reading held-out stories, its loss is that of the course's code, {theirs}"
    if heat:  # each drawn text differs
        return f"{reads[:1].upper()}{reads[1:]}."
    if where is None:
        return f"The text is also the course's, but {reads}."
    return f"With the course's code the text differs from character {where + 1} on; {reads}."


def descend(model, batches, rate) -> None:
    """Take a plain step downhill for each batch."""
    for ids, right in batches:
        loss = F.cross_entropy(model(ids).flatten(0, 1), right.flatten())
        slopes = torch.autograd.grad(loss, list(model.parameters()))
        for value, slope in zip(model.parameters(), slopes, strict=True):
            value.data.sub_(rate * slope)


class Teachable(nn.Module):
    """The storyteller as a module that can be trained: (B, T) -> (B, T, V)."""

    def __init__(self, story, slots, targets) -> None:
        super().__init__()
        self.story, self.slots, self.targets = story, slots, iter(targets)
        self.names = list(story.weights)
        self.values = nn.ParameterList(nn.Parameter(one.clone()) for one in story.weights.values())

    def forward(self, ids):
        """(B, T) -> logits (B, T, V)."""
        story, w = self.story, dict(zip(self.names, self.values, strict=False))
        x = w["tok_emb.weight"][ids] + story.own_positions(ids.shape[1])
        for layer in range(story.layers):
            part = {name.removeprefix(f"blocks.{layer}."): one for name, one in w.items()}
            y = norm(x, part, "norm1")
            q, k, v = (
                F.linear(y, part[f"att.W_{name}.weight"]).unflatten(-1, (story.H, story.d))
                for name in ("query", "key", "value")
            )
            context = self._attend(*(one.transpose(1, 2) for one in (q, k, v)))
            context = context.transpose(1, 2).flatten(-2)
            x = x + linear(context, part, "att.out_proj")
            hidden = F.gelu(linear(norm(x, part, "norm2"), part, "ff.linear1"), approximate="tanh")
            x = x + linear(hidden, part, "ff.linear2")
        logits = F.linear(norm(x, w, "final_norm"), w["out_head.weight"])
        if "loss_backward" not in self.slots:
            return logits
        targets = next(self.targets).flatten()

        def slopes(logits, _):
            rows = logits.flatten(0, 1)
            return [self._gradients("loss_backward", [rows], rows, targets)[0].view_as(logits)]

        return ByHand.apply(lambda logits: logits.clone(), slopes, logits)

    def _attend(self, q, k, v):
        def attend(q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        hidden = ~self.story.own_visible(q.shape[-2])

        def slopes(q, k, v, slope):
            return self._gradients("backward", [q, k, v], q, k, v, slope, hidden=hidden)

        return (
            ByHand.apply(attend, slopes, q, k, v) if "backward" in self.slots else attend(q, k, v)
        )

    def _gradients(self, slot, inputs, *args, **options):
        """Return the gradients of *inputs* that the learner's code computes."""
        outer, self.story.running = self.story.running, slot
        try:
            found = self.slots[slot][-1](*args, **options)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the learner's code may raise anything
            raise Blamed(slot, raised(error)) from None
        finally:
            self.story.running = outer
        found = found if isinstance(found, tuple | list) else [found]
        if len(found) != len(inputs):
            raise Blamed(slot, f"returned {len(found)} gradients, not {len(inputs)}")
        for one, of in zip(found, inputs, strict=True):
            if problem := unusable(one, of.shape):
                raise Blamed(slot, problem)
        return found


class Blamed(Exception):  # caught where the course's code takes over
    """Raised with the name of a slot, and with what its code did."""


class ByHand(torch.autograd.Function):
    """A function whose gradients the learner's code computes."""

    @staticmethod
    def forward(context, function, slopes, *inputs):
        """Run *function*."""
        context.slopes = slopes
        context.save_for_backward(*inputs)
        return function(*inputs)

    @staticmethod
    def backward(context, slope):
        """Return the learner's gradients of the inputs."""
        found = context.slopes(*context.saved_tensors, slope)
        return None, None, *found


def norm(x, weights, name):
    """Normalize the features: (..., D) -> (..., D)."""
    return F.layer_norm(x, x.shape[-1:], weights[f"{name}.scale"], weights[f"{name}.shift"])


def linear(x, weights, name):
    """Apply a linear layer."""
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def open_companion(folder: Path) -> Companion:
    """Return the companion whose files are in *folder*."""
    return Companion(folder)
