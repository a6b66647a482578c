// Package conformance runs the protocol's own test suite, in two releases of it,
// against host/mcpserver over HTTP (make conformance). The numbers that it has to
// reach stand in the test, and what is not scored is printed.
package conformance
