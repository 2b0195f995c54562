from pathlib import Path

import numpy as np
import pytest
from helpers.modelnet import table, write_hdf5


@pytest.fixture
def hdf5(tmp_path: Path) -> tuple[Path, list[np.ndarray]]:
    """A folder modelnet40_ply_hdf5_2048 with five training shapes and one test shape, and their tables."""
    tables = [table() for _ in range(6)]
    write_hdf5(tmp_path / "ply_data_train0.h5", tables[:2], [0, 8])
    write_hdf5(tmp_path / "ply_data_train1.h5", tables[2:5], [39, 1, 33])
    write_hdf5(tmp_path / "ply_data_test0.h5", tables[5:], [2])
    return tmp_path, tables
