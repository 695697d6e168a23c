-- One role per service, with only the rights that it needs. The roles cannot log in: each
-- deployment creates its own logins as members of them. Roles belong to the cluster, so another
-- database may have created them.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['waymark_redirector', 'waymark_links_api', 'waymark_consumer', 'waymark_janitor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- a concurrent migration of another database created it
            END;
        END IF;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA public TO waymark_redirector, waymark_links_api, waymark_consumer, waymark_janitor;
