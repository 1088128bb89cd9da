"""Task 2, Difference: self-attention.

The input is a sequence of random letters and blanks. The output says how often each letter occurs, and
then how much the counts of 'A' and 'B' differ:

    input     'A' 'B' ' ' 'B' 'C'
    output    1 2 1 1                  one 'A', two 'B', one 'C'; 'A' and 'B' differ by one

With --self_att, the output steps attend to each other after they have attended to the letters.
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
LETTERS = " ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # The blank comes first.
MODEL_FLAGS = ("max_len", "vocab_size", "hidden", "self_att")  # Saved with the model.

parser = argparse.ArgumentParser(
    usage="%(prog)s [--train] [--test] [--plot] [options]",
    description="Task 2, Difference: self-attention. Start with --train --test --plot.",
    formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    allow_abbrev=False,
)
parser.add_argument("--train", action="store_true", help="train a model and save it")
parser.add_argument("--test", action="store_true", help="show what the saved model predicts")
parser.add_argument("--plot", action="store_true", help="plot the loss and the attention")
parser.add_argument("--steps", type=positive_int, default=1000, help="training steps")
parser.add_argument("--batchsize", type=positive_int, default=100, help="sequences per training step")
parser.add_argument("--lr", type=float, default=1e-2, help="learning rate of Adam")
parser.add_argument("--print_every", type=positive_int, default=50, help="training steps per loss line")
parser.add_argument("--save_every", type=positive_int, default=50, help="training steps per checkpoint")
parser.add_argument("--savepath", type=Path, default=HERE / "models", help="folder of the models")
parser.add_argument("--plotpath", type=Path, default=HERE / "plots", help="folder of the plots")
parser.add_argument("--seed", type=int, help="seed for a repeatable run")
parser.add_argument("--self_att", action="store_true", help="let the output steps attend to each other")
parser.add_argument("--hidden", type=positive_int, default=64, help="encoding dimensions")
parser.add_argument("--max_len", type=positive_int, default=10, help="length of a sequence")
parser.add_argument("--vocab_size", type=int, choices=range(2, 27), metavar="N", default=3, help="letters")
sample = parser.add_mutually_exclusive_group()
sample.add_argument("--sample_len", type=positive_int, help="length of the tested sequence")
sample.add_argument("--input", metavar="TEXT", help='test this sequence, such as "AB BCA CAB"')


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
    letters = LETTERS[: args.vocab_size + 1] if sizes_known else LETTERS
    if args.input is not None:
        args.input = args.input.replace("␣", " ")
        if not args.input or set(map(str.upper, args.input)) - set(letters):
            parser.error(f"argument --input: use the letters {letters!r}, not {args.input!r}")
    if args.input or args.sample_len or (args.plot and not args.train):
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
    """Random sequences of letters, how often each letter occurs, and by how much 'A' and 'B' differ."""

    def __init__(self, max_len=10, vocab_size=3, generator=None):
        self.max_len = max_len
        self.letters = LETTERS[: vocab_size + 1]
        self.generator = generator or np.random.default_rng()

    def next_batch(self, *shape, length=None):
        """Return random inputs, one-hot float32 (*shape, length, vocab_size + 1), and the answers to them.

        With the shape (100,) they are one batch of 100 sequences, with (50, 100) fifty batches.
        """
        size = (*shape, length or self.max_len)
        indices = self.generator.integers(len(self.letters), size=size, dtype=np.int32)
        inputs = self.one_hot(indices)
        return inputs, self.answers(inputs)

    def one_hot(self, indices):
        """Return float32 (..., vocab_size + 1) for int (...): ' ' is index 0, 'A' is 1, 'B' is 2."""
        return np.eye(len(self.letters), dtype=np.float32)[indices]

    def answers(self, inputs):
        """Return int32 (..., vocab_size + 1): the count of each letter, and the difference."""
        counts = inputs.sum(axis=-2)[..., 1:]  # Leave out the blank.
        difference = abs(counts[..., :1] - counts[..., 1:2])  # A slice keeps the axis.
        return np.concatenate([counts, difference], axis=-1).astype(np.int32)

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


class AttentionModel(tf.keras.Model):
    """Attention of the output steps to the input steps and, with self_att, to each other.

    Call with one-hot float32 inputs (batch, length, vocab_size + 1).

    Returns:
        logits: float32 (batch, steps, max_len + 1), one for each number from 0 to max_len.
        weights: float32 (batch, steps, length), how much each output step attends to each input step.
        self_weights: float32 (batch, steps, steps), the same for each output step; only with self_att.
    """

    def __init__(self, max_len, vocab_size, hidden, self_att):
        super().__init__(name="model")
        steps = vocab_size + 1  # The counts and the difference.
        # One learnt query per output step. They start at zero, so at first all weights are equal.
        self.query = self.add_weight(name="query", shape=(1, steps, hidden), initializer="zeros")
        self.key_layer = tf.keras.layers.Dense(hidden, name="key_layer")
        self.attention = Attention()
        self.self_attention = Attention(name="self_attention") if self_att else None
        self.logits_layer = tf.keras.layers.Dense(max_len + 1, name="logits_layer")
        self(tf.zeros((1, max_len, vocab_size + 1)))  # Calling the model once creates its weights.

    def call(self, inputs):
        key = value = self.key_layer(inputs)  # (batch, length, hidden)
        decoding, weights = self.attention(query=self.query, key=key, value=value)  # (batch, steps, hidden)
        if self.self_attention is None:
            return self.logits_layer(decoding), weights
        decoding, self_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
        return self.logits_layer(decoding), weights, self_weights


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
        inputs, _ = task.next_batch(1, length=args.sample_len)
    outputs = model(inputs)
    prediction, truth = np.argmax(outputs[0], axis=-1), task.answers(inputs)
    weights = outputs[1].numpy()[0].astype(float)  # As float64, 0.1 is printed as 0.1.
    print(f"\nInput: \n{task.prettify(inputs)}\n\nPrediction: \n{prediction}\n\nTruth: \n{truth}")
    print("\nEncoder-Decoder Attention: ")
    for step, row in enumerate(weights.round(3)):
        print(f"Output step {step} attended mainly to Input steps: {np.flatnonzero(row == row.max())}")
        print(row.tolist())
    if args.self_att:
        self_weights = outputs[2].numpy()[0].astype(float)
        print("\nSelf-Attention: ")
        for step, row in enumerate(self_weights.round(3)):
            print(f"Attention of Output step {step}:\n{row.tolist()}")

    length = inputs.shape[1]
    batchsize = max(1, min(1000, 10**5 // length))  # Long sequences need more memory.
    batches, answers = task.next_batch(10, batchsize, length=length)
    predictions = np.array([np.argmax(model(batch)[0], axis=-1) for batch in batches])
    right = predictions == answers  # (10, batchsize, steps)
    print(f"\nAccuracy on {10 * batchsize} new samples of length {length}: ", end="")
    print(f"{right.all(axis=-1).mean():.2%} of sequences, {right.mean():.2%} of output steps")

    if args.plot:
        letters = "".join(task.prettify(inputs)[0, :, 0]).replace(" ", "␣")
        columns = [f"{letter}\n{step}" for step, letter in enumerate(letters)]
        names = [*(f"count of {letter}" for letter in task.letters[1:]), "|A − B|"]
        rows = [f"{step}: {name}" for step, name in enumerate(names)]
        answer = f"Prediction: {prediction[0]}\nTruth: {truth[0]}"
        title = f"Encoder-decoder attention\n{answer}"
        path = args.plotpath / f"encoder_decoder_attention{variant(args)}.png"
        draw_heatmap(title, weights, rows, columns, path)
        if args.self_att:
            columns = [f"{name}\n{step}" for step, name in enumerate([*task.letters[1:], "|A − B|"])]
            title = f"Self-attention\nInput: {letters}\n{answer}"
            draw_heatmap(title, self_weights, rows, columns, args.plotpath / "self_attention.png")


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


def save_figure(figure, path):
    """Write a figure as a PNG file, and name its window."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    figure.canvas.manager.set_window_title(path.stem.replace("_", " ").capitalize())
    print(f"Plot saved to {shown(path)}.")


# --- Saving and loading ---------------------------------------------------------------------------------


def variant(args):
    """Return the suffix that keeps the files of the two variants apart."""
    return "_self_att" if args.self_att else ""


def save(model, settings, step, path):
    """Save the weights as a NumPy archive, together with the settings needed to rebuild the model."""
    description = json.dumps({"task": "Difference", "step": step, "settings": settings})
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
        if any(path.parent.glob("checkpoint*.npz")):  # The other variant.
            advice += ", or leave out --self_att" if "self_att" in path.name else ", or add --self_att"
        fail(f"{shown(path)} does not exist; {advice}")
    try:
        with np.load(path) as archive:
            arrays = dict(archive)
        description = json.loads(str(arrays.pop("description")))
        if description["task"] != "Difference":
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
