-- A login per service, each with the rights of its role alone (db/migrations/0001_roles.sql makes the roles where they are missing).
CREATE ROLE waymark_redirector NOLOGIN;
CREATE ROLE waymark_links_api NOLOGIN;
CREATE ROLE waymark_consumer NOLOGIN;
CREATE ROLE waymark_janitor NOLOGIN;
CREATE ROLE redirector LOGIN PASSWORD 'local' IN ROLE waymark_redirector;
CREATE ROLE links_api LOGIN PASSWORD 'local' IN ROLE waymark_links_api;
CREATE ROLE consumer LOGIN PASSWORD 'local' IN ROLE waymark_consumer;
CREATE ROLE janitor LOGIN PASSWORD 'local' IN ROLE waymark_janitor;
