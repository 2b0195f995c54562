import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.pack import Pack
from sampled_transformer.data.sources.fewshot import fold, folds, import_fold


def make_pack(counts: list[int], prefix: str = "", normals: bool = False, ragged: bool = False) -> Pack:
    """Class c has counts[c] shapes named {prefix}{c}_{i}."""
    random = np.random.default_rng(0)
    total = sum(counts)
    sizes = [4 + i % 3 if ragged else 5 for i in range(total)]
    return Pack.from_arrays(
        [random.normal(size=(size, 3)) for size in sizes],
        normals=[random.normal(size=(size, 3)) for size in sizes] if normals else None,
        labels=np.repeat(np.arange(len(counts)), counts),
        names=[f"{prefix}{label}_{i}" for label, count in enumerate(counts) for i in range(count)],
        classes=[f"class{label}" for label in range(len(counts))],
    )


TRAIN, TEST = make_pack([30] * 8, "train"), make_pack([25] * 8, "test")


@pytest.mark.parametrize(("way", "shot", "queries"), [(5, 10, 20), (8, 20, 20), (2, 1, 1), (3, 30, 25)])
def test_sizes_labels_and_sides(way: int, shot: int, queries: int) -> None:
    for task in folds(TRAIN, TEST, way, shot, queries=queries):
        assert np.bincount(task.train.labels).tolist() == [shot] * way
        assert np.bincount(task.test.labels).tolist() == [queries] * way
        assert len(set(task.classes)) == way
        assert task.classes == task.train.classes == task.test.classes
        assert len(set(task.train.names)) == way * shot  # no shape twice
        assert all(name.startswith("train") for name in task.train.names)
        assert all(name.startswith("test") for name in task.test.names)


def test_labels_agree_with_the_classes_they_came_from() -> None:
    for task in folds(TRAIN, TEST, 4, 5, folds=3):
        for part, prefix in ((task.train, "train"), (task.test, "test")):
            for name, label in zip(part.names, part.labels, strict=True):
                assert part.classes[label] == f"class{name.removeprefix(prefix).split('_')[0]}"


def test_points_and_normals_go_with_the_names() -> None:
    pack = make_pack([12, 12, 12], normals=True, ragged=True)
    task = fold(pack, None, 3, 4, queries=5)
    for number, name in enumerate(task.train.names):
        origin = pack.names.tolist().index(name)
        ours, theirs = task.train.batch(number), pack.batch(origin)
        assert ours.points.equal(theirs.points)
        assert ours.normals.equal(theirs.normals)


def names(task: object) -> list[str]:
    return [*task.train.names.tolist(), *task.test.names.tolist()]


def test_a_fold_depends_on_seed_and_number_alone() -> None:
    in_turn = [names(task) for task in folds(TRAIN, TEST, 5, 10)]
    assert len(in_turn) == 10
    assert names(fold(TRAIN, TEST, 5, 10, number=7)) == in_turn[7]
    assert [names(task) for task in folds(TRAIN, TEST, 5, 10, folds=3)] == in_turn[:3]
    assert len({tuple(task) for task in in_turn}) == 10
    assert names(fold(TRAIN, TEST, 5, 10, number=7, seed=1)) != in_turn[7]


def test_all_classes_and_shapes_get_their_turn() -> None:
    seen = {name for task in folds(TRAIN, TEST, 5, 10, folds=60) for name in names(task)}
    assert len(seen) == len(TRAIN) + len(TEST)


@pytest.mark.parametrize("test", [None, "the same"])
def test_one_pack_gives_parts_that_share_no_shape(test: str | None) -> None:
    for task in folds(TRAIN, TRAIN if test else None, 5, 10, queries=20):
        assert not set(task.train.names) & set(task.test.names)
        assert len(task.test) == 100


def test_small_classes_do_not_take_part() -> None:
    train, test = make_pack([30, 9, 30, 30]), make_pack([25, 25, 19, 25])
    assert {name for task in folds(train, test, 2, 10) for name in task.classes} == {"class0", "class3"}
    message = (
        r"^way: expected at most 2, got 3, because 2 of 4 classes have 10 shapes .* and 20 .*; 'class1' has 9 and 25$"
    )
    with pytest.raises(DataError, match=message):
        fold(train, test, 3, 10)
    with pytest.raises(DataError, match=r"0 of 2 classes .*; 'class1' has 29$"):
        fold(make_pack([28, 29]), None, 2, 10)
    with pytest.raises(DataError, match=r"^way: expected at most 8, got 9, because 8 of 8 classes have [^;]*$"):
        fold(TRAIN, TEST, 9, 10)


def test_packs_that_do_not_fit() -> None:
    bare = Pack(TRAIN.points)
    with pytest.raises(DataError, match=r"^train: expected a pack with labels"):
        fold(bare, TEST, 2, 1)
    with pytest.raises(DataError, match=r"^test: expected a pack with labels"):
        fold(TRAIN, bare, 2, 1)
    with pytest.raises(DataError, match=r"^test: expected the classes of train"):
        fold(TRAIN, make_pack([25] * 7), 2, 1)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"way": 1, "shot": 1}, "way"),
        ({"way": 2, "shot": 0}, "shot"),
        ({"way": 2, "shot": 1, "queries": 0}, "queries"),
        ({"way": 2, "shot": 1, "number": -1}, "number"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, int], name: str) -> None:
    with pytest.raises(DataError, match=f"^{name}: expected at least"):
        fold(TRAIN, TEST, **options)


def public_fold(columns: int = 6, way: int = 3, shot: int = 2) -> dict[str, list]:
    """A dict in the format of the published files."""
    random = np.random.default_rng(1)

    def part(each: int) -> list:
        clouds = random.normal(size=(way * each, 10, columns)).astype(np.float32)
        return [(cloud, i % way, f"shape_{i}.npy") for i, cloud in enumerate(clouds)]

    return {"train": part(shot), "test": part(4)}


def write(path: Path, content: object, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("columns", [3, 6])
def test_import_of_a_public_fold(tmp_path: Path, columns: int, protocol: int) -> None:
    content = public_fold(columns)
    task = import_fold(write(tmp_path / "0.pkl", content, protocol))
    assert (len(task.train), len(task.test)) == (6, 12)
    assert task.classes == ("0", "1", "2")
    assert task.train.names.tolist() == [key for _, _, key in content["train"]]
    assert task.test.labels.tolist() == [label for _, label, _ in content["test"]]
    cloud = content["train"][4][0]
    expected = cloud[:, :3] - cloud[:, :3].mean(0)
    expected /= np.linalg.norm(expected, axis=1).max()
    batch = task.train.batch(4)
    assert np.allclose(batch.points[0], expected, atol=1e-4)
    if columns == 6:
        direction = cloud[:, 3:] / np.linalg.norm(cloud[:, 3:], axis=1, keepdims=True)
        assert np.allclose(batch.normals[0], direction, atol=0.01)
    else:
        assert batch.normals is None


def test_labels_may_be_arrays_of_one_number(tmp_path: Path) -> None:
    content = {
        part: [(p, np.array([label], np.int32), k) for p, label, k in items] for part, items in public_fold().items()
    }
    assert import_fold(write(tmp_path / "0.pkl", content)).train.labels.tolist() == [0, 1, 2, 0, 1, 2]


class Attack:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.path),)


def test_import_runs_nothing(tmp_path: Path) -> None:
    content = public_fold()
    content["train"].append(Attack(tmp_path / "attacked"))
    path = write(tmp_path / "0.pkl", content)
    with pytest.raises(DataError, match=rf"0\.pkl: refused to load {os.mkdir.__module__}\.mkdir") as caught:
        import_fold(path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "attacked").exists()


POINTS = np.ones((5, 3), np.float32) * np.arange(5)[:, None]
BROKEN = {
    "a list": ([1, 2], "expected a dict with 'train' and 'test'"),
    "no test": ({"train": [(POINTS, 0, "a")]}, "expected a dict with 'train' and 'test'"),
    "empty part": ({"train": [], "test": []}, "'train': expected a list"),
    "pairs": ({"train": [(POINTS, 0)], "test": []}, "'train': item 0: expected \\(points, label, key\\)"),
    "flat points": ({"train": [(POINTS[0], 0, "a")], "test": []}, "'train': item 0: expected points"),
    "four columns": ({"train": [(np.ones((5, 4)), 0, "a")], "test": []}, "'train': item 0: expected points"),
    "text label": ({"train": [(POINTS, "x", "a")], "test": []}, "'train': item 0: expected a label"),
    "negative label": ({"train": [(POINTS, -1, "a")], "test": []}, "'train': item 0: expected a label"),
    "missing label": (
        {"train": [(POINTS, 0, "a"), (POINTS, 2, "b")], "test": [(POINTS, 0, "a")]},
        "'train': expected labels 0 to 1, got \\[0, 2\\]",
    ),
    "other labels": (
        {"train": [(POINTS, 0, "a"), (POINTS, 1, "b")], "test": [(POINTS, 0, "a")]},
        "'test': expected labels 0 to 1, got \\[0\\]",
    ),
    "huge label": (
        {"train": [(POINTS, 0, "a"), (POINTS, 10**15, "b")], "test": [(POINTS, 0, "a")]},
        "'train': expected labels 0 to 1, got \\[0, 1000000000000000\\]",
    ),
    "NaN": ({"train": [(POINTS * np.nan, 0, "a")], "test": [(POINTS, 0, "a")]}, "'train': points of set 0"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_folds(tmp_path: Path, content: object, message: str) -> None:
    path = write(tmp_path / "0.pkl", content)
    with pytest.raises(DataError, match=message) as caught:
        import_fold(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_very_long_key_does_not_fill_the_memory(tmp_path: Path) -> None:
    content = public_fold(way=3, shot=100)
    content["train"][0] = (*content["train"][0][:2], "k" * 30_000_000)  # 36 GB if all names had its length
    assert import_fold(write(tmp_path / "0.pkl", content)).train.names.itemsize <= 4 * 255


def test_one_array_in_very_many_items(tmp_path: Path) -> None:
    cloud = np.ones((100_000, 3), np.float32)
    path = write(tmp_path / "0.pkl", {"train": [(cloud, 0, "a")] * 1000, "test": [(cloud, 0, "a")]})
    assert path.stat().st_size < 2_000_000
    with pytest.raises(DataError, match="'train': expected arrays of at most the size of the file"):
        import_fold(path)


def test_numbers_have_no_folds():
    numbers = Pack.from_arrays(np.random.default_rng(0).normal(size=(4, 5, 3)), labels=[0.5, 1.5, 2.5, 3.5])
    with pytest.raises(DataError, match="train: expected a pack with classes, got numbers"):
        fold(numbers, TEST, 2, 1, 0, 1)


def test_a_label_that_is_a_list_is_named_and_not_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "0.pkl", {"train": [(POINTS, [1] * 1000, "a")], "test": []})
    with pytest.raises(DataError, match="item 0: expected a label of at least 0, got list"):
        import_fold(path)
