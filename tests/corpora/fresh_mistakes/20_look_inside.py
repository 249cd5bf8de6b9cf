#% right_record_with_a_class
class Recorder:
    def __init__(self, name, store):
        self.name = name
        self.store = store

    def __call__(self, module, inputs, output):
        self.store[self.name] = output


def record_activations(model, inputs, names):
    store = {}
    handles = []
    modules = {name: module for name, module in model.named_modules()}
    for name in names:
        if name not in modules:
            raise ValueError("no module named " + name)
    try:
        for name in names:
            handles.append(modules[name].register_forward_hook(Recorder(name, store)))
        out = model(inputs)
    finally:
        while handles:
            handles.pop().remove()
    return out, store


#% right_record_with_default_arguments
def record_activations(model, inputs, names):
    acts, hooks = {}, []
    try:
        for n in names:
            try:
                sub = model.get_submodule(n)
            except AttributeError as error:
                raise ValueError(f"unknown module {n}") from error
            hooks.append(sub.register_forward_hook(lambda m, i, o, n=n: acts.__setitem__(n, o)))
        return model(inputs), acts
    finally:
        for h in hooks:
            h.remove()


#% right_patch_writes_into_the_output
def run_with_patches(model, inputs, patches):
    known = dict(model.named_modules())
    for name in patches:
        if name not in known:
            raise ValueError(f"{name}?")

    def make(new):
        def hook(mod, args, out):
            if tuple(out.shape) != tuple(new.shape):
                raise ValueError(f"expected {tuple(out.shape)}, got {tuple(new.shape)}")
            return new.clone()
        return hook

    handles = [known[name].register_forward_hook(make(new)) for name, new in patches.items()]
    try:
        result = model(inputs)
    finally:
        [handle.remove() for handle in handles]
    return result


#% right_patch_with_always_call
def run_with_patches(model, inputs, patches):
    missing = set(patches).difference(name for name, _ in model.named_modules())
    if missing:
        raise ValueError(f"not in the model: {sorted(missing)}")
    handles = []
    for name, tensor in patches.items():
        def hook(module, args, output, tensor=tensor):
            if output.size() != tensor.size():
                raise ValueError("shape mismatch")
            return tensor
        handles.append(model.get_submodule(name).register_forward_hook(hook))
    try:
        return model(inputs)
    finally:
        for handle in handles:
            handle.remove()


#% right_pattern_by_loops
def induction_pattern(ids):
    B, T = ids.shape
    out = torch.zeros(B, T, T)
    for b in range(B):
        for i in range(T):
            for j in range(1, T):
                if j - 1 < i and ids[b, j - 1] == ids[b, i]:
                    out[b, i, j] = 1.0
    return out


#% right_pattern_by_a_matrix
def induction_pattern(ids):
    T = ids.shape[1]
    shift = torch.diag(torch.ones(T - 1), 1) if T > 1 else torch.zeros(1, 1)
    equal = (ids[:, :, None] == ids[:, None, :]).float()
    return (equal * torch.ones(T, T).tril(-1)) @ shift


#% right_lens_by_broadcast
def logit_lens(streams, norm, out_head):
    results = []
    for index in range(len(streams)):
        x = streams[index]
        results += [out_head(norm(x)).unsqueeze(0)]
    return torch.cat(results)


#% right_ablation_by_views
def ablate_heads(merged, num_heads, heads, mean=False):
    B, T, D = merged.size()
    if D % num_heads:
        raise ValueError("D must be divisible by num_heads")
    for h in heads:
        if h not in range(num_heads):
            raise ValueError(f"head {h} does not exist")
    x = merged.reshape(B, T, num_heads, D // num_heads)
    off = torch.zeros(num_heads, dtype=torch.bool)
    for h in heads:
        off[h] = True
    fill = x.mean(dim=0, keepdim=True).expand_as(x) if mean else torch.zeros_like(x)
    return torch.where(off[None, None, :, None], fill, x).reshape(B, T, D)


#% right_contributions_by_masking
def head_contributions(merged, out_weight, num_heads):
    D = merged.shape[-1]
    if D % num_heads != 0:
        raise ValueError("num_heads must divide D")
    owner = torch.arange(D) // (D // num_heads)
    masks = (owner[None, :] == torch.arange(num_heads)[:, None]).to(merged.dtype)  # (H, D)
    return (merged[:, None] * masks[None, :, None]) @ out_weight.T


#% right_attribution_folds_the_norm
def logit_attribution(parts, scale, directions, eps=1e-5):
    total = parts.sum(dim=0)
    sigma = torch.sqrt(torch.var(total, dim=-1, unbiased=False) + eps)
    w = directions * scale
    w = w - w.mean(dim=-1, keepdim=True)
    return (parts * w).sum(dim=-1) / sigma


#% right_map_with_gather
def patching_map(model, clean, corrupted, names, right, wrong):
    if tuple(clean.shape) != tuple(corrupted.shape):
        raise ValueError("clean and corrupted must have the same shape")

    def score(logits):
        final = logits[:, -1]
        good = final.gather(1, right.view(-1, 1))
        bad = final.gather(1, wrong.view(-1, 1))
        return (good - bad).mean()

    out = torch.zeros(len(names), clean.size(1))
    with torch.no_grad():
        y1, a1 = record_activations(model, clean, names)
        y0, a0 = record_activations(model, corrupted, names)
        s1, s0 = score(y1), score(y0)
        for n, name in enumerate(names):
            for t in range(clean.size(1)):
                mix = a0[name].clone()
                mix[:, t, :] = a1[name][:, t, :]
                out[n, t] = (score(run_with_patches(model, corrupted, {name: mix})) - s0) / (s1 - s0)
    return out


#% right_map_with_its_own_hooks
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("texts must match")
    rows = torch.arange(clean.shape[0])
    modules = dict(model.named_modules())

    def advantage(logits):
        return (logits[rows, -1, right] - logits[rows, -1, wrong]).mean()

    def grab(ids):
        found = {}
        handles = [modules[n].register_forward_hook(lambda m, a, o, n=n: found.update({n: o})) for n in names]
        try:
            return model(ids), found
        finally:
            for handle in handles:
                handle.remove()

    with torch.no_grad():
        top, good = grab(clean)
        bottom, _ = grab(corrupted)
        low, high = advantage(bottom), advantage(top)
        table = []
        for n in names:
            line = []
            for t in range(clean.shape[1]):
                def hook(module, args, output):
                    output = output.clone()
                    output[:, t] = good[n][:, t]
                    return output
                handle = modules[n].register_forward_hook(hook)
                try:
                    line.append(advantage(model(corrupted)) - low)
                finally:
                    handle.remove()
            table.append(torch.stack(line))
        return torch.stack(table) / (high - low)


#% record_last_name_wins
#% record_activations | step_misplaced, operand_repeated | Every hook stores under the last name of the loop.
def record_activations(model, inputs, names):
    acts = {}
    handles = []
    mods = dict(model.named_modules())
    for n in names:
        if n not in mods:
            raise ValueError(n)
        handles.append(mods[n].register_forward_hook(lambda m, i, o: acts.update({n: o})))
    try:
        out = model(inputs)
    finally:
        for h in handles:
            h.remove()
    return out, acts


#% record_keeps_hooks
#% record_activations | state_kept | The hooks stay in the model.
def record_activations(model, inputs, names):
    acts = {}
    mods = dict(model.named_modules())
    for n in names:
        if n not in mods:
            raise ValueError(n)

    def save(n):
        def hook(m, i, o):
            acts[n] = o
        return hook

    for n in names:
        mods[n].register_forward_hook(save(n))
    return model(inputs), acts


#% record_removes_only_on_success
#% record_activations | state_kept | After an error the hooks stay in the model.
def record_activations(model, inputs, names):
    acts = {}
    mods = dict(model.named_modules())
    if not set(names) <= set(mods):
        raise ValueError("unknown name")

    def save(n):
        def hook(m, i, o):
            acts[n] = o
        return hook

    handles = [mods[n].register_forward_hook(save(n)) for n in names]
    out = model(inputs)
    for h in handles:
        h.remove()
    return out, acts


#% record_inputs_instead
#% record_activations | operand_repeated, wrong_return, parts_exchanged | The inputs of the modules are stored, not their outputs.
def record_activations(model, inputs, names):
    acts = {}
    mods = dict(model.named_modules())
    if any(n not in mods for n in names):
        raise ValueError("unknown name")

    def make(key):
        def hook(module, inp):
            acts[key] = inp[0]
        return hook

    handles = [mods[n].register_forward_pre_hook(make(n)) for n in names]
    try:
        return model(inputs), acts
    finally:
        for h in handles:
            h.remove()


#% record_detached
#% record_activations | detached | The activations leave the graph.
def record_activations(model, inputs, names):
    acts = {}
    mods = dict(model.named_modules())
    if any(n not in mods for n in names):
        raise ValueError("unknown name")

    def make(key):
        def hook(module, inp, out):
            acts[key] = out.detach().clone()
        return hook

    handles = [mods[n].register_forward_hook(make(n)) for n in names]
    try:
        return model(inputs), acts
    finally:
        for h in handles:
            h.remove()


#% record_calls_modules_alone
#% record_activations | step_misplaced, operand_repeated, layer_extra | Each module is called on the model's inputs.
def record_activations(model, inputs, names):
    acts = {}
    for n in names:
        try:
            part = model.get_submodule(n)
        except AttributeError:
            raise ValueError(n)
        acts[n] = part(inputs)
    return model(inputs), acts


#% record_swapped_pair
#% record_activations | wrong_return, parts_exchanged | Output and activations are returned in the wrong order.
def record_activations(model, inputs, names):
    acts = {}
    mods = dict(model.named_modules())
    if any(n not in mods for n in names):
        raise ValueError("unknown name")
    handles = [mods[n].register_forward_hook(lambda m, i, o, k=n: acts.update({k: o})) for n in names]
    try:
        result = model(inputs)
    finally:
        for h in handles:
            h.remove()
    return acts, result


#% record_everything
#% record_activations | wrong_return, argument_ignored, step_extra | The activations of all modules are returned.
def record_activations(model, inputs, names):
    acts = {}
    for n in names:
        if n not in dict(model.named_modules()):
            raise ValueError("unknown name")
    handles = []
    for n, m in model.named_modules():
        handles.append(m.register_forward_hook(lambda m, i, o, k=n: acts.update({k: o})))
    try:
        return model(inputs), acts
    finally:
        for h in handles:
            h.remove()


#% pattern_marks_copy
#% induction_pattern | step_missing, mask_shifted, boundary | The earlier copy itself is marked.
def induction_pattern(ids):
    T = ids.shape[1]
    equal = ids[:, :, None] == ids[:, None, :]
    before = torch.arange(T)[:, None] > torch.arange(T)[None, :]
    return (equal & before).float()


#% pattern_includes_itself
#% induction_pattern | mask_shifted, boundary | A token counts as its own earlier copy.
def induction_pattern(ids):
    B, T = ids.shape
    equal = (ids.unsqueeze(2) == ids.unsqueeze(1)).float().tril()
    pattern = torch.zeros(B, T, T)
    pattern[:, :, 1:] = equal[:, :, :-1]
    return pattern


#% pattern_sees_the_future
#% induction_pattern | mask_missing | Later copies are marked, too.
def induction_pattern(ids):
    B, T = ids.shape
    pattern = torch.zeros(B, T, T)
    for j in range(1, T):
        pattern[:, :, j] = (ids == ids[:, j - 1 : j]).float()
    return pattern


#% pattern_rows_sum_to_one
#% induction_pattern | step_extra, wrong_divisor | The rows are divided by their sums.
def induction_pattern(ids):
    B, T = ids.shape
    equal = (ids[:, :, None] == ids[:, None, :]).float().tril(-1)
    pattern = torch.cat([torch.zeros(B, T, 1), equal[:, :, :-1]], dim=2)
    return pattern / pattern.sum(-1, keepdim=True).clamp(min=1)


#% pattern_only_last_copy
#% induction_pattern | step_missing, boundary, wrong_form | Only the newest earlier copy is marked.
def induction_pattern(ids):
    B, T = ids.shape
    pattern = torch.zeros(B, T, T)
    for b in range(B):
        last = {}
        for i, token in enumerate(ids[b].tolist()):
            if token in last:
                pattern[b, i, last[token] + 1] = 1
            last[token] = i
    return pattern


#% lens_without_norm
#% logit_lens | step_missing, layer_unused, argument_ignored | The norm is not applied.
def logit_lens(streams, norm, out_head):
    x = torch.stack(list(streams))
    return out_head(x)


#% lens_probabilities
#% logit_lens | step_extra, softmax_twice, layer_extra | The result holds probabilities.
def logit_lens(streams, norm, out_head):
    return torch.stack([torch.softmax(out_head(norm(s)), -1) for s in streams])


#% lens_stacks_on_axis_one
#% logit_lens | concat_axis, wrong_axis, transposed | The streams are stacked on axis 1.
def logit_lens(streams, norm, out_head):
    return torch.stack([out_head(norm(s)) for s in streams], dim=1)


#% patch_hook_returns_nothing
#% run_with_patches | step_missing, wrong_return, argument_ignored | The hook returns nothing, so the patch has no effect.
def run_with_patches(model, inputs, patches):
    mods = dict(model.named_modules())
    for name in patches:
        if name not in mods:
            raise ValueError(name)

    def make(value):
        def hook(module, args, output):
            if output.shape != value.shape:
                raise ValueError("shape")
            output = value
        return hook

    handles = [mods[name].register_forward_hook(make(value)) for name, value in patches.items()]
    try:
        return model(inputs)
    finally:
        for handle in handles:
            handle.remove()


#% patch_added
#% run_with_patches | wrong_operation, step_extra | The patch is added.
def run_with_patches(model, inputs, patches):
    mods = dict(model.named_modules())
    if set(patches) - set(mods):
        raise ValueError("unknown")

    def make(value):
        def hook(module, args, output):
            if output.shape != value.shape:
                raise ValueError("shape")
            return output + value
        return hook

    handles = [mods[name].register_forward_hook(make(value)) for name, value in patches.items()]
    try:
        return model(inputs)
    finally:
        for handle in handles:
            handle.remove()


#% patch_expands
#% run_with_patches | check_missing | A patch that torch can expand is accepted.
def run_with_patches(model, inputs, patches):
    mods = dict(model.named_modules())
    if set(patches) - set(mods):
        raise ValueError("unknown")

    def make(value):
        def hook(module, args, output):
            return value.expand_as(output)
        return hook

    handles = [mods[name].register_forward_hook(make(value)) for name, value in patches.items()]
    try:
        return model(inputs)
    finally:
        for handle in handles:
            handle.remove()


#% patch_replaces_the_input
#% run_with_patches | parts_exchanged, operand_repeated, step_misplaced | The input of the module is replaced.
def run_with_patches(model, inputs, patches):
    mods = dict(model.named_modules())
    if set(patches) - set(mods):
        raise ValueError("unknown")
    handles = []
    try:
        for name, value in patches.items():
            handles.append(mods[name].register_forward_pre_hook(lambda m, a, v=value: (v,)))
        return model(inputs)
    finally:
        for handle in handles:
            handle.remove()


#% ablate_interleaved
#% ablate_heads | reshaped, layout_wrong, pairing_mixed | Every num_heads-th feature is taken for a head.
def ablate_heads(merged, num_heads, heads, mean=False):
    D = merged.shape[-1]
    if D % num_heads:
        raise ValueError("uneven")
    if any(h < 0 or h >= num_heads for h in heads):
        raise ValueError("no such head")
    out = merged.clone()
    for h in heads:
        out[..., h::num_heads] = merged[..., h::num_heads].mean(0) if mean else 0.0
    return out


#% ablate_in_place
#% ablate_heads | in_place | The caller's tensor is changed.
def ablate_heads(merged, num_heads, heads, mean=False):
    D = merged.shape[-1]
    if D % num_heads:
        raise ValueError("uneven")
    if any(h < 0 or h >= num_heads for h in heads):
        raise ValueError("no such head")
    d = D // num_heads
    for h in heads:
        merged[:, :, h * d : (h + 1) * d] = merged[:, :, h * d : (h + 1) * d].mean(0) if mean else 0.0
    return merged


#% ablate_mean_ignored
#% ablate_heads | argument_ignored | mean is not used.
def ablate_heads(merged, num_heads, heads, mean=False):
    B, T, D = merged.shape
    if D % num_heads:
        raise ValueError("uneven")
    if any(h < 0 or h >= num_heads for h in heads):
        raise ValueError("no such head")
    keep = torch.tensor([0.0 if h in heads else 1.0 for h in range(num_heads)], dtype=merged.dtype)
    return (merged.view(B, T, num_heads, -1) * keep[:, None]).view(B, T, D)


#% ablate_mean_over_positions
#% ablate_heads | wrong_axis | The mean is taken over the positions.
def ablate_heads(merged, num_heads, heads, mean=False):
    B, T, D = merged.shape
    if D % num_heads:
        raise ValueError("uneven")
    if any(h < 0 or h >= num_heads for h in heads):
        raise ValueError("no such head")
    parts = list(merged.chunk(num_heads, dim=-1))
    for h in heads:
        parts[h] = parts[h].mean(1, keepdim=True).expand(-1, T, -1) if mean else torch.zeros_like(parts[h])
    return torch.cat(parts, dim=-1)


#% ablate_accepts_minus_one
#% ablate_heads | check_missing | Negative heads are accepted.
def ablate_heads(merged, num_heads, heads, mean=False):
    B, T, D = merged.shape
    if D % num_heads:
        raise ValueError("uneven")
    if heads and max(heads) >= num_heads:
        raise ValueError("no such head")
    out = merged.clone().view(B, T, num_heads, -1)
    for h in heads:
        out[:, :, h] = out[:, :, h].mean(0) if mean else 0.0
    return out.view(B, T, D)


#% contributions_rows
#% head_contributions | transposed, concat_axis, wrong_axis | The heads are on axis 2.
def head_contributions(merged, out_weight, num_heads):
    D = merged.shape[-1]
    if D % num_heads:
        raise ValueError("uneven")
    d = D // num_heads
    weight = out_weight.T
    result = []
    for h in range(num_heads):
        x = merged[:, :, h * d : (h + 1) * d]
        result.append(x @ weight[h * d : (h + 1) * d])
    return torch.stack(result, dim=2)


#% contributions_shared_weight
#% head_contributions | heads_repeated, operand_repeated | All heads use the columns of head 0.
def head_contributions(merged, out_weight, num_heads):
    D = merged.shape[-1]
    if D % num_heads:
        raise ValueError("uneven")
    d = D // num_heads
    heads = merged.view(*merged.shape[:-1], num_heads, d).transpose(1, 2)
    return heads @ out_weight[:, :d].T


#% attribution_own_divisors
#% logit_attribution | wrong_divisor | Each part is divided by its own spread.
def logit_attribution(parts, scale, directions, eps=1e-5):
    mean = parts.mean(-1, keepdim=True)
    var = ((parts - mean) ** 2).mean(-1, keepdim=True)
    normed = (parts - mean) / torch.sqrt(var + eps) * scale
    return (normed * directions).sum(-1)


#% attribution_unbiased
#% logit_attribution | variance_unbiased | The variance divides by d - 1.
def logit_attribution(parts, scale, directions, eps=1e-5):
    stream = parts.sum(0)
    std = torch.sqrt(stream.var(-1, keepdim=True) + eps)
    centered = parts - parts.mean(-1, keepdim=True)
    return ((centered / std) * scale * directions).sum(-1)


#% attribution_not_centered
#% logit_attribution | step_missing | The mean of each part is not subtracted.
def logit_attribution(parts, scale, directions, eps=1e-5):
    stream = parts.sum(0)
    mean = stream.mean(-1, keepdim=True)
    var = (stream - mean).pow(2).mean(-1, keepdim=True)
    return (parts / (var + eps).sqrt() * scale * directions).sum(-1)


#% map_patches_pile_up
#% patching_map | state_kept, step_misplaced | The clean positions of earlier runs stay in the patch.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    b = torch.arange(len(clean))

    def gap(logits):
        return (logits[b, -1, right] - logits[b, -1, wrong]).mean().item()

    rows = []
    with torch.no_grad():
        y1, a1 = record_activations(model, clean, names)
        y0, a0 = record_activations(model, corrupted, names)
        for name in names:
            x = a0[name].clone()
            row = []
            for t in range(clean.shape[1]):
                x[:, t] = a1[name][:, t]
                row.append((gap(run_with_patches(model, corrupted, {name: x})) - gap(y0)) / (gap(y1) - gap(y0)))
            rows.append(row)
    return torch.tensor(rows)


#% map_divides_by_clean
#% patching_map | wrong_divisor | The shares are divided by the clean difference.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    b = torch.arange(len(clean))
    gap = lambda y: (y[b, -1, right] - y[b, -1, wrong]).mean()
    with torch.no_grad():
        y1, a1 = record_activations(model, clean, names)
        y0, a0 = record_activations(model, corrupted, names)
        out = torch.zeros(len(names), clean.shape[1])
        for i, name in enumerate(names):
            for t in range(clean.shape[1]):
                x = torch.clone(a0[name])
                x[:, t] = a1[name][:, t]
                out[i, t] = gap(run_with_patches(model, corrupted, {name: x})) - gap(y0)
        out = out / gap(y1)
    return out


#% map_right_logit_only
#% patching_map | step_missing, argument_ignored | The wrong answer's logit is not subtracted.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")

    def metric(logits):
        return logits[:, -1].gather(1, right[:, None]).mean()

    with torch.no_grad():
        y1, a1 = record_activations(model, clean, names)
        y0, a0 = record_activations(model, corrupted, names)
        m1, m0 = metric(y1), metric(y0)
        out = torch.empty(len(names), clean.shape[1])
        for i, name in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[name].clone()
                x[:, t] = a1[name][:, t]
                out[i, t] = (metric(run_with_patches(model, corrupted, {name: x})) - m0) / (m1 - m0)
    return out


#% two_record_inputs_and_patch_added
#% record_activations | operand_repeated, wrong_return, parts_exchanged | The inputs of the modules are stored.
#% run_with_patches | wrong_operation, step_extra | The patch is added.
def record_activations(model, inputs, names):
    acts = {}
    mods = dict(model.named_modules())
    if any(n not in mods for n in names):
        raise ValueError("unknown name")
    handles = [mods[n].register_forward_hook(lambda m, i, o, k=n: acts.update({k: i[0]})) for n in names]
    try:
        out = model(inputs)
    finally:
        for h in handles:
            h.remove()
    return out, acts


def run_with_patches(model, inputs, patches):
    mods = dict(model.named_modules())
    if set(patches) - set(mods):
        raise ValueError("unknown")

    def make(value):
        def hook(module, args, output):
            if output.shape != value.shape:
                raise ValueError("shape")
            return output + value
        return hook

    handles = [mods[name].register_forward_hook(make(value)) for name, value in patches.items()]
    try:
        return model(inputs)
    finally:
        for handle in handles:
            handle.remove()


#% two_record_detached_and_swapped
#% record_activations | detached | The activations leave the graph.
#% record_activations | wrong_return, parts_exchanged | The pair is in the wrong order.
def record_activations(model, inputs, names):
    acts = {}
    mods = dict(model.named_modules())
    if any(n not in mods for n in names):
        raise ValueError("unknown name")
    handles = [mods[n].register_forward_hook(lambda m, i, o, k=n: acts.update({k: o.detach()})) for n in names]
    try:
        out = model(inputs)
    finally:
        for h in handles:
            h.remove()
    return acts, out


#% two_pattern_copy_and_future
#% induction_pattern | step_missing, mask_shifted, boundary | The copy itself is marked.
#% induction_pattern | mask_missing | Later copies are marked.
def induction_pattern(ids):
    same = ids[:, :, None] == ids[:, None, :]
    T = ids.shape[1]
    return (same & ~torch.eye(T, dtype=torch.bool)).float()


#% two_lens_and_pattern
#% logit_lens | step_missing, layer_unused, argument_ignored | The norm is not applied.
#% induction_pattern | mask_shifted, boundary | A token is its own copy.
def logit_lens(streams, norm, out_head):
    return torch.stack([out_head(s) for s in streams])


def induction_pattern(ids):
    B, T = ids.shape
    same = (ids.unsqueeze(2) == ids.unsqueeze(1)).float().tril(0)
    return torch.cat([torch.zeros(B, T, 1), same[:, :, :-1]], dim=2)


#% two_ablate_mean_axis_and_in_place
#% ablate_heads | wrong_axis | The mean is taken over the positions.
#% ablate_heads | in_place | The caller's tensor is changed.
def ablate_heads(merged, num_heads, heads, mean=False):
    B, T, D = merged.shape
    if D % num_heads:
        raise ValueError("uneven")
    if any(h < 0 or h >= num_heads for h in heads):
        raise ValueError("no such head")
    x = merged.view(B, T, num_heads, -1)
    for h in heads:
        x[:, :, h] = x[:, :, h].mean(1, keepdim=True) if mean else 0.0
    return x.view(B, T, D)


#% two_ablate_and_contributions
#% ablate_heads | argument_ignored | mean is not used.
#% head_contributions | transposed, concat_axis, wrong_axis | The heads are on axis 2.
def ablate_heads(merged, num_heads, heads, mean=False):
    if merged.shape[-1] % num_heads:
        raise ValueError("uneven")
    if any(h < 0 or h >= num_heads for h in heads):
        raise ValueError("no such head")
    x = merged.unflatten(-1, (num_heads, -1)).clone()
    for h in heads:
        x[:, :, h] = 0.0
    return x.flatten(2)


def head_contributions(merged, out_weight, num_heads):
    if merged.shape[-1] % num_heads:
        raise ValueError("uneven")
    x = merged.unflatten(-1, (num_heads, -1))
    w = out_weight.unflatten(-1, (num_heads, -1))
    return torch.einsum("bthd,ohd->btho", x, w)


#% two_attribution_unbiased_not_centered
#% logit_attribution | variance_unbiased | The variance divides by d - 1.
#% logit_attribution | step_missing | The mean of each part is not subtracted.
def logit_attribution(parts, scale, directions, eps=1e-5):
    std = torch.sqrt(parts.sum(0).var(-1, keepdim=True) + eps)
    return (parts / std * scale * directions).sum(-1)


#% two_attribution_scale_and_eps
#% logit_attribution | step_missing, argument_ignored, factor_missing | The scale is not used.
#% logit_attribution | eps_outside_root | eps is added to the root.
def logit_attribution(parts, scale, directions, eps=1e-5):
    s = parts.sum(dim=0)
    std = s.std(dim=-1, unbiased=False, keepdim=True) + eps
    c = parts - parts.mean(dim=-1, keepdim=True)
    return torch.sum(c / std * directions, dim=-1)


#% two_map_pile_up_and_clean
#% patching_map | state_kept, step_misplaced | The clean positions stay in the patch.
#% patching_map | wrong_divisor | The shares are divided by the clean difference.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    b = torch.arange(len(clean))
    gap = lambda y: (y[b, -1, right] - y[b, -1, wrong]).mean()
    with torch.no_grad():
        y1, a1 = record_activations(model, clean, names)
        y0, a0 = record_activations(model, corrupted, names)
        out = torch.zeros(len(names), clean.shape[1])
        for i, name in enumerate(names):
            x = a0[name].clone()
            for t in range(clean.shape[1]):
                x[:, t] = a1[name][:, t]
                out[i, t] = gap(run_with_patches(model, corrupted, {name: x})) - gap(y0)
        return out / gap(y1)


#% two_lens_and_map
#% logit_lens | step_extra, softmax_twice, layer_extra | The result holds probabilities.
#% patching_map | step_missing | The corrupted difference is not subtracted.
def logit_lens(streams, norm, out_head):
    return torch.stack([out_head(norm(s)).softmax(-1) for s in streams])


def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    b = torch.arange(len(clean))
    gap = lambda y: (y[b, -1, right] - y[b, -1, wrong]).mean()
    with torch.no_grad():
        y1, a1 = record_activations(model, clean, names)
        y0, a0 = record_activations(model, corrupted, names)
        out = torch.zeros(len(names), clean.shape[1])
        for i, name in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[name].clone()
                x[:, t] = a1[name][:, t]
                out[i, t] = gap(run_with_patches(model, corrupted, {name: x})) / (gap(y1) - gap(y0))
        return out


#% inlined_map_adds
#% patching_map | wrong_operation, step_extra | The patch is added to the output.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            return o + x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[n].clone()
                x[:, t] = a1[n][:, t]
                out[k, t] = (gap(run(corrupted, {n: give(x)})) - gap(y0)) / (gap(y1) - gap(y0))
        return out


#% inlined_map_returns_nothing
#% patching_map | step_missing, wrong_return, argument_ignored | The hook returns nothing.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            o = x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[n].clone()
                x[:, t] = a1[n][:, t]
                out[k, t] = (gap(run(corrupted, {n: give(x)})) - gap(y0)) / (gap(y1) - gap(y0))
        return out


#% inlined_map_all_positions
#% patching_map | step_missing, boundary, argument_ignored | All positions are patched at once.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            return x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a1[n]
                out[k, t] = (gap(run(corrupted, {n: give(x)})) - gap(y0)) / (gap(y1) - gap(y0))
        return out


#% inlined_map_runs_clean
#% patching_map | parts_exchanged, operand_repeated | The clean text is run with the patch.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            return x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[n].clone()
                x[:, t] = a1[n][:, t]
                out[k, t] = (gap(run(clean, {n: give(x)})) - gap(y0)) / (gap(y1) - gap(y0))
        return out


#% inlined_map_swaps_roles
#% patching_map | parts_exchanged | A corrupted activation is put into the clean text.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            return x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a1[n].clone()
                x[:, t] = a0[n][:, t]
                out[k, t] = (gap(run(clean, {n: give(x)})) - gap(y0)) / (gap(y1) - gap(y0))
        return out


#% inlined_map_stores_inputs
#% patching_map | operand_repeated, wrong_return, parts_exchanged | The inputs of the modules are stored.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = i[0] if i[0].shape == o.shape else o
        return hook

    def give(x):
        def hook(m, i, o):
            return x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[n].clone()
                x[:, t] = a1[n][:, t]
                out[k, t] = (gap(run(corrupted, {n: give(x)})) - gap(y0)) / (gap(y1) - gap(y0))
        return out


#% inlined_map_sign
#% patching_map | sign_reversed, parts_exchanged | The share has the opposite sign.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            return x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[n].clone()
                x[:, t] = a1[n][:, t]
                out[k, t] = (gap(y0) - gap(run(corrupted, {n: give(x)}))) / (gap(y1) - gap(y0))
        return out


#% inlined_map_from_zeros
#% patching_map | wrong_operation, step_missing, operand_repeated | The other positions of the patch are zeros.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            return x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = torch.zeros_like(a0[n])
                x[:, t] = a1[n][:, t]
                out[k, t] = (gap(run(corrupted, {n: give(x)})) - gap(y0)) / (gap(y1) - gap(y0))
        return out


#% inlined_map_first_position
#% patching_map | boundary, wrong_axis, operand_repeated | The first position is read, not the last one.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, 0, right] - y[rows, 0, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            return x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[n].clone()
                x[:, t] = a1[n][:, t]
                out[k, t] = (gap(run(corrupted, {n: give(x)})) - gap(y0)) / (gap(y1) - gap(y0))
        return out


#% inlined_map_no_baseline
#% patching_map | step_missing | The corrupted difference is not subtracted.
def patching_map(model, clean, corrupted, names, right, wrong):
    if clean.shape != corrupted.shape:
        raise ValueError("shape")
    rows = torch.arange(len(clean))
    parts = dict(model.named_modules())
    gap = lambda y: (y[rows, -1, right] - y[rows, -1, wrong]).mean()

    def run(text, hooks):
        handles = [parts[n].register_forward_hook(h) for n, h in hooks.items()]
        try:
            return model(text)
        finally:
            for handle in handles:
                handle.remove()

    def keep(store, n):
        def hook(m, i, o):
            store[n] = o
        return hook

    def give(x):
        def hook(m, i, o):
            return x
        return hook

    with torch.no_grad():
        a1, a0 = {}, {}
        y1 = run(clean, {n: keep(a1, n) for n in names})
        y0 = run(corrupted, {n: keep(a0, n) for n in names})
        out = torch.zeros(len(names), clean.shape[1])
        for k, n in enumerate(names):
            for t in range(clean.shape[1]):
                x = a0[n].clone()
                x[:, t] = a1[n][:, t]
                out[k, t] = gap(run(corrupted, {n: give(x)})) / (gap(y1) - gap(y0))
        return out


#% record_hooks_stay
#% record_activations | state_kept | The hooks are not removed.
def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")
    activations = {}

    def recorder(name):
        def record(_module, _given, made):
            activations[name] = made

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        output = model(inputs)
    finally:
        pass
    return output, activations


#% record_input_instead
#% record_activations | wrong_return, parts_exchanged | The hook keeps the inputs of the module.
def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")
    activations = {}

    def recorder(name):
        def record(_module, _given, made):
            activations[name] = _given[0]

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return output, activations


#% record_detached_again
#% record_activations | detached | The activations are detached.
def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")
    activations = {}

    def recorder(name):
        def record(_module, _given, made):
            activations[name] = made.detach()

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return output, activations


#% record_only_the_last_name
#% record_activations | loop_over_tokens, wrong_return, counted_once | All hooks write under the last name.
def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")
    activations = {}

    hooks = []
    for name in names:

        def record(_module, _given, made):
            activations[name] = made

        hooks.append(modules[name].register_forward_hook(record))
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return output, activations


#% induction_marks_the_copy
#% induction_pattern | step_missing, boundary | The earlier copies are marked, not the tokens after them.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = torch.tril(same, diagonal=-1).float()
    none = torch.zeros_like(earlier[..., :1])  # no token comes before the first one
    return earlier


#% induction_any_copy
#% induction_pattern | mask_missing, step_missing | Later copies count as well.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = same.float()
    none = torch.zeros_like(earlier[..., :1])  # no token comes before the first one
    return torch.cat((none, earlier[..., :-1]), dim=-1)


#% induction_shifts_rows
#% induction_pattern | wrong_axis | The rows are shifted; it must be the columns.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = torch.tril(same, diagonal=-1).float()
    none = torch.zeros_like(earlier[..., :1, :])  # no token comes before the first one
    return torch.cat((none, earlier[..., :-1, :]), dim=-2)


#% induction_bool
#% induction_pattern | dtype | The result is bool.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = torch.tril(same, diagonal=-1)
    none = torch.zeros_like(earlier[..., :1])  # no token comes before the first one
    return torch.cat((none, earlier[..., :-1]), dim=-1)


#% lens_without_norm_again
#% logit_lens | step_missing | The norm is left out.
def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    return torch.stack([out_head(stream) for stream in streams])


#% lens_list
#% logit_lens | wrong_return | A list is returned.
def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    return [out_head(norm(stream)) for stream in streams]


#% patches_only_the_first
#% run_with_patches | first_only, boundary | Only the first patch is used.
def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    modules = dict(model.named_modules())
    if unknown := [name for name in patches if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")

    def replacer(patch):
        def replace(_module, _given, made):
            if patch.shape != made.shape:
                raise ValueError(f"{tuple(patch.shape)} cannot replace {tuple(made.shape)}")
            return patch

        return replace

    hooks = [
        modules[name].register_forward_hook(replacer(patch)) for name, patch in list(patches.items())[:1]
    ]
    try:
        return model(inputs)
    finally:
        for hook in hooks:
            hook.remove()


#% patches_added
#% run_with_patches | step_extra, wrong_operation | The patch is added to the module's own output.
def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    modules = dict(model.named_modules())
    if unknown := [name for name in patches if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")

    def replacer(patch):
        def replace(_module, _given, made):
            if patch.shape != made.shape:
                raise ValueError(f"{tuple(patch.shape)} cannot replace {tuple(made.shape)}")
            return made + patch

        return replace

    hooks = [
        modules[name].register_forward_hook(replacer(patch)) for name, patch in patches.items()
    ]
    try:
        return model(inputs)
    finally:
        for hook in hooks:
            hook.remove()


#% patches_number_of_axes
#% run_with_patches | check_wrong, check_missing | Only the number of axes is compared.
def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    modules = dict(model.named_modules())
    if unknown := [name for name in patches if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")

    def replacer(patch):
        def replace(_module, _given, made):
            if patch.dim() != made.dim():
                raise ValueError(f"{tuple(patch.shape)} cannot replace {tuple(made.shape)}")
            return patch

        return replace

    hooks = [
        modules[name].register_forward_hook(replacer(patch)) for name, patch in patches.items()
    ]
    try:
        return model(inputs)
    finally:
        for hook in hooks:
            hook.remove()


#% ablate_changes_input
#% ablate_heads | in_place | The caller's tensor is changed.
def ablate_heads(
    merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool = False
) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    if any(head not in range(num_heads) for head in heads):
        raise ValueError(f"there are only the heads 0 to {num_heads - 1}, not all of {heads}")
    ablated = merged.unflatten(-1, (num_heads, -1))
    for head in heads:
        ablated[:, :, head] = ablated[:, :, head].mean(dim=0) if mean else 0.0
    return ablated.flatten(start_dim=2)


#% ablate_mean_of_everything
#% ablate_heads | wrong_reduction, wrong_axis | The mean runs over items and positions.
def ablate_heads(
    merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool = False
) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    if any(head not in range(num_heads) for head in heads):
        raise ValueError(f"there are only the heads 0 to {num_heads - 1}, not all of {heads}")
    ablated = merged.unflatten(-1, (num_heads, -1)).clone()
    for head in heads:
        ablated[:, :, head] = ablated[:, :, head].mean(dim=(0, 1)) if mean else 0.0
    return ablated.flatten(start_dim=2)


#% ablate_keeps_these_heads
#% ablate_heads | mask_inverted, parts_exchanged | All other heads are removed.
def ablate_heads(
    merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool = False
) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    if any(head not in range(num_heads) for head in heads):
        raise ValueError(f"there are only the heads 0 to {num_heads - 1}, not all of {heads}")
    ablated = merged.unflatten(-1, (num_heads, -1)).clone()
    for head in set(range(num_heads)) - set(heads):
        ablated[:, :, head] = ablated[:, :, head].mean(dim=0) if mean else 0.0
    return ablated.flatten(start_dim=2)


#% contributions_columns_in_rows
#% head_contributions | transposed, reshaped | The rows of out_weight are split instead of its columns.
def head_contributions(merged: Tensor, out_weight: Tensor, num_heads: int) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    heads = merged.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    columns = out_weight.T.unflatten(-1, (num_heads, -1)).permute(1, 2, 0)
    return heads @ columns


#% attribution_own_variance
#% logit_attribution | wrong_form, wrong_divisor | Each part is divided by its own deviation.
def logit_attribution(
    parts: Tensor, scale: Tensor, directions: Tensor, eps: float = 1e-5
) -> Tensor:
    stream = parts.sum(dim=0)
    variance = parts.var(dim=-1, keepdim=True, correction=0)
    centered = parts - parts.mean(dim=-1, keepdim=True)
    normalized = centered / torch.sqrt(variance + eps)
    return (normalized * scale * directions).sum(dim=-1)


#% map_patches_the_clean_run
#% patching_map | parts_exchanged | The clean text is run with corrupted activations.
def patching_map(
    model: nn.Module,
    clean: Tensor,
    corrupted: Tensor,
    names: Sequence[str],
    right: Tensor,
    wrong: Tensor,
) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f"the texts differ in shape: {clean.shape} and {corrupted.shape}")
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()

    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = difference(corrupted_logits), difference(clean_logits)

        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = clean_activations[name].clone()
                patch[:, position] = corrupted_activations[name][:, position]
                logits = run_with_patches(model, clean, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)


#% inlined_patch_ignored_result
#% patching_map | wrong_return, step_missing, no_step | The written-out hook returns nothing, so the output stays.
def patching_map(
    model: nn.Module,
    clean: Tensor,
    corrupted: Tensor,
    names: Sequence[str],
    right: Tensor,
    wrong: Tensor,
) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f"the texts differ in shape: {clean.shape} and {corrupted.shape}")
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()

    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = difference(corrupted_logits), difference(clean_logits)

        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                hook = dict(model.named_modules())[name].register_forward_hook(lambda m, g, made: None)
                logits = model(corrupted)
                hook.remove()
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)


#% inlined_record_keeps_the_first_position
#% patching_map | mask_missing, step_extra, boundary | The whole activation is patched, whatever the position.
def patching_map(
    model: nn.Module,
    clean: Tensor,
    corrupted: Tensor,
    names: Sequence[str],
    right: Tensor,
    wrong: Tensor,
) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f"the texts differ in shape: {clean.shape} and {corrupted.shape}")
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()

    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = difference(corrupted_logits), difference(clean_logits)

        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = clean_activations[name]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)


#% inlined_contributions_by_loop_with_zeros
#% head_contributions | reshaped, layout_wrong | The loop takes each H-th feature for a head.
def head_contributions(merged: Tensor, out_weight: Tensor, num_heads: int) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    made = [merged[..., h::num_heads] @ out_weight[:, h::num_heads].T for h in range(num_heads)]
    return torch.stack(made, dim=1)


#% inlined_attribution_not_centered
#% logit_attribution | step_missing | The parts are not centered.
def logit_attribution(
    parts: Tensor, scale: Tensor, directions: Tensor, eps: float = 1e-5
) -> Tensor:
    stream = parts.sum(dim=0)
    variance = stream.var(dim=-1, keepdim=True, correction=0)
    centered = parts
    normalized = centered / torch.sqrt(variance + eps)
    return (normalized * scale * directions).sum(dim=-1)


#% double_ablate_refusals
#% ablate_heads | check_missing | A negative head is accepted.
#% ablate_heads | argument_ignored | mean is ignored.
def ablate_heads(
    merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool = False
) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    if any(head >= num_heads for head in heads):
        raise ValueError(f"there are only the heads 0 to {num_heads - 1}, not all of {heads}")
    ablated = merged.unflatten(-1, (num_heads, -1)).clone()
    for head in heads:
        ablated[:, :, head] = 0.0
    return ablated.flatten(start_dim=2)


#% double_attribution_eps_and_scale
#% logit_attribution | eps_outside_root | eps is added outside the root.
#% logit_attribution | step_missing | scale is missing.
def logit_attribution(
    parts: Tensor, scale: Tensor, directions: Tensor, eps: float = 1e-5
) -> Tensor:
    stream = parts.sum(dim=0)
    variance = stream.var(dim=-1, keepdim=True, correction=0)
    centered = parts - parts.mean(dim=-1, keepdim=True)
    normalized = centered / (torch.sqrt(variance) + eps)
    return (normalized * directions).sum(dim=-1)


#% double_map_graph_and_quotient
#% patching_map | detached, step_missing | A graph is built.
#% patching_map | wrong_divisor | The difference is not divided.
def patching_map(
    model: nn.Module,
    clean: Tensor,
    corrupted: Tensor,
    names: Sequence[str],
    right: Tensor,
    wrong: Tensor,
) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f"the texts differ in shape: {clean.shape} and {corrupted.shape}")
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()

    if True:
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = difference(corrupted_logits), difference(clean_logits)

        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored


#% double_induction_shift_and_diagonal
#% induction_pattern | boundary | A token counts as its own earlier copy.
#% induction_pattern | dtype | The result is int.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = torch.tril(same).long()
    none = torch.zeros_like(earlier[..., :1])  # no token comes before the first one
    return torch.cat((none, earlier[..., :-1]), dim=-1)


#% record_everything_again
#% record_activations | wrong_return | All modules are recorded.
def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")
    activations = {}

    def recorder(name):
        def record(_module, _given, made):
            activations[name] = made

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in modules]
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return output, activations


#% record_without_try
#% record_activations | state_kept | The hooks stay when the model raises.
def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")
    activations = {}

    def recorder(name):
        def record(_module, _given, made):
            activations[name] = made

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    output = model(inputs)
    for hook in hooks:
        hook.remove()
    return output, activations


#% induction_upper
#% induction_pattern | direction_reversed, mask_inverted | Later copies are marked instead of earlier ones.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = torch.triu(same, diagonal=1).float()
    none = torch.zeros_like(earlier[..., :1])  # no token comes before the first one
    return torch.cat((none, earlier[..., :-1]), dim=-1)


#% lens_norm_after_head
#% logit_lens | step_order | The norm of the head comes after the head.
def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    return torch.stack([norm(out_head(stream)) for stream in streams])


#% lens_batch_first
#% logit_lens | transposed, concat_axis | The layers are the second axis.
def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    return torch.stack([out_head(norm(stream)) for stream in streams], dim=1)


#% patches_expand
#% run_with_patches | check_missing | A tensor that torch can expand is accepted.
def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    modules = dict(model.named_modules())
    if unknown := [name for name in patches if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")

    def replacer(patch):
        def replace(_module, _given, made):
            return patch.expand(made.shape)

        return replace

    hooks = [
        modules[name].register_forward_hook(replacer(patch)) for name, patch in patches.items()
    ]
    try:
        return model(inputs)
    finally:
        for hook in hooks:
            hook.remove()


#% ablate_one_head_only
#% ablate_heads | first_only, boundary | Only the last of the heads is removed.
def ablate_heads(
    merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool = False
) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    if any(head not in range(num_heads) for head in heads):
        raise ValueError(f"there are only the heads 0 to {num_heads - 1}, not all of {heads}")
    ablated = merged.unflatten(-1, (num_heads, -1)).clone()
    for head in heads[-1:]:
        ablated[:, :, head] = ablated[:, :, head].mean(dim=0) if mean else 0.0
    return ablated.flatten(start_dim=2)


#% contributions_with_shared_bias
#% head_contributions | wrong_reduction | The result of the heads is divided by their number.
def head_contributions(merged: Tensor, out_weight: Tensor, num_heads: int) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {merged.shape[-1]} features evenly")
    heads = merged.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    columns = out_weight.unflatten(-1, (num_heads, -1)).permute(1, 2, 0)
    return heads @ columns / num_heads


#% attribution_variance_unbiased
#% logit_attribution | variance_unbiased | The variance is divided by d - 1.
def logit_attribution(
    parts: Tensor, scale: Tensor, directions: Tensor, eps: float = 1e-5
) -> Tensor:
    stream = parts.sum(dim=0)
    variance = stream.var(dim=-1, keepdim=True)
    centered = parts - parts.mean(dim=-1, keepdim=True)
    normalized = centered / torch.sqrt(variance + eps)
    return (normalized * scale * directions).sum(dim=-1)


#% map_all_items_first_answer
#% patching_map | batch_mixed | All items use the answers of all items.
def patching_map(
    model: nn.Module,
    clean: Tensor,
    corrupted: Tensor,
    names: Sequence[str],
    right: Tensor,
    wrong: Tensor,
) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f"the texts differ in shape: {clean.shape} and {corrupted.shape}")
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[:, right[0]] - last[:, wrong[0]]).mean()

    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = difference(corrupted_logits), difference(clean_logits)

        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)
#% record_calls_twice
#% record_activations | step_extra | The model is called twice.
def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if unknown := [name for name in names if name not in modules]:
        raise ValueError(f"the model has no modules named {unknown}")
    activations = {}

    def recorder(name):
        def record(_module, _given, made):
            activations[name] = made

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        model(inputs)
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return output, activations


#% record_no_refusal
#% record_activations | check_missing, check_wrong | Unknown names are not refused before hooks are registered.
def record_activations(
    model: nn.Module, inputs: Tensor, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    activations = {}

    def recorder(name):
        def record(_module, _given, made):
            activations[name] = made

        return record

    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return output, activations


#% recorded_inputs
#% record_activations | operand_repeated, parts_exchanged | The inputs of the modules are recorded.
def record_activations(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if (unknown := [name for name in names if name not in modules]):
        raise ValueError(f'the model has no modules named {unknown}')
    activations = {}

    def recorder(name):

        def record(_module, _given, made):
            activations[name] = _given[0]
        return record
    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return (output, activations)


#% map_minus_the_clean_difference
#% patching_map | operand_repeated | The clean difference is subtracted.
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f'the texts differ in shape: {clean.shape} and {corrupted.shape}')
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()
    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = (difference(corrupted_logits), difference(clean_logits))
        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - highest
        return restored / (highest - lowest)


#% ablation_by_one_mean_without_refusal
#% ablate_heads | check_missing | Wrong numbers of heads are not refused.
#% ablate_heads | wrong_axis | The mean is taken over items and positions.
def ablate_heads(merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool=False) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f'{num_heads} heads cannot share {merged.shape[-1]} features evenly')
    ablated = merged.unflatten(-1, (num_heads, -1)).clone()
    for head in heads:
        ablated[:, :, head] = ablated[:, :, head].mean(dim=(0, 1)) if mean else 0.0
    return ablated.flatten(start_dim=2)


#% bool_pattern_and_joined_streams
#% induction_pattern | dtype | The pattern is bool.
#% logit_lens | wrong_axis, concat_axis | The logits are joined along the first axis.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = torch.tril(same, diagonal=-1)
    none = torch.zeros_like(earlier[..., :1])
    return torch.cat((none, earlier[..., :-1]), dim=-1)


def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    return torch.cat([out_head(norm(stream)) for stream in streams])


#% attribution_unscaled_and_eps_outside
#% logit_attribution | step_missing, factor_missing | The scale is left out.
#% logit_attribution | eps_outside_root | eps is added to the root.
def logit_attribution(parts: Tensor, scale: Tensor, directions: Tensor, eps: float=1e-05) -> Tensor:
    stream = parts.sum(dim=0)
    variance = stream.var(dim=-1, keepdim=True, correction=0)
    centered = parts - parts.mean(dim=-1, keepdim=True)
    normalized = centered / (torch.sqrt(variance) + eps)
    return (normalized * directions).sum(dim=-1)


#% inlined_recording_keeps_its_hooks
#% patching_map | state_kept, step_missing | The hooks of the second run stay in the model.
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f'the texts differ in shape: {clean.shape} and {corrupted.shape}')
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()
    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        modules = dict(model.named_modules())
        corrupted_activations = {}
        hooks = [modules[name].register_forward_hook(lambda _m, _g, made, name=name: corrupted_activations.__setitem__(name, made)) for name in names]
        corrupted_logits = model(corrupted)
        lowest, highest = (difference(corrupted_logits), difference(clean_logits))
        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)


#% recorded_in_lists
#% record_activations | wrong_return | Each activation is in a list.
def record_activations(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if (unknown := [name for name in names if name not in modules]):
        raise ValueError(f'the model has no modules named {unknown}')
    activations = {}

    def recorder(name):

        def record(_module, _given, made):
            activations.setdefault(name, []).append(made)
        return record
    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return (output, activations)


#% contributions_interleaved_and_behind
#% head_contributions | heads_mixed, layout_wrong | The heads are interleaved.
#% head_contributions | transposed, layout_wrong | The heads come after the tokens.
def head_contributions(merged: Tensor, out_weight: Tensor, num_heads: int) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f'{num_heads} heads cannot share {merged.shape[-1]} features evenly')
    heads = merged.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)
    columns = out_weight.unflatten(-1, (num_heads, -1)).permute(1, 2, 0)
    return (heads @ columns).transpose(1, 2)


#% attribution_without_directions_and_lens_without_norm
#% logit_attribution | factor_missing, step_missing | The directions are left out.
#% logit_lens | step_missing | The norm is left out.
def logit_attribution(parts: Tensor, scale: Tensor, directions: Tensor, eps: float=1e-05) -> Tensor:
    stream = parts.sum(dim=0)
    variance = stream.var(dim=-1, keepdim=True, correction=0)
    centered = parts - parts.mean(dim=-1, keepdim=True)
    normalized = centered / torch.sqrt(variance + eps)
    return (normalized * scale).sum(dim=-1)


def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    return torch.stack([out_head(stream) for stream in streams])


#% hooks_left_s01_of_20
#% record_activations | state_kept | record_activations never removes its hooks.
def record_activations(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if (unknown := [name for name in names if name not in modules]):
        raise ValueError(f'the model has no modules named {unknown}')
    activations = {}

    def recorder(name):

        def record(_module, _given, made):
            activations[name] = made
        return record
    for name in names:
        modules[name].register_forward_hook(recorder(name))
    output = model(inputs)
    return (output, activations)


#% detached_s02_of_20
#% record_activations | detached | record_activations detaches the activations from the graph.
def record_activations(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
    found = {}
    available = {n: m for n, m in model.named_modules()}
    for n in names:
        if n not in available:
            raise ValueError(n)

    def save(n):
        return lambda mod, args, result: found.__setitem__(n, result.detach().clone())
    handles = [available[n].register_forward_hook(save(n)) for n in names]
    out = model(inputs)
    for h in handles:
        h.remove()
    return (out, found)


#% late_binding_s03_of_20
#% record_activations | state_kept | record_activations' hooks use the loop variable late, so all activations are stored under the last name.
def record_activations(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    for name in names:
        if name not in modules:
            raise ValueError(f'no module {name}')
    activations = {}
    handles = []
    for name in names:

        def hook(module, args, output):
            activations[name] = output
        handles.append(modules[name].register_forward_hook(hook))
    result = model(inputs)
    for handle in handles:
        handle.remove()
    return (result, activations)


#% records_input_s04_of_20
#% record_activations | operand_repeated, step_extra | record_activations stores the input of the module instead of its output.
def record_activations(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if (unknown := [name for name in names if name not in modules]):
        raise ValueError(f'the model has no modules named {unknown}')
    activations = {}

    def recorder(name):

        def record(_module, _given, made):
            activations[name] = _given[0]
        return record
    hooks = [modules[name].register_forward_hook(recorder(name)) for name in names]
    try:
        output = model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return (output, activations)


#% marks_copies_s05_of_20
#% induction_pattern | boundary | induction_pattern marks the earlier copy itself instead of the token after it.
def induction_pattern(ids: Tensor) -> Tensor:
    B, T = ids.shape
    out = torch.zeros(B, T, T)
    for b in range(B):
        for i in range(T):
            for j in range(i):
                if ids[b, j] == ids[b, i]:
                    out[b, i, j] = 1.0
    return out


#% shift_left_s06_of_20
#% induction_pattern | parts_exchanged | induction_pattern shifts in the wrong direction: marks the token before the earlier copy.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = torch.tril(same, diagonal=-1).float()
    none = torch.zeros_like(earlier[..., :1])
    return torch.cat((earlier[..., 1:], none), dim=-1)


#% includes_itself_s07_of_20
#% induction_pattern | boundary | induction_pattern counts the token itself as an earlier occurrence (j - 1 <= i), so the next token is marked.
def induction_pattern(ids: Tensor) -> Tensor:
    T = ids.size(1)
    previous = torch.full_like(ids, -1)
    previous[:, 1:] = ids[:, :-1]
    match = previous[:, None, :] == ids[:, :, None]
    i = torch.arange(T)[:, None]
    j = torch.arange(T)[None, :]
    return (match & (j - 1 <= i)).to(torch.float32)


#% lens_no_norm_s08_of_20
#% logit_lens | step_missing | logit_lens does not apply the norm.
def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    return torch.stack([out_head(stream) for stream in streams])


#% lens_norm_last_only_s09_of_20
#% logit_lens | step_missing | logit_lens applies the norm only to the last stream.
def logit_lens(streams: Sequence[Tensor], norm: nn.Module, out_head: nn.Module) -> Tensor:
    logits = []
    for i, s in enumerate(streams):
        if i == len(streams) - 1:
            s = norm(s)
        logits.append(out_head(s))
    return torch.stack(logits, dim=0)


#% patch_no_shape_check_s10_of_20
#% run_with_patches | check_missing | run_with_patches expands a patch of another shape instead of raising ValueError.
def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    modules = dict(model.named_modules())
    if (unknown := [name for name in patches if name not in modules]):
        raise ValueError(f'the model has no modules named {unknown}')

    def replacer(patch):

        def replace(_module, _given, made):
            return patch.expand_as(made)
        return replace
    hooks = [modules[name].register_forward_hook(replacer(patch)) for name, patch in patches.items()]
    try:
        return model(inputs)
    finally:
        for hook in hooks:
            hook.remove()


#% patch_unknown_ignored_s11_of_20
#% run_with_patches | check_missing | run_with_patches silently ignores names that the model does not have.
def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    handles = []
    for name, module in model.named_modules():
        if name in patches:

            def swap(m, a, out, new=patches[name]):
                if out.shape != new.shape:
                    raise ValueError('wrong shape')
                return new
            handles.append(module.register_forward_hook(swap))
    try:
        return model(inputs)
    finally:
        [h.remove() for h in handles]


#% ablate_in_place_s12_of_20
#% ablate_heads | in_place | ablate_heads changes the caller's tensor (no copy).
def ablate_heads(merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool=False) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f'{num_heads} heads cannot share {merged.shape[-1]} features evenly')
    if any((head not in range(num_heads) for head in heads)):
        raise ValueError(f'there are only the heads 0 to {num_heads - 1}, not all of {heads}')
    ablated = merged.unflatten(-1, (num_heads, -1))
    for head in heads:
        ablated[:, :, head] = ablated[:, :, head].mean(dim=0) if mean else 0.0
    return ablated.flatten(start_dim=2)


#% ablate_mean_all_s13_of_20
#% ablate_heads | wrong_divisor, wrong_reduction | ablate_heads takes the mean over items and positions instead of position by position.
def ablate_heads(merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool=False) -> Tensor:
    D = merged.size(-1)
    if D % num_heads:
        raise ValueError('num_heads must divide D')
    d = D // num_heads
    result = merged.clone()
    for h in heads:
        if h < 0 or h >= num_heads:
            raise ValueError(f'no head {h}')
        block = slice(h * d, (h + 1) * d)
        if mean:
            result[..., block] = merged[..., block].mean(dim=(0, 1))
        else:
            result[..., block] = 0
    return result


#% ablate_interleaved_s14_of_20
#% ablate_heads | heads_mixed, rank_ignored | ablate_heads views the features as (d, H) instead of (H, d), so a head's features are taken interleaved.
def ablate_heads(merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool=False) -> Tensor:
    B, T, D = merged.shape
    if D % num_heads != 0 or not all((0 <= h < num_heads for h in heads)):
        raise ValueError('bad heads')
    out = merged.clone().view(B, T, D // num_heads, num_heads)
    for h in heads:
        out[:, :, :, h] = out[:, :, :, h].mean(0, keepdim=True) if mean else 0
    return out.view(B, T, D)


#% contributions_rows_s15_of_20
#% head_contributions | transposed | head_contributions takes rows of out_weight for a head instead of its columns (transposed).
def head_contributions(merged: Tensor, out_weight: Tensor, num_heads: int) -> Tensor:
    D = merged.shape[-1]
    if D % num_heads != 0:
        raise ValueError('heads')
    d = D // num_heads
    parts = []
    for h in range(num_heads):
        block = merged[:, :, h * d:(h + 1) * d]
        parts.append(block @ out_weight[h * d:(h + 1) * d, :])
    return torch.stack(parts, dim=1)


#% own_variance_s16_of_20
#% logit_attribution | wrong_divisor, wrong_reduction | logit_attribution divides each part by its own standard deviation instead of that of the whole stream.
def logit_attribution(parts: Tensor, scale: Tensor, directions: Tensor, eps: float=1e-05) -> Tensor:
    mu = parts.mean(-1, keepdim=True)
    centered = parts - mu
    sigma = torch.sqrt(centered.pow(2).mean(-1, keepdim=True) + eps)
    return torch.einsum('p...d,...d->p...', centered / sigma * scale, directions)


#% sample_variance_s17_of_20
#% logit_attribution | variance_unbiased | logit_attribution uses the sample variance (divided by d - 1).
def logit_attribution(parts: Tensor, scale: Tensor, directions: Tensor, eps: float=1e-05) -> Tensor:
    stream = parts.sum(dim=0)
    variance = stream.var(dim=-1, keepdim=True)
    centered = parts - parts.mean(dim=-1, keepdim=True)
    normalized = centered / torch.sqrt(variance + eps)
    return (normalized * scale * directions).sum(dim=-1)


#% map_reversed_s18_of_20
#% patching_map | parts_exchanged | patching_map patches in the wrong direction: runs the clean text with one corrupted activation.
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f'the texts differ in shape: {clean.shape} and {corrupted.shape}')
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()
    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = (difference(corrupted_logits), difference(clean_logits))
        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = clean_activations[name].clone()
                patch[:, position] = corrupted_activations[name][:, position]
                logits = run_with_patches(model, clean, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)


#% map_whole_activation_s19_of_20
#% patching_map | operand_repeated, step_extra | patching_map replaces the whole activation, at all positions, instead of one position.
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.size() != corrupted.size():
        raise ValueError('shapes')

    def score(logits):
        end = logits[:, -1, :]
        r = end.gather(1, right[:, None])
        w = end.gather(1, wrong[:, None])
        return (r - w).mean()
    with torch.no_grad():
        out_clean, acts = record_activations(model, clean, names)
        base = score(model(corrupted))
        top = score(out_clean)
        T = clean.size(1)
        result = torch.empty(len(names), T)
        for n, name in enumerate(names):
            for t in range(T):
                patched = run_with_patches(model, corrupted, {name: acts[name]})
                result[n, t] = (score(patched) - base) / (top - base)
    return result


#% map_wrong_item_index_s20_of_20
#% patching_map | batch_mixed | patching_map compares every item with the answers of all items (last[:, right]) instead of each item's own answer.
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f'the texts differ in shape: {clean.shape} and {corrupted.shape}')
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[:, right] - last[:, wrong]).mean()
    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = (difference(corrupted_logits), difference(clean_logits))
        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)


#% induction_d1_of_20
#% induction_pattern | mask_missing | induction_pattern does not limit to earlier occurrences (no causal limit, itself included).
#% induction_pattern | boundary | induction_pattern does not shift: marks the copies instead of the tokens after them.
def induction_pattern(ids: Tensor) -> Tensor:
    same = (ids[:, :, None] == ids[:, None, :]).float()
    return same


#% ablate_d2_of_20
#% ablate_heads | in_place | ablate_heads changes the caller's tensor.
#% ablate_heads | wrong_divisor, wrong_reduction | ablate_heads takes the mean over the positions instead of over the items.
def ablate_heads(merged: Tensor, num_heads: int, heads: Sequence[int], mean: bool=False) -> Tensor:
    if merged.shape[-1] % num_heads != 0:
        raise ValueError(f'{num_heads} heads cannot share {merged.shape[-1]} features evenly')
    if any((head not in range(num_heads) for head in heads)):
        raise ValueError(f'there are only the heads 0 to {num_heads - 1}, not all of {heads}')
    ablated = merged.unflatten(-1, (num_heads, -1))
    for head in heads:
        ablated[:, :, head] = ablated[:, :, head].mean(dim=1, keepdim=True) if mean else 0.0
    return ablated.flatten(start_dim=2)


#% attribution_d3_of_20
#% logit_attribution | wrong_divisor, wrong_reduction | logit_attribution does not subtract each part's mean.
#% logit_attribution | eps_outside_root | logit_attribution adds eps to the standard deviation instead of to the variance under the root.
def logit_attribution(parts: Tensor, scale: Tensor, directions: Tensor, eps: float=1e-05) -> Tensor:
    stream = parts.sum(0)
    std = stream.std(-1, unbiased=False, keepdim=True) + eps
    return (parts / std * scale * directions).sum(-1)


#% record_map_d4_of_20
#% record_activations | state_kept | record_activations never removes its hooks.
#% patching_map | wrong_divisor, wrong_reduction | patching_map divides by the clean difference alone instead of clean minus corrupted.
def record_activations(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
    modules = dict(model.named_modules())
    if (unknown := [name for name in names if name not in modules]):
        raise ValueError(f'the model has no modules named {unknown}')
    activations = {}

    def recorder(name):

        def record(_module, _given, made):
            activations[name] = made
        return record
    for name in names:
        modules[name].register_forward_hook(recorder(name))
    output = model(inputs)
    return (output, activations)


def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f'the texts differ in shape: {clean.shape} and {corrupted.shape}')
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()
    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = (difference(corrupted_logits), difference(clean_logits))
        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / highest


#% patch_map_d5_of_20
#% run_with_patches | check_missing | run_with_patches does not check the patch's shape.
#% patching_map | wrong_divisor, wrong_reduction | patching_map uses the mean of the logits over all positions instead of the last position.
def run_with_patches(model: nn.Module, inputs: Tensor, patches: dict[str, Tensor]) -> Tensor:
    modules = dict(model.named_modules())
    if (unknown := [name for name in patches if name not in modules]):
        raise ValueError(f'the model has no modules named {unknown}')

    def replacer(patch):

        def replace(_module, _given, made):
            return patch
        return replace
    hooks = [modules[name].register_forward_hook(replacer(patch)) for name, patch in patches.items()]
    try:
        return model(inputs)
    finally:
        for hook in hooks:
            hook.remove()


def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f'the texts differ in shape: {clean.shape} and {corrupted.shape}')
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits.mean(dim=1)
        return (last[items, right] - last[items, wrong]).mean()
    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = (difference(corrupted_logits), difference(clean_logits))
        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored / (highest - lowest)


#% contributions_d6_of_20
#% head_contributions | check_missing | head_contributions raises no ValueError if num_heads does not divide D.
#% head_contributions | transposed | head_contributions returns (B, T, H, d_model): heads and positions are not swapped.
def head_contributions(merged: Tensor, out_weight: Tensor, num_heads: int) -> Tensor:
    B, T, D = merged.shape
    d = D // num_heads
    h = merged[..., :num_heads * d].reshape(B, T, num_heads, d)
    w = out_weight[:, :num_heads * d].reshape(-1, num_heads, d)
    return torch.einsum('bthd,ohd->btho', h, w)


#% map_hooks_stay_i1_of_20
#% patching_map | state_kept | patching_map (the patched run written out) never removes its hooks, so the patches pile up over positions and names.
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError('the texts differ in shape')
    rows = torch.arange(clean.shape[0])

    def difference(logits):
        return (logits[rows, -1, right] - logits[rows, -1, wrong]).mean()
    parts = dict(model.named_modules())
    with torch.no_grad():
        clean_logits, saved = record_activations(model, clean, names)
        low, high = (difference(model(corrupted)), difference(clean_logits))
        out = torch.zeros(len(names), clean.shape[1])
        for n, name in enumerate(names):
            for t in range(clean.shape[1]):

                def replace(_module, _args, made, name=name, t=t):
                    made = made.clone()
                    made[:, t] = saved[name][:, t]
                    return made
                parts[name].register_forward_hook(replace)
                out[n, t] = (difference(model(corrupted)) - low) / (high - low)
    return out


#% map_record_overwritten_i2_of_20
#% patching_map | state_kept | patching_map (recording written out) leaves the recording hooks on during the corrupted run, so the clean activations are overwritten with the corrupted ones.
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError('the texts differ in shape')
    rows = torch.arange(clean.shape[0])

    def difference(logits):
        return (logits[rows, -1, right] - logits[rows, -1, wrong]).mean()
    parts = dict(model.named_modules())
    saved = {}

    def keep(name):

        def hook(_module, _args, made):
            saved[name] = made
        return hook
    with torch.no_grad():
        hooks = [parts[name].register_forward_hook(keep(name)) for name in names]
        high = difference(model(clean))
        low = difference(model(corrupted))
        for hook in hooks:
            hook.remove()
        _, dirty = record_activations(model, corrupted, names)
        out = torch.zeros(len(names), clean.shape[1])
        for n, name in enumerate(names):
            for t in range(clean.shape[1]):
                patch = dirty[name].clone()
                patch[:, t] = saved[name][:, t]
                patched = run_with_patches(model, corrupted, {name: patch})
                out[n, t] = (difference(patched) - low) / (high - low)
    return out


#% map_up_to_position_i3_of_20
#% patching_map | operand_repeated, step_extra | patching_map (the patched run written out) patches all positions up to t instead of position t alone.
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError('the texts differ in shape')
    rows = torch.arange(clean.shape[0])

    def difference(logits):
        return (logits[rows, -1, right] - logits[rows, -1, wrong]).mean()
    parts = dict(model.named_modules())
    with torch.no_grad():
        clean_logits, saved = record_activations(model, clean, names)
        low, high = (difference(model(corrupted)), difference(clean_logits))
        out = torch.zeros(len(names), clean.shape[1])
        for n, name in enumerate(names):
            for t in range(clean.shape[1]):

                def replace(_module, _args, made):
                    return torch.cat((saved[name][:, :t + 1], made[:, t + 1:]), dim=1)
                hook = parts[name].register_forward_hook(replace)
                out[n, t] = (difference(model(corrupted)) - low) / (high - low)
                hook.remove()
    return out


#% map_feature_axis_i4_of_20
#% patching_map | operand_repeated, step_extra | patching_map (the patched run written out) replaces feature t at all positions instead of position t (last axis instead of axis 1).
def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError('the texts differ in shape')
    rows = torch.arange(clean.shape[0])

    def difference(logits):
        return (logits[rows, -1, right] - logits[rows, -1, wrong]).mean()
    parts = dict(model.named_modules())
    with torch.no_grad():
        clean_logits, saved = record_activations(model, clean, names)
        low, high = (difference(model(corrupted)), difference(clean_logits))
        out = torch.zeros(len(names), clean.shape[1])
        for n, name in enumerate(names):
            for t in range(clean.shape[1]):

                def replace(_module, _args, made):
                    made = made.clone()
                    made[..., t] = saved[name][..., t]
                    return made
                hook = parts[name].register_forward_hook(replace)
                out[n, t] = (difference(model(corrupted)) - low) / (high - low)
                hook.remove()
    return out


#% pattern_before_and_no_quotient
#% patching_map | step_missing, wrong_divisor | The map is not divided by the whole difference.
#% induction_pattern | direction_reversed, boundary | The pattern marks the token before the copy.
def induction_pattern(ids: Tensor) -> Tensor:
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    earlier = torch.tril(same, diagonal=-1).float()
    none = torch.zeros_like(earlier[..., :1])
    return torch.cat((earlier[..., 1:], none), dim=-1)


def patching_map(model: nn.Module, clean: Tensor, corrupted: Tensor, names: Sequence[str], right: Tensor, wrong: Tensor) -> Tensor:
    if clean.shape != corrupted.shape:
        raise ValueError(f'the texts differ in shape: {clean.shape} and {corrupted.shape}')
    items = torch.arange(len(clean))

    def difference(logits):
        last = logits[:, -1]
        return (last[items, right] - last[items, wrong]).mean()
    with torch.no_grad():
        clean_logits, clean_activations = record_activations(model, clean, names)
        corrupted_logits, corrupted_activations = record_activations(model, corrupted, names)
        lowest, highest = (difference(corrupted_logits), difference(clean_logits))
        restored = torch.zeros(len(names), clean.shape[1])
        for row, name in enumerate(names):
            for position in range(clean.shape[1]):
                patch = corrupted_activations[name].clone()
                patch[:, position] = clean_activations[name][:, position]
                logits = run_with_patches(model, corrupted, {name: patch})
                restored[row, position] = difference(logits) - lowest
        return restored
