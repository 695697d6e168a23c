-- The mails that wait (services/janitor/mail/mail.h).

-- A mail is written in the transaction of what it tells of, and deleted when it is sent. One that
-- ended otherwise stays for a week, without its data, for GET /api/admin/mail.
CREATE TABLE mail_outbox (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind            text COLLATE "C" NOT NULL CHECK (length(kind) BETWEEN 1 AND 32),
    address         text COLLATE "C" NOT NULL CHECK (length(address) BETWEEN 3 AND 254),
    locale          text NOT NULL DEFAULT '' CHECK (length(locale) <= 12), -- BCP 47; '' = the default
    workspace_id    bigint, -- whose audit log tells of its end; NULL = none
    data            jsonb NOT NULL CHECK (length(data::text) <= 65536), -- may contain the secret of a one-time link
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    state           text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'refused', 'given_up')),
    next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Attempts whose outcome is known or still expected, and those of them that the server answered
    -- with a later time. What is left over is attempts that a crash ended.
    attempts        integer NOT NULL DEFAULT 0,
    failures        integer NOT NULL DEFAULT 0,
    ended_at        timestamptz,
    error           text NOT NULL DEFAULT '' CHECK (length(error) <= 200), -- of the last attempt
    CHECK ((state = 'waiting') = (ended_at IS NULL))
);
CREATE INDEX mail_outbox_due_idx ON mail_outbox (next_attempt_at) WHERE state = 'waiting';
CREATE INDEX mail_outbox_ended_idx ON mail_outbox (ended_at) WHERE state <> 'waiting';

GRANT SELECT, INSERT ON mail_outbox TO waymark_links_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON mail_outbox TO waymark_janitor;
GRANT INSERT ON audit_log TO waymark_janitor;

-- What a person gets without asking for each mail.
ALTER TABLE users
    ADD COLUMN mail_dead_links      boolean NOT NULL DEFAULT true,
    ADD COLUMN mail_monthly_report  boolean NOT NULL DEFAULT false,
    ADD COLUMN dead_links_mailed_at timestamptz,
    ADD COLUMN month_reported       date; -- the first day of the last month that was reported
CREATE INDEX users_monthly_report_idx ON users (id) WHERE mail_monthly_report;

-- Links whose destination died and of which that person has not been told yet.
CREATE TABLE dead_links (
    link_id bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    user_id bigint NOT NULL REFERENCES users (id)
);
CREATE INDEX dead_links_user_idx ON dead_links (user_id);

GRANT SELECT, INSERT, DELETE ON dead_links TO waymark_janitor;
GRANT SELECT ON members, link_ranking TO waymark_janitor;
GRANT SELECT (name, sponsor_id) ON workspaces TO waymark_janitor;
GRANT SELECT (id, email, locale, blocked, deleted_at, mail_dead_links, mail_monthly_report, dead_links_mailed_at, month_reported),
    UPDATE (dead_links_mailed_at, month_reported) ON users TO waymark_janitor;
