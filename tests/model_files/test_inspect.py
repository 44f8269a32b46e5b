"""What `dalembert inspect` shows of a model."""

import io
from pathlib import Path

from rich.console import Console

from dalembert import gallery
from dalembert.io.files import ImportedModel
from dalembert.io.load import branches, model_totals, model_tree


def test_a_joint_that_leads_back_is_a_loop():
    scene = gallery.load("four-bar").build()
    model = ImportedModel(scene, Path("four-bar.usda"), "USD", joints=list(scene.joints))
    assert [branch.closes for branch in branches(model)].count(True) == 1
    assert model_totals(model)["loops and couplings"] == 1
    assert model_totals(model)["freedoms"] == 3  # of the tree
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(model_tree(model))
    text = console.export_text()
    assert "closes a loop to" in text and all(name in text for name in scene.bodies)
