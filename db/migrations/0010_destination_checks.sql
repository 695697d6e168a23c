-- What the janitor saw when it last asked a link's destination (docs/decisions/0018-destination-checks.md). It is no change
-- of the link: version, updated_at and outbox know nothing of it.
ALTER TABLE links
    ADD COLUMN destination_status smallint CHECK (destination_status BETWEEN 0 AND 999), -- 0 = no answer
    ADD COLUMN last_checked_at    timestamptz,
    ADD COLUMN next_check_at      timestamptz NOT NULL DEFAULT '-infinity',
    ADD COLUMN failed_checks      smallint NOT NULL DEFAULT 0 CHECK (failed_checks >= 0); -- one after the other
CREATE INDEX links_next_check_idx ON links (next_check_at) WHERE state = 'ACTIVE';

-- Another destination is another story.
CREATE FUNCTION links_forget_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.destination_status := NULL;
    NEW.last_checked_at := NULL;
    NEW.next_check_at := '-infinity';
    NEW.failed_checks := 0;
    RETURN NEW;
END
$$;
CREATE TRIGGER links_forget_check BEFORE UPDATE OF original_url ON links
    FOR EACH ROW WHEN (OLD.original_url IS DISTINCT FROM NEW.original_url) EXECUTE FUNCTION links_forget_check();

-- When a host may be asked again, by its robots.txt. A row lives for two days after that was read.
CREATE TABLE destination_hosts (
    host           text COLLATE "C" PRIMARY KEY,
    crawl_delay_ms bigint NOT NULL CHECK (crawl_delay_ms BETWEEN 0 AND 86400000),
    robots_read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    free_at        timestamptz NOT NULL, -- the next request
    queue_until    timestamptz NOT NULL  -- the first turn that no link waits for
);
CREATE INDEX destination_hosts_read_idx ON destination_hosts (robots_read_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON destination_hosts TO waymark_janitor;
