-- Hosts that no link may lead to, as admins say it (docs/decisions/0029-hosts-that-links-may-lead-to.md). Operators' files
-- come beside them.
CREATE TABLE blocked_hosts (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- In the normal form of destinations: lower-case A-labels without a dot at the end, 127.0.0.1, [::1].
    host            text COLLATE "C" NOT NULL CHECK (octet_length(host) BETWEEN 1 AND 253 AND host = lower(host)),
    with_subdomains boolean NOT NULL DEFAULT true,
    reason          text NOT NULL DEFAULT '' CHECK (length(reason) <= 200),
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT blocked_hosts_host_key UNIQUE (host)
);

-- What redirectors look at every few seconds: the list is read when its version is another one. All of it stands in each
-- process' memory and in one answer, so it has a ceiling.
CREATE TABLE blocked_hosts_state (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint NOT NULL DEFAULT 0,
    count    bigint NOT NULL DEFAULT 0 CONSTRAINT blocked_hosts_ceiling CHECK (count <= 3000)
);
INSERT INTO blocked_hosts_state DEFAULT VALUES;

-- The row's lock makes writers queue, so that who sees a version sees every change up to it.
CREATE FUNCTION blocked_hosts_changed() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE blocked_hosts_state
    SET version = version + 1,
        count = count + CASE TG_OP WHEN 'INSERT' THEN 1 WHEN 'DELETE' THEN -1 ELSE 0 END;
    RETURN NULL;
END
$$;
CREATE TRIGGER blocked_hosts_changed AFTER INSERT OR UPDATE OR DELETE ON blocked_hosts
    FOR EACH ROW EXECUTE FUNCTION blocked_hosts_changed();

GRANT SELECT ON blocked_hosts, blocked_hosts_state TO waymark_redirector;
GRANT SELECT, INSERT, DELETE ON blocked_hosts TO waymark_links_api;
GRANT SELECT ON blocked_hosts_state TO waymark_links_api;
