-- Every counted click, bots included. No foreign key: the log outlives its links. Partitioned by UTC
-- day; the janitor makes partitions ahead, and the default one keeps a click whose partition is missing.
CREATE TABLE visit_log (
    day           date NOT NULL, -- UTC day of occurred_at
    event_id      uuid NOT NULL,
    occurred_at   timestamptz NOT NULL,
    link_id       bigint NOT NULL,
    slug          text COLLATE "C" NOT NULL,
    status        smallint NOT NULL,
    latency_us    integer NOT NULL,
    is_bot        boolean NOT NULL,
    bot_reason    text NOT NULL DEFAULT '',
    visitor_hash  bytea NOT NULL DEFAULT '',
    is_unique     boolean NOT NULL DEFAULT false, -- the first visit of this visitor to this link on this day
    client_network text NOT NULL DEFAULT '',
    country       text NOT NULL DEFAULT '',
    city          text NOT NULL DEFAULT '',
    referrer_host text NOT NULL DEFAULT '',
    browser       text NOT NULL DEFAULT '',
    os            text NOT NULL DEFAULT '',
    device        text NOT NULL DEFAULT '',
    language      text NOT NULL DEFAULT '',
    utm_source    text NOT NULL DEFAULT '',
    utm_medium    text NOT NULL DEFAULT '',
    utm_campaign  text NOT NULL DEFAULT '',
    region        text NOT NULL DEFAULT '',
    PRIMARY KEY (day, event_id)
) PARTITION BY RANGE (day);
CREATE TABLE visit_log_default PARTITION OF visit_log DEFAULT;
CREATE INDEX visit_log_link_idx ON visit_log (link_id, occurred_at DESC);

-- Made and dropped by the janitor, which does not own the table.
CREATE FUNCTION visit_log_make_partition(partition_day date) RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    partition_name text := 'visit_log_' || to_char(partition_day, 'YYYYMMDD');
BEGIN
    IF to_regclass(partition_name) IS NOT NULL THEN
        RETURN false;
    END IF;
    -- Writers wait here, before they choose a partition: one that had chosen the default partition and
    -- waited for that would be refused (its bounds have changed meanwhile), and its batch with it.
    LOCK TABLE ONLY visit_log IN SHARE ROW EXCLUSIVE MODE;
    IF to_regclass(partition_name) IS NOT NULL THEN
        RETURN false; -- somebody else made it while we waited
    END IF;
    -- Rows that arrived before their partition move out of the default one, or ATTACH would refuse.
    LOCK TABLE visit_log_default IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE %I (LIKE visit_log INCLUDING ALL)', partition_name);
    EXECUTE format('WITH moved AS (DELETE FROM visit_log_default WHERE day = %L RETURNING *)
                    INSERT INTO %I SELECT * FROM moved', partition_day, partition_name);
    EXECUTE format('ALTER TABLE visit_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   partition_name, partition_day, partition_day + 1);
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION visit_log_make_partition(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION visit_log_make_partition(date) TO waymark_janitor;

-- One row per link, and one with link_id 0 for the platform. Latency by Welford over the redirects of
-- humans and bots alike: n, mean and the sum of squared deviations (m2), in milliseconds.
CREATE TABLE link_statistics (
    link_id         bigint PRIMARY KEY,
    visit_count     bigint NOT NULL DEFAULT 0,
    bot_count       bigint NOT NULL DEFAULT 0,
    unique_visitors bigint NOT NULL DEFAULT 0,
    last_visited_at timestamptz,
    latency_count   bigint NOT NULL DEFAULT 0,
    latency_mean_ms double precision NOT NULL DEFAULT 0,
    latency_m2      double precision NOT NULL DEFAULT 0,
    updated_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE visit_rollup_hour (
    link_id   bigint NOT NULL,
    bucket    timestamptz NOT NULL, -- start of the hour
    dimension text NOT NULL,        -- 'total', 'country', 'referrer', 'browser', 'os', 'device'
    value     text NOT NULL,
    humans    bigint NOT NULL DEFAULT 0,
    bots      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (link_id, dimension, bucket, value)
);

-- Visitors already seen by a link on a UTC day; makes `unique` exact. The janitor deletes a day two
-- days after it (VISITORS_KEEP_S), so that late clicks are not unique twice.
CREATE TABLE link_day_visitors (
    day          date NOT NULL,
    link_id      bigint NOT NULL,
    visitor_hash bytea NOT NULL,
    PRIMARY KEY (day, link_id, visitor_hash)
);

-- How far each partition has been counted. The consumer moves next_offset by compare-and-set in the
-- transaction that stores the batch: 0 rows updated = another owner, the batch is thrown away.
CREATE TABLE consumer_offsets (
    topic       text NOT NULL,
    partition   integer NOT NULL,
    next_offset bigint NOT NULL,
    -- The visits of all events before it are in waymark.visits.v1 for certain; those up to next_offset are
    -- published again by whoever gets the partition next. NULL reads as next_offset.
    published_offset bigint CHECK (published_offset <= next_offset),
    -- occurred_at of the newest event counted from this partition; statistics answer with it as as_of.
    as_of       timestamptz,
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (topic, partition)
);

-- One salt per UTC day, made ahead by the janitor and deleted a day after its day has ended (SALTS_KEEP_S),
-- so that a visitor hash cannot be recomputed later.
CREATE TABLE visitor_salts (
    day  date PRIMARY KEY,
    salt bytea NOT NULL CHECK (octet_length(salt) = 32)
);

GRANT SELECT, INSERT ON visit_log TO waymark_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON link_statistics, visit_rollup_hour, link_day_visitors, consumer_offsets TO waymark_consumer;
GRANT SELECT ON visit_log, link_statistics, visit_rollup_hour, consumer_offsets TO waymark_links_api;
GRANT SELECT, DELETE ON link_day_visitors TO waymark_janitor;
GRANT SELECT, INSERT, DELETE ON visitor_salts TO waymark_janitor;
GRANT SELECT ON visitor_salts TO waymark_redirector;
