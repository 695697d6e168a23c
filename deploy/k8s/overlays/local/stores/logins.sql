-- One login per service, with only the permissions of its role. db/migrations/0001_roles.sql
-- creates missing roles.
CREATE ROLE waymark_redirector NOLOGIN;
CREATE ROLE waymark_links_api NOLOGIN;
CREATE ROLE waymark_consumer NOLOGIN;
CREATE ROLE waymark_janitor NOLOGIN;
CREATE ROLE redirector LOGIN PASSWORD 'local' IN ROLE waymark_redirector;
CREATE ROLE links_api LOGIN PASSWORD 'local' IN ROLE waymark_links_api;
CREATE ROLE consumer LOGIN PASSWORD 'local' IN ROLE waymark_consumer;
CREATE ROLE janitor LOGIN PASSWORD 'local' IN ROLE waymark_janitor;
