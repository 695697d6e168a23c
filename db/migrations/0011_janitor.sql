-- Locks among janitors and relays, and the hosts that the janitor requests.

-- ShedLock's table with its own column definitions, plus a fencing token that rises with each
-- acquisition and extension. Other users of ShedLock that share the table never see that column.
-- Times are UTC without a zone: with a zone, PostgreSQL would read what ShedLock writes
-- (timezone('utc', CURRENT_TIMESTAMP)) as local time of the client's session, and the lock would
-- expire hours too early or too late.
CREATE TABLE shedlock (
    name       varchar(64) PRIMARY KEY,
    lock_until timestamp NOT NULL,
    locked_at  timestamp NOT NULL,
    locked_by  varchar(255) NOT NULL,
    fence      bigint NOT NULL DEFAULT 0
);

-- When a host of a link's destination may be requested again, according to its robots.txt
-- (docs/decisions/0018-destination-checks.md). A row is deleted two days after the robots.txt was
-- read.
CREATE TABLE destination_hosts (
    host           text COLLATE "C" PRIMARY KEY,
    crawl_delay_ms bigint NOT NULL CHECK (crawl_delay_ms BETWEEN 0 AND 86400000),
    robots_read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    free_at        timestamptz NOT NULL, -- the earliest time of the next request
    queue_until    timestamptz NOT NULL  -- the first time that no waiting check has reserved
);
CREATE INDEX destination_hosts_read_idx ON destination_hosts (robots_read_at);

GRANT SELECT, INSERT, UPDATE ON shedlock TO waymark_links_api, waymark_janitor;
GRANT SELECT, INSERT, UPDATE, DELETE ON destination_hosts TO waymark_janitor;
