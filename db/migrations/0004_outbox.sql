-- LinkEvents of committed changes, written in the change's own transaction. (xact, id) below
-- pg_snapshot_xmin(pg_current_snapshot()) is an order in which no committed row can appear later:
-- id alone is not, because a lower id may commit after a higher one.
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    xact       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    slug       text COLLATE "C" NOT NULL,
    payload    bytea NOT NULL, -- a waymark.v1.LinkEvent
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (xact, id)
);

-- ShedLock's table, with a fence number that rises with each acquisition. Other users of ShedLock who
-- share the table never see the column.
CREATE TABLE shedlock (
    name       varchar(64) PRIMARY KEY,
    lock_until timestamptz NOT NULL,
    locked_at  timestamptz NOT NULL,
    locked_by  varchar(255) NOT NULL,
    fence      bigint NOT NULL DEFAULT 0
);

GRANT SELECT, INSERT, DELETE ON outbox TO waymark_links_api;
GRANT INSERT ON outbox TO waymark_janitor;
GRANT SELECT, INSERT, UPDATE ON shedlock TO waymark_links_api, waymark_janitor;
