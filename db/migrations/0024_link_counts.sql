-- What the table link_counts is asked for costs the same however many links and owners there are
-- (docs/decisions/0028-lists-of-links.md).

-- --- the links of everybody: rows of the owner -1 ---

-- Who writes links waits until these are added up, and goes on with the new functions.
LOCK TABLE links IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO link_counts (owner_id, links) SELECT -1, coalesce(sum(links), 0) FROM link_counts;

CREATE OR REPLACE FUNCTION link_lists_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO link_ranking (link_id, link_owner) SELECT id, coalesce(owner_id, 0) FROM added;
    INSERT INTO link_counts (owner_id, links)
        SELECT coalesce(owner_id, 0), count(*) FROM added WHERE state <> 'DELETED' GROUP BY 1
        UNION ALL SELECT -1, count(*) FROM added WHERE state <> 'DELETED' HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION link_lists_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM link_ranking WHERE link_id IN (SELECT id FROM removed);
    INSERT INTO link_counts (owner_id, links)
        SELECT coalesce(owner_id, 0), -count(*) FROM removed WHERE state <> 'DELETED' GROUP BY 1
        UNION ALL SELECT -1, -count(*) FROM removed WHERE state <> 'DELETED' HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION link_lists_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.state <> 'DELETED' THEN
        INSERT INTO link_counts (owner_id, links) VALUES (coalesce(OLD.owner_id, 0), -1);
    END IF;
    IF NEW.state <> 'DELETED' THEN
        INSERT INTO link_counts (owner_id, links) VALUES (coalesce(NEW.owner_id, 0), 1);
    END IF;
    IF (OLD.state = 'DELETED') <> (NEW.state = 'DELETED') THEN
        INSERT INTO link_counts (owner_id, links) VALUES (-1, CASE WHEN NEW.state = 'DELETED' THEN -1 ELSE 1 END);
    END IF;
    IF OLD.owner_id IS DISTINCT FROM NEW.owner_id THEN
        UPDATE link_ranking SET link_owner = coalesce(NEW.owner_id, 0) WHERE link_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;

-- --- a ceiling for the rows of owners who never ask for a list: nobody (0), and who only creates ---

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
