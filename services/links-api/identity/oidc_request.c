#include "services/links-api/identity/oidc_request.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "services/links-api/identity/oidc_config.h"

#define CONNECT_TIMEOUT_MS 3000L
#define HTTP_REDIRECTS 300
#define HTTP_CLIENT_ERRORS 400
#define HTTP_SERVER_ERRORS 500

struct transfer {
	const struct oidc_request *request;
	struct strbuf body;
	size_t head_bytes;
	long status;
};

static void add_escaped(struct strbuf *out, const char *text)
{
	for (const char *c = text; *c; c++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~",
		           *c))
			strbuf_add_char(out, *c);
		else
			strbuf_add_format(out, "%%%02X", (unsigned char)*c);
}

void oidc_request_add_param(struct strbuf *out, const char *name, const char *value)
{
	if (out->len > 0)
		strbuf_add_char(out, '&');
	strbuf_add_format(out, "%s=", name);
	add_escaped(out, value);
}

/* --- one request --- */

/* Header lines count too. A smaller result than len ends the request. */
static size_t keep_head(char *bytes, size_t one, size_t len, void *arg)
{
	struct transfer *transfer = arg;
	(void)bytes, (void)one;
	transfer->head_bytes += len;
	return transfer->head_bytes <= OIDC_REQUEST_BYTES_MAX ? len : 0;
}

static size_t keep_body(char *bytes, size_t one, size_t len, void *arg)
{
	struct transfer *transfer = arg;
	(void)one;
	strbuf_add(&transfer->body, bytes, len);
	return strbuf_status(&transfer->body) == OK ? len : 0;
}

/* RFC 6749, 2.3.1: both are escaped before they are joined. */
static void set_basic_auth(CURL *curl, const struct oidc_provider *provider)
{
	struct strbuf id, secret;
	strbuf_init(&id, OIDC_REQUEST_FORM_BYTES_MAX);
	strbuf_init(&secret, OIDC_REQUEST_FORM_BYTES_MAX);
	add_escaped(&id, provider->client_id);
	add_escaped(&secret, provider->client_secret);
	curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(curl, CURLOPT_USERNAME, id.data);
	curl_easy_setopt(curl, CURLOPT_PASSWORD, secret.data);
	explicit_bzero(secret.data, secret.len);
	strbuf_clear(&id);
	strbuf_clear(&secret);
}

static void set_options(CURL *curl, struct transfer *transfer, struct curl_slist *headers)
{
	const struct oidc_request *request = transfer->request;
	curl_easy_setopt(curl, CURLOPT_URL, request->url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)OIDC_REQUEST_TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "Waymark/" WAYMARK_VERSION " (sign-on)");
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, keep_head);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	if (*request->provider->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, request->provider->ca_file);
	if (request->form)
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->form);
	if (request->has_basic_auth)
		set_basic_auth(curl, request->provider);
	if (request->access_token) {
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, request->access_token);
	}
}

static CURLcode perform(struct transfer *transfer)
{
	CURL *curl = curl_easy_init();
	struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json");
	if (!curl || !headers)
		abort();
	set_options(curl, transfer, headers);
	CURLcode result = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &transfer->status);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return result;
}

static enum err read_answer(const struct transfer *transfer, struct json **answer,
                            const char **reason)
{
	char why[JSON_REASON_SIZE];
	struct json *read = NULL;
	*reason = "it is a redirect";
	if (transfer->status >= HTTP_REDIRECTS && transfer->status < HTTP_CLIENT_ERRORS)
		return ERR_INVALID;
	*reason = "it is not a JSON object";
	if (json_parse(transfer->body.data, transfer->body.len, &read, why) != OK)
		return ERR_INVALID;
	if (json_type(read) != JSON_OBJECT) {
		json_free(read);
		return ERR_INVALID;
	}
	*answer = read;
	return OK;
}

enum err oidc_request_send(const struct oidc_request *request, struct json **answer, long *status,
                           const char **reason)
{
	struct transfer transfer = { .request = request };
	enum err err = ERR_UNAVAILABLE;
	strbuf_init(&transfer.body, OIDC_REQUEST_BYTES_MAX);
	CURLcode result = perform(&transfer);
	*status = transfer.status;
	if (result == CURLE_WRITE_ERROR) {
		*reason = "it is larger than 256 KiB";
		err = ERR_INVALID;
	} else if (result != CURLE_OK) {
		*reason = curl_easy_strerror(result);
	} else if (transfer.status >= HTTP_SERVER_ERRORS) {
		*reason = "its status is 5xx";
	} else {
		err = read_answer(&transfer, answer, reason);
	}
	explicit_bzero(transfer.body.data, transfer.body.len);
	strbuf_clear(&transfer.body);
	return err;
}
