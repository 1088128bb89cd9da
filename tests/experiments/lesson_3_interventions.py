"""Changes models of Lesson 3 inside, and asks what they answer then and what a new last layer can read."""

import itertools

import numpy as np

from . import measuring

TASK = 3
CHANGES = {  # What the logits of the encoder and of the decoder are multiplied with.
    "nothing": (1, 1),
    "decoder: equal weights": (1, 0),
    "decoder: logits × 1.5": (1, 1.5),
    "encoder: equal weights": (0, 1),
}


def embed(model, inputs):
    """Return what the encoder gets, float32 (batch, length, hidden): the letters with their marks, if any."""
    encoding = model.embedding(inputs).numpy()
    return encoding if model.positional_encoding is None else encoding + np.array(model.positional_encoding)


def mixture(query, encoding, factor=1):
    """Return the weights, float32 (batch, queries, length), and what they mix of the encoding."""
    weights = np.exp(factor * (query @ encoding.transpose(0, 2, 1)) / encoding.shape[-1] ** 0.5)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights, weights @ encoding


def compute(layer, met, through=None):
    """Return what an encoder layer makes of mixtures; its dense layers may get others, `through`."""
    return layer.layer_norm(layer.contract(layer.expand(met if through is None else through)) + met).numpy()


def encode(model, inputs, factor=1):
    """Return what the decoder gets, float32 (batch, length, hidden), and what the last dense layers got."""
    encoding = met = embed(model, inputs)
    for layer in model.encoder:
        met = layer.attention.layer_norm(mixture(encoding, encoding, factor)[1] + encoding).numpy()
        encoding = compute(layer, met)
    return encoding, met


def decode(model, encoding, factor=1):
    """Return what the last dense layer reads, float32 (batch, hidden)."""
    query = model.query.numpy()
    return model.attention.layer_norm(mixture(query, encoding, factor)[1] + query).numpy()[:, 0]


def right(changed):
    """Return the share of sequences right, of a model, a change of its encoder and one of its decoder."""
    model, encoder, decoder = changed
    data = measuring.fresh(TASK)
    logits = model.logits_layer(decode(model, encode(model, data.inputs, encoder)[0], decoder)).numpy()
    return [(logits.argmax(axis=-1) == data.answers[:, 0]).mean()]


READ = {  # What a new last layer may read, float (batch, numbers), of a model and inputs.
    "the first vector": lambda model, inputs: encode(model, inputs)[0][:, 0],
    "before its dense layers": lambda model, inputs: encode(model, inputs)[1][:, 0],
    "the vector at position 5": lambda model, inputs: encode(model, inputs)[0][:, 5],
    "what the last layer reads": lambda model, inputs: decode(model, encode(model, inputs)[0]),
    "signal and shares": lambda model, inputs: np.hstack([inputs[:, 0], inputs.mean(axis=1)]),
    "signal × shares": lambda _, inputs: (inputs[:, 0, :, None] * inputs.mean(1)[:, None]).reshape(-1, 9),
}


def new_layer(model, what):
    """Return the best last layer for one of READ; it gets 10,000 other sequences."""
    own = measuring.fresh(TASK, seed=2000)
    return measuring.read_again(READ[what](model, own.inputs), own.answers[:, 0])


def read(asked):
    """Return the share of sequences that a new last layer gets right, of a model and a name of READ."""
    data, (model, what) = measuring.fresh(TASK), asked
    return [(new_layer(model, what)(READ[what](model, data.inputs)) == data.answers[:, 0]).mean()]


def exchanges(asked):
    """Put what another sequence gives into vectors of this one, and count which of the two is answered.

    Given are a model and whether it gets a new last layer. Returns a dict from an exchange to two shares of
    the sequences whose counts differ: of answers that are the other count, and of those that are this one.
    """
    model, again = asked
    last = new_layer(model, "what the last layer reads") if again else None
    data, others = measuring.fresh(TASK), measuring.fresh(TASK, seed=3000)
    own, layer = data.answers[:, 0], model.encoder[0]
    letters, signal = others.inputs.copy(), data.inputs.copy()
    letters[:, 0] = data.inputs[:, 0]  # Ten other letters after this signal.
    signal[:, 0] = np.roll(data.inputs[:, 0], 1, axis=-1)  # Another signal before these ten letters.
    theirs, its = ((one[:, 1:] * one[:, :1]).sum(axis=(1, 2)) for one in (letters, signal))
    same, differ = theirs == own, theirs != own

    vectors, mixing = embed(model, data.inputs), embed(model, letters)
    norm = layer.attention.layer_norm
    here, there = (norm(mixture(one, one)[1] + vectors).numpy() for one in (vectors, mixing))
    encoding, moved, asking = compute(layer, here), compute(layer, there), encode(model, signal)[0]
    found, rest = {}, list(range(1, 11))
    for name, which, places, taken, other in (
        ("nothing", differ, [], moved, theirs),
        ("the first letter's mixture", differ, [0], moved, theirs),
        ("the first letter's mixture, of one with the same count", same, [0], moved, theirs),
        ("the mixture of the letter at position 5", differ, [5], moved, theirs),
        ("the mixtures of positions 1 to 10", differ, rest, moved, theirs),
        ("the first's, only for what the dense layers add", differ, [0], compute(layer, here, there), theirs),
        ("the first's, only for what they add it to", differ, [0], compute(layer, there, here), theirs),
        ("the first vector: another signal's", its != own, [0], asking, its),
        ("the vectors of positions 1 to 10: another signal's", its != own, rest, asking, its),
    ):
        changed = encoding.copy()
        changed[:, places] = taken[:, places]
        features = decode(model, changed)
        told = last(features) if last else model.logits_layer(features).numpy().argmax(axis=-1)
        found[name] = (told == other)[which].mean(), (told == own)[which].mean()
    return found


def positions(model):
    """Return the length of the first positional vector, the mean of the others, and cosines of the two."""
    vectors = model.positional_encoding.numpy()[0]
    lengths = np.linalg.norm(vectors, axis=-1)
    cosines = (vectors @ vectors.T) / np.outer(lengths, lengths)
    return lengths[0], lengths[1:].mean(), cosines[0, 1:].mean(), (cosines[1:, 1:].sum() - 10) / 90


def other_positions(model):
    """Change positional vectors: exchange 0 and 5, or put their mean in place of each of 1 to 10.

    Returns the share of answers that then count the letter at position 5, and of those right with the mean.
    """
    data, vectors, told = measuring.fresh(TASK), model.positional_encoding.numpy(), []
    first, fifth = data.answers[:, 0], (data.letters == data.letters[:, 5:6]).sum(axis=1) - 1
    same = vectors.copy()
    same[:, 1:] = vectors[:, 1:].mean(axis=1, keepdims=True)
    for changed in (vectors[:, [5, 1, 2, 3, 4, 0, 6, 7, 8, 9, 10]], same):
        model.positional_encoding.assign(changed)
        told.append(measuring.outputs(model, data.inputs).argmax(axis=-1)[:, 0])
    model.positional_encoding.assign(vectors)
    return (told[0] == fifth)[fifth != first].mean(), (told[1] == first).mean()


def most_next_letters(bag):
    """Return the most next letters right in texts of edit H, from the own letter and the bag, or from all."""
    right = 1 / 33  # The second letter is a guess.
    for length in range(2, 12):
        seen = np.array(list(itertools.product(range(3), repeat=length)))
        counts = (seen[..., None] == np.arange(3)).sum(axis=1)
        known = seen[:, -1] + 3 * (counts @ (1, 12, 144)) if bag else np.arange(len(seen))
        rule = (seen[:, :-1] + seen[:, 1:]) % 3  # What the rule puts behind each pair.
        chance = np.where(rule[:, :-1] == seen[:, 2:], 0.8 + 0.2 / 3, 0.2 / 3).prod(axis=1, keepdims=True) / 9
        random = 0.2 * (length < 11)  # The last answer is always that of the rule.
        table = np.zeros((known.max() + 1, 3))
        np.add.at(table, known, chance * (random / 3 + (1 - random) * np.eye(3)[rule[:, -1]]))
        right += table.max(axis=1).sum() / 11
    return right


def language(asked):
    """Return the share of next letters right of a model and texts of H, and of the rule's in random texts.

    Then how many of nine texts it writes by the rule, and the last place's weight on the last two letters.
    """
    (model, inputs, answers), random, texts = asked, measuring.fresh(TASK), np.argwhere(np.ones((3, 3)))
    while texts.shape[1] < 12:
        texts = np.column_stack([texts, measuring.outputs(model, np.eye(3)[texts])[:, -1].argmax(axis=1)])
    written = ((texts[:, :-2] + texts[:, 1:-1] - texts[:, 2:]) % 3 == 0).all(axis=1).sum()
    rule = (random.letters[:, :-1] + random.letters[:, 1:]) % 3
    told = measuring.outputs(model, random.inputs).argmax(axis=-1)[:, 1:]
    weights = model(inputs)[2][0].numpy()[:, 10, 9:].sum(axis=-1).mean()
    right = measuring.outputs(model, inputs).argmax(axis=-1) == answers
    return right.mean(), (told == rule).mean(), written, weights
