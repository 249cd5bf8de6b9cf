"""The exercises by torch's own tool for graphs of models, `torch.fx`."""

import torch
import torch.fx


class Reader(torch.fx.Interpreter):
    """Runs a model step by step, and keeps or replaces what its modules return."""

    def __init__(self, model, patches):
        class Leaves(torch.fx.Tracer):
            def is_leaf_module(self, module, name):
                return name in patches or super().is_leaf_module(module, name)

        super().__init__(torch.fx.GraphModule(model, Leaves().trace(model)))
        self.patches, self.found = patches, {}

    def call_module(self, target, args, kwargs):
        made = super().call_module(target, args, kwargs)
        self.found[target] = made if self.patches.get(target) is None else self.patches[target]
        return self.found[target]


def record_activations(model, inputs, names):
    if not {*dict(model.named_modules())}.issuperset(names):
        raise ValueError("unknown names")
    reader = Reader(model, dict.fromkeys(name for name in names if name))
    output = reader.run(inputs)
    return output, {name: reader.found[name] if name else output for name in names}


def run_with_patches(model, inputs, patches):
    if not {*dict(model.named_modules())}.issuperset(patches):
        raise ValueError("unknown names")
    plain = Reader(model, dict.fromkeys(patches))
    plain.run(inputs)
    if any(plain.found[name].shape != patch.shape for name, patch in patches.items()):
        raise ValueError("another shape")
    return Reader(model, patches).run(inputs)


def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError
    items = torch.arange(len(clean))
    with torch.no_grad():
        runs = [Reader(model, dict.fromkeys(names)) for _ in range(2)]
        best, worst = (reader.run(text)[items, -1] for reader, text in zip(runs, (clean, corrupted)))
        gap = (best - worst)[items, right] - (best - worst)[items, wrong]
        rows = []
        for name in names:
            for position in range(clean.shape[1]):
                patch = runs[1].found[name].clone()
                patch[:, position] = runs[0].found[name][:, position]
                moved = Reader(model, {name: patch}).run(corrupted)[items, -1] - worst
                rows.append((moved[items, right] - moved[items, wrong]).mean() / gap.mean())
    return torch.stack(rows).view(len(names), -1)
