"""Changes trained models of Lesson 3 inside, and asks what is right then."""

import numpy as np

from . import measuring

TASK = 3


# --- Changes of an attention's logits, float (batch, queries, 11), before the softmax ---------------------


def unchanged(logits):
    """Leave the weights as they are."""
    return logits


def equal(logits):
    """Make all weights equal."""
    return 0 * logits


def sharper(logits):
    """Make large weights larger and small ones smaller."""
    return 1.5 * logits


def own_place(logits):
    """Let query i look at letter i alone; the decoder's only query, at the signal."""
    return logits + 1e6 * np.eye(*logits.shape[-2:])


CHANGES = {  # What is changed, in the encoder and in the decoder.
    "nothing": (unchanged, unchanged),
    "decoder: all weights equal": (unchanged, equal),
    "decoder: logits × 1.5": (unchanged, sharper),
    "decoder: all on the signal": (unchanged, own_place),
    "encoder: all weights equal": (equal, unchanged),
    "encoder: each letter on itself": (own_place, unchanged),
}


def mix(attention, query, encoding, change):
    """Return what an Attention makes of encodings, float (batch, 11, hidden), with changed logits."""
    logits = change(query @ encoding.transpose(0, 2, 1) / encoding.shape[-1] ** 0.5)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return attention.layer_norm((weights @ encoding + query).astype(np.float32)).numpy()


def decodings(model, inputs, encoder=unchanged, decoder=unchanged):
    """Return what the last dense layer of a model reads, float32 (batch, hidden), under changes."""
    encoding = model.embedding(inputs).numpy()
    if model.positional_encoding is not None:
        encoding = encoding + model.positional_encoding.numpy()
    for layer in model.encoder:
        encoding = mix(layer.attention, encoding, encoding, encoder)
        encoding = layer.layer_norm(layer.contract(layer.expand(encoding)) + encoding).numpy()
    return mix(model.attention, model.query.numpy(), encoding, decoder)[:, 0]


def read_again(features, answers, rounds=20, size=200, rate=0.01):
    """Return a dense layer, float (numbers + 1, 11), the bias last, trained with Adam at a falling rate.

    Features are float (samples, numbers + 1), the last one a 1; answers int (samples, 1).
    """
    weights, wanted = np.zeros((features.shape[1], 11)), np.eye(11)[answers[:, 0]]
    mean, square, step = 0, 0, 0
    for start in list(range(0, len(features), size)) * rounds:
        batch, step = slice(start, start + size), step + 1
        logits = features[batch] @ weights
        likely = np.exp(logits - logits.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        gradient = features[batch].T @ (likely - wanted[batch]) / size
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        change = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-7)
        weights = weights - rate * (1 - step * size / len(features) / rounds) * change
    return weights


def right_and_read_again(model, encoder, decoder):
    """Return the shares of sequences right under changes: as it is, and with the last layer trained again.

    It alone is trained, on 20,000 sequences of its own. What it reads is first brought to the same spread in
    all directions: such a layer can compute the same, and small differences are learnt as fast as large ones.
    """
    data, own = measuring.fresh(TASK), measuring.fresh(TASK, 20000, seed=2000)
    features, own_features = (decodings(model, one.inputs, encoder, decoder) for one in (data, own))
    middle = own_features.mean(axis=0)
    _, spreads, axes = np.linalg.svd(own_features - middle, full_matrices=False)
    seen = spreads > 1e-4 * spreads[0]  # What is smaller is rounding.
    turn = axes[seen].T / spreads[seen] * len(own_features) ** 0.5
    turned, own_turned = (
        np.pad((one - middle) @ turn, [(0, 0), (0, 1)], constant_values=1) for one in (features, own_features)
    )
    told = [model.logits_layer(features).numpy(), turned @ read_again(own_turned, own.answers)]
    return [(logits.argmax(axis=1) == data.answers[:, 0]).mean() for logits in told]


# --- Positional vectors -----------------------------------------------------------------------------------


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

    def answer(changed):
        """Return the answers, int (batch,), with these vectors, float32 (1, 11, hidden)."""
        model.positional_encoding.assign(changed)
        found = measuring.outputs(model, data.inputs).argmax(axis=-1)[:, 0]
        model.positional_encoding.assign(vectors)
        return found

    told = answer(vectors[:, [5, 1, 2, 3, 4, 0, 6, 7, 8, 9, 10]])[differ]
    rest = np.repeat(vectors[:, 1:].mean(axis=1, keepdims=True), 10, axis=1)
    right = answer(np.concatenate([vectors[:, :1], rest], axis=1)) == data.answers[:, 0]
    return (told == fifth[differ]).mean(), (told == data.answers[differ, 0]).mean(), right.mean()
