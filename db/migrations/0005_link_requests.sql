-- What requests that create links need (docs/decisions/0027-link-writes-and-idempotency.md), and the
-- hosts that no link may lead to.

-- Stored responses to POST requests with an Idempotency-Key, kept for 24 hours. The row is written
-- in the transaction that creates the links, so a stored response exists exactly if the links do. It
-- holds no secret: claim tokens are left out.
CREATE TABLE idempotency_keys (
    key_hash     bytea PRIMARY KEY CHECK (octet_length(key_hash) = 32),  -- SHA-256 of the client and the key
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32), -- SHA-256 of path and body
    slugs        text[] COLLATE "C" NOT NULL,                            -- of the links in the response
    status       smallint NOT NULL,
    location     text NOT NULL,                                          -- '' = no header; the same for etag
    etag         text NOT NULL,
    body         text NOT NULL,                                          -- JSON
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);

-- How many bytes of responses were stored for a user within each five minutes, so that one account
-- cannot fill the database with Idempotency-Keys (docs/decisions/0048-growth-is-bounded.md).
CREATE TABLE idempotency_uses (
    user_id bigint NOT NULL,
    since   timestamptz NOT NULL,
    bytes   bigint NOT NULL CHECK (bytes > 0),
    PRIMARY KEY (user_id, since)
) WITH (fillfactor = 50);
CREATE INDEX idempotency_uses_since_idx ON idempotency_uses (since);

-- How many links were created within each five minutes in the workspaces that a user sponsors. Purged links count as well, and a request
-- need not count a million links to check the quota.
CREATE TABLE link_quota_uses (
    user_id bigint NOT NULL,
    since   timestamptz NOT NULL,
    links   bigint NOT NULL CHECK (links > 0),
    PRIMARY KEY (user_id, since)
) WITH (fillfactor = 50);
CREATE INDEX link_quota_uses_since_idx ON link_quota_uses (since);

GRANT SELECT, INSERT, UPDATE ON idempotency_keys, idempotency_uses, link_quota_uses TO waymark_links_api;
-- The janitor deletes what is older than a day. Responses have notes of links, which it may not read.
GRANT SELECT (key_hash, created_at), DELETE ON idempotency_keys TO waymark_janitor;
GRANT SELECT, DELETE ON idempotency_uses, link_quota_uses TO waymark_janitor;

-- --- blocked hosts (docs/decisions/0029-destination-host-policy.md) ---

-- Hosts that administrators have blocked as destinations. Block lists in files are separate.
CREATE TABLE blocked_hosts (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Normalised like destinations: lower-case A-labels without a trailing dot, 127.0.0.1, [::1].
    host            text COLLATE "C" NOT NULL CHECK (octet_length(host) BETWEEN 1 AND 253 AND host = lower(host)),
    with_subdomains boolean NOT NULL DEFAULT true,
    reason          text NOT NULL DEFAULT '' CHECK (length(reason) <= 200),
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT blocked_hosts_host_key UNIQUE (host)
);

-- Redirectors poll this row every few seconds and reload the list when the version changes. Each
-- process holds the whole list in memory and reads it in one query, hence the limit.
CREATE TABLE blocked_hosts_state (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint NOT NULL DEFAULT 0,
    count    bigint NOT NULL DEFAULT 0 CONSTRAINT blocked_hosts_ceiling CHECK (count <= 3000)
);
INSERT INTO blocked_hosts_state DEFAULT VALUES;

-- The lock on the row serialises writers, so a reader of a version sees every change up to it.
CREATE FUNCTION blocked_hosts_changed() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE blocked_hosts_state
    SET version = version + 1,
        count = count + CASE TG_OP WHEN 'INSERT' THEN 1 WHEN 'DELETE' THEN -1 ELSE 0 END;
    RETURN NULL;
END
$$;
CREATE TRIGGER blocked_hosts_changed AFTER INSERT OR UPDATE OR DELETE ON blocked_hosts
    FOR EACH ROW EXECUTE FUNCTION blocked_hosts_changed();

GRANT SELECT ON blocked_hosts, blocked_hosts_state TO waymark_redirector;
GRANT SELECT, INSERT, DELETE ON blocked_hosts TO waymark_links_api;
GRANT SELECT ON blocked_hosts_state TO waymark_links_api;
