import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.waymark.v1.VisitEvent;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Prints each visit on waymark.visits.v1 once, as one line of JSON. docs/integrations.md has the
 * guarantees that it relies on.
 *
 * <pre>KAFKA_BROKERS=127.0.0.1:9092 mvn -q compile exec:java</pre>
 *
 * It commits an offset only after it has printed the visit, so a crash loses no visit. It recognises
 * repeated visits by their event_id.
 */
public final class Visits {
	private static final String TOPIC = "waymark.visits.v1";
	private static final String TYPE = "waymark.visit.v1";
	/** The latest visits among which a repeat is recognised. If you store visits in a table, make event_id its key. */
	private static final int REMEMBERED = 100_000;

	private final Gson gson = new GsonBuilder().disableHtmlEscaping().create();
	private final Set<UUID> seen = new LinkedHashSet<>();

	private static String env(String name, String otherwise) {
		String value = System.getenv(name);
		return value == null || value.isEmpty() ? otherwise : value;
	}

	private static Map<String, Object> settings() {
		Map<String, Object> chosen = new LinkedHashMap<>(Map.of(
				"bootstrap.servers", env("KAFKA_BROKERS", "127.0.0.1:9092"),
				"group.id", env("KAFKA_GROUP", "subscriber-java"),
				// A new group begins at the oldest visit that Kafka still has.
				"auto.offset.reset", "earliest",
				// poll commits, every few seconds, what the polls before have returned; close commits the rest.
				"enable.auto.commit", "true",
				"key.deserializer", ByteArrayDeserializer.class,
				"value.deserializer", ByteArrayDeserializer.class));
		String protocol = env("KAFKA_SECURITY_PROTOCOL", "plaintext").toUpperCase();
		chosen.put("security.protocol", protocol);
		if (protocol.startsWith("SASL")) {
			chosen.put("sasl.mechanism", env("KAFKA_SASL_MECHANISM", "SCRAM-SHA-512"));
			chosen.put("sasl.jaas.config", String.format(
					"org.apache.kafka.common.security.scram.ScramLoginModule required username=\"%s\" password=\"%s\";",
					env("KAFKA_SASL_USERNAME", ""), env("KAFKA_SASL_PASSWORD", "")));
		}
		if (System.getenv("KAFKA_SSL_CA_FILE") != null) {
			chosen.put("ssl.truststore.type", "PEM");
			chosen.put("ssl.truststore.location", System.getenv("KAFKA_SSL_CA_FILE"));
		}
		return chosen;
	}

	/** Returns false if the ID is already there. */
	private boolean remember(UUID id) {
		if (!seen.add(id))
			return false;
		if (seen.size() > REMEMBERED)
			seen.remove(seen.iterator().next());
		return true;
	}

	private static UUID uuid(VisitEvent visit) throws InvalidProtocolBufferException {
		if (visit.getEventId().size() != 16)
			throw new InvalidProtocolBufferException("event_id must have 16 bytes (a UUID)");
		ByteBuffer bytes = visit.getEventId().asReadOnlyByteBuffer();
		return new UUID(bytes.getLong(), bytes.getLong());
	}

	private void take(ConsumerRecord<byte[], byte[]> record) {
		// Skip records of other types, which later versions may add to the topic.
		var type = record.headers().lastHeader("ce_type");
		if (type == null || !TYPE.equals(new String(type.value(), StandardCharsets.UTF_8)))
			return;
		try {
			VisitEvent visit = VisitEvent.parseFrom(record.value() == null ? new byte[0] : record.value());
			Map<String, Object> fields = new LinkedHashMap<>();
			for (FieldDescriptor field : VisitEvent.getDescriptor().getFields())
				fields.put(field.getName(), visit.getField(field));
			UUID id = uuid(visit);
			fields.put("event_id", id);
			if (remember(id))
				System.out.println(gson.toJson(fields));
		} catch (InvalidProtocolBufferException error) {
			System.err.printf("not a visit: partition %d, offset %d: %s%n", record.partition(), record.offset(), error.getMessage());
		}
	}

	public static void main(String[] args) {
		Visits visits = new Visits();
		KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings());
		Thread main = Thread.currentThread();
		Runtime.getRuntime().addShutdownHook(new Thread(() -> {
			consumer.wakeup();
			try {
				main.join();
			} catch (InterruptedException error) {
				main.interrupt();
			}
			Runtime.getRuntime().halt(0);
		}));
		try (consumer) { // close commits and leaves the group
			consumer.subscribe(List.of(TOPIC));
			while (true)
				consumer.poll(Duration.ofSeconds(1)).forEach(visits::take);
		} catch (WakeupException end) {
			// The shutdown hook has asked for it.
		}
	}
}
