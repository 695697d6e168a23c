-- Links, the tombstones of purged links, what requests that create links need, and blocked hosts.
CREATE TABLE links (
    id                    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug                  text COLLATE "C" NOT NULL CHECK (slug ~ '^[A-Za-z0-9_-]{1,32}$'),
    version               bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    state                 text NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'DISABLED', 'EXPIRED', 'DELETED')),
    link_type             text NOT NULL CHECK (link_type IN ('TEMPORARY', 'PERMANENT')),
    redirect_status       smallint NOT NULL DEFAULT 302 CHECK (redirect_status IN (301, 302, 307, 308)),
    original_url          text NOT NULL CHECK (octet_length(original_url) BETWEEN 1 AND 2048),
    expires_at            timestamptz,
    expired_url           text CHECK (octet_length(expired_url) BETWEEN 1 AND 2048),
    owner_id              bigint REFERENCES users (id),
    title                 text NOT NULL DEFAULT '' CHECK (length(title) <= 200),
    tags                  text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 20),
    claim_token_hash      bytea CHECK (octet_length(claim_token_hash) = 32),
    -- When the state became EXPIRED or DELETED: the grace period before the purge starts here.
    state_since           timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Restoring a deleted link returns it to this state; NULL = not deleted.
    state_before_deletion text CHECK (state_before_deletion IN ('ACTIVE', 'DISABLED', 'EXPIRED')),
    -- The janitor's last check of the destination (docs/decisions/0018-destination-checks.md). A
    -- check is not a change of the link: version, updated_at and the outbox stay as they are.
    destination_status    smallint CHECK (destination_status BETWEEN 0 AND 999), -- 0 = no answer
    last_checked_at       timestamptz,
    next_check_at         timestamptz NOT NULL DEFAULT '-infinity',
    failed_checks         smallint NOT NULL DEFAULT 0 CHECK (failed_checks >= 0), -- consecutive
    -- This constraint alone decides which link gets a slug.
    CONSTRAINT links_slug_key UNIQUE (slug),
    CONSTRAINT links_temporary_has_no_owner CHECK ((link_type = 'TEMPORARY') = (owner_id IS NULL)),
    CONSTRAINT links_temporary_expires CHECK (link_type = 'PERMANENT' OR expires_at IS NOT NULL),
    CONSTRAINT links_state_before_deletion CHECK (state_before_deletion IS NULL OR state = 'DELETED')
);
CREATE INDEX links_owner_created_idx ON links (owner_id, created_at DESC, id DESC) WHERE owner_id IS NOT NULL;
CREATE INDEX links_active_expires_idx ON links (expires_at) WHERE state = 'ACTIVE' AND expires_at IS NOT NULL;
CREATE INDEX links_purgeable_idx ON links (state, state_since) WHERE state IN ('EXPIRED', 'DELETED');
CREATE INDEX links_next_check_idx ON links (next_check_at) WHERE state = 'ACTIVE';
-- Finds an owner's existing link to a destination ("reuse"). The query also compares the URL
-- itself.
CREATE INDEX links_owner_destination_idx ON links (owner_id, hashtextextended(original_url, 0))
    WHERE owner_id IS NOT NULL AND state = 'ACTIVE';

-- A new destination has not been checked yet.
CREATE FUNCTION links_reset_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.destination_status := NULL;
    NEW.last_checked_at := NULL;
    NEW.next_check_at := '-infinity';
    NEW.failed_checks := 0;
    RETURN NEW;
END
$$;
CREATE TRIGGER links_reset_check BEFORE UPDATE OF original_url ON links
    FOR EACH ROW WHEN (OLD.original_url IS DISTINCT FROM NEW.original_url) EXECUTE FUNCTION links_reset_check();

-- The rest of a purged link, so that its slug is never issued again.
CREATE TABLE link_tombstones (
    slug       text COLLATE "C" PRIMARY KEY,
    link_id    bigint NOT NULL,
    last_state text NOT NULL,
    version    bigint NOT NULL,
    purged_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Refuses the slug of a tombstone as if links_slug_key spanned both tables. A purge and an insert
-- of the same slug serialise on the row of the slug or of its tombstone.
CREATE FUNCTION links_refuse_tombstoned_slug() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM link_tombstones WHERE slug = NEW.slug) THEN
        RAISE unique_violation USING MESSAGE = format('slug %s was used by a purged link', NEW.slug),
            CONSTRAINT = 'links_slug_key', TABLE = 'links';
    END IF;
    RETURN NEW;
END
$$;
-- AFTER, so that the insert has passed the unique index first. An insert that waited there for a
-- purge to commit then sees the tombstone.
CREATE TRIGGER links_refuse_tombstoned_slug AFTER INSERT ON links
    FOR EACH ROW EXECUTE FUNCTION links_refuse_tombstoned_slug();

GRANT SELECT ON links TO waymark_redirector, waymark_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON links TO waymark_links_api;
GRANT SELECT, UPDATE, DELETE ON links TO waymark_janitor;
GRANT SELECT, INSERT ON link_tombstones TO waymark_links_api, waymark_janitor;

-- --- requests that create links (docs/decisions/0027-link-writes-and-idempotency.md) ---

-- Stored responses to POST requests with an Idempotency-Key, kept for 24 hours. The row is written
-- in the transaction that creates the links, so a stored response exists exactly if the links do.
-- Neither the key nor the response can be read from here: the response holds claim tokens and
-- destinations, and only the key itself decrypts it.
CREATE TABLE idempotency_keys (
    key_hash     bytea PRIMARY KEY CHECK (octet_length(key_hash) = 32),  -- SHA-256 of the client and the key
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32), -- SHA-256 of path and body
    slugs        text[] COLLATE "C" NOT NULL,                            -- of the links in the response
    answer       bytea NOT NULL,                                         -- encrypted status, headers and body
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);

-- How many links a user created within each five minutes. Purged links count as well, and a request
-- need not count a million links to check the quota.
CREATE TABLE link_quota_uses (
    user_id bigint NOT NULL,
    since   timestamptz NOT NULL,
    links   bigint NOT NULL CHECK (links > 0),
    PRIMARY KEY (user_id, since)
) WITH (fillfactor = 50);
CREATE INDEX link_quota_uses_since_idx ON link_quota_uses (since);

GRANT SELECT, INSERT, UPDATE ON idempotency_keys, link_quota_uses TO waymark_links_api;
GRANT SELECT, DELETE ON idempotency_keys, link_quota_uses TO waymark_janitor; -- deletes what is older than a day

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
