-- Accounts that can be blocked, limited and given up, their API keys, and who changed what
-- (docs/decisions/0026-who-may-do-what.md).
ALTER TABLE users
    ALTER COLUMN email DROP NOT NULL,
    ALTER COLUMN password_hash DROP NOT NULL,
    ADD COLUMN blocked          boolean NOT NULL DEFAULT false,
    ADD COLUMN links_per_day    bigint CHECK (links_per_day BETWEEN 0 AND 1000000000), -- NULL = the service's default, 0 = no limit
    ADD COLUMN token_generation bigint NOT NULL DEFAULT 0, -- access tokens of earlier ones are refused
    ADD COLUMN deleted_at       timestamptz, -- the row stays, for what points to it, and says nothing of a person
    ADD COLUMN is_closing       boolean NOT NULL DEFAULT false, -- deleted, and not all of its links are yet
    ADD CONSTRAINT users_deleted_is_nobody CHECK (
        CASE WHEN deleted_at IS NULL THEN email IS NOT NULL AND password_hash IS NOT NULL AND NOT is_closing
             ELSE email IS NULL AND password_hash IS NULL AND name = '' END);
CREATE INDEX users_closing_idx ON users (id) WHERE is_closing;

CREATE TABLE api_keys (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      bigint NOT NULL REFERENCES users (id),
    name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    scopes       text[] NOT NULL CHECK (cardinality(scopes) BETWEEN 1 AND 3
                                        AND scopes <@ ARRAY['links:read', 'links:write', 'stats:read']),
    hint         text NOT NULL CHECK (length(hint) <= 8), -- the beginning of the secret, for people to tell keys apart
    secret_hash  bytea NOT NULL CHECK (octet_length(secret_hash) = 32), -- SHA-256
    expires_at   timestamptz,
    last_used_at timestamptz, -- to the minute
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT api_keys_secret_hash_key UNIQUE (secret_hash)
);
CREATE INDEX api_keys_user_idx ON api_keys (user_id, id);

-- Every change that somebody made, written in the change's own transaction. Numbers and names of fields, nothing of a
-- person, so that a deleted account leaves nothing to erase here; no foreign keys, because it outlives what it tells of.
CREATE TABLE audit_log (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor_id     bigint, -- a user; NULL = nobody who had logged in, or the operator
    key_id       bigint, -- the API key that he came with; NULL = a login
    action       text COLLATE "C" NOT NULL, -- "link.create"
    subject_type text COLLATE "C" NOT NULL, -- "link"
    subject_id   bigint NOT NULL,
    request_id   text NOT NULL DEFAULT '',
    details      jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_log_actor_idx ON audit_log (actor_id, id);
CREATE INDEX audit_log_action_idx ON audit_log (action, id);
CREATE INDEX audit_log_subject_idx ON audit_log (subject_type, subject_id, id);

GRANT SELECT, INSERT, UPDATE, DELETE ON api_keys TO waymark_links_api;
GRANT SELECT, INSERT ON audit_log TO waymark_links_api;
GRANT SELECT, DELETE ON audit_log TO waymark_janitor;
