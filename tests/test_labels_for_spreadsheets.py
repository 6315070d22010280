"""Labels as CSV: a spreadsheet that has written the data opens them as a table."""


def test_runs_and_resumed_runs_write_labels_as_the_data_are(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_bytes(
        "name;x\nAnna;0,5\nBjörn;1,5\nZoë;9,5\n".encode("utf-8-sig")
    )
    stated = ["data.csv", "--index-column", "name", "--quiet"]
    expected = "name;cluster\nAnna;0\nBjörn;0\nZoë;1\n".encode("utf-8-sig")
    assert run("solve", *stated, "-k", "2", "--checkpoint", "run", "--labels", "a.csv")[0] == 0
    assert run("resume", "run", "--labels", "b.csv", "--quiet")[0] == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes() == expected
