"""What trains models to measure what the three experiments.md say.

__main__.py         python -m tests.experiments: one lesson or all, its tables and its pictures
edits.py            the edits of main.py, read from experiments.md and applied
trainings.py        trains edited programs, each training in a process of its own, and keeps the models
measuring.py        data, scores, ranges and tables
lesson_1.py …       what each lesson trains and reports; lesson_N.py belongs to the folder N_…
pictures.py         the pictures of the lessons
by_hand.py          the pictures of the examples that the lessons compute by hand
benchmark.py        python -m tests.experiments.benchmark: how fast the programs are
"""
