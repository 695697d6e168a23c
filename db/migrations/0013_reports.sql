-- What visitors report, and the documents that apps ask for.

-- Reports of abuse. A report outlives its link, so that an administrator can see what was reported.
CREATE TABLE abuse_reports (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    link_id    bigint NOT NULL,
    slug       text COLLATE "C" NOT NULL,
    reason     text NOT NULL CHECK (reason IN ('phishing', 'malware', 'spam', 'illegal', 'other')),
    details    text NOT NULL DEFAULT '' CHECK (length(details) <= 2000),
    email      text CHECK (length(email) BETWEEN 3 AND 254), -- of who reported it, if they said it
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    closed_at  timestamptz,
    closed_by  bigint -- a user
);
CREATE INDEX abuse_reports_open_idx ON abuse_reports (id) WHERE closed_at IS NULL;
CREATE INDEX abuse_reports_link_idx ON abuse_reports (link_id);
CREATE TRIGGER database_epoch_check BEFORE INSERT ON abuse_reports
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();

-- Files under /.well-known/ by which phones learn which links an app opens.
CREATE TABLE app_documents (
    name       text PRIMARY KEY CHECK (name IN ('apple-app-site-association', 'assetlinks.json')),
    body       text NOT NULL CHECK (octet_length(body) BETWEEN 2 AND 131072),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT, INSERT, UPDATE ON abuse_reports TO waymark_links_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON app_documents TO waymark_links_api;
GRANT SELECT, DELETE ON abuse_reports TO waymark_janitor;
GRANT SELECT ON app_documents TO waymark_redirector;
