"""Lesson 2, what could be read in a model, and what it does when something inside it is changed."""

import functools
import itertools
import math
import unittest.mock
import warnings

import numpy as np
from scipy import special

from . import measuring

TASK = 2
SIZES = 0.03, 0.1, 0.2, 0.3, 0.5, 1.0  # Of random queries; those of the trained model are 1.


@functools.cache
def cases():
    """Return all sequences of ten letters as `measuring.fresh` does, but each set of letters only once.

    Attention does not see order, so 286 cases stand for all; .chances, float (286,), says for how many.
    """
    letters = np.array(list(itertools.combinations_with_replacement(range(4), 10)))
    found = measuring.solved(TASK, letters)
    numbers = (letters[..., None] == np.arange(4)).sum(axis=1)
    orders = [math.factorial(10) / math.prod(map(math.factorial, row)) for row in numbers.tolist()]
    found.chances = np.array(orders) / 4**10
    return found


def unequal():
    """Return which cases have A ≠ B, bool (286,), the larger of the two there, int, and the chances."""
    answers, differ = cases().answers, cases().answers[:, 3] > 0
    chances = cases().chances[differ]
    return differ, np.where(answers[differ, 0] < answers[differ, 1], 1, 0), chances / chances.sum()


def first_decoding(model, query=None):
    """Return the decodings of all cases before self-attention, float32 (286, 4, hidden)."""
    key = model.key_layer(cases().inputs)
    return model.attention(query=model.query if query is None else query, key=key, value=key)[0].numpy()


def all_weights(decoding):
    """Return how the output steps attend to each other, float32 (batch, 4, 4)."""
    return special.softmax(decoding @ decoding.swapaxes(1, 2) / decoding.shape[-1] ** 0.5, axis=-1)


def random_query(trained, seed, size=1):
    """Return a random query, float32 (1, 4, hidden); size 1 is each vector as long as in a trained model."""
    drawn = np.random.default_rng(seed).normal(size=trained.query.shape)
    lengths = [np.linalg.norm(one, axis=-1, keepdims=True) for one in (trained.query.numpy(), drawn)]
    return (size * drawn * lengths[0] / lengths[1]).astype(np.float32)


# --- What a new last layer reads ------------------------------------------------------------------------


def last_vectors(model):
    """Return what the last dense layer of a model reads, float (286, 4, hidden)."""
    with unittest.mock.patch.object(model.logits_layer, "call", lambda vectors: vectors):
        return model(cases().inputs)[0].numpy()


def best_layer(vectors, answers):
    """Return the best last dense layer, a function to answers, for all cases: the one with the least loss.

    Vectors are float (286, ..., numbers), answers int (286, ...). They first get the same spread in all
    directions, which such a layer can undo: so small differences are learnt as fast as large ones.
    """
    import threadpoolctl  # On which scikit-learn depends: so small a fit is slower in several threads.
    from sklearn import decomposition, linear_model, pipeline  # Here, as this takes a second.

    chances = np.repeat(cases().chances, answers[0].size)
    layer = linear_model.LogisticRegression(C=1e4, max_iter=100, tol=1e-4, solver="newton-cholesky")
    both = pipeline.make_pipeline(decomposition.PCA(1 - 1e-7, svd_solver="full", whiten=True), layer)
    with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # That 100 rounds could be more.
        both.fit(flat(vectors), answers.ravel(), logisticregression__sample_weight=chances * 20000)
    return lambda given: both.predict(flat(given)).reshape(given.shape[:-1])


def flat(vectors):
    """Return vectors, float (..., numbers), as float64 (samples, numbers)."""
    return vectors.reshape(-1, vectors.shape[-1]).astype(float)


def readable(vectors):
    """Return which sequences, counts, differences the best last layer gets right, and one for the latter."""
    answers, chances = cases().answers, cases().chances
    right = best_layer(vectors, answers)(vectors) == answers
    alone = best_layer(vectors[:, 3], answers[:, 3])(vectors[:, 3]) == answers[:, 3]
    rights = right.all(axis=1), right[:, :3].mean(axis=1), right[:, 3], alone
    return tuple(chances @ one for one in rights)


CHANGES = {
    "nothing": all_weights,
    "all weights equal": lambda one: np.full((1, 4, 4), 0.25, np.float32),
    "each on itself": lambda one: np.eye(4, dtype=np.float32)[None],
    "random queries, as long as the trained ones": all_weights,
}


def readers(model):
    """Change all weights, or all queries, then give the model a new last layer.

    A dict from the change to the shares of counts and differences right, and what `readable` says of them.
    """
    answers, chances, found = cases().answers, cases().chances, {}
    for name, change in CHANGES.items():
        decoding = first_decoding(model, random_query(model, 0) if "random" in name else None)
        vectors = model.self_attention.layer_norm(change(decoding) @ decoding + decoding)
        right = chances @ (model.logits_layer(vectors).numpy().argmax(axis=-1) == answers)
        found[name] = right[:3].mean(), right[3], *readable(vectors.numpy())[1:]
    return found


# --- To what output step 3 attends ----------------------------------------------------------------------


def beside_a_blank(model):
    """Return the weights of output step 3 on 'A', 'B', 'C' over a blank's, and the largest over the least."""
    key = model.key_layer(np.eye(4, dtype=np.float32)[None])
    weights = model.attention(query=model.query, key=key, value=key)[1].numpy()[0, 3]
    return *(weights[1:] / weights[0]), weights.max() / weights.min()


def on_itself(model, query=None):
    """Return the mean weights of a count and of step 3 on themselves; how often a count's is its largest."""
    weights, chances = all_weights(first_decoding(model, query)), cases().chances
    itself = chances @ np.diagonal(weights, axis1=1, axis2=2)
    largest = chances @ (weights.argmax(axis=-1) == np.arange(4))
    return itself[:3].mean(), itself[3], largest[:3].mean()


def attended(decoding):
    """Return to what output step 3 attends where A ≠ B, six numbers, for decodings of all cases.

    The mean weights on the larger count, the smaller, 'C', itself; how often the larger one gets more; the
    least part that it gets, in any case, of what these two get together.
    """
    differ, larger, chances = unequal()
    weights = all_weights(decoding)[differ, 3]
    most, least = (weights[np.arange(len(weights)), one] for one in (larger, 1 - larger))
    means = chances @ np.column_stack([most, least, weights[:, 2:], most > least])
    return *means, (most / (most + least)).min()


def told(model, decoding, weights):
    """Return the answers of output step 3, int (batch,), for its weights, float (batch, 4).

    The decoding, float32 (batch, 4, hidden), is that before self-attention.
    """
    gathered = np.einsum("bk,bkd->bd", weights, decoding) + decoding[:, 3]
    logits = model.logits_layer(model.self_attention.layer_norm(gathered[:, None]))
    return logits.numpy()[:, 0].argmax(axis=-1)


def taken(weights, step, amount):
    """Return weights, (batch, 4), with an amount, (batch,), taken from a step and shared by the others."""
    rows, rest = np.arange(len(weights)), weights.copy()
    rest[rows, step] = 0
    rest *= 1 + (amount / rest.sum(axis=-1))[:, None]
    rest[rows, step] = weights[rows, step] - amount
    return rest


def other_weights(model):
    """Take weight away from what output step 3 attends to, where A ≠ B.

    A dict from the change to the weight taken and the shares of differences right and of the answer 0.
    """
    differ, larger, chances = unequal()
    decoding, difference = first_decoding(model)[differ], cases().answers[differ, 3]
    weights = all_weights(decoding)[:, 3]
    most, least = (weights[np.arange(len(weights)), one] for one in (larger, 1 - larger))
    changes = {
        "nothing": (larger, 0 * most),
        "the smaller count, all": (1 - larger, least),
        "the larger count, as much": (larger, least),
        "itself, all": (3, weights[:, 3]),
        "the larger count, as much as itself has": (larger, np.minimum(weights[:, 3], most)),
        "the larger count, all": (larger, most),
    }
    found = {}
    for name, (step, amount) in changes.items():
        answers = told(model, decoding, taken(weights, step, amount))
        found[name] = chances @ amount, chances @ (answers == difference), chances @ (answers == 0)
    return found


def flipped(model):
    """Flip a quantity in output step 3's own decoding, where A ≠ B, along what the decoding changes with it.

    A − B goes as far to the other side of 0, A + B of its mean; 'C' as far as A − B, in the length of the
    change. A dict from the quantity to the shares where the larger count gets more, and that are right.
    """
    differ, larger, chances = unequal()
    decoding, answers = first_decoding(model)[differ], cases().answers[differ]
    first, second, third, _ = answers.T.astype(float)
    rows, quantities = np.arange(len(answers)), np.column_stack([first - second, first + second, third])
    quantities[:, 1:] -= chances @ quantities[:, 1:]
    root, own = np.sqrt(chances)[:, None], decoding[:, 3]
    slopes = np.linalg.lstsq(root * quantities, root * (own - chances @ own), rcond=None)[0]
    found, lengths = {}, []
    for name, quantity, slope in zip(("A − B", "A + B", "'C'"), quantities.T, slopes, strict=True):
        change = -2 * np.outer(quantity, slope)
        lengths.append(chances @ np.linalg.norm(change, axis=1))
        changed = decoding.copy()
        changed[:, 3] += change * (lengths[0] / lengths[-1] if name == "'C'" else 1)
        weights = all_weights(changed)[:, 3]
        wins = weights[rows, larger] > weights[rows, 1 - larger]
        found[name] = chances @ wins, chances @ (told(model, changed, weights) == answers[:, 3])
    return found


def blind(model):
    """Return the decodings of edit F, in which output step 3 has its bare query, as `first_decoding` does."""
    decoding = first_decoding(model)
    decoding[:, 3] = model.query[0, 3]
    return decoding


def patched(model, decodings=first_decoding):
    """Replace decodings by those of another case, in which one of the two counts is another one.

    The letter that is more is the same in both, and so is the number of 'C'; both were answered right.

    A dict from the count that is another one, and whose decoding is replaced, to how much the answer moves
    per unit of the difference, and to the share in which the other difference comes out.
    """
    decoding, answers, chances, found = decodings(model), cases().answers, cases().chances, {}
    usable = (told(model, decoding, all_weights(decoding)[:, 3]) == answers[:, 3]) & (answers[:, 3] > 0)
    sign = np.sign(answers[:, 0] - answers[:, 1])
    steps_of = {"larger": (sign < 0) * 1, "smaller": (sign > 0) * 1}  # The output step of each.
    for name, step in steps_of.items():
        other, kept = answers[np.arange(286), step], answers[np.arange(286), 1 - step]
        alike = [one[:, None] == one for one in (sign, answers[:, 2], kept)]
        pairs = np.all([*alike, other[:, None] != other, usable[:, None] & usable], axis=0)
        one, two = np.nonzero(pairs)
        often = chances[one] * chances[two] / (pairs @ chances)[one]
        for whose, steps in (("that count's", [step[one]]), ("own", [3]), ("both", [step[one], 3])):
            changed = decoding[one]
            for place in steps:
                changed[np.arange(len(one)), place] = decoding[two, place]
            moved = told(model, changed, all_weights(changed)[:, 3]) - answers[one, 3]
            goal = answers[two, 3] - answers[one, 3]
            slope = np.polyfit(goal, moved, 1, w=np.sqrt(often))[0]
            found[f"{name}; {whose}"] = slope, np.average(moved == goal, weights=often)
    return found


def report(group, before, without):
    """Print it all, for lists of models with --self_att, trained and before the training, and of edit F."""
    head = ["counts right", "difference right", "best last layer: counts", "difference", "one for it alone"]
    measuring.compare_cases("The weights of all output steps are changed", head, group, readers, *["%"] * 5)
    head, forms = ["a count on itself", "output step 3 on itself", "a count's is its largest"], ["{:.2f}"] * 2
    for name, models in (("before the training", before), ("trained", group)):
        pairs = list(enumerate(zip(models, group, strict=True)))
        found = {f"random queries, {size:.0%} of the trained length": [
            on_itself(model, random_query(like, seed, size)) for seed, (model, like) in pairs
        ] for size in SIZES} | {"its own queries": list(map(on_itself, models))}  # fmt: skip
        measuring.compare(f"Self-attention, {name}", head, found, list, *forms, "%")
    head, forms = ["taken away", "difference right", "answers 0"], ["{:.2f}", "%", "%"]
    measuring.compare_cases("Weight of output step 3 taken away, A ≠ B", head, group, other_weights, *forms)
    head = ["the larger count gets more", "right"]
    measuring.compare_cases("Flipped in output step 3's own decoding, A ≠ B", head, group, flipped, "%", "%")
    head, title = ["moves per unit", "the other's difference"], "The count that is another; whose decoding"
    measuring.compare_cases(title, head, group, patched, "{:.2f}", "%")
    measuring.compare_cases(f"F: {title}", head, without, lambda one: patched(one, blind), "{:.2f}", "%")
