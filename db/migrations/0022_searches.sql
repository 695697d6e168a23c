-- Searches that find very many (docs/decisions/0032-searches-that-find-very-many.md).

-- Nobody asks PostgreSQL any more how often a fragment occurs: no reason to look at 300,000 links to know.
ALTER INDEX links_search_idx ALTER COLUMN 1 SET STATISTICS -1;

-- How many links have a trigram, as a sample says: those that one in 500 has at least. The index is asked for others first.
CREATE TABLE link_search_trigrams (
    trigram text COLLATE "C" PRIMARY KEY, -- of ASCII alone, as show_trgm gives it
    links   bigint NOT NULL
);
-- How many links there were then.
CREATE TABLE link_search_count (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    links      bigint NOT NULL DEFAULT 0,
    counted_at timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO link_search_count DEFAULT VALUES;

-- Counts again after an hour, or when links have doubled or halved; gives whether it has. Few links need no counts.
CREATE FUNCTION link_search_sample() RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    sample CONSTANT integer := 5000;
    known link_search_count;
    now_links bigint := (SELECT reltuples FROM pg_class WHERE oid = 'links'::regclass); -- an estimate, -1: none
BEGIN
    SELECT * INTO known FROM link_search_count FOR UPDATE;
    IF now_links < sample OR (known.counted_at > clock_timestamp() - interval '1 hour'
        AND now_links < 2 * known.links AND known.links < 2 * now_links) THEN
        RETURN false;
    END IF;
    DELETE FROM link_search_trigrams;
    INSERT INTO link_search_trigrams (trigram, links)
        WITH sampled AS MATERIALIZED (
            SELECT show_trgm(slug || E'\n' || original_url || E'\n' || title) AS trigrams
            FROM links TABLESAMPLE SYSTEM (100.0 * sample / now_links)),
        counted AS (SELECT count(*) AS links FROM sampled)
        SELECT trigram, count(*) * now_links / (SELECT links FROM counted) FROM sampled, unnest(trigrams) AS trigram
        WHERE length(trigram) = 3 GROUP BY trigram HAVING count(*) >= (SELECT links FROM counted) / 500.0;
    UPDATE link_search_count SET links = now_links, counted_at = clock_timestamp();
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION link_search_sample() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION link_search_sample() TO waymark_janitor;
GRANT SELECT ON link_search_trigrams, link_search_count TO waymark_links_api;
