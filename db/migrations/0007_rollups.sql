-- Roll-ups: how often links and workspaces were visited, by hour and by UTC day.
--
-- A batch of the consumer inserts one row per link and hour into rollup_delta. The janitor folds
-- these rows (services/janitor/retention/rollups.h): it adds each one to the row of its hour and to
-- that of its day, of the link and of the workspace. So a count is the sum of what is folded, by hours
-- or by days, and of the deltas that are not. Lists are added up in C (lib/clicks/rollup_table.h);
-- SQL only reads and writes rows.
--
-- A workspace's rows count visits of the links that it had when they were counted. What happens to a
-- link later, also that it moves to another workspace, changes no past figure of a workspace.

-- The packed columns of all tables, each a list of entries or NULL. An entry is humans, bots, uniques
-- and a value, separated by U+001F; entries are separated by U+001E. The values of quarters are 0 to
-- 95: the quarter of an hour of the UTC day. The offset of every time zone is a multiple of a
-- quarter, so a day of any zone is a sum of these. An unknown value has no entry: it is the total
-- less the entries. Each list has at most 1,000 entries; what is beyond is counted by one more,
-- "(other)". Uniques are visits that were their visitor's first to this link on their UTC day.
CREATE TABLE rollup_lists (
    quarters      text COLLATE "C",
    country       text COLLATE "C",
    city          text COLLATE "C",
    region        text COLLATE "C",
    referrer_host text COLLATE "C",
    browser       text COLLATE "C",
    os            text COLLATE "C",
    device        text COLLATE "C",
    language      text COLLATE "C",
    utm_source    text COLLATE "C",
    utm_medium    text COLLATE "C",
    utm_campaign  text COLLATE "C",
    rule          text COLLATE "C",
    variant       text COLLATE "C",
    alias         text COLLATE "C",
    scan          text COLLATE "C"
);
-- A question about the links of a tag reads thousands of lists, and to find and decompress them was
-- most of its time. So lists stay in the page of their row, unless the row does not fit into a page,
-- and are compressed with LZ4, where the server has it.
DO $$
DECLARE
    list text;
    has_lz4 boolean := (SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression');
BEGIN
    FOR list IN SELECT attname FROM pg_attribute WHERE attrelid = 'rollup_lists'::regclass AND attnum > 0 LOOP
        EXECUTE format('ALTER TABLE rollup_lists ALTER %I SET STORAGE MAIN', list);
        IF has_lz4 THEN
            EXECUTE format('ALTER TABLE rollup_lists ALTER %I SET COMPRESSION lz4', list);
        END IF;
    END LOOP;
END
$$;

CREATE TABLE rollup_delta (
    link_id      bigint NOT NULL, -- 0: purged since, so the row counts for the workspace alone
    workspace_id bigint NOT NULL DEFAULT 0, -- the workspace whose link it was; 0 = none
    hour         timestamptz NOT NULL, -- its start
    entries      integer NOT NULL DEFAULT 0, -- of all lists: the work of folding the row
    humans       integer NOT NULL,
    bots         integer NOT NULL,
    uniques      integer NOT NULL,
    LIKE rollup_lists INCLUDING STORAGE INCLUDING COMPRESSION
-- Rows live for seconds to an hour, so dead ones are removed often.
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0,
        autovacuum_vacuum_insert_threshold = 20000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
CREATE INDEX rollup_delta_link_idx ON rollup_delta (link_id, hour);
CREATE INDEX rollup_delta_workspace_idx ON rollup_delta (workspace_id, hour, link_id); -- the order of folding

CREATE TABLE rollup_hour (
    link_id bigint NOT NULL,
    hour    timestamptz NOT NULL,
    entries integer NOT NULL DEFAULT 0,
    humans  integer NOT NULL,
    bots    integer NOT NULL,
    uniques integer NOT NULL,
    LIKE rollup_lists INCLUDING STORAGE INCLUDING COMPRESSION,
    PRIMARY KEY (link_id, hour)
) WITH (fillfactor = 90);
CREATE INDEX rollup_hour_age_idx ON rollup_hour (hour);

CREATE TABLE rollup_workspace_hour (
    workspace_id bigint NOT NULL,
    hour         timestamptz NOT NULL,
    entries      integer NOT NULL DEFAULT 0,
    humans       integer NOT NULL,
    bots         integer NOT NULL,
    uniques      integer NOT NULL,
    LIKE rollup_lists INCLUDING STORAGE INCLUDING COMPRESSION,
    PRIMARY KEY (workspace_id, hour)
) WITH (fillfactor = 90);
CREATE INDEX rollup_workspace_hour_age_idx ON rollup_workspace_hour (hour);

-- Totals of many days come from the index alone, once a vacuum has seen their pages. Each day adds a
-- small share of the rows, so do not wait for a fifth of them.
CREATE TABLE rollup_day (
    link_id bigint NOT NULL,
    day     date NOT NULL, -- UTC
    entries integer NOT NULL DEFAULT 0,
    humans  bigint NOT NULL,
    bots    bigint NOT NULL,
    uniques bigint NOT NULL,
    LIKE rollup_lists INCLUDING STORAGE INCLUDING COMPRESSION,
    PRIMARY KEY (link_id, day) INCLUDE (humans, bots, uniques)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01);

CREATE TABLE rollup_workspace_day (
    workspace_id bigint NOT NULL,
    day          date NOT NULL,
    entries      integer NOT NULL DEFAULT 0,
    humans       bigint NOT NULL,
    bots         bigint NOT NULL,
    uniques      bigint NOT NULL,
    LIKE rollup_lists INCLUDING STORAGE INCLUDING COMPRESSION,
    PRIMARY KEY (workspace_id, day) INCLUDE (humans, bots, uniques)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01);

DROP TABLE rollup_lists;

-- From this day on, hours are kept. It only moves forward, and hours are deleted a day later than it
-- says, so a session may rely on what it has read.
CREATE TABLE rollup_progress (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    hours_since date NOT NULL DEFAULT '-infinity'
);
INSERT INTO rollup_progress DEFAULT VALUES;

-- --- totals ---

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

-- --- one row per entry, deltas included: for tests and tools ---

CREATE FUNCTION rollup_entries(lists jsonb)
    RETURNS TABLE (dimension text, value text, humans bigint, bots bigint, uniques bigint) LANGUAGE sql IMMUTABLE AS $$
    SELECT name, split_part(entry, E'\x1f', 4) COLLATE "C", split_part(entry, E'\x1f', 1)::bigint,
        split_part(entry, E'\x1f', 2)::bigint, split_part(entry, E'\x1f', 3)::bigint
    FROM jsonb_each_text(lists - ARRAY['link_id', 'workspace_id', 'hour', 'day', 'entries', 'humans', 'bots', 'uniques'])
        AS list (name, entries)
    CROSS JOIN LATERAL string_to_table(entries, E'\x1e') AS entry
$$;
CREATE VIEW rollup_hour_entries AS
    SELECT r.link_id, r.hour, e.* FROM (
        SELECT link_id, hour, to_jsonb(t) AS lists FROM rollup_hour AS t
        UNION ALL SELECT link_id, hour, to_jsonb(t) FROM rollup_delta AS t WHERE link_id <> 0) AS r
    CROSS JOIN LATERAL rollup_entries(lists) AS e;
CREATE VIEW rollup_day_entries AS
    SELECT r.link_id, r.day, e.* FROM (
        SELECT link_id, day, to_jsonb(t) AS lists FROM rollup_day AS t
        UNION ALL SELECT link_id, (hour AT TIME ZONE 'UTC')::date, to_jsonb(t) FROM rollup_delta AS t WHERE link_id <> 0) AS r
    CROSS JOIN LATERAL rollup_entries(lists) AS e;
CREATE VIEW rollup_workspace_hour_entries AS
    SELECT r.workspace_id, r.hour, e.* FROM (
        SELECT workspace_id, hour, to_jsonb(t) AS lists FROM rollup_workspace_hour AS t
        UNION ALL SELECT workspace_id, hour, to_jsonb(t) FROM rollup_delta AS t WHERE workspace_id <> 0) AS r
    CROSS JOIN LATERAL rollup_entries(lists) AS e;
CREATE VIEW rollup_workspace_day_entries AS
    SELECT r.workspace_id, r.day, e.* FROM (
        SELECT workspace_id, day, to_jsonb(t) AS lists FROM rollup_workspace_day AS t
        UNION ALL SELECT workspace_id, (hour AT TIME ZONE 'UTC')::date, to_jsonb(t) FROM rollup_delta AS t WHERE workspace_id <> 0) AS r
    CROSS JOIN LATERAL rollup_entries(lists) AS e;

-- --- statistics of purged links ---
--
-- The consumer deletes them soon after the purge's event. The janitor's nightly scan deletes those
-- that late clicks created again. The link_statistics row of a link goes last, because the scan
-- finds all other rows by it. What workspaces have stays theirs.

-- Deletes the roll-ups and statistics of those of the links that are purged, at most so many rows.
-- Returns how many; 0 = nothing is left. Links that still exist, and the platform (0), keep
-- everything. Rows are found by ctid, because the planner could answer a join with a scan of the
-- whole table. A row that is changed meanwhile may stay for the next call.
CREATE FUNCTION statistics_delete_links(link_ids bigint[], at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    purged bigint[] := ARRAY(SELECT DISTINCT id FROM unnest(link_ids) AS link (id)
                             WHERE id > 0 AND NOT EXISTS (SELECT FROM links WHERE links.id = link.id) ORDER BY id);
    deleted bigint;
    changed bigint;
BEGIN
    deleted := rollup_delete_deltas(purged, at_most);
    DELETE FROM rollup_hour WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM rollup_hour WHERE link_id = ANY (purged) ORDER BY link_id, hour LIMIT at_most - deleted));
    GET DIAGNOSTICS changed = ROW_COUNT;
    deleted := deleted + changed;
    DELETE FROM rollup_day WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM rollup_day WHERE link_id = ANY (purged) ORDER BY link_id, day LIMIT at_most - deleted));
    GET DIAGNOSTICS changed = ROW_COUNT;
    deleted := deleted + changed;
    IF deleted < at_most THEN
        deleted := deleted + statistics_delete_totals(purged);
    END IF;
    RETURN deleted;
END
$$;

-- Deltas go first: a fold that is under way has locked them, and what it has added is found
-- afterwards. What is not folded yet for a workspace loses its link only.
CREATE FUNCTION rollup_delete_deltas(purged bigint[], at_most integer) RETURNS bigint LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    rows tid[] := ARRAY(SELECT ctid FROM rollup_delta WHERE link_id = ANY (purged)
                        ORDER BY link_id, hour, ctid LIMIT at_most FOR UPDATE);
BEGIN
    UPDATE rollup_delta SET link_id = 0 WHERE ctid = ANY (rows) AND workspace_id <> 0;
    DELETE FROM rollup_delta WHERE ctid = ANY (rows) AND workspace_id = 0;
    RETURN cardinality(rows);
END
$$;

-- Deletes the link_statistics rows of links that have no roll-ups. A transaction that counts a late
-- click has either committed, and its roll-ups are seen below, or it waits here and inserts a new
-- row afterwards. So no roll-up is left without the row by which it is found.
CREATE FUNCTION statistics_delete_totals(purged bigint[]) RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    deleted bigint;
BEGIN
    PERFORM FROM link_statistics WHERE link_id = ANY (purged) ORDER BY link_id FOR UPDATE;
    DELETE FROM link_statistics AS s WHERE link_id = ANY (purged)
        AND NOT EXISTS (SELECT FROM rollup_delta AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM rollup_hour AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM rollup_day AS r WHERE r.link_id = s.link_id);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
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

-- --- rights ---

GRANT SELECT, INSERT, UPDATE ON link_statistics TO waymark_consumer;
GRANT INSERT ON rollup_delta TO waymark_consumer;
GRANT SELECT ON link_statistics, rollup_delta, rollup_hour, rollup_day, rollup_workspace_hour, rollup_workspace_day, rollup_progress
    TO waymark_links_api;
-- The figures of a deleted workspace are deleted.
GRANT DELETE ON rollup_workspace_hour, rollup_workspace_day TO waymark_links_api;
GRANT SELECT, UPDATE, DELETE ON rollup_delta TO waymark_janitor;
GRANT SELECT, INSERT, UPDATE ON rollup_hour, rollup_day, rollup_workspace_hour, rollup_workspace_day TO waymark_janitor;
GRANT DELETE ON rollup_hour, rollup_workspace_hour TO waymark_janitor;
GRANT SELECT, UPDATE ON rollup_progress TO waymark_janitor;
GRANT SELECT ON statistics_sweep TO waymark_janitor;
GRANT SELECT (id, deleted_at) ON workspaces TO waymark_janitor;
REVOKE EXECUTE ON FUNCTION statistics_delete_links(bigint[], integer), rollup_delete_deltas(bigint[], integer),
    statistics_delete_totals(bigint[]), statistics_delete_slugs(text[], integer), statistics_delete_orphans(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION statistics_delete_slugs(text[], integer) TO waymark_consumer;
GRANT EXECUTE ON FUNCTION statistics_delete_orphans(integer) TO waymark_janitor;
