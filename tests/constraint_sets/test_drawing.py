@pytest.mark.parametrize("unknown", [-1, None, np.nan, ""])
def test_rows_of_unknown_label_take_no_part(unknown):
    """The draw is that of the known rows alone, whatever stands for an unknown label."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 40)
    known = np.flatnonzero(rng.random(40) < 0.5)
    partial = np.full(40, unknown, dtype=object)
    partial[known] = labels[known]
    for drawing in (
        Drawing(pairs=30),
        Drawing(percentage=50),
        Drawing(must_links=5, cannot_links=6),
    ):
        drawn, alone = drawing.of(partial), drawing.of(labels[known])
        assert np.array_equal(drawn.must_link, known[alone.must_link])
        assert np.array_equal(drawn.cannot_link, known[alone.cannot_link])
