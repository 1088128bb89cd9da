"""A transformer that looks things up.

A text introduces one to four names, each with its pet. Then it asks: it repeats one of these names after
another, and each time the pet follows. Here Ben is the first question, and `cat` the answer:

    Anna dog Ben cat Cleo owl Dan hen Ben cat Dan hen Anna dog Dan hen

The model is a language model. It reads such texts, and at each place it learns which word comes next.

The lesson begins at `class Attention`. What stands before it is about flags, packages and data.
"""

# /// script
# requires-python = ">=3.9,<3.15"
# dependencies = ["matplotlib>=3.8,<4", "numpy>=1.26,<3", "tensorflow>=2.16.1,<3"]
# ///

import argparse
import hashlib
import importlib.util
import json
import math
import os
import pathlib
import sys

# --- The texts --------------------------------------------------------------------------

NAMES = "Anna Ben Cleo Dan Eva Finn Gus Hana Ian Jill Kai Lena Max Nora Omar Pia".split()
PETS = "dog cat owl hen pig rat frog goat fish duck crab toad newt pony lamb mole".split()


def vocabulary(pairs):
    """Return the words of texts with at most this many pairs: 2 * pairs names, then 2 * pairs pets."""
    return NAMES[: 2 * pairs] + PETS[: 2 * pairs]


def answers(words):
    """Return what is right: a dict from each place where a name comes again to the pet of that name."""
    pet_of, right = {}, {}
    for place in range(0, len(words), 2):
        if words[place] in pet_of:
            right[place] = pet_of[words[place]]
        elif place + 1 < len(words):
            pet_of[words[place]] = words[place + 1]
    return right


def read(text, pairs):
    """Return the words of a user's text, a list of str; refuse a text that this model cannot read."""
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


# --- The flags --------------------------------------------------------------------------

TASK = "Transformer"


def whole(least, most=2**32 - 1):
    """Return a type for argparse: a whole number from least to most."""

    def integer(text):
        if not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a number from {least} to {most}, not {text}")
        return int(text)

    return integer


def folder(text):
    """Return a pathlib.Path; most shells leave the ~ of --savepath=~/models as it is."""
    return pathlib.Path(os.path.expanduser(text))


HERE = pathlib.Path(__file__).absolute().parent
ABOUT = "A model that looks things up. Begin with --train --test --plot. Defaults are in brackets."
# Without a usage, an error is one line.
parser = argparse.ArgumentParser(
    "transformer.py", usage=argparse.SUPPRESS, description=ABOUT, allow_abbrev=False
)
parser.formatter_class = argparse.MetavarTypeHelpFormatter
flag = parser.add_argument
flag("--train", action="store_true", help="train a model and save it")
flag("--test", action="store_true", help="show what the saved model answers, how, and how well")
flag("--plot", action="store_true", help="draw what --train and --test did; alone: --test --plot")
flag("--steps", type=whole(1), default=1500, help="training steps (%(default)s)")
flag("--batchsize", type=whole(1), default=100, help="texts per training step (%(default)s)")
flag("--lr", type=float, default=1e-3, help="Adam's learning rate (%(default)s)")
flag("--savepath", type=folder, default=HERE / "models", help="for the model (models/ beside this)")
flag("--plotpath", type=folder, default=HERE / "plots", help="for the images (plots/ beside this)")
flag("--print_every", type=whole(1), default=50, help="training steps per loss line (%(default)s)")
flag("--save_every", type=whole(1), default=500, help="training steps per checkpoint (%(default)s)")
flag("--seed", type=whole(0), help="makes a run repeatable (none)")
# These describe the model: they are saved with it, and --test reads them from there.
MODEL_FLAGS = (
    flag("--pairs", type=whole(1, 8), default=4, help="pairs in a text, at most (%(default)s)"),
    flag("--hidden", type=whole(1), default=32, help="numbers in a word's vector (%(default)s)"),
    flag("--layers", type=whole(1), default=2, help="blocks, one after the other (%(default)s)"),
    flag("--heads", type=whole(1), default=4, help="heads of each attention (%(default)s)"),
)
flag("--input", type=str, metavar="TEXT", help='the text, such as "Anna dog Ben cat Anna" (random)')


def fail(message):
    """End the program with one line on standard error."""
    parser.exit(1, f"{parser.prog}: error: {message}\n")


def shown(path):
    """Return a path as it is printed: relative if it is in the current folder."""
    here = pathlib.Path.cwd()
    return path.relative_to(here) if here in path.parents else path


def parse_arguments(argv=None, saved=None):
    """Return the flags; the settings of a saved model, a dict, take the place of their defaults.

    Ends the program with one line where no model can do what they say, or not this one.
    """
    args = parser.parse_args(argv, argparse.Namespace(**(saved or {})))
    if not 0 < args.lr < math.inf:
        parser.error(f"argument --lr: must be a number above 0, not {args.lr}")
    args.settings = {each.dest: vars(args)[each.dest] for each in MODEL_FLAGS}
    args.checkpoint = args.savepath / "transformer.npz"
    for name, value in (saved or {}).items():
        if args.settings[name] != value:
            parser.error(f"argument --{name}: it is {value} in {shown(args.checkpoint)}; leave it out")
    if args.input is not None or (args.plot and not args.train):
        args.test = True
    if not (args.train or args.test):
        parser.exit(2, parser.format_help())
    sizes_known = args.train or saved  # Else they are still to be read from the checkpoint.
    if sizes_known and args.hidden % args.heads:
        parser.error(f"argument --hidden: {args.hidden} cannot be divided among --heads {args.heads}")
    if args.input is not None:
        args.input = read(args.input, args.pairs if sizes_known else 8)
    if not sizes_known and not os.path.exists(args.checkpoint):
        words = ["--train"]
        for name, value in args.settings.items():
            if value != parser.get_default(name):
                words.append(f"--{name}" if value is True else f"--{name} {value}")
        if args.savepath != parser.get_default("savepath"):
            words.append(f'--savepath "{args.savepath}"')  # It may have blanks.
        fail(f"there is no {shown(args.checkpoint)} yet; train it with {' '.join(words)}")
    return args


if __name__ == "__main__":
    parse_arguments()  # A wrong flag does not wait for the imports. main() parses again.

# --- The packages -----------------------------------------------------------------------

# The main.py of Lesson 3, in the folder above, prepares the imports, saves files and shows pictures. In
# a notebook, a plain `import main` could find another lesson's.
specification = importlib.util.spec_from_file_location("lesson_3", HERE.parent / "main.py")
lesson_3 = importlib.util.module_from_spec(specification)
specification.loader.exec_module(lesson_3)
lesson_3.parser.prog = parser.prog  # Its messages begin with our name.

import matplotlib.pyplot as pyplot
import numpy as np
import tensorflow as tf

# --- The data ---------------------------------------------------------------------------


def next_batch(generator, pairs, *shape, introduced=None):
    """Return random texts, int32 (*shape, 4 * pairs): the numbers of their words in vocabulary(pairs).

    A text introduces 1 to `pairs` pairs, each number equally often, or as many as `introduced` says.
    """
    if introduced is None:
        introduced = generator.integers(1, pairs + 1, size=(*shape, 1))
    names = np.broadcast_to(np.arange(2 * pairs), (*shape, 2 * pairs))
    names = generator.permuted(names, axis=-1)  # (*shape, 2 * pairs). All are different.
    pets = generator.integers(2 * pairs, 4 * pairs, size=names.shape)  # One for each name; some are the same.
    # A text has 2 * pairs turns, each a name and its pet: first each new name, then questions at random. With
    # turns 0 1 2 3 1 3 0 3, it introduces four names, and then asks for the second one, the fourth, ...
    turns = np.arange(2 * pairs)
    questions = generator.integers(introduced, size=names.shape)
    turns = np.where(turns < introduced, turns, questions)  # (*shape, 2 * pairs): whose turn it is.
    texts = np.stack([np.take_along_axis(words, turns, axis=-1) for words in (names, pets)], axis=-1)
    return texts.reshape(*shape, 4 * pairs).astype(np.int32)  # A name and its pet, a name and its pet, ...


# --- The attention and the model --------------------------------------------------------


class Attention(tf.keras.layers.Layer):
    """Self-attention with heads and a causal mask.

    Section 3.2 of Vaswani et al. (2017), "Attention is all you need", https://arxiv.org/abs/1706.03762.
    Query, key and value are made here, each by a matrix of its own. The residual connection and the
    normalization, part of Attention in Lesson 3, stand in Block.

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
        place = tf.range(tf.shape(vectors)[1])
        mask = place[:, None] >= place  # (words, words), False where the key is a later word.
        weights = tf.nn.softmax(tf.where(mask, logits, -np.inf))  # (batch, heads, words, words)
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
        vectors = vectors + found  # The residual connection.
        expanded = self.expand(self.norm_2(vectors))  # (batch, words, 2 · hidden)
        vectors = vectors + self.contract(expanded)  # (batch, words, hidden)
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
        vectors = self.embedding(words) + self.positions[:, : tf.shape(words)[1]]  # (batch, words, hidden)
        all_weights = []
        for block in self.blocks:
            vectors, weights = block(vectors)
            all_weights.append(weights)
        logits = self.logits_layer(self.norm(vectors))  # (batch, words, size)
        return logits, all_weights


# --- Training ---------------------------------------------------------------------------


def train(args):
    """Train a model and save it; print the mean loss of the last training steps, 50 at most.

    A loss that is not finite ends the program. Ctrl-C ends it, too, and saves the model. But an
    earlier model stays if this training has not yet saved a checkpoint of its own.

    Returns:
        model: Transformer.
        losses: list of (training step, loss in nats).
    """
    lesson_3.check_folder(args.savepath)  # Better to fail now than after the training.
    if args.plot:
        lesson_3.check_folder(args.plotpath)
    if args.seed is not None:
        tf.keras.utils.set_random_seed(args.seed)
    generator = np.random.default_rng(args.seed)
    model = Transformer(**args.settings)
    optimizer = tf.keras.optimizers.Adam(args.lr)
    optimizer.build(model.trainable_variables)  # Else the first call does, and is traced twice.

    @tf.function(jit_compile=True)  # The loop becomes one piece of machine code.
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

    # Calling run_steps costs more than a small training step. So each call makes several: at most 50, and
    # a number that divides both intervals.
    per_call = math.gcd(50, args.print_every, args.save_every)
    losses, step, saved = [], 0, False
    try:
        while step < args.steps:
            shape = (min(per_call, args.steps - step), args.batchsize)
            texts = next_batch(generator, args.pairs, *shape)
            loss = float(run_steps(texts[..., :-1], texts[..., 1:]))
            step += len(texts)
            if not math.isfinite(loss):
                fail(f"the loss at step {step} is not finite; lower --lr")
            if step % args.print_every == 0 or step == args.steps:
                losses.append((step, loss))
                print(f"Iteration {step} - Loss {loss}", flush=True)
            if step % args.save_every == 0 or step == args.steps:
                save_model(args, model, step)
                saved = True
    except KeyboardInterrupt:
        step = int(optimizer.iterations.numpy())  # Ctrl-C waits for a call to end; `step` lags.
        path = shown(args.checkpoint)
        if step > 0 and (saved or not args.checkpoint.exists()):
            save_model(args, model, step)
            print(f"transformer.py: stopped; step {step} is saved in {path}", file=sys.stderr)
        else:
            print(f"transformer.py: stopped; step {step} is not saved, {path} is as it was", file=sys.stderr)
        sys.exit(130)
    print(f"Training complete!\nModel saved to {shown(args.checkpoint)}.", flush=True)
    return model, losses


# --- Testing ----------------------------------------------------------------------------


def test(args, model):
    """Print a model's answers to a text, its attention and accuracy; with --plot, draw the attention."""
    generator = np.random.default_rng(args.seed).spawn(1)[0]  # Not the data of the training.
    pairs, known = args.pairs, vocabulary(args.pairs)
    text = [known[number] for number in next_batch(generator, pairs, introduced=pairs)]
    if args.input:  # In place of the drawn one, so that the texts below stay the same.
        text = args.input
    right = answers(text)
    print(f"\nText: \n{' '.join(text)}")
    words = text[: max(right) + 1]  # Up to the last question.
    logits, weights = model(np.array([[known.index(word) for word in words]]))
    layers = [layer_weights[0].numpy() for layer_weights in weights]  # Each (heads, words, words).
    pets = np.arange(1, min(right), 2)  # The places of the pets before the first question.
    for layer, heads in enumerate(layers[:-1], start=1):
        on_owners = heads[:, pets, pets - 1]  # (heads, pets): each pet stands after its owner.
        head = on_owners.mean(axis=-1).argmax()
        print(f"\nLayer {layer}, head {head + 1}, what each pet attended mainly to:")
        for place in pets:
            print(f"{words[place]} at word {place}: {mainly(words, heads[head, place])}")
    for place, pet in right.items():
        print(f"\nQuestion at word {place}: {words[place]}")
        print(f"Prediction: {known[np.argmax(logits[0, place])]}")
        print(f"Truth: {pet}")
        rows = layers[-1][:, place]  # (heads, words)
        for head in np.argsort(-rows.max(axis=-1)):  # The largest weight first.
            found = mainly(words, rows[head])
            print(f"Layer {len(layers)}, head {head + 1}, attended mainly to: {found}")

    first = 2 * pairs  # The first question comes when all pairs have been introduced.
    correct = []
    for _ in range(10):
        texts = next_batch(generator, pairs, 1000, introduced=pairs)
        logits, _ = model(texts[:, : first + 1])
        correct.extend(np.argmax(logits[:, first], axis=-1) == texts[:, first + 1])
    print(f"\nAccuracy on {len(correct)} new texts of {pairs} pairs: ", end="")
    print(f"{np.mean(correct):.2%} of first questions", flush=True)
    if args.plot:
        for layer, heads in enumerate(layers, start=1):
            draw_heads(f"Layer {layer}", heads, words, args.plotpath / f"transformer_layer_{layer}.png")


def mainly(words, weights):
    """Return the word with the largest of the weights, float (words,), as text: "cat at word 3 (0.985)"."""
    place = weights.argmax()
    return f"{words[place]} at word {place} ({weights[place]:.3f})"


# --- Drawing ----------------------------------------------------------------------------


def draw_losses(losses, path):
    """Draw the loss over the training steps, from a list of (step, loss in nats), into a PNG file."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(*np.transpose(losses), marker=".")
    axes.set(title="Transformer: loss", xlabel="Training step", ylabel="Cross-entropy (nats per word)")
    lesson_3.save_figure(figure, path)


def draw_heads(title, heads, words, path):
    """Draw attention weights, float (heads, words, words), two heads side by side, into a PNG file."""
    columns = min(2, len(heads))
    lines = math.ceil(len(heads) / columns)
    side = 0.25 * max(9, len(words)) + 1.2  # Of a heatmap, in inches.
    figure = pyplot.figure(figsize=(columns * side, lines * side), layout="constrained")
    for head, weights in enumerate(heads, start=1):
        axes = figure.add_subplot(lines, columns, head, title=f"{title}, head {head}")
        image = axes.imshow(weights, vmin=0, vmax=1)
        axes.set_xticks(range(len(words)), words, rotation=90)
        axes.set_yticks(range(len(words)), words)
    figure.colorbar(image, ax=figure.axes, label="Attention weight", shrink=0.5)
    figure.supylabel("Query: the word that attends", fontsize="medium")
    figure.supxlabel("Key: the word that it attends to", fontsize="medium")
    lesson_3.save_figure(figure, path)


# --- Saving and loading -----------------------------------------------------------------

PROGRAM = pathlib.Path(__file__).read_text(encoding="utf-8")  # As text, all line ends are the same.
FILE_HASH = hashlib.sha256(PROGRAM.encode()).hexdigest()


def save_model(args, model, step):
    """Save a model after this training step, and what it takes to build it, as a NumPy archive."""
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    assert len(arrays) == len(model.weights), "two layers have the same name"
    if not all(np.isfinite(array).all() for array in arrays.values()):  # The last step can do that.
        fail(f"not all weights at step {step} are finite; lower --lr")
    description = dict(task=TASK, step=step, settings=args.settings, program=FILE_HASH)
    arrays["description"] = json.dumps(description)
    lesson_3.write_file(args.checkpoint, lambda file: np.savez(file, **arrays))


def load_model(path):
    """Return the model in a checkpoint and its settings, a dict; end the program where it does not fit."""
    path = pathlib.Path(path)
    unfit = f"{shown(path)} is missing, damaged, or not of this file; undo an edit, or change --savepath"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive}
        description = json.loads(arrays.pop("description").item())
        saved, program = description["settings"], description["program"]
        # Each value must be one that its flag would take.
        settings = {each.dest: (each.type or bool)(saved[each.dest]) for each in MODEL_FLAGS}
        if settings != saved or description["task"] != TASK:
            fail(unfit)
    except Exception:  # A damaged or foreign file raises all kinds.
        fail(unfit)
    model = Transformer(**settings)
    weights = {weight.path.removeprefix("model/"): weight for weight in model.weights}
    needed = {name: (*weight.shape, weight.dtype) for name, weight in weights.items()}
    if needed != {name: (*array.shape, array.dtype.name) for name, array in arrays.items()}:
        fail(unfit)
    for name, weight in weights.items():
        weight.assign(arrays[name])
    if program != FILE_HASH:
        name = pathlib.Path(__file__).name
        print(f"warning: {name} is not the program that trained {shown(path)}", file=sys.stderr)
    return model, settings


# --- The program ------------------------------------------------------------------------


@pyplot.style.context("default")  # As on our pages, whatever a notebook has chosen.
def main(argv=None):
    """Train, test and plot as argv, a list of flags, says; where it cannot, exit with one line."""
    args = parse_arguments(argv)
    if args.plot:
        lesson_3.choose_backend()
    if args.train:
        model, losses = train(args)
    else:
        model, settings = load_model(args.checkpoint)
        args = parse_arguments(argv, settings)
    if args.test:
        test(args, model)
    if args.train and args.plot:
        draw_losses(losses, args.plotpath / "transformer_loss.png")
    if pyplot.get_fignums():
        pyplot.show()


if __name__ == "__main__":
    main()
