-- Clicks: the visit log with its daily partitions, the consumer's offsets, and the salts of visitor
-- hashes.

-- Every counted click, including those of bots. No foreign keys, because the log outlives its
-- links. Partitioned by UTC day. The janitor makes partitions far ahead; the default partition has
-- the clicks of days without one.
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
    workspace_id    bigint NOT NULL DEFAULT 0, -- whose link it was when it was counted; 0 = nobody's
    rule            text NOT NULL DEFAULT '', -- the name of the rule that decided; '' = none did
    variant         text NOT NULL DEFAULT '', -- of a split; '' = none
    alias           text COLLATE "C" NOT NULL DEFAULT '', -- the earlier slug that was followed; '' = slug
    scan            text NOT NULL DEFAULT '', -- 'scan' = by the QR code
    PRIMARY KEY (day, event_id)
) PARTITION BY RANGE (day);
CREATE TABLE visit_log_default PARTITION OF visit_log DEFAULT;
-- Ascending, although the newest visits are read first: pages of growing keys stay full.
CREATE INDEX visit_log_by_link_idx ON visit_log (link_id, occurred_at);
-- A workspace's figures with a filter, and at the edges of a range.
CREATE INDEX visit_log_by_workspace_idx ON visit_log (workspace_id, occurred_at) WHERE workspace_id <> 0;
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

-- How far the consumer has counted each partition: event next_index of the record at next_offset is
-- the next one. It moves both by compare-and-set in the transaction that stores the batch. If no row
-- is updated, another consumer owns the partition and the batch is discarded. Both fit into one
-- bigint of the consumer (services/analytics-consumer/storage/offsets.h).
CREATE TABLE consumer_offsets (
    topic            text NOT NULL,
    partition        integer NOT NULL,
    next_offset      bigint NOT NULL CHECK (next_offset BETWEEN 0 AND 9007199254740991),
    next_index       integer NOT NULL DEFAULT 0 CHECK (next_index BETWEEN 0 AND 1023),
    -- The visits of all earlier events are certain to be in waymark.visits.v1. The next owner
    -- publishes those from here to the next event again. NULL reads as next_offset and next_index.
    published_offset bigint,
    published_index  integer NOT NULL DEFAULT 0,
    -- occurred_at of the newest event counted from this partition; the as_of of statistics.
    as_of            timestamptz,
    updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The record of the event before the next one, and its fingerprint. Another record at that offset
    -- means that the topic was recreated. Valid only if record_offset is next_offset - 1, or
    -- next_offset if next_index is not 0, because next_offset may be moved without it.
    record_offset    bigint,
    record_fingerprint     bigint,
    -- Since when the partition is halted until an operator decides, and why. It is not counted
    -- meanwhile.
    halted_at      timestamptz,
    halt_reason     text,
    PRIMARY KEY (topic, partition),
    CHECK ((published_offset, published_index) <= (next_offset, next_index))
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
        SET next_offset = resume_at, next_index = 0, published_offset = resume_at, published_index = 0,
            record_offset = NULL, record_fingerprint = NULL,
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

-- Makes a day's partition, and moves the clicks of that day into it that came before. False: it
-- exists, also if an operator detached it; more than move_max clicks came before, which then stay in
-- the default partition; or PostgreSQL, which reads all of the default partition meanwhile, needed
-- longer than the caller's statement_timeout. Batches wait until then.
CREATE FUNCTION visit_log_make_partition(partition_day date, move_max integer DEFAULT 1000)
    RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    partition_name text := 'visit_log_' || to_char(partition_day, 'YYYYMMDD');
BEGIN
    -- Writers must wait here, before they choose a partition. A writer that had chosen the default
    -- partition and waited for that would fail, because the partition's bounds have changed
    -- meanwhile.
    LOCK TABLE ONLY visit_log IN SHARE ROW EXCLUSIVE MODE;
    IF to_regclass(partition_name) IS NOT NULL
       OR (SELECT count(*) FROM (SELECT FROM visit_log_default WHERE day = partition_day LIMIT move_max + 1) AS early) > move_max THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE visit_log INCLUDING ALL)', partition_name);
    EXECUTE format('WITH moved AS (DELETE FROM visit_log_default WHERE day = %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
                   partition_day, partition_name);
    EXECUTE format('ALTER TABLE visit_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   partition_name, partition_day, partition_day + 1);
    RETURN true;
EXCEPTION WHEN query_canceled THEN
    RETURN false;
END
$$;

-- Drops the oldest partition of a day before oldest; false: there is none. Readers and writers wait
-- until the commit, because DETACH CONCURRENTLY does not work with a default partition. The file is
-- deleted after the commit, when nobody waits any more.
CREATE FUNCTION visit_log_drop_partition(oldest date) RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    -- Other tables that an operator attached are ignored.
    partition_name text := (
        SELECT min(relname::text) FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'visit_log'::regclass AND relname ~ '^visit_log_[0-9]{8}$');
    old_day date := to_date(right(partition_name, 8), 'YYYYMMDD');
BEGIN
    IF old_day IS NULL OR old_day >= oldest THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY visit_log IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('DROP TABLE %I', partition_name);
    UPDATE visit_log_reach SET since = old_day + 1 WHERE since IS NULL OR since <= old_day;
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION visit_log_make_partition(date, integer), visit_log_drop_partition(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION visit_log_make_partition(date, integer), visit_log_drop_partition(date) TO waymark_janitor;
GRANT SELECT, DELETE ON visit_log_default TO waymark_janitor;
GRANT SELECT, UPDATE ON visit_log_reach TO waymark_janitor;
