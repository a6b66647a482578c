// Package clients keeps the registrations of MCP clients: who may talk to the
// daemon, and under which name.
//
// A client is known by a token of 256 random bits, which is shown once and
// stored as a hash. Its [gate.Principal] decides policy, approvals, tabs and
// audit; what a client calls itself decides nothing. The file is the only
// state: a token that one process revoked is refused by every other at its next
// use.
//
// A registration also says whether a person trusts the client to ask for
// confirmations itself. That trust hangs on the token, and comes with a new one.
//
// Start with [Store] in clients.go; file.go is the format.
package clients
