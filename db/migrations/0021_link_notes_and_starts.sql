-- Private notes of a link's owner (docs/decisions/0066-notes-in-a-table-of-their-own.md). Only links-api
-- may read them. They end with their link.
CREATE TABLE link_notes (
    link_id bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    notes   text NOT NULL CHECK (length(notes) BETWEEN 1 AND 2000)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON link_notes TO waymark_links_api;

-- Until this time a link is not followed (docs/decisions/0068-a-link-starts-by-the-redirectors-clock.md).
-- NULL = from its creation on. links-api keeps it before expires_at.
ALTER TABLE links ADD COLUMN starts_at timestamptz;

-- The history of a link shows its start as well, and notes never.
CREATE OR REPLACE FUNCTION link_history_updated() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    what   text := 'updated';
    fields jsonb := '[]';
BEGIN
    IF NEW.original_url <> OLD.original_url THEN
        fields := fields || link_history_field('original_url', to_jsonb(OLD.original_url), to_jsonb(NEW.original_url));
    END IF;
    IF NEW.title <> OLD.title THEN
        fields := fields || link_history_field('title', to_jsonb(OLD.title), to_jsonb(NEW.title));
    END IF;
    IF NEW.tags <> OLD.tags THEN
        fields := fields || link_history_field('tags', to_jsonb(OLD.tags), to_jsonb(NEW.tags));
    END IF;
    IF NEW.redirect_status <> OLD.redirect_status THEN
        fields := fields || link_history_field('redirect_status', to_jsonb(OLD.redirect_status), to_jsonb(NEW.redirect_status));
    END IF;
    IF NEW.starts_at IS DISTINCT FROM OLD.starts_at THEN
        fields := fields || link_history_field('starts_at', to_jsonb(link_history_time(OLD.starts_at)), to_jsonb(link_history_time(NEW.starts_at)));
    END IF;
    IF NEW.expires_at IS DISTINCT FROM OLD.expires_at THEN
        fields := fields || link_history_field('expires_at', to_jsonb(link_history_time(OLD.expires_at)), to_jsonb(link_history_time(NEW.expires_at)));
    END IF;
    IF NEW.expired_url IS DISTINCT FROM OLD.expired_url THEN
        fields := fields || link_history_field('expired_url', to_jsonb(OLD.expired_url), to_jsonb(NEW.expired_url));
    END IF;
    IF NEW.state <> OLD.state THEN
        fields := fields || link_history_field('state', to_jsonb(lower(OLD.state)), to_jsonb(lower(NEW.state)));
        what := CASE WHEN NEW.state = 'DELETED' THEN 'deleted'
                     WHEN OLD.state = 'DELETED' THEN 'restored'
                     WHEN NEW.state = 'DISABLED' THEN 'disabled'
                     WHEN NEW.state = 'EXPIRED' THEN 'expired'
                     WHEN OLD.state = 'DISABLED' THEN 'enabled'
                     ELSE what END;
    END IF;
    IF NEW.link_type <> OLD.link_type THEN
        fields := fields || link_history_field('link_type', to_jsonb(lower(OLD.link_type)), to_jsonb(lower(NEW.link_type)));
        what := 'claimed';
    END IF;
    INSERT INTO link_history (link_id, version, at, change, actor_id, key_id, fields)
    VALUES (NEW.id, NEW.version, NEW.updated_at, what, link_history_actor('actor_id'), link_history_actor('key_id'), fields);
    IF NEW.version > 100 THEN
        DELETE FROM link_history WHERE link_id = NEW.id AND version <= NEW.version - 100;
    END IF;
    RETURN NULL;
END
$$;
