// Package control is how the command line talks to the daemon: methods with
// JSON parameters over HTTP on a unix socket of mode 0600, each answered by a
// stream of events, one JSON object a line. It also carries MCP: a client that
// was spawned over stdio is joined to the daemon by a byte stream over the same
// socket.
//
// Whoever can open the socket is the same user, which an agent's shell is too.
// So nothing here trusts the caller for being there: what a person has to decide
// is a Question that needs a terminal, a retyped code, and a caller that does
// not descend from a connected MCP client.
//
// Read protocol.go first, then methods.go, the one table of methods.
package control
