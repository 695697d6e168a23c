-- The epoch of the database: it rises when the server continues another history than before, so that
-- commits may have been lost (docs/decisions/0053-database-epoch.md).

-- The history that links-api has adopted, and what has to be above everything that was issued in
-- earlier epochs. system_identifier changes when a dump is restored into a new server, timeline
-- with each promotion of a standby and each recovery from archived WAL.
CREATE TABLE database_epoch (
    only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    system_identifier bigint NOT NULL,
    timeline          bigint NOT NULL,
    epoch             bigint NOT NULL DEFAULT 1 CHECK (epoch > 0),
    -- The version of a link is links.version plus this.
    link_version_base bigint NOT NULL DEFAULT 0 CHECK (link_version_base >= 0),
    began_at          timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The history of the running server. It fails on a standby, which has no timeline of its own yet.
CREATE FUNCTION database_epoch_identity(OUT system_identifier bigint, OUT timeline bigint) LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp AS $$
    SELECT (SELECT system_identifier FROM pg_control_system()),
           ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
$$;
INSERT INTO database_epoch (system_identifier, timeline) SELECT * FROM database_epoch_identity();

-- Begins a new epoch: what is issued from now on differs from all that was issued before, if that
-- was less than gap. For a restored backup (tools/backup), and for an operator who knows of a loss
-- that the identity does not show, such as a restored snapshot of the disk.
CREATE FUNCTION database_epoch_raise(gap bigint) RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    raised bigint;
BEGIN
    UPDATE database_epoch SET (system_identifier, timeline) = (SELECT * FROM database_epoch_identity()),
        epoch = epoch + 1, link_version_base = link_version_base + gap, began_at = clock_timestamp()
        RETURNING epoch INTO raised;
    PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, start_value) + gap)
        FROM pg_sequences WHERE schemaname = 'public';
    UPDATE link_cache_generation SET generation = generation + gap, raised_at = clock_timestamp();
    UPDATE blocked_hosts_state SET version = version + gap;
    -- These times are by the clock of another server, which may have been ahead of this one.
    UPDATE shedlock SET lock_until = least(lock_until, timezone('utc', clock_timestamp()));
    UPDATE destination_hosts SET free_at = least(free_at, clock_timestamp() + crawl_delay_ms * interval '1 ms'),
        queue_until = least(queue_until, clock_timestamp() + crawl_delay_ms * interval '1 ms');
    RETURN raised;
END
$$;

-- Begins a new epoch if the server has another history than the adopted one. Returns the epoch.
CREATE FUNCTION database_epoch_adopt() RETURNS database_epoch LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    adopted database_epoch;
BEGIN
    SELECT * INTO STRICT adopted FROM database_epoch;
    IF (adopted.system_identifier, adopted.timeline) <> (SELECT * FROM database_epoch_identity()) THEN
        -- Another session may adopt it at the same time.
        SELECT * INTO STRICT adopted FROM database_epoch FOR UPDATE;
        IF (adopted.system_identifier, adopted.timeline) <> (SELECT * FROM database_epoch_identity()) THEN
            PERFORM database_epoch_raise(1000000);
            SELECT * INTO STRICT adopted FROM database_epoch;
        END IF;
    END IF;
    RETURN adopted;
END
$$;

-- Refuses a statement that would issue an id or a version before the new history is adopted.
-- STABLE, so that it sees the same epoch as the rest of the statement.
CREATE FUNCTION database_epoch_check() RETURNS trigger LANGUAGE plpgsql STABLE
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM database_epoch NATURAL JOIN database_epoch_identity()) THEN
        RAISE cannot_connect_now USING MESSAGE = 'the database has another history than before',
            HINT = 'links-api adopts it within a second. Without links-api: SELECT database_epoch_adopt()';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER database_epoch_check BEFORE INSERT OR UPDATE OR DELETE ON links
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT OR UPDATE OR DELETE ON blocked_hosts
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT ON users
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT ON workspaces
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT ON invitations
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT ON identities
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT ON sessions
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT ON shares
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();
CREATE TRIGGER database_epoch_check BEFORE INSERT ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION database_epoch_check();

REVOKE EXECUTE ON FUNCTION database_epoch_raise(bigint), database_epoch_adopt() FROM PUBLIC;
GRANT SELECT ON database_epoch TO waymark_redirector, waymark_links_api, waymark_janitor;
GRANT EXECUTE ON FUNCTION database_epoch_adopt() TO waymark_links_api;
