"""Clusters: groups of points, each around the mean of its points.

Shapes in this stage: points is (N, D), one point per row; centers is (K, D).

Rules for this stage, which are graded like the results:

- Properties count only if the results are right for other inputs too.
"""

import numpy as np
from numpy.typing import NDArray


def squared_distances(points: NDArray, centers: NDArray) -> NDArray:
    """Return the squared distance of each point from each center: (N, D), (K, D) -> (N, K)."""
    raise NotImplementedError


def nearest(points: NDArray, centers: NDArray) -> NDArray:
    """Return the number of the nearest center of each point: (N, D), (K, D) -> (N,)."""
    raise NotImplementedError


def means(points: NDArray, groups: NDArray, centers: NDArray) -> NDArray:
    """Return the mean of the points of each center: (N, D), (N,), (K, D) -> (K, D).

    Point n belongs to center groups[n]. A center without points stays where it is. A call does not
    change the arrays that it gets.
    """
    raise NotImplementedError


def k_means(points: NDArray, centers: NDArray, most: int) -> tuple[NDArray, NDArray]:
    """Move the centers until they stay where they are: return centers (K, D) and groups (N,).

    In each turn, each point belongs to its nearest center, and each center moves to the mean of
    its points. Stop after *most* turns in any case. groups are those of the returned centers.
    """
    raise NotImplementedError
