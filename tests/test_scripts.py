"""The scripts start, and the published pricing that one of them compares with is right."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import contract
from sdpbb.problem.contraction import Contraction
from tests.constrained import allowed_sets
from tests.enumeration import random_instance

SCRIPTS = Path(__file__).parents[1] / "scripts"
COMMANDS = [path for path in sorted(SCRIPTS.glob("*.py")) if "argparse" in path.read_text()]


@pytest.fixture(autouse=True)
def scripts_in_the_path(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_every_script_says_what_it_does(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as exited:
        runpy.run_path(str(path), run_name="__main__")
    assert exited.value.code == 0
    assert path.name in capsys.readouterr().out


@given(st.integers(0, 2**32 - 1))
def test_the_published_pricing_finds_the_least_reduced_cost_of_all_clusters(seed):
    """`paper_pricing`, which ours is measured against, is a fair opponent."""
    from paper_pricing import paper_pricing

    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 8)
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        return
    level = max(contraction.total, 1.0) / contraction.n_blocks
    prices = level * rng.random(contraction.n_blocks) * 10 ** rng.uniform(-1.5, 1)
    values = []
    for cluster in allowed_sets(instance, contraction):
        sizes, means = contraction.weights[cluster], contraction.means[cluster]
        spread = ((means - sizes @ means / sizes.sum()) ** 2).sum(axis=1)
        cost = contraction.scatter[cluster].sum() + sizes @ spread
        values.append(cost - prices[cluster].sum())
    found = paper_pricing(contraction, prices)
    assert found.finished
    scale = 1e-11 * (contraction.total + prices.sum() + 1.0)
    assert found.value == pytest.approx(min(values), abs=scale)
