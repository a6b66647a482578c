package mcpserver

import (
	"bytes"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/host"
)

// checkHeaders compares a message of the new era with the headers that repeat
// parts of it: something on the way may have decided by them.
func (s *Server) checkHeaders(r *http.Request, who host.Principal, m *message) *rpcError {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	switch {
	case version == "":
		return rpcErrorf(mcp.HEADER_MISMATCH, "%s header is missing", mcp.HeaderProtocolVersion)
	case m.version == "":
		return rpcErrorf(mcp.INVALID_PARAMS, "_meta field %s is missing", mcp.MetaKeyProtocolVersion)
	case version != m.version:
		return rpcErrorf(mcp.HEADER_MISMATCH, "%s header differs from the message", mcp.HeaderProtocolVersion)
	case !mcp.IsValidProtocolVersion(m.version):
		return unsupported(m.version)
	}
	for _, name := range []string{mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName} {
		if len(r.Header.Values(name)) > 1 {
			return rpcErrorf(mcp.HEADER_MISMATCH, "%s header occurs twice", name)
		}
	}
	if err := mcp.ValidateStandardHeaders(r.Header.Get, version, mcp.MCPMethod(m.method), m.params); err != nil {
		return rpcErrorf(mcp.HEADER_MISMATCH, "%s or %s header is missing or differs from the message", mcp.HeaderMethod, mcp.HeaderName)
	}
	if m.method != string(mcp.MethodToolsCall) {
		return nil
	}
	return s.checkParamHeaders(r, who, m)
}

// checkParamHeaders compares the headers that a tool's schema asks for.
func (s *Server) checkParamHeaders(r *http.Request, who host.Principal, m *message) *rpcError {
	name, _ := text(m.fields["name"])
	def, ok := s.find(r.Context(), who, name)
	if !ok || !bytes.ContainsAny(def.Input, `\`) && !bytes.Contains(def.Input, []byte("x-mcp-header")) {
		return nil // the usual case, told without decoding the schema
	}
	lookup := func(name string) (string, bool) {
		if v := r.Header.Values(name); len(v) > 0 {
			return v[0], true
		}
		return "", false
	}
	tool := &mcp.Tool{RawInputSchema: def.Input}
	if err := mcp.ValidateParamHeadersLookup(lookup, tool, m.params); err != nil {
		return rpcErrorf(mcp.HEADER_MISMATCH, "a %s header is missing or differs from the arguments", mcp.HeaderParamPrefix+"*")
	}
	return nil
}
