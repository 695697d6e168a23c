CREATE TABLE links (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug             text COLLATE "C" NOT NULL CHECK (slug ~ '^[A-Za-z0-9_-]{1,32}$'),
    version          bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    state            text NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'DISABLED', 'EXPIRED', 'DELETED')),
    link_type        text NOT NULL CHECK (link_type IN ('TEMPORARY', 'PERMANENT')),
    redirect_status  smallint NOT NULL DEFAULT 302 CHECK (redirect_status IN (301, 302, 307, 308)),
    original_url     text NOT NULL CHECK (octet_length(original_url) BETWEEN 1 AND 2048),
    expires_at       timestamptz,
    expired_url      text CHECK (octet_length(expired_url) BETWEEN 1 AND 2048),
    owner_id         bigint REFERENCES users (id),
    title            text NOT NULL DEFAULT '' CHECK (length(title) <= 200),
    tags             text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 20),
    claim_token_hash bytea CHECK (octet_length(claim_token_hash) = 32),
    -- When the state became EXPIRED or DELETED by a write: the purge's grace counts from here.
    state_since      timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- UNIQUE alone decides who has a slug.
    CONSTRAINT links_slug_key UNIQUE (slug),
    CONSTRAINT links_temporary_has_no_owner CHECK ((link_type = 'TEMPORARY') = (owner_id IS NULL)),
    CONSTRAINT links_temporary_expires CHECK (link_type = 'PERMANENT' OR expires_at IS NOT NULL)
);
CREATE INDEX links_owner_created_idx ON links (owner_id, created_at DESC, id DESC) WHERE owner_id IS NOT NULL;
CREATE INDEX links_active_expires_idx ON links (expires_at) WHERE state = 'ACTIVE' AND expires_at IS NOT NULL;
CREATE INDEX links_purgeable_idx ON links (state, state_since) WHERE state IN ('EXPIRED', 'DELETED');

-- What remains of a purged link: its slug is never issued again.
CREATE TABLE link_tombstones (
    slug       text COLLATE "C" PRIMARY KEY,
    link_id    bigint NOT NULL,
    last_state text NOT NULL,
    version    bigint NOT NULL,
    purged_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A purge and an insert of the same slug serialise on the slug's row or its tombstone: whoever inserts
-- a link while the tombstone exists is refused, as if UNIQUE spanned both tables.
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
-- AFTER, so that the unique index has been taken first: an insert that waited there for a purge to commit
-- then sees the purge's tombstone.
CREATE TRIGGER links_refuse_tombstoned_slug AFTER INSERT ON links
    FOR EACH ROW EXECUTE FUNCTION links_refuse_tombstoned_slug();

GRANT SELECT ON links TO waymark_redirector;
GRANT SELECT, INSERT, UPDATE ON links TO waymark_links_api;
GRANT SELECT, UPDATE, DELETE ON links TO waymark_janitor;
GRANT SELECT, INSERT ON link_tombstones TO waymark_janitor;
GRANT SELECT ON links TO waymark_consumer;
