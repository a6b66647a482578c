package mcpserver

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"regexp"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
)

// Resources: what is installed and how it is, what this client has called, and what
// a tool that only reads returns. A further kind is a case in parseResource, in
// read, and a row in resources or templates.

const (
	uriConnectors = "drawbridge://connectors"
	uriAudit      = "drawbridge://audit"
	uriTools      = "drawbridge://tools/"
	uriScreenshot = "drawbridge://screenshots/"
	beforeQuery   = "?before="

	proxyResource = "drawbridge://proxy" // the one resource that mcp-go knows
	mimeJSON      = "application/json"
	auditPage     = 25      // calls in one reading of the audit log
	maxURI        = 2 << 10 // bytes
)

// A resourceKind is what a URI names.
type resourceKind string

const (
	kindConnectors resourceKind = "connectors"
	kindConnector  resourceKind = "connector"
	kindAudit      resourceKind = "audit"
	kindTool       resourceKind = "tool" // see parseToolCall
	kindScreenshot resourceKind = "screenshot"
)

var (
	connectorID = regexp.MustCompile(`^[a-z][a-z0-9]{0,20}$`)
	callID      = regexp.MustCompile(`^[A-Z2-7]{16}$`)
)

// parseResource reads a URI. Each thing has one URI, and nothing is decoded: an
// escape, a dot segment or a second parameter is another URI, which names nothing.
func parseResource(uri string) (kind resourceKind, arg string, ok bool) {
	switch uri {
	case uriConnectors:
		return kindConnectors, "", true
	case uriAudit:
		return kindAudit, "", true
	}
	if id, ok := strings.CutPrefix(uri, uriConnectors+"/"); ok && connectorID.MatchString(id) {
		return kindConnector, id, true
	}
	if id, ok := strings.CutPrefix(uri, uriAudit+beforeQuery); ok && callID.MatchString(id) {
		return kindAudit, id, true
	}
	if id, ok := strings.CutPrefix(uri, uriScreenshot); ok && callID.MatchString(id) {
		return kindScreenshot, id, true
	}
	if call, ok := strings.CutPrefix(uri, uriTools); ok {
		_, _, ok = parseToolCall(call)
		return kindTool, call, ok
	}
	return "", "", false
}

// resources lists what p can read, sorted by URI.
func (s *Server) resources(ctx context.Context, p host.Principal) []mcp.Resource {
	list := []mcp.Resource{
		mcp.NewResource(uriAudit, "audit", mcp.WithMIMEType(mimeJSON), mcp.WithResourceTitle("Your calls"),
			mcp.WithResourceDescription("The newest calls of this client, and how each ended.")),
		mcp.NewResource(uriConnectors, "connectors", mcp.WithMIMEType(mimeJSON), mcp.WithResourceTitle("Connectors"),
			mcp.WithResourceDescription("Which connectors are loaded, how each was when it was last used, and which plugins are not loaded and why.")),
	}
	connectors, _ := s.backend.Connectors(ctx, p)
	for _, c := range connectors {
		list = append(list, mcp.NewResource(uriConnectors+"/"+c.ID, "connector "+c.ID, mcp.WithMIMEType(mimeJSON), mcp.WithResourceTitle(cut(c.Title, maxTitle))))
	}
	return list
}

// templates lists the URIs with a part to fill in.
func (s *Server) templates(ctx context.Context, p host.Principal) []mcp.ResourceTemplate {
	return append([]mcp.ResourceTemplate{
		mcp.NewResourceTemplate(templateAudit, "older calls", mcp.WithTemplateMIMEType(mimeJSON),
			mcp.WithTemplateDescription("Calls of this client from before the one with that id.")),
		mcp.NewResourceTemplate(templateConnector, "connector", mcp.WithTemplateMIMEType(mimeJSON),
			mcp.WithTemplateDescription("One connector: where it works, its tools, and how it was when it was last used.")),
		mcp.NewResourceTemplate(templateScreenshot, "screenshot",
			mcp.WithTemplateDescription("The last picture that a call of this client took, for as long as it is kept.")),
	}, s.toolTemplates(ctx, p)...)
}

// Templates of our own.
const (
	templateAudit     = uriAudit + "{?before}"
	templateConnector = uriConnectors + "/{id}"

	templateScreenshot = uriScreenshot + "{call}"
)

// readResource is the handler of the one resource that mcp-go knows.
func (s *Server) readResource(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return nil, errors.New("BUG: read without its request")
	}
	if s.extend(ctx, r, nil) {
		return nil, nil
	}
	uri, ok := text(r.fields["uri"])
	if !ok || len(uri) > maxURI {
		return nil, r.fail(rpcErrorf(mcp.INVALID_PARAMS, "uri must be a string of at most %d bytes", maxURI))
	}
	switch kind, arg, _ := parseResource(uri); kind {
	case kindTool:
		return s.readTool(ctx, r, uri, arg)
	case kindScreenshot:
		img, err := s.backend.Screenshot(ctx, r.peer.who, arg)
		if err != nil {
			return nil, r.fail(r.notRead(ctx, uri, err))
		}
		return []mcp.ResourceContents{mcp.BlobResourceContents{URI: uri, MIMEType: img.MIME, Blob: base64.StdEncoding.EncodeToString(img.Data)}}, nil
	case kindConnectors, kindConnector, kindAudit:
	}
	v, err := s.read(ctx, r.peer.who, uri)
	if err != nil {
		return nil, r.fail(r.notRead(ctx, uri, err))
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mimeJSON, Text: string(marshal(v))}}, nil
}

// notRead words why a resource could not be read.
func (r *request) notRead(ctx context.Context, uri string, err error) *rpcError {
	if !errors.Is(err, abi.ErrNotFound) {
		r.peer.srv.log.ErrorContext(ctx, "resource", slog.String("uri", uri), slog.Any("error", err))
		return rpcErrorf(mcp.INTERNAL_ERROR, "internal error")
	}
	return r.noResource(uri)
}

// noResource is the error of a URI that names nothing. The eras have different codes
// for it.
func (r *request) noResource(uri string) *rpcError {
	code := mcp.RESOURCE_NOT_FOUND
	if r.modern() {
		code = mcp.INVALID_PARAMS
	}
	return &rpcError{code: code, msg: "resource not found", data: map[string]any{"uri": uri}}
}

// read returns what a URI names, as p may see it.
func (s *Server) read(ctx context.Context, p host.Principal, uri string) (any, error) {
	kind, arg, ok := parseResource(uri)
	if !ok {
		return nil, abi.Errorf(abi.ErrNotFound, "", "no resource %q", uri)
	}
	if kind == kindAudit {
		return s.readAudit(ctx, p, arg)
	}
	connectors, problems := s.backend.Connectors(ctx, p)
	if kind == kindConnectors {
		return map[string]any{"connectors": connectors, "not_loaded": problems}, nil
	}
	for _, c := range connectors {
		if c.ID == arg {
			return c, nil
		}
	}
	return nil, abi.Errorf(abi.ErrNotFound, "", "no connector %q", arg)
}

// An auditReading is one page of a client's own calls.
type auditReading struct {
	Calls []host.AuditCall `json:"calls"`
	Next  string           `json:"next,omitempty"` // the URI of the page after it
}

func (s *Server) readAudit(ctx context.Context, p host.Principal, before string) (any, error) {
	calls, err := s.backend.Audit(ctx, p, before, auditPage+1)
	if err != nil {
		return nil, err
	}
	out := auditReading{Calls: calls}
	if len(calls) > auditPage {
		out.Calls = calls[:auditPage]
		out.Next = uriAudit + beforeQuery + out.Calls[auditPage-1].ID
	}
	return out, nil
}
