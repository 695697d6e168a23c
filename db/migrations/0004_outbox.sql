-- LinkEvents of committed changes, written in the change's own transaction while the link's row is locked, and deleted
-- when both Kafka and Redis have them; neither waits for the other. The order is id: within one link it is the order of its versions. xid8 would not be: a
-- transaction that changes many links has its xid before it locks the last of them.
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug       text COLLATE "C" NOT NULL,
    payload    bytea NOT NULL, -- a waymark.v1.LinkEvent
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    published  boolean NOT NULL DEFAULT false, -- Kafka has acked it
    cached     boolean NOT NULL DEFAULT false  -- Redis has this version or a newer one
);
-- So that what waits for the one need not be passed over to find what waits for the other.
CREATE INDEX outbox_unpublished_idx ON outbox (id) WHERE NOT published;
CREATE INDEX outbox_uncached_idx ON outbox (id) WHERE NOT cached;

-- ShedLock's table, with a fence number that rises with each acquisition. Other users of ShedLock who
-- share the table never see the column.
CREATE TABLE shedlock (
    name       varchar(64) PRIMARY KEY,
    lock_until timestamptz NOT NULL,
    locked_at  timestamptz NOT NULL,
    locked_by  varchar(255) NOT NULL,
    fence      bigint NOT NULL DEFAULT 0
);

GRANT SELECT, INSERT, DELETE, UPDATE (published, cached) ON outbox TO waymark_links_api;
GRANT INSERT ON outbox TO waymark_janitor;
GRANT SELECT, INSERT, UPDATE ON shedlock TO waymark_links_api, waymark_janitor;
