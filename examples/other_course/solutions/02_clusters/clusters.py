"""Clusters: groups of points, each around the mean of its points.

Shapes in this stage: points is (N, D), one point per row; centers is (K, D).
"""

import numpy as np
from numpy.typing import NDArray


def squared_distances(points: NDArray, centers: NDArray) -> NDArray:
    """Return the squared distance of each point from each center: (N, D), (K, D) -> (N, K)."""
    ### BEGIN SOLUTION
    differences = points[:, None, :] - centers[None, :, :]  # (N, K, D)
    return (differences**2).sum(axis=-1)
    ### END SOLUTION


def nearest(points: NDArray, centers: NDArray) -> NDArray:
    """Return the number of the nearest center of each point: (N, D), (K, D) -> (N,)."""
    ### BEGIN SOLUTION
    return squared_distances(points, centers).argmin(axis=1)
    ### END SOLUTION


def means(points: NDArray, groups: NDArray, centers: NDArray) -> NDArray:
    """Return the mean of the points of each center: (N, D), (N,), (K, D) -> (K, D).

    Point n belongs to center groups[n]. A center without points stays where it is.
    """
    ### BEGIN SOLUTION
    moved = centers.copy()
    for k in range(len(centers)):
        members = points[groups == k]  # (number of members, D)
        if len(members) > 0:
            moved[k] = members.mean(axis=0)
    return moved
    ### END SOLUTION


def k_means(points: NDArray, centers: NDArray, most: int) -> tuple[NDArray, NDArray]:
    """Move the centers until they stay where they are: return centers (K, D) and groups (N,).

    In each turn, each point belongs to its nearest center, and each center moves to the mean of
    its points. Stop after *most* turns in any case. groups are those of the returned centers.
    """
    ### BEGIN SOLUTION
    turns = 0
    while turns < most:
        moved = means(points, nearest(points, centers), centers)
        if np.array_equal(moved, centers):
            break
        centers = moved
        turns += 1
    return centers, nearest(points, centers)
    ### END SOLUTION
