-- Statistics of one link or tag that the holder of a token may read
-- (docs/decisions/0060-shared-statistics.md). Only the token's SHA-256 is stored. A share ends with its
-- row, at expires_at, while its link is DELETED, and while its owner is blocked.
CREATE TABLE shares (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner_id      bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    link_id       bigint REFERENCES links (id) ON DELETE CASCADE,
    tag           text CHECK (length(tag) BETWEEN 1 AND 50),
    title         text NOT NULL DEFAULT '' CHECK (length(title) <= 200),
    token_hash    bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    password_hash text, -- bcrypt; NULL = the token is enough
    expires_at    timestamptz,
    last_used_at  timestamptz, -- to the minute
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT shares_link_or_tag CHECK ((link_id IS NULL) <> (tag IS NULL))
);
CREATE INDEX shares_owner_idx ON shares (owner_id, id);
CREATE INDEX shares_link_idx ON shares (link_id) WHERE link_id IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON shares TO waymark_links_api;
