'use strict';
// asyncapi.js IMAGE: compares docs/api/asyncapi.yaml with a FileDescriptorSet in JSON and with deploy/topics.conf. Prints the
// differences. tools/lint/asyncapi runs it.
const fs = require('node:fs');
const { Parser } = require('@asyncapi/parser');

const DOCUMENT = 'docs/api/asyncapi.yaml';
const SCALARS = {
  TYPE_INT64: ['integer', 'int64'],
  TYPE_UINT64: ['integer', 'uint64'],
  TYPE_UINT32: ['integer', 'uint32'],
  TYPE_BOOL: ['boolean', null],
  TYPE_STRING: ['string', null],
  TYPE_BYTES: ['string', 'byte'],
};

const problems = [];

function expect(where, documented, actual) {
  const [left, right] = [documented, actual].map((value) => JSON.stringify(value));
  if (left !== right) problems.push(`${where}: documented as ${left}, but is ${right}`);
}

function readProtos(file) {
  const types = { messages: {}, enums: {} };
  for (const proto of JSON.parse(fs.readFileSync(file)).file) {
    for (const each of proto.messageType || []) types.messages[`.${proto.package}.${each.name}`] = each;
    for (const each of proto.enumType || []) types.enums[`.${proto.package}.${each.name}`] = each;
  }
  return types;
}

function compareValue(where, schema, field, types) {
  if (field.type === 'TYPE_MESSAGE') {
    compareMessage(where, schema.allOf?.[0] || {}, types.messages[field.typeName], types);
  } else if (field.type === 'TYPE_ENUM') {
    expect(`${where}, values`, schema.enum, types.enums[field.typeName].value.map((value) => value.name));
  } else {
    expect(`${where}, type`, [schema.type, schema.format ?? null], SCALARS[field.type]);
  }
}

function compareMessage(where, schema, message, types) {
  const fields = message.field.map((field) => field.name);
  expect(`${where}, fields`, Object.keys(schema.properties || {}).sort(), [...fields].sort());
  for (const field of message.field) {
    const property = (schema.properties || {})[field.name];
    if (!property) continue;
    expect(`${where}.${field.name}, number`, property['x-protobuf-number'], field.number);
    const value = field.label === 'LABEL_REPEATED' ? property.items : property;
    compareValue(`${where}.${field.name}`, value, field, types);
  }
}

function readTopics(file) {
  const lines = fs.readFileSync(file, 'utf8').split('\n').filter((line) => /^[^#\s]/.test(line));
  return lines.map((line) => {
    const [address, partitions, ...settings] = line.trim().split(/\s+/);
    return { address, partitions: Number(partitions), settings: Object.fromEntries(settings.map((s) => s.split('='))) };
  });
}

function compareTopics(channels, topics) {
  expect('channels', channels.map((channel) => channel.address).sort(), topics.map((topic) => topic.address).sort());
  for (const topic of topics) {
    const channel = channels.find((each) => each.address === topic.address);
    if (!channel) continue;
    const { partitions, topicConfiguration = {} } = channel.bindings.kafka;
    expect(`${topic.address}, partitions`, partitions, topic.partitions);
    expect(`${topic.address}, cleanup.policy`, topicConfiguration['cleanup.policy'], [topic.settings['cleanup.policy']]);
    expect(`${topic.address}, retention.ms`, String(topicConfiguration['retention.ms'] ?? ''), topic.settings['retention.ms'] ?? '');
  }
}

async function main() {
  const { document, diagnostics } = await new Parser().parse(fs.readFileSync(DOCUMENT, 'utf8'), { source: DOCUMENT });
  for (const each of diagnostics.filter((diagnostic) => diagnostic.severity <= 1)) {
    problems.push(`line ${each.range.start.line + 1}: ${each.message} (${each.code})`);
  }
  if (document) {
    const content = document.json();
    const types = readProtos(process.argv[2]);
    const described = Object.values(content.components.messages).filter((message) => message['x-protobuf-message']);
    for (const message of described) {
      const name = message['x-protobuf-message'];
      compareMessage(name, message.payload, types.messages[`.${name}`], types);
      if (message.headers) expect(`${name}, ce_type`, message.headers.properties.ce_type.const, message.name);
    }
    if (described.length === 0) problems.push('no message has x-protobuf-message');
    compareTopics(Object.values(content.channels), readTopics('deploy/topics.conf'));
  }
  for (const problem of problems) console.log(`${DOCUMENT}: ${problem}`);
  process.exit(problems.length > 0 ? 1 : 0);
}

main();
