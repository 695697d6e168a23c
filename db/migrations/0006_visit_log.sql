-- Clicks: the visit log with its daily partitions, the consumer's offsets, and the salts of visitor
-- hashes.

-- Every counted click, including those of bots. No foreign keys, because the log outlives its
-- links. Partitioned by UTC day. The janitor creates partitions ahead of time. The default
-- partition takes clicks whose day has no partition ("strays").
CREATE TABLE visit_log (
    day             date NOT NULL, -- UTC day of occurred_at
    event_id        uuid NOT NULL,
    occurred_at     timestamptz NOT NULL,
    link_id         bigint NOT NULL,
    slug            text COLLATE "C" NOT NULL,
    status          smallint NOT NULL,
    latency_us      integer NOT NULL,
    is_bot          boolean NOT NULL,
    bot_reason      text NOT NULL DEFAULT '',
    visitor_hash    bytea NOT NULL DEFAULT '', -- the first 16 bytes of the click's; '' = unknown
    is_unique       boolean NOT NULL DEFAULT false, -- the visitor's first visit to this link on this day
    client_network  text NOT NULL DEFAULT '',
    -- Facts about the visitor; '' = unknown.
    country         text NOT NULL DEFAULT '',
    city            text NOT NULL DEFAULT '',
    referrer_host   text NOT NULL DEFAULT '',
    browser         text NOT NULL DEFAULT '',
    os              text NOT NULL DEFAULT '',
    device          text NOT NULL DEFAULT '',
    language        text NOT NULL DEFAULT '',
    utm_source      text NOT NULL DEFAULT '',
    utm_medium      text NOT NULL DEFAULT '',
    utm_campaign    text NOT NULL DEFAULT '',
    served_from     text NOT NULL DEFAULT '', -- REGION of the redirector that answered
    region          text NOT NULL DEFAULT '', -- ISO 3166-2 subdivision of the country ('DE-BY')
    browser_version text NOT NULL DEFAULT '',
    os_version      text NOT NULL DEFAULT '',
    referrer_source text NOT NULL DEFAULT '', -- 'Google'
    PRIMARY KEY (day, event_id)
) PARTITION BY RANGE (day);
CREATE TABLE visit_log_default PARTITION OF visit_log DEFAULT;
-- Ascending, although the newest visits are read first: pages of growing keys stay full.
CREATE INDEX visit_log_by_link_idx ON visit_log (link_id, occurred_at);
-- Only one visit of a visitor to a link on a day is unique
-- (docs/decisions/0024-unique-visitors-in-the-visit-log.md). The index has the whole hash. Visits with an
-- unknown hash ('') cannot be distinguished and are never unique.
CREATE UNIQUE INDEX visit_log_visitor_idx ON visit_log (day, link_id, visitor_hash)
    WHERE is_unique AND visitor_hash <> '';

-- The first day from which on the visit log is complete: earlier days were dropped or deleted. NULL
-- = nothing was ever deleted. A statement that reads this row and the log together cannot miss a
-- drop, because it waits for the log's lock.
CREATE TABLE visit_log_reach (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    since    date
);
INSERT INTO visit_log_reach DEFAULT VALUES;

-- How far the consumer has counted each partition. It moves next_offset by compare-and-set in the
-- transaction that stores the batch. If no row is updated, another consumer owns the partition and
-- the batch is discarded.
CREATE TABLE consumer_offsets (
    topic            text NOT NULL,
    partition        integer NOT NULL,
    next_offset      bigint NOT NULL,
    -- The visits of all earlier events are certain to be in waymark.visits.v1. The next owner
    -- publishes those from here to next_offset again. NULL reads as next_offset.
    published_offset bigint CHECK (published_offset <= next_offset),
    -- occurred_at of the newest event counted from this partition; the as_of of statistics.
    as_of            timestamptz,
    updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The record before next_offset and its fingerprint. Another record at that offset means that
    -- the topic was recreated. Valid only if record_offset = next_offset - 1, because next_offset may
    -- be moved without it.
    record_offset    bigint,
    record_fingerprint     bigint,
    -- Since when the partition is halted until an operator decides, and why. It is not counted
    -- meanwhile.
    halted_at      timestamptz,
    halt_reason     text,
    PRIMARY KEY (topic, partition)
);

-- For operators: resumes a halted partition at next_offset resume_at, or at the oldest available
-- record if that is 0. Consumers must be restarted afterwards. Returns the offset at which the
-- partition was halted.
CREATE FUNCTION consumer_offsets_resume(halted_topic text, halted_partition integer, resume_at bigint)
    RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    old_offset bigint;
BEGIN
    IF resume_at < 0 THEN
        RAISE EXCEPTION 'resume_at must not be negative';
    END IF;
    SELECT next_offset INTO old_offset FROM consumer_offsets
        WHERE topic = halted_topic AND partition = halted_partition AND halted_at IS NOT NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'partition % of % is not halted', halted_partition, halted_topic;
    END IF;
    UPDATE consumer_offsets
        SET next_offset = resume_at, published_offset = resume_at, record_offset = NULL, record_fingerprint = NULL,
            halted_at = NULL, halt_reason = NULL, updated_at = clock_timestamp()
        WHERE topic = halted_topic AND partition = halted_partition;
    RETURN old_offset;
END
$$;
REVOKE EXECUTE ON FUNCTION consumer_offsets_resume(text, integer, bigint) FROM PUBLIC;

-- One salt per UTC day. The janitor creates it ahead of time and deletes it a day after its day has
-- ended (SALTS_KEEP_S), so that visitor hashes cannot be recomputed later.
CREATE TABLE visitor_salts (
    day  date PRIMARY KEY,
    salt bytea NOT NULL CHECK (octet_length(salt) = 32)
);

GRANT SELECT, INSERT ON visit_log TO waymark_consumer;
GRANT SELECT, INSERT, UPDATE ON consumer_offsets TO waymark_consumer;
GRANT SELECT ON visit_log, visit_log_reach, consumer_offsets TO waymark_links_api;
GRANT SELECT, INSERT, DELETE ON visitor_salts TO waymark_janitor;
GRANT SELECT ON visitor_salts TO waymark_redirector;

-- --- partitions (docs/decisions/0017-visit-log-partitions-and-retention.md) ---
--
-- The janitor calls these functions, because it does not own the table. None of them reads a clock:
-- the janitor passes the days, and its clock agrees with those of the redirectors that dated the
-- clicks.

-- The name of a day's partition.
CREATE FUNCTION visit_log_partition_name(partition_day date) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT 'visit_log_' || to_char(partition_day, 'YYYYMMDD')
$$;

-- Days with a partition of their own. Other tables that an operator attached are ignored.
CREATE FUNCTION visit_log_partition_days() RETURNS SETOF date LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT to_date(right(relname, 8), 'YYYYMMDD') FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'visit_log'::regclass AND relname ~ '^visit_log_[0-9]{8}$'
$$;

-- Days with rows in the default partition. One probe of its primary key per day, however many rows
-- it has.
CREATE FUNCTION visit_log_stray_days() RETURNS SETOF date LANGUAGE plpgsql STABLE
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

-- Days that should have a partition and have none: all from today to newest, and those from oldest
-- on with strays. A table of that name that an operator detached is not replaced.
CREATE FUNCTION visit_log_missing_days(oldest date, today date, newest date) RETURNS SETOF date LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT day FROM (
        SELECT day::date FROM generate_series(today, newest, interval '1 day') AS day
        UNION SELECT day FROM visit_log_stray_days() AS day WHERE day BETWEEN oldest AND newest) AS wanted
    WHERE to_regclass(visit_log_partition_name(day)) IS NULL ORDER BY day
$$;

-- Creates a day's partition. True: created. False: it existed. NULL: the day has so many strays
-- that moving them would block writers for long, so they must be sorted first
-- (visit_log_sort_begin), or they are being sorted already.
CREATE FUNCTION visit_log_make_partition(partition_day date) RETURNS boolean LANGUAGE plpgsql
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
    -- Writers must wait here, before they choose a partition. A writer that had chosen the default
    -- partition and waited for that would fail, because the partition's bounds have changed
    -- meanwhile.
    LOCK TABLE ONLY visit_log IN SHARE ROW EXCLUSIVE MODE;
    IF to_regclass(partition_name) IS NOT NULL THEN
        RETURN false; -- created by another session while this one waited
    END IF;
    IF (SELECT count(*) FROM (SELECT FROM visit_log_default WHERE day = partition_day LIMIT at_most + 1) AS first_ones) > at_most THEN
        RETURN NULL;
    END IF;
    -- The strays of the day must leave the default partition, or ATTACH fails.
    LOCK TABLE visit_log_default IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE %I (LIKE visit_log INCLUDING ALL)', partition_name);
    EXECUTE format('WITH moved AS (DELETE FROM visit_log_default WHERE day = %L RETURNING *)
                    INSERT INTO %I SELECT * FROM moved', partition_day, partition_name);
    EXECUTE format('ALTER TABLE visit_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   partition_name, partition_day, partition_day + 1);
    RETURN true;
END
$$;

-- Deletes at most so many strays that are older than the retention; returns how many.
CREATE FUNCTION visit_log_delete_expired_strays(oldest date, at_most integer) RETURNS bigint LANGUAGE sql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH gone AS (
        DELETE FROM visit_log_default WHERE (day, event_id) IN (
            SELECT day, event_id FROM visit_log_default WHERE day < oldest ORDER BY day, event_id LIMIT at_most)
        RETURNING 1),
    updated AS (
        UPDATE visit_log_reach SET since = oldest
        WHERE EXISTS (SELECT FROM gone) AND (since IS NULL OR since < oldest))
    SELECT count(*) FROM gone
$$;

-- Drops the oldest partition of a day before oldest; false: there is none. Readers and writers wait
-- until the commit, because DETACH CONCURRENTLY does not work with a default partition. The file is
-- deleted after the commit, when nobody waits any more.
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
    UPDATE visit_log_reach SET since = old_day + 1 WHERE since IS NULL OR since <= old_day;
    RETURN true;
END
$$;

-- --- sorting the default partition ---
--
-- Copies many strays into a second partitioned table, visit_log_sorted, while the log stays in use.
-- Then swaps its partitions into the log. Until then all rows stay where they are, so readers see
-- them and repeated events are recognised.

-- The position up to which the default partition has been copied. The row exists only while
-- sorting.
CREATE TABLE visit_log_sorting (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    day      date NOT NULL,
    event_id uuid NOT NULL
);
-- Rows inserted into the default partition since sorting began. Some of them are before that
-- position.
CREATE TABLE visit_log_unsorted (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    day      date NOT NULL,
    event_id uuid NOT NULL
);

CREATE FUNCTION visit_log_note_unsorted() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO visit_log_unsorted (day, event_id) VALUES (NEW.day, NEW.event_id);
    RETURN NULL;
END
$$;

-- Begins sorting. False: sorting is under way; continue with it.
CREATE FUNCTION visit_log_sort_begin(oldest date, today date, newest date) RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    next_day date;
BEGIN
    IF EXISTS (SELECT FROM visit_log_sorting) THEN
        RETURN false;
    END IF;
    -- Always lock the log before its default partition, to avoid deadlocks.
    LOCK TABLE ONLY visit_log IN ACCESS SHARE MODE;
    -- Waits for the current writers. From here on, every row is either present for copying or
    -- noted.
    LOCK TABLE visit_log_default IN SHARE ROW EXCLUSIVE MODE;
    CREATE TRIGGER visit_log_note_unsorted AFTER INSERT ON visit_log_default
        FOR EACH ROW EXECUTE FUNCTION visit_log_note_unsorted();
    CREATE TABLE visit_log_sorted (LIKE visit_log INCLUDING ALL) PARTITION BY RANGE (day);
    CREATE TABLE visit_log_sorted_default PARTITION OF visit_log_sorted DEFAULT;
    FOR next_day IN SELECT visit_log_missing_days(oldest, today, newest) LOOP
        -- With this constraint, the final ATTACH need not read the table.
        EXECUTE format('CREATE TABLE %I PARTITION OF visit_log_sorted
                        (CONSTRAINT visit_log_sorted_day CHECK (day >= %L AND day < %L)) FOR VALUES FROM (%2$L) TO (%3$L)',
                       'visit_log_sorted_' || to_char(next_day, 'YYYYMMDD'), next_day, next_day + 1);
    END LOOP;
    INSERT INTO visit_log_sorting (day, event_id) VALUES (oldest - 1, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    RETURN true;
END
$$;

-- Copies the next rows, at most so many; returns how many.
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

-- Copies noted rows, at most so many; returns how many.
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

-- Swaps the sorted partitions into the log. False: more than so many noted rows are left to copy
-- first.
CREATE FUNCTION visit_log_sort_finish(at_most integer) RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    sorted text;
    sorted_day date;
BEGIN
    -- Readers and writers wait from here to the commit, so nothing below reads or moves many rows.
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

REVOKE EXECUTE ON FUNCTION visit_log_partition_days(), visit_log_stray_days(), visit_log_missing_days(date, date, date),
    visit_log_make_partition(date), visit_log_delete_expired_strays(date, integer), visit_log_drop_partition(date),
    visit_log_note_unsorted(), visit_log_sort_begin(date, date, date), visit_log_sort_copy(integer),
    visit_log_sort_catch_up(integer), visit_log_sort_finish(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION visit_log_missing_days(date, date, date), visit_log_make_partition(date),
    visit_log_delete_expired_strays(date, integer), visit_log_drop_partition(date), visit_log_sort_begin(date, date, date),
    visit_log_sort_copy(integer), visit_log_sort_catch_up(integer), visit_log_sort_finish(integer) TO waymark_janitor;
GRANT SELECT ON visit_log_sorting TO waymark_janitor;
