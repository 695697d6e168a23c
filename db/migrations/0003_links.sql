-- Links, the tombstones of purged links, and what belongs to a link: notes, colors of tags, shares.
CREATE TABLE links (
    id                    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug                  text COLLATE "C" NOT NULL
        CHECK (slug ~ '^[A-Za-z0-9_-]([A-Za-z0-9_.-]{0,98}[A-Za-z0-9_-])?$'),
    -- A slug that a person chose is found in either case, unless SLUG_CASE was exact.
    slug_chosen           boolean NOT NULL DEFAULT true,
    slug_exact            boolean NOT NULL DEFAULT false,
    -- What a link is found by; slug_key() in lib/links/slug.c is the same.
    slug_key              text COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (CASE WHEN slug_exact THEN '=' || slug ELSE lower(slug) END) STORED,
    version               bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    state                 text NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'DISABLED', 'EXPIRED', 'DELETED')),
    link_type             text NOT NULL CHECK (link_type IN ('TEMPORARY', 'PERMANENT')),
    redirect_status       smallint NOT NULL DEFAULT 302 CHECK (redirect_status IN (301, 302, 307, 308)),
    original_url          text NOT NULL CHECK (octet_length(original_url) BETWEEN 1 AND 8192),
    -- Until this time the link is not followed (docs/decisions/0050-redirectors-correct-their-clocks.md);
    -- NULL = from its creation on. links-api keeps it before expires_at.
    starts_at             timestamptz,
    expires_at            timestamptz,
    expired_url           text CHECK (octet_length(expired_url) BETWEEN 1 AND 8192),
    workspace_id          bigint REFERENCES workspaces (id), -- NULL = of nobody
    -- A user; NULL = not known. Of the transaction, as in link_history.
    created_by            bigint DEFAULT NULLIF(current_setting('waymark.actor_id', true), '')::bigint,
    title                 text NOT NULL DEFAULT '' CHECK (length(title) <= 200),
    -- original_url as people see it, for searches: the host in Unicode, without escapes; '' = the same.
    shown_url             text NOT NULL DEFAULT '' CHECK (octet_length(shown_url) <= 10000),
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
    -- A waymark.v1.LinkExtras (lib/links/link_extras.h); NULL = a plain link.
    extras                bytea CHECK (octet_length(extras) BETWEEN 1 AND 8192),
    -- What they hold, for searches: 1 rules, 2 split, 4 limit, 8 password, 16 forwarding, 32 preview.
    features              smallint NOT NULL DEFAULT 0 CHECK ((features <> 0) <= (extras IS NOT NULL)),
    external_id           text COLLATE "C" CHECK (length(external_id) BETWEEN 1 AND 100), -- what the workspace calls it
    alias_count           smallint NOT NULL DEFAULT 0 CHECK (alias_count BETWEEN 0 AND 20),
    blocked_reason        text CHECK (length(blocked_reason) BETWEEN 1 AND 500), -- of an administrator; NULL = not blocked
    -- This constraint and the trigger below decide which link gets a slug.
    CONSTRAINT links_slug_key UNIQUE (slug_key),
    CONSTRAINT links_external_id_key UNIQUE (workspace_id, external_id),
    CONSTRAINT links_temporary_has_no_workspace CHECK ((link_type = 'TEMPORARY') = (workspace_id IS NULL)),
    CONSTRAINT links_temporary_expires CHECK (link_type = 'PERMANENT' OR expires_at IS NOT NULL),
    CONSTRAINT links_state_before_deletion CHECK (state_before_deletion IS NULL OR state = 'DELETED')
);
CREATE INDEX links_workspace_created_idx ON links (workspace_id, created_at DESC, id DESC) WHERE workspace_id IS NOT NULL;
CREATE INDEX links_active_expires_idx ON links (expires_at) WHERE state = 'ACTIVE' AND expires_at IS NOT NULL;
CREATE INDEX links_purgeable_idx ON links (state, state_since) WHERE state IN ('EXPIRED', 'DELETED');
-- For temporary links, which are kept less long than the other expired ones.
CREATE INDEX links_purgeable_temporary_idx ON links (state_since) WHERE state = 'EXPIRED' AND link_type = 'TEMPORARY';
CREATE INDEX links_exact_idx ON links (lower(slug)) WHERE slug_exact;
CREATE INDEX links_next_check_idx ON links (next_check_at) WHERE state = 'ACTIVE';
-- Finds a workspace's existing link to a destination ("reuse"). The query also compares the URL
-- itself.
CREATE INDEX links_workspace_destination_idx ON links (workspace_id, hashtextextended(original_url, 0))
    WHERE workspace_id IS NOT NULL AND state = 'ACTIVE';

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

-- How long the janitor keeps links after their end, so that links-api can say when one is purged.
CREATE TABLE link_keeping (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    temporary_s bigint NOT NULL,
    expired_s   bigint NOT NULL,
    deleted_s   bigint NOT NULL
);

-- The rest of a purged link, or of an alias that was deleted, so that its slug is never issued again.
CREATE TABLE link_tombstones (
    slug       text COLLATE "C" PRIMARY KEY,
    link_id    bigint NOT NULL,
    last_state text NOT NULL,
    version    bigint NOT NULL,
    purged_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    slug_exact boolean NOT NULL DEFAULT false
);
CREATE INDEX link_tombstones_folded_idx ON link_tombstones (lower(slug));

-- Earlier slugs of links, which still lead to them (lib/links/link_aliases.h). Only a change of
-- links.slug makes one, so links_slug_key serialises that with everybody who wants the slug, as it
-- does a purge. Who deletes a link ends its aliases in tombstones: nothing deletes them unseen.
CREATE TABLE link_aliases (
    slug        text COLLATE "C" PRIMARY KEY,
    slug_chosen boolean NOT NULL,
    slug_exact  boolean NOT NULL,
    slug_key    text COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (CASE WHEN slug_exact THEN '=' || slug ELSE lower(slug) END) STORED,
    link_id     bigint NOT NULL REFERENCES links (id) DEFERRABLE INITIALLY DEFERRED,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT link_aliases_slug_key UNIQUE (slug_key)
);
CREATE INDEX link_aliases_link_idx ON link_aliases (link_id);
CREATE INDEX link_aliases_folded_idx ON link_aliases (lower(slug));

-- Two slugs that differ by case alone clash unless both are exact. Refuses one that clashes with a
-- tombstone, with an alias, or with a link of the other kind, as if links_slug_key spanned them. A
-- purge and an insert of the same slug serialise on the row of the slug or of its tombstone.
CREATE FUNCTION links_refuse_used_slug() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    -- One statement, so one snapshot: a name that becomes a tombstone meanwhile is seen as one or the other.
    IF EXISTS (SELECT FROM link_tombstones WHERE lower(slug) = lower(NEW.slug)
               AND (slug = NEW.slug OR NOT (slug_exact AND NEW.slug_exact)))
       OR EXISTS (SELECT FROM link_aliases WHERE lower(slug) = lower(NEW.slug)
                  AND (slug = NEW.slug OR NOT (slug_exact AND NEW.slug_exact)))
       OR (NEW.slug_exact AND EXISTS (SELECT FROM links WHERE slug_key = lower(NEW.slug)))
       OR (NOT NEW.slug_exact AND EXISTS (SELECT FROM links WHERE slug_exact AND lower(slug) = NEW.slug_key)) THEN
        RAISE unique_violation USING MESSAGE = format('slug %s is or was used by another link', NEW.slug),
            CONSTRAINT = 'links_slug_key', TABLE = 'links';
    END IF;
    RETURN NEW;
END
$$;
-- AFTER, so that the change has passed the unique index first. One that waited there for a purge or a
-- change of the slug to commit then sees the tombstone or the alias.
CREATE TRIGGER links_refuse_used_slug AFTER INSERT ON links
    FOR EACH ROW EXECUTE FUNCTION links_refuse_used_slug();
CREATE TRIGGER links_refuse_used_slug_again AFTER UPDATE OF slug, slug_exact ON links
    FOR EACH ROW WHEN (OLD.slug_key <> NEW.slug_key) EXECUTE FUNCTION links_refuse_used_slug();

-- How many visits by people a link with max_visits has left (lib/links/visit_limit.h).
CREATE TABLE link_visit_limits (
    link_id    bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    max_visits bigint NOT NULL CHECK (max_visits > 0),
    taken      bigint NOT NULL DEFAULT 0 CHECK (taken >= 0)
);

-- Private notes of a link's workspace. In a table of their own, because only links-api may read them. They
-- end with their link.
CREATE TABLE link_notes (
    link_id bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    notes   text NOT NULL CHECK (length(notes) BETWEEN 1 AND 2000)
);

-- Colors that workspaces gave their tags. A tag itself is only a text in links.tags. The janitor deletes
-- the color of a tag that no link has.
CREATE TABLE tag_colors (
    workspace_id bigint NOT NULL REFERENCES workspaces (id),
    tag          text COLLATE "C" NOT NULL CHECK (length(tag) BETWEEN 1 AND 50),
    color        text NOT NULL CHECK (color ~ '^#[0-9a-f]{6}$'),
    PRIMARY KEY (workspace_id, tag)
);

-- Campaign parameters that people of a workspace fill in together (services/links-api/links/utm_template.c).
CREATE TABLE utm_templates (
    workspace_id bigint NOT NULL REFERENCES workspaces (id),
    name         text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 50),
    utm_source   text NOT NULL CHECK (length(utm_source) <= 100),
    utm_medium   text NOT NULL CHECK (length(utm_medium) <= 100),
    utm_campaign text NOT NULL CHECK (length(utm_campaign) <= 100),
    utm_term     text NOT NULL CHECK (length(utm_term) <= 100),
    utm_content  text NOT NULL CHECK (length(utm_content) <= 100),
    PRIMARY KEY (workspace_id, name)
);

-- Statistics of one link or tag that the holder of a token may read
-- (docs/decisions/0060-shared-statistics.md). Only the token's SHA-256 is stored. A share ends with its
-- row, at expires_at, and while its link is DELETED, or its workspace's sponsor is blocked.
CREATE TABLE shares (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id  bigint NOT NULL REFERENCES workspaces (id),
    created_by    bigint, -- a user
    link_id       bigint REFERENCES links (id) ON DELETE CASCADE,
    tag           text CHECK (length(tag) BETWEEN 1 AND 50),
    title         text NOT NULL DEFAULT '' CHECK (length(title) <= 200),
    report_text   text NOT NULL DEFAULT '' CHECK (length(report_text) <= 2000),
    range         text NOT NULL DEFAULT '' CHECK (length(range) <= 21), -- that the report begins with
    logo          bytea CHECK (octet_length(logo) BETWEEN 1 AND 65536), -- PNG, JPEG or WebP
    version       bigint NOT NULL DEFAULT 1,
    token_hash    bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    password_hash text, -- bcrypt; NULL = the token is enough
    password_generation bigint NOT NULL DEFAULT 0, -- rises with each new password: earlier access tokens end
    expires_at    timestamptz,
    last_used_at  timestamptz, -- to the minute
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT shares_link_or_tag CHECK ((link_id IS NULL) <> (tag IS NULL))
);
CREATE INDEX shares_workspace_idx ON shares (workspace_id, id);
CREATE INDEX shares_link_idx ON shares (link_id) WHERE link_id IS NOT NULL;

GRANT SELECT ON links, link_aliases, link_visit_limits TO waymark_redirector;
GRANT UPDATE (taken) ON link_visit_limits TO waymark_redirector;
-- Visits on Kafka carry the workspace and the tags of their link.
GRANT SELECT (id, workspace_id, tags) ON links TO waymark_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON links, link_aliases, link_visit_limits, link_notes, tag_colors, utm_templates, shares TO waymark_links_api;
GRANT SELECT, UPDATE, DELETE ON links TO waymark_janitor;
GRANT SELECT, INSERT, UPDATE ON link_keeping TO waymark_janitor;
GRANT SELECT ON link_keeping TO waymark_links_api;
GRANT SELECT, DELETE ON link_aliases TO waymark_janitor;
GRANT SELECT, INSERT ON link_tombstones TO waymark_links_api, waymark_janitor;
GRANT SELECT, DELETE ON tag_colors TO waymark_janitor;
