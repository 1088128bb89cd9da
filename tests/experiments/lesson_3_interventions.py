"""Changes trained models of Lesson 3 inside, and asks what is right then."""

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
    "decoder: all weights equal": ("as they are", "equal"),
    "decoder: logits × 1.5": ("as they are", "× 1.5"),
    "decoder: all on the signal": ("as they are", "own place"),
    "encoder: all weights equal": ("equal", "as they are"),
    "encoder: each letter on itself": ("own place", "as they are"),
}


def mix(attention, query, encoding, change):
    """Return what an Attention makes of encodings, float (batch, 11, hidden), with changed logits."""
    logits = LOGITS[change](query @ encoding.transpose(0, 2, 1) / encoding.shape[-1] ** 0.5)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return attention.layer_norm((weights @ encoding + query).astype(np.float32)).numpy()


def decodings(model, inputs, encoder, decoder):
    """Return what the last dense layer of a model reads, float32 (batch, hidden), under changes."""
    encoding = model.embedding(inputs).numpy()
    if model.positional_encoding is not None:
        encoding = encoding + model.positional_encoding.numpy()
    for layer in model.encoder:
        encoding = mix(layer.attention, encoding, encoding, encoder)
        encoding = layer.layer_norm(layer.contract(layer.expand(encoding)) + encoding).numpy()
    return mix(model.attention, model.query.numpy(), encoding, decoder)[:, 0]


def right_and_read_again(changed):
    """Return the shares of sequences right under changes: as it is, and with the last layer trained again.

    Given are a model, a change of its encoder and one of its decoder. The layer gets 20,000 other sequences.
    """
    model, encoder, decoder = changed
    data, own = measuring.fresh(TASK), measuring.fresh(TASK, 20000, seed=2000)
    features, own_features = (decodings(model, one.inputs, encoder, decoder) for one in (data, own))
    again = measuring.read_again(own_features, own.answers[:, 0])(features)
    told = model.logits_layer(features).numpy().argmax(axis=-1)
    return [(one == data.answers[:, 0]).mean() for one in (told, again)]


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
    answers = []
    for changed in (
        vectors[:, [5, 1, 2, 3, 4, 0, 6, 7, 8, 9, 10]],
        np.concatenate([vectors[:, :1], rest], axis=1),
    ):
        model.positional_encoding.assign(changed)
        answers.append(measuring.outputs(model, data.inputs).argmax(axis=-1)[:, 0])
    model.positional_encoding.assign(vectors)
    told, right = answers[0][differ], answers[1] == data.answers[:, 0]
    return (told == fifth[differ]).mean(), (told == data.answers[differ, 0]).mean(), right.mean()
