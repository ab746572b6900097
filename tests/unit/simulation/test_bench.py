"""The bench of decoding."""

from simt.simulation import bench_decode
from tests.samples.settings import lively, make_method, make_model


def test_bench_has_a_row_for_each_length_and_batch() -> None:
    method = make_method("sm2")
    model = lively(make_model(method))
    rows = bench_decode(
        method, model, 0.5, source_tokens=(3, 6), batch_sentences=(1, 4), repetitions=2
    )
    assert [(row["source_tokens"], row["batch_sentences"]) for row in rows] == [
        (3, 1), (3, 4), (6, 1), (6, 4),
    ]  # fmt: skip
    for row in rows:
        assert 0 < row["slowest"] <= row["sentences_per_second"] <= row["fastest"]
