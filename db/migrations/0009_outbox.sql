-- The outbox, through which changes of links reach Kafka and Redis, and the generation of Redis'
-- content.

-- LinkEvents of committed changes (docs/decisions/0004-outbox-without-a-cursor.md). A change writes its row
-- in its own transaction, while the link's row is locked. The row is deleted when both Kafka and
-- Redis have the event; neither waits for the other. Rows are ordered by id, which within one link
-- is the order of its versions. xid8 would not be: a transaction that changes many links has its
-- xid before it locks the last of them.
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug       text COLLATE "C" NOT NULL,
    payload    bytea NOT NULL, -- a waymark.v1.LinkEvent
    extras     bytea, -- of the link, for Redis alone; NULL = none
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    published  boolean NOT NULL DEFAULT false, -- Kafka has acknowledged it
    cached     boolean NOT NULL DEFAULT false, -- Redis has this version or a newer one
    -- 0 is published first: a client waits for it. 1: the janitor marked a link as EXPIRED, which
    -- everybody knows from the clock. 2: a purge. Rows of 1 and 2 come by the hundred thousand and
    -- must not delay users' changes.
    priority   smallint NOT NULL DEFAULT 0 CHECK (priority BETWEEN 0 AND 2)
) WITH (
    -- A queue that empties as fast as it fills: a scan for the first live row reads all dead ones
    -- before it until they are vacuumed.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);
CREATE INDEX outbox_unpublished_idx ON outbox (id) WHERE NOT published AND priority = 0;
CREATE INDEX outbox_low_priority_idx ON outbox (id) WHERE NOT published AND priority > 0;
-- Redis gets a row of lower priority only after Kafka.
CREATE INDEX outbox_uncached_idx ON outbox (id) WHERE NOT cached AND (priority = 0 OR published);
-- A change of a link raises the priority of its waiting mark, which must be published first.
CREATE INDEX outbox_marks_idx ON outbox (slug) WHERE NOT published AND priority = 1;

GRANT SELECT, INSERT, DELETE, UPDATE (published, cached, priority) ON outbox TO waymark_links_api;
GRANT INSERT ON outbox TO waymark_janitor;

-- The generation of Redis' content (docs/decisions/0012-redis-cache-generation.md): one row, which
-- only the relay with the lock changes, and only upwards. server: the Redis process for which it
-- was last raised (64 bits of its run_id); 0 = none yet.
CREATE TABLE link_cache_generation (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    generation bigint NOT NULL CHECK (generation > 0),
    server     bigint NOT NULL,
    raised_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO link_cache_generation (generation, server) VALUES (1, 0);

GRANT SELECT, UPDATE (generation, server, raised_at) ON link_cache_generation TO waymark_links_api;
