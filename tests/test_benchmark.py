"""The comparison of speed with another project's programs."""

import collections
import sys
import types

import program
import pytest
from experiments import benchmark, programs, results


def test_the_benchmark_says_what_part_of_the_other_program_s_time_this_one_takes(tmp_path, monkeypatch):
    """And it runs each variant with its flags, as often."""
    with pytest.raises(SystemExit):
        benchmark.seconds([sys.executable, "-c", "raise SystemExit(1)"])
    with monkeypatch.context() as patch:
        patch.setattr(benchmark, "time", types.SimpleNamespace(perf_counter=iter([1.5, 4]).__next__))
        assert benchmark.seconds([sys.executable, "-c", ""]) == 2.5
    ran = collections.defaultdict(list)  # Where models were saved.
    times = {"their python": (9, 4, 4, 4, 9), "old": (2, 2, 2, 2, 2), sys.executable: (3, 1, 3, 3, 8)}

    def seconds(words):
        python, script, savepath, *flags = map(str, words)
        ran[python, script, " ".join(flags)].append(savepath)
        return times[python][len(ran[python, script, " ".join(flags)]) - 1]

    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(benchmark, "seconds", seconds)
    (tmp_path / program.FOLDERS[1]).mkdir()
    (tmp_path / programs.SCRIPTS[1]).touch()  # The old one has no other task.
    others = ("--other", "theirs", "their python", programs.ROOT, "--other", "old one", "old", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, others)])
    benchmark.main()
    rows = [*results.tables((tmp_path / "speed.md").read_text("utf-8"))]
    cells = {(row, head): cell for row, head, cell in rows}
    assert len(cells) == len(rows) > 30  # Each once.
    trainings_of = []
    for variant in program.VARIANTS:
        row = f"Task {variant}: `--train`"
        old = ["2.00", "1.50"] if variant == "1" else ["", ""]
        heads = "theirs", "of theirs", "old one", "of old one"
        assert [cells[row, head] for head in heads] == ["4.00", "0.75", *old]
        assert cells[row, benchmark.NOW] == "3.00 (1.00 to 8.00)"
        task, *flags = variant.split()
        script, train = str(programs.script(int(task))), f"--train --steps={benchmark.STEPS[int(task)]}"
        keys = [("their python", train), (sys.executable, train), (sys.executable, "--test")]
        theirs, trained, tested = (ran[python, script, " ".join([*flags, what])] for python, what in keys)
        assert len(set(theirs)) == 1 and trained == tested == 5 * tested[:1] and theirs[0] not in trained
        trainings_of.append(trained[0])
    assert len(set(trainings_of)) == len(program.VARIANTS)
