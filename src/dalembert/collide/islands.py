"""Islands and colours of contacts, their order, and sleep.

Bodies that touch, or that joints connect, form an island. Islands do not affect each other, so each is solved on its
own. Obstacles do not connect islands. Islands are found by a union–find over the pairs that touch.

Within an island pairs have colours, such that no body has two pairs of the same colour. Pairs of one colour can be
solved at the same time, and the result does not depend on the number of threads. A pair takes the first colour that
neither of its bodies has. Contacts are sorted by island, colour, number of points of their pair, and part of the scene,
in the order of pairs. In large islands the pairs of a colour are put into groups of eight, for registers of eight
numbers. The pairs of one part move nearly the same bodies in each colour, so that a thread that solves these finds the
bodies in the cache of its core. `order_contacts` is the entry.
"""

from ..core.jit import inlined, njit
from ..core.simd_wide import WIDTH
from .tables import (
    AWAKE,
    CONTACTS,
    FREE,
    ISLANDS,
    LANE_COUNTS,
    MOST_PARTS,
    NEED_CONTACTS,
    NEED_ROOM,
    NO_ISLAND,
    PAIRS,
    POINTS,
    TOUCH,
)

LAST_COLOUR = 62  # the overflow colour: its pairs are not independent of each other
LARGE = 256  # contacts of an island that has groups
OF_A_PART = 256  # contacts of an island, for each of the parts by which its pairs are sorted


@njit
def order_contacts(bodies, collision):
    """Find the islands and colours of the manifolds, and the index of the points of each in `contacts`. Returns 0 or
    NEED_ROOM. Writes `touching`, `islands`, `members`, `colours`, `island_of`, and `first` of `manifolds`."""
    counts = collision.counts
    points = join_bodies(bodies, collision)
    counts[CONTACTS] = points
    if points > collision.contacts.shape[0]:
        counts[CONTACTS], counts[NEED_CONTACTS] = 0, points
        return NEED_ROOM
    number_islands(bodies, collision)
    list_members(bodies, collision)
    if counts[TOUCH] > 0:
        sort_points(collision)
    return 0


@njit
def root_of(body, parents):
    """The root of a body's tree in the union–find; halves the path to it."""
    while parents[body] != body:
        parents[body] = parents[parents[body]]
        body = parents[body]
    return body


@njit
def join_bodies(bodies, collision):
    """List the pairs that touch, unite their bodies, and give them colours; returns the number of points."""
    counts, manifolds, pairs, touching = collision.counts, collision.manifolds, collision.pairs, collision.touching
    parents, linked, taken, body_of, parts = (
        collision.parents, collision.linked, collision.taken, collision.body_of, collision.parts,
    )  # fmt: skip
    for body in range(bodies):
        parents[body], taken[body] = linked[body] if linked[body] != FREE else body, 0
    points, number = 0, 0
    for k in range(counts[PAIRS]):
        if manifolds[k].points <= 0:
            continue
        row, pair = touching[number], pairs[k]
        a, b = int(body_of[pair.a]), int(body_of[pair.b])
        busy = 0
        if a < bodies:
            busy |= taken[a]
        if b < bodies:
            busy |= taken[b]
        colour = first_free(busy)
        row.pair, row.a, row.b, row.points, row.colour = k, a, b, manifolds[k].points, colour
        row.part = (parts[a if a < bodies else b] + parts[b if b < bodies else a]) // 2
        if a < bodies:
            taken[a] |= 1 << colour
        if b < bodies:
            taken[b] |= 1 << colour
        if a < bodies and b < bodies:
            one, two = root_of(a, parents), root_of(b, parents)
            parents[max(one, two)] = min(one, two)
        points += row.points
        number += 1
    counts[TOUCH] = number
    return points


@njit
def first_free(busy):
    """The first colour whose bit is not set."""
    colour = 0
    while colour < LAST_COLOUR and (busy >> colour) & 1 == 1:
        colour += 1
    return colour


@njit
def number_islands(bodies, collision):
    """Islands in the order of their first bodies, with how many contacts (`end`), bodies (`end_member`) and colours each has.
    Bodies that touch nothing and have no joints are in none."""
    counts, touching, islands = collision.counts, collision.touching, collision.islands
    parents, numbers, linked, taken = (
        collision.parents, collision.island_of, collision.linked, collision.taken,
    )  # fmt: skip
    count = 0
    for body in range(bodies):
        root = root_of(body, parents)  # the first of its island
        if root == body:
            numbers[body] = NO_ISLAND
            if linked[body] != FREE or taken[body] != 0:
                island = islands[count]
                island.end, island.colours, island.end_member, island.jointed = 0, 0, 0, 0
                numbers[body] = count
                count += 1
        numbers[body] = numbers[root]
        if numbers[body] != NO_ISLAND:
            islands[numbers[body]].end_member += 1
            if linked[body] != FREE:
                islands[numbers[body]].jointed = 1
    counts[ISLANDS] = count
    for k in range(counts[TOUCH]):
        row = touching[k]
        row.island = numbers[row.a if row.a < bodies else row.b]
        island = islands[row.island]
        island.end += row.points
        island.colours = max(island.colours, row.colour + 1)


@njit
def list_members(bodies, collision):
    """The bodies of each island, by part, and where its contacts and colours begin."""
    numbers, islands, members = collision.island_of, collision.islands, collision.members
    parts, buckets = collision.parts, collision.buckets
    first, member, colour, bucket = 0, 0, 0, 0
    for number in range(collision.counts[ISLANDS]):
        island = islands[number]
        island.first, island.first_member, island.first_colour, island.first_bucket = first, member, colour, bucket
        island.parts = min(max(island.end // OF_A_PART, 1), MOST_PARTS)
        first += island.end
        member += island.end_member
        colour += island.colours
        bucket += POINTS * island.parts * island.colours
        island.end, island.end_member = first, island.first_member
    for number in range(collision.counts[ISLANDS]):
        island = islands[number]
        for b in range(island.first_bucket, island.first_bucket + island.parts if island.parts > 1 else 0):
            buckets[b] = 0
    for body in range(bodies):
        if numbers[body] != NO_ISLAND and islands[numbers[body]].parts > 1:
            buckets[bucket_of_body(parts[body], islands[numbers[body]])] += 1
    for number in range(collision.counts[ISLANDS]):
        start_members(islands[number], buckets)
    for body in range(bodies):
        if numbers[body] == NO_ISLAND:
            continue
        island = islands[numbers[body]]
        if island.parts > 1:
            b = bucket_of_body(parts[body], island)
            members[buckets[b]] = body
            buckets[b] += 1
        else:
            members[island.end_member] = body
        island.end_member += 1


@inlined
def bucket_of_body(part, island):
    """Where the bodies of one part are counted."""
    return island.first_bucket + part * island.parts // MOST_PARTS


@inlined
def start_members(island, buckets):
    """The first member of each part of an island, from the number of its bodies."""
    at = island.first_member
    for b in range(island.first_bucket, island.first_bucket + island.parts if island.parts > 1 else 0):
        size = buckets[b]
        buckets[b] = at
        at += size


@njit
def sort_points(collision):
    """The index of the first contact of each manifold: a counting sort by island, colour, number of points, most first, and
    part. Writes `colours`, `first` of manifolds, and the groups."""
    counts, manifolds, touching = collision.counts, collision.manifolds, collision.touching
    islands, buckets = collision.islands, collision.buckets
    last = islands[counts[ISLANDS] - 1]
    for b in range(last.first_bucket + POINTS * last.parts * last.colours):
        buckets[b] = 0
    for k in range(counts[TOUCH]):
        buckets[bucket_of(touching[k], islands)] += 1
    at, group = 0, 0
    collision.group_points[0] = 0
    for number in range(counts[ISLANDS]):
        at, group = start_colours(islands[number], at, group, collision)
    for k in range(counts[TOUCH]):
        row = touching[k]
        b = bucket_of(row, islands)
        manifolds[row.pair].first = buckets[b]
        buckets[b] += row.points


@inlined
def bucket_of(row, islands):
    """The pairs of one colour and part with as many points."""
    island = islands[row.island]
    part = row.part * island.parts // MOST_PARTS
    return island.first_bucket + POINTS * (island.parts * row.colour + part) + POINTS - row.points


@njit
def start_colours(island, at, group, collision):
    """Where the contacts and groups of each colour of an island begin, given where those of the island do; returns where they
    end. `buckets` has the number of pairs of each, which becomes the index of their first contact."""
    colours, colour_groups = collision.colours, collision.colour_groups
    large = island.end - island.first >= LARGE
    island.first_group = group
    for c in range(island.colours):
        s, bucket = island.first_colour + c, island.first_bucket + POINTS * island.parts * c
        colours[s], colour_groups[s] = at, group
        if large:
            group = fill_groups(bucket, island.parts, at, group, 1 if c == LAST_COLOUR else WIDTH, collision)
        at = start_buckets(bucket, island.parts, at, collision.buckets)
    island.end_group = group
    return at, group


@inlined
def start_buckets(bucket, parts, at, buckets):
    """The first contact of each bucket of a colour, the first of all being `at`, for its number of pairs; returns where the
    next begins."""
    for k in range(POINTS):
        for b in range(bucket + k, bucket + POINTS * parts, POINTS):
            size = buckets[b]
            buckets[b] = at
            at += size * (POINTS - k)
    return at


@njit
def fill_groups(bucket, parts, at, group, width, collision):
    """The groups of one colour, of `width` pairs at most, whose first contact is `at`; returns the number of the next. Its
    buckets begin at `bucket`; a group is of the bucket of its first pair (`bucket_groups`)."""
    buckets, lanes, group_points = collision.buckets, collision.lanes, collision.group_points
    lane = 0
    for k in range(POINTS):
        points = POINTS - k
        for b in range(bucket + k, bucket + POINTS * parts, POINTS):
            collision.bucket_groups[2 * b] = group + (lane > 0)
            for _ in range(buckets[b]):
                if lane == 0:
                    for n in range(LANE_COUNTS * group, LANE_COUNTS * (group + 1)):
                        lanes[n] = 0
                    group_points[group + 1] = group_points[group] + points
                lanes[LANE_COUNTS * group + lane], lanes[LANE_COUNTS * group + WIDTH + lane] = at, points
                at += points
                lane += 1
                if lane == width:
                    lane, group = 0, group + 1
            collision.bucket_groups[2 * b + 1] = group + (lane > 0)
    return group + (lane > 0)


# Sleep ----------------------------------------------------------------------------------------------------------------
# Bodies that fall asleep together have one number (`asleep`); all of them wake when one is touched by a body that is awake.
# Pairs of sleeping bodies retain their witness and impulses, so that on waking the run continues as if there had been no
# sleep.


@njit
def wake_touched(bodies, collision):
    """Wake all bodies that fell asleep together with one that an awake body touches; returns whether there were any."""
    counts, asleep, body_of = collision.counts, collision.asleep, collision.body_of
    manifolds, pairs = collision.manifolds, collision.pairs
    woken, sleepers = False, False
    for body in range(bodies):
        sleepers |= asleep[body] > AWAKE
    if not sleepers:
        return False
    for k in range(counts[PAIRS]):
        if manifolds[k].points <= 0:
            continue
        pair = pairs[k]
        a, b = body_of[pair.a], body_of[pair.b]
        sleeper = max(asleep[a], asleep[b])  # one of the two is awake, or there would be no points
        if sleeper > AWAKE:
            woken = True
            for body in range(bodies):
                if asleep[body] == sleeper:
                    asleep[body] = AWAKE
    return woken
