-- What lists of a million links need (docs/decisions/0028-link-lists-and-search.md): searches for
-- substrings and tags, the number of links, and the sort order by visits.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- --- searches ---

-- A newline separates the four fields. Neither the fields nor search terms contain one, so a match
-- in the whole is a match in one field. New rows go to a pending list, which every search reads as
-- well; link_search_refresh empties it.
CREATE INDEX links_search_idx ON links
    USING gin ((slug COLLATE "default" || E'\n' || original_url || E'\n' || title || E'\n' || shown_url) gin_trgm_ops)
    WITH (fastupdate = on, gin_pending_list_limit = 4096);
CREATE INDEX links_tags_idx ON links USING gin (tags) WITH (fastupdate = on, gin_pending_list_limit = 4096);
-- For administrators, who list the links of all owners.
CREATE INDEX links_created_idx ON links (created_at DESC, id DESC);

-- Estimated number of links per trigram, from a sample, for trigrams that at least one link in 500
-- has. A search asks the index for the other, rarer trigrams first.
CREATE TABLE link_search_trigrams (
    trigram text COLLATE "C" PRIMARY KEY, -- ASCII only, as show_trgm returns it
    links   bigint NOT NULL
);
-- The number of links at the time of the sample.
CREATE TABLE link_search_count (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    links      bigint NOT NULL DEFAULT 0,
    counted_at timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO link_search_count DEFAULT VALUES;

-- Moves the pending lists into the indexes: in bulk this costs half of what it would cost the
-- requests that insert. Takes a new sample after an hour, or when the number of links has doubled
-- or halved. Returns whether it did. Few links need no sample.
CREATE FUNCTION link_search_refresh() RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    sample CONSTANT integer := 5000;
    known link_search_count;
    now_links bigint := (SELECT reltuples FROM pg_class WHERE oid = 'links'::regclass); -- an estimate; -1 = unknown
BEGIN
    PERFORM gin_clean_pending_list('links_search_idx'), gin_clean_pending_list('links_tags_idx');
    SELECT * INTO known FROM link_search_count FOR UPDATE;
    IF now_links < sample OR (known.counted_at > clock_timestamp() - interval '1 hour'
        AND now_links < 2 * known.links AND known.links < 2 * now_links) THEN
        RETURN false;
    END IF;
    DELETE FROM link_search_trigrams;
    INSERT INTO link_search_trigrams (trigram, links)
        WITH sampled AS MATERIALIZED (
            SELECT show_trgm(slug || E'\n' || original_url || E'\n' || title || E'\n' || shown_url) AS trigrams
            FROM links TABLESAMPLE SYSTEM (100.0 * sample / now_links)),
        counted AS (SELECT count(*) AS links FROM sampled)
        SELECT trigram, count(*) * now_links / (SELECT links FROM counted) FROM sampled, unnest(trigrams) AS trigram
        WHERE length(trigram) = 3 GROUP BY trigram HAVING count(*) >= (SELECT links FROM counted) / 500.0;
    UPDATE link_search_count SET links = now_links, counted_at = clock_timestamp();
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION link_search_refresh() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION link_search_refresh() TO waymark_janitor;
GRANT SELECT ON link_search_trigrams, link_search_count TO waymark_links_api;

-- --- the number of links ---

-- A workspace's number of links that are not DELETED is the sum of its rows. Workspace 0 stands for
-- links of nobody, -1 for all links. Each change adds a row and updates none, so that
-- concurrent requests never wait for each other. A reader that finds many rows merges them into
-- one.
CREATE TABLE link_counts (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint NOT NULL,
    links    bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE INDEX link_counts_workspace_idx ON link_counts (workspace_id) INCLUDE (links);
INSERT INTO link_counts (workspace_id, links) VALUES (-1, 0);

GRANT SELECT, INSERT, UPDATE, DELETE ON link_counts TO waymark_links_api, waymark_janitor;

-- --- the sort order by visits ---

-- One row per link. Separate from link_statistics, which changes with every batch of clicks and
-- should not carry these indexes. link_ranking_refresh updates it some seconds later.
CREATE TABLE link_ranking (
    link_id    bigint PRIMARY KEY,
    link_workspace bigint NOT NULL, -- 0 = none
    visits     bigint NOT NULL DEFAULT 0, -- of humans
    visited_at timestamptz NOT NULL DEFAULT '-infinity' -- the last visit; -infinity = none
);
CREATE INDEX link_ranking_visits_idx ON link_ranking (link_workspace, visits DESC, link_id DESC);
CREATE INDEX link_ranking_visited_idx ON link_ranking (link_workspace, visited_at DESC, link_id DESC);

-- Links whose statistics have changed: one row per statement. If nobody reads the rows, recording
-- stops and the refresh scans all links instead.
CREATE TABLE link_statistics_changes (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    link_ids bigint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE TABLE link_ranking_sweep (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    is_behind boolean NOT NULL DEFAULT false, -- there were too many changes; they are not recorded
    next_link bigint -- the position of the scan of all links; NULL: no scan
);
INSERT INTO link_ranking_sweep DEFAULT VALUES;

CREATE FUNCTION link_statistics_note() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    touched bigint[] := ARRAY(SELECT link_id FROM changed WHERE link_id > 0);
    this bigint;
BEGIN
    IF cardinality(touched) = 0 THEN
        RETURN NULL;
    END IF;
    -- FOR SHARE: the refresh that resets is_behind waits for this transaction, then scans all
    -- links, so it sees this change.
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

-- Updates the order for some of the changed links. If changes were not recorded, also for the next
-- at_most of all links. Returns how many were checked; 0 = nothing is left. It does not wait for
-- locked rows, but records those links again.
CREATE FUNCTION link_ranking_refresh(at_most integer) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    sweep link_ranking_sweep;
    touched bigint[];
    swept bigint[] := '{}';
    free bigint[];
    busy bigint[];
BEGIN
    SELECT * INTO sweep FROM link_ranking_sweep FOR UPDATE; -- one refresh at a time
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

REVOKE EXECUTE ON FUNCTION link_ranking_refresh(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION link_ranking_refresh(integer) TO waymark_janitor;
GRANT SELECT ON link_ranking TO waymark_links_api;

-- --- changes of links update both ---

-- For rows that were inserted or deleted.
CREATE FUNCTION link_lists_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO link_ranking (link_id, link_workspace) SELECT id, coalesce(workspace_id, 0) FROM moved;
    ELSE
        DELETE FROM link_ranking WHERE link_id IN (SELECT id FROM moved);
    END IF;
    INSERT INTO link_counts (workspace_id, links)
        SELECT coalesce(workspace_id, 0), sign * count(*) FROM moved WHERE state <> 'DELETED' GROUP BY 1
        UNION ALL SELECT -1, sign * count(*) FROM moved WHERE state <> 'DELETED' HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE FUNCTION link_lists_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.state <> 'DELETED' THEN
        INSERT INTO link_counts (workspace_id, links) VALUES (coalesce(OLD.workspace_id, 0), -1);
    END IF;
    IF NEW.state <> 'DELETED' THEN
        INSERT INTO link_counts (workspace_id, links) VALUES (coalesce(NEW.workspace_id, 0), 1);
    END IF;
    IF (OLD.state = 'DELETED') <> (NEW.state = 'DELETED') THEN
        INSERT INTO link_counts (workspace_id, links) VALUES (-1, CASE WHEN NEW.state = 'DELETED' THEN -1 ELSE 1 END);
    END IF;
    IF OLD.workspace_id IS DISTINCT FROM NEW.workspace_id THEN
        UPDATE link_ranking SET link_workspace = coalesce(NEW.workspace_id, 0) WHERE link_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER link_lists_added AFTER INSERT ON links REFERENCING NEW TABLE AS moved
    FOR EACH STATEMENT EXECUTE FUNCTION link_lists_moved();
CREATE TRIGGER link_lists_removed AFTER DELETE ON links REFERENCING OLD TABLE AS moved
    FOR EACH STATEMENT EXECUTE FUNCTION link_lists_moved();
-- Per row, because a statement trigger with a transition table cannot be limited to columns, and
-- destination checks update many rows.
CREATE TRIGGER link_lists_changed AFTER UPDATE OF state, workspace_id ON links FOR EACH ROW
    WHEN ((OLD.state = 'DELETED') <> (NEW.state = 'DELETED') OR OLD.workspace_id IS DISTINCT FROM NEW.workspace_id)
    EXECUTE FUNCTION link_lists_changed();
