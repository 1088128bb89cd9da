"""Changes models of Lesson 3 inside, and asks what they answer then."""

import numpy as np

from . import formula, measuring

TASK = 3
FACTORS = {  # What the logits of an attention are multiplied by.
    "nothing": {},
    "decoder: equal weights": {"attention": 0},
    "encoder: equal weights": {"encoder_layer_1/attention": 0},
}
FIRST_MEAN = "the first letter's weighted mean"


def right_with(model, factors):
    """Return the fraction of sequences right if factors, by names of attentions, multiply the logits."""
    data = measuring.new_data(TASK)
    chances = formula.of(model, factors).lesson(data.inputs)
    return (chances.argmax(axis=-1) == data.answers).mean()


# --- What another sequence gives ------------------------------------------------------------------------


def patched(model):
    """Put what another sequence gives into vectors of this one, and count which of the two is answered.

    The model has one encoder layer. Returns a dict from what is taken to two fractions of the sequences in
    which the two counts differ: of answers that are the other count, and of those that are this one.
    """
    reference = formula.of(model)
    data, others = measuring.new_data(TASK), measuring.new_data(TASK, seed=3000)
    other_letters = others.inputs.copy()
    other_letters[:, 0] = data.inputs[:, 0]  # Ten other letters after this signal.
    own, of_letters = data.answers, measuring.data_of(TASK, other_letters).answers

    layer, vectors, foreign = "encoder_layer_1", reference.embed(data.inputs), reference.embed(other_letters)
    foreign_means = reference.mix(f"{layer}/attention", foreign, foreign, foreign)
    there = reference.normalize(f"{layer}/attention/layer_norm", foreign_means + vectors)
    encoded = reference.encode(vectors)
    from_letters = reference.feed_forward(layer, there)  # The residual stayed.

    def fractions(positions, cases):
        """Return the two fractions with the other sequence's weighted means at these positions."""
        changed = encoded.copy()
        changed[:, positions] = from_letters[:, positions]
        predicted = reference.answers(reference.decode(changed))
        return (predicted == of_letters)[cases].mean(), (predicted == own)[cases].mean()

    differ = of_letters[:, 0] != own[:, 0]
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
    data, reference = measuring.new_data(TASK), formula.of(model)
    vectors = reference.arrays["positional_encoding"]
    fifth = (data.letters == data.letters[:, 5:6]).sum(axis=1) - 1
    swapped, mean = vectors.copy(), vectors.copy()
    swapped[:, [0, 5]] = vectors[:, [5, 0]]
    mean[:, 1:] = vectors[:, 1:].mean(axis=1, keepdims=True)
    answers = []
    for changed in (swapped, mean):
        reference.arrays["positional_encoding"] = changed
        answers.append(reference.lesson(data.inputs).argmax(axis=-1)[:, 0])
    differ = fifth != data.answers[:, 0]
    return (answers[0] == fifth)[differ].mean(), (answers[1] == data.answers[:, 0]).mean()
