#!/usr/bin/env node
/*
 * Prints each visit on waymark.visits.v1 once, as one line of JSON. docs/integrations.md has the
 * guarantees that it relies on.
 *
 *   npm ci --ignore-scripts
 *   KAFKA_BROKERS=127.0.0.1:9092 node visits.js
 *
 * It commits an offset only after it has printed the visit, so a crash loses no visit. It recognises
 * repeated visits by their event_id.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = require('kafkajs');
const lz4 = require('lz4js');
const protobuf = require('protobufjs');

const TOPIC = 'waymark.visits.v1';
const TYPE = 'waymark.visit.v1';
const PROTO = process.env.WAYMARK_PROTO || path.join(__dirname, '../../proto');
// The number of latest visits among which a repeat is recognised. If you store visits in a table, make
// event_id its key instead.
const REMEMBERED = 100000;

const env = (name, otherwise) => process.env[name] || otherwise;

// Waymark's batches are LZ4 frames, which kafkajs does not decompress by itself.
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => Buffer.from(lz4.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(lz4.decompress(buffer)),
});

function credentials() {
  const protocol = env('KAFKA_SECURITY_PROTOCOL', 'plaintext').toLowerCase();
  const authority = env('KAFKA_SSL_CA_FILE');
  return {
    ssl: protocol.endsWith('ssl') && { ca: authority ? [fs.readFileSync(authority)] : undefined },
    sasl: protocol.startsWith('sasl')
      ? {
          mechanism: env('KAFKA_SASL_MECHANISM', 'SCRAM-SHA-512').toLowerCase(),
          username: env('KAFKA_SASL_USERNAME'),
          password: env('KAFKA_SASL_PASSWORD'),
        }
      : undefined,
  };
}

// The latest event_ids, at most REMEMBERED. A Set keeps its elements in insertion order.
class Seen {
  #ids = new Set();

  // Returns false if the ID is already there.
  add(eventId) {
    if (this.#ids.has(eventId)) return false;
    this.#ids.add(eventId);
    if (this.#ids.size > REMEMBERED) this.#ids.delete(this.#ids.values().next().value);
    return true;
  }
}

function uuid(bytes) {
  const hex = Buffer.from(bytes).toString('hex');
  if (hex.length !== 32) throw new Error('event_id must have 16 bytes (a UUID)');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function makeDecoder() {
  const root = new protobuf.Root();
  root.resolvePath = (_, target) => path.join(PROTO, target);
  root.loadSync('waymark/v1/visit_event.proto', { keepCase: true });
  const VisitEvent = root.lookupType('waymark.v1.VisitEvent');
  // All fields of the .proto. Microseconds fit into the 53 bits of a double until the year 2255.
  return (value) => {
    const fields = VisitEvent.toObject(VisitEvent.decode(value), { defaults: true, longs: Number });
    return { ...fields, event_id: uuid(fields.event_id) };
  };
}

function makeTaker() {
  const decode = makeDecoder();
  const seen = new Seen();
  return (partition, message) => {
    // Skip records of other types, which later versions may add to the topic.
    if (String(message.headers?.ce_type) !== TYPE) return;
    let visit;
    try {
      visit = decode(message.value);
    } catch (error) {
      console.error(`not a visit: partition ${partition}, offset ${message.offset}: ${error.message}`);
      return;
    }
    // Synchronous, so that the line is written before its offset is committed.
    if (seen.add(visit.event_id)) fs.writeSync(1, `${JSON.stringify(visit)}\n`);
  };
}

async function main() {
  const kafka = new Kafka({
    clientId: 'example-node',
    brokers: env('KAFKA_BROKERS', '127.0.0.1:9092').split(','),
    logLevel: logLevel.ERROR,
    ...credentials(),
  });
  // kafkajs stops when its last fetch has ended, so no fetch may take longer than half a second.
  const consumer = kafka.consumer({ groupId: env('KAFKA_GROUP', 'subscriber-node'), maxWaitTimeInMs: 500 });
  const take = makeTaker();
  await consumer.connect();
  // A new group begins at the oldest visit that Kafka still has.
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
  // Finishes the current message and leaves the group.
  const stop = () => consumer.disconnect().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  // kafkajs commits the offset of a message after this function has returned for it.
  await consumer.run({ eachMessage: async ({ partition, message }) => take(partition, message) });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
