-- Persons, their workspaces, API keys and sessions, and the audit log
-- (docs/decisions/0026-authentication-and-authorization.md).
CREATE TABLE users (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email            text CHECK (length(email) BETWEEN 3 AND 254),
    name             text NOT NULL DEFAULT '' CHECK (length(name) <= 100),
    password_hash    text, -- NULL = has none yet, and logs in by no password
    role             text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'admin')),
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    blocked          boolean NOT NULL DEFAULT false,
    -- NULL = the service's default, the largest bigint = no limit
    links_per_day    bigint CHECK (links_per_day BETWEEN 0 AND 1000000000 OR links_per_day = 9223372036854775807),
    -- Access tokens of an earlier generation are refused.
    token_generation bigint NOT NULL DEFAULT 0,
    -- What the user has chosen for the dashboard. NULL = as the browser says.
    tz               text CHECK (length(tz) BETWEEN 1 AND 47), -- an IANA time zone
    locale           text CHECK (length(locale) BETWEEN 2 AND 12), -- BCP 47: de, pt-BR
    theme            text NOT NULL DEFAULT 'system' CHECK (theme IN ('system', 'light', 'dark')),
    workspace_id     bigint CHECK (workspace_id > 0), -- the one that the dashboard opened last; it need not be one of theirs any more
    -- When its owner proved that mail to it arrives.
    email_confirmed_at timestamptz,
    -- The second factor (services/links-api/identity/second_factor.h). A secret without a time is only
    -- offered. Nobody but links-api may read these.
    totp_secret      bytea CHECK (octet_length(totp_secret) = 20),
    totp_offered_at  timestamptz,
    totp_confirmed_at timestamptz CHECK (totp_secret IS NOT NULL OR totp_confirmed_at IS NULL),
    totp_step        bigint NOT NULL DEFAULT 0, -- of the code that was used last
    recovery_codes   bytea[], -- SHA-256 of those that are left
    -- The row of a deleted user stays, because other rows refer to it, but without personal data.
    deleted_at       timestamptz,
    CONSTRAINT users_deleted_has_no_identity CHECK (
        CASE WHEN deleted_at IS NULL THEN email IS NOT NULL
             ELSE email IS NULL AND password_hash IS NULL AND name = '' END)
);
-- One account per e-mail address, whatever its case.
CREATE UNIQUE INDEX users_email_key ON users (lower(email));

-- What owns links, tags, keys, shares and statistics. Ids come from the sequence of users: the first
-- workspace of a person has the person's id. It is a workspace like any other. The row of a deleted
-- workspace stays, because other rows refer to it, without its name.
CREATE TABLE workspaces (
    id                     bigint PRIMARY KEY DEFAULT nextval('users_id_seq'),
    name                   text NOT NULL CHECK (length(name) <= 100),
    -- The person whose limits its links, keys and shares use up. All workspaces of one sponsor share
    -- that person's limits, so nobody multiplies them by making more.
    sponsor_id             bigint NOT NULL REFERENCES users (id),
    requires_second_factor boolean NOT NULL DEFAULT false,
    -- Of new links that do not say it themselves.
    default_forward_query  boolean NOT NULL DEFAULT false,
    default_forward_path   boolean NOT NULL DEFAULT false,
    created_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Its members can undo that for a week (services/links-api/workspaces/workspace_closing.h).
    deleted_at             timestamptz,
    -- What is left to do: its links become DELETED; all are, and the rest goes after the week; links that
    -- became DELETED in "restoring" come back. NULL = nothing.
    closing                text CHECK (closing IN ('deleting', 'deleted', 'restoring')),
    restoring              tstzrange,
    CONSTRAINT workspaces_restoring CHECK ((coalesce(closing, '') = 'restoring') = (restoring IS NOT NULL)),
    CONSTRAINT workspaces_deleted_or_restoring CHECK (deleted_at IS NULL OR restoring IS NULL)
);
CREATE INDEX workspaces_sponsor_idx ON workspaces (sponsor_id);
CREATE INDEX workspaces_closing_idx ON workspaces (id) WHERE closing IS NOT NULL;

-- By which provider of single sign-on people log in (services/links-api/identity/oidc_store.h).
CREATE TABLE identities (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      bigint NOT NULL REFERENCES users (id),
    issuer       text NOT NULL CHECK (octet_length(issuer) BETWEEN 1 AND 1024),
    subject      text NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
    provider     text NOT NULL CHECK (octet_length(provider) <= 32), -- the id in OIDC_CONFIG at the last login
    gives_admin  boolean NOT NULL DEFAULT false, -- the groups made the person an administrator
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT identities_key UNIQUE (issuer, subject)
);
CREATE INDEX identities_user_idx ON identities (user_id);

-- Logins that came back from their provider, so that none does twice; for twenty minutes.
CREATE TABLE oidc_logins (
    login_hash bytea PRIMARY KEY CHECK (octet_length(login_hash) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX oidc_logins_expires_idx ON oidc_logins (expires_at);

CREATE TABLE members (
    workspace_id bigint NOT NULL REFERENCES workspaces (id),
    user_id      bigint NOT NULL REFERENCES users (id),
    -- What each role may do is one table in services/links-api/identity/authentication.c.
    role         text NOT NULL CHECK (role IN ('viewer', 'editor', 'admin', 'owner')),
    identity_id  bigint REFERENCES identities (id) ON DELETE CASCADE, -- whose groups gave it; NULL = by hand
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX members_user_idx ON members (user_id);
CREATE INDEX members_identity_idx ON members (identity_id) WHERE identity_id IS NOT NULL;

-- Who may join a workspace, once, with the token of which only the SHA-256 is stored.
CREATE TABLE invitations (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint REFERENCES workspaces (id), -- NULL = may register, no more
    email        text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
    role         text CHECK (role IN ('viewer', 'editor', 'admin', 'owner')),
    token_hash   bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    invited_by   bigint NOT NULL REFERENCES users (id),
    expires_at   timestamptz NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How, so that whoever has the token is told. The janitor deletes it a month after expires_at.
    ended        text CHECK (ended IN ('used', 'revoked', 'replaced', 'void')),
    CONSTRAINT invitations_role CHECK ((role IS NULL) = (workspace_id IS NULL))
);
-- One for each address: a new one replaces it.
CREATE UNIQUE INDEX invitations_address_key ON invitations (coalesce(workspace_id, 0), lower(email)) WHERE ended IS NULL;
CREATE INDEX invitations_workspace_idx ON invitations (coalesce(workspace_id, 0), id);
CREATE INDEX invitations_inviter_idx ON invitations (invited_by);

-- So no writer can forget it.
CREATE FUNCTION users_make_workspace() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO workspaces (id, name, sponsor_id) VALUES (NEW.id, 'Personal', NEW.id);
    INSERT INTO members (workspace_id, user_id, role) VALUES (NEW.id, NEW.id, 'owner');
    RETURN NULL;
END
$$;
CREATE TRIGGER users_make_workspace AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION users_make_workspace();

-- A key works while its maker is a member, with at most the maker's role. One that a key made ends with
-- that key.
CREATE TABLE api_keys (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint NOT NULL REFERENCES workspaces (id),
    created_by   bigint NOT NULL REFERENCES users (id),
    name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    scopes       text[] NOT NULL CHECK (cardinality(scopes) BETWEEN 1 AND 12
                                        AND scopes <@ ARRAY['links:read', 'links:write', 'stats:read', 'visits:read', 'shares:read',
                                                            'shares:write', 'keys:read', 'keys:write', 'workspace:read',
                                                            'workspace:write', 'admin:read', 'admin:write']),
    -- It sees and changes only links that have one of these; empty = all.
    tags         text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 20),
    made_by_key  bigint REFERENCES api_keys (id) ON DELETE CASCADE, -- NULL = a person made it
    hint         text NOT NULL CHECK (length(hint) <= 8), -- the beginning of the secret, to tell keys apart
    secret_hash  bytea NOT NULL CHECK (octet_length(secret_hash) = 32), -- SHA-256
    -- The secret before the last rotation works as well until then.
    old_secret_hash  bytea UNIQUE CHECK (octet_length(old_secret_hash) = 32),
    old_secret_until timestamptz,
    expires_at   timestamptz,
    last_used_at timestamptz, -- to the minute
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT api_keys_secret_hash_key UNIQUE (secret_hash)
);
CREATE INDEX api_keys_made_by_idx ON api_keys (made_by_key) WHERE made_by_key IS NOT NULL;
CREATE INDEX api_keys_workspace_idx ON api_keys (workspace_id, id);
CREATE INDEX api_keys_created_by_idx ON api_keys (created_by);

-- Whoever comes back does not bring their old keys along. Until then an admin can take them over.
CREATE FUNCTION members_end_old_keys() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM api_keys WHERE workspace_id = NEW.workspace_id AND created_by = NEW.user_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER members_end_old_keys AFTER INSERT ON members FOR EACH ROW EXECUTE FUNCTION members_end_old_keys();

-- Logins of browsers. The cookie holds the secret; only its SHA-256 is stored. A session is valid while
-- its row exists, was used within 24 hours and is at most 30 days old.
CREATE TABLE sessions (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    secret_hash  bytea NOT NULL UNIQUE CHECK (octet_length(secret_hash) = 32),
    user_agent   text NOT NULL DEFAULT '' CHECK (length(user_agent) <= 200), -- to tell sessions apart
    provider     text CHECK (octet_length(provider) <= 32), -- of single sign-on; NULL = by password
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_used_at timestamptz NOT NULL DEFAULT clock_timestamp() -- to the minute
);
CREATE INDEX sessions_user_idx ON sessions (user_id, id);

-- Who has a token may set the password of an account, once and for some hours. An administrator makes
-- one, or anybody has one mailed to the account's address: these do not replace each other. Only its
-- SHA-256 is stored.
CREATE TABLE password_resets (
    user_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    is_mailed  boolean NOT NULL,
    token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, is_mailed)
);

-- The address that an account has, or is to have, until a token that was mailed to it proves that it
-- belongs to the user.
CREATE TABLE email_confirmations (
    user_id    bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    email      text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
    token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    expires_at timestamptz NOT NULL
);

-- Every change by a user, written in the change's own transaction. It holds ids and field names,
-- but no personal data, so deleting an account leaves nothing to erase here. No foreign keys:
-- entries outlive the rows that they refer to.
CREATE TABLE audit_log (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    workspace_id bigint, -- in which it happened; NULL = in none
    actor_id     bigint, -- a user; NULL = an anonymous client or the operator
    key_id       bigint, -- the API key of the request; NULL = a login
    action       text COLLATE "C" NOT NULL, -- "link.create"
    subject_type text COLLATE "C" NOT NULL, -- "link"
    subject_id   bigint NOT NULL,
    request_id   text NOT NULL DEFAULT '',
    details      jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_log_actor_idx ON audit_log (actor_id, id);
CREATE INDEX audit_log_action_idx ON audit_log (action, id);
CREATE INDEX audit_log_workspace_idx ON audit_log (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX audit_log_subject_idx ON audit_log (subject_type, subject_id, id);

GRANT SELECT, INSERT, UPDATE ON users TO waymark_links_api;
GRANT SELECT, INSERT, UPDATE ON workspaces TO waymark_links_api;
GRANT USAGE ON SEQUENCE users_id_seq TO waymark_links_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON api_keys, identities, members, oidc_logins, sessions, password_resets, email_confirmations TO waymark_links_api;
GRANT SELECT, INSERT, UPDATE (ended), DELETE ON invitations TO waymark_links_api;
GRANT SELECT, DELETE ON sessions, password_resets, email_confirmations, invitations TO waymark_janitor;
GRANT SELECT (id, closing) ON workspaces TO waymark_janitor;
GRANT SELECT, INSERT ON audit_log TO waymark_links_api;
GRANT SELECT, DELETE ON audit_log TO waymark_janitor;
