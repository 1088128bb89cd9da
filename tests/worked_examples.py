"""What the lessons compute by hand, computed once: their texts and their pictures are compared with it."""

import collections

import numpy as np
from scipy import special

UNIT = np.eye(4)
# All numbers of one query's attention: keys (keys, depth), values (keys, numbers).
Attention = collections.namedtuple("Attention", "query keys values products logits exps weights mean")


def attend(query, keys, values=None):
    """Return the Attention of a query; without values, the keys are the values, too."""
    query, keys = np.array(query, dtype=float), np.array(keys, dtype=float)
    values = keys if values is None else np.array(values, dtype=float)
    products = keys @ query
    logits = products / len(query) ** 0.5
    weights = special.softmax(logits)
    return Attention(query, keys, values, products, logits, np.exp(logits), weights, weights @ values)


def beside(attention, *columns):
    """Return what belongs to each key, float (keys, numbers), from the names of an Attention's arrays."""
    return np.column_stack([getattr(attention, column) for column in columns])


def one_hot(text, alphabet=" ABC"):
    """Return the vectors of the letters of a text, float (letters, letters of the alphabet)."""
    return np.eye(len(alphabet))[[alphabet.index(letter) for letter in text]]


# Lesson 1: Ben's pet.
BEN = attend(2.8 * UNIT[1], UNIT)

# Lesson 2: Anna, slept, she.
WORDS = np.array([(1, 0, 1), (0, 1, 0), (1, 0, 0)])
W_Q = np.array([(4, 0), (3, 0), (-4, 2)])
W_K = np.array([(0, 0), (0, 1), (1, 0)])
W_V = np.array([(0, 0, 0), (0, 1, 0), (0, 0, 1)])
ANNA, SLEPT, SHE = (attend(query, WORDS @ W_K, WORDS @ W_V) for query in WORDS @ W_Q)
NEW_WORDS = WORDS + [ANNA.mean, SLEPT.mean, SHE.mean]

# Lesson 3: AB and BA, without and with the vectors of their positions.
WITHOUT = [attend(2.8 * UNIT[2], UNIT[order]) for order in ([0, 1], [1, 0])]
WITH = [attend(2.8 * UNIT[2], UNIT[order] + UNIT[2:]) for order in ([0, 1], [1, 0])]

# The transformer page: a question and two pairs, three heads, and the mask.
PAIRS = UNIT[:2] + UNIT[2:]
ANNAS, BENS = (attend(4 * query, PAIRS[:, :2], PAIRS[:, 2:]) for query in np.eye(2))
BOTH = attend((4, 4), PAIRS[:, :2], PAIRS[:, 2:])


# A recurrent encoder has these states; one query of its decoder for each word.
STATES = np.array([(1, 0, 0), (0.5, 1, 0), (0.25, 0.5, 1)])
DECODER = [attend(query, STATES) for query in ((4, -4, 0), (0, 0, 4), (0, 4, -4))]


def mask(text):
    """Return the logits of a text's letters, 1.4 where they are equal, then with a mask, and the weights."""
    logits = 1.4 * np.equal.outer(list(text), list(text))
    masked = np.where(np.tri(len(text)), logits, -np.inf)
    return logits, masked, special.softmax(masked, axis=1)
