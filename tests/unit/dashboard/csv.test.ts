import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { csvCell, parseCsv, plainCell, textOf } from "../../../web/dashboard/src/lib/csv";
import { formatCsv, separate } from "../../../web/dashboard/src/lib/download";

const examples: [text: string, cell: string][] = JSON.parse(readFileSync("tests/support/csv_cells.json", "utf8"));
const rows = (text: string) => parseCsv(text, (cells) => cells.length).rows.map(({ cells }) => cells);

test("no spreadsheet takes a text for a formula", () => {
  assert.ok(examples.length > 50);
  for (const [text, cell] of examples) assert.equal(csvCell(text), cell);
});

test("a cell that was disarmed is read as it was", () => {
  for (const [text] of examples.filter(([each]) => !/'=/.test(each))) {
    const [row = []] = rows(formatCsv([["a", "b", "c", "d", "e", "f", "g", text]]));
    assert.equal(plainCell(row[7] ?? ""), text.trim());
  }
});

test("numbers are no formulas, and another separator changes no cell", () => {
  assert.equal(formatCsv([["a", -1, "-1"]]), "a,-1,'-1");
  assert.equal(separate('a,"b,c","d;""e"""\r\n1,,2'), 'a,"b,c","d;""e"""\r\n1,,2');
});

/** What Excel, Calc and Numbers save. */
const CONTENT = "url;title\r\nhttps://a.example/gr%C3%B6%C3%9Fe;Größe für Äpfel – “5 €”\r\n";
const utf16 = (text: string, isBig: boolean) => {
  const bytes = Buffer.from(text, "utf16le");
  return isBig ? bytes.swap16() : bytes;
};
const bytewise = (text: string, table: Record<string, number>) => Uint8Array.from([...text].map((each) => table[each] ?? each.charCodeAt(0)));
const MACINTOSH = { ö: 0x9a, ß: 0xa7, ü: 0x9f, Ä: 0x80, "–": 0xd0, "€": 0xdb, "“": 0xd2, "”": 0xd3 };

test("a file keeps its letters in every encoding that Excel writes", () => {
  const western = CONTENT.replace(/–.*”/, "§"); // Node 20 takes Windows-1252 for Latin-1; the test in Chromium has the other signs
  const cr = CONTENT.replaceAll("\r\n", "\r");
  const files: [name: string, bytes: Uint8Array, text: string][] = [
    ["UTF-8", Buffer.from(CONTENT), CONTENT],
    ["UTF-8 with a mark", Buffer.from(`\ufeff${CONTENT}`), CONTENT],
    ["UTF-16LE with a mark", utf16(`\ufeff${CONTENT}`, false), CONTENT],
    ["UTF-16BE with a mark", utf16(`\ufeff${CONTENT}`, true), CONTENT],
    ["UTF-16LE", utf16(CONTENT, false), CONTENT],
    ["UTF-16BE", utf16(CONTENT, true), CONTENT],
    ["Windows-1252", bytewise(western, {}), western],
    ["Windows-1252 with CR", bytewise(western.replaceAll("\r\n", "\r"), {}), western.replaceAll("\r\n", "\r")],
    ["Mac OS Roman with CR", bytewise(cr, MACINTOSH), cr],
  ];
  for (const [name, bytes, text] of files) assert.equal(textOf(Uint8Array.from(bytes).buffer), text, name);
  const cut = Buffer.from(`\ufeff${CONTENT}ä`).subarray(0, -1);
  assert.equal(textOf(Uint8Array.from(cut).buffer), `${CONTENT}\ufffd`);
  assert.equal(textOf(new ArrayBuffer(0)), "");
});

test("a workbook is no text", () => {
  assert.equal(textOf(Uint8Array.from([0x50, 0x4b, 3, 4, 20, 0]).buffer), undefined);
  assert.equal(textOf(Uint8Array.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]).buffer), undefined);
});

test("rows end with CR, LF, CRLF or a mixture", () => {
  const wanted = [["a", "b"], ["1", "2"], ["3", "4\n5"], ["6", ""]];
  for (const end of ["\r", "\n", "\r\n"]) {
    assert.deepEqual(rows(`a,b${end}1,2${end}${end}3,"4\n5"${end}6,`), wanted);
    assert.deepEqual(rows(`\ufeffa,b${end}1,2\n3,"4\n5"\r\n6,\r`), wanted);
  }
});

test("rows know their line and how they were written", () => {
  const { mark, rows: found } = parseCsv('sep=;\r\na;b\r\r\n"1\r\n2";3\n4;5', (cells) => cells.length);
  assert.equal(mark, "sep=;");
  assert.deepEqual(found.map(({ line, text }) => [line, text]), [[2, "a;b"], [4, '"1\r\n2";3'], [6, "4;5"]]);
});

test("the first line may name the separator", () => {
  for (const [mark, separator] of [["sep=;", ";"], ["SEP=,", ","], ["sep=\t", "\t"], ['"sep=;"', ";"], ["\ufeffsep=;", ";"]] as const)
    assert.deepEqual(rows(`${mark}\r\na${separator}b,;c`), [separator === "," ? ["a", "b", ";c"] : separator === ";" ? ["a", "b,", "c"] : ["a", "b,;c"]]);
  assert.deepEqual(rows("sep=;"), []);
});

test("a quote that nothing closes is a letter", () => {
  assert.deepEqual(rows('a,"b\nc,d'), [["a", '"b'], ["c", "d"]]);
  assert.deepEqual(rows('a,"b" c\nd,"e ""f"""\ng, "h, i" ,j'), [["a", '"b" c'], ["d", 'e "f"'], ["g", "h, i", "j"]]);
});
