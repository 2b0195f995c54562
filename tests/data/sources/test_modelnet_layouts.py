"""The published layouts of ModelNet, read through `load`, which finds out which one it is."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from helpers.modelnet import RANDOM, check, table, write_hdf5

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.sources.modelnet import load
from sampled_transformer.data.sources.modelnet_layouts import CLASSES, parse_six_decimals

FORTY, TEN = CLASSES["modelnet40"], CLASSES["modelnet10"]


def test_class_lists() -> None:
    assert len(FORTY) == 40
    assert list(FORTY) == sorted(FORTY)
    assert len(TEN) == 10
    assert set(TEN) < set(FORTY)


class TestHdf5:
    def test_files_in_order(self, hdf5: tuple[Path, list[np.ndarray]]) -> None:
        root, tables = hdf5
        pack = load(root, "train")
        assert [pack.classes[label] for label in pack.labels] == ["airplane", "chair", "xbox", "bathtub", "table"]
        for number in range(5):
            check(pack, number, tables[number])
        test = load(root, "test")
        assert (len(test), test.labels.tolist(), test.names.tolist()) == (1, [2], ["ply_data_test0_0000"])

    def test_published_list_and_names(self, hdf5: tuple[Path, list[np.ndarray]]) -> None:
        root, tables = hdf5
        lines = [f"data/modelnet40_ply_hdf5_2048/ply_data_train{number}.h5" for number in (1, 0)]
        (root / "train_files.txt").write_text("\n".join(lines) + "\n")
        (root / "ply_data_train_0_id2file.json").write_text(
            json.dumps(["airplane/airplane_0627.ply", "chair/chair_1.ply"])
        )
        pack = load(root, "train")
        check(pack, 0, tables[2])
        assert pack.names.tolist()[3:] == ["airplane_0627", "chair_1"]

    def test_own_class_names(self, hdf5: tuple[Path, list[np.ndarray]]) -> None:
        root, _ = hdf5
        names = [f"name{number}" for number in range(40)]
        (root / "shape_names.txt").write_text("\n".join(names))
        assert load(root, "train").classes == tuple(names)
        (root / "shape_names.txt").write_text("\n".join(names[:39]))
        with pytest.raises(DataError, match=r"ply_data_train1\.h5: 'label': expected 0 to 38, got 1 to 39"):
            load(root, "train")
        (root / "shape_names.txt").write_text("one\none\n")
        with pytest.raises(DataError, match=r"shape_names\.txt: expected one class name per line, each once"):
            load(root, "train")

    def test_normals_in_some_files_are_left_out(self, hdf5: tuple[Path, list[np.ndarray]]) -> None:
        root, tables = hdf5
        write_hdf5(root / "ply_data_train1.h5", tables[2:5], [39, 1, 33], normals=False)
        assert load(root, "train").normals is None

    def test_missing_files(self, hdf5: tuple[Path, list[np.ndarray]]) -> None:
        root, _ = hdf5
        (root / "ply_data_train0.h5").unlink()
        with pytest.raises(DataError, match=r"1 of 1 listed files are missing; the first is ply_data_train0\.h5"):
            load(root, "train")
        (root / "train_files.txt").write_text("x/ply_data_train1.h5\nx/ply_data_train2.h5\n")
        with pytest.raises(DataError, match=r"1 of 2 listed files are missing; the first is ply_data_train2\.h5"):
            load(root, "train")

    def test_damaged_file_and_names(self, hdf5: tuple[Path, list[np.ndarray]]) -> None:
        root, _ = hdf5
        for text, message in (
            ("[", "not JSON"),
            ('["a"]', "expected a list of 2 names"),
            ("[1, 2]", "expected a list of names, got list"),
        ):
            (root / "ply_data_train_0_id2file.json").write_text(text)
            with pytest.raises(DataError, match=rf"id2file\.json: {message}"):
                load(root, "train")
        (root / "ply_data_train_0_id2file.json").unlink()
        (root / "ply_data_train1.h5").write_bytes(b"nothing of the kind")
        with pytest.raises(DataError, match=r"ply_data_train1\.h5: not an HDF5 file"):
            load(root, "train")


def write_text_folder(root: Path, variant: str, split: str, names: list[str]) -> dict[str, np.ndarray]:
    tables = {name: table() for name in names}
    for name, values in tables.items():
        folder = root / name.rpartition("_")[0]
        folder.mkdir(parents=True, exist_ok=True)
        np.savetxt(folder / f"{name}.txt", values, fmt="%.6f", delimiter=",")
    (root / f"{variant}_{split}.txt").write_text("\n".join(names) + "\n")
    return tables


class TestText:
    def test_lists_labels_and_values(self, tmp_path: Path) -> None:
        tables = write_text_folder(
            tmp_path, "modelnet40", "train", ["night_stand_0001", "airplane_0002", "tv_stand_0009"]
        )
        write_text_folder(tmp_path, "modelnet40", "test", ["xbox_0001"])
        (tmp_path / "modelnet40_shape_names.txt").write_text("\n".join(FORTY))
        pack = load(tmp_path, "train")
        assert pack.names.tolist() == list(tables)
        assert [pack.classes[label] for label in pack.labels] == ["night_stand", "airplane", "tv_stand"]
        for number, values in enumerate(tables.values()):
            check(pack, number, values)
        assert load(tmp_path, "test").names.tolist() == ["xbox_0001"]

    def test_modelnet10_has_lists_of_its_own(self, tmp_path: Path) -> None:
        write_text_folder(tmp_path, "modelnet40", "train", ["airplane_0002"])
        write_text_folder(tmp_path, "modelnet10", "train", ["toilet_0001", "bathtub_0001"])
        pack = load(tmp_path, "train", variant="modelnet10")
        assert pack.classes == TEN
        assert pack.labels.tolist() == [9, 0]

    def test_modelnet10_without_its_lists_and_modelnet40_without_its_own(self, tmp_path: Path) -> None:
        write_text_folder(tmp_path, "modelnet40", "train", ["airplane_0002", "bathtub_0001"])
        write_text_folder(tmp_path, "modelnet10", "test", ["toilet_0001"])
        assert load(tmp_path, "train", variant="modelnet10").names.tolist() == ["bathtub_0001"]
        with pytest.raises(DataError, match="no modelnet40 here"):
            load(tmp_path, "test", variant="modelnet40")

    def test_folder_above(self, tmp_path: Path) -> None:
        write_text_folder(tmp_path / "modelnet40_normal_resampled", "modelnet40", "train", ["airplane_0002"])
        assert len(load(tmp_path, "train")) == 1

    def test_fewer_points(self, tmp_path: Path) -> None:
        write_text_folder(tmp_path, "modelnet40", "train", ["airplane_0002", "xbox_0001"])
        assert load(tmp_path, "train", points=5).points.shape == (2, 5, 3)
        with pytest.raises(DataError, match=r"points: expected 1 to 12, the size of .*airplane_0002, got 13"):
            load(tmp_path, "train", points=13)

    @pytest.mark.parametrize(
        ("style", "end"),
        [("%.6f", "\n"), ("%.6f", ""), ("%.6f", "\r\n"), ("%.5f", "\n"), ("%.4e", "\n"), ("%+.6f", "\n")],
    )
    def test_any_way_to_write_numbers(self, tmp_path: Path, style: str, end: str) -> None:
        tables = write_text_folder(tmp_path, "modelnet40", "train", ["airplane_0001", "xbox_0001"])
        for name, values in tables.items():
            lines = [",".join(style % value for value in row) for row in values]
            path = tmp_path / name.rpartition("_")[0] / f"{name}.txt"
            path.write_bytes((end or "\n").join(lines).encode() + end.encode())
        pack = load(tmp_path, "train")
        for number, values in enumerate(tables.values()):
            check(pack, number, values)

    def test_values_to_the_last_digit(self) -> None:
        values = np.concatenate([RANDOM.uniform(-10, 10, (500, 6)), [[0, 1, -1, 9.999999, -9.999999, -1e-6]]])
        values = values.clip(-9.999999, 9.999999)
        text = "".join(",".join(f"{value:.6f}" for value in row) + "\n" for row in values).encode()
        expected = np.loadtxt(text.decode().splitlines(), delimiter=",")
        assert np.allclose(parse_six_decimals(text), expected, rtol=1e-6, atol=1e-12)

    def test_missing_files_are_counted(self, tmp_path: Path) -> None:
        write_text_folder(tmp_path, "modelnet40", "train", ["airplane_0001", "airplane_0002", "xbox_0001"])
        (tmp_path / "airplane" / "airplane_0002.txt").unlink()
        (tmp_path / "xbox" / "xbox_0001.txt").unlink()
        with pytest.raises(
            DataError, match=r"2 of 3 listed files are missing; the first is airplane.airplane_0002\.txt"
        ):
            load(tmp_path, "train")

    @pytest.mark.parametrize("name", ["spaceship_0001", "airplane", "../airplane_0001", "airplane/../../x_0001"])
    def test_names_of_no_class(self, tmp_path: Path, name: str) -> None:
        write_text_folder(tmp_path, "modelnet40", "train", ["airplane_0001"])
        (tmp_path / "modelnet40_train.txt").write_text(f"airplane_0001\n{name}\n")
        with pytest.raises(DataError, match=r"modelnet40_train\.txt: expected names of the 40 classes, got '.*'"):
            load(tmp_path, "train")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "1,2,3,0,0,1\n1,2,3\n",  # ragged
            "0.000001,0.000001,0.000001,0.000001,0.000001\n" * 6,  # five columns, a multiple of six numbers
            "0.000001,0.000001,0.000001,0.000001,0.000001,0.00x001\n",
            "1,2,3\n4,5,6\n",
            "1 2 3 0 0 1\n",
            "a,b,c,d,e,f\n",
            "\x00\x01\x02",
            "nan,2,3,0,0,1\n1,2,3,0,0,1\n",
            "1,2,3,0,0,1\n1,inf,3,0,0,1\n",
        ],
    )
    def test_broken_text(self, tmp_path: Path, text: str) -> None:
        write_text_folder(tmp_path, "modelnet40", "train", ["airplane_0001"])
        (tmp_path / "airplane" / "airplane_0001.txt").write_text(text)
        with pytest.raises(DataError, match="airplane_0001") as caught:
            load(tmp_path, "train")
        assert str(tmp_path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_empty_list(self, tmp_path: Path) -> None:
        (tmp_path / "modelnet40_train.txt").write_text("\n")
        with pytest.raises(DataError, match="no shapes"):
            load(tmp_path, "train")


class TestDat:
    def test_small_files_that_stand_for_large_ones(self, tmp_path: Path) -> None:
        cloud, many = np.ones((1000, 6), np.float32), [[0] * 1000] * 1000
        self.write(tmp_path, [[cloud] * 1000, [0] * 1000])
        with pytest.raises(DataError, match=r"\.dat: expected arrays of at most the size of the file, got more"):
            load(tmp_path, "train")
        for label, got in ((many, "list"), (10**5000, "int"), (True, "True"), (1.0, "1.0"), (40, "40")):
            self.write(tmp_path, [[cloud], [label]])
            with pytest.raises(DataError, match=rf"shape 0: expected a label from 0 to 39, got .*{got}"):
                load(tmp_path, "train")

    def write(self, root: Path, content: object) -> None:
        (root / "modelnet40_train.txt").write_text("airplane_0001\n")
        (root / "modelnet40_train_8192pts_fps.dat").write_bytes(pickle.dumps(content))

    def test_values(self, tmp_path: Path) -> None:
        tables = [table(), table()]
        self.write(tmp_path, [tables, [np.array([3], np.int32), np.array([0], np.int32)]])
        pack = load(tmp_path, "train")
        assert pack.labels.tolist() == [3, 0]
        check(pack, 1, tables[1])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ({"a": 1}, "expected a list of points and a list of labels"),
            ([[table()], []], "expected one label per shape, got 0 labels for 1 shapes"),
            ([[table()[:, :3]], [0]], r"shape 0: expected an array \(n, 6\)"),
            ([[table()], [40]], "shape 0: expected a label from 0 to 39, got 40"),
            ([[table()], ["a"]], "shape 0: expected a label"),
            ([[len], [0]], "refused to load builtins.len"),  # print: Ray replaces it
        ],
    )
    def test_broken(self, tmp_path: Path, content: object, message: str) -> None:
        self.write(tmp_path, content)
        with pytest.raises(DataError, match=rf"8192pts_fps\.dat: {message}"):
            load(tmp_path, "train")


def test_other_ways_to_write_numbers_are_left_to_the_general_reader() -> None:
    assert parse_six_decimals(b"0.100000,0.2,0.300000,0.000000,0.000000,1.000000\n") is None
    assert parse_six_decimals(b"") is None
