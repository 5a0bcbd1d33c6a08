"""Each run's best method is the one that was best in the other runs."""

import subprocess
import sys

import numpy as np
from bench.beside_best import chosen_by_others
from support.places import TESTS


def test_luck_of_one_run_does_not_choose_the_method():
    """The second method is the best in one run by chance, and is not compared there. With the least
    error of all methods it would be: the first's 2, 2 and 2 would stand beside a mean of 1.8."""
    errors = np.array([[[2.0], [2.0], [2.0]], [[0.3], [2.5], [2.6]]])
    assert chosen_by_others(errors) == (2.0 + 2.5 + 2.6) / 3


def test_methods_are_compared_on_a_generated_table(tmp_path):
    command = [sys.executable, str(TESTS / "bench" / "beside_best.py")]
    lines = tmp_path / "lines"
    options = ["--tables", "clinic", "--methods", "mst", "independent", "--epsilons", "1"]
    few = ["--rows", "1000", "--lines", str(lines)]
    done = subprocess.run([*command, *options, *few], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    shares = [x for x in done.stdout.splitlines() if x.startswith("epsilon 1, ")]
    assert [x.split(":")[0][11:] for x in shares][:3] == ["1-way", "2-way", "3-way"]
    assert len(lines.read_text().splitlines()) == 5
    again = subprocess.run([*command, "--of", str(lines)], capture_output=True, text=True)
    assert again.stdout.splitlines() == shares
