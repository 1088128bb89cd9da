"""Task 3, Signal: positional encodings.

The input is a sequence of random letters. The first one, the signal, names the letter to count in the rest.
The output has a single step, which gives this count:

    input     'B' 'B' 'A' 'B' 'C'
    output    2                        the signal is 'B', and two more 'B' follow

Attention does not see the order of the letters. With --pos_enc, each position adds a vector of its own.
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
import re
import sys
from pathlib import Path

# --- Flags: parsed before TensorFlow is imported, so that --help and typos get an answer at once --------


def positive_int(text):
    """Return an int of at least 1; argparse turns the error into a line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


HERE = Path(__file__).absolute().parent
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MODEL_FLAGS = ("max_len", "vocab_size", "hidden", "pos_enc", "enc_layers")  # Saved with the model.

parser = argparse.ArgumentParser(
    usage="%(prog)s [--train] [--test] [--plot] [options]",
    description="Task 3, Signal: positional encodings. Start with --train --test --plot.",
    formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    allow_abbrev=False,
)
parser.add_argument("--train", action="store_true", help="train a model and save it")
parser.add_argument("--test", action="store_true", help="show what the saved model predicts")
parser.add_argument("--plot", action="store_true", help="plot the loss and the attention")
parser.add_argument("--steps", type=positive_int, default=2000, help="training steps")
parser.add_argument("--batchsize", type=positive_int, default=100, help="sequences per training step")
parser.add_argument("--lr", type=float, default=1e-3, help="learning rate of Adam")
parser.add_argument("--print_every", type=positive_int, default=50, help="training steps per loss line")
parser.add_argument("--save_every", type=positive_int, default=50, help="training steps per checkpoint")
parser.add_argument("--savepath", type=Path, default=HERE / "models", help="folder of the models")
parser.add_argument("--plotpath", type=Path, default=HERE / "plots", help="folder of the plots")
parser.add_argument("--seed", type=int, help="seed for a repeatable run")
parser.add_argument("--pos_enc", action="store_true", help="add positional encodings to the letters")
parser.add_argument("--enc_layers", type=int, default=1, help="encoder layers")
parser.add_argument("--hidden", type=positive_int, default=64, help="encoding dimensions")
parser.add_argument("--max_len", type=positive_int, default=10, help="letters after the signal")
parser.add_argument("--vocab_size", type=int, choices=range(1, 27), metavar="N", default=3, help="letters")
sample = parser.add_mutually_exclusive_group()
sample.add_argument("--signal", type=str.upper, choices=list(LETTERS), metavar="A", help="the tested signal")
sample.add_argument("--input", metavar="TEXT", help="test this sequence, such as BBABCCABCAB")


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
    if args.enc_layers < 0:
        parser.error("argument --enc_layers: must be at least 0")
    sizes_known = args.train or saved  # Otherwise they are still to be read from the checkpoint.
    letters = LETTERS[: args.vocab_size] if sizes_known else LETTERS
    for name, text in (("signal", args.signal), ("input", args.input)):
        if text is not None and (not text or set(map(str.upper, text)) - set(letters)):
            parser.error(f"argument --{name}: use the letters {letters!r}, not {text!r}")
    if args.input and sizes_known and len(args.input) > args.max_len + 1:
        parser.error(f"argument --input: use at most {args.max_len + 1} letters, the signal included")
    if args.input or args.signal or (args.plot and not args.train):
        args.test = True
    if not (args.train or args.test):
        parser.exit(2, parser.format_help())
    return args


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


class Task:
    """Random sequences of letters, and how often the first letter occurs in the rest."""

    def __init__(self, max_len=10, vocab_size=3, generator=None):
        self.max_len = max_len
        self.letters = LETTERS[:vocab_size]
        self.generator = generator or np.random.default_rng()

    def next_batch(self, *shape, length=None):
        """Return random inputs, one-hot float32 (*shape, length, vocab_size), and the answers to them.

        With the shape (100,) they are one batch of 100 sequences, with (50, 100) fifty batches.
        """
        size = (*shape, length or self.max_len + 1)  # With the signal.
        indices = self.generator.integers(len(self.letters), size=size, dtype=np.int32)
        inputs = self.one_hot(indices)
        return inputs, self.answers(inputs)

    def one_hot(self, indices):
        """Return float32 (..., vocab_size) for int (...): 'A' is index 0, 'B' is 1."""
        return np.eye(len(self.letters), dtype=np.float32)[indices]

    def answers(self, inputs):
        """Return int32 (..., 1): how often the first letter occurs in the rest."""
        signal, rest = inputs[..., :1, :], inputs[..., 1:, :]
        matches = (signal * rest).sum(axis=-1)  # 1 where the letter is the signal's, 0 elsewhere.
        return matches.sum(axis=-1, keepdims=True).astype(np.int32)

    def prettify(self, inputs):
        """Return the letters of inputs in a column, str (..., length, 1)."""
        return np.array(list(self.letters))[np.argmax(inputs, axis=-1, keepdims=True)]


# --- Attention and model --------------------------------------------------------------------------------


class Attention(tf.keras.layers.Layer):
    """Scaled dot-product attention, then a residual connection and layer normalization.

    Equation 1 and section 3.1 of Vaswani et al. (2017), https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, name="attention"):
        super().__init__(name=name)
        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")

    def call(self, query, key, value):
        """Return the output, float32 (batch, queries, depth), and the weights, (batch, queries, keys).

        query: float32 (batch or 1, queries, depth); key and value: float32 (batch, keys, depth).
        """
        depth = key.shape[-1]
        scores = tf.matmul(query, key, transpose_b=True) / depth**0.5  # (batch, queries, keys)
        weights = tf.nn.softmax(scores, axis=-1)  # (batch, queries, keys)
        output = self.layer_norm(tf.matmul(weights, value) + query)  # (batch, queries, depth)
        return output, weights


class EncoderLayer(tf.keras.layers.Layer):
    """Self-attention, then two dense layers, each part with a residual connection and layer normalization.

    Sections 3.1 and 3.3 of Vaswani et al. (2017), with one head and without learnt projections.
    """

    def __init__(self, hidden, name):
        super().__init__(name=name)
        self.attention = Attention()
        self.expand = tf.keras.layers.Dense(2 * hidden, activation="relu", name="expand")
        self.contract = tf.keras.layers.Dense(hidden, name="contract")
        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")

    def call(self, encoding):
        """Return the encoding, float32 (batch, length, hidden), and the weights (batch, length, length)."""
        encoding, weights = self.attention(query=encoding, key=encoding, value=encoding)
        expanded = self.expand(encoding)  # (batch, length, 2 * hidden)
        contracted = self.contract(expanded)  # (batch, length, hidden)
        return self.layer_norm(contracted + encoding), weights


class AttentionModel(tf.keras.Model):
    """An encoder, with or without positional encodings, and an output step that attends to its encodings.

    Call with one-hot float32 inputs (batch, length, vocab_size); length is at most max_len + 1.

    Returns:
        logits: float32 (batch, 1, max_len + 1), one for each count from 0 to max_len.
        weights: float32 (batch, 1, length), how much the output step attends to each input step.
        encoder_weights: list of float32 (batch, length, length), the self-attention of each encoder layer.
    """

    def __init__(self, max_len, vocab_size, hidden, pos_enc, enc_layers):
        super().__init__(name="model")
        self.embedding = tf.keras.layers.Dense(hidden, name="embedding")
        self.positional_encoding = None
        if pos_enc:  # One learnt vector per position, the same for every input.
            self.positional_encoding = self.add_weight(
                name="positional_encoding", shape=(1, max_len + 1, hidden), initializer="zeros"
            )
        self.encoder = [EncoderLayer(hidden, f"encoder_layer_{layer + 1}") for layer in range(enc_layers)]
        # One learnt query. It starts at zero, so at first all weights are equal.
        self.query = self.add_weight(name="query", shape=(1, 1, hidden), initializer="zeros")
        self.attention = Attention()
        self.logits_layer = tf.keras.layers.Dense(max_len + 1, name="logits_layer")
        self(tf.zeros((1, max_len + 1, vocab_size)))  # Calling the model once creates its weights.

    def call(self, inputs):
        encoding = self.embedding(inputs)  # (batch, length, hidden)
        if self.positional_encoding is not None:
            encoding += self.positional_encoding[:, : tf.shape(inputs)[1]]  # (batch, length, hidden)
        encoder_weights = []
        for encoder_layer in self.encoder:
            encoding, layer_weights = encoder_layer(encoding)  # (batch, length, hidden)
            encoder_weights.append(layer_weights)
        # The decoding is (batch, 1, hidden).
        decoding, weights = self.attention(query=self.query, key=encoding, value=encoding)
        return self.logits_layer(decoding), weights, encoder_weights


# --- Training -------------------------------------------------------------------------------------------


def train(args, path):
    """Train a model and save it; return it, and a list of (training step, loss in nats)."""
    if args.seed is not None:
        tf.keras.utils.set_random_seed(args.seed)
    task = Task(args.max_len, args.vocab_size, np.random.default_rng(args.seed))
    model = AttentionModel(**args.settings)
    optimizer = tf.keras.optimizers.Adam(args.lr)
    optimizer.build(model.trainable_variables)  # Otherwise train_steps is traced twice.
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=True)
    def train_steps(inputs, answers):
        """Take one training step per batch; return the last loss. A call per step would be slower."""
        loss = 0.0  # TensorFlow's loops need their variables before they begin.
        for batch in tf.range(len(inputs)):
            with tf.GradientTape() as tape:
                logits = model(inputs[batch])[0]
                loss = loss_function(answers[batch], logits)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
        return loss

    # A call takes up to 50 steps, and ends wherever a loss line or a checkpoint is due.
    steps_per_call = math.gcd(50, args.print_every, args.save_every)
    losses, step = [], 0
    while step < args.steps:
        batches = min(steps_per_call, args.steps - step)
        inputs, answers = task.next_batch(batches, args.batchsize)
        loss = float(train_steps(inputs, answers))
        step += batches
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
    """Print the model's answer to one sequence, its attention and its accuracy; --plot draws attention."""
    generator = np.random.default_rng(args.seed).spawn(1)[0]  # Not the sequences of training.
    task = Task(args.max_len, args.vocab_size, generator)
    if args.input:
        inputs = task.one_hot([[LETTERS.index(letter) for letter in args.input.upper()]])
    else:
        inputs, _ = task.next_batch(1)
        if args.signal:
            inputs[0, 0] = task.one_hot(LETTERS.index(args.signal))
    logits, weights, encoder_weights = model(inputs)
    prediction, truth = np.argmax(logits, axis=-1), task.answers(inputs)
    weights = weights.numpy()[0].astype(float)  # As float64, 0.1 is printed as 0.1.
    print(f"\nInput: \n{task.prettify(inputs)}\n\nPrediction: \n{prediction}\n\nTruth: \n{truth}")
    print("\nEncoder-Decoder Attention: ")
    for step, row in enumerate(weights.round(3)):
        print(f"Output step {step} attended mainly to Input steps: {np.flatnonzero(row == row.max())}")
        print(row.tolist())
    if args.pos_enc:
        norms = np.linalg.norm(model.positional_encoding[0], axis=-1).astype(float)
        print(f"\nL2-Norm of Positional Encoding:\n{norms.round(3).tolist()}")

    length = inputs.shape[1]
    batchsize = max(1, min(1000, 10**5 // length))  # Long sequences need more memory.
    batches, answers = task.next_batch(10, batchsize, length=length)
    predictions = np.array([np.argmax(model(batch)[0], axis=-1) for batch in batches])
    right = predictions == answers  # (10, batchsize, steps)
    print(f"\nAccuracy on {10 * batchsize} new samples of length {length}: ", end="")
    print(f"{right.all(axis=-1).mean():.2%} of sequences, {right.mean():.2%} of output steps")

    if args.plot:
        letters = "".join(task.prettify(inputs)[0, :, 0])
        columns = [f"{letter}\n{step}" for step, letter in enumerate(letters)]
        title = f"Encoder-decoder attention\nPrediction: {prediction[0]}\nTruth: {truth[0]}"
        path = args.plotpath / f"encoder_decoder_attention{variant(args)}.png"
        draw_heatmap(title, weights, ["0: count"], columns, path)
        if encoder_weights:
            path = args.plotpath / f"encoder_self_attention{variant(args)}.png"
            draw_encoder([layer_weights[0] for layer_weights in encoder_weights], letters, path)
        if args.pos_enc:
            draw_norms(norms, args.plotpath / f"positional_encoding{variant(args)}.png")


# --- Drawing --------------------------------------------------------------------------------------------


def draw_losses(losses, path):
    """Draw the loss over the training steps, from a list of (training step, loss in nats)."""
    figure, axes = plt.subplots(layout="constrained")
    axes.semilogy(*zip(*losses), marker=".")
    axes.set(title="Loss", xlabel="Training step", ylabel="Cross-entropy (nats per output step)")
    axes.set_xlim(left=0)
    axes.yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    save_figure(figure, path)


def draw_heatmap(title, weights, rows, columns, path):
    """Draw attention weights, float (queries, keys); rows and columns are lists of names."""
    title_width = max(map(len, title.split("\n"))) / 7  # Of its longest line, in inches.
    width = 3 + min(14, max(0.6 * len(columns), title_width - 3))
    height = 1.8 + min(14, 0.6 * len(rows))
    dpi = min(100, 1300 / width, 620 / height)  # So a window fits a laptop's screen.
    figure, axes = plt.subplots(figsize=(width, height), dpi=dpi, layout="constrained")
    darkest = min(1, max(2 / len(columns), weights.max()))  # Equal weights get the middle colour.
    image = axes.imshow(weights, cmap="Oranges", vmin=0, vmax=darkest, aspect="auto")
    figure.colorbar(image, label="Weight")
    axes.set(title=title, ylabel="Output step", xlabel="Attends to")
    for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
        every = math.ceil(len(names) / 30)  # Leave out names that would overlap.
        axis.set_ticks(range(0, len(names), every), names[::every])
    if len(columns) <= 25:  # There is room for a number in each cell.
        for (row, column), weight in np.ndenumerate(weights):
            color = "white" if weight > 0.77 * darkest else "black"
            axes.text(column, row, f"{weight:.2f}", ha="center", va="center", color=color)
    save_figure(figure, path)


def draw_encoder(layers, letters, path):
    """Draw the attention weights of all encoder layers, a list of float (length, length)."""
    columns = min(3, len(layers))
    rows = math.ceil(len(layers) / columns)
    width, height = 4 * columns + 1, 4.3 * rows
    dpi = min(100, 1300 / width, 620 / height)  # So a window fits a laptop's screen.
    figure = plt.figure(figsize=(width, height), dpi=dpi, layout="constrained")
    darkest = min(1, max(2 / len(letters), np.max(layers)))  # Equal weights get the middle colour.
    named = range(0, len(letters), math.ceil(len(letters) / 15))  # Leave out names that would overlap.
    for layer, weights in enumerate(layers, start=1):
        axes = figure.add_subplot(rows, columns, layer, title=f"Encoder layer {layer}")
        image = axes.imshow(weights, cmap="Oranges", vmin=0, vmax=darkest)
        axes.set(ylabel="Input step", xlabel="Attends to input step")
        axes.set_xticks(named, [f"{letters[step]}\n{step}" for step in named])
        axes.set_yticks(named, [f"{step}: {letters[step]}" for step in named])
    figure.colorbar(image, ax=figure.axes, label="Weight", shrink=0.7)
    save_figure(figure, path)


def draw_norms(norms, path):
    """Draw the L2 norms of the positional encodings, float (max_len + 1,)."""
    figure, axes = plt.subplots(layout="constrained")
    axes.bar(range(len(norms)), norms)
    axes.set(title="Positional encodings", xlabel="Input step", ylabel="L2 norm")
    axes.xaxis.get_major_locator().set_params(integer=True)
    save_figure(figure, path)


def save_figure(figure, path):
    """Write a figure as a PNG file, and name its window."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    figure.canvas.manager.set_window_title(path.stem.replace("_", " ").capitalize())
    print(f"Plot saved to {shown(path)}.")


# --- Saving and loading ---------------------------------------------------------------------------------


def variant(args):
    """Return the suffix that keeps the files of the variants apart."""
    layers = "" if args.enc_layers == 1 else f"_{args.enc_layers}_layers"
    return ("_pos_enc" if args.pos_enc else "") + layers


def save(model, settings, step, path):
    """Save the weights as a NumPy archive, together with the settings needed to rebuild the model."""
    description = json.dumps({"task": "Signal", "step": step, "settings": settings})
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
        advice = "run --train with the same flags first"
        for other in sorted(path.parent.glob("checkpoint*.npz")):  # Other variants.
            flags = other.stem.removeprefix("checkpoint").replace("_pos_enc", " --pos_enc")
            flags = re.sub(r"_(\d+)_layers", r" --enc_layers \1", flags)
            advice += f", or --test{flags}"
        fail(f"{shown(path)} does not exist; {advice}")
    try:
        with np.load(path) as archive:
            arrays = dict(archive)
        description = json.loads(str(arrays.pop("description")))
        if description["task"] != "Signal":
            fail(f"{shown(path)} is a model of {description['task']}; use another --savepath")
        settings = description["settings"]
        model = AttentionModel(**settings)
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
    path = args.savepath / f"checkpoint{variant(args)}.npz"
    if args.train:
        model, losses = train(args, path)
    else:
        model, settings = load(path)
        args = parse_arguments(argv, settings)
    if args.test:
        test(args, model)
    if args.train and args.plot:
        draw_losses(losses, args.plotpath / f"loss{variant(args)}.png")
    if args.plot:
        plt.show()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:  # A full disk, a folder that cannot be written.
        fail(error)
    except KeyboardInterrupt:
        sys.exit(130)
