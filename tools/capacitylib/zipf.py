"""Clicks over links by Zipf's law with exponent 1, as in the benchmarks. The link of rank r gets 1 / (r · H) of all clicks. Pure."""

import functools
import math

EULER = 0.5772156649015329
STEP = 1.15  # growth of the groups of ranks
POINTS_PER_E = 40  # grid for the interpolation of rows: points per factor e of visits


def harmonic(count):
    """1 + 1/2 + … + 1/count."""
    if count < 50:
        return sum(1 / rank for rank in range(1, int(count) + 1))
    return math.log(count) + EULER + 1 / (2 * count)


def hottest(links):
    """The share of clicks of the hottest link."""
    return 1 / harmonic(links)


@functools.cache
def groups(links):
    """[(number of links, share of clicks of each)] from the hottest rank on. Neighbouring ranks form a group."""
    whole, found, after = harmonic(links), [], 0
    while after < links:
        upto = min(links, max(after + 1, math.floor(after * STEP)))
        share = harmonic(upto) - (harmonic(after) if after else 0)
        found.append((upto - after, share / whole / (upto - after)))
        after = upto
    return found


def links_for(links, hits):
    """The number of hottest links that together get this share of the clicks."""
    if hits >= 1:
        return links
    return min(links, math.exp(hits * harmonic(links) - EULER))


class Values:
    """Roll-up rows of a link, which has one row per value of each dimension.

    dimensions is {name: (number of values, share of visits with a value)}.
    """

    def __init__(self, dimensions):
        self.shares = [known / rank / harmonic(count) for count, known in dimensions.values() for rank in range(1, count + 1) if known]
        self.at_point = functools.cache(self.at_point)

    def at_point(self, point):
        visits = math.exp(point / POINTS_PER_E)
        return sum(-math.expm1(-visits * share) for share in self.shares)

    def rows(self, visits):
        """The expected number of distinct values in so many visits."""
        if visits < 1e-4:
            return visits * sum(self.shares)
        place = math.log(visits) * POINTS_PER_E
        low = math.floor(place)
        return self.at_point(low) + (place - low) * (self.at_point(low + 1) - self.at_point(low))


def expected(links, visits, rows):
    """The sum over all links of rows(visits of that link)."""
    return sum(count * rows(visits * share) for count, share in groups(links))


def is_there(visits):
    """The probability of at least one visit."""
    return -math.expm1(-visits)
