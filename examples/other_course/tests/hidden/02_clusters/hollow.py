"""Zeros of the right shapes."""

import numpy as np


def squared_distances(points, centers):
    return np.zeros((len(points), len(centers)), points.dtype)


def nearest(points, centers):
    return np.zeros(len(points), int)


def means(points, groups, centers):
    return np.zeros_like(centers)


def k_means(points, centers, most):
    return np.zeros_like(centers), np.zeros(len(points), int)
