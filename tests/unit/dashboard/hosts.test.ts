import assert from "node:assert/strict";
import { test } from "node:test";
import { readableHost } from "../../../web/dashboard/src/lib/hosts";

test("hosts are shown as people read them, where no letter looks like another one", () => {
  for (const host of ["münchen.example", "www.bücher.example", "faß.example", "例え.example", "ليهمابتكلموشعربي.example", "łódź.example"]) assert.equal(readableHost(new URL(`https://${host}/`).hostname), host);
});

test("hosts that look like others, or are no text, stay as they are", () => {
  // Cyrillic letters that spell "apple", Latin and Cyrillic ones together, a dotless i, and what is no Punycode.
  for (const host of ["xn--80ak6aa92e.com", "xn--pple-43d.com", "xn--wkipedia-tkb.example", "xn--a.example", "xn--9.example", "xn--99999999.example", "xn--.example", "example.com", "127.0.0.1"]) assert.equal(readableHost(host), host);
});
