#include "services/links-api/slug_issuer.h"

static enum err create_with_random_slug(struct pg_conn *conn, const struct link_store_new *new_link,
                                        slug_issuer_source source, struct link *out)
{
	for (size_t length = SLUG_RANDOM_LENGTH; length <= SLUG_ISSUER_LENGTH_MAX; length++) {
		for (int i = 0; i < SLUG_RANDOM_TRIES; i++) {
			char slug[SLUG_SIZE];
			struct link_store_new with_slug = *new_link;
			source(slug, length);
			with_slug.slug = slug;
			enum err err = link_store_create(conn, &with_slug, out);
			if (err != ERR_CONFLICT)
				return err;
		}
	}
	return ERR_LIMIT;
}

enum err slug_issuer_create(struct pg_conn *conn, const struct link_store_new *new_link, slug_issuer_source source,
                            struct link *out)
{
	if (new_link->slug)
		return link_store_create(conn, new_link, out);
	return create_with_random_slug(conn, new_link, source, out);
}
