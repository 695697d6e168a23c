import assert from "node:assert/strict";
import { test } from "node:test";
import { languages } from "../../../web/dashboard/src/i18n";

type Texts = Record<string, string>;

const FORM = /_(zero|one|two|few|many|other)$/;
const both = async (language: string): Promise<[Texts, Texts]> => {
  const { first, more } = languages[language]!;
  return [(await first()).default, (await more()).default as Texts];
};
const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort().join();
const isForm = (key: string, texts: Texts) => FORM.test(key) && key.replace(FORM, "_other") in texts;
/** Keys, each once for all forms of a number. */
const stems = (texts: Texts) => [...new Set(Object.keys(texts).map((key) => (isForm(key, texts) ? key.replace(FORM, "_*") : key)))].filter((key) => !key.startsWith("error.")).sort();

const english = await both("en");

for (const language of Object.keys(languages)) {
  const files = await both(language);

  test(`${language} has the keys of English, each in its file`, () => {
    files.forEach((texts, file) => assert.deepEqual(stems(texts), stems(english[file]!)));
  });

  test(`${language} has each form of a number that the language knows, and no other`, () => {
    const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories.sort();
    for (const texts of files)
      for (const stem of stems(texts).filter((key) => key.endsWith("_*"))) {
        const own = Object.keys(texts).filter((key) => isForm(key, texts) && key.replace(FORM, "_*") === stem);
        assert.deepEqual(own.map((key) => FORM.exec(key)![1]).sort(), forms, stem);
      }
  });

  test(`${language} has the placeholders of English, and no text is empty`, () => {
    files.forEach((texts, file) => {
      for (const [key, text] of Object.entries(texts)) {
        const original = english[file]![key] ?? english[file]![key.replace(FORM, "_other")];
        assert.notEqual(text.trim(), "", key);
        if (original !== undefined) assert.equal(placeholders(text), placeholders(original), key);
      }
    });
  });
}
