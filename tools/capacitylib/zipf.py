"""Pure. Links that are asked for by Zipf's law with exponent 1, as in the benchmarks: the link of rank r gets 1 / (r · H) of all clicks."""

import functools
import math

EULER = 0.5772156649015329
STEP = 1.15  # of ranks that are taken together
POINTS_PER_E = 40  # of a number of visits, between which rows are interpolated


def harmonic(count):
    """1 + 1/2 + … + 1/count."""
    if count < 50:
        return sum(1 / rank for rank in range(1, int(count) + 1))
    return math.log(count) + EULER + 1 / (2 * count)


def hottest(links):
    """The share of the link that is asked for most."""
    return 1 / harmonic(links)


@functools.cache
def groups(links):
    """[(number of links, share of each)], hot ones first; neighbours in rank are taken together."""
    whole, found, after = harmonic(links), [], 0
    while after < links:
        upto = min(links, max(after + 1, math.floor(after * STEP)))
        share = harmonic(upto) - (harmonic(after) if after else 0)
        found.append((upto - after, share / whole / (upto - after)))
        after = upto
    return found


def links_for(links, hits):
    """How many of the links that are asked for most get this share of the clicks."""
    if hits >= 1:
        return links
    return min(links, math.exp(hits * harmonic(links) - EULER))


class Values:
    """How many rows the visits of a link need that have a row per known value of each dimension: {name: (values, share that is known)}."""

    def __init__(self, dimensions):
        self.shares = [known / rank / harmonic(count) for count, known in dimensions.values() for rank in range(1, count + 1) if known]
        self.at_point = functools.cache(self.at_point)

    def at_point(self, point):
        visits = math.exp(point / POINTS_PER_E)
        return sum(-math.expm1(-visits * share) for share in self.shares)

    def rows(self, visits):
        """Expected number of different values among so many visits."""
        if visits < 1e-4:
            return visits * sum(self.shares)
        place = math.log(visits) * POINTS_PER_E
        low = math.floor(place)
        return self.at_point(low) + (place - low) * (self.at_point(low + 1) - self.at_point(low))


def expected(links, visits, rows):
    """Σ over all links of rows(visits of that link)."""
    return sum(count * rows(visits * share) for count, share in groups(links))


def is_there(visits):
    """The chance that there is one at all."""
    return -math.expm1(-visits)
