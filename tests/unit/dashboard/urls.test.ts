import assert from "node:assert/strict";
import test from "node:test";
import { parseBulk } from "../../../web/dashboard/src/lib/bulk";
import { looksLikeUrl, normalizeUrl } from "../../../web/dashboard/src/lib/urls";

test("a host is completed, with its port and path", () => {
  const hosts = ["example.com", "example.com/a b", "example.com:8080/x", "localhost:8080", "grün.example", "https://example.com"];
  assert.deepEqual(hosts.map(normalizeUrl), ["https://example.com", "https://example.com/a%20b", "https://example.com:8080/x", "https://localhost:8080", "https://grün.example", "https://example.com"]);
});

test("the scheme of something that is no web address is no host with a port", () => {
  const others = ["javascript:1", "JavaScript:1", "vbscript:1", "data:1", "tel:112", "sms:110", "mailto:a@b.example", "data:text/html,1", "javascript:alert(1)", "about:blank", "myapp:1", "example"];
  assert.deepEqual(others.map(normalizeUrl), others);
  assert.deepEqual(others.filter(looksLikeUrl), []);
  assert.deepEqual(others.filter((text) => parseBulk(text, []).items[0]?.fault !== "url-scheme"), []);
});
