module waymark/examples/go

go 1.22

require (
	github.com/bufbuild/protocompile v0.14.1
	github.com/twmb/franz-go v1.18.1
	google.golang.org/protobuf v1.36.6
)

require (
	github.com/klauspost/compress v1.17.11 // indirect
	github.com/pierrec/lz4/v4 v4.1.22 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.9.0 // indirect
	golang.org/x/crypto v0.32.0 // indirect
	golang.org/x/sync v0.8.0 // indirect
)
