-- Unique visitors are proved by the visit log itself (docs/decisions/0024-the-log-knows-its-visitors.md): of all visits of a
-- visitor to a link on a day one is unique. link_day_visitors, a row per visitor beside the visit's own, goes.

-- Readers go on; who counts waits until the index is there.
LOCK TABLE visit_log IN SHARE ROW EXCLUSIVE MODE;

-- A visitor who came after the visitors of the day had been forgotten (two days later, or with a purged link) was counted
-- again. The first visit stays unique; what the others had added is taken back.
CREATE TEMPORARY TABLE unique_again ON COMMIT DROP AS
    SELECT day, event_id, link_id, occurred_at, country, city, region, referrer_host, browser, os, device, language,
           utm_source, utm_medium, utm_campaign
    FROM (SELECT *, row_number() OVER (PARTITION BY day, link_id, visitor_hash ORDER BY occurred_at, event_id) AS place
          FROM visit_log WHERE is_unique AND visitor_hash <> '') AS visit
    WHERE place > 1;
CREATE TEMPORARY TABLE unique_again_values ON COMMIT DROP AS
    SELECT again.link_id, again.day, date_bin('1 hour', again.occurred_at, 'epoch') AS bucket, pair.dimension, pair.value,
           count(*) AS uniques
    FROM unique_again AS again CROSS JOIN LATERAL (VALUES
        ('country'::visit_dimension, country), ('city', city), ('region', region), ('referrer', referrer_host),
        ('browser', browser), ('os', os), ('device', device), ('language', language), ('utm_source', utm_source),
        ('utm_medium', utm_medium), ('utm_campaign', utm_campaign)) AS pair (dimension, value)
    WHERE pair.value <> '' GROUP BY 1, 2, 3, 4, 5;

-- Never below zero: of a purged link nothing is left to take back, and more may have come since.
UPDATE visit_rollup_quarter AS r SET uniques = greatest(0, r.uniques - again.uniques)
    FROM (SELECT link_id, date_bin('15 minutes', occurred_at, 'epoch') AS bucket, count(*) AS uniques
          FROM unique_again GROUP BY 1, 2) AS again
    WHERE r.link_id = again.link_id AND r.bucket = again.bucket;
UPDATE visit_rollup_hour AS r SET uniques = greatest(0, r.uniques - again.uniques) FROM unique_again_values AS again
    WHERE (r.link_id, r.dimension, r.bucket, r.value) = (again.link_id, again.dimension, again.bucket, again.value);
UPDATE visit_rollup_day AS r SET uniques = greatest(0, r.uniques - again.uniques)
    FROM (SELECT link_id, dimension, day, value, sum(uniques) AS uniques FROM unique_again_values GROUP BY 1, 2, 3, 4) AS again
    WHERE (r.link_id, r.dimension, r.day, r.value) = (again.link_id, again.dimension, again.day, again.value);
UPDATE link_statistics AS s SET unique_visitors = greatest(0, s.unique_visitors - again.uniques)
    FROM (SELECT link_id, count(*) AS uniques FROM unique_again GROUP BY 1
          UNION ALL SELECT 0, count(*) FROM unique_again) AS again
    WHERE s.link_id = again.link_id;

-- The same for a tree that is being sorted to take the log's place.
DO $$
DECLARE
    tree regclass;
BEGIN
    FOREACH tree IN ARRAY array_remove(ARRAY[to_regclass('visit_log'), to_regclass('visit_log_sorted')], NULL) LOOP
        EXECUTE format('UPDATE %s AS visit SET is_unique = false FROM unique_again AS again
                        WHERE visit.day = again.day AND visit.event_id = again.event_id', tree);
        -- The whole hash. One that is not known ('') tells nobody apart, and its visits are never unique.
        EXECUTE format($index$CREATE UNIQUE INDEX %I ON %s (day, link_id, visitor_hash)
                           WHERE is_unique AND visitor_hash <> ''$index$, tree::text || '_visitor_idx', tree);
    END LOOP;
END
$$;

-- As in 0015, without the known visitors: the log keeps them as long as the visits.
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
        AND NOT EXISTS (SELECT FROM visit_rollup_day AS r WHERE r.link_id = s.link_id);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN forgotten + changed;
END
$$;

DROP TABLE link_day_visitors;
