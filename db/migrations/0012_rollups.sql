-- Roll-ups and unique visitors (docs/decisions/0019-rollups-and-unique-visitors.md). All are written in the transaction that
-- stores the visits. `uniques`: visits that were the first of their visitor to this link on their UTC day. The sum over any
-- days is exact, because a day's salt makes the hashes of two days never meet.
CREATE TYPE visit_dimension AS ENUM ('country', 'city', 'region', 'referrer', 'browser', 'os', 'device', 'language',
                                     'utm_source', 'utm_medium', 'utm_campaign');

-- Totals. Each zone's offset is a multiple of a quarter of an hour, so that days of every zone are sums of these. A quarter's
-- rows change with nearly each batch: room on the page for their next version spares the index.
CREATE TABLE visit_rollup_quarter (
    link_id bigint NOT NULL,
    bucket  timestamptz NOT NULL, -- start of the quarter of an hour
    humans  bigint NOT NULL DEFAULT 0,
    bots    bigint NOT NULL DEFAULT 0,
    uniques bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (link_id, bucket)
) WITH (fillfactor = 50);

ALTER TABLE visit_rollup_hour RENAME TO visit_rollup_hour_before;
ALTER INDEX visit_rollup_hour_pkey RENAME TO visit_rollup_hour_before_pkey;

-- A value that is not known ('') has no row: it is the total less the sum of the others.
CREATE TABLE visit_rollup_hour (
    link_id   bigint NOT NULL,
    bucket    timestamptz NOT NULL, -- start of the hour
    humans    bigint NOT NULL DEFAULT 0,
    bots      bigint NOT NULL DEFAULT 0,
    uniques   bigint NOT NULL DEFAULT 0,
    dimension visit_dimension NOT NULL,
    value     text COLLATE "C" NOT NULL CHECK (value <> ''),
    PRIMARY KEY (link_id, dimension, bucket, value)
) WITH (fillfactor = 75);

CREATE TABLE visit_rollup_day (
    link_id   bigint NOT NULL,
    humans    bigint NOT NULL DEFAULT 0,
    bots      bigint NOT NULL DEFAULT 0,
    uniques   bigint NOT NULL DEFAULT 0,
    day       date NOT NULL, -- UTC
    dimension visit_dimension NOT NULL,
    value     text COLLATE "C" NOT NULL CHECK (value <> ''),
    PRIMARY KEY (link_id, dimension, day, value)
) WITH (fillfactor = 75);

-- What was counted so far knew no quarters, no uniques and five dimensions. An hour's total stands in its first quarter.
-- tools/rebuild-stats makes all of it exact as far back as the visit log reaches.
INSERT INTO visit_rollup_quarter (link_id, bucket, humans, bots)
    SELECT link_id, bucket, humans, bots FROM visit_rollup_hour_before WHERE dimension = 'total';
INSERT INTO visit_rollup_hour (link_id, bucket, humans, bots, dimension, value)
    SELECT link_id, bucket, humans, bots, dimension::visit_dimension, value
    FROM visit_rollup_hour_before WHERE dimension <> 'total' AND value <> '';
INSERT INTO visit_rollup_day (link_id, humans, bots, day, dimension, value)
    SELECT link_id, sum(humans), sum(bots), (bucket AT TIME ZONE 'UTC')::date, dimension, value
    FROM visit_rollup_hour GROUP BY link_id, dimension, (bucket AT TIME ZONE 'UTC')::date, value;
DROP TABLE visit_rollup_hour_before;

-- Eight bytes of the hash tell the visitors of one link on one day apart: among 100,000 of them the chance that any two are
-- taken for one is 1 in 3,700,000,000.
ALTER TABLE link_day_visitors RENAME TO link_day_visitors_before;
ALTER INDEX link_day_visitors_pkey RENAME TO link_day_visitors_before_pkey;
CREATE TABLE link_day_visitors (
    day          date NOT NULL,
    link_id      bigint NOT NULL,
    visitor_hash bigint NOT NULL, -- the first eight bytes, big-endian
    PRIMARY KEY (day, link_id, visitor_hash)
);
INSERT INTO link_day_visitors (day, link_id, visitor_hash)
    SELECT DISTINCT day, link_id, ('x' || encode(substring(visitor_hash FROM 1 FOR 8), 'hex'))::bit(64)::bigint
    FROM link_day_visitors_before;
DROP TABLE link_day_visitors_before;

GRANT SELECT, INSERT, UPDATE, DELETE ON visit_rollup_quarter, visit_rollup_hour, visit_rollup_day, link_day_visitors TO waymark_consumer;
GRANT SELECT ON visit_rollup_quarter, visit_rollup_hour, visit_rollup_day TO waymark_links_api;
GRANT SELECT, DELETE ON link_day_visitors TO waymark_janitor;
