//go:build tools

// The program of another module that is built with the versions of this one.
package programs

import _ "sigs.k8s.io/metrics-server/cmd/metrics-server"
