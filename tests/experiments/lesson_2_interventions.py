"""Lesson 2, what a trained model with --self_att does when something inside it is changed."""

import numpy as np
import tensorflow as tf

from . import measuring

TASK = 2

# --- The model in parts -----------------------------------------------------------------------------------


def larger_count(answers):
    """Return which of output steps 0 and 1 holds the larger count, int (batch,), for answers (batch, 4)."""
    return np.where(answers[:, 0] < answers[:, 1], 1, 0)


def first_decoding(model, inputs, query=None):
    """Return what the output steps hold before self-attention, float32 (batch, 4, hidden).

    The query, (1, 4, hidden), is that of the model, if there is no other.
    """
    key = model.key_layer(inputs)
    return model.attention(query=model.query if query is None else query, key=key, value=key)[0].numpy()


def all_weights(decoding, times=1):
    """Return how the output steps attend to each other, float32 (batch, 4, 4), their logits multiplied."""
    scores = decoding @ decoding.swapaxes(1, 2) / decoding.shape[-1] ** 0.5 * times
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def told(model, decoding, weights):
    """Return the answers, int (batch, queries), of the output steps with such a decoding and such weights.

    Args:
        model: an AttentionModel of Task 2 with self_att.
        decoding: float32 (batch, 4, hidden), before self-attention.
        weights: float32 (batch, 4, 4), or (batch, 4) for output step 3 alone.
    """
    alone = weights.ndim == 2
    weights, own = (weights[:, None], decoding[:, 3:]) if alone else (weights, decoding)
    answers = model.logits_layer(model.self_attention.layer_norm(weights @ decoding + own)).numpy()
    return answers.argmax(axis=-1)[:, 0] if alone else answers.argmax(axis=-1)


def different(model):
    """Return the answers, int (cases, 4), and the decodings of new sequences with A ≠ B."""
    data = measuring.fresh(TASK)
    differ = data.answers[:, 3] > 0
    return data.answers[differ], first_decoding(model, data.inputs[differ])


# --- Before the training ----------------------------------------------------------------------------------


def on_itself(model, query=None):
    """Return the mean weight on itself of the counts and of output step 3, and the same as who is first.

    Returns:
        Four numbers: the two weights; in how many cases of a count and of output step 3 no other gets more.
    """
    weights = all_weights(first_decoding(model, measuring.fresh(TASK).inputs, query))
    itself = np.diagonal(weights, axis1=1, axis2=2)
    first = itself >= weights.max(axis=-1)
    return itself[:, :3].mean(), itself[:, 3].mean(), first[:, :3].mean(), first[:, 3].mean()


def random_query(model, trained, seed):
    """Return a random query, float32 (1, 4, hidden), each as long as that of a trained model."""
    drawn = np.random.default_rng(seed).normal(size=trained.query.shape)
    lengths = [np.linalg.norm(one, axis=-1, keepdims=True) for one in (trained.query.numpy(), drawn)]
    return (drawn * lengths[0] / lengths[1]).astype(np.float32)


# --- Other weights ----------------------------------------------------------------------------------------


def readers(model):
    """Return what is right with changed weights of all output steps, with the old reader and with a new one.

    The new one is the last dense layer, trained on from what it was for 1,000 training steps with new data;
    the rest of the model stays.

    Returns:
        A dict from the change to the fractions of counts and of differences right: old, then new.
    """
    parts = [measuring.fresh(TASK, 50000, seed=1001), measuring.fresh(TASK)]
    decodings = [
        np.concatenate([first_decoding(model, some) for some in np.array_split(part.inputs, 10)])
        for part in parts
    ]
    changes = {
        "none": all_weights,
        "all weights equal": lambda one: np.full((len(one), 4, 4), 0.25, np.float32),
        "each on itself": lambda one: np.broadcast_to(np.eye(4, dtype=np.float32), (len(one), 4, 4)),
        "logits × 1.5": lambda one: all_weights(one, 1.5),
    }
    found = {}
    for name, change in changes.items():
        gathered = [model.self_attention.layer_norm(change(one) @ one + one).numpy() for one in decodings]
        kernel, bias = (tf.Variable(weight) for weight in model.logits_layer.weights)
        rights = []
        for anew in (False, True):
            if anew:
                read_anew(kernel, bias, gathered[0], parts[0].answers)
            right = (gathered[1] @ kernel.numpy() + bias.numpy()).argmax(axis=-1) == parts[1].answers
            rights += [right[:, :3].mean(), right[:, 3].mean()]
        found[name] = rights
    return found


def read_anew(kernel, bias, gathered, answers):
    """Train a dense layer, two variables, on vectors (cases, 4, hidden) and answers (cases, 4)."""
    optimizer = tf.keras.optimizers.Adam(1e-2)
    optimizer.build([kernel, bias])

    @tf.function(jit_compile=True)
    def step(vectors, targets):
        with tf.GradientTape() as tape:
            logits = vectors @ kernel + bias
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
            loss = tf.reduce_mean(losses)
        optimizer.apply(tape.gradient(loss, [kernel, bias]), [kernel, bias])

    for index in np.array_split(np.arange(len(answers)), 500) * 2:
        step(gathered[index], answers[index])


def moved(weights, step, amount):
    """Return the weights, (batch, 4), with less, float (batch,), on an output step: the others share it."""
    rows, rest = np.arange(len(weights)), weights.copy()
    rest[rows, step] = 0
    rest *= 1 + (amount / rest.sum(axis=-1))[:, None]
    rest[rows, step] = weights[rows, step] - amount
    return rest


def other_weights(model):
    """Return what other weights of output step 3 do, where A ≠ B.

    A dict from the change to: the weight that is taken away, the fraction of differences right, the mean
    answer, the share of the answer 0.
    """
    answers, decoding = different(model)
    weights, larger, rows = all_weights(decoding)[:, 3], larger_count(answers), np.arange(len(answers))
    most, least = weights[rows, larger], weights[rows, 1 - larger]
    third, own = weights[:, 2], weights[:, 3]
    changes = {
        "none": (larger, 0 * most),
        "all from the smaller count": (1 - larger, least),
        "as much as the smaller has, from the larger": (larger, least),
        "all from 'C'": (2, third),
        "as much as 'C' has, from the larger": (larger, third),
        "all from itself": (3, own),
        "as much as itself has, from the larger": (larger, np.minimum(own, most)),
        "all from the larger count": (larger, most),
    }
    found = {}
    for name, (step, amount) in changes.items():
        one = told(model, decoding, moved(weights, step, amount))
        found[name] = (amount.mean(), (one == answers[:, 3]).mean(), one.mean(), (one == 0).mean())
    return found


def without_larger(model, differences=range(1, 7)):
    """Return the mean answer, and the share of 0, for each difference, the larger count's weight gone."""
    answers, decoding = different(model)
    weights, larger = all_weights(decoding)[:, 3], larger_count(answers)
    one = told(model, decoding, moved(weights, larger, weights[np.arange(len(weights)), larger]))
    seen = [one[answers[:, 3] == difference] for difference in differences]
    return [(some.mean(), (some == 0).mean()) for some in seen]


def cut_off(model):
    """Return the fraction of differences right, and with even weights of output step 3 on the letters.

    Three numbers: differences as it is; differences and counts with the even weights.
    """
    data = measuring.fresh(TASK)
    value, weights = model.key_layer(data.inputs).numpy(), model(data.inputs)[1].numpy()
    even = np.broadcast_to(weights, (len(value), *weights.shape[1:])).copy()
    even[:, 3] = 1 / even.shape[-1]
    decodings = [model.attention.layer_norm(one @ value + model.query.numpy()) for one in (weights, even)]
    if model.self_attention is not None:
        decodings = [model.self_attention(query=one, key=one, value=one)[0] for one in decodings]
    right = [model.logits_layer(one).numpy().argmax(axis=-1) == data.answers for one in decodings]
    return right[0][:, 3].mean(), right[1][:, 3].mean(), right[1][:, :3].mean()


# --- Decodings of other inputs ----------------------------------------------------------------------------


def donors(answers, same, other, generator):
    """Return for each input a random one that differs in one count only, int (batch,), -1 without any.

    Args:
        answers: int (batch, 4).
        same, other: the counts that must be the same, int (batch, columns), and the one that must not, (batch,).
        generator: numpy.random.Generator.
    """
    chosen = np.full(len(answers), -1)
    for group in np.unique(same, axis=0):
        rows = np.flatnonzero((same == group).all(axis=1))
        for row in rows:
            fits = rows[other[rows] != other[row]]
            chosen[row] = generator.choice(fits) if len(fits) else -1
    return chosen


def patched(model):
    """Replace decodings by those of another input, in which one count of the two is another one.

    The larger count is the same letter in both, the number of 'C' is the same, and both were answered right.
    The attention weights are computed anew.

    Returns:
        A dict from (the count that is another one, whose decoding is replaced) to: the share in which the
        other input's difference comes out; in which the answer stays; what two formulas predict, where that is
        possible and new: 2 · max − (A + B), A + B from output step 3; max − min, min from output step 3; and
        how much the answer moves per unit of the difference.
    """
    answers, decoding = different(model)
    right = told(model, decoding, all_weights(decoding)[:, 3]) == answers[:, 3]
    answers, decoding = answers[right], decoding[right]
    step, rows = larger_count(answers), np.arange(len(answers))
    most, least = answers[rows, step], answers[rows, 1 - step]
    found = {}
    for name, kept, other in (("larger", least, most), ("smaller", most, least)):
        same = np.column_stack([step, answers[:, 2], kept])
        chosen = donors(answers, same, other, np.random.default_rng(0))
        known = chosen >= 0
        for who, steps in (("the larger count", [0]), ("its own", [1]), ("both", [0, 1])):
            changed = decoding.copy()
            for place in (np.where(known, step, 0), np.full(len(rows), 3))[steps[0] : steps[-1] + 1]:
                changed[rows, place] = decoding[chosen, place]
            after = told(model, changed, all_weights(changed)[:, 3])[known]
            largest = np.where(0 in steps, most[chosen], most)[known]
            held = [np.where(1 in steps, one[chosen], one)[known] for one in (most + least, least)]
            before, goal = answers[known, 3], answers[chosen[known], 3]
            shares = [(after == goal).mean(), (after == before).mean()]
            for formula in (2 * largest - held[0], largest - held[1]):
                new = (formula >= 0) & (formula <= 10) & (formula != before)
                shares.append((after == formula)[new].mean() if new.any() else np.nan)
            found[name, who] = (*shares, np.polyfit(goal - before, after - before, 1)[0])
    return found


# --- What output step 3 holds itself ----------------------------------------------------------------------


def read(decoding, quantity):
    """Return how a linear fit reads a quantity, and how a decoding changes with it.

    Args:
        decoding: float32 (batch, hidden).
        quantity: float (batch,).

    Returns:
        reading: float (batch,), what the fit reads, less its mean.
        direction: float (hidden,); a decoding plus t times it reads t more, and it is the least change that
            takes the quantity from all linear fits when t is minus the reading.
    """
    centred = decoding - decoding.mean(axis=0)
    covariance = centred.T @ (quantity - quantity.mean()) / len(centred)
    reader = np.linalg.pinv(centred.T @ centred / len(centred), rcond=1e-5) @ covariance
    return centred @ reader, covariance / (covariance @ reader)


def steered(model):
    """Erase or flip a quantity in output step 3's own decoding, where A ≠ B.

    To flip is to put it as far on the other side: of 0 for A − B, of its mean for the others. The last one
    moves 'C' as far as A − B is moved, in the length of the change.

    Returns:
        A dict from the change to: the share in which the larger count gets more weight than the smaller one;
        the fraction of differences right with the weights computed anew, and kept.
    """
    answers, decoding = different(model)
    own, kept = decoding[:, 3], all_weights(decoding)[:, 3]
    rows, larger = np.arange(len(answers)), larger_count(answers)
    first, second, third, _ = answers.T.astype(float)
    changes, lengths = {}, {}
    for name, quantity in {"A − B": first - second, "A + B": first + second, "'C'": third}.items():
        reading, direction = read(own, quantity)
        middle = quantity.mean() if name == "A − B" else 0
        changes[f"{name} erased"] = -np.outer(reading, direction)
        changes[f"{name} flipped"] = -2 * np.outer(reading + middle, direction)
        lengths[name] = np.linalg.norm(changes[f"{name} flipped"], axis=1).mean()
    changes["'C' flipped, as far as A − B"] = changes["'C' flipped"] * lengths["A − B"] / lengths["'C'"]
    found = {}
    for name, change in changes.items():
        changed = decoding.copy()
        changed[:, 3] += change
        weights = all_weights(changed)[:, 3]
        right = [(told(model, changed, one) == answers[:, 3]).mean() for one in (weights, kept)]
        found[name] = ((weights[rows, larger] > weights[rows, 1 - larger]).mean(), *right)
    return found


def longer(model):
    """Return how often the larger count, A ≠ B, has the longer decoding, and gets more if all are as long."""
    answers, decoding = different(model)
    rows, larger = np.arange(len(answers)), larger_count(answers)
    lengths = np.linalg.norm(decoding, axis=-1)
    scores = ((decoding / lengths[..., None]) @ decoding[:, 3, :, None])[..., 0]
    return [(one[rows, larger] > one[rows, 1 - larger]).mean() for one in (lengths, scores)]


# --- The report -------------------------------------------------------------------------------------------


def report(group, before):
    """Print all of it, for lists of models with --self_att, trained and before their training."""
    rows = []
    pairs = list(zip(before, group, strict=True))
    for label, found in {
        "before the training": [on_itself(one) for one in before],
        "before, random queries": [
            on_itself(one, random_query(one, other, seed)) for seed, (one, other) in enumerate(pairs)
        ],
        "after": [on_itself(one) for one in group],
    }.items():
        rows.append([label, *measuring.columns(found, "{:.2f}", "{:.2f}", "%", "%")])
    head = [
        "",
        "a count on itself",
        "output step 3 on itself",
        "no other gets more: a count",
        "output step 3",
    ]
    measuring.table("What the training changes: self-attention", head, rows)

    head = ["counts right", "difference right", "read anew: counts", "read anew: difference"]
    print_rows("Is it the look, or what reads it?", head, readers, group, *["%"] * 4)
    head = ["weight taken away", "difference right", "mean answer", "answers 0"]
    print_rows(
        "Other weights of output step 3, A ≠ B", head, other_weights, group, "{:.3f}", "%", "{:.2f}", "%"
    )
    rows = [
        [difference, *measuring.columns(line, "{:.2f}", "%")]
        for difference, line in enumerate(zip(*map(without_larger, group), strict=True), start=1)
    ]
    measuring.table("Nothing from the larger count", ["difference", "mean answer", "answers 0"], rows)
    cut = measuring.columns([cut_off(model) for model in group], "%", "%", "%")
    head = ["difference", "output step 3 even on the letters: difference", "counts"]
    measuring.table("`--self_att`: right", head, [cut])
    head = ["the other's difference", "as before", "2 · max − (A + B)", "max − min", "moves per unit"]
    print_rows("Patched: another input's decodings", head, patched, group, *["%"] * 4, "{:.2f}")
    head = ["the larger count gets more", "right, weights anew", "right, weights kept"]
    print_rows("Output step 3's own decoding is changed, A ≠ B", head, steered, group, "%", "%", "%")
    cells = measuring.columns(list(map(longer, group)), "%", "%")
    measuring.table("The larger count, A ≠ B", ["is longer", "gets more if all are as long"], [cells])


def print_rows(title, head, measure, group, *forms):
    """Print a table with a row for each name in what a function of a model returns, a dict."""
    found = [measure(model) for model in group]
    rows = [[name, *measuring.columns([one[name] for one in found], *forms)] for name in found[0]]
    measuring.table(title, ["", *head], rows)
