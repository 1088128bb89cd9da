"""The last page: a transformer that looks things up.

A text introduces one to four names, each with its pet. Then it asks: it repeats one of these names after
another, and each time the pet follows. Here Ben is the first question, and `cat` the answer:

    Anna dog Ben cat Cleo owl Dan hen Ben cat Dan hen Anna dog Dan hen

The model is a language model. It reads such texts, and at each place it learns which word comes next. It
begins below, at `class Attention`.
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

# The settings of a model to train. --test takes those of the saved one.
DEFAULTS = {"pairs": 4, "hidden": 32, "layers": 2, "heads": 4}
HERE = pathlib.Path(__file__).parent
ABOUT = "A model that looks things up. Begin with --train --test --plot. Defaults are in brackets."
parser = argparse.ArgumentParser(
    "transformer.py", usage=argparse.SUPPRESS, description=ABOUT, allow_abbrev=False
)
parser.formatter_class = argparse.MetavarTypeHelpFormatter
flag = parser.add_argument
flag("--train", action="store_true", help="train a model and save it")
flag("--test", action="store_true", help="show what the saved model answers, how, and how well")
flag("--plot", action="store_true", help="draw what --train and --test did; alone: --test --plot")
flag("--steps", type=int, default=1500, help="training steps (%(default)s)")
flag("--batchsize", type=int, default=100, help="texts per training step (%(default)s)")
flag("--lr", type=float, default=1e-3, help="Adam's learning rate (%(default)s)")
# The settings of a model have no default here, so that --test can tell "not given", None, from "given".
flag("--pairs", type=int, choices=range(1, 9), metavar="N", help=f"at most, in a text ({DEFAULTS['pairs']})")
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
    """Return the flags and, as .settings, a dict, what they make of DEFAULTS; refuse what no model can do."""
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        words = arguments.input and not unknown[0].startswith("-")
        hint = 'put a text in quotes: --input "Ben cat Ben"' if words else "see --help"
        parser.error(f"unrecognized: {' '.join(unknown)}; {hint}")
    if not (arguments.train or arguments.test or arguments.plot):
        parser.exit(2, parser.format_help())
    arguments.test = arguments.test or not arguments.train  # --plot alone means --test --plot.
    for name, value in vars(arguments).items():
        least = 0 if name == "seed" else 1
        if type(value) is int and not least <= value < 2**32:
            parser.error(f"argument --{name}: must be at least {least} and below 2**32, not {value}")
        if type(value) is float and not 0 < value < 2**32:
            parser.error(f"argument --{name}: must be above 0 and below 2**32, not {value}")
    for name in ("savepath", "plotpath"):  # Most shells leave --savepath=~/models as it is.
        setattr(arguments, name, pathlib.Path(os.path.expanduser(vars(arguments)[name])))
    arguments.path = arguments.savepath / "transformer.npz"
    given = {name: vars(arguments)[name] for name in DEFAULTS if vars(arguments)[name] is not None}
    arguments.settings = DEFAULTS | given
    largest = {"pairs": 8}  # The saved settings are known only when the model is loaded.
    check(arguments, arguments.settings if arguments.train else largest | given)
    return arguments


def check(arguments, settings):
    """Refuse flags that contradict the settings of a model, a dict, and a text that it cannot read."""
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
    """Return random texts, int32 (*shape, 4 * pairs): the numbers of their words in vocabulary(pairs).

    A text introduces 1 to `pairs` pairs, each number equally often, or as many as `introduced` says.
    """
    if introduced is None:
        introduced = generator.integers(1, pairs + 1, size=(*shape, 1))
    names = np.broadcast_to(np.arange(2 * pairs), (*shape, 2 * pairs))
    names = generator.permuted(names, axis=-1)  # (*shape, 2 * pairs). All are different.
    pets = generator.integers(2 * pairs, 4 * pairs, size=names.shape)  # One for each name; some are the same.
    # A text has 2 * pairs turns, each a name and its pet: first each new name, then questions at random.
    turns = np.arange(2 * pairs)
    questions = generator.integers(introduced, size=names.shape)
    turns = np.where(turns < introduced, turns, questions)  # (*shape, 2 * pairs): whose turn it is.
    texts = np.stack([np.take_along_axis(words, turns, axis=-1) for words in (names, pets)], axis=-1)
    return texts.reshape(*shape, 4 * pairs).astype(np.int32)  # A name and its pet, a name and its pet, ...


def answers(words):
    """Return what is right: a dict from each place where a name comes again to the pet of that name."""
    names = range(0, len(words), 2)
    return {place: words[words.index(words[place]) + 1] for place in names if words[place] in words[:place]}


def read(text, pairs):
    """Return the words of a user's text, a list of str; refuse a text that is none for this model."""
    known = {word.lower(): word for word in vocabulary(pairs)}
    words = [known.get(word.lower()) for word in text.split()]
    if None in words:
        wrong = text.split()[words.index(None)]
        parser.error(f"argument --input: {wrong!r} is unknown; the words are {' '.join(known.values())}")
    in_turn = all((word in NAMES) == (place % 2 == 0) for place, word in enumerate(words))
    questions = answers(words)
    ends_well = len(words) % 2 == 0 or len(words) - 1 in questions  # The last word may be a question.
    if not in_turn or not questions or not ends_well:
        parser.error('argument --input: say names with their pets, then a name again, as in "Ben cat Ben"')
    if len(words) > 4 * pairs:
        parser.error(f"argument --input: at most {4 * pairs} words, not {len(words)}")
    return words


if __name__ == "__main__":
    parse_arguments()  # Wrong flags do not wait for the imports. main() parses again.
sys.path.insert(0, str(HERE))  # A cautious Python leaves it out.
import main as lesson_3  # The main.py beside this file. It comes first, as it prepares the other imports.
import matplotlib.pyplot as pyplot
import numpy as np
import tensorflow as tf

# --- The model ------------------------------------------------------------------------


class Attention(tf.keras.layers.Layer):
    """Self-attention with heads and a causal mask.

    Section 3.2 of Vaswani et al. (2017), "Attention is all you need", https://arxiv.org/abs/1706.03762.

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
        square = (shape[-1], shape[-1])
        # The heads' own matrices stand side by side in W_Q, W_K and W_V, and below each other in W_O.
        self.W_Q = self.add_weight(name="W_Q", shape=square)
        self.W_K = self.add_weight(name="W_K", shape=square)
        self.W_V = self.add_weight(name="W_V", shape=square)
        self.W_O = self.add_weight(name="W_O", shape=square)

    def call(self, vectors):
        query = self.split(vectors @ self.W_Q)  # (batch, heads, words, depth): what each word looks for.
        key = self.split(vectors @ self.W_K)  # (batch, heads, words, depth): what it is found by.
        value = self.split(vectors @ self.W_V)  # (batch, heads, words, depth): what it gives.
        depth = key.shape[-1]
        logits = tf.matmul(query, key, transpose_b=True) / depth**0.5  # (batch, heads, words, words)
        mask = np.tri(vectors.shape[1], dtype=bool)  # (words, words), False where the key is a later word.
        weights = tf.nn.softmax(tf.where(mask, logits, -np.inf))  # (batch, heads, words, words)
        means = self.join(weights @ value)  # (batch, words, hidden)
        return means @ self.W_O, weights

    def split(self, vectors):
        """Give each head its part of (batch, words, hidden): (batch, heads, words, depth)."""
        _, words, hidden = vectors.shape
        parts = tf.reshape(vectors, (-1, words, self.heads, hidden // self.heads))
        return tf.transpose(parts, (0, 2, 1, 3))

    def join(self, parts):
        """Put the heads' parts, (batch, heads, words, depth), side by side again: (batch, words, hidden)."""
        _, heads, words, depth = parts.shape
        return tf.reshape(tf.transpose(parts, (0, 2, 1, 3)), (-1, words, heads * depth))


class Block(tf.keras.layers.Layer):
    """Attention, then two dense layers. Each part gets normalized vectors, and its result is added to them.

    Lesson 3 normalizes the sum, as Vaswani et al. do. To normalize before each part is usual today: Xiong et
    al. (2020), https://arxiv.org/abs/2002.04745. Call with float32 (batch, words, hidden).

    Returns:
        vectors: float32 (batch, words, hidden).
        weights: float32 (batch, heads, words, words), of the attention.
    """

    def __init__(self, hidden, heads, name):
        super().__init__(name=name)
        self.norm_1 = tf.keras.layers.LayerNormalization(name="norm_1")
        self.attention = Attention(heads)
        self.norm_2 = tf.keras.layers.LayerNormalization(name="norm_2")
        self.expand = tf.keras.layers.Dense(2 * hidden, activation="relu", name="expand")
        self.contract = tf.keras.layers.Dense(hidden, name="contract")

    def call(self, vectors):
        found, weights = self.attention(self.norm_1(vectors))  # (batch, words, hidden)
        vectors += found
        expanded = self.expand(self.norm_2(vectors))  # (batch, words, 2 · hidden)
        vectors += self.contract(expanded)  # (batch, words, hidden)
        return vectors, weights


def normal():
    """Return a new initializer; one that is used twice would give words and positions the same numbers."""
    return tf.keras.initializers.RandomNormal(stddev=0.3)


class Transformer(tf.keras.Model):
    """A vector for each word and one for its position, then blocks, then a score for each possible next word.

    Call with int32 (batch, words), numbers of words in vocabulary(pairs), at most 4 * pairs - 1 words.

    Returns:
        logits: float32 (batch, words, len(vocabulary(pairs))), the scores of what comes next after each word.
        weights: list of float32 (batch, heads, words, words), the attention of each block.
    """

    def __init__(self, pairs, hidden, layers, heads):
        super().__init__(name="model")
        size = len(vocabulary(pairs))
        longest = 4 * pairs - 1  # The last word of a text is only predicted.
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
        logits = self.logits_layer(self.norm(vectors))  # (batch, words, size)
        return logits, all_weights


# --- Training, testing, plotting ------------------------------------------------------


def train(arguments):
    """Train and save a model; print its loss, with --plot draw it. Return the model and its settings."""
    settings = arguments.settings
    arguments.savepath.mkdir(parents=True, exist_ok=True)  # Better to fail now than after the training.
    if arguments.plot:
        arguments.plotpath.mkdir(parents=True, exist_ok=True)
    if arguments.seed is not None:
        tf.keras.utils.set_random_seed(arguments.seed)
    generator = np.random.default_rng(arguments.seed)
    model = Transformer(**settings)
    optimizer = tf.keras.optimizers.Adam(arguments.lr)
    optimizer.build(model.trainable_variables)  # Else the first call does, and is traced twice.

    @tf.function(jit_compile=True)
    def run_steps(words, next_words):  # One batch for each training step. Returns the steps' mean loss.
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

    # A call costs more than a small step, so it makes several: at most 50, and a divisor of both intervals.
    per_call = math.gcd(50, arguments.print_every, arguments.save_every)
    losses, step = [], 0
    saved = None  # The path of the last checkpoint of this training.
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
        step = int(optimizer.iterations.numpy())  # Ctrl-C waits for the end of a call; `step` lags behind.
        if saved is None and arguments.path.exists():
            print(f"transformer.py: stopped; {arguments.path} is still the earlier model", file=sys.stderr)
        elif step > 0 and all(np.isfinite(weight).all() for weight in model.weights):
            saved = save_model(arguments, model, step)
            print(f"transformer.py: stopped; step {step} is saved in {saved}", file=sys.stderr)
        sys.exit(130)
    print(f"Training complete!\nModel saved to {saved}.", flush=True)
    if arguments.plot:
        draw_losses(losses, arguments.plotpath / "transformer_loss.png")
    return model, settings


def test(arguments, model, settings):
    """Print a model's answers to a text, its attention and accuracy; with --plot, draw the attention."""
    generator = np.random.default_rng(arguments.seed).spawn(1)[0]  # Not the data of the training.
    pairs = settings["pairs"]
    known = vocabulary(pairs)
    words = [known[number] for number in next_batch(generator, pairs, introduced=pairs)]
    if arguments.input:  # In place of the drawn one, so that the texts below stay the same.
        words = read(arguments.input, pairs)
    right = answers(words)
    print(f"\nText: \n{' '.join(words)}")
    words = words[: max(right) + 1]  # Up to the last question.
    logits, weights = model(np.array([[known.index(word) for word in words]]))
    weights = np.array(weights)[:, 0]  # (layers, heads, words, words)
    for place, pet in right.items():
        print(f"\nQuestion at word {place}: {words[place]}")
        print(f"Prediction: {known[np.argmax(logits[0, place])]}")
        print(f"Truth: {pet}")
        for layer, rows in enumerate(weights[:, :, place], start=1):  # A row of weights for each head.
            largest = [f"{words[row.argmax()]} at word {row.argmax()} ({row.max():.3f})" for row in rows]
            print(f"Layer {layer}, its heads attended mainly to: {', '.join(largest)}")

    first = 2 * pairs  # The first question comes when all pairs have been introduced.
    correct = []
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
def draw_losses(losses, path):
    """Draw the loss over the training steps, from a list of (step, loss in nats), into a PNG file."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(*np.transpose(losses), marker=".")
    axes.set(title="Transformer: loss", xlabel="Training step", ylabel="Cross-entropy (nats per word)")
    lesson_3.save_figure(figure, path)


@pyplot.style.context("default")
def draw_heads(title, heads, words, path):
    """Draw attention weights, float (heads, words, words), two heads side by side, into a PNG file."""
    columns = min(2, len(heads))
    lines = math.ceil(len(heads) / columns)
    side = 0.25 * len(words) + 1.2  # Of a heatmap, in inches.
    figure = pyplot.figure(figsize=(columns * side, lines * side), layout="constrained")
    for head, weights in enumerate(heads, start=1):
        axes = figure.add_subplot(lines, columns, head, title=f"{title}, head {head}")
        image = axes.imshow(weights, vmin=0, vmax=1)
        axes.set_xticks(range(len(words)), words, rotation=90)
        axes.set_yticks(range(len(words)), words)
    figure.colorbar(image, ax=figure.axes, label="Attention weight", shrink=0.5)
    lesson_3.save_figure(figure, path)


# --- Saving and loading ---------------------------------------------------------------

SOURCE = pathlib.Path(__file__).read_text(encoding="utf-8")  # Reading as text makes all line ends the same.
FILE_HASH = hashlib.sha256(SOURCE.encode()).hexdigest()


def save_model(arguments, model, step):
    """Save a model, and what it takes to build it. Return the path to print."""
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    about = dict(task="Transformer", step=step, settings=arguments.settings, program=FILE_HASH)
    arrays["description"] = json.dumps(about)
    return lesson_3.write_file(arguments.path, lambda file: np.savez(file, **arrays))


def load_model(arguments):
    """Return the model in --savepath and its settings, a dict; end the program where none fits."""
    path = arguments.path
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
        description = json.loads(arrays.pop("description").item())
        settings = dict(description["settings"])
        if description["task"] != "Transformer":
            raise ValueError(description["task"])
    except FileNotFoundError:
        sys.exit(f"transformer.py: error: {path}: there is no model yet; {remedy(arguments)}")
    except Exception as error:  # A damaged or foreign file raises all kinds.
        name = type(error).__name__
        sys.exit(f"transformer.py: error: {path} cannot be read ({name}); name another --savepath")
    misfit = f"transformer.py: error: {path} does not fit this file; undo an edit, or change --savepath"
    if settings.keys() != DEFAULTS.keys():
        sys.exit(misfit)
    check(arguments, settings)
    model = Transformer(**settings)
    weights = {weight.path.removeprefix("model/"): weight for weight in model.weights}
    shapes = {name: weight.shape for name, weight in weights.items()}
    if shapes != {name: array.shape for name, array in arrays.items()}:
        sys.exit(misfit)
    for name, weight in weights.items():
        weight.assign(arrays[name])
    if description.get("program") != FILE_HASH:
        print(f"transformer.py: transformer.py has changed since {path} was trained", file=sys.stderr)
    return model, settings


def remedy(arguments):
    """Return how to train a model where there is none."""
    words = ["train one with --train"]
    words += [f"--{name} {value}" for name, value in arguments.settings.items() if value != DEFAULTS[name]]
    if arguments.savepath != parser.get_default("savepath"):
        words.append(f"--savepath {arguments.savepath}")
    return " ".join(words)


# --- The program ----------------------------------------------------------------------


@lesson_3.keras_in_float32()
def main(argv=None):
    """Train, test and plot as argv, a list of flags, says; exit with one line where that cannot be done."""
    arguments = parse_arguments(argv)
    try:
        if arguments.train:
            model, settings = train(arguments)
        else:
            model, settings = load_model(arguments)
        if arguments.test:
            test(arguments, model, settings)
        if pyplot.get_fignums():
            pyplot.show()
    except KeyboardInterrupt:
        sys.exit(130)
    except (MemoryError, tf.errors.ResourceExhaustedError):
        tf.keras.utils.clear_session()  # So that a notebook can go on with smaller sizes.
        atexit.register(os._exit, 1)  # Else TensorFlow may crash when Python ends.
        sys.exit("transformer.py: error: out of memory; one of the sizes is too large for this machine")
    except BrokenPipeError:  # The reader, such as `head`, has gone; a normal exit would write to it again.
        os._exit(1)
    except OSError as error:
        file = pathlib.Path(error.filename or arguments.savepath)  # Of a full disk, no file is named.
        folders = arguments.savepath, arguments.plotpath
        if not any(folder in (file, *file.parents) or file in folder.parents for folder in folders):
            raise  # An edit has its own files, and its own traceback.
        sys.exit(f"transformer.py: error: {error}; --savepath and --plotpath can name other folders")


if __name__ == "__main__":
    main()
