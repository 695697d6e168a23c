-- How many bytes of responses were stored for a user within each five minutes, so that one account
-- cannot fill the database with Idempotency-Keys (docs/decisions/0048-growth-is-bounded.md).
CREATE TABLE idempotency_uses (
    user_id bigint NOT NULL,
    since   timestamptz NOT NULL,
    bytes   bigint NOT NULL CHECK (bytes > 0),
    PRIMARY KEY (user_id, since)
) WITH (fillfactor = 50);
CREATE INDEX idempotency_uses_since_idx ON idempotency_uses (since);

GRANT SELECT, INSERT, UPDATE ON idempotency_uses TO waymark_links_api;
GRANT SELECT, DELETE ON idempotency_uses TO waymark_janitor; -- deletes what is older than a day
