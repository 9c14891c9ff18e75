"""What the encoder leaves behind."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.storage.encode import Encoder, NotStorable


def test_a_kernel_as_nodes():
    encoder = Encoder()
    tree = encoder.encode(gs.Gaussian(np.array([1.0, 2.0])) + 0.5, "kernel")
    assert tree == {
        "$": "object",
        "class": "Sum",
        "params": {
            "k1": {
                "$": "object",
                "class": "Gaussian",
                "params": {
                    "length_scale": {
                        **{"$": "array", "tensor": "0", "dtype": "float64"},
                        **{"shape": [2], "order": "C"},
                    }
                },
                "fitted": {},
            },
            "k2": {
                **{"$": "object", "class": "Constant"},
                **{"params": {"value": 0.5}, "fitted": {}},
            },
        },
        "fitted": {},
    }
    assert encoder.tensors["0"].tolist() == [1.0, 2.0]


def test_nodes_are_strict_json():
    pipeline = make_pipeline(StandardScaler().fit([[1.0], [2.0]]))
    text = json.dumps(Encoder().encode(pipeline, "p"), allow_nan=False)
    assert "scale_" in text


def test_bookkeeping_of_scikit_learn_is_left_out():
    scaler = StandardScaler().set_output(transform="default").fit([[1.0], [2.0]])
    assert "_sklearn_output_config" in vars(scaler)
    assert "_sklearn_output_config" not in Encoder().encode(scaler, "s")["fitted"]


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (np.random.RandomState(0), "random_state"),
        (np.array([1 + 2j]), "complex"),
        (np.datetime64("2020-01-01"), "datetime64"),
        (np.array(["2020"], dtype="datetime64[D]"), "datetime64"),
        (range(2), "range"),
        (print, "function"),
        (np.ones((1, 1)).view(np.matrix), "matrix"),
    ],
)
def test_refusals_name_the_place(value, word):
    with pytest.raises(NotStorable, match=word) as caught:
        Encoder().encode([value], "here")
    assert str(caught.value).startswith("here[0]")
