from sampled_transformer.data import DataError


def test_a_message_is_always_one_line() -> None:
    assert str(DataError("a.ply: damaged\n  header\r\n\tat line 3")) == "a.ply: damaged header at line 3"


def test_it_is_a_line_that_ends() -> None:
    assert len(str(DataError("a.npz: " + "name, " * 10**6))) < 6_000


def test_it_is_a_value_error() -> None:
    assert issubclass(DataError, ValueError)  # the program turns these into one line and exit code 2
