-- Logins of browsers. The cookie holds the secret; only its SHA-256 is stored. A session is valid while
-- its row exists, was used within 24 hours and is at most 30 days old.
CREATE TABLE sessions (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    secret_hash  bytea NOT NULL UNIQUE CHECK (octet_length(secret_hash) = 32),
    user_agent   text NOT NULL DEFAULT '' CHECK (length(user_agent) <= 200), -- to tell sessions apart
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_used_at timestamptz NOT NULL DEFAULT clock_timestamp() -- to the minute
);
CREATE INDEX sessions_user_idx ON sessions (user_id, id);

GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO waymark_links_api;
GRANT SELECT, DELETE ON sessions TO waymark_janitor;
