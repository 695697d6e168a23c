-- What a user has chosen for the dashboard. NULL = as the browser says.
ALTER TABLE users ADD COLUMN tz     text CHECK (length(tz) BETWEEN 1 AND 47), -- an IANA time zone
                  ADD COLUMN locale text CHECK (length(locale) BETWEEN 2 AND 11), -- BCP 47: de, pt-BR
                  ADD COLUMN theme  text NOT NULL DEFAULT 'system' CHECK (theme IN ('system', 'light', 'dark'));
