"""Geometry of point sets: farthest points, nearest neighbours, Chamfer distance and space-filling curves.

Every function accepts sets in two forms and gives the same answer for both:

- padded: points (batch, n, dimension), with an optional mask (batch, n) that is True where a point is real;
- packed: points (total, dimension) with ptr (sets + 1,); set i has the rows ptr[i] to ptr[i + 1].
"""

from .chamfer import chamfer_distance
from .curves import space_filling_order
from .farthest import farthest_points
from .neighbours import nearest_neighbours

__all__ = ["chamfer_distance", "farthest_points", "nearest_neighbours", "space_filling_order"]
