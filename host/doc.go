// Package host carries one call from its caller to the page and back. It loads
// installed connectors, checks arguments and results against their signed
// definitions, asks the gate, gives the module a page that can do what the
// tool was granted and nothing else, and writes the audit log.
//
// It speaks no protocol: host/mcpserver and host/control translate to and from
// it. It trusts nothing that a module or a page says.
//
// Read call.go first: its list of stages is the order of a call. Then page.go
// (what a module's host calls may do) and connector.go (what a release becomes
// when it is loaded).
package host
