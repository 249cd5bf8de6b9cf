"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import numpy as np

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees

N, K, D = 9, 4, 3  # all different, so that no wrong axis fits by chance
MOST = 20  # turns, more than the search needs
NO_CHANGE = "The call changes an array that it gets."


def draw(probe, *shape):
    """Draw an array."""
    return probe.normal(*shape).numpy()


def draw_groups(probe):
    """Draw three groups of five points, and three centers in the first group."""
    middles = np.array([[0, 0], [6, 0], [0, 6]], dtype=np.float32)
    points = np.concatenate([middle + 0.5 * draw(probe, 5, 2) for middle in middles])
    return points, points[[0, 1, 2]]


# squared_distances


@check("squared_distances", points=2, layer="probe")
def test_measures_each_distance(student, reference, probe):
    """Row n has the squared distances of point n from the centers."""
    points, centers = draw(probe, N, D), draw(probe, K, D)

    found = student.call("squared_distances", points, centers)
    agrees(found, reference.call("squared_distances", points, centers), "The distances")


@check("squared_distances", points=0.5, layer="laws")
def test_a_point_has_no_distance_from_itself(student):
    """A point on a center has the distance 0 from it; (3, 4) has 25 from the origin."""
    points = np.array([[0.0, 0.0], [3.0, 4.0]])

    found = student.call("squared_distances", points, points)
    agrees(found, np.array([[0.0, 25.0], [25.0, 0.0]]), "The distances")


# nearest


@check("nearest", points=1.5, layer="probe")
def test_finds_the_nearest_center(student, reference, probe):
    """Each point gets the number of its nearest center."""
    points, centers = draw(probe, N, D), draw(probe, K, D)

    found = student.call("nearest", points, centers)
    agrees(found, reference.call("nearest", points, centers), "The groups")


@check("nearest", points=0.5, layer="laws")
def test_a_center_is_nearest_to_itself(student, probe):
    """Points that are centers get their own numbers."""
    centers = draw(probe, K, D)

    agrees(student.call("nearest", centers, centers), np.arange(K), "The groups")


# means


@check("means", points=1.5, layer="probe")
def test_takes_the_mean_of_each_group(student, reference, probe):
    """Each center is the mean of its points."""
    points, groups = draw(probe, N, D), np.arange(N) % K
    centers = draw(probe, K, D)

    found = student.call("means", points, groups, centers)
    agrees(found, reference.call("means", points, groups, centers), "The centers")


@check("means", points=0.5, layer="laws")
def test_a_center_without_points_stays(student, reference, probe):
    """A center to which no point belongs stays where it is; one point alone moves its center."""
    points, groups = draw(probe, N, D), np.arange(N) % 2
    groups[0] = 2
    centers = draw(probe, K, D)

    found = student.call("means", points, groups, centers)
    agrees(found, reference.call("means", points, groups, centers), "The centers")


@check("means", points=0.5, layer="laws", rules=("arrays_unchanged",))
def test_means_changes_no_array(student, reference, probe):
    """The call leaves points, groups and centers as they are."""
    given = draw(probe, N, D), np.arange(N) % K, draw(probe, K, D)

    agrees(student.call("means", *given), reference.call("means", *given), "The centers")
    expect(student.keeps_inputs("means", *given), NO_CHANGE)


# k_means


@check("k_means", points=1.5, layer="probe")
def test_finds_the_groups(student, reference, probe):
    """The centers end in the means of three groups, and each point has the number of its group."""
    points, centers = draw_groups(probe)

    found = student.call("k_means", points, centers, MOST)
    agrees(found, reference.call("k_means", points, centers, MOST), "The result")


@check("k_means", points=1, layer="probe")
def test_stops_after_the_last_turn(student, reference):
    """After *most* turns the search ends, also where the centers would still move."""
    on_a_line = [0.0, 1.0, 2.2, 3.1, 4.5, 5.3, 6.7, 7.4, 8.9, 9.6]  # they would move once more
    points = np.array([[x, 0.0] for x in on_a_line])

    found = student.call("k_means", points, points[[0, 1]], 2)
    agrees(found, reference.call("k_means", points, points[[0, 1]], 2), "The result")


@check("k_means", points=0.5, layer="laws")
def test_centers_that_stay_end_the_search(student):
    """Centers that are the means of their points are returned as they are."""
    points = np.array([[0.0, 1.0], [0.0, 3.0], [8.0, 1.0], [8.0, 3.0]])
    centers = np.array([[0.0, 2.0], [8.0, 2.0]])

    found = student.call("k_means", points, centers, MOST)
    agrees(found, (centers, np.array([0, 0, 1, 1])), "The result")
