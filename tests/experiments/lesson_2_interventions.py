"""Lesson 2, what a trained model with --self_att does when something inside it is changed."""

import numpy as np

from . import measuring

TASK = 2
NAMES = ("A − B", "A + B", "'C'")

# --- The model in parts -----------------------------------------------------------------------------------


def larger_count(answers):
    """Return which of output steps 0 and 1 holds the larger count, int (batch,), for answers (batch, 4)."""
    return np.where(answers[:, 0] < answers[:, 1], 1, 0)


def first_decoding(model, inputs):
    """Return what the output steps hold before self-attention, float32 (batch, 4, hidden)."""
    key = model.key_layer(inputs)
    return model.attention(query=model.query, key=key, value=key)[0].numpy()


def self_scores(query, key):
    """Return the scores, float32 (batch, 4), of queries (batch or 1, hidden) with keys.

    The keys are float32 (batch or 1, 4, hidden).
    """
    return (key @ query[..., None])[..., 0] / key.shape[-1] ** 0.5


def self_weights(model, decoding):
    """Return how output step 3 attends to the output steps, float32 (batch, 4), given their decodings."""
    return model.self_attention(query=decoding, key=decoding, value=decoding)[1].numpy()[:, 3]


def step_3(model, decoding, weights=None):
    """Return the answer of output step 3, int (batch,), with its weights replaced or not.

    Args:
        model: an AttentionModel of Task 2 with self_att.
        decoding: float32 (batch, 4, hidden), before self-attention.
        weights: float32 (batch, 4), or None for those that the decoding gives.
    """
    weights = self_weights(model, decoding) if weights is None else weights
    mixture = np.einsum("bk,bkd->bd", weights, decoding) + decoding[:, 3]
    logits = model.logits_layer(model.self_attention.layer_norm(mixture[:, None]))
    return logits.numpy()[:, 0].argmax(axis=-1)


def different(model):
    """Return the answers, int (cases, 4), and the decodings of new sequences with A ≠ B."""
    data = measuring.fresh(TASK)
    differ = data.answers[:, 3] > 0
    return data.answers[differ], first_decoding(model, data.inputs[differ])


# --- Other weights ----------------------------------------------------------------------------------------


def without(weights, step):
    """Share the weights, (batch, 4), on an output step, int (batch,) or int, among the others."""
    rest = weights.copy()
    rest[np.arange(len(rest)), step] = 0
    return rest / rest.sum(axis=-1, keepdims=True)


def other_weights(model):
    """Return what other weights of output step 3 do, where A ≠ B.

    A dict from the change to: the fraction of differences right, the mean answer, the share of the answer 0.
    """
    answers, decoding = different(model)
    weights, larger = self_weights(model, decoding), larger_count(answers)
    changes = {
        "none": weights,
        "output steps 0 and 1 exchanged": weights[:, [1, 0, 2, 3]],
        "none on the smaller count": without(weights, 1 - larger),
        "none on the larger count": without(weights, larger),
        "none on 'C'": without(weights, 2),
        "none on itself": without(weights, 3),
        "a quarter on each": np.full_like(weights, 0.25),
    }
    found = {name: step_3(model, decoding, changed) for name, changed in changes.items()}
    return {
        name: ((one == answers[:, 3]).mean(), one.mean(), (one == 0).mean()) for name, one in found.items()
    }


def cut_off(model):
    """Return the fractions of differences and of counts right in a trained model that is cut off.

    As it is; with even weights of output step 3 on the letters; with self_att also with every output step on
    itself alone.
    """
    data = measuring.fresh(TASK)
    value, weights = model.key_layer(data.inputs).numpy(), model(data.inputs)[1].numpy()
    even = np.broadcast_to(weights, (len(value), *weights.shape[1:])).copy()
    even[:, 3] = 1 / even.shape[-1]
    decodings = [model.attention.layer_norm(one @ value + model.query.numpy()) for one in (weights, even)]
    if model.self_attention is not None:
        alone = model.self_attention.layer_norm(
            2 * decodings[0]
        )  # A mixture of itself alone, and the residual.
        decodings = [model.self_attention(query=one, key=one, value=one)[0] for one in decodings] + [alone]
    told = [model.logits_layer(one).numpy().argmax(axis=-1) == data.answers for one in decodings]
    return [share for right in told for share in (right[:, 3].mean(), right[:, :3].mean())]


# --- Decodings of other inputs ----------------------------------------------------------------------------


def donors(answers, generator, allowed):
    """Return for each input another that is allowed, int (batch,), -1 where there is none.

    Args:
        answers: int (batch, 4).
        generator: numpy.random.Generator.
        allowed: a function of answers (batch, 4) and of as many of possible donors to bool (batch,).
    """
    chosen = np.full(len(answers), -1)
    for _ in range(100):
        if (chosen >= 0).all():
            break
        candidates = generator.permutation(len(answers))
        fits = (chosen < 0) & allowed(answers, answers[candidates])
        chosen[fits] = candidates[fits]
    return chosen


def patched(model, anew):
    """Replace the larger count's decoding by that of another input, where it is another count.

    Only where the answer was right, so that there is something to explain.

    Args:
        model: an AttentionModel of Task 2 with self_att.
        anew: whether the attention weights are computed from the changed decodings, or kept.

    Returns:
        The shares of cases with the answer 2 · max′ − (A + B), of those where that is a possible answer and
        another one than before; with |max′ − min|, likewise; with the answer of before; and the slope of the
        answer over the count.
    """
    answers, decoding = different(model)
    rows, step = np.arange(len(answers)), larger_count(answers)
    chosen = donors(
        answers, np.random.default_rng(0), lambda own, other: other[rows, step] != own[rows, step]
    )
    changed = decoding.copy()
    changed[rows, step] = decoding[chosen, step]
    before = step_3(model, decoding)
    after = step_3(model, changed, None if anew else self_weights(model, decoding))
    count, larger, smaller = answers[chosen, step], answers[rows, step], answers[rows, 1 - step]
    explained = (chosen >= 0) & (before == answers[:, 3])
    shares = []
    for told in (2 * count - larger - smaller, abs(count - smaller)):
        seen = explained & (told >= 0) & (told <= 10) & (told != before)
        shares.append((after == told)[seen].mean())
    shares.append((after == before)[explained].mean())
    return *shares, np.polyfit((count - larger)[explained], (after - before)[explained], 1)[0]


def who_or_what(model):
    """Return the fraction of differences right when the larger count's decoding loses one thing.

    The weights are kept. First "what": the mean decoding of that output step where it is the larger one, so
    that it tells which was found but no count. Then "who": the decoding of the other of the two output steps,
    from an input where that one is the larger and has the same count.
    """
    answers, decoding = different(model)
    rows, step = np.arange(len(answers)), larger_count(answers)
    weights, before = self_weights(model, decoding), step_3(model, decoding)
    means = np.stack([decoding[step == one, one].mean(axis=0) for one in (0, 1)])
    count = answers[rows, step]
    chosen = donors(
        answers,
        np.random.default_rng(0),
        lambda _, other: (other[rows, 1 - step] == count) & (larger_count(other) == 1 - step),
    )
    found = []
    for value, known in ((means[step], True), (decoding[chosen, 1 - step], chosen >= 0)):
        changed = decoding.copy()
        changed[rows, step] = value
        cases = known & (before == answers[:, 3])
        found.append((step_3(model, changed, weights) == answers[:, 3])[cases].mean())
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


def quantities(answers):
    """Return A − B, A + B and the count of 'C', float (batch,) each, a dict, for answers (batch, 4)."""
    first, second, third, _ = answers.T.astype(float)
    return dict(zip(NAMES, (first - second, first + second, third), strict=True))


def steered(model):
    """Erase or flip a quantity in output step 3's own decoding, where A ≠ B.

    To flip is to put it as far on the other side: of 0 for A − B, of its mean for the others. The last one
    moves 'C' as far as A − B is moved, in the length of the change.

    Returns:
        A dict from the change to: the share in which the larger count gets more weight than the smaller one;
        the fraction of differences right with the weights computed anew, and kept; the mean answer with those
        computed anew; the length of the change over that of a decoding less its mean.
    """
    answers, decoding = different(model)
    own, kept = decoding[:, 3], self_weights(model, decoding)
    rows, larger = np.arange(len(answers)), larger_count(answers)
    usual = np.linalg.norm(own - own.mean(axis=0), axis=1).mean()
    changes, lengths = {}, {}
    for name, quantity in quantities(answers).items():
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
        weights = self_weights(model, changed)
        told = [step_3(model, changed, one) for one in (weights, kept)]
        right = [(one == answers[:, 3]).mean() for one in told]
        wins = (weights[rows, larger] > weights[rows, 1 - larger]).mean()
        found[name] = (wins, *right, told[0].mean(), np.linalg.norm(change, axis=1).mean() / usual)
    return found


def set_to(model, targets=range(-6, 7)):
    """Set A − B in output step 3's own decoding to each target, whatever the counts are, where A ≠ B.

    Returns:
        For each target: the share in which output step 0, which counts 'A', gets more weight than output
        step 1, of the inputs with A > B and of those with A < B.
    """
    answers, decoding = different(model)
    difference = quantities(answers)["A − B"]
    reading, direction = read(decoding[:, 3], difference)
    found = []
    for target in targets:
        changed = decoding.copy()
        changed[:, 3] += np.outer(target - difference.mean() - reading, direction)
        weights = self_weights(model, changed)
        first = weights[:, 0] > weights[:, 1]
        found.append((first[difference > 0].mean(), first[difference < 0].mean()))
    return found


def preferred(model):
    """Return whom an average output step 3 prefers, and what makes the difference of the two scores.

    Returns:
        longer: the share in which the larger count has the longer decoding.
        wins: the share in which the larger count gets the higher score, if the decodings of all output steps
            have the same length as keys; and if the query is the mean decoding of output step 3.
        slopes: how the scores of output steps 0 and 1 with that mean query change per unit of their count.
        parts: how the score of output step 0 less that of output step 1 changes per unit of A − B: as it is;
            with that mean query; with the own query of output step 3, but mean decodings as keys.
    """
    answers, decoding = different(model)
    rows, larger = np.arange(len(answers)), larger_count(answers)
    lengths = np.linalg.norm(decoding, axis=-1)
    own, mean = decoding[:, 3], decoding[:, 3].mean(axis=0)[None]
    scores = {
        "as it is": self_scores(own, decoding),
        "same length": self_scores(own, decoding / lengths[..., None]),
        "mean query": self_scores(mean, decoding),
        "mean keys": self_scores(own, decoding.mean(axis=0)[None]),
    }
    wins = [(one[rows, larger] > one[rows, 1 - larger]).mean() for one in list(scores.values())[1:3]]
    slopes = [np.polyfit(answers[:, step], scores["mean query"][:, step], 1)[0] for step in (0, 1)]
    difference = answers[:, 0] - answers[:, 1]
    both = [scores[name] for name in ("as it is", "mean query", "mean keys")]
    parts = [np.polyfit(difference, one[:, 0] - one[:, 1], 1)[0] for one in both]
    return (lengths[rows, larger] > lengths[rows, 1 - larger]).mean(), *wins, *slopes, *parts


def read_out(model):
    """Return R² of linear fits to output step 3's decoding before self-attention: A − B, A + B, 'C'."""
    data = measuring.fresh(TASK)
    decoding = first_decoding(model, data.inputs)[:, 3]
    return [measuring.linear_fit(decoding, quantity) for quantity in quantities(data.answers).values()]


# --- The report -------------------------------------------------------------------------------------------


def report(group, program):
    """Print all of it.

    Args:
        group: list of AttentionModel, trained with --self_att.
        program: main.py of Task 2 as a module.
    """
    head = ["difference right", "mean answer", "answers 0"]
    print_rows("Other weights of output step 3, A ≠ B", head, other_weights, group, "%", "{:.2f}", "%")
    difference = different(group[0])[0][:, 3]
    print(f"\nRight would be a mean answer of {difference.mean():.2f}.")

    rows = []
    for anew in (False, True):
        found = [patched(model, anew) for model in group]
        rows.append(["anew" if anew else "kept", *measuring.columns(found, "%", "%", "%", "{:.2f}")])
    head = ["weights", "2 · max′ − (A + B)", "\\|max′ − min\\|", "as before", "moves per unit of the count"]
    measuring.table("Patched: the larger count's decoding", head, rows)
    cells = measuring.columns([who_or_what(model) for model in group], "%", "%")
    head = ["who, but not how many", "how many, but the wrong who"]
    measuring.table("Who or what, weights kept: difference right", head, [cells])

    head = [
        "the larger count gets more",
        "right, weights anew",
        "right, weights kept",
        "mean answer, anew",
        "length",
    ]
    forms = ("%", "%", "%", "{:.2f}", "{:.2f}")
    print_rows("Output step 3's own decoding is changed, A ≠ B", head, steered, group, *forms)
    rows = []
    targets = range(-6, 7)
    for target, line in zip(targets, zip(*map(set_to, group), strict=True), strict=True):
        rows.append([target, *measuring.columns(line, "%", "%")])
    head = ["A − B set to", "output step 0 gets more than output step 1, of A > B", "of A < B"]
    measuring.table("A − B in output step 3's own decoding is set", head, rows)
    cells = measuring.columns([preferred(model) for model in group], *["%"] * 3, *["{:.2f}"] * 5)
    head = ["the larger is longer", "wins, all keys as long", "wins, mean query", "score per 'A'", "per 'B'"]
    head += [
        "score of output step 0 less that of output step 1, per unit of A − B",
        "with a mean query",
        "with mean keys",
    ]
    measuring.table("Whom an average output step 3 prefers, A ≠ B", head, [cells])

    untrained = []
    for seed in range(1, len(group) + 1):
        program.tf.keras.utils.set_random_seed(seed)
        untrained.append(program.AttentionModel(**program.DEFAULTS | {"self_att": True}))
    rows = [
        [label, *measuring.columns([read_out(model) for model in models], *["{:.2f}"] * len(NAMES))]
        for label, models in (("trained", group), ("never trained", untrained))
    ]
    measuring.table("R² of a linear fit to output step 3's own decoding", ["", *NAMES], rows)


def print_rows(title, head, measure, group, *forms):
    """Print a table with a row for each name in what a function of a model returns, a dict."""
    found = [measure(model) for model in group]
    rows = [[name, *measuring.columns([one[name] for one in found], *forms)] for name in found[0]]
    measuring.table(title, ["", *head], rows)
