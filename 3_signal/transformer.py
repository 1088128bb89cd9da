"""The last page: a transformer that looks things up.

A text introduces some names, each with its pet. Then it says one of these names again, and again one of them,
and each time its pet follows. Here Ben is the first question, and `cat` the answer:

    Anna dog Ben cat Cleo owl Dan hen Ben cat Dan hen Anna dog Dan hen

The model is a language model. It reads such texts, and at each place it learns which word comes next.
"""

# /// script
# requires-python = ">=3.9"
# dependencies = ["matplotlib>=3.8,<4", "numpy>=1.26,<3", "tensorflow>=2.16.1,<3"]
# ///

import argparse
import atexit
import hashlib
import json
import math
import os
import pathlib
import sys

# --- The flags ------------------------------------------------------------------------

DEFAULTS = {"pairs": 4, "hidden": 32, "layers": 2, "heads": 4}  # For --train.
HERE = pathlib.Path(__file__).parent
ABOUT = "A model that looks things up. Begin with --train --test --plot. Defaults are in brackets."
parser = argparse.ArgumentParser(
    "transformer.py", usage=argparse.SUPPRESS, description=ABOUT, allow_abbrev=False
)
parser.formatter_class = argparse.MetavarTypeHelpFormatter
flag = parser.add_argument  # Flags of DEFAULTS stay None: --test must tell "not given" from "given".
flag("--train", action="store_true", help="train a model and save it")
flag("--test", action="store_true", help="show what the saved model answers, how, and how well")
flag("--plot", action="store_true", help="draw what --train and --test did; alone: --test --plot")
flag("--steps", type=int, default=1500, help="training steps (%(default)s)")
flag("--batchsize", type=int, default=100, help="texts per training step (%(default)s)")
flag("--lr", type=float, default=1e-3, help="Adam's learning rate (%(default)s)")
flag("--pairs", type=int, choices=range(1, 9), metavar="N", help=f"most in a text ({DEFAULTS['pairs']})")
flag("--hidden", type=int, help=f"numbers in a word's vector ({DEFAULTS['hidden']})")
flag("--layers", type=int, help=f"blocks, one after the other ({DEFAULTS['layers']})")
flag("--heads", type=int, help=f"heads of each attention ({DEFAULTS['heads']})")
flag("--savepath", type=pathlib.Path, default=HERE / "models", help="for the model (models/ beside this)")
flag("--plotpath", type=pathlib.Path, default=HERE / "plots", help="for the images (plots/ beside this)")
flag("--print_every", type=int, default=50, help="steps per loss line; fewer show sooner (%(default)s)")
flag("--save_every", type=int, default=500, help="training steps per checkpoint (%(default)s)")
flag("--seed", type=int, help="makes a run repeatable (none)")
flag("--input", type=str, metavar="TEXT", help='the text, such as "Anna dog Ben cat Anna" (random)')


def parse_arguments(argv=None):
    """Return the flags, and the settings of a model to train; refuse what no model can do."""
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.error(f'unrecognized: {" ".join(unknown)}; put a text in quotes: --input "Ben cat Ben"')
    if not (arguments.train or arguments.test or arguments.plot):
        parser.exit(2, parser.format_help())
    arguments.test = arguments.test or not arguments.train  # --plot alone means --test --plot.
    for name, value in vars(arguments).items():
        least = {"seed": 0, "lr": 1e-9}.get(name, 1)
        if type(value) in (int, float) and not least <= value < 2**32:
            parser.error(f"argument --{name}: must be at least {least} and below 2**32, not {value}")
    arguments.plotpath = arguments.plotpath.expanduser()  # No shell does it in --plotpath=~/plots.
    arguments.path = arguments.savepath.expanduser() / "transformer.npz"
    given = {name: vars(arguments)[name] for name in DEFAULTS if vars(arguments)[name] is not None}
    arguments.settings = DEFAULTS | given
    check(arguments, arguments.settings if arguments.train else {"pairs": 8} | given)
    return arguments


def check(arguments, settings):
    """Refuse flags that contradict the settings of a model, a dict, or each other."""
    for name, value in settings.items():
        if vars(arguments)[name] not in (None, value):
            parser.error(f"--{name} is {value} in {arguments.path}; leave it out, or change --savepath")
    if settings.get("hidden", 0) % settings.get("heads", 1):
        parser.error(f"--hidden {settings['hidden']} cannot be divided among --heads {settings['heads']}")
    if arguments.input is not None:
        read(arguments.input, settings["pairs"])


# --- The data -------------------------------------------------------------------------

NAMES = "Anna Ben Cleo Dan Eva Finn Gus Hana Ian Jill Kai Lena Max Nora Omar Pia".split()
PETS = "dog cat owl hen pig rat frog goat fish duck crab toad newt pony lamb mole".split()


def vocabulary(pairs):
    """Return the words of texts with at most this many pairs: 2 * pairs names, then 2 * pairs pets."""
    return NAMES[: 2 * pairs] + PETS[: 2 * pairs]


def next_batch(generator, pairs, *shape, introduced=None):
    """Return random texts of 4 * pairs words, int32 (*shape, 4 * pairs), as places in vocabulary(pairs).

    A text introduces 1 to `pairs` pairs, each number equally often, or as many as `introduced` says.
    """
    if introduced is None:
        introduced = generator.integers(1, pairs + 1, size=(*shape, 1))
    names = np.broadcast_to(np.arange(2 * pairs), (*shape, 2 * pairs))
    names = generator.permuted(names, axis=-1)  # All different.
    pets = generator.integers(2 * pairs, 4 * pairs, size=names.shape)  # Some may be the same.
    turns = np.arange(2 * pairs)
    questions = generator.integers(introduced, size=names.shape)
    turns = np.where(turns < introduced, turns, questions)
    texts = np.stack([np.take_along_axis(words, turns, axis=-1) for words in (names, pets)], axis=-1)
    return texts.reshape(*shape, 4 * pairs).astype(np.int32)


def answers(words):
    """Return what is right: a dict from the place of each question, a name that comes again, to its pet."""
    pets, right = {}, {}
    for place in range(0, len(words), 2):
        if words[place] in pets:
            right[place] = pets[words[place]]
        else:
            pets[words[place]] = words[place + 1] if place + 1 < len(words) else None
    return right


def read(text, pairs):
    """Return the words of a user's text, a list of str; refuse a text that is none for this model."""
    known = {word.lower(): word for word in vocabulary(pairs)}
    words = [known.get(word.lower()) for word in text.split()]
    if None in words:
        wrong = text.split()[words.index(None)]
        parser.error(f"argument --input: {wrong!r} is unknown; the words are {' '.join(known.values())}")
    in_turn = all((word in NAMES) == (place % 2 == 0) for place, word in enumerate(words))
    questions = answers(words)
    if not in_turn or not questions or (len(words) % 2 and len(words) - 1 not in questions):
        parser.error('argument --input: say names with their pets, then a name again, as in "Ben cat Ben"')
    if len(words) > 4 * pairs:
        parser.error(f"argument --input: at most {4 * pairs} words, not {len(words)}")
    return words


if __name__ == "__main__":
    parse_arguments()  # Wrong flags do not wait for the imports. main() parses again.
import main as lesson_3  # The main.py beside this file. It prepares the other imports.
import matplotlib.pyplot as pyplot
import numpy as np
import tensorflow as tf

# --- The model ------------------------------------------------------------------------


class Attention(tf.keras.layers.Layer):
    """Self-attention with heads and a causal mask: section 3.2 of Vaswani et al. (2017).

    Call with float32 (batch, words, hidden).

    Returns:
        output: float32 (batch, words, hidden).
        weights: float32 (batch, heads, words, words), how much each word attends to itself and to each word
            before it; each row sums to 1.
    """

    def __init__(self, heads, name="attention"):
        super().__init__(name=name)
        self.heads = heads

    def build(self, shape):
        square = (shape[-1], shape[-1])  # The heads' own matrices stand side by side in W_Q, W_K and W_V.
        self.W_Q = self.add_weight(name="W_Q", shape=square)
        self.W_K = self.add_weight(name="W_K", shape=square)
        self.W_V = self.add_weight(name="W_V", shape=square)
        self.W_O = self.add_weight(name="W_O", shape=square)

    def call(self, vectors):
        query = self.split(vectors @ self.W_Q)  # (batch, heads, words, depth): what each word looks for.
        key = self.split(vectors @ self.W_K)  # (batch, heads, words, depth): by what it is found.
        value = self.split(vectors @ self.W_V)  # (batch, heads, words, depth): what it gives.
        depth = key.shape[-1]
        logits = tf.matmul(query, key, transpose_b=True) / depth**0.5  # (batch, heads, words, words)
        mask = np.tri(vectors.shape[1], dtype=bool)  # (words, words), False where a key comes later.
        weights = tf.nn.softmax(tf.where(mask, logits, -np.inf))  # (batch, heads, words, words)
        means = tf.transpose(weights @ value, (0, 2, 1, 3))  # (batch, words, heads, depth)
        return tf.reshape(means, tf.shape(vectors)) @ self.W_O, weights  # (batch, words, hidden)

    def split(self, vectors):
        """Give each head its part of (batch, words, hidden): (batch, heads, words, depth)."""
        _, words, hidden = vectors.shape
        parts = tf.reshape(vectors, (-1, words, self.heads, hidden // self.heads))
        return tf.transpose(parts, (0, 2, 1, 3))


class Block(tf.keras.layers.Layer):
    """Attention, then two dense layers. Both read the vectors normalized, and add to them what they find.

    Call with float32 (batch, words, hidden). Returns the same shape, and the weights of the attention.
    """

    def __init__(self, hidden, heads, name):
        super().__init__(name=name)
        self.norm_1 = tf.keras.layers.LayerNormalization(name="norm_1")
        self.attention = Attention(heads)
        self.norm_2 = tf.keras.layers.LayerNormalization(name="norm_2")
        self.expand = tf.keras.layers.Dense(2 * hidden, "relu", name="expand")
        self.contract = tf.keras.layers.Dense(hidden, name="contract")

    def call(self, vectors):
        found, weights = self.attention(self.norm_1(vectors))
        vectors += found  # (batch, words, hidden)
        vectors += self.contract(self.expand(self.norm_2(vectors)))  # (batch, words, hidden)
        return vectors, weights


def normal():
    """Return an initializer; one of its own for each array, since it draws the same numbers again."""
    return tf.keras.initializers.RandomNormal(stddev=0.3)


class Transformer(tf.keras.Model):
    """A vector for each word and one for its position, then blocks, then a score for each possible next word.

    Call with int32 (batch, words), places in vocabulary(pairs), at most 4 * pairs - 1 words.

    Returns:
        logits: float32 (batch, words, 4 * pairs), the scores of what comes next after each word.
        weights: list of float32 (batch, heads, words, words), the attention of each block.
    """

    def __init__(self, pairs, hidden, layers, heads):
        super().__init__(name="model")
        size, longest = len(vocabulary(pairs)), 4 * pairs - 1  # The last word of a text is never read.
        self.embedding = tf.keras.layers.Embedding(size, hidden, normal(), name="embedding")
        self.positions = self.add_weight(name="positions", shape=(1, longest, hidden), initializer=normal())
        self.blocks = [Block(hidden, heads, f"block_{layer + 1}") for layer in range(layers)]
        self.norm = tf.keras.layers.LayerNormalization(name="norm")
        self.logits_layer = tf.keras.layers.Dense(size, name="logits_layer")
        self(tf.zeros((1, longest), tf.int32))  # A first call creates the weights of the layers.

    def call(self, words):
        vectors = self.embedding(words) + self.positions[:, : words.shape[1]]  # (batch, words, hidden)
        all_weights = []
        for block in self.blocks:
            vectors, weights = block(vectors)
            all_weights.append(weights)
        return self.logits_layer(self.norm(vectors)), all_weights


# --- Training, testing, plotting ------------------------------------------------------


def train(arguments):
    """Train and save a model; print its loss, with --plot draw it. Return the model and its settings."""
    settings = arguments.settings
    arguments.path.parent.mkdir(parents=True, exist_ok=True)  # If that fails, it had better fail now.
    if arguments.seed is not None:
        tf.keras.utils.set_random_seed(arguments.seed)
    generator = np.random.default_rng(arguments.seed)
    model = Transformer(**settings)
    optimizer = tf.keras.optimizers.Adam(arguments.lr)
    optimizer.build(model.trainable_variables)  # Else the first call does, and is traced twice.

    @tf.function(jit_compile=True)
    def run_steps(words, next_words):  # One batch for each training step. Returns the mean of their losses.
        total = 0.0
        for index in tf.range(len(words)):
            with tf.GradientTape() as tape:
                logits, _ = model(words[index])
                nats = tf.nn.sparse_softmax_cross_entropy_with_logits(next_words[index], logits)
                loss = tf.reduce_mean(nats)  # Over all words of all texts.
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
            total += loss
        return total / len(words)

    # A call costs more than a small step, so it makes several, up to the next print or save.
    per_call = math.gcd(50, arguments.print_every, arguments.save_every)
    losses, step, saved = [], 0, False
    try:
        while step < arguments.steps:
            shape = (min(per_call, arguments.steps - step), arguments.batchsize)
            texts = next_batch(generator, settings["pairs"], *shape)
            loss = float(run_steps(texts[..., :-1], texts[..., 1:]))
            step += len(texts)
            if not np.isfinite(loss):
                sys.exit(f"transformer.py: error: the loss at step {step} is not finite; lower --lr")
            if step % arguments.print_every == 0 or step == arguments.steps:
                losses.append((step, loss))
                print(f"Iteration {step} - Loss {loss}", flush=True)
            if step % arguments.save_every == 0 or step == arguments.steps:
                saved = save_model(arguments, model, step)
    except KeyboardInterrupt:
        if saved or not arguments.path.exists():  # Else it would replace an earlier model.
            saved = save_model(arguments, model, int(optimizer.iterations.numpy()))
        state = f"what it has learnt is in {saved}" if saved else f"{arguments.path} is the earlier model"
        print(f"transformer.py: stopped; {state}", file=sys.stderr)
        sys.exit(130)
    print(f"Training complete!\nModel saved to {saved}.", flush=True)
    if arguments.plot:
        draw_losses(losses, lowest_loss(settings["pairs"]), arguments.plotpath / "transformer_loss.png")
    return model, settings


def lowest_loss(pairs):
    """Return the mean loss, in nats per word, of one who knows how texts are made and recalls every pet."""
    total = 0
    for introduced in range(1, pairs + 1):
        total += introduced * math.log(2 * pairs)  # Their pets, any of 2 * pairs.
        for turn in range(1, introduced):  # Their names, but for the first; or a question could have come.
            total += math.log((2 * pairs - turn) * (pairs - turn + 1) / (pairs - turn))
        total += math.log(introduced * (pairs - introduced + 1))  # The first question; or one more new name.
        total += (2 * pairs - introduced - 1) * math.log(introduced)  # The others. All answers are certain.
    return total / pairs / (4 * pairs - 1)


def test(arguments, model, settings):
    """Print a model's answers to a text, its attention and accuracy; with --plot, draw the attention."""
    generator = np.random.default_rng(arguments.seed).spawn(1)[0]  # Other data than in the training.
    pairs, known = settings["pairs"], vocabulary(settings["pairs"])
    words = [known[number] for number in next_batch(generator, pairs, introduced=pairs)]
    if arguments.input:  # In place of the drawn one.
        words = read(arguments.input, pairs)
    right = answers(words)
    print(f"\nText: \n{' '.join(words)}")
    words = words[: max(right) + 1]  # Up to the last question.
    logits, weights = model(np.array([[known.index(word) for word in words]]))
    weights = np.array(weights)[:, 0].astype(np.float64)  # (layers, heads, words, words)
    for place, pet in right.items():
        print(f"\nQuestion at word {place}: {words[place]}")
        print(f"Prediction: {known[np.argmax(logits[0, place])]}")
        print(f"Truth: {pet}")
        for layer, heads in enumerate(weights[:, :, place], start=1):
            largest = [f"{words[row.argmax()]} at word {row.argmax()} ({row.max():.3f})" for row in heads]
            print(f"Layer {layer}, its heads attended mainly to: {', '.join(largest)}")

    first, correct = 2 * pairs, []  # The first question comes when all pairs have been introduced.
    for _ in range(10):
        texts = next_batch(generator, pairs, 1000, introduced=pairs)
        logits, _ = model(texts[:, : first + 1])
        correct.extend(np.argmax(logits[:, first], axis=-1) == texts[:, first + 1])
    print(f"\nAccuracy on {len(correct)} new texts of {pairs} pairs: ", end="")
    print(f"{np.mean(correct):.2%} of first questions", flush=True)
    if arguments.plot:
        for layer, heads in enumerate(weights, start=1):
            draw_heads(f"Layer {layer}", heads, words, arguments.plotpath / f"transformer_layer_{layer}.png")


@pyplot.style.context("default")
def draw_losses(losses, lowest, path):
    """Draw the loss over the training steps, from a list of (step, loss in nats), into a PNG file."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(*np.transpose(losses), marker=".")
    axes.axhline(lowest, color="black", linestyle="--", label="the lowest that is possible")
    axes.set(title="Transformer: loss", xlabel="Training step", ylabel="Cross-entropy (nats per word)")
    axes.legend()
    lesson_3.save_figure(figure, path)


@pyplot.style.context("default")
def draw_heads(title, heads, words, path):
    """Draw attention weights, float (heads, words, words), two heads side by side, into a PNG file."""
    lines, side = math.ceil(len(heads) / 2), 0.25 * len(words) + 1.2  # Inches.
    figure = pyplot.figure(figsize=(2 * side, lines * side), layout="constrained")
    for head, weights in enumerate(heads, start=1):
        axes = figure.add_subplot(lines, 2, head, title=f"{title}, head {head}")
        image = axes.imshow(weights, vmin=0, vmax=1)
        axes.set_xticks(range(len(words)), words, rotation=90)
        axes.set_yticks(range(len(words)), words)
    figure.colorbar(image, ax=figure.axes, label="Attention weight", shrink=0.5)
    lesson_3.save_figure(figure, path)


# --- Saving and loading ---------------------------------------------------------------

FILE_HASH = hashlib.sha256(pathlib.Path(__file__).read_text(encoding="utf-8").encode()).hexdigest()


def save_model(arguments, model, step):
    """Save a model, and what it takes to build it. Return the path to print."""
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    assert len(arrays) == len(model.weights), "two layers have the same name"
    about = dict(task="Transformer", step=step, settings=arguments.settings, program=FILE_HASH)
    return lesson_3.write_file(
        arguments.path, lambda file: np.savez(file, description=json.dumps(about), **arrays)
    )


def load_model(arguments):
    """Return the model in --savepath and its settings, a dict; end the program where none fits."""
    path = arguments.path
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
        about = json.loads(arrays.pop("description").item())
        settings = {name: about["settings"][name] for name in DEFAULTS}
    except FileNotFoundError:
        flags = [
            f" --{name} {value}" for name, value in arguments.settings.items() if value != DEFAULTS[name]
        ]
        sys.exit(f"transformer.py: error: {path}: no model yet; train one with --train{''.join(flags)}")
    except Exception as error:  # A damaged or foreign file raises all kinds.
        sys.exit(
            f"transformer.py: error: {path} cannot be read ({type(error).__name__}); name another --savepath"
        )
    check(arguments, settings)
    model = Transformer(**settings)
    weights = {weight.path.removeprefix("model/"): weight for weight in model.weights}
    if {name: weight.shape for name, weight in weights.items()} != {
        name: arrays[name].shape for name in arrays
    }:
        sys.exit(f"transformer.py: error: {path} does not fit this file; undo an edit, or change --savepath")
    for name, weight in weights.items():
        weight.assign(arrays[name])
    if about.get("program") != FILE_HASH:
        print(f"transformer.py: transformer.py has changed since {path} was trained", file=sys.stderr)
    return model, settings


# --- The program ----------------------------------------------------------------------


@lesson_3.float32()
def main(argv=None):
    """Train, test and plot as argv, a list of flags, says; exit with one line where that cannot be done."""
    arguments = parse_arguments(argv)
    try:
        model, settings = train(arguments) if arguments.train else load_model(arguments)
        if arguments.test:
            test(arguments, model, settings)
        if pyplot.get_fignums():
            pyplot.show()
    except KeyboardInterrupt:
        sys.exit(130)
    except (MemoryError, tf.errors.ResourceExhaustedError):
        atexit.register(os._exit, 1)  # Else TensorFlow may crash when Python ends.
        sys.exit("transformer.py: error: out of memory; one of the sizes is too large for this machine")
    except BrokenPipeError:  # The reader, such as `head`, has gone; a normal exit would write to it again.
        os._exit(1)
    except OSError as error:
        sys.exit(f"transformer.py: error: {error}; --savepath and --plotpath can name other folders")


if __name__ == "__main__":
    main()
