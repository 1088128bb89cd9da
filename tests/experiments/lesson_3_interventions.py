"""Changes models of Lesson 3 inside, and asks what they answer then and what a new last layer can read."""

import numpy as np

from . import measuring

TASK = 3


LOGITS = {  # Changes of an attention's logits, float (batch, queries, 11), before the softmax.
    "as they are": lambda logits: logits,
    "equal": lambda logits: 0 * logits,
    "× 1.5": lambda logits: 1.5 * logits,
    "own place": lambda logits: logits + 1e6 * np.eye(*logits.shape[-2:]),  # The decoder's is the signal.
}
CHANGES = {  # In the encoder and in the decoder.
    "nothing": ("as they are", "as they are"),
    "decoder: equal weights": ("as they are", "equal"),
    "decoder: logits × 1.5": ("as they are", "× 1.5"),
    "decoder: all weight on the first letter": ("as they are", "own place"),
    "encoder: equal weights": ("equal", "as they are"),
    "encoder: all weight of each letter on itself": ("own place", "as they are"),
}


def embed(model, inputs):
    """Return what the encoder gets, float32 (batch, length, hidden): the letters with their marks, if any."""
    encoding = model.embedding(inputs).numpy()
    return encoding if model.positional_encoding is None else encoding + np.array(model.positional_encoding)


def mixture(query, encoding, change="as they are"):
    """Return the weights, float32 (batch, queries, length), and what they mix of the encoding."""
    logits = LOGITS[change](query @ encoding.transpose(0, 2, 1) / encoding.shape[-1] ** 0.5)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    return weights, weights @ encoding


def compute(layer, met, through=None):
    """Return what an encoder layer makes of letters that have met, float32 (batch, length, hidden).

    Its dense layers add what they compute from `through`, where that is given.
    """
    return layer.layer_norm(layer.contract(layer.expand(met if through is None else through)) + met).numpy()


def encode(model, inputs, change="as they are"):
    """Return what the decoder gets, float32 (batch, length, hidden), and what the last dense layers got."""
    encoding = met = embed(model, inputs)
    for layer in model.encoder:
        met = layer.attention.layer_norm(mixture(encoding, encoding, change)[1] + encoding).numpy()
        encoding = compute(layer, met)
    return encoding, met


def decode(model, encoding, change="as they are"):
    """Return what the last dense layer reads, float32 (batch, hidden)."""
    query = model.query.numpy()
    return model.attention.layer_norm(mixture(query, encoding, change)[1] + query).numpy()[:, 0]


def answers(model, features):
    """Return what the last dense layer of a model makes of features, int (batch,)."""
    return model.logits_layer(features).numpy().argmax(axis=-1)


def right(changed):
    """Return the share of sequences right, of a model, a change of its encoder and one of its decoder."""
    model, encoder, decoder = changed
    data = measuring.fresh(TASK)
    features = decode(model, encode(model, data.inputs, encoder)[0], decoder)
    return [(answers(model, features) == data.answers[:, 0]).mean()]


def new_layer(features_of):
    """Return the best last layer for what a function makes of inputs; it gets 20,000 other sequences."""
    own = measuring.fresh(TASK, 20000, seed=2000)
    return measuring.read_again(features_of(own.inputs), own.answers[:, 0])


def read(features_of):
    """Return the share of sequences that such a layer gets right."""
    data = measuring.fresh(TASK)
    return (new_layer(features_of)(features_of(data.inputs)) == data.answers[:, 0]).mean()


READ = [
    "the first vector",
    "before its dense layers",
    "the vector of position 5",
    "what the last layer reads",
]


def readings(model):
    """Return the shares of sequences that a new last layer gets right from each of READ."""
    return [
        read(lambda inputs: encode(model, inputs)[0][:, 0]),
        read(lambda inputs: encode(model, inputs)[1][:, 0]),
        read(lambda inputs: encode(model, inputs)[0][:, 5]),
        read(lambda inputs: decode(model, encode(model, inputs)[0])),
    ]


def shares(inputs, products):
    """Return the signal and the shares of the letters, float (batch, 6), and with products 9 more of those."""
    signal, share = inputs[:, 0], inputs.mean(axis=1)
    found = np.hstack([signal, share])
    every = (signal[:, :, None] * share[:, None]).reshape(len(inputs), -1)
    return np.hstack([found, every]) if products else found


def exchanges(asked_of):
    """Put what another sequence would give into vectors of this one; which count is the answer then?

    Given are a model and whether it gets a new last layer. Returns a dict from an exchange to two shares of the
    sequences where the counts differ: of answers that are the other count, and of those that are this one.
    """
    model, again = asked_of
    last = new_layer(lambda inputs: decode(model, encode(model, inputs)[0])) if again else None
    data, others = measuring.fresh(TASK), measuring.fresh(TASK, seed=3000)
    own, layer = data.answers[:, 0], model.encoder[0]
    mixed, asked = others.inputs.copy(), data.inputs.copy()
    mixed[:, 0] = data.inputs[:, 0]  # Ten other letters after this signal.
    asked[:, 0] = np.roll(data.inputs[:, 0], 1, axis=-1)  # Another signal before these ten letters.
    theirs, of_other = ((one[:, 1:] * one[:, :1]).sum(axis=(1, 2)).astype(int) for one in (mixed, asked))

    vectors, other_vectors = embed(model, data.inputs), embed(model, mixed)
    before = layer.attention.layer_norm(mixture(vectors, vectors)[1] + vectors).numpy()
    after = layer.attention.layer_norm(mixture(other_vectors, other_vectors)[1] + vectors).numpy()
    encoding, moved = compute(layer, before), compute(layer, after)
    all_asked, near = encode(model, asked)[0], abs(theirs - own) <= 2
    found = {}
    for name, places, vectors, other, which in (
        ("nothing", [], moved, theirs, True),
        ("the first letter's mixture", [0], moved, theirs, True),
        ("the same, counts that differ by 1 or 2", [0], moved, theirs, near),
        ("the mixture of the letter at position 5", [5], moved, theirs, True),
        ("the mixtures of positions 1 to 10", range(1, 11), moved, theirs, True),
        ("the first's, for the dense layers only", [0], compute(layer, before, after), theirs, True),
        ("the first's, past the dense layers only", [0], compute(layer, after, before), theirs, True),
        ("the first vector, under another signal", [0], all_asked, of_other, True),
        ("the vectors of positions 1 to 10, under it", range(1, 11), all_asked, of_other, True),
    ):
        changed, which = encoding.copy(), (other != own) & which
        changed[:, list(places)] = vectors[:, list(places)]
        features = decode(model, changed)
        told = (answers(model, features) if last is None else last(features))[which]
        found[name] = (told == other[which]).mean(), (told == own[which]).mean()
    return found


def trace(model, text, other):
    """Print how a model counts in one sequence, and with the first letter's mixture of another, both str."""
    vectors, encoding = embed(model, measuring.spell(TASK, text).inputs), None
    for one in (text, other):
        mixing = embed(model, measuring.spell(TASK, one).inputs)
        weights, mixed = mixture(mixing, mixing)
        moved = compute(model.encoder[0], model.encoder[0].attention.layer_norm(mixed + vectors).numpy())
        encoding = moved if encoding is None else np.concatenate([moved[:, :1], encoding[:, 1:]], axis=1)
        features, picked = decode(model, encoding), mixture(model.query.numpy(), encoding)[0][0, 0]
        total = {letter: f"{weights[0, 0] @ [each == letter for each in one]:.3f}" for letter in "ABC"}
        chances = np.exp(model.logits_layer(features).numpy().astype(float))[0]
        print(f"\n{text}, the first letter's mixture of {one}: {weights[0, 0].round(3).tolist()}, {total}")
        print(f"the decoder's weights {picked.round(3).tolist()}; answer {chances.argmax()},", end=" ")
        print(f"probabilities {(chances / chances.sum()).round(3).tolist()}")


def positions(model):
    """Return the length of the first positional vector, the mean of the others', and their mean cosines.

    Those are of the first with the others, and of the others with each other.
    """
    vectors = model.positional_encoding.numpy()[0]
    lengths = np.linalg.norm(vectors, axis=-1)
    cosines = vectors @ vectors.T / lengths / lengths[:, None]
    rest = cosines[1:, 1:][~np.eye(10, dtype=bool)]
    return lengths[0], lengths[1:].mean(), cosines[0, 1:].mean(), rest.mean()


def other_positions(model):
    """Change the positional vectors of a trained model.

    Returns:
        With the vectors 0 and 5 exchanged, of the sequences where it matters: the shares of answers that
        count the letter at position 5, and the first. With the mean of the ten vectors in place of each of
        1 to 10: the share of all sequences that are right.
    """
    data = measuring.fresh(TASK)
    vectors = model.positional_encoding.numpy()
    fifth = (data.letters == data.letters[:, 5:6]).sum(axis=1) - 1
    differ = fifth != data.answers[:, 0]

    rest = np.repeat(vectors[:, 1:].mean(axis=1, keepdims=True), 10, axis=1)
    told = []
    for changed in (
        vectors[:, [5, 1, 2, 3, 4, 0, 6, 7, 8, 9, 10]],
        np.concatenate([vectors[:, :1], rest], axis=1),
    ):
        model.positional_encoding.assign(changed)
        told.append(measuring.outputs(model, data.inputs).argmax(axis=-1)[:, 0])
    model.positional_encoding.assign(vectors)
    exchanged, same = told[0][differ], told[1] == data.answers[:, 0]
    return (exchanged == fifth[differ]).mean(), (exchanged == data.answers[differ, 0]).mean(), same.mean()
