// Prints each visit on waymark.visits.v1 once, as one line of JSON. docs/integrations.md has the
// guarantees that it relies on.
//
//	KAFKA_BROKERS=127.0.0.1:9092 go run .
//
// It commits an offset only after it has printed the visit, so a crash loses no visit. It recognises
// repeated visits by their event_id.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	topic = "waymark.visits.v1"
	kind  = "waymark.visit.v1"
	// The number of latest visits among which a repeat is recognised. If you store visits in a table,
	// make event_id its key instead.
	remembered = 100_000
)

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func settings() ([]kgo.Opt, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(env("KAFKA_BROKERS", "127.0.0.1:9092"), ",")...),
		kgo.ConsumerGroup(env("KAFKA_GROUP", "subscriber-go")),
		kgo.ConsumeTopics(topic),
		// A new group begins at the oldest visit that Kafka still has.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// The client commits, every few seconds and at the end, only records that were marked.
		kgo.AutoCommitMarks(),
		// Without it, the client does not say that it cannot reach a broker.
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelWarn, nil)),
	}
	protocol := strings.ToLower(env("KAFKA_SECURITY_PROTOCOL", "plaintext"))
	if strings.HasSuffix(protocol, "ssl") {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if file := os.Getenv("KAFKA_SSL_CA_FILE"); file != "" {
			pem, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			config.RootCAs = x509.NewCertPool()
			if !config.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("%s has no certificate", file)
			}
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	if strings.HasPrefix(protocol, "sasl") {
		login := scram.Auth{User: os.Getenv("KAFKA_SASL_USERNAME"), Pass: os.Getenv("KAFKA_SASL_PASSWORD")}
		options = append(options, kgo.SASL(login.AsSha512Mechanism()))
	}
	return options, nil
}

// seen has the latest event_ids: a map, and a ring buffer of the same.
type seen struct {
	ids   map[string]bool
	order []string
	next  int
}

// add returns false if the ID is already there.
func (s *seen) add(id string) bool {
	if s.ids[id] {
		return false
	}
	s.ids[id] = true
	if len(s.order) < remembered {
		s.order = append(s.order, id)
		return true
	}
	delete(s.ids, s.order[s.next])
	s.order[s.next] = id
	s.next = (s.next + 1) % remembered
	return true
}

// readType reads the .proto file, so that no generated code is needed.
func readType() (protoreflect.MessageDescriptor, error) {
	folder := &protocompile.SourceResolver{ImportPaths: []string{env("WAYMARK_PROTO", "../../proto")}}
	compiler := protocompile.Compiler{Resolver: folder}
	files, err := compiler.Compile(context.Background(), "waymark/v1/visit_event.proto")
	if err != nil {
		return nil, err
	}
	return files[0].Messages().ByName("VisitEvent"), nil
}

// asMap has all fields of the .proto file.
func asMap(visit protoreflect.Message) map[string]any {
	fields := map[string]any{}
	all := visit.Descriptor().Fields()
	for i := 0; i < all.Len(); i++ {
		field := all.Get(i)
		value := visit.Get(field)
		if field.IsList() {
			texts := []string{}
			for j := 0; j < value.List().Len(); j++ {
				texts = append(texts, value.List().Get(j).String())
			}
			fields[string(field.Name())] = texts
		} else {
			fields[string(field.Name())] = value.Interface()
		}
	}
	return fields
}

func uuid(bytes []byte) string {
	h := hex.EncodeToString(bytes)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// decode returns the event_id and the line of JSON.
func decode(message protoreflect.MessageDescriptor, value []byte) (string, []byte, error) {
	visit := dynamicpb.NewMessage(message)
	if err := proto.Unmarshal(value, visit); err != nil {
		return "", nil, err
	}
	fields := asMap(visit)
	id, _ := fields["event_id"].([]byte)
	if len(id) != 16 {
		return "", nil, errors.New("event_id must have 16 bytes (a UUID)")
	}
	fields["event_id"] = uuid(id)
	line, err := json.Marshal(fields)
	return string(id), line, err
}

// isVisit skips records of other types, which later versions may add to the topic.
func isVisit(record *kgo.Record) bool {
	for _, header := range record.Headers {
		if header.Key == "ce_type" {
			return string(header.Value) == kind
		}
	}
	return false
}

func run(ctx context.Context) error {
	message, err := readType()
	if err != nil {
		return err
	}
	options, err := settings()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	// Commits what was printed, and leaves the group.
	defer client.Close()
	defer func() { _ = client.CommitMarkedOffsets(context.Background()) }()
	latest := seen{ids: map[string]bool{}}
	for ctx.Err() == nil {
		var gone error
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(_ string, _ int32, err error) {
			if errors.Is(err, kerr.UnknownTopicID) {
				gone = err
			} else if !errors.Is(err, context.Canceled) {
				log.Printf("kafka: %v", err) // the client recovers by itself
			}
		})
		if gone != nil {
			// The client would ask for the old topic for ever. This ends it without a commit, which would be of an
			// offset of the old topic: the visits before it on the new one would be skipped.
			log.Fatalf("%s was created anew; set the offsets of the group back, and start again: %v", topic, gone)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			if isVisit(record) {
				id, line, err := decode(message, record.Value)
				if err != nil {
					log.Printf("not a visit: partition %d, offset %d: %v", record.Partition, record.Offset, err)
				} else if latest.add(id) {
					fmt.Println(string(line))
				}
			}
			client.MarkCommitRecords(record)
		})
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}
