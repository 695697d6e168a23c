-- The visit log's calendar (docs/decisions/0017-the-calendar-of-the-visit-log.md). No function here asks the time: the days
-- come from the janitor, whose clock is that of the redirectors that wrote the clicks.

-- While the default partition is being sorted: how far its rows have been copied, and which came behind that.
CREATE TABLE visit_log_sorting (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    day      date NOT NULL,
    event_id uuid NOT NULL
);
CREATE TABLE visit_log_unsorted (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    day      date NOT NULL,
    event_id uuid NOT NULL
);

-- The one name of a day's partition.
CREATE FUNCTION visit_log_partition_name(partition_day date) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT 'visit_log_' || to_char(partition_day, 'YYYYMMDD')
$$;

-- Days that have a partition of their own; others that an operator attached are left alone.
CREATE FUNCTION visit_log_partition_days() RETURNS SETOF date LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT to_date(right(relname, 8), 'YYYYMMDD') FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'visit_log'::regclass AND relname ~ '^visit_log_[0-9]{8}$'
$$;

-- Days with rows in the default partition: one probe of its primary key per day, however many rows there are.
CREATE FUNCTION visit_log_days_astray() RETURNS SETOF date LANGUAGE plpgsql STABLE
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    next_day date := (SELECT min(day) FROM visit_log_default);
BEGIN
    WHILE next_day IS NOT NULL LOOP
        RETURN NEXT next_day;
        next_day := (SELECT min(day) FROM visit_log_default WHERE day > next_day);
    END LOOP;
END
$$;

-- Days that should have a partition and have none: those from today to newest, and those from oldest on for which clicks
-- have come. A table of that name that an operator detached keeps its place.
CREATE FUNCTION visit_log_missing_days(oldest date, today date, newest date) RETURNS SETOF date LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT day FROM (
        SELECT day::date FROM generate_series(today, newest, interval '1 day') AS day
        UNION SELECT day FROM visit_log_days_astray() AS day WHERE day BETWEEN oldest AND newest) AS wanted
    WHERE to_regclass(visit_log_partition_name(day)) IS NULL ORDER BY day
$$;

-- True: made. False: there was one. NULL: so many of the day's rows are in the default partition that they have to be
-- copied before (visit_log_sort_begin), or writers would wait for long; or they are being copied.
CREATE OR REPLACE FUNCTION visit_log_make_partition(partition_day date) RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    partition_name text := visit_log_partition_name(partition_day);
    at_most CONSTANT integer := 5000;
BEGIN
    IF EXISTS (SELECT FROM visit_log_sorting) THEN
        RETURN NULL;
    END IF;
    IF to_regclass(partition_name) IS NOT NULL THEN
        RETURN false;
    END IF;
    -- Writers wait here, before they choose a partition: one that had chosen the default partition and
    -- waited for that would be refused (its bounds have changed meanwhile), and its batch with it.
    LOCK TABLE ONLY visit_log IN SHARE ROW EXCLUSIVE MODE;
    IF to_regclass(partition_name) IS NOT NULL THEN
        RETURN false; -- somebody else made it while we waited
    END IF;
    IF (SELECT count(*) FROM (SELECT FROM visit_log_default WHERE day = partition_day LIMIT at_most + 1) AS first_ones) > at_most THEN
        RETURN NULL;
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

CREATE FUNCTION visit_log_note_unsorted() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO visit_log_unsorted (day, event_id) VALUES (NEW.day, NEW.event_id);
    RETURN NULL;
END
$$;

-- Begins to sort the default partition into a tree of its own beside the log, which takes the log's place at the end. Until
-- then all rows stay where they are: readers see them, and repeats of them are found. False: one is under way; go on with it.
CREATE FUNCTION visit_log_sort_begin(oldest date, today date, newest date) RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    next_day date;
BEGIN
    IF EXISTS (SELECT FROM visit_log_sorting) THEN
        RETURN false;
    END IF;
    -- Always the log before its default partition, so that nobody waits in a circle.
    LOCK TABLE ONLY visit_log IN ACCESS SHARE MODE;
    -- Writers that are under way end first: from here on each row is either there to be copied, or noted.
    LOCK TABLE visit_log_default IN SHARE ROW EXCLUSIVE MODE;
    CREATE TRIGGER visit_log_note_unsorted AFTER INSERT ON visit_log_default
        FOR EACH ROW EXECUTE FUNCTION visit_log_note_unsorted();
    CREATE TABLE visit_log_sorted (LIKE visit_log INCLUDING ALL) PARTITION BY RANGE (day);
    CREATE TABLE visit_log_sorted_default PARTITION OF visit_log_sorted DEFAULT;
    FOR next_day IN SELECT visit_log_missing_days(oldest, today, newest) LOOP
        -- The constraint spares ATTACH at the end from reading the table.
        EXECUTE format('CREATE TABLE %I PARTITION OF visit_log_sorted
                        (CONSTRAINT visit_log_sorted_day CHECK (day >= %L AND day < %L)) FOR VALUES FROM (%2$L) TO (%3$L)',
                       'visit_log_sorted_' || to_char(next_day, 'YYYYMMDD'), next_day, next_day + 1);
    END LOOP;
    INSERT INTO visit_log_sorting (day, event_id) VALUES (oldest - 1, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    RETURN true;
END
$$;

-- Copies the next rows, at most so many; gives how many.
CREATE FUNCTION visit_log_sort_copy(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reached visit_log_sorting := (SELECT s FROM visit_log_sorting AS s);
    copied bigint;
BEGIN
    WITH next AS MATERIALIZED (
        SELECT * FROM visit_log_default WHERE (day, event_id) > (reached.day, reached.event_id)
        ORDER BY day, event_id LIMIT at_most),
    moved AS (UPDATE visit_log_sorting AS s SET day = last.day, event_id = last.event_id
              FROM (SELECT day, event_id FROM next ORDER BY day DESC, event_id DESC LIMIT 1) AS last),
    added AS (INSERT INTO visit_log_sorted SELECT * FROM next ON CONFLICT DO NOTHING)
    SELECT count(*) INTO copied FROM next;
    RETURN copied;
END
$$;

-- Copies rows that came behind the copying, at most so many; gives how many.
CREATE FUNCTION visit_log_sort_catch_up(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    copied bigint;
BEGIN
    WITH taken AS MATERIALIZED (
        DELETE FROM visit_log_unsorted
        WHERE id = ANY (ARRAY(SELECT id FROM visit_log_unsorted ORDER BY id LIMIT at_most)) RETURNING day, event_id),
    added AS (INSERT INTO visit_log_sorted
              SELECT d.* FROM taken JOIN visit_log_default AS d USING (day, event_id) ON CONFLICT DO NOTHING)
    SELECT count(*) INTO copied FROM taken;
    RETURN copied;
END
$$;

-- Puts the sorted rows into the place of the default partition. False: more than so many are left to catch up with.
CREATE FUNCTION visit_log_sort_finish(at_most integer) RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    sorted text;
    sorted_day date;
BEGIN
    -- Everybody waits from here to the commit, hence nothing below reads or moves many rows.
    LOCK TABLE ONLY visit_log IN ACCESS EXCLUSIVE MODE;
    IF (SELECT count(*) FROM (SELECT FROM visit_log_unsorted LIMIT at_most + 1) AS first_ones) > at_most THEN
        RETURN false;
    END IF;
    PERFORM visit_log_sort_catch_up(at_most);
    ALTER TABLE visit_log DETACH PARTITION visit_log_default;
    DROP TABLE visit_log_default;
    FOR sorted IN SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
                  WHERE inhparent = 'visit_log_sorted'::regclass AND relname <> 'visit_log_sorted_default' LOOP
        sorted_day := to_date(right(sorted, 8), 'YYYYMMDD');
        EXECUTE format('ALTER TABLE visit_log_sorted DETACH PARTITION %I', sorted);
        EXECUTE format('ALTER TABLE %I RENAME TO %I', sorted, visit_log_partition_name(sorted_day));
        EXECUTE format('ALTER TABLE visit_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                       visit_log_partition_name(sorted_day), sorted_day, sorted_day + 1);
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT visit_log_sorted_day', visit_log_partition_name(sorted_day));
    END LOOP;
    ALTER TABLE visit_log_sorted DETACH PARTITION visit_log_sorted_default;
    ALTER TABLE visit_log_sorted_default RENAME TO visit_log_default;
    ALTER TABLE visit_log ATTACH PARTITION visit_log_default DEFAULT;
    DROP TABLE visit_log_sorted;
    DELETE FROM visit_log_sorting;
    RETURN true;
END
$$;

-- Deletes clicks that came too late for any partition, at most so many; gives how many.
CREATE FUNCTION visit_log_forget_astray(oldest date, at_most integer) RETURNS bigint LANGUAGE sql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH gone AS (
        DELETE FROM visit_log_default WHERE (day, event_id) IN (
            SELECT day, event_id FROM visit_log_default WHERE day < oldest ORDER BY day, event_id LIMIT at_most)
        RETURNING 1)
    SELECT count(*) FROM gone
$$;

-- Drops the oldest partition of a day before oldest; false: there is none. Everybody waits meanwhile: DETACH CONCURRENTLY is
-- not allowed beside a default partition. The file goes after the commit, when nobody waits any more.
CREATE FUNCTION visit_log_drop_partition(oldest date) RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    old_day date := (SELECT min(day) FROM visit_log_partition_days() AS day WHERE day < oldest);
BEGIN
    IF old_day IS NULL THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY visit_log IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('DROP TABLE %I', visit_log_partition_name(old_day));
    RETURN true;
END
$$;

-- How far the search for statistics of purged links has come; -1: to the end, it begins anew.
CREATE TABLE statistics_sweep (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    link_id  bigint NOT NULL
);
INSERT INTO statistics_sweep (link_id) VALUES (-1);

-- Looks at the statistics of the next links, at most so many, and deletes those of links that are gone, with as many of
-- their roll-ups at most; gives the rows deleted. A link's id never comes again. The platform's row (0) stays.
CREATE FUNCTION statistics_forget_purged(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reached bigint := (SELECT greatest(link_id, 0) FROM statistics_sweep);
    seen bigint[] := ARRAY(SELECT link_id FROM link_statistics WHERE link_id > reached ORDER BY link_id LIMIT at_most);
    purged bigint[] := ARRAY(SELECT s.link_id FROM link_statistics AS s
                             WHERE s.link_id = ANY (seen) AND NOT EXISTS (SELECT FROM links WHERE id = s.link_id)
                             ORDER BY s.link_id FOR UPDATE);
    rollups bigint;
    links bigint;
BEGIN
    -- Whoever counts a late click of them waits now, and what was counted before is seen.
    WITH gone AS (
        DELETE FROM visit_rollup_hour WHERE (link_id, dimension, bucket, value) IN (
            SELECT link_id, dimension, bucket, value FROM visit_rollup_hour WHERE link_id = ANY (purged)
            ORDER BY link_id, dimension, bucket, value LIMIT at_most)
        RETURNING 1)
    SELECT count(*) INTO rollups FROM gone;
    IF rollups = at_most THEN
        -- There may be more: the same links again.
        UPDATE statistics_sweep SET link_id = reached;
        RETURN rollups;
    END IF;
    DELETE FROM link_statistics WHERE link_id = ANY (purged);
    GET DIAGNOSTICS links = ROW_COUNT;
    UPDATE statistics_sweep SET link_id = CASE WHEN cardinality(seen) < at_most THEN -1 ELSE seen[at_most] END;
    RETURN rollups + links;
END
$$;

REVOKE EXECUTE ON FUNCTION visit_log_partition_days(), visit_log_days_astray(), visit_log_missing_days(date, date, date),
    visit_log_note_unsorted(), visit_log_sort_begin(date, date, date), visit_log_sort_copy(integer),
    visit_log_sort_catch_up(integer), visit_log_sort_finish(integer), visit_log_forget_astray(date, integer),
    visit_log_drop_partition(date), statistics_forget_purged(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION visit_log_days_astray(), visit_log_missing_days(date, date, date), visit_log_sort_begin(date, date, date),
    visit_log_sort_copy(integer), visit_log_sort_catch_up(integer), visit_log_sort_finish(integer),
    visit_log_forget_astray(date, integer), visit_log_drop_partition(date), statistics_forget_purged(integer) TO waymark_janitor;
GRANT SELECT ON visit_log_sorting, statistics_sweep TO waymark_janitor;
