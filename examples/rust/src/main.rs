//! Prints each visit on waymark.visits.v1 once, as one line of JSON. docs/integrations.md has the
//! guarantees that it relies on.
//!
//!     KAFKA_BROKERS=127.0.0.1:9092 cargo run
//!
//! It commits an offset only after it has printed the visit, so a crash loses no visit. It
//! recognises repeated visits by their event_id.

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use serde_json::{value::Serializer, Value};
use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::io::Write;
use std::sync::{atomic::AtomicBool, atomic::Ordering, Arc};
use std::time::Duration;

const TOPIC: &str = "waymark.visits.v1";
const TYPE: &[u8] = b"waymark.visit.v1";
/// The number of latest visits among which a repeat is recognised. If you store visits in a table,
/// make event_id its key instead.
const REMEMBERED: usize = 100_000;

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn settings() -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", env("KAFKA_BROKERS").unwrap_or("127.0.0.1:9092".into()))
        .set("group.id", env("KAFKA_GROUP").unwrap_or("subscriber-rust".into()))
        // A new group begins at the oldest visit that Kafka still has.
        .set("auto.offset.reset", "earliest")
        // The client commits, every few seconds, only the offsets passed to store_offset.
        .set("enable.auto.offset.store", "false");
    for (name, variable) in [
        ("security.protocol", "KAFKA_SECURITY_PROTOCOL"),
        ("sasl.mechanism", "KAFKA_SASL_MECHANISM"),
        ("sasl.username", "KAFKA_SASL_USERNAME"),
        ("sasl.password", "KAFKA_SASL_PASSWORD"),
        ("ssl.ca.location", "KAFKA_SSL_CA_FILE"),
    ] {
        if let Some(value) = env(variable) {
            config.set(name, value);
        }
    }
    config
}

/// The latest event_ids, at most REMEMBERED.
#[derive(Default)]
struct Seen {
    ids: HashSet<Vec<u8>>,
    order: VecDeque<Vec<u8>>,
}

impl Seen {
    /// Returns false if the ID is already there.
    fn add(&mut self, id: &[u8]) -> bool {
        if !self.ids.insert(id.to_vec()) {
            return false;
        }
        self.order.push_back(id.to_vec());
        if self.order.len() > REMEMBERED {
            self.ids.remove(&self.order.pop_front().unwrap());
        }
        true
    }
}

/// Reads the .proto file, so that no generated code is needed.
fn read_type() -> Result<MessageDescriptor, Box<dyn Error>> {
    let folder = env("WAYMARK_PROTO").unwrap_or("../../proto".into());
    let files = protox::compile(["waymark/v1/visit_event.proto"], [folder])?;
    let pool = DescriptorPool::from_file_descriptor_set(files)?;
    Ok(pool.get_message_by_name("waymark.v1.VisitEvent").ok_or("no VisitEvent")?)
}

fn uuid(id: &[u8]) -> String {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Returns the event_id and the line of JSON, with all fields of the .proto file.
fn decode(kind: &MessageDescriptor, value: &[u8]) -> Result<(Vec<u8>, Value), Box<dyn Error>> {
    let visit = DynamicMessage::decode(kind.clone(), value)?;
    let id = visit.get_field_by_name("event_id").and_then(|id| id.as_bytes().map(|id| id.to_vec()));
    let id = id.filter(|id| id.len() == 16).ok_or("event_id must have 16 bytes (a UUID)")?;
    let options = SerializeOptions::new()
        .skip_default_fields(false)
        .stringify_64_bit_integers(false)
        .use_proto_field_name(true);
    let mut fields = visit.serialize_with_options(Serializer, &options)?;
    fields["event_id"] = uuid(&id).into();
    Ok((id, fields))
}

/// Later versions may add records of other types to the topic; skip them.
fn is_visit(record: &BorrowedMessage) -> bool {
    record.headers().is_some_and(|all| {
        all.iter().any(|header| header.key == "ce_type" && header.value == Some(TYPE))
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let stopping = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, stopping.clone())?;
    }
    let kind = read_type()?;
    let consumer: BaseConsumer = settings().create()?; // its end commits and leaves the group
    consumer.subscribe(&[TOPIC])?;
    let mut seen = Seen::default();
    let mut output = std::io::stdout();
    while !stopping.load(Ordering::Relaxed) {
        match consumer.poll(Duration::from_millis(200)) {
            None => continue,
            Some(Err(error)) => eprintln!("kafka: {error}"), // the client recovers by itself
            Some(Ok(record)) => {
                if is_visit(&record) {
                    match decode(&kind, record.payload().unwrap_or_default()) {
                        Ok((id, line)) if seen.add(&id) => writeln!(output, "{line}")?,
                        Ok(_) => (),
                        Err(error) => eprintln!(
                            "not a visit: partition {}, offset {}: {error}",
                            record.partition(),
                            record.offset()
                        ),
                    }
                }
                consumer.store_offset_from_message(&record)?;
            }
        }
    }
    Ok(())
}
