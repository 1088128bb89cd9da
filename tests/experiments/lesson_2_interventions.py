"""Lesson 2, what a model with --self_att does when something inside it is changed."""

import numpy as np

from . import measuring

TASK = 2
OTHERS = {"samples": 20000, "seed": 1001}  # On which a new last layer is fitted.


def first_decoding(model, inputs, query=None):
    """Return the decodings before self-attention, float32 (batch, 4, hidden); the query has no batch."""
    key = model.key_layer(inputs)
    return model.attention(query=model.query if query is None else query, key=key, value=key)[0].numpy()


def all_weights(decoding, times=1):
    """Return how the output steps attend to each other, float32 (batch, 4, 4), their logits multiplied."""
    logits = decoding @ decoding.swapaxes(1, 2) / decoding.shape[-1] ** 0.5 * times
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def told(model, decoding, weights):
    """Return the answers of output step 3, int (batch,), for its weights, float (batch, 4).

    The decoding, float32 (batch, 4, hidden), is that before self-attention.
    """
    gathered = np.einsum("bk,bkd->bd", weights, decoding) + decoding[:, 3]
    logits = model.logits_layer(model.self_attention.layer_norm(gathered[:, None]))
    return logits.numpy()[:, 0].argmax(axis=-1)


def different(model):
    """Return the answers, int (cases, 4), which count is larger, int (cases,), and the decodings, A ≠ B."""
    data = measuring.fresh(TASK)
    differ = data.answers[:, 3] > 0
    answers = data.answers[differ]
    return answers, np.where(answers[:, 0] < answers[:, 1], 1, 0), first_decoding(model, data.inputs[differ])


def on_itself(model, query=None):
    """Return three mean weights: of a count on itself, of output step 3 on itself, and its largest one."""
    weights = all_weights(first_decoding(model, measuring.fresh(TASK).inputs, query))
    itself = np.diagonal(weights, axis1=1, axis2=2)
    return itself[:, :3].mean(), itself[:, 3].mean(), weights[:, 3].max(axis=-1).mean()


def random_query(trained, seed):
    """Return a random query, float32 (1, 4, hidden), each vector as long as that of a trained model."""
    drawn = np.random.default_rng(seed).normal(size=trained.query.shape)
    lengths = [np.linalg.norm(one, axis=-1, keepdims=True) for one in (trained.query.numpy(), drawn)]
    return (drawn * lengths[0] / lengths[1]).astype(np.float32)


CHANGES = {
    "nothing": all_weights,
    "all weights equal": lambda one: np.full((1, 4, 4), 0.25, np.float32),
    "each on itself": lambda one: np.eye(4, dtype=np.float32)[None],
    "logits × 1.5": lambda one: all_weights(one, 1.5),
}


def fitted(given, vectors):
    """Return which answers, bool (samples, 4), a new last layer gets right, fitted on other given vectors.

    Both are float (samples, 4, hidden).
    """
    answers, data = measuring.fresh(TASK, **OTHERS).answers, measuring.fresh(TASK)
    again = measuring.read_again(given.reshape(-1, given.shape[-1]), answers.ravel())
    return again(vectors.reshape(-1, given.shape[-1])).reshape(data.answers.shape) == data.answers


def without_self_attention(model):
    """Return sequences, counts and differences right with a new last layer on the first decodings."""
    right = fitted(*(first_decoding(model, measuring.fresh(TASK, **one).inputs) for one in (OTHERS, {})))
    return right.all(axis=1).mean(), right[:, :3].mean(), right[:, 3].mean()


def readers(model):
    """Change all weights, then give the model a new last layer.

    A dict from the change to the fractions of counts and of differences right, as it is and with that layer;
    and of differences, with a layer for them alone.
    """
    own, data, found = measuring.fresh(TASK, **OTHERS), measuring.fresh(TASK), {}
    decodings = [first_decoding(model, one.inputs) for one in (own, data)]
    for name, change in CHANGES.items():
        given, vectors = (
            model.self_attention.layer_norm(change(one) @ one + one).numpy() for one in decodings
        )
        right = [model.logits_layer(vectors).numpy().argmax(axis=-1) == data.answers, fitted(given, vectors)]
        alone = measuring.read_again(given[:, 3], own.answers[:, 3])(vectors[:, 3]) == data.answers[:, 3]
        found[name] = [
            *(part for one in right for part in (one[:, :3].mean(), one[:, 3].mean())),
            alone.mean(),
        ]
    return found


def taken(weights, step, amount):
    """Return weights, (batch, 4), with an amount, (batch,), taken from a step and shared by the others."""
    rows, rest = np.arange(len(weights)), weights.copy()
    rest[rows, step] = 0
    rest *= 1 + (amount / rest.sum(axis=-1))[:, None]
    rest[rows, step] = weights[rows, step] - amount
    return rest


def other_weights(model):
    """Take weight away from what output step 3 attends to, where A ≠ B.

    A dict from the change to: the weight taken, the fraction of differences right, the mean answer, and
    the share of the answer 0.
    """
    answers, larger, decoding = different(model)
    weights, rows, difference = all_weights(decoding)[:, 3], np.arange(len(answers)), answers[:, 3]
    most, least, third, own = weights[rows, larger], weights[rows, 1 - larger], *weights[:, 2:].T
    changes = {
        "nothing": (larger, 0 * most),
        "the smaller count, all": (1 - larger, least),
        "the larger count, as much": (larger, least),
        "'C', all": (2, third),
        "itself, all": (3, own),
        "the larger count, as much as itself has": (larger, np.minimum(own, most)),
        "the larger count, all": (larger, most),
    }
    cases = {name: (change, difference > 0) for name, change in changes.items()}
    for number in range(1, 6):
        cases[f"all of it, difference {number}"] = (larger, most), difference == number
    found = {}
    for name, ((step, amount), seen) in cases.items():
        one = told(model, decoding, taken(weights, step, amount))[seen]
        found[name] = amount[seen].mean(), (one == difference[seen]).mean(), one.mean(), (one == 0).mean()
    return found


def patched(model):
    """Replace decodings by those of another input, in which one of the two counts is another one.

    The letter that is more is the same in both, and so is the number of 'C'; both were answered right.

    A dict from the count that is another one; whose decoding is replaced, to the shares in which the other
    difference comes out and in which the answer stays, and to how much it moves per unit of the difference.
    """
    answers, larger, decoding = different(model)
    right = told(model, decoding, all_weights(decoding)[:, 3]) == answers[:, 3]
    answers, larger, decoding, rows = answers[right], larger[right], decoding[right], np.arange(right.sum())
    most, least, generator = answers[rows, larger], answers[rows, 1 - larger], np.random.default_rng(0)
    found = {}
    for name, kept, count in (("larger", least, most), ("smaller", most, least)):
        same, chosen = 1000 * larger + 100 * answers[:, 2] + kept, np.full(len(rows), -1)
        for row in rows:
            others = np.flatnonzero((same == same[row]) & (count != count[row]))
            chosen[row] = generator.choice(others) if len(others) else -1
        known = chosen >= 0
        before, goal = answers[known, 3], answers[chosen[known], 3]
        for whose, steps in (("larger count's", [larger]), ("own", [3]), ("both", [larger, 3])):
            changed = decoding.copy()
            for step in steps:
                changed[rows, step] = decoding[chosen, step]
            after = told(model, changed, all_weights(changed)[:, 3])[known]
            slope = np.polyfit(goal - before, after - before, 1)[0]
            found[f"{name}; {whose}"] = (after == goal).mean(), (after == before).mean(), slope
    return found


def flipped(model):
    """Flip a quantity in output step 3's own decoding, where A ≠ B, along what the decoding changes with it.

    A − B goes as far to the other side of 0, A + B of its mean; 'C' as far as A − B, in the length of the
    change. A dict from the quantity to the shares where the larger count gets more, and that are right.
    """
    answers, larger, decoding = different(model)
    first, second, third, _ = answers.T.astype(float)
    rows, quantities = np.arange(len(answers)), np.column_stack([first - second, first + second, third])
    quantities[:, 1:] -= quantities[:, 1:].mean(axis=0)
    slopes = np.linalg.lstsq(quantities, decoding[:, 3] - decoding[:, 3].mean(axis=0), rcond=None)[0]
    found, lengths = {}, []
    for name, quantity, slope in zip(("A − B", "A + B", "'C'"), quantities.T, slopes, strict=True):
        change = -2 * np.outer(quantity, slope)
        lengths.append(np.linalg.norm(change, axis=1).mean())
        changed = decoding.copy()
        changed[:, 3] += change * (lengths[0] / lengths[-1] if name == "'C'" else 1)
        weights = all_weights(changed)[:, 3]
        wins = weights[rows, larger] > weights[rows, 1 - larger]
        found[name] = wins.mean(), (told(model, changed, weights) == answers[:, 3]).mean()
    return found


def report(group, before, plain):
    """Print all of it, for lists of models with --self_att, trained and before, and without it."""
    queries = [random_query(model, seed) for seed, model in enumerate(group)]
    found = {"before": map(on_itself, before), "with random queries": map(on_itself, before, queries)}
    found["after"] = map(on_itself, group)
    head = ["a count on itself", "output step 3 on itself", "output step 3, the largest of the four"]
    measuring.compare("What the training changes: self-attention", head, found, list, *["{:.2f}"] * 3)
    head, forms = ["taken away", "difference right", "mean answer", "answers 0"], ["{:.2f}", "%"] * 2
    measuring.compare_cases("Weight of output step 3 taken away, A ≠ B", head, group, other_weights, *forms)
    head = ["the other's difference", "as before", "moves per unit"]
    measuring.compare_cases(
        "The count that is another; whose decoding", head, group, patched, "%", "%", "{:.2f}"
    )
    head = ["the larger count gets more", "right"]
    measuring.compare_cases("Flipped in output step 3's own decoding, A ≠ B", head, group, flipped, "%", "%")
    head = ["counts right", "difference right", "read anew: counts", "read anew: difference", "it alone"]
    measuring.compare_cases("Is it the look, or what reads it?", head, group, readers, *["%"] * 5)
    title, head = "A new last layer without `--self_att`", ["sequences", "counts", "difference"]
    measuring.compare(title, head, {"": plain}, without_self_attention, *["%"] * 3, each=True)
