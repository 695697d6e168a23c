-- What happened to the links of accounts: a row for each
-- version of a link, written by triggers, so that no writer can forget it. The newest 100 changes of
-- a link are kept. They end with their link, because they hold what its owner wrote.
CREATE TABLE link_history (
    link_id  bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    version  bigint NOT NULL, -- links.version after the change
    at       timestamptz NOT NULL,
    change   text COLLATE "C" NOT NULL, -- "updated"
    -- Of the transaction (waymark.actor_id, waymark.key_id); NULL = the janitor, or not known.
    actor_id bigint,
    key_id   bigint,
    fields   jsonb NOT NULL DEFAULT '[]', -- [{name, from, to}], as the API shows them
    PRIMARY KEY (link_id, version)
);

-- NULL: the transaction did not name a user or an API key.
CREATE FUNCTION link_history_actor(setting text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT NULLIF(current_setting('waymark.' || setting, true), '')::bigint
$$;

CREATE FUNCTION link_history_time(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

CREATE FUNCTION link_history_field(name text, before jsonb, after jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('name', name, 'from', before, 'to', after)
$$;

-- Only these columns are ever shown: another one may hold a secret.
CREATE FUNCTION link_history_updated() RETURNS trigger LANGUAGE plpgsql
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
CREATE TRIGGER link_history_updated AFTER UPDATE ON links FOR EACH ROW
    WHEN (NEW.version > OLD.version AND NEW.owner_id IS NOT NULL) EXECUTE FUNCTION link_history_updated();

-- One statement for all links of a bulk. An anonymous creation names no user, and has no history.
CREATE FUNCTION link_history_created() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO link_history (link_id, version, at, change, actor_id, key_id)
    SELECT id, version, created_at, 'created', link_history_actor('actor_id'), link_history_actor('key_id')
    FROM created WHERE owner_id IS NOT NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_history_created AFTER INSERT ON links REFERENCING NEW TABLE AS created FOR EACH STATEMENT
    WHEN (current_setting('waymark.actor_id', true) <> '') EXECUTE FUNCTION link_history_created();

GRANT SELECT ON link_history TO waymark_links_api;
