"""A correct solution in another idiom: one point after the other."""

import numpy as np


def squared_distances(points, centers):
    return np.array([[((p - c) ** 2).sum() for c in centers] for p in points], dtype=points.dtype)


def nearest(points, centers):
    groups = []
    for row in squared_distances(points, centers):
        groups.append(int(np.where(row == row.min())[0][0]))
    return np.array(groups)


def means(points, groups, centers):
    rows = []
    for k, center in enumerate(centers):
        members = [p for p, group in zip(points, groups, strict=True) if group == k]
        rows.append(sum(members) / len(members) if members else center)
    return np.stack(rows).astype(centers.dtype)


def k_means(points, centers, most):
    for _ in range(most):
        before = centers
        centers = means(points, nearest(points, centers), centers)
        if (before == centers).all():
            return centers, nearest(points, centers)
    return centers, nearest(points, centers)
