"""A correct solution in another idiom: it stops when the groups stay the same."""

import numpy as np


def squared_distances(points, centers):
    return np.linalg.norm(points[:, np.newaxis] - centers, axis=2) ** 2


def nearest(points, centers):
    return np.argmin(squared_distances(points, centers), axis=1)


def means(points, groups, centers):
    member = groups[None, :] == np.arange(len(centers))[:, None]  # (K, N)
    counts = member.sum(axis=1, keepdims=True)
    sums = member.astype(points.dtype) @ points
    return np.where(counts > 0, sums / np.maximum(counts, 1), centers).astype(centers.dtype)


def k_means(points, centers, most):
    groups = nearest(points, centers)
    for _ in range(most):
        centers = means(points, groups, centers)
        new_groups = nearest(points, centers)
        if np.array_equal(new_groups, groups):
            break
        groups = new_groups
    return centers, nearest(points, centers)
