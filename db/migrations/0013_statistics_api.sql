-- What answers about visits need beyond the roll-ups (docs/decisions/0020-statistics-answers.md).

-- Since when the visit log is whole: days before that have been dropped or forgotten. NULL: nothing ever was. Whoever reads
-- it in the statement that reads the log cannot miss a drop: it waits for the log's lock.
CREATE TABLE visit_log_reach (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    since    date
);
-- What was dropped before this table was there has left its roll-ups.
INSERT INTO visit_log_reach (since)
    SELECT CASE WHEN EXISTS (SELECT FROM visit_rollup_quarter WHERE bucket < oldest::timestamp AT TIME ZONE 'UTC') THEN oldest END
    FROM (SELECT min(day) AS oldest FROM visit_log_partition_days() AS day) AS log;

-- As in 0009, and remembers how far.
CREATE OR REPLACE FUNCTION visit_log_forget_astray(oldest date, at_most integer) RETURNS bigint LANGUAGE sql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH gone AS (
        DELETE FROM visit_log_default WHERE (day, event_id) IN (
            SELECT day, event_id FROM visit_log_default WHERE day < oldest ORDER BY day, event_id LIMIT at_most)
        RETURNING 1),
    told AS (
        UPDATE visit_log_reach SET since = oldest
        WHERE EXISTS (SELECT FROM gone) AND (since IS NULL OR since < oldest))
    SELECT count(*) FROM gone
$$;

CREATE OR REPLACE FUNCTION visit_log_drop_partition(oldest date) RETURNS boolean LANGUAGE plpgsql
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

-- The first instant at which clocks in the zone show this time or a later one. A time that comes twice (clocks were set back)
-- is its first coming, where AT TIME ZONE takes the second; one that clocks skip is the moment at which they do.
CREATE FUNCTION local_start(local timestamp, zone text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN (late - interval '1 hour') AT TIME ZONE zone >= local THEN late - interval '1 hour'
        WHEN (late - interval '30 minutes') AT TIME ZONE zone >= local THEN late - interval '30 minutes'
        ELSE late END
    FROM (SELECT local AT TIME ZONE zone AS late) AS taken
$$;

GRANT SELECT ON visit_log_reach TO waymark_links_api;
