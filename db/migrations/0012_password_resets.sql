-- An administrator may let the user of an account set a new password with a token, once and for some
-- hours. An account has at most one token; only its SHA-256 is stored.
CREATE TABLE password_resets (
    user_id    bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    expires_at timestamptz NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON password_resets TO waymark_links_api;
