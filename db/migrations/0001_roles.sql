-- One role per service, with only what it needs. They cannot log in: each deployment makes its own
-- login users as members of these. Roles belong to the cluster, so another database may have made them.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['waymark_redirector', 'waymark_links_api', 'waymark_consumer', 'waymark_janitor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- another migration run of the same cluster was faster
            END;
        END IF;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA public TO waymark_redirector, waymark_links_api, waymark_consumer, waymark_janitor;
