-- Statistics and roll-ups (docs/decisions/0040-what-statistics-count.md).

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

-- --- roll-ups (docs/decisions/0059-packed-rollups.md) ---
--
-- A batch inserts one row per link and hour into rollup_delta. The janitor folds these rows into
-- rollup_hour, and the hours of a finished UTC day into rollup_day. A count of anything is the sum of
-- what is folded and of the deltas that are not.
--
-- All three tables have the same packed columns, each a list of entries or NULL. An entry is
-- humans, bots, uniques and a value, separated by U+001F; entries are separated by U+001E. The
-- values of quarters are 0 to 95: the quarter of an hour of the UTC day. An unknown value has no
-- entry: it is the total less the entries. Each list has at most 1,000 entries; what is beyond is
-- counted by one more, "(other)".
--
-- Uniques are visits that were their visitor's first to this link on their UTC day. Sums over any
-- days are exact, because each day's salt gives a visitor another hash.

CREATE TABLE rollup_hour (
    link_id       bigint NOT NULL,
    hour          timestamptz NOT NULL, -- its start
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
    utm_campaign  text COLLATE "C",
    PRIMARY KEY (link_id, hour)
) WITH (fillfactor = 90);

CREATE TABLE rollup_delta (
    LIKE rollup_hour,
    entries integer NOT NULL -- in all columns: the work of folding the row
-- Rows live for seconds to an hour, so dead ones are removed often.
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0,
        autovacuum_vacuum_insert_threshold = 20000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
CREATE INDEX rollup_delta_link_idx ON rollup_delta (link_id, hour);

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
-- Totals come from the index alone, once a vacuum has seen the pages. A day adds few of all rows.
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01);

CREATE FUNCTION rollup_columns() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY['quarters', 'country', 'city', 'region', 'referrer_host', 'browser', 'os', 'device', 'language', 'utm_source',
                 'utm_medium', 'utm_campaign']
$$;

-- Lists stay in the page of their row, unless the row does not fit into a page, and are compressed
-- with LZ4, where the server has it: a question about a tag reads thousands of them.
DO $$
DECLARE
    has_lz4 CONSTANT boolean := (SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression');
    rollup text;
    list text;
BEGIN
    FOREACH rollup IN ARRAY ARRAY['rollup_delta', 'rollup_hour', 'rollup_day'] LOOP
        FOREACH list IN ARRAY rollup_columns() LOOP
            EXECUTE format('ALTER TABLE %I ALTER %I SET STORAGE MAIN', rollup, list);
            IF has_lz4 THEN
                EXECUTE format('ALTER TABLE %I ALTER %I SET COMPRESSION lz4', rollup, list);
            END IF;
        END LOOP;
    END LOOP;
END
$$;

-- How far the days are finished. Both days only move forward, so a session may rely for a day on
-- what it has read.
CREATE TABLE rollup_progress (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    next_day    date NOT NULL, -- all earlier days are in rollup_day, except for deltas
    next_link   bigint NOT NULL DEFAULT -9223372036854775808, -- of next_day, all smaller ids are; accounts are first
    hours_since date NOT NULL DEFAULT '-infinity', -- rollup_hour has all hours since this day
    fold_link   bigint NOT NULL DEFAULT 0 -- the run that folds deltas continues with this link
);
INSERT INTO rollup_progress (next_day) SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date;

-- --- roll-ups of accounts ---
--
-- rollup_hour and rollup_day also have one row per account and hour or day. Its link_id is the
-- account's id, negated. It is the sum of the rows of those links that rollup_account assigns to the
-- account.
--
-- A link belongs to its owner's rows while it is not deleted. rollup_move has the links for which
-- that may have changed. Until a step of the janitor has moved their rows, readers add or subtract
-- them.

-- Whose rows contain the hours and days of a link. A link that was never folded has no row. Written
-- by folds, moves and purges, which hold rollup_lock.
CREATE TABLE rollup_account (
    link_id  bigint PRIMARY KEY,
    owner_id bigint NOT NULL -- 0: nobody's
);
CREATE INDEX rollup_account_owner_idx ON rollup_account (owner_id);

CREATE TABLE rollup_move (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner_id bigint NOT NULL, -- the account whose rows may have to change
    link_id  bigint NOT NULL  -- may be here several times
);
CREATE INDEX rollup_move_owner_idx ON rollup_move (owner_id, link_id);

-- Whose rows should contain the link; 0: nobody's.
CREATE FUNCTION rollup_owner(link bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT owner_id FROM links WHERE id = link AND state <> 'DELETED'), 0)
$$;

-- A change is noted even if the link was never folded: a fold may be under way that has read the
-- former owner.
CREATE FUNCTION rollup_note_move() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO rollup_move (owner_id, link_id) VALUES (OLD.owner_id, OLD.id);
    ELSE
        INSERT INTO rollup_move (owner_id, link_id)
            SELECT DISTINCT owner, NEW.id FROM unnest(ARRAY[OLD.owner_id, NEW.owner_id]) AS owner WHERE owner IS NOT NULL;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER rollup_note_move AFTER UPDATE OF owner_id, state ON links FOR EACH ROW
    WHEN (OLD.owner_id IS DISTINCT FROM NEW.owner_id OR (OLD.state = 'DELETED') <> (NEW.state = 'DELETED'))
    EXECUTE FUNCTION rollup_note_move();
CREATE TRIGGER rollup_note_purge AFTER DELETE ON links FOR EACH ROW
    WHEN (OLD.owner_id IS NOT NULL AND OLD.state <> 'DELETED') EXECUTE FUNCTION rollup_note_move();

-- --- lists of entries ---

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

-- The rows of a table as rows of the accounts: what rollup_entries_sql takes as its source. The
-- conditions are on t.
CREATE FUNCTION rollup_account_rows_sql(source text, conditions text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('(SELECT -a.owner_id AS link_id, t.hour, %s FROM %I AS t JOIN rollup_account AS a ON a.link_id = t.link_id
                   WHERE a.owner_id <> 0 AND %s)', string_agg(format('t.%I', name), ', '), source, conditions)
    FROM unnest(rollup_columns()) AS name
$$;

-- A statement that adds changes to rollup_hour or rollup_day: a SELECT as above, which may have
-- parameters. Keeps the 1,000 values of each list that count most. Nobody else may write to the
-- table meanwhile. Changes may be negative. A value of an account may have lost visits to "(other)",
-- so that more than it has is subtracted; "(other)" has the rest.
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
            SELECT *, humans < 0 OR bots < 0 OR uniques < 0 AS is_overdrawn,
                row_number() OVER (PARTITION BY link_id, %2$I, dimension
                                   ORDER BY value = '(other)', humans + bots DESC, value) AS rank
            FROM sums WHERE humans <> 0 OR bots <> 0 OR uniques <> 0),
        kept AS (
            SELECT link_id, %2$I, dimension, CASE WHEN rank <= 1000 AND NOT is_overdrawn THEN value ELSE '(other)' END AS value,
                sum(humans) AS humans, sum(bots) AS bots, sum(uniques) AS uniques
            FROM ranked GROUP BY 1, 2, 3, 4)
        INSERT INTO %1$I (link_id, %2$I, humans, bots, uniques, %5$s)
        SELECT link_id, %2$I, coalesce(sum(humans) FILTER (WHERE dimension = 'quarters'), 0),
            coalesce(sum(bots) FILTER (WHERE dimension = 'quarters'), 0),
            coalesce(sum(uniques) FILTER (WHERE dimension = 'quarters'), 0), %6$s
        FROM touched LEFT JOIN kept USING (link_id, %2$I) GROUP BY link_id, %2$I ORDER BY link_id, %2$I
        ON CONFLICT (link_id, %2$I) DO UPDATE SET humans = EXCLUDED.humans, bots = EXCLUDED.bots, uniques = EXCLUDED.uniques, %7$s
        $sql$, target, key, changes, rollup_entries_sql(target, key), string_agg(name, ', '),
        string_agg(format($list$string_agg(concat_ws(E'\x1f', humans, bots, uniques, value), E'\x1e')
            FILTER (WHERE dimension = %L AND (humans, bots, uniques) <> (0, 0, 0))$list$, name), ', '),
        string_agg(format('%1$I = EXCLUDED.%1$I', name), ', '))
    FROM unnest(rollup_columns()) AS name
$$;

-- What is stored of links by hour and by day, deltas included, one row per entry: for tests and tools.
DO $$
BEGIN
    EXECUTE 'CREATE VIEW rollup_hour_entries AS ' || rollup_entries_sql('rollup_hour', 't.hour') || ' WHERE t.link_id > 0 UNION ALL '
        || rollup_entries_sql('rollup_delta', 't.hour');
    EXECUTE 'CREATE VIEW rollup_day_entries AS ' || rollup_entries_sql('rollup_day', 't.day') || ' WHERE t.link_id > 0 UNION ALL '
        || rollup_entries_sql('rollup_delta', '(t.hour AT TIME ZONE ''UTC'')::date AS day');
END
$$;

-- Whether rollup_day has the day of this link. Its later clicks are added to hours and days.
CREATE FUNCTION rollup_has_day(p rollup_progress, link bigint, day date) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT day < p.next_day OR (day = p.next_day AND link < p.next_link)
$$;

-- --- folding ---

-- The key of the lock that a rebuild of statistics holds, which keeps everybody else from roll-ups.
CREATE FUNCTION rollup_lock_key() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1684109683';

-- True: nothing else writes rollup_hour and rollup_day until the transaction ends. False: a rebuild
-- of statistics keeps everybody else from it.
CREATE FUNCTION rollup_lock() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock_shared(rollup_lock_key()) THEN
        RETURN false;
    END IF;
    PERFORM FROM rollup_progress FOR UPDATE;
    RETURN true;
END
$$;

-- Continues the run that folds deltas: those of hours before the given time, and those of hours with
-- at least 32 rows. Others wait, because each fold writes the whole row of its hour. Folds about
-- at_most rows and looks at 20 times as many. Returns how many were folded. The run is over when
-- fold_link is 0. Adds the same to the rows of the accounts.
CREATE FUNCTION rollup_fold(before timestamptz, at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    rows_min CONSTANT integer := 32;
    entries_max CONSTANT integer := 50000;
    of_hours CONSTANT text := 't.ctid = ANY ($1) AND t.hour >= $2::timestamp AT TIME ZONE ''UTC''';
    of_days CONSTANT text := 't.ctid = ANY ($1) AND rollup_has_day($2, %s, (t.hour AT TIME ZONE ''UTC'')::date)';
    day CONSTANT text := '(t.hour AT TIME ZONE ''UTC'')::date AS day';
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
        INSERT INTO rollup_account (link_id, owner_id)
            SELECT link_id, rollup_owner(link_id) FROM (SELECT DISTINCT link_id FROM rollup_delta WHERE ctid = ANY (due)) AS link
            ON CONFLICT (link_id) DO NOTHING;
        EXECUTE rollup_add_sql('rollup_hour', 'hour', rollup_entries_sql('rollup_delta', 't.hour') || 'WHERE ' || of_hours
            || ' UNION ALL ' || rollup_entries_sql(rollup_account_rows_sql('rollup_delta', of_hours), 't.hour'))
            USING due, progress.hours_since - 1;
        EXECUTE rollup_add_sql('rollup_day', 'day', rollup_entries_sql('rollup_delta', day) || 'WHERE ' || format(of_days, 't.link_id')
            || ' UNION ALL ' || rollup_entries_sql(rollup_account_rows_sql('rollup_delta', format(of_days, '-a.owner_id')), day))
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
-- some accounts, or of some links, to rollup_day. Deletes hours that are older than hours_keep days.
-- Returns the number of steps, at least 1; 0: there is nothing to do, or a rebuild is under way.
CREATE FUNCTION rollup_finish_day(last_day date, hours_keep integer, at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    rows_max CONSTANT integer := 20;
    progress rollup_progress;
    is_accounts boolean;
    page bigint[];
    visited bigint[];
    is_last boolean;
BEGIN
    IF NOT rollup_lock() THEN
        RETURN 0;
    END IF;
    SELECT * INTO progress FROM rollup_progress;
    IF progress.next_day > last_day THEN
        RETURN 0;
    END IF;
    is_accounts := progress.next_link < 0;
    IF is_accounts THEN
        page := ARRAY(
            WITH RECURSIVE account (id) AS (
                SELECT min(link_id) FROM rollup_hour WHERE link_id >= progress.next_link AND link_id < 0
                UNION ALL
                SELECT (SELECT min(link_id) FROM rollup_hour WHERE link_id > account.id AND link_id < 0)
                FROM account WHERE account.id IS NOT NULL)
            SELECT id FROM account WHERE id IS NOT NULL LIMIT rows_max);
        visited := page;
        is_last := cardinality(page) < rows_max;
    ELSE
        page := ARRAY(SELECT link_id FROM link_statistics WHERE link_id >= greatest(progress.next_link, 1) ORDER BY link_id LIMIT at_most);
        -- Either a purge of the links waits and then deletes what is added here, or the row is gone.
        visited := ARRAY(
            SELECT link_id FROM link_statistics WHERE link_id = ANY (ARRAY(
                SELECT link_id FROM link_statistics WHERE link_id = ANY (page)
                AND last_visited_at >= progress.next_day::timestamp AT TIME ZONE 'UTC' ORDER BY link_id LIMIT rows_max))
            ORDER BY link_id FOR KEY SHARE);
        is_last := cardinality(page) < at_most AND cardinality(visited) < rows_max;
        IF cardinality(visited) = rows_max THEN
            page := ARRAY(SELECT link FROM unnest(page) AS link WHERE link <= visited[rows_max]);
        END IF;
    END IF;
    EXECUTE rollup_add_sql('rollup_day', 'day', rollup_entries_sql('rollup_hour', '$2 AS day') || 'WHERE t.link_id = ANY ($1)'
        ' AND t.hour >= $2::timestamp AT TIME ZONE ''UTC'' AND t.hour < ($2 + 1)::timestamp AT TIME ZONE ''UTC''')
        USING visited, progress.next_day;
    -- One day later than hours_since says, because a reader may still rely on the previous one.
    DELETE FROM rollup_hour WHERE link_id = ANY (page) AND hour < (progress.hours_since - 1)::timestamp AT TIME ZONE 'UTC';
    UPDATE rollup_progress SET
        next_day = CASE WHEN is_last AND NOT is_accounts THEN progress.next_day + 1 ELSE progress.next_day END,
        next_link = CASE WHEN is_last AND is_accounts THEN 1 WHEN is_last THEN -9223372036854775808 ELSE page[cardinality(page)] + 1 END,
        hours_since = CASE WHEN is_last AND NOT is_accounts THEN greatest(progress.hours_since, progress.next_day - hours_keep)
                      ELSE progress.hours_since END;
    RETURN greatest(cardinality(page), 1);
END
$$;

-- --- moving links between accounts ---

-- Moves the rows of these links to the accounts that should contain them. The caller holds
-- rollup_lock.
CREATE FUNCTION rollup_reassign(link_ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    progress rollup_progress;
    moved bigint[];
    owners bigint[]; -- of moved, from now on
    links bigint[]; -- with scopes and signs: one element per link and account
    scopes bigint[];
    signs integer[];
    -- Rows of the links as rows of the accounts. The key is t.hour or t.day.
    rows_sql CONSTANT text := (
        SELECT '(SELECT m.scope AS link_id, m.sign, %1$s, ' || string_agg(format('t.%I', name), ', ') || ' FROM %2$s AS t '
            'JOIN unnest($1, $2, $3) AS m (link_id, scope, sign) ON m.link_id = t.link_id WHERE %3$s)'
        FROM unnest(rollup_columns()) AS name);
    signed_sql CONSTANT text := 'SELECT link_id, %1$s, dimension, value, sign * humans AS humans, sign * bots AS bots, '
        'sign * uniques AS uniques FROM (%2$s) AS entry';
BEGIN
    SELECT * INTO progress FROM rollup_progress;
    SELECT array_agg(link_id), array_agg(new_owner) INTO moved, owners FROM (
        SELECT link_id, owner_id, rollup_owner(link_id) AS new_owner FROM rollup_account WHERE link_id = ANY (link_ids)) AS link
        WHERE owner_id <> new_owner;
    IF moved IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(link_id), array_agg(scope), array_agg(sign) INTO links, scopes, signs FROM (
        SELECT link_id, -owner_id AS scope, -1 AS sign FROM rollup_account WHERE link_id = ANY (moved)
        UNION ALL SELECT link, -owner, 1 FROM unnest(moved, owners) AS m (link, owner)) AS m WHERE scope <> 0;
    EXECUTE rollup_add_sql('rollup_hour', 'hour', format(signed_sql, 'hour', rollup_entries_sql(
        format(rows_sql, 't.hour', 'rollup_hour', 't.hour >= $4::timestamp AT TIME ZONE ''UTC'''), 't.hour, t.sign')))
        USING links, scopes, signs, progress.hours_since - 1;
    -- Of the day that is being finished, the account may have a row already and the link not yet.
    EXECUTE rollup_add_sql('rollup_day', 'day', format(signed_sql, 'day',
        rollup_entries_sql(format(rows_sql, 't.day', 'rollup_day', 'true'), 't.day, t.sign') || ' UNION ALL '
        || rollup_entries_sql(format(rows_sql, 't.hour', 'rollup_hour', 't.hour >= ($4).next_day::timestamp AT TIME ZONE ''UTC'' '
            'AND t.hour < (($4).next_day + 1)::timestamp AT TIME ZONE ''UTC'' AND rollup_has_day($4, m.scope, ($4).next_day) '
            'AND NOT rollup_has_day($4, t.link_id, ($4).next_day)'), '($4).next_day AS day, t.sign')))
        USING links, scopes, signs, progress;
    DELETE FROM rollup_hour WHERE link_id = ANY (scopes) AND humans = 0 AND bots = 0 AND quarters IS NULL AND country IS NULL
        AND browser IS NULL AND referrer_host IS NULL;
    DELETE FROM rollup_day WHERE link_id = ANY (scopes) AND humans = 0 AND bots = 0 AND quarters IS NULL AND country IS NULL
        AND browser IS NULL AND referrer_host IS NULL;
    UPDATE rollup_account AS a SET owner_id = m.owner FROM unnest(moved, owners) AS m (link, owner) WHERE a.link_id = m.link;
END
$$;

-- Moves the links of the oldest notes, at most so many, and about 2,000 rows. Returns how many notes
-- are done; 0: there are none, or a rebuild is under way.
CREATE FUNCTION rollup_move_some(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    rows_max CONSTANT integer := 2000;
    notes bigint[];
    link_ids bigint[];
BEGIN
    IF NOT rollup_lock() THEN
        RETURN 0;
    END IF;
    WITH next AS MATERIALIZED (SELECT id, link_id FROM rollup_move ORDER BY id LIMIT at_most),
    sized AS (
        SELECT *, sum(size) OVER (ORDER BY id) - size AS rows_before FROM (
            SELECT id, link_id,
                CASE WHEN (SELECT owner_id FROM rollup_account WHERE link_id = next.link_id) <> rollup_owner(link_id)
                THEN (SELECT count(*) FROM rollup_hour WHERE link_id = next.link_id)
                    + (SELECT count(*) FROM rollup_day WHERE link_id = next.link_id) ELSE 0 END AS size
            FROM next) AS note)
    SELECT array_agg(id), array_agg(DISTINCT link_id) INTO notes, link_ids FROM sized WHERE rows_before < rows_max;
    IF notes IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM rollup_reassign(link_ids);
    -- Later changes of the same links have notes of their own.
    DELETE FROM rollup_move WHERE id = ANY (notes);
    RETURN cardinality(notes);
END
$$;

-- --- for rebuild-stats ---

-- The number of entries in which the rows of an account differ from the sums of its links' rows.
-- Of a list with "(other)", only the sum is compared.
CREATE FUNCTION rollup_account_differences(account bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    ours bigint[] := ARRAY(SELECT link_id FROM rollup_account WHERE owner_id = account) || -account;
    progress rollup_progress := (SELECT p FROM rollup_progress AS p);
    differences bigint;
BEGIN
    EXECUTE format($sql$
        WITH hours AS MATERIALIZED (%s WHERE t.link_id = ANY ($1)),
        entries AS MATERIALIZED (
            SELECT 'hour' AS kind, hour::text AS key, link_id, dimension, value, humans, bots, uniques FROM hours
            UNION ALL
            SELECT 'day', day::text, link_id, dimension, value, humans, bots, uniques FROM (%s WHERE t.link_id = ANY ($1)) AS days
            UNION ALL -- the account has finished this day, the link has not
            SELECT 'day', ($2).next_day::text, link_id, dimension, value, humans, bots, uniques FROM hours
            WHERE link_id > 0 AND (hour AT TIME ZONE 'UTC')::date = ($2).next_day AND rollup_has_day($2, $3, ($2).next_day)
                AND NOT rollup_has_day($2, link_id, ($2).next_day)),
        cut AS (SELECT DISTINCT kind, key, dimension, true AS is_cut FROM entries WHERE value = '(other)'),
        signed AS (SELECT *, CASE WHEN link_id < 0 THEN 1 ELSE -1 END AS sign FROM entries LEFT JOIN cut USING (kind, key, dimension))
        SELECT count(*) FROM (
            SELECT FROM signed GROUP BY kind, key, dimension, CASE WHEN is_cut THEN '(other)' ELSE value END
            HAVING sum(sign * humans) <> 0 OR sum(sign * bots) <> 0 OR sum(sign * uniques) <> 0) AS different
        $sql$, rollup_entries_sql('rollup_hour', 't.hour'), rollup_entries_sql('rollup_day', 't.day'))
        USING ours, progress, -account INTO differences;
    RETURN differences;
END
$$;

-- Takes all links out of the rows of an account and notes them, so that rollup_move_some makes the
-- rows again.
CREATE FUNCTION rollup_account_reset(account bigint) RETURNS void LANGUAGE sql AS $$
    DELETE FROM rollup_hour WHERE link_id = -account;
    DELETE FROM rollup_day WHERE link_id = -account;
    INSERT INTO rollup_move (owner_id, link_id) SELECT owner_id, link_id FROM rollup_account WHERE owner_id = account;
    UPDATE rollup_account SET owner_id = 0 WHERE owner_id = account;
$$;

-- --- statistics of purged links ---
--
-- The consumer deletes them soon after the purge's event. The janitor's nightly scan deletes those
-- that late clicks created again. The link_statistics row of a link goes last, because the scan
-- finds all other rows by it.

-- Deletes the roll-ups and statistics of those of the links that are purged, at most so many rows.
-- Returns how many; 0 = nothing is left. Links that still exist, and the platform (0), keep
-- everything. Tables and rows are in the order in which the consumer counts, to avoid deadlocks.
-- Deltas go first: a fold that is under way has locked them, and what it has added is found
-- afterwards. Links that are still part of an account's rows are taken out of them before. While a
-- rebuild keeps them, they stay; statistics_delete_orphans finds them later.
CREATE FUNCTION statistics_delete_links(link_ids bigint[], at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    assigned_max CONSTANT integer := 20;
    purged bigint[] := ARRAY(SELECT DISTINCT id FROM unnest(link_ids) AS link (id)
                             WHERE id > 0 AND NOT EXISTS (SELECT FROM links WHERE links.id = link.id) ORDER BY id);
    assigned bigint[] := ARRAY(SELECT link_id FROM rollup_account WHERE link_id = ANY (purged) AND owner_id <> 0 ORDER BY link_id);
    deleted bigint := 0;
    changed bigint;
    keys CONSTANT text[] := ARRAY[
        'rollup_delta', 'link_id, hour, ctid', 'rollup_hour', 'link_id, hour', 'rollup_day', 'link_id, day'];
BEGIN
    IF cardinality(assigned) > 0 THEN
        IF rollup_lock() THEN
            PERFORM rollup_reassign(assigned[1:assigned_max]);
            IF cardinality(assigned) > assigned_max THEN
                RETURN assigned_max; -- there are more
            END IF;
        ELSE
            purged := ARRAY(SELECT id FROM unnest(purged) AS id WHERE id <> ALL (assigned));
        END IF;
    END IF;
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
    DELETE FROM rollup_account AS a WHERE link_id = ANY (purged) AND owner_id = 0
        AND NOT EXISTS (SELECT FROM rollup_hour AS r WHERE r.link_id = a.link_id)
        AND NOT EXISTS (SELECT FROM rollup_day AS r WHERE r.link_id = a.link_id);
    DELETE FROM link_statistics AS s WHERE link_id = ANY (purged)
        AND NOT EXISTS (SELECT FROM rollup_delta AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM rollup_hour AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM rollup_day AS r WHERE r.link_id = s.link_id)
        AND NOT EXISTS (SELECT FROM rollup_account AS r WHERE r.link_id = s.link_id);
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

GRANT SELECT, INSERT, UPDATE ON link_statistics TO waymark_consumer;
GRANT INSERT ON rollup_delta TO waymark_consumer;
GRANT SELECT ON link_statistics, rollup_delta, rollup_hour, rollup_day, rollup_progress, rollup_account, rollup_move TO waymark_links_api;
GRANT SELECT ON rollup_progress, statistics_sweep TO waymark_janitor;
REVOKE EXECUTE ON FUNCTION rollup_lock(), rollup_fold(timestamptz, integer), rollup_finish_day(date, integer, integer),
    rollup_note_move(), rollup_reassign(bigint[]), rollup_move_some(integer), rollup_account_differences(bigint),
    rollup_account_reset(bigint), statistics_delete_links(bigint[], integer), statistics_delete_slugs(text[], integer),
    statistics_delete_orphans(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rollup_owner(bigint) TO waymark_links_api;
GRANT EXECUTE ON FUNCTION statistics_delete_slugs(text[], integer) TO waymark_consumer;
GRANT EXECUTE ON FUNCTION rollup_fold(timestamptz, integer), rollup_finish_day(date, integer, integer), rollup_move_some(integer),
    statistics_delete_orphans(integer) TO waymark_janitor;
