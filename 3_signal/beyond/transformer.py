"""A small transformer that looks things up.

A text introduces one to four names, each with its pet. Then it asks for some of these names again, and each
time the pet follows. Here Ben is the first question, and `cat` is the answer:

    Anna dog Ben cat Cleo owl Dan hen Ben cat Dan hen Anna dog Dan hen

The model is a language model: it reads such texts and learns, at each word, which word comes next.
"""

# /// script
# requires-python = ">=3.9,<3.15"
# dependencies = ["matplotlib>=3.8,<4", "numpy>=1.26,<3", "tensorflow>=2.16.1,<3"]
# ///

import argparse
import gc
import json
import math
import os
import sys
from pathlib import Path

# --- Flags: parsed before TensorFlow is imported, so that --help and typos get an answer at once --------


def positive_int(text):
    """Return an int of at least 1; argparse turns the error into a line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


HERE = Path(__file__).absolute().parent
NAMES = "Anna Ben Cleo Dan Eva Finn Gus Hana Ian Jill Kai Lena Max Nora Omar Pia".split()
PETS = "dog cat owl hen pig rat frog goat fish duck crab toad newt pony lamb mole".split()
MODEL_FLAGS = ("pairs", "hidden", "layers", "heads")  # Saved with the model.

parser = argparse.ArgumentParser(
    usage="%(prog)s [--train] [--test] [--plot] [options]",
    description="A small transformer that looks things up. Start with --train --test --plot.",
    formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    allow_abbrev=False,
)
parser.add_argument("--train", action="store_true", help="train a model and save it")
parser.add_argument("--test", action="store_true", help="show what the saved model predicts")
parser.add_argument("--plot", action="store_true", help="plot the loss and the attention")
parser.add_argument("--steps", type=positive_int, default=1500, help="training steps")
parser.add_argument("--batchsize", type=positive_int, default=100, help="texts per training step")
parser.add_argument("--lr", type=float, default=1e-3, help="learning rate of Adam")
parser.add_argument("--print_every", type=positive_int, default=50, help="training steps per loss line")
parser.add_argument("--save_every", type=positive_int, default=50, help="training steps per checkpoint")
parser.add_argument("--savepath", type=Path, default=HERE / "models", help="folder of the models")
parser.add_argument("--plotpath", type=Path, default=HERE / "plots", help="folder of the plots")
parser.add_argument("--seed", type=int, help="seed for a repeatable run")
parser.add_argument(
    "--pairs", type=int, choices=range(1, 9), metavar="N", default=4, help="pairs in a text, at most"
)
parser.add_argument("--hidden", type=positive_int, default=32, help="numbers in a word's vector")
parser.add_argument("--layers", type=positive_int, default=2, help="blocks, one after the other")
parser.add_argument("--heads", type=positive_int, default=4, help="heads of each attention")
parser.add_argument("--input", metavar="TEXT", help='test this text, such as "Anna dog Ben cat Anna"')


def parse_arguments(argv=None, saved=None):
    """Return the flags, with the settings of a saved model (a dict) in place of the defaults."""
    args = parser.parse_args(argv, argparse.Namespace(**(saved or {})))
    args.settings = {name: getattr(args, name) for name in MODEL_FLAGS}
    for name, value in (saved or {}).items():
        if args.settings[name] != value:
            parser.error(f"argument --{name}: it is {value} in the saved model; leave this flag out")
    if not 0 < args.lr < math.inf:
        parser.error("argument --lr: must be a number above 0")
    if args.seed is not None and not 0 <= args.seed < 2**32:
        parser.error("argument --seed: must be at least 0 and below 2**32")
    sizes_known = args.train or saved  # Otherwise they are still to be read from the checkpoint.
    if sizes_known and args.hidden % args.heads:
        parser.error(f"argument --hidden: {args.hidden} cannot be divided among --heads {args.heads}")
    if args.input is not None:
        args.input = read_text(args.input, args.pairs if sizes_known else 8)
    if args.input or (args.plot and not args.train):
        args.test = True
    if not (args.train or args.test):
        parser.exit(2, parser.format_help())
    return args


def vocabulary(pairs):
    """Return the words of texts with at most this many pairs: 2 * pairs names, then 2 * pairs pets."""
    return NAMES[: 2 * pairs] + PETS[: 2 * pairs]


def answers(words):
    """Return the right pet at each place where a name comes again, a dict {place: pet}."""
    pet_of, right = {}, {}
    for place in range(0, len(words), 2):
        if words[place] in pet_of:
            right[place] = pet_of[words[place]]
        elif place + 1 < len(words):
            pet_of[words[place]] = words[place + 1]
    return right


def read_text(text, pairs):
    """Return the words of a user's text, a list of str."""
    words = [word.capitalize() if word.capitalize() in NAMES else word.lower() for word in text.split()]
    for word in words:
        if word not in vocabulary(pairs):
            parser.error(f"argument --input: {word!r} is unknown; use {' '.join(vocabulary(pairs))}")
    right = answers(words)
    in_turn = all((word in NAMES) == (place % 2 == 0) for place, word in enumerate(words))
    ends_with_new_name = len(words) % 2 == 1 and len(words) - 1 not in right
    if not right or not in_turn or ends_with_new_name:
        parser.error('argument --input: say names with their pets, then a name again, as in "Ben cat Ben"')
    if len(words) > 4 * pairs:
        parser.error(f"argument --input: use at most {4 * pairs} words, not {len(words)}")
    return words


if __name__ == "__main__":
    parse_arguments()  # Stops here on a wrong flag; main() parses again.

# --- Packages -------------------------------------------------------------------------------------------

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_USE_LEGACY_KERAS"] = "0"  # Keras 3, whatever other projects need.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Hides most of TensorFlow's log.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # Processors differ less.
gc.disable()  # Garbage collection would make the imports a third slower.
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf

tf.keras.config.set_floatx("float32")  # Whatever keras.json says.
gc.freeze()  # Later collections need not look at what is imported.
gc.enable()

# --- Data -----------------------------------------------------------------------------------------------


def next_batch(generator, pairs, *shape, introduced=None):
    """Return random texts, int32 (*shape, 4 * pairs): the numbers of their words in vocabulary(pairs).

    A text introduces 1 to `pairs` pairs, each number equally often, or as many as `introduced` says.
    """
    if introduced is None:
        introduced = generator.integers(1, pairs + 1, size=(*shape, 1))
    names = np.broadcast_to(np.arange(2 * pairs), (*shape, 2 * pairs))
    names = generator.permuted(names, axis=-1)  # (*shape, 2 * pairs), all different.
    pets = generator.integers(2 * pairs, 4 * pairs, size=names.shape)  # One for each name.
    # A text has 2 * pairs turns, each a name and its pet: first the new names, then questions at random.
    # Turns 0 1 2 3 1 3 0 3 introduce four names and then ask for the second one, the fourth one, ...
    turns = np.arange(2 * pairs)
    questions = generator.integers(introduced, size=names.shape)
    turns = np.where(turns < introduced, turns, questions)  # (*shape, 2 * pairs)
    texts = np.stack([np.take_along_axis(words, turns, axis=-1) for words in (names, pets)], axis=-1)
    return texts.reshape(*shape, 4 * pairs).astype(np.int32)  # A name and its pet, a name and its pet, ...


# --- Attention and model --------------------------------------------------------------------------------


class Attention(tf.keras.layers.Layer):
    """Causal self-attention with several heads: each word attends to itself and to the words before it.

    Section 3.2 of Vaswani et al. (2017), https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, heads, name="attention"):
        super().__init__(name=name)
        self.heads = heads

    def build(self, shape):
        square = (shape[-1], shape[-1])
        # The matrices of the heads stand side by side in W_Q, W_K and W_V, and below each other in W_O.
        self.W_Q = self.add_weight(name="W_Q", shape=square)
        self.W_K = self.add_weight(name="W_K", shape=square)
        self.W_V = self.add_weight(name="W_V", shape=square)
        self.W_O = self.add_weight(name="W_O", shape=square)

    def call(self, vectors):
        """Return the output, float32 (batch, words, hidden), and the weights (batch, heads, words, words)."""
        query = self.split(vectors @ self.W_Q)  # (batch, heads, words, depth): what each word looks for.
        key = self.split(vectors @ self.W_K)  # (batch, heads, words, depth): what it is found by.
        value = self.split(vectors @ self.W_V)  # (batch, heads, words, depth): what it gives.
        depth = key.shape[-1]
        scores = tf.matmul(query, key, transpose_b=True) / depth**0.5  # (batch, heads, words, words)
        place = tf.range(tf.shape(vectors)[1])
        mask = place[:, None] >= place  # (words, words), False where the key is a later word.
        weights = tf.nn.softmax(tf.where(mask, scores, -np.inf))  # (batch, heads, words, words)
        means = self.join(weights @ value)  # (batch, words, hidden)
        return means @ self.W_O, weights

    def split(self, vectors):
        """Give each head its part of (batch, words, hidden): (batch, heads, words, depth)."""
        words, depth = tf.shape(vectors)[1], vectors.shape[-1] // self.heads
        return tf.transpose(tf.reshape(vectors, (-1, words, self.heads, depth)), (0, 2, 1, 3))

    def join(self, parts):
        """Put the heads' parts, (batch, heads, words, depth), side by side again: (batch, words, hidden)."""
        words, depth = tf.shape(parts)[2], parts.shape[-1]
        return tf.reshape(tf.transpose(parts, (0, 2, 1, 3)), (-1, words, self.heads * depth))


class Block(tf.keras.layers.Layer):
    """Attention, then two dense layers. Each reads a normalized copy of the vectors, and adds to the vectors.

    Normalizing before each part is usual today: Xiong et al. (2020), https://arxiv.org/abs/2002.04745.
    """

    def __init__(self, hidden, heads, name):
        super().__init__(name=name)
        self.norm_1 = tf.keras.layers.LayerNormalization(name="norm_1")
        self.attention = Attention(heads)
        self.norm_2 = tf.keras.layers.LayerNormalization(name="norm_2")
        self.expand = tf.keras.layers.Dense(2 * hidden, activation="relu", name="expand")
        self.contract = tf.keras.layers.Dense(hidden, name="contract")

    def call(self, vectors):
        """Return vectors, float32 (batch, words, hidden), and weights, (batch, heads, words, words)."""
        found, weights = self.attention(self.norm_1(vectors))  # (batch, words, hidden)
        vectors = vectors + found  # The residual connection.
        expanded = self.expand(self.norm_2(vectors))  # (batch, words, 2 * hidden)
        vectors = vectors + self.contract(expanded)  # (batch, words, hidden)
        return vectors, weights


class Transformer(tf.keras.Model):
    """A vector for each word and one for its position, then blocks, then a logit for each possible next word.

    Call with int32 (batch, words), numbers of words in vocabulary(pairs), at most 4 * pairs - 1 words.

    Returns:
        logits: float32 (batch, words, len(vocabulary(pairs))), one for each word that may come next.
        weights: list of float32 (batch, heads, words, words), the attention of each block.
    """

    def __init__(self, pairs, hidden, layers, heads):
        super().__init__(name="model")
        size = len(vocabulary(pairs))
        longest = 4 * pairs - 1  # The last word of a text is only predicted.
        # Each has an initializer of its own, because a shared one would repeat its numbers.
        normal = tf.keras.initializers.RandomNormal
        self.embedding = tf.keras.layers.Embedding(size, hidden, normal(stddev=0.3), name="embedding")
        shape = (1, longest, hidden)
        self.positions = self.add_weight(name="positions", shape=shape, initializer=normal(stddev=0.3))
        self.blocks = [Block(hidden, heads, f"block_{layer + 1}") for layer in range(layers)]
        self.norm = tf.keras.layers.LayerNormalization(name="norm")
        self.logits_layer = tf.keras.layers.Dense(size, name="logits_layer")
        self(tf.zeros((1, longest), tf.int32))  # Calling the model once creates its weights.

    def call(self, words):
        vectors = self.embedding(words) + self.positions[:, : tf.shape(words)[1]]  # (batch, words, hidden)
        all_weights = []
        for block in self.blocks:
            vectors, weights = block(vectors)
            all_weights.append(weights)
        logits = self.logits_layer(self.norm(vectors))  # (batch, words, size)
        return logits, all_weights


# --- Training -------------------------------------------------------------------------------------------


def train(args, path):
    """Train a model and save it; return it, and a list of (step, mean loss of up to 50 steps before it)."""
    if args.seed is not None:
        tf.keras.utils.set_random_seed(args.seed)
    generator = np.random.default_rng(args.seed)
    model = Transformer(**args.settings)
    optimizer = tf.keras.optimizers.Adam(args.lr)
    optimizer.build(model.trainable_variables)  # Otherwise train_steps is traced twice.

    @tf.function(jit_compile=True)
    def train_steps(words, next_words):
        """Take one training step per batch; return their mean loss. A call per step would be slower."""
        total = 0.0
        for batch in tf.range(len(words)):
            with tf.GradientTape() as tape:
                logits, _ = model(words[batch])
                nats = tf.nn.sparse_softmax_cross_entropy_with_logits(next_words[batch], logits)
                loss = tf.reduce_mean(nats)  # Over all words of all texts.
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
            total += loss
        return total / len(words)

    # A call takes up to 50 steps, and ends wherever a loss line or a checkpoint is due.
    steps_per_call = math.gcd(50, args.print_every, args.save_every)
    losses, step = [], 0
    while step < args.steps:
        if step % 50 == 0:  # So a seed gives the same texts, however often losses are printed.
            texts = next_batch(generator, args.pairs, min(50, args.steps - step), args.batchsize)
        batch, texts = texts[:steps_per_call], texts[steps_per_call:]
        loss = float(train_steps(batch[..., :-1], batch[..., 1:]))
        step += len(batch)
        if not math.isfinite(loss):
            fail(f"the loss is {loss} at step {step}; try a lower --lr")
        if step % args.print_every == 0 or step == args.steps:
            losses.append((step, loss))
            print(f"Iteration {step} - Loss {loss}", flush=True)
        if step % args.save_every == 0 or step == args.steps:
            save(model, args.settings, step, path)
    print(f"Training complete!\nModel saved to {shown(path)}.")
    return model, losses


# --- Testing --------------------------------------------------------------------------------------------


def test(args, model):
    """Print the model's answers to one text, its attention and its accuracy; --plot draws attention."""
    generator = np.random.default_rng(args.seed).spawn(1)[0]  # Not the texts of the training.
    known = vocabulary(args.pairs)
    numbers = next_batch(generator, args.pairs, introduced=args.pairs)
    text = args.input or [known[number] for number in numbers]
    right = answers(text)
    print(f"\nText: \n{' '.join(text)}")
    words = text[: max(right) + 1]  # Up to the last question.
    logits, weights = model(np.array([[known.index(word) for word in words]]))
    layers = [layer_weights[0].numpy() for layer_weights in weights]  # Each (heads, words, words).

    question = min(right)  # The first one.
    pets = np.arange(1, question, 2)  # The places of the pets before it.
    titles = []
    for layer, heads in enumerate(layers[:-1], start=1):
        on_owners = heads[:, pets, pets - 1]  # (heads, pets): each pet stands after its owner.
        head = on_owners.mean(axis=-1).argmax()
        print(f"\nLayer {layer}, head {head + 1}, what each pet attended mainly to:")
        for place in pets:
            print(f"{words[place]} at word {place}: {mainly(words, heads[head, place])}")
        titles.append(f"Layer {layer}: look at the rows of the pets in head {head + 1}")
    for place, pet in right.items():
        print(f"\nQuestion at word {place}: {words[place]}")
        print(f"Prediction: {known[np.argmax(logits[0, place])]}")
        print(f"Truth: {pet}")
        rows = layers[-1][:, place]  # (heads, words)
        for head in np.argsort(-rows.max(axis=-1)):  # The largest weight first.
            found = mainly(words, rows[head])
            print(f"Layer {len(layers)}, head {head + 1}, attended mainly to: {found}")
    head = layers[-1][:, question].max(axis=-1).argmax()
    row = f"{question}: {words[question]}"
    titles.append(f"Layer {len(layers)}: look at the row of the question, {row}, in head {head + 1}")

    first = 2 * args.pairs  # The place of the first question after all pairs.
    correct = []
    for _ in range(10):
        texts = next_batch(generator, args.pairs, 1000, introduced=args.pairs)
        logits, _ = model(texts[:, : first + 1])
        correct.append(np.argmax(logits[:, first], axis=-1) == texts[:, first + 1])
    print(f"\nAccuracy on 10000 new texts of {args.pairs} pairs: {np.mean(correct):.2%} of first questions")

    if args.plot:
        for layer, (title, heads) in enumerate(zip(titles, layers), start=1):
            draw_heads(title, heads, words, args.plotpath / f"transformer_layer_{layer}.png")


def mainly(words, weights):
    """Return the word with the largest of the weights, float (words,), as text: "cat at word 3 (0.985)"."""
    place = weights.argmax()
    return f"{words[place]} at word {place} ({weights[place]:.3f})"


# --- Drawing --------------------------------------------------------------------------------------------


def draw_losses(losses, path):
    """Draw the loss over the training steps, from a list of (training step, loss in nats)."""
    figure, axes = plt.subplots(layout="constrained")
    axes.plot(*zip(*losses), marker=".")
    axes.set(title="Loss", xlabel="Training step", ylabel="Cross-entropy (nats per word)")
    axes.set_xlim(left=0)
    save_figure(figure, path)


def draw_heads(title, heads, words, path):
    """Draw attention weights, float (heads, words, words), two heads side by side."""
    columns = min(2, len(heads))
    rows = math.ceil(len(heads) / columns)
    side = 0.25 * max(9, len(words)) + 1.5  # Of a heatmap, in inches.
    width, height = columns * side + 1, rows * side + 0.5
    dpi = min(100, 1300 / width, 620 / height)  # So a window fits a laptop's screen.
    figure = plt.figure(figsize=(width, height), dpi=dpi, layout="constrained")
    figure.suptitle(title)
    names = [f"{place}: {word}" for place, word in enumerate(words)]
    heads = np.where(np.tri(len(words)), heads, np.nan)  # Later words stay empty, and grey.
    for head, weights in enumerate(heads, start=1):
        axes = figure.add_subplot(rows, columns, head, title=f"Head {head}", facecolor="lightgrey")
        image = axes.imshow(weights, cmap="Oranges", vmin=0, vmax=1)
        axes.set_xticks(range(len(words)), names, rotation=90)
        axes.set_yticks(range(len(words)), names)
    figure.colorbar(image, ax=figure.axes, label="Weight", shrink=0.5)
    figure.supylabel("Word", fontsize="medium")
    figure.supxlabel("Attends to word", fontsize="medium")
    save_figure(figure, path)


def save_figure(figure, path):
    """Write a figure as a PNG file, and name its window."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    figure.canvas.manager.set_window_title(path.stem.replace("_", " ").capitalize())
    print(f"Plot saved to {shown(path)}.")


# --- Saving and loading ---------------------------------------------------------------------------------


def save(model, settings, step, path):
    """Save the weights as a NumPy archive, together with the settings needed to rebuild the model."""
    description = json.dumps({"task": "Transformer", "step": step, "settings": settings})
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    assert len(arrays) == len(model.weights), "two layers have the same name"
    if not all(np.isfinite(array).all() for array in arrays.values()):
        fail(f"the weights are not finite at step {step}; try a lower --lr")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            np.savez(file, description=description, **arrays)
        part.replace(path)  # Atomic: at any moment there is a complete model.
    finally:
        part.unlink(missing_ok=True)  # It is still there if the disk is full, or after Ctrl-C.


def load(path):
    """Return the model saved in a file, and its settings."""
    if not path.exists():
        fail(f"{shown(path)} does not exist; run --train with the same flags first")
    try:
        with np.load(path) as archive:
            arrays = dict(archive)
        description = json.loads(str(arrays.pop("description")))
        if description["task"] != "Transformer":
            fail(f"{shown(path)} is a model of {description['task']}; use another --savepath")
        settings = description["settings"]
        model = Transformer(**settings)
        for weight in model.weights:
            weight.assign(arrays.pop(weight.path.removeprefix("model/")))
        assert not arrays, "more weights than the model has"
    except Exception as error:  # Whatever is wrong with the file.
        fail(f"{shown(path)} is damaged, or does not fit this program ({type(error).__name__})")
    return model, settings


def shown(path):
    """Return a path for printing: relative if it is inside the current folder."""
    return path.relative_to(Path.cwd()) if Path.cwd() in path.parents else path


# --- The program ----------------------------------------------------------------------------------------


def fail(message):
    """End the program with one line on standard error."""
    parser.exit(1, f"{parser.prog}: error: {message}\n")


def main(argv=None):
    """Train, test and plot; argv is a list of flags, by default those of the command line."""
    args = parse_arguments(argv)
    path = args.savepath / "transformer.npz"
    if args.train:
        model, losses = train(args, path)
    else:
        model, settings = load(path)
        args = parse_arguments(argv, settings)
    if args.test:
        test(args, model)
    if args.train and args.plot:
        draw_losses(losses, args.plotpath / "transformer_loss.png")
    if args.plot:
        plt.show()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:  # A full disk, a folder that cannot be written.
        fail(error)
    except KeyboardInterrupt:
        sys.exit(130)
