-- What lists of a million links need (docs/decisions/0028-lists-of-links.md): substrings, tags, an order of all links, how many
-- there are, and the order by visits.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- A control character stands between the three, and neither they nor what is searched for hold one: found in the whole is found
-- in one of them. New rows wait in a list that each search reads as well; links_search_tidy empties it.
CREATE INDEX links_search_idx ON links
    USING gin ((slug COLLATE "default" || E'\n' || original_url || E'\n' || title) gin_trgm_ops)
    WITH (fastupdate = on, gin_pending_list_limit = 4096);
-- How often a fragment occurs decides between this index and a walk through the list: worth a better guess.
ALTER INDEX links_search_idx ALTER COLUMN 1 SET STATISTICS 1000;
CREATE INDEX links_tags_idx ON links USING gin (tags) WITH (fastupdate = on, gin_pending_list_limit = 4096);
-- For who sees the links of everybody.
CREATE INDEX links_created_idx ON links (created_at DESC, id DESC);

-- How many links that are not DELETED an owner has (0: nobody's): the sum of his rows. Each change adds a row and changes none,
-- so that those who create links at the same time never wait for each other; who reads many adds them up into one.
CREATE TABLE link_counts (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner_id bigint NOT NULL,
    links    bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE INDEX link_counts_owner_idx ON link_counts (owner_id) INCLUDE (links);

-- The order by visits, apart from link_statistics, which changes with every batch of clicks and must not carry indexes for it:
-- some seconds behind, by link_ranking_refresh. A row for each link (link_owner 0: nobody's).
CREATE TABLE link_ranking (
    link_id    bigint PRIMARY KEY,
    link_owner bigint NOT NULL,
    visits     bigint NOT NULL DEFAULT 0, -- of humans
    visited_at timestamptz NOT NULL DEFAULT '-infinity' -- the last time; -infinity: never
);
CREATE INDEX link_ranking_visits_idx ON link_ranking (link_owner, visits DESC, link_id DESC);
CREATE INDEX link_ranking_visited_idx ON link_ranking (link_owner, visited_at DESC, link_id DESC);

-- Whose statistics have changed: one row per statement. While nobody reads them they are not added for ever: then all links are
-- looked through instead.
CREATE TABLE link_statistics_changes (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    link_ids bigint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE TABLE link_ranking_sweep (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    is_behind boolean NOT NULL DEFAULT false, -- changes are not noted: they were too many
    next_link bigint -- where looking through all links goes on; NULL: it is not going on
);
INSERT INTO link_ranking_sweep DEFAULT VALUES;

INSERT INTO link_counts (owner_id, links)
    SELECT coalesce(owner_id, 0), count(*) FROM links WHERE state <> 'DELETED' GROUP BY 1;
INSERT INTO link_ranking (link_id, link_owner, visits, visited_at)
    SELECT id, coalesce(owner_id, 0), coalesce(visit_count, 0), coalesce(last_visited_at, '-infinity')
    FROM links LEFT JOIN link_statistics ON link_id = id;

-- --- what a change of a link changes there ---

CREATE FUNCTION link_lists_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO link_ranking (link_id, link_owner) SELECT id, coalesce(owner_id, 0) FROM added;
    INSERT INTO link_counts (owner_id, links)
        SELECT coalesce(owner_id, 0), count(*) FROM added WHERE state <> 'DELETED' GROUP BY 1;
    RETURN NULL;
END
$$;

CREATE FUNCTION link_lists_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM link_ranking WHERE link_id IN (SELECT id FROM removed);
    INSERT INTO link_counts (owner_id, links)
        SELECT coalesce(owner_id, 0), -count(*) FROM removed WHERE state <> 'DELETED' GROUP BY 1;
    RETURN NULL;
END
$$;

CREATE FUNCTION link_lists_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.state <> 'DELETED' THEN
        INSERT INTO link_counts (owner_id, links) VALUES (coalesce(OLD.owner_id, 0), -1);
    END IF;
    IF NEW.state <> 'DELETED' THEN
        INSERT INTO link_counts (owner_id, links) VALUES (coalesce(NEW.owner_id, 0), 1);
    END IF;
    IF OLD.owner_id IS DISTINCT FROM NEW.owner_id THEN
        UPDATE link_ranking SET link_owner = coalesce(NEW.owner_id, 0) WHERE link_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER link_lists_added AFTER INSERT ON links REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION link_lists_added();
CREATE TRIGGER link_lists_removed AFTER DELETE ON links REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION link_lists_removed();
-- By row: a statement's trigger with a table cannot be bound to columns, and the janitor's checks change many rows.
CREATE TRIGGER link_lists_changed AFTER UPDATE OF state, owner_id ON links FOR EACH ROW
    WHEN ((OLD.state = 'DELETED') <> (NEW.state = 'DELETED') OR OLD.owner_id IS DISTINCT FROM NEW.owner_id)
    EXECUTE FUNCTION link_lists_changed();

-- Makes one row of an owner's many; rows that somebody else adds up meanwhile are his.
CREATE FUNCTION link_counts_fold(owner bigint) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH taken AS (
        SELECT id FROM link_counts WHERE owner_id = owner LIMIT 20000 FOR UPDATE SKIP LOCKED),
    gone AS (
        DELETE FROM link_counts WHERE id = ANY (ARRAY(SELECT id FROM taken)) RETURNING links)
    INSERT INTO link_counts (owner_id, links) SELECT owner, sum(links) FROM gone HAVING count(*) > 0
$$;

-- --- the order by visits ---

CREATE FUNCTION link_statistics_note() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    touched bigint[] := ARRAY(SELECT link_id FROM changed WHERE link_id > 0);
    this bigint;
BEGIN
    IF cardinality(touched) = 0 THEN
        RETURN NULL;
    END IF;
    -- FOR SHARE: who ends this state waits until our change can be seen, and looks through all links after that.
    PERFORM FROM link_ranking_sweep WHERE is_behind FOR SHARE;
    IF FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO link_statistics_changes (link_ids) VALUES (touched) RETURNING id INTO this;
    IF this - (SELECT id FROM link_statistics_changes ORDER BY id LIMIT 1) > 1000 THEN
        UPDATE link_ranking_sweep SET is_behind = true WHERE NOT is_behind;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_statistics_added AFTER INSERT ON link_statistics REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION link_statistics_note();
CREATE TRIGGER link_statistics_changed AFTER UPDATE ON link_statistics REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION link_statistics_note();

-- Brings the order up to date for some of the links that have changed, and, where changes were not noted, for the next at_most of
-- all; gives how many were looked at, 0 = nothing is left. It waits for nobody who holds a row of the order: such links are noted
-- again.
CREATE FUNCTION link_ranking_refresh(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    sweep link_ranking_sweep;
    touched bigint[];
    swept bigint[] := '{}';
    free bigint[];
    busy bigint[];
BEGIN
    SELECT * INTO sweep FROM link_ranking_sweep FOR UPDATE; -- one at a time
    IF sweep.is_behind THEN
        UPDATE link_ranking_sweep SET is_behind = false, next_link = 1;
        RETURN 1;
    END IF;
    WITH gone AS (
        DELETE FROM link_statistics_changes WHERE id IN (
            SELECT id FROM (
                SELECT id, sum(cardinality(link_ids)) OVER (ORDER BY id) - cardinality(link_ids) AS before
                FROM (SELECT * FROM link_statistics_changes ORDER BY id LIMIT 100) AS oldest) AS added_up
            WHERE before < at_most)
        RETURNING link_ids)
    SELECT ARRAY(SELECT DISTINCT unnest(link_ids) FROM gone) INTO touched;
    IF sweep.next_link IS NOT NULL THEN
        swept := ARRAY(SELECT link_id FROM link_statistics WHERE link_id >= sweep.next_link ORDER BY link_id LIMIT at_most);
        UPDATE link_ranking_sweep SET next_link = CASE WHEN cardinality(swept) = at_most THEN swept[at_most] + 1 END;
        touched := touched || swept;
    END IF;
    free := ARRAY(SELECT link_id FROM link_ranking WHERE link_id = ANY (touched) FOR UPDATE SKIP LOCKED);
    busy := ARRAY(SELECT link_id FROM link_ranking WHERE link_id = ANY (touched) EXCEPT SELECT unnest(free));
    IF cardinality(busy) > 0 THEN
        INSERT INTO link_statistics_changes (link_ids) VALUES (busy);
    END IF;
    UPDATE link_ranking AS r SET visits = s.visit_count, visited_at = coalesce(s.last_visited_at, '-infinity')
        FROM link_statistics AS s
        WHERE r.link_id = ANY (free) AND s.link_id = r.link_id
            AND (r.visits, r.visited_at) IS DISTINCT FROM (s.visit_count, coalesce(s.last_visited_at, '-infinity'));
    RETURN cardinality(touched) - cardinality(busy);
END
$$;

-- Sorts in what waits before the indexes of searches: many at once cost half of what they would cost whoever makes them.
CREATE FUNCTION links_search_tidy() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT gin_clean_pending_list('links_search_idx') + gin_clean_pending_list('links_tags_idx')
$$;

REVOKE EXECUTE ON FUNCTION links_search_tidy() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION links_search_tidy() TO waymark_janitor;
REVOKE EXECUTE ON FUNCTION link_counts_fold(bigint), link_ranking_refresh(integer) FROM PUBLIC;
GRANT SELECT ON link_counts, link_ranking TO waymark_links_api;
GRANT EXECUTE ON FUNCTION link_counts_fold(bigint) TO waymark_links_api;
GRANT EXECUTE ON FUNCTION link_ranking_refresh(integer) TO waymark_janitor;
