// Package mcpserver speaks MCP to clients: tools/list and tools/call, over stdio
// and over streamable HTTP, in both eras of the protocol (sessions that begin with
// initialize, up to revision 2025-11-25, and the stateless revision 2026-07-28).
//
// It translates and decides nothing: which tools a client sees and whether a call
// may run is the Backend's business. What it does guard is the door. A message is
// limited in size and read strictly before anything acts on it; an HTTP request is
// refused for a wrong Host, an Origin that is not listed, or a missing token
// before its body is read; and every request belongs to the one principal that the
// transport named, so that no client sees, steers or cancels another one's calls.
//
// The protocol's words (versions, discovery, capabilities, the shape of results)
// come from mcp-go, which never sees a connector's definition or a call's
// arguments: RATIONALE.md says why the rest is ours.
//
// Follow a call through the files: stdio.go or http.go receives it, message.go
// reads it, peer.go runs it, tools.go finds the tool and calls the backend,
// result.go words the answer, or paging.go its first page. ask.go puts a confirmation to the client itself,
// where the gate lets it.
package mcpserver
