-- What was counted of links that were purged: the consumer deletes it soon after the purge's event, the janitor's nightly sweep
-- what late clicks have brought back. Each row of a link that can be found by its link_statistics row only goes before that.

-- Of these links, deletes known visitors, roll-ups and statistics, at most so many rows; gives how many, 0 = nothing is left.
-- A link that is still there keeps everything, and so does the platform (0). The order of tables and of rows is that of
-- whoever counts, so that nobody waits in a circle.
CREATE FUNCTION statistics_forget_links(asked bigint[], at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    purged bigint[] := ARRAY(SELECT DISTINCT id FROM unnest(asked) AS link (id)
                             WHERE id > 0 AND NOT EXISTS (SELECT FROM links WHERE links.id = link.id) ORDER BY id);
    next_day date := (SELECT min(day) FROM link_day_visitors);
    forgotten bigint := 0;
    changed bigint;
BEGIN
    -- By address: a join would be free to read a whole table. A row that somebody changes meanwhile may stay for the next call.
    WHILE next_day IS NOT NULL LOOP -- its key begins with the day; there are few
        DELETE FROM link_day_visitors WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM link_day_visitors WHERE day = next_day AND link_id = ANY (purged)
            ORDER BY link_id, visitor_hash LIMIT at_most - forgotten));
        GET DIAGNOSTICS changed = ROW_COUNT;
        forgotten := forgotten + changed;
        next_day := (SELECT min(day) FROM link_day_visitors WHERE day > next_day);
    END LOOP;
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

-- The sweep: looks at the statistics of the next links, at most so many, and forgets those of links that are gone, at most so
-- many rows; gives the rows deleted. A link's id never comes again.
CREATE OR REPLACE FUNCTION statistics_forget_purged(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reached bigint := (SELECT greatest(link_id, 0) FROM statistics_sweep);
    seen bigint[] := ARRAY(SELECT link_id FROM link_statistics WHERE link_id > reached ORDER BY link_id LIMIT at_most);
    forgotten bigint := statistics_forget_links(seen, at_most);
BEGIN
    IF forgotten >= at_most THEN
        -- There may be more: the same links again.
        UPDATE statistics_sweep SET link_id = reached;
    ELSE
        UPDATE statistics_sweep SET link_id = CASE WHEN cardinality(seen) < at_most THEN -1 ELSE seen[at_most] END;
    END IF;
    RETURN forgotten;
END
$$;

-- For who heard of purges: an event names the slug, and what has become of that stands with the tombstones.
CREATE FUNCTION statistics_forget_slugs(slugs text[], at_most integer) RETURNS bigint LANGUAGE sql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT statistics_forget_links(ARRAY(SELECT link_id FROM link_tombstones WHERE slug = ANY (slugs)), at_most)
$$;

REVOKE EXECUTE ON FUNCTION statistics_forget_links(bigint[], integer), statistics_forget_slugs(text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION statistics_forget_slugs(text[], integer) TO waymark_consumer;
