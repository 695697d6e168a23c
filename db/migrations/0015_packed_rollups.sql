-- Roll-ups that stay small (docs/decisions/0059-packed-rollups.md). A batch inserts one row per link
-- and hour into rollup_delta. The janitor folds these rows into rollup_hour, and the hours of a
-- finished UTC day into rollup_day. A count of anything is the sum of what is folded and of the
-- deltas that are not.
--
-- All three tables have the same packed columns, each a list of entries or NULL. An entry is
-- humans, bots, uniques and a value, separated by U+001F; entries are separated by U+001E. The
-- values of quarters are 0 to 95: the quarter of an hour of the UTC day. An unknown value has no
-- entry: it is the total less the entries. Each list has at most 1,000 entries; what is beyond is
-- counted by one more, "(other)".

CREATE TABLE rollup_delta (
    link_id       bigint NOT NULL,
    hour          timestamptz NOT NULL, -- its start
    entries       integer NOT NULL, -- in all columns: the work of folding the row
    humans        integer NOT NULL,
    bots          integer NOT NULL,
    uniques       integer NOT NULL,
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
    utm_campaign  text COLLATE "C"
-- Rows live for seconds to an hour, so dead ones are removed often.
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0,
        autovacuum_vacuum_insert_threshold = 20000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
CREATE INDEX rollup_delta_link_idx ON rollup_delta (link_id, hour);

CREATE TABLE rollup_hour (LIKE rollup_delta, PRIMARY KEY (link_id, hour)) WITH (fillfactor = 90);
ALTER TABLE rollup_hour DROP COLUMN entries;

CREATE TABLE rollup_day (
    link_id       bigint NOT NULL,
    day           date NOT NULL, -- UTC
    humans        bigint NOT NULL,
    bots          bigint NOT NULL,
    uniques       bigint NOT NULL,
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
    PRIMARY KEY (link_id, day) INCLUDE (humans, bots, uniques) -- totals of many links need no other column
);

-- How far the days are finished. Both days only move forward, so a session may rely for a day on
-- what it has read.
CREATE TABLE rollup_progress (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    next_day    date NOT NULL, -- all earlier days are in rollup_day, except for deltas
    next_link   bigint NOT NULL DEFAULT 0, -- of next_day, all smaller links are
    hours_since date NOT NULL DEFAULT '-infinity', -- rollup_hour has all hours since this day
    fold_link   bigint NOT NULL DEFAULT 0 -- the run that folds deltas continues with this link
);
INSERT INTO rollup_progress (next_day) SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date;

-- --- lists of entries ---

CREATE FUNCTION rollup_columns() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY['quarters', 'country', 'city', 'region', 'referrer_host', 'browser', 'os', 'device', 'language', 'utm_source',
                 'utm_medium', 'utm_campaign']
$$;

-- A SELECT of the entries of a table's rows, one row per entry: link_id, key, dimension, value,
-- humans, bots, uniques. The caller may add conditions.
CREATE FUNCTION rollup_entries_sql(source text, key text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('SELECT t.link_id, %s, list.dimension, split_part(entry, E''\x1f'', 4) COLLATE "C" AS value,
        split_part(entry, E''\x1f'', 1)::bigint AS humans, split_part(entry, E''\x1f'', 2)::bigint AS bots,
        split_part(entry, E''\x1f'', 3)::bigint AS uniques
        FROM %s AS t CROSS JOIN LATERAL (VALUES %s) AS list (dimension, packed)
        CROSS JOIN LATERAL string_to_table(list.packed, E''\x1e'') AS entry ',
        key, source, string_agg(format('(%L, t.%I)', name, name), ', '))
    FROM unnest(rollup_columns()) AS name
$$;

-- A statement that adds changes to rollup_hour or rollup_day: a SELECT as above, which may have
-- parameters. Keeps the 1,000 values of each list that count most. Nobody else may write to the
-- table meanwhile.
CREATE FUNCTION rollup_add_sql(target text, key text, changes text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format($sql$
        WITH change AS MATERIALIZED (%3$s),
        touched AS MATERIALIZED (SELECT DISTINCT link_id, %2$I FROM change),
        sums AS (
            SELECT link_id, %2$I, dimension, value, sum(humans) AS humans, sum(bots) AS bots, sum(uniques) AS uniques
            FROM (SELECT * FROM change
                  UNION ALL %4$s JOIN touched USING (link_id, %2$I)) AS entries
            GROUP BY 1, 2, 3, 4),
        ranked AS (
            SELECT *, row_number() OVER (PARTITION BY link_id, %2$I, dimension
                                         ORDER BY value = '(other)', humans + bots DESC, value) AS rank
            FROM sums WHERE humans <> 0 OR bots <> 0 OR uniques <> 0),
        kept AS (
            SELECT link_id, %2$I, dimension, CASE WHEN rank <= 1000 THEN value ELSE '(other)' END AS value, sum(humans) AS humans,
                sum(bots) AS bots, sum(uniques) AS uniques
            FROM ranked GROUP BY 1, 2, 3, 4)
        INSERT INTO %1$I (link_id, %2$I, humans, bots, uniques, %5$s)
        SELECT link_id, %2$I, coalesce(sum(humans) FILTER (WHERE dimension = 'quarters'), 0),
            coalesce(sum(bots) FILTER (WHERE dimension = 'quarters'), 0),
            coalesce(sum(uniques) FILTER (WHERE dimension = 'quarters'), 0), %6$s
        FROM touched LEFT JOIN kept USING (link_id, %2$I) GROUP BY link_id, %2$I ORDER BY link_id, %2$I
        ON CONFLICT (link_id, %2$I) DO UPDATE SET humans = EXCLUDED.humans, bots = EXCLUDED.bots, uniques = EXCLUDED.uniques, %7$s
        $sql$, target, key, changes, rollup_entries_sql(target, key), string_agg(name, ', '),
        string_agg(format($list$string_agg(concat_ws(E'\x1f', humans, bots, uniques, value), E'\x1e') FILTER (WHERE dimension = %L)$list$, name), ', '),
        string_agg(format('%1$I = EXCLUDED.%1$I', name), ', '))
    FROM unnest(rollup_columns()) AS name
$$;

-- What is stored by hour and by day, deltas included, one row per entry: for tests and tools.
DO $$
BEGIN
    EXECUTE 'CREATE VIEW rollup_hour_entries AS ' || rollup_entries_sql('rollup_hour', 't.hour') || ' UNION ALL '
        || rollup_entries_sql('rollup_delta', 't.hour');
    EXECUTE 'CREATE VIEW rollup_day_entries AS ' || rollup_entries_sql('rollup_day', 't.day') || ' UNION ALL '
        || rollup_entries_sql('rollup_delta', '(t.hour AT TIME ZONE ''UTC'')::date AS day');
END
$$;

-- Whether rollup_day has the day of this link. Its later clicks are added to hours and days.
CREATE FUNCTION rollup_has_day(p rollup_progress, link bigint, day date) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT day < p.next_day OR (day = p.next_day AND link < p.next_link)
$$;

-- --- folding ---

-- True: nothing else writes rollup_hour and rollup_day until the transaction ends. False: a rebuild
-- of statistics keeps everybody else from it.
CREATE FUNCTION rollup_lock() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock_shared(daily_rollup_lock_class(), 64) THEN
        RETURN false;
    END IF;
    PERFORM FROM rollup_progress FOR UPDATE;
    RETURN true;
END
$$;

-- Continues the run that folds deltas: those of hours before the given time, and those of hours with
-- at least 32 rows. Others wait, because each fold writes the whole row of its hour. Folds about
-- at_most rows and looks at 20 times as many. Returns how many were folded. The run is over when
-- fold_link is 0.
CREATE FUNCTION rollup_fold(before timestamptz, at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    rows_min CONSTANT integer := 32;
    entries_max CONSTANT integer := 50000;
    progress rollup_progress;
    due tid[];
    folded bigint;
    looked_at bigint;
    last_link bigint;
    left_link bigint; -- the first with due rows that were not taken
BEGIN
    IF NOT rollup_lock() THEN
        RETURN 0;
    END IF;
    SELECT * INTO progress FROM rollup_progress;
    WITH next AS MATERIALIZED (
        SELECT ctid AS row_id, link_id, hour, entries FROM rollup_delta WHERE link_id >= progress.fold_link
        ORDER BY link_id, hour LIMIT at_most * 20),
    hours AS (
        SELECT link_id, hour, count(*) AS n, sum(entries) AS entries, array_agg(row_id) AS row_ids FROM next GROUP BY 1, 2
        HAVING count(*) >= rows_min OR hour + interval '1 hour' <= before),
    placed AS (
        SELECT *, sum(n) OVER place - n AS rows_before, sum(entries) OVER place - entries AS entries_before,
            greatest(2, least(at_most, entries_max * n / greatest(entries, 1)))::integer AS take
        FROM hours WINDOW place AS (ORDER BY link_id, hour)),
    judged AS MATERIALIZED (SELECT *, rows_before < at_most AND entries_before < entries_max AS is_taken FROM placed)
    SELECT (SELECT count(*) FROM next), (SELECT max(link_id) FROM next), ARRAY(SELECT unnest(row_ids[1:take]) FROM judged WHERE is_taken),
        (SELECT min(link_id) FROM judged WHERE NOT is_taken OR n > take)
    INTO looked_at, last_link, due, left_link;
    -- A purge of the links has deleted them, or waits and then finds what they were folded into.
    due := ARRAY(SELECT ctid FROM rollup_delta WHERE ctid = ANY (due) ORDER BY link_id, hour, ctid FOR UPDATE);
    folded := cardinality(due);
    IF folded > 0 THEN
        EXECUTE rollup_add_sql('rollup_hour', 'hour',
            rollup_entries_sql('rollup_delta', 't.hour') || 'WHERE t.ctid = ANY ($1) AND t.hour >= $2::timestamp AT TIME ZONE ''UTC''')
            USING due, progress.hours_since - 1;
        EXECUTE rollup_add_sql('rollup_day', 'day',
            rollup_entries_sql('rollup_delta', '(t.hour AT TIME ZONE ''UTC'')::date AS day')
            || 'WHERE t.ctid = ANY ($1) AND rollup_has_day($2, t.link_id, (t.hour AT TIME ZONE ''UTC'')::date)')
            USING due, progress;
        DELETE FROM rollup_delta WHERE ctid = ANY (due);
    END IF;
    UPDATE rollup_progress SET fold_link = CASE
        WHEN left_link IS NOT NULL THEN left_link
        WHEN looked_at < at_most * 20 THEN 0
        WHEN last_link = progress.fold_link THEN last_link + 1 -- its rows have been looked at
        ELSE last_link END;
    RETURN folded;
END
$$;

-- Continues to finish the first unfinished day, unless that is after last_day: adds the hours of
-- some links to rollup_day. Deletes hours that are older than hours_keep days. Returns the number of
-- steps, at least 1; 0: there is nothing to do, or a rebuild is under way.
CREATE FUNCTION rollup_finish_day(last_day date, hours_keep integer, at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    links_max CONSTANT integer := 20;
    progress rollup_progress;
    page bigint[];
    visited bigint[];
    kept date;
BEGIN
    IF NOT rollup_lock() THEN
        RETURN 0;
    END IF;
    SELECT * INTO progress FROM rollup_progress;
    IF progress.next_day > last_day THEN
        RETURN 0;
    END IF;
    page := ARRAY(SELECT link_id FROM link_statistics WHERE link_id >= greatest(progress.next_link, 1) ORDER BY link_id LIMIT at_most);
    -- Either a purge of the links waits and then deletes what is added here, or the row is gone.
    visited := ARRAY(
        SELECT link_id FROM link_statistics WHERE link_id = ANY (ARRAY(
            SELECT link_id FROM link_statistics WHERE link_id = ANY (page)
            AND last_visited_at >= progress.next_day::timestamp AT TIME ZONE 'UTC' ORDER BY link_id LIMIT links_max))
        ORDER BY link_id FOR KEY SHARE);
    IF cardinality(visited) = links_max THEN
        page := ARRAY(SELECT link FROM unnest(page) AS link WHERE link <= visited[links_max]);
    END IF;
    EXECUTE rollup_add_sql('rollup_day', 'day', rollup_entries_sql('rollup_hour', '$2 AS day') || 'WHERE t.link_id = ANY ($1)'
        ' AND t.hour >= $2::timestamp AT TIME ZONE ''UTC'' AND t.hour < ($2 + 1)::timestamp AT TIME ZONE ''UTC''')
        USING visited, progress.next_day;
    -- One day later than hours_since says, because a reader may still rely on the previous one.
    DELETE FROM rollup_hour WHERE link_id = ANY (page) AND hour < (progress.hours_since - 1)::timestamp AT TIME ZONE 'UTC';
    kept := greatest(progress.hours_since, progress.next_day - hours_keep);
    IF cardinality(page) < at_most AND cardinality(visited) < links_max THEN
        UPDATE rollup_progress SET next_day = progress.next_day + 1, next_link = 0, hours_since = kept;
    ELSE
        UPDATE rollup_progress SET next_link = page[cardinality(page)] + 1;
    END IF;
    RETURN greatest(cardinality(page), 1);
END
$$;

-- --- the former roll-ups ---
--
-- visit_rollup_quarter, visit_rollup_hour, visit_rollup_day and visit_total_day are read by nothing
-- any more. Consumers of the previous version may still write to them.

-- Moves rows of the former roll-ups to rollup_delta, at most so many of each table, and deletes
-- former roll-ups by day, because they are made again from the hours. Returns how many rows it has
-- taken; 0: the tables are empty.
CREATE FUNCTION rollup_import(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    taken bigint := 0;
    changed bigint;
    list text;
BEGIN
    WITH old AS (
        DELETE FROM visit_rollup_quarter WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM visit_rollup_quarter ORDER BY link_id, bucket LIMIT at_most FOR UPDATE))
        RETURNING link_id, date_trunc('hour', bucket, 'UTC') AS hour, humans, bots, uniques,
            (floor(extract(epoch FROM bucket))::bigint / 900 % 96)::text AS quarter)
    INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques, quarters)
        SELECT link_id, hour, count(*), sum(humans), sum(bots), sum(uniques),
            string_agg(concat_ws(E'\x1f', humans, bots, uniques, quarter), E'\x1e')
        FROM old GROUP BY 1, 2;
    GET DIAGNOSTICS taken = ROW_COUNT;
    SELECT string_agg(format('string_agg(entry, E''\x1e'') FILTER (WHERE dimension::text = %L)',
                             replace(name, 'referrer_host', 'referrer')), ', ' ORDER BY position)
        INTO list FROM unnest(rollup_columns()) WITH ORDINALITY AS columns (name, position) WHERE name <> 'quarters';
    EXECUTE format($sql$
        WITH old AS (
            DELETE FROM visit_rollup_hour WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM visit_rollup_hour ORDER BY link_id, dimension, bucket, value LIMIT $1 FOR UPDATE))
            RETURNING link_id, bucket, dimension, concat_ws(E'\x1f', humans, bots, uniques, value) AS entry)
        INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques, %s)
            SELECT link_id, bucket, count(*), 0, 0, 0, %s FROM old GROUP BY 1, 2
        $sql$, array_to_string(array_remove(rollup_columns(), 'quarters'), ', '), list) USING at_most;
    GET DIAGNOSTICS changed = ROW_COUNT;
    taken := taken + changed;
    DELETE FROM visit_rollup_day WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_rollup_day ORDER BY link_id, dimension, day, value LIMIT at_most FOR UPDATE));
    GET DIAGNOSTICS changed = ROW_COUNT;
    taken := taken + changed;
    DELETE FROM visit_total_day WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_total_day ORDER BY link_id, day LIMIT at_most FOR UPDATE));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN taken + changed;
END
$$;

-- --- statistics of purged links ---

-- As in 0005_statistics.sql, with the packed roll-ups. Deltas go first: a fold that is under way has
-- locked them, and what it has added is found afterwards.
CREATE OR REPLACE FUNCTION statistics_delete_links(link_ids bigint[], at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    purged bigint[] := ARRAY(SELECT DISTINCT id FROM unnest(link_ids) AS link (id)
                             WHERE id > 0 AND NOT EXISTS (SELECT FROM links WHERE links.id = link.id) ORDER BY id);
    deleted bigint := 0;
    changed bigint;
    keys CONSTANT text[] := ARRAY[
        'rollup_delta', 'link_id, hour, ctid', 'rollup_hour', 'link_id, hour', 'rollup_day', 'link_id, day',
        'visit_rollup_quarter', 'link_id, bucket', 'visit_rollup_hour', 'link_id, dimension, bucket, value',
        'visit_total_day', 'link_id, day', 'visit_rollup_day', 'link_id, dimension, day, value'];
BEGIN
    -- By ctid, because the planner could answer a join with a scan of the whole table. A row that
    -- is changed meanwhile may stay for the next call.
    FOR i IN 1 .. cardinality(keys) BY 2 LOOP
        EXECUTE format('DELETE FROM %1$I WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$I WHERE link_id = ANY ($1) ORDER BY %2$s LIMIT $2))',
                       keys[i], keys[i + 1]) USING purged, at_most - deleted;
        GET DIAGNOSTICS changed = ROW_COUNT;
        deleted := deleted + changed;
    END LOOP;
    IF deleted >= at_most THEN
        RETURN deleted; -- there may be more
    END IF;
    -- A transaction that counts a late click has either committed, and its roll-ups are seen below,
    -- or it waits here and inserts a new row afterwards. So no roll-up is left without the row by
    -- which it is found.
    PERFORM FROM link_statistics WHERE link_id = ANY (purged) ORDER BY link_id FOR UPDATE;
    DELETE FROM link_statistics AS s WHERE link_id = ANY (purged)
        AND NOT EXISTS (SELECT FROM rollup_delta AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM rollup_hour AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM rollup_day AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_rollup_quarter AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_rollup_hour AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_total_day AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_rollup_day AS r WHERE r.link_id = s.link_id);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN deleted + changed;
END
$$;

GRANT INSERT ON rollup_delta TO waymark_consumer;
GRANT SELECT ON rollup_delta, rollup_hour, rollup_day, rollup_progress TO waymark_links_api;
GRANT SELECT ON rollup_progress TO waymark_janitor;
REVOKE EXECUTE ON FUNCTION rollup_lock(), rollup_fold(timestamptz, integer), rollup_finish_day(date, integer, integer),
    rollup_import(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rollup_fold(timestamptz, integer), rollup_finish_day(date, integer, integer), rollup_import(integer)
    TO waymark_janitor;
