"""What a trained model of Lesson 3 holds, and what becomes of its answers when its inside is changed."""

import numpy as np

from . import measuring

TASK = 3

# --- The model taken apart ------------------------------------------------------------------------------


def encode(model, inputs):
    """Return what the encoder makes of the letters, float32 (batch, length, hidden); not for edit D."""
    encoding = model.embedding(inputs)
    if model.positional_encoding is not None:
        encoding += model.positional_encoding[:, : inputs.shape[1]]
    for encoder_layer in model.encoder:
        encoding, _ = encoder_layer(encoding)
    return encoding.numpy()


def decoder_weights(model, encoding):
    """Return the weights of the output step, float32 (batch, length)."""
    return model.attention(query=model.query, key=encoding, value=encoding)[1].numpy()[:, 0]


def decode(model, encoding, weights=None):
    """Return the answers, int (batch,), to encodings, with the weights (batch, length) or those they give."""
    weights = decoder_weights(model, encoding) if weights is None else weights
    mixture = np.einsum("bk,bkd->bd", weights, encoding)[:, None] + model.query
    return model.logits_layer(model.attention.layer_norm(mixture)).numpy()[:, 0].argmax(axis=-1)


# --- What the encodings hold ----------------------------------------------------------------------------


def held_by_encodings(model):
    """Return what linear fits read from encodings, five floats.

    R² of the answer from the signal's encoding, from that of letter 5 if it is like the signal and if not,
    each the mean over fits for one signal and one letter 5; R² of letter 5's count from its encoding, the
    least of three fits, one for each letter; how often the signal's letter is read from letter 5's encoding.
    """
    data = measuring.fresh(TASK, 20000)
    encoding, answers = encode(model, data.inputs), data.answers[:, 0]
    signal, fifth = data.letters[:, 0], data.letters[:, 5]
    count = (data.letters == data.letters[:, 5:6]).sum(axis=-1)
    first, like, other, own, known = [], [], [], [], []
    for letter in range(3):
        first.append(measuring.linear_fit(encoding[signal == letter, 0], answers[signal == letter]))
        own.append(measuring.linear_fit(encoding[fifth == letter, 5], count[fifth == letter]))
        known.append(told(encoding[fifth == letter, 5], signal[fifth == letter]))
        for there in range(3):
            cases = (signal == letter) & (fifth == there)
            (like if there == letter else other).append(
                measuring.linear_fit(encoding[cases, 5], answers[cases])
            )
    return np.mean(first), np.mean(like), np.mean(other), min(own), np.mean(known)


def told(encoding, letters):
    """Return how often a linear fit tells the letter, int (batch,), from an encoding, float (batch, hidden).

    Fitted on one half and tested on the other.
    """
    features = np.column_stack([encoding, np.ones(len(encoding))]).astype(float)
    half = len(letters) // 2
    weights = np.linalg.lstsq(features[:half], np.eye(3)[letters[:half]], rcond=1e-5)[0]
    return ((features[half:] @ weights).argmax(axis=-1) == letters[half:]).mean()


def position_in_encoding(model):
    """Return R² of a linear fit of a letter's position, 0 to 10, to its encoding, one fit for each letter.

    The result is the least of the three.
    """
    data = measuring.fresh(TASK, 5000)
    encoding = encode(model, data.inputs)
    positions = np.broadcast_to(np.arange(data.letters.shape[1]), data.letters.shape)
    groups = [data.letters == letter for letter in range(3)]
    return min(measuring.linear_fit(encoding[group], positions[group]) for group in groups)


def untrained(module, settings, seed):
    """Return a model of this program with these settings, a dict, as it is before its training."""
    module.tf.keras.utils.set_random_seed(seed)
    return module.AttentionModel(**settings)


def right_by_run(model):
    """Return the shares of sequences right with 1, 2, and 3 or more equal letters at the beginning."""
    data = measuring.fresh(TASK)
    right = measuring.outputs(model, data.inputs).argmax(axis=-1)[:, 0] == data.answers[:, 0]
    length = np.cumprod(data.letters == data.letters[:, :1], axis=1).sum(axis=1).clip(max=3)
    return [right[length == one].mean() for one in (1, 2, 3)]


# --- Other weights, other encodings ---------------------------------------------------------------------


def used_by_the_encoder(model):
    """Change what makes the signal in a trained model (with --pos_enc).

    Returns:
        Of the answers that were right, the shares that stay right with equal weights in the encoder: in all
        rows, in the signal's row, and in all other rows. Then, with the positional vectors 0 and 5 exchanged,
        of the inputs where it matters: the shares of answers to letter 5 and to the first letter.
    """
    data = measuring.fresh(TASK)
    (layer,) = model.encoder
    embedding = (model.embedding(data.inputs) + model.positional_encoding).numpy()
    weights = layer.attention(query=embedding, key=embedding, value=embedding)[1].numpy()

    def answer(changed):
        """Return the answers when the encoder has these weights, float32 (batch, 11, 11)."""
        encoding = layer.attention.layer_norm(changed @ embedding + embedding)
        return decode(model, layer.layer_norm(layer.contract(layer.expand(encoding)) + encoding))

    right = answer(weights) == data.answers[:, 0]
    first, rest, even = weights.copy(), weights.copy(), np.full_like(weights, 1 / 11)
    first[:, 0], rest[:, 1:] = even[:, 0], even[:, 1:]
    found = [(answer(changed) == data.answers[:, 0])[right].mean() for changed in (even, first, rest)]
    order = [5, 1, 2, 3, 4, 0, 6, 7, 8, 9, 10]
    embedding = (model.embedding(data.inputs) + model.positional_encoding.numpy()[:, order]).numpy()
    told = answer(layer.attention(query=embedding, key=embedding, value=embedding)[1].numpy())
    fifth = (data.letters == data.letters[:, 5:6]).sum(axis=1) - 1
    differ = fifth != data.answers[:, 0]
    return *found, (told == fifth)[differ].mean(), (told == data.answers[:, 0])[differ].mean()


def changed_weights(model):
    """Return what changed decoder weights do to right answers: the fraction still right, the mean error.

    A dict from what is changed.
    """
    data = measuring.fresh(TASK)
    encoding = encode(model, data.inputs)
    right = decode(model, encoding) == data.answers[:, 0]
    encoding, answers, letters = encoding[right], data.answers[right, 0], data.letters[right]
    weights = decoder_weights(model, encoding)
    only = np.zeros_like(weights)
    only[:, 0] = 1
    none, like, other = weights.copy(), weights.copy(), weights.copy()
    same = letters == letters[:, :1]
    none[:, 0] = 0
    like[:, 1:][same[:, 1:]] = 0
    other[~same] = 0
    changes = {
        "none changed": weights,
        "all equal": np.full_like(weights, 1 / 11),
        "all on the signal": only,
        "none on the signal": none / none.sum(axis=1, keepdims=True),
        "all on letter 5": np.roll(only, 5, axis=1),
        "none on letters like the signal, but the signal": like / like.sum(axis=1, keepdims=True),
        "none on letters that differ from the signal": other / other.sum(axis=1, keepdims=True),
    }
    found = {name: decode(model, encoding, changed) for name, changed in changes.items()}
    return {name: ((one == answers).mean(), abs(one - answers).mean()) for name, one in found.items()}


def other_views(model):
    """Change what single letters see in a model that was trained with a causal mask.

    Only sequences that were right, in which the first letter differs from the second and from letter 5,
    letter 4 from letter 5, and the count of the first from that of letter 5.

    Returns:
        A dict from what is changed to the share still right, and the share that counts letter 5's kind.
    """
    data = measuring.fresh(TASK)
    first, second, fourth, fifth = data.letters[:, [0, 1, 4, 5]].T
    kind = (data.letters == fifth[:, None]).sum(axis=1) - 1
    chosen = (first != second) & (first != fifth) & (fourth != fifth) & (kind != data.answers[:, 0])
    inputs, answers, kind = data.inputs[chosen], data.answers[chosen, 0], kind[chosen]
    causal = np.tril(np.ones((11, 11), bool))
    views = {"none changed": causal, "the first sees the second, too": causal.copy()}
    views |= {
        "letter 5 sees only itself": causal.copy(),
        "letter 5 sees only itself and letter 4": causal.copy(),
    }
    views["the first sees the second, too"][0, 1] = True
    views["letter 5 sees only itself"][5, :5] = False
    views["letter 5 sees only itself and letter 4"][5, :4] = False

    def answer(seen):
        """Return the answers when letter i sees letter j where seen, bool (11, 11), is true."""
        encoding = model.embedding(inputs).numpy()
        for layer in model.encoder:
            logits = np.where(seen, encoding @ encoding.transpose(0, 2, 1) / encoding.shape[-1] ** 0.5, -1e9)
            weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            encoding = layer.attention.layer_norm(weights @ encoding + encoding)
            encoding = layer.layer_norm(layer.contract(layer.expand(encoding)) + encoding).numpy()
        return decode(model, encoding)

    right = answer(causal) == answers
    found = {name: answer(seen)[right] for name, seen in views.items()}
    return {
        name: ((one == answers[right]).mean(), (one == kind[right]).mean()) for name, one in found.items()
    }


def donors(own, generator, allowed):
    """Return for each input another that is allowed, int (batch,), -1 where there is none.

    Args:
        own: int (batch, facts), what decides about that.
        generator: numpy.random.Generator.
        allowed: a function of facts (batch, facts) and of as many of possible donors to bool (batch,).
    """
    chosen = np.full(len(own), -1)
    for _ in range(100):
        if (chosen >= 0).all():
            break
        candidates = generator.permutation(len(own))
        fits = (chosen < 0) & allowed(own, own[candidates])
        chosen[fits] = candidates[fits]
    return chosen


def patch_signal(model, others, anew=False, equal=False):
    """Replace encodings, after the encoder, by those of an input with the same signal and another answer.

    Args:
        model: an AttentionModel of Task 3.
        others: whether the ten other encodings are replaced, or the signal's.
        anew: whether the decoder's weights are computed from the changed encodings, or kept.
        equal: whether all of the decoder's weights are equal, as in a model that was trained so.

    Returns:
        The share in which the own answer comes out, that of the other input, and by how much the answer moves
        for each unit of the difference between the two.
    """
    data = measuring.fresh(TASK)
    encoding, answers, signal = encode(model, data.inputs), data.answers[:, 0], data.letters[:, 0]
    even = np.full((len(encoding), 11), 1 / 11, np.float32) if equal else None
    right = decode(model, encoding, even) == answers
    encoding, answers, signal = encoding[right], answers[right], signal[right]
    facts = np.column_stack([answers, signal])

    def allowed(own, other):
        return (own[:, 0] != other[:, 0]) & (own[:, 1] == other[:, 1])

    chosen = donors(facts, np.random.default_rng(0), allowed)
    found = chosen >= 0
    other, given = encoding[chosen[found]], answers[chosen[found]]
    encoding, answers = encoding[found], answers[found]
    patched = encoding.copy()
    places = slice(1, None) if others else slice(1)
    patched[:, places] = other[:, places]
    weights = even[: len(encoding)] if equal else None if anew else decoder_weights(model, encoding)
    after = decode(model, patched, weights)
    slope = np.polyfit(given - answers, after - answers, 1)[0]
    return (after == answers).mean(), (after == given).mean(), slope
