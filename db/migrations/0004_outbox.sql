-- LinkEvents of committed changes, written in the change's own transaction while the link's row is locked, and deleted
-- after they were published. The order is id: within one link it is the order of its versions. xid8 would not be: a
-- transaction that changes many links has its xid before it locks the last of them.
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug       text COLLATE "C" NOT NULL,
    payload    bytea NOT NULL, -- a waymark.v1.LinkEvent
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
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
