"""Changes models of Lesson 3 inside, and asks what they answer then."""

import numpy as np

from . import formula, measuring

TASK = 3
FACTORS = {  # What the logits of the encoder and of the decoder are multiplied with.
    "nothing": (1, 1),
    "decoder: equal weights": (1, 0),
    "encoder: equal weights": (0, 1),
}
FIRST_MEAN = "the first letter's weighted mean"


# --- A model, part by part ------------------------------------------------------------------------------


def embed(model, inputs):
    """Return what the encoder gets, float32 (batch, length, hidden): letters plus positions, if any."""
    vectors = model.embedding(inputs).numpy()
    return vectors if model.positional_encoding is None else vectors + model.positional_encoding.numpy()


def attend(layer, vectors, factor=1):
    """Return the vectors after an encoder layer's self-attention, its residual and its layer norm."""
    means, _ = formula.attend(vectors, vectors, vectors, factor)
    return layer.attention.layer_norm(means + vectors).numpy()


def dense(layer, vectors):
    """Return what an encoder layer's dense layers make of vectors, with residual and layer norm."""
    return layer.layer_norm(layer.contract(layer.expand(vectors)) + vectors).numpy()


def encode(model, inputs, factor=1):
    """Return what the decoder gets, float32 (batch, length, hidden)."""
    vectors = embed(model, inputs)
    for layer in model.encoder:
        vectors = dense(layer, attend(layer, vectors, factor))
    return vectors


def decode(model, vectors, factor=1):
    """Return what the last dense layer reads, float32 (batch, hidden)."""
    query = model.query.numpy()
    means, _ = formula.attend(query, vectors, vectors, factor)
    return model.attention.layer_norm(means + query).numpy()[:, 0]


def right_with(model, encoder, decoder):
    """Return the fraction of sequences right if factors multiply the logits of encoder and decoder."""
    data = measuring.new_data(TASK)
    vectors = encode(model, data.inputs, encoder)
    logits = model.logits_layer(decode(model, vectors, decoder)).numpy()
    return (logits.argmax(axis=-1) == data.answers[:, 0]).mean()


# --- A new last layer -----------------------------------------------------------------------------------


def before_last_layer(model, inputs):
    """Return what the last layer of a model reads, float (batch, hidden)."""
    return decode(model, encode(model, inputs))


def new_last_layer(model):
    """Return the best last layer for a model, fitted to 10,000 other sequences."""
    others = measuring.new_data(TASK, seed=2000)
    return measuring.probe(before_last_layer(model, others.inputs), others.answers[:, 0])


# --- What another sequence gives ------------------------------------------------------------------------


def patched(model, new_layer=False):
    """Put what another sequence gives into vectors of this one, and count which of the two is answered.

    Args:
        model: a model with one encoder layer.
        new_layer: bool, whether it gets a new last layer, fitted before anything is changed.

    Returns:
        A dict from what is taken to two fractions of the sequences in which the two counts differ: of
        answers that are the other count, and of those that are this one.
    """
    last = new_last_layer(model) if new_layer else None
    data, others = measuring.new_data(TASK), measuring.new_data(TASK, seed=3000)
    other_letters = others.inputs.copy()
    other_letters[:, 0] = data.inputs[:, 0]  # Ten other letters after this signal.
    own = data.answers[:, 0]
    of_letters = measuring.data_of(TASK, other_letters).answers[:, 0]

    layer, vectors = model.encoder[0], embed(model, data.inputs)
    foreign = embed(model, other_letters)
    foreign_means, _ = formula.attend(foreign, foreign, foreign)
    here = attend(layer, vectors)
    there = layer.attention.layer_norm(foreign_means + vectors).numpy()  # The residual stays.
    encoded, from_letters = dense(layer, here), dense(layer, there)

    def fractions(positions, cases):
        """Return the two fractions with the other sequence's weighted means at these positions."""
        changed = encoded.copy()
        changed[:, positions] = from_letters[:, positions]
        features = decode(model, changed)
        predicted = last(features) if last else model.logits_layer(features).numpy().argmax(axis=-1)
        return (predicted == of_letters)[cases].mean(), (predicted == own)[cases].mean()

    differ = of_letters != own
    return {
        "nothing": fractions([], differ),
        FIRST_MEAN: fractions([0], differ),
        f"{FIRST_MEAN}, of one with the same count": fractions([0], ~differ),
        "the weighted mean of position 5": fractions([5], differ),
        "the weighted means of positions 1 to 10": fractions(list(range(1, 11)), differ),
    }


# --- The positional vectors -----------------------------------------------------------------------------


def positions(model):
    """Return the length of the first positional vector, and the mean length of the others."""
    lengths = np.linalg.norm(model.positional_encoding.numpy()[0], axis=-1)
    return lengths[0], lengths[1:].mean()


def other_positions(model):
    """Change positional vectors: swap 0 and 5, or put their mean in place of each of 1 to 10.

    Returns the fraction of answers that then count letter 5, and of those that are right with the mean.
    """
    data, vectors = measuring.new_data(TASK), model.positional_encoding.numpy()
    fifth = (data.letters == data.letters[:, 5:6]).sum(axis=1) - 1
    swapped, mean = vectors.copy(), vectors.copy()
    swapped[:, [0, 5]] = vectors[:, [5, 0]]
    mean[:, 1:] = vectors[:, 1:].mean(axis=1, keepdims=True)
    answers = []
    for changed in (swapped, mean):
        model.positional_encoding.assign(changed)
        answers.append(measuring.logits_of(model, data.inputs).argmax(axis=-1)[:, 0])
    model.positional_encoding.assign(vectors)
    differ = fifth != data.answers[:, 0]
    return (answers[0] == fifth)[differ].mean(), (answers[1] == data.answers[:, 0]).mean()
