-- The generation of what Redis holds of links (docs/decisions/0012-generation-of-redis.md): one row, changed only by the
-- relay that holds the lock, and only upwards. server: the run of Redis for which it was raised last, 64 bits of its
-- run_id; 0 = none yet.
CREATE TABLE link_cache_generation (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    generation bigint NOT NULL CHECK (generation > 0),
    server     bigint NOT NULL,
    raised_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO link_cache_generation (generation, server) VALUES (1, 0);

CREATE FUNCTION link_cache_generation_only_rises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'the generation of Redis'' content must rise';
END
$$;
CREATE TRIGGER link_cache_generation_only_rises BEFORE UPDATE ON link_cache_generation
    FOR EACH ROW WHEN (NEW.generation <= OLD.generation) EXECUTE FUNCTION link_cache_generation_only_rises();

GRANT SELECT, UPDATE (generation, server, raised_at) ON link_cache_generation TO waymark_links_api;
