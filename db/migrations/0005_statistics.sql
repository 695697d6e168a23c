-- Statistics and roll-ups (docs/decisions/0019-rollups-and-unique-visitors.md). All are written in
-- the transaction that stores the visits, except the daily roll-ups.

-- One row per link, and one with link_id 0 for the platform. Latency covers humans and bots, in
-- milliseconds, by Welford's algorithm: count, mean and sum of squared deviations (m2).
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

CREATE TYPE visit_dimension AS ENUM ('country', 'city', 'region', 'referrer', 'browser', 'os', 'device', 'language',
                                     'utm_source', 'utm_medium', 'utm_campaign');

-- In all roll-ups, uniques are visits that were their visitor's first to this link on their UTC
-- day. Sums over any days are exact, because each day's salt gives a visitor another hash.

-- Totals per quarter of an hour. The offset of every time zone is a multiple of a quarter, so a day
-- of any zone is a sum of these. Nearly each batch changes the current quarter's rows: free space
-- on the page allows updates that do not touch the index.
CREATE TABLE visit_rollup_quarter (
    link_id bigint NOT NULL,
    bucket  timestamptz NOT NULL, -- start of the quarter
    humans  bigint NOT NULL DEFAULT 0,
    bots    bigint NOT NULL DEFAULT 0,
    uniques bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (link_id, bucket)
) WITH (fillfactor = 50);

-- Per value of a dimension and hour. An unknown value ('') has no row: it is the total minus the
-- other values.
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

GRANT SELECT, INSERT, UPDATE, DELETE ON link_statistics, visit_rollup_quarter, visit_rollup_hour TO waymark_consumer;
GRANT SELECT ON link_statistics, visit_rollup_quarter, visit_rollup_hour TO waymark_links_api;

-- The first instant at which clocks in the zone show this time or a later one. Of a time that
-- occurs twice, because clocks were set back, it is the first occurrence, where AT TIME ZONE gives
-- the second. For a time that clocks skip, it is the moment of the change.
CREATE FUNCTION local_start(local timestamp, zone text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN (late - interval '1 hour') AT TIME ZONE zone >= local THEN late - interval '1 hour'
        WHEN (late - interval '30 minutes') AT TIME ZONE zone >= local THEN late - interval '30 minutes'
        ELSE late END
    FROM (SELECT local AT TIME ZONE zone AS late) AS taken
$$;

-- --- daily roll-ups (docs/decisions/0025-daily-rollups.md) ---
--
-- The janitor makes a day's roll-ups from its hours and quarters once the day is over, in the order
-- of the primary key, so that rows that are read together are stored together. Clicks that are
-- counted later are added to hours and days.

-- Per value of a dimension and UTC day. Rows are written once; only late clicks change them.
CREATE TABLE visit_rollup_day (
    link_id   bigint NOT NULL,
    humans    bigint NOT NULL DEFAULT 0,
    bots      bigint NOT NULL DEFAULT 0,
    uniques   bigint NOT NULL DEFAULT 0,
    day       date NOT NULL, -- UTC
    dimension visit_dimension NOT NULL,
    value     text COLLATE "C" NOT NULL CHECK (value <> ''),
    PRIMARY KEY (link_id, dimension, day, value)
) WITH (fillfactor = 95);

-- Totals per UTC day: sums of the day's quarters.
CREATE TABLE visit_total_day (
    link_id bigint NOT NULL,
    day     date NOT NULL, -- UTC
    humans  bigint NOT NULL DEFAULT 0,
    bots    bigint NOT NULL DEFAULT 0,
    uniques bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (link_id, day)
);

-- How far the daily roll-ups are complete. It only ever moves forward, so a session that has read
-- it may rely on it for any time.
CREATE TABLE daily_rollup_progress (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    totals_since   date NOT NULL, -- the first day of visit_total_day
    next_day       date NOT NULL, -- all earlier days are complete
    next_link      bigint NOT NULL DEFAULT 0, -- of next_day, all smaller links are complete
    done_dimension visit_dimension, -- of next_link, all (dimension, value) up to these are complete; NULL: none
    done_value     text COLLATE "C"
);
INSERT INTO daily_rollup_progress (totals_since, next_day)
    SELECT today, today FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS today) AS now;

-- Whether a value's row of visit_rollup_day, or a total's row of visit_total_day, must be kept up
-- to date.
CREATE FUNCTION daily_rollup_has_value(f daily_rollup_progress, link bigint, day date, dimension visit_dimension, value text)
    RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT day < f.next_day OR (day = f.next_day AND (link < f.next_link OR
        (link = f.next_link AND f.done_dimension IS NOT NULL AND (dimension, value COLLATE "C") <= (f.done_dimension, f.done_value))))
$$;
CREATE FUNCTION daily_rollup_has_total(f daily_rollup_progress, link bigint, day date) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT day >= f.totals_since AND (day < f.next_day OR (day = f.next_day AND link < f.next_link))
$$;

-- Advisory locks order counting and rolling up: a transaction that counts clicks of an incomplete
-- day holds the day's lock shared, and the roll-up of the day holds it exclusively. Days 64 apart
-- share a lock, so that no batch needs more than 64.
CREATE FUNCTION daily_rollup_lock_key(day date) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT (day - date '1970-01-01') & 63
$$;
-- The first half of the locks' keys: "days" as a number. The second half is daily_rollup_lock_key,
-- or 64 for the lock of the roll-up itself: held exclusively by the roll-up, and shared by a
-- session that keeps it from running.
CREATE FUNCTION daily_rollup_lock_class() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1684109683';

-- Keeps the progress of these days unchanged until the transaction ends; returns next_day. Later
-- statements of the transaction see that progress. Complete days never change and need no lock.
CREATE FUNCTION daily_rollup_lock_days(days date[]) RETURNS date LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    key integer;
BEGIN
    FOR key IN SELECT DISTINCT daily_rollup_lock_key(day) FROM unnest(days) AS day
               WHERE day >= (SELECT next_day FROM daily_rollup_progress) ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock_shared(daily_rollup_lock_class(), key);
    END LOOP;
    RETURN (SELECT next_day FROM daily_rollup_progress);
END
$$;

-- Adds a link's total of the day. Called after the link's values are complete: a concurrent
-- deletion of its statistics then cannot lock the total first.
CREATE FUNCTION daily_rollup_add_total(link bigint, of_day date) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO visit_total_day (link_id, day, humans, bots, uniques)
        SELECT link, of_day, sum(humans), sum(bots), sum(uniques) FROM visit_rollup_quarter
        WHERE link_id = link AND bucket >= of_day::timestamp AT TIME ZONE 'UTC'
        AND bucket < (of_day + 1)::timestamp AT TIME ZONE 'UTC' HAVING count(*) > 0
        ON CONFLICT (link_id, day) DO UPDATE SET humans = EXCLUDED.humans, bots = EXCLUDED.bots, uniques = EXCLUDED.uniques;
END
$$;

-- Adds all values of a link's day. Existing rows are replaced: the hours are complete.
CREATE FUNCTION daily_rollup_add_link(link bigint, of_day date) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO visit_rollup_day (link_id, day, dimension, value, humans, bots, uniques)
        SELECT link, of_day, d, hours.value, sum(hours.humans), sum(hours.bots), sum(hours.uniques)
        FROM unnest(enum_range(NULL::visit_dimension)) AS d CROSS JOIN LATERAL (
            SELECT value, humans, bots, uniques FROM visit_rollup_hour WHERE link_id = link AND dimension = d
            AND bucket >= of_day::timestamp AT TIME ZONE 'UTC' AND bucket < (of_day + 1)::timestamp AT TIME ZONE 'UTC') AS hours
        GROUP BY d, hours.value ORDER BY d, hours.value
        ON CONFLICT (link_id, dimension, day, value)
        DO UPDATE SET humans = EXCLUDED.humans, bots = EXCLUDED.bots, uniques = EXCLUDED.uniques;
END
$$;

-- Adds values of one dimension of a link's day that come after after_value, reading at most so many
-- rows of each hour. Returns the last value that is complete; NULL: the dimension is complete.
CREATE FUNCTION daily_rollup_add_slice(link bigint, of_day date, of_dimension visit_dimension, after_value text, at_most integer)
    RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    last_value text;
BEGIN
    WITH found AS MATERIALIZED (
        SELECT hour.* FROM generate_series(0, 23) AS n CROSS JOIN LATERAL (
            SELECT bucket, value, humans, bots, uniques FROM visit_rollup_hour
            WHERE link_id = link AND dimension = of_dimension
            AND bucket = of_day::timestamp AT TIME ZONE 'UTC' + n * interval '1 hour'
            AND value > after_value ORDER BY value LIMIT at_most) AS hour),
    cut AS MATERIALIZED (
        SELECT min(last) AS value
        FROM (SELECT max(value) AS last FROM found GROUP BY bucket HAVING count(*) = at_most) AS full_hour),
    added AS (
        INSERT INTO visit_rollup_day (link_id, day, dimension, value, humans, bots, uniques)
        SELECT link, of_day, of_dimension, found.value, sum(humans), sum(bots), sum(uniques) FROM found, cut
        WHERE cut.value IS NULL OR found.value <= cut.value GROUP BY found.value ORDER BY found.value
        ON CONFLICT (link_id, dimension, day, value)
        DO UPDATE SET humans = EXCLUDED.humans, bots = EXCLUDED.bots, uniques = EXCLUDED.uniques)
    SELECT value INTO last_value FROM cut;
    RETURN last_value;
END
$$;

-- Continues the roll-up of the first incomplete day, unless that is after last_day. Works for about
-- most_ms, during which no click of that day is counted. Returns the number of steps, at least 1;
-- 0: there is nothing to do, or another session holds lock 64. Links with more than slices_from
-- visits on the day are done in slices, so that no link takes too long at once.
CREATE FUNCTION daily_rollup_advance(last_day date, most_ms integer, slices_from bigint DEFAULT 5000, slice integer DEFAULT 500)
    RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    links_max CONSTANT integer := 1000;
    deadline timestamptz;
    state daily_rollup_progress;
    link record;
    of_dimension visit_dimension;
    last_value text;
    visits bigint;
    link_exists boolean;
    steps bigint := 0;
    is_late boolean := false;
BEGIN
    IF NOT pg_try_advisory_xact_lock(daily_rollup_lock_class(), 64) THEN
        RETURN 0;
    END IF;
    SELECT * INTO state FROM daily_rollup_progress;
    IF state.next_day > last_day THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(daily_rollup_lock_class(), daily_rollup_lock_key(state.next_day));
    deadline := clock_timestamp() + make_interval(secs => most_ms / 1000.0);
    <<links>>
    FOR link IN SELECT link_id, last_visited_at >= state.next_day::timestamp AT TIME ZONE 'UTC' AS was_visited
                FROM link_statistics WHERE link_id >= greatest(state.next_link, 1) ORDER BY link_id LIMIT links_max LOOP
        is_late := steps > 0 AND clock_timestamp() >= deadline;
        EXIT WHEN is_late;
        IF link.link_id > state.next_link THEN -- the link that was begun has been purged
            state.done_dimension := NULL;
            state.done_value := NULL;
        END IF;
        IF link.was_visited THEN
            -- Either a deletion of the link's statistics waits and then deletes what is added here,
            -- or the row is gone.
            PERFORM FROM link_statistics WHERE link_id = link.link_id FOR KEY SHARE;
            link_exists := FOUND;
            SELECT coalesce(sum(humans + bots), 0) INTO visits FROM visit_rollup_quarter WHERE link_id = link.link_id
                AND bucket >= state.next_day::timestamp AT TIME ZONE 'UTC'
                AND bucket < (state.next_day + 1)::timestamp AT TIME ZONE 'UTC';
            IF NOT link_exists THEN
                NULL;
            ELSIF visits <= slices_from AND state.done_dimension IS NULL THEN
                PERFORM daily_rollup_add_link(link.link_id, state.next_day);
            ELSE
                state.next_link := link.link_id;
                FOREACH of_dimension IN ARRAY enum_range(state.done_dimension, NULL::visit_dimension) LOOP
                    IF of_dimension IS DISTINCT FROM state.done_dimension THEN
                        state.done_dimension := of_dimension;
                        state.done_value := '';
                    END IF;
                    LOOP
                        is_late := steps > 0 AND clock_timestamp() >= deadline;
                        EXIT links WHEN is_late;
                        steps := steps + 1;
                        last_value := daily_rollup_add_slice(link.link_id, state.next_day, of_dimension, state.done_value, slice);
                        EXIT WHEN last_value IS NULL;
                        state.done_value := last_value;
                    END LOOP;
                END LOOP;
            END IF;
            IF link_exists THEN
                PERFORM daily_rollup_add_total(link.link_id, state.next_day);
            END IF;
        END IF;
        steps := steps + 1;
        state.next_link := link.link_id + 1;
        state.done_dimension := NULL;
        state.done_value := NULL;
    END LOOP;
    IF NOT is_late AND NOT EXISTS (SELECT FROM link_statistics WHERE link_id >= greatest(state.next_link, 1)) THEN
        state.next_day := state.next_day + 1;
        state.next_link := 0;
    END IF;
    UPDATE daily_rollup_progress SET next_day = state.next_day, next_link = state.next_link, done_dimension = state.done_dimension,
        done_value = state.done_value;
    RETURN greatest(steps, 1);
END
$$;

GRANT SELECT, INSERT, UPDATE, DELETE ON visit_rollup_day TO waymark_consumer;
GRANT SELECT, INSERT, UPDATE ON visit_total_day TO waymark_consumer;
GRANT SELECT ON visit_rollup_day, visit_total_day TO waymark_links_api;
GRANT SELECT ON daily_rollup_progress TO waymark_consumer, waymark_links_api, waymark_janitor;
REVOKE EXECUTE ON FUNCTION daily_rollup_advance(date, integer, bigint, integer), daily_rollup_add_total(bigint, date),
    daily_rollup_add_link(bigint, date), daily_rollup_add_slice(bigint, date, visit_dimension, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION daily_rollup_advance(date, integer, bigint, integer) TO waymark_janitor;

-- --- statistics of purged links (docs/decisions/0023-statistics-of-purged-links.md) ---
--
-- The consumer deletes them soon after the purge's event. The janitor's nightly scan deletes those
-- that late clicks created again. The link_statistics row of a link goes last, because the scan
-- finds all other rows by it.

-- Deletes the roll-ups and statistics of those of the links that are purged, at most so many rows.
-- Returns how many; 0 = nothing is left. Links that still exist, and the platform (0), keep
-- everything. Tables and rows are in the order in which the consumer counts, to avoid deadlocks.
CREATE FUNCTION statistics_delete_links(link_ids bigint[], at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    purged bigint[] := ARRAY(SELECT DISTINCT id FROM unnest(link_ids) AS link (id)
                             WHERE id > 0 AND NOT EXISTS (SELECT FROM links WHERE links.id = link.id) ORDER BY id);
    deleted bigint := 0;
    changed bigint;
BEGIN
    -- By ctid, because the planner could answer a join with a scan of the whole table. A row that
    -- is changed meanwhile may stay for the next call.
    DELETE FROM visit_rollup_quarter WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_rollup_quarter WHERE link_id = ANY (purged)
        ORDER BY link_id, bucket LIMIT at_most - deleted));
    GET DIAGNOSTICS changed = ROW_COUNT;
    deleted := deleted + changed;
    DELETE FROM visit_rollup_hour WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_rollup_hour WHERE link_id = ANY (purged)
        ORDER BY link_id, dimension, bucket, value LIMIT at_most - deleted));
    GET DIAGNOSTICS changed = ROW_COUNT;
    deleted := deleted + changed;
    DELETE FROM visit_total_day WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_total_day WHERE link_id = ANY (purged) ORDER BY link_id, day LIMIT at_most - deleted));
    GET DIAGNOSTICS changed = ROW_COUNT;
    deleted := deleted + changed;
    DELETE FROM visit_rollup_day WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_rollup_day WHERE link_id = ANY (purged)
        ORDER BY link_id, dimension, day, value LIMIT at_most - deleted));
    GET DIAGNOSTICS changed = ROW_COUNT;
    deleted := deleted + changed;
    IF deleted >= at_most THEN
        RETURN deleted; -- there may be more
    END IF;
    -- A transaction that counts a late click has either committed, and its roll-ups are seen below,
    -- or it waits here and inserts a new row afterwards. So no roll-up is left without the row by
    -- which it is found.
    PERFORM FROM link_statistics WHERE link_id = ANY (purged) ORDER BY link_id FOR UPDATE;
    DELETE FROM link_statistics AS s WHERE link_id = ANY (purged)
        AND NOT EXISTS (SELECT FROM visit_rollup_quarter AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_rollup_hour AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_total_day AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_rollup_day AS r WHERE r.link_id = s.link_id);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN deleted + changed;
END
$$;

-- For the consumer. A purge event names the slug, and the slug's tombstone has the id.
CREATE FUNCTION statistics_delete_slugs(slugs text[], at_most integer) RETURNS bigint LANGUAGE sql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT statistics_delete_links(ARRAY(SELECT link_id FROM link_tombstones WHERE slug = ANY (slugs)), at_most)
$$;

-- The position of the janitor's scan; -1: it is complete, the next call starts again.
CREATE TABLE statistics_sweep (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    link_id  bigint NOT NULL
);
INSERT INTO statistics_sweep (link_id) VALUES (-1);

-- For the janitor: scans the statistics of the next links, at most so many, and deletes at most so
-- many rows of purged ones; returns the rows deleted. Ids of links are never reused.
CREATE FUNCTION statistics_delete_orphans(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reached bigint := (SELECT greatest(link_id, 0) FROM statistics_sweep);
    seen bigint[] := ARRAY(SELECT link_id FROM link_statistics WHERE link_id > reached ORDER BY link_id LIMIT at_most);
    deleted bigint := statistics_delete_links(seen, at_most);
BEGIN
    IF deleted >= at_most THEN
        -- There may be more rows of the same links.
        UPDATE statistics_sweep SET link_id = reached;
    ELSE
        UPDATE statistics_sweep SET link_id = CASE WHEN cardinality(seen) < at_most THEN -1 ELSE seen[at_most] END;
    END IF;
    RETURN deleted;
END
$$;

REVOKE EXECUTE ON FUNCTION statistics_delete_links(bigint[], integer), statistics_delete_slugs(text[], integer),
    statistics_delete_orphans(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION statistics_delete_slugs(text[], integer) TO waymark_consumer;
GRANT EXECUTE ON FUNCTION statistics_delete_orphans(integer) TO waymark_janitor;
GRANT SELECT ON statistics_sweep TO waymark_janitor;
