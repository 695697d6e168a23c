-- Roll-ups of finished days (docs/decisions/0025-finished-days.md): visit_rollup_day is no longer written click by click, but from
-- the hours of a day that is over, in the order of its key, so that what is read together lies together. A click that is counted
-- after that is added to both.

-- How far that is. It only ever moves forward, so whoever has read it may go by it for as long as he likes.
CREATE TABLE finished_days (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    totals_since   date NOT NULL, -- visit_total_day begins with this day
    next_day       date NOT NULL, -- all days before it are finished
    next_link      bigint NOT NULL DEFAULT 0, -- of next_day, all links below this one are,
    done_dimension visit_dimension, -- and of this one all (dimension, value) up to these; NULL: none
    done_value     text COLLATE "C"
);
-- What there is of days before today was counted into visit_rollup_day by each batch, and is complete.
INSERT INTO finished_days (totals_since, next_day)
    SELECT today, today FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS today) AS now;

-- Totals of finished days: the sum of the day's quarters.
CREATE TABLE visit_total_day (
    link_id bigint NOT NULL,
    day     date NOT NULL, -- UTC
    humans  bigint NOT NULL DEFAULT 0,
    bots    bigint NOT NULL DEFAULT 0,
    uniques bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (link_id, day)
);

-- Rows are written once; those that late clicks change may move.
ALTER TABLE visit_rollup_day SET (fillfactor = 95);

-- Whether the row of visit_rollup_day, or of visit_total_day, is kept up.
CREATE FUNCTION finished_days_have(f finished_days, link bigint, day date, dimension visit_dimension, value text)
    RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT day < f.next_day OR (day = f.next_day AND (link < f.next_link OR
        (link = f.next_link AND f.done_dimension IS NOT NULL AND (dimension, value COLLATE "C") <= (f.done_dimension, f.done_value))))
$$;
CREATE FUNCTION finished_days_have_total(f finished_days, link bigint, day date) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT day >= f.totals_since AND (day < f.next_day OR (day = f.next_day AND link < f.next_link))
$$;

-- Of a day's lock; days far apart share one, so that no batch can ask for more than 64. Whoever counts clicks of a day that is
-- not finished shares it; whoever finishes the day has it alone.
CREATE FUNCTION finished_days_lock_of(day date) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT (day - date '1970-01-01') & 63
$$;
-- "days", as a number: the first half of the locks' keys. The other lock (64): who has it, finishes; who shares it, keeps
-- others from finishing.
CREATE FUNCTION finished_days_locks() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1684109683';

-- What is finished of these days stays as it is until the transaction ends; gives next_day. Statements after this one see it.
-- A day that is finished already will not change any more and needs no lock.
CREATE FUNCTION finished_days_hold(days date[]) RETURNS date LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    key integer;
BEGIN
    FOR key IN SELECT DISTINCT finished_days_lock_of(day) FROM unnest(days) AS day
               WHERE day >= (SELECT next_day FROM finished_days) ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock_shared(finished_days_locks(), key);
    END LOOP;
    RETURN (SELECT next_day FROM finished_days);
END
$$;

-- A link's total of the day; only once its values are all there, so that nobody who forgets the link can hold it before.
CREATE FUNCTION finished_days_add_total(link bigint, of_day date) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO visit_total_day (link_id, day, humans, bots, uniques)
        SELECT link, of_day, sum(humans), sum(bots), sum(uniques) FROM visit_rollup_quarter
        WHERE link_id = link AND bucket >= of_day::timestamp AT TIME ZONE 'UTC'
        AND bucket < (of_day + 1)::timestamp AT TIME ZONE 'UTC' HAVING count(*) > 0
        ON CONFLICT (link_id, day) DO UPDATE SET humans = EXCLUDED.humans, bots = EXCLUDED.bots, uniques = EXCLUDED.uniques;
END
$$;

-- All values of a link's day. What may be there already came from a consumer of before, and is what the hours say or less.
CREATE FUNCTION finished_days_add_link(link bigint, of_day date) RETURNS void LANGUAGE plpgsql AS $$
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

-- The values of one dimension behind a place, of each hour at most so many rows: all up to the place that it gives; NULL: that
-- was the dimension's last.
CREATE FUNCTION finished_days_add_slice(link bigint, of_day date, of_dimension visit_dimension, behind text, at_most integer)
    RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    place text;
BEGIN
    WITH found AS MATERIALIZED (
        SELECT hour.* FROM generate_series(0, 23) AS n CROSS JOIN LATERAL (
            SELECT bucket, value, humans, bots, uniques FROM visit_rollup_hour
            WHERE link_id = link AND dimension = of_dimension
            AND bucket = of_day::timestamp AT TIME ZONE 'UTC' + n * interval '1 hour'
            AND value > behind ORDER BY value LIMIT at_most) AS hour),
    cut AS MATERIALIZED (
        SELECT min(last) AS value
        FROM (SELECT max(value) AS last FROM found GROUP BY bucket HAVING count(*) = at_most) AS full_hour),
    added AS (
        INSERT INTO visit_rollup_day (link_id, day, dimension, value, humans, bots, uniques)
        SELECT link, of_day, of_dimension, found.value, sum(humans), sum(bots), sum(uniques) FROM found, cut
        WHERE cut.value IS NULL OR found.value <= cut.value GROUP BY found.value ORDER BY found.value
        ON CONFLICT (link_id, dimension, day, value)
        DO UPDATE SET humans = EXCLUDED.humans, bots = EXCLUDED.bots, uniques = EXCLUDED.uniques)
    SELECT value INTO place FROM cut;
    RETURN place;
END
$$;

-- Goes on with the first day that is not finished, unless that is behind last_day, for about so many milliseconds in which
-- nobody counts clicks of that day; gives how many links it has looked at, at least 1; 0: there is nothing to do, or the lock 64
-- is shared. Links with more than slices_from visits on the day are done in slices, so that no link is too much at once.
CREATE FUNCTION finished_days_advance(last_day date, most_ms integer, slices_from bigint DEFAULT 5000, slice integer DEFAULT 500)
    RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    look_at CONSTANT integer := 1000;
    deadline timestamptz;
    state finished_days;
    link record;
    of_dimension visit_dimension;
    place text;
    visits bigint;
    is_there boolean;
    looked bigint := 0;
    is_late boolean := false;
BEGIN
    IF NOT pg_try_advisory_xact_lock(finished_days_locks(), 64) THEN
        RETURN 0;
    END IF;
    SELECT * INTO state FROM finished_days;
    IF state.next_day > last_day THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(finished_days_locks(), finished_days_lock_of(state.next_day));
    deadline := clock_timestamp() + make_interval(secs => most_ms / 1000.0);
    <<links>>
    FOR link IN SELECT link_id, last_visited_at >= state.next_day::timestamp AT TIME ZONE 'UTC' AS was_visited
                FROM link_statistics WHERE link_id >= greatest(state.next_link, 1) ORDER BY link_id LIMIT look_at LOOP
        is_late := looked > 0 AND clock_timestamp() >= deadline;
        EXIT WHEN is_late;
        IF link.link_id > state.next_link THEN -- the one that was begun is gone
            state.done_dimension := NULL;
            state.done_value := NULL;
        END IF;
        IF link.was_visited THEN
            -- Who forgets a purged link waits, and finds what is added here; or it is gone.
            PERFORM FROM link_statistics WHERE link_id = link.link_id FOR KEY SHARE;
            is_there := FOUND;
            SELECT coalesce(sum(humans + bots), 0) INTO visits FROM visit_rollup_quarter WHERE link_id = link.link_id
                AND bucket >= state.next_day::timestamp AT TIME ZONE 'UTC'
                AND bucket < (state.next_day + 1)::timestamp AT TIME ZONE 'UTC';
            IF NOT is_there THEN
                NULL;
            ELSIF visits <= slices_from AND state.done_dimension IS NULL THEN
                PERFORM finished_days_add_link(link.link_id, state.next_day);
            ELSE
                state.next_link := link.link_id;
                FOREACH of_dimension IN ARRAY enum_range(state.done_dimension, NULL::visit_dimension) LOOP
                    IF of_dimension IS DISTINCT FROM state.done_dimension THEN
                        state.done_dimension := of_dimension;
                        state.done_value := '';
                    END IF;
                    LOOP
                        is_late := looked > 0 AND clock_timestamp() >= deadline;
                        EXIT links WHEN is_late;
                        looked := looked + 1;
                        place := finished_days_add_slice(link.link_id, state.next_day, of_dimension, state.done_value, slice);
                        EXIT WHEN place IS NULL;
                        state.done_value := place;
                    END LOOP;
                END LOOP;
            END IF;
            IF is_there THEN
                PERFORM finished_days_add_total(link.link_id, state.next_day);
            END IF;
        END IF;
        looked := looked + 1;
        state.next_link := link.link_id + 1;
        state.done_dimension := NULL;
        state.done_value := NULL;
    END LOOP;
    IF NOT is_late AND NOT EXISTS (SELECT FROM link_statistics WHERE link_id >= greatest(state.next_link, 1)) THEN
        state.next_day := state.next_day + 1;
        state.next_link := 0;
    END IF;
    UPDATE finished_days SET next_day = state.next_day, next_link = state.next_link, done_dimension = state.done_dimension,
        done_value = state.done_value;
    RETURN greatest(looked, 1);
END
$$;

-- As in 0016, and the totals of days, in the order of whoever counts.
CREATE OR REPLACE FUNCTION statistics_forget_links(asked bigint[], at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    purged bigint[] := ARRAY(SELECT DISTINCT id FROM unnest(asked) AS link (id)
                             WHERE id > 0 AND NOT EXISTS (SELECT FROM links WHERE links.id = link.id) ORDER BY id);
    forgotten bigint := 0;
    changed bigint;
BEGIN
    -- By address: a join would be free to read a whole table. A row that somebody changes meanwhile may stay for the next call.
    DELETE FROM visit_rollup_quarter WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_rollup_quarter WHERE link_id = ANY (purged)
        ORDER BY link_id, bucket LIMIT at_most - forgotten));
    GET DIAGNOSTICS changed = ROW_COUNT;
    forgotten := forgotten + changed;
    DELETE FROM visit_rollup_hour WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_rollup_hour WHERE link_id = ANY (purged)
        ORDER BY link_id, dimension, bucket, value LIMIT at_most - forgotten));
    GET DIAGNOSTICS changed = ROW_COUNT;
    forgotten := forgotten + changed;
    DELETE FROM visit_total_day WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_total_day WHERE link_id = ANY (purged) ORDER BY link_id, day LIMIT at_most - forgotten));
    GET DIAGNOSTICS changed = ROW_COUNT;
    forgotten := forgotten + changed;
    DELETE FROM visit_rollup_day WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM visit_rollup_day WHERE link_id = ANY (purged)
        ORDER BY link_id, dimension, day, value LIMIT at_most - forgotten));
    GET DIAGNOSTICS changed = ROW_COUNT;
    forgotten := forgotten + changed;
    IF forgotten >= at_most THEN
        RETURN forgotten; -- there may be more
    END IF;
    -- Whoever counts a late click of them has committed before this, and its roll-ups are seen below, or waits here and makes
    -- a new row after it. So no roll-up is left without the row by which it is found.
    PERFORM FROM link_statistics WHERE link_id = ANY (purged) ORDER BY link_id FOR UPDATE;
    DELETE FROM link_statistics AS s WHERE link_id = ANY (purged)
        AND NOT EXISTS (SELECT FROM visit_rollup_quarter AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_rollup_hour AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_total_day AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM visit_rollup_day AS r WHERE r.link_id = s.link_id);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN forgotten + changed;
END
$$;

REVOKE EXECUTE ON FUNCTION finished_days_advance(date, integer, bigint, integer), finished_days_add_total(bigint, date),
    finished_days_add_link(bigint, date), finished_days_add_slice(bigint, date, visit_dimension, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION finished_days_advance(date, integer, bigint, integer) TO waymark_janitor;
GRANT SELECT ON finished_days TO waymark_consumer, waymark_links_api, waymark_janitor;
GRANT SELECT, INSERT, UPDATE ON visit_total_day TO waymark_consumer;
GRANT SELECT ON visit_total_day TO waymark_links_api;
