"""Random batch shapes for hypothesis, the same at every run."""

from hypothesis import settings
from hypothesis import strategies as st

few_examples = settings(deadline=None, derandomize=True, database=None, max_examples=12)
lengths = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 6)), min_size=1, max_size=4)
seeds = st.integers(0, 10_000)
