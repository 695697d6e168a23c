-- What happened to the links of workspaces: a row for each version of a link, written by triggers, so
-- that no writer can forget it. The newest 100 changes of a link are kept, as far as they fit in
-- 64 KiB. They end with their link, because they hold what people wrote.
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

-- Only these columns are ever shown: another one may hold a secret.
CREATE FUNCTION link_history_updated() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    as_time CONSTANT text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
    changed jsonb := (
        SELECT coalesce(jsonb_agg(jsonb_build_object('name', name, 'from', before, 'to', after)), '[]')
        FROM (VALUES
            ('slug', to_jsonb(OLD.slug), to_jsonb(NEW.slug)),
            -- A change of the slug says enough of the alias that it makes.
            ('aliases', to_jsonb(OLD.alias_count),
                to_jsonb(CASE WHEN OLD.slug = NEW.slug THEN NEW.alias_count ELSE OLD.alias_count END)),
            ('original_url', to_jsonb(OLD.original_url), to_jsonb(NEW.original_url)),
            ('title', to_jsonb(OLD.title), to_jsonb(NEW.title)),
            ('tags', to_jsonb(OLD.tags), to_jsonb(NEW.tags)),
            ('redirect_status', to_jsonb(OLD.redirect_status), to_jsonb(NEW.redirect_status)),
            ('starts_at', to_jsonb(to_char(OLD.starts_at AT TIME ZONE 'UTC', as_time)),
                to_jsonb(to_char(NEW.starts_at AT TIME ZONE 'UTC', as_time))),
            ('expires_at', to_jsonb(to_char(OLD.expires_at AT TIME ZONE 'UTC', as_time)),
                to_jsonb(to_char(NEW.expires_at AT TIME ZONE 'UTC', as_time))),
            ('expired_url', to_jsonb(OLD.expired_url), to_jsonb(NEW.expired_url)),
            ('blocked_reason', to_jsonb(OLD.blocked_reason), to_jsonb(NEW.blocked_reason)),
            ('state', to_jsonb(lower(OLD.state)), to_jsonb(lower(NEW.state))),
            ('link_type', to_jsonb(lower(OLD.link_type)), to_jsonb(lower(NEW.link_type)))
        ) AS field (name, before, after) WHERE before IS DISTINCT FROM after);
BEGIN
    INSERT INTO link_history (link_id, version, at, change, actor_id, key_id, fields)
    VALUES (NEW.id, NEW.version, NEW.updated_at,
            CASE WHEN NEW.link_type <> OLD.link_type THEN 'claimed'
                 WHEN NEW.workspace_id <> OLD.workspace_id THEN 'moved'
                 WHEN NEW.state = OLD.state THEN 'updated'
                 WHEN NEW.state = 'DELETED' THEN 'deleted'
                 WHEN OLD.state = 'DELETED' THEN 'restored'
                 WHEN NEW.state = 'DISABLED' THEN 'disabled'
                 WHEN NEW.state = 'EXPIRED' THEN 'expired'
                 WHEN OLD.state = 'DISABLED' THEN 'enabled'
                 ELSE 'updated' END,
            NULLIF(current_setting('waymark.actor_id', true), '')::bigint,
            NULLIF(current_setting('waymark.key_id', true), '')::bigint, changed);
    -- One change is smaller than 64 KiB, so the newest one always stays.
    DELETE FROM link_history AS past USING (
        SELECT version, sum(pg_column_size(link_history.*)) OVER (ORDER BY version DESC) AS bytes
        FROM link_history WHERE link_id = NEW.id) AS kept
    WHERE past.link_id = NEW.id AND past.version = kept.version
        AND (kept.bytes > 65536 OR past.version <= NEW.version - 100);
    RETURN NULL;
END
$$;
CREATE TRIGGER link_history_updated AFTER UPDATE ON links FOR EACH ROW
    WHEN (NEW.version > OLD.version AND NEW.workspace_id IS NOT NULL) EXECUTE FUNCTION link_history_updated();

-- One statement for all links of a bulk. An anonymous creation names no user, and has no history.
CREATE FUNCTION link_history_created() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO link_history (link_id, version, at, change, actor_id, key_id)
    SELECT id, version, created_at, 'created', current_setting('waymark.actor_id')::bigint,
        NULLIF(current_setting('waymark.key_id', true), '')::bigint
    FROM created WHERE workspace_id IS NOT NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_history_created AFTER INSERT ON links REFERENCING NEW TABLE AS created FOR EACH STATEMENT
    WHEN (current_setting('waymark.actor_id', true) <> '') EXECUTE FUNCTION link_history_created();

GRANT SELECT ON link_history TO waymark_links_api;
-- links-api adds what changed in extras, which no trigger can read.
GRANT UPDATE (fields) ON link_history TO waymark_links_api;
