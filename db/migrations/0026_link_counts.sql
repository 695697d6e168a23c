-- The rows of link_counts have a ceiling, also those of owners who never ask for a list: nobody (0), and who only creates
-- (docs/decisions/0028-lists-of-links.md).

-- Makes one row of the many of those who have more than 64; gives how many rows fewer there are. It looks at 128 pages of the
-- table, chosen by chance: at all of a small one, and of a large one at those who have most, sooner or later. Whoever reads or
-- writes meanwhile waits for nothing.
CREATE FUNCTION link_counts_tidy() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH sampled AS MATERIALIZED (
        SELECT owner_id FROM link_counts TABLESAMPLE SYSTEM (
            least(100, 100.0 * 128 / greatest(1, pg_relation_size('link_counts') / current_setting('block_size')::integer)))
        GROUP BY owner_id ORDER BY count(*) DESC, random() LIMIT 1000),
    crowded AS MATERIALIZED (
        SELECT owner_id FROM sampled
        WHERE 64 < (SELECT count(*) FROM (
            SELECT FROM link_counts WHERE link_counts.owner_id = sampled.owner_id LIMIT 65) AS first)),
    taken AS (
        SELECT id FROM link_counts WHERE owner_id = ANY (ARRAY(SELECT owner_id FROM crowded)) LIMIT 20000 FOR UPDATE SKIP LOCKED),
    gone AS (
        DELETE FROM link_counts WHERE id = ANY (ARRAY(SELECT id FROM taken)) RETURNING owner_id, links),
    made AS (
        INSERT INTO link_counts (owner_id, links) SELECT owner_id, sum(links) FROM gone GROUP BY owner_id RETURNING 1)
    SELECT (SELECT count(*) FROM gone) - (SELECT count(*) FROM made)
$$;

REVOKE EXECUTE ON FUNCTION link_counts_tidy() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION link_counts_tidy() TO waymark_janitor;
