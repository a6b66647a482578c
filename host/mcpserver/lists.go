package mcpserver

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// pageSize is how many resources or prompts one answer lists.
const pageSize = 100

// lists are what a request's answer lists, made before mcp-go is asked; it words
// the answer and knows none of them.
type lists struct {
	tools     []mcp.Tool
	resources []mcp.Resource
	templates []mcp.ResourceTemplate
	prompts   []mcp.Prompt
	next      string // cursor of the page after this
}

// prepare makes the list that r asks for.
func (r *request) prepare(ctx context.Context) (err *rpcError) {
	s, who := r.peer.srv, r.peer.who
	switch mcp.MCPMethod(r.method) {
	case mcp.MethodToolsList:
		if _, ok := r.fields["cursor"]; ok { // it has no pages: clients that call by name need all of it
			return rpcErrorf(mcp.INVALID_PARAMS, "unknown cursor")
		}
		r.lists.tools = s.listed(ctx, who)
	case mcp.MethodResourcesList:
		r.lists.resources, r.lists.next, err = page(r, s.resources(ctx, who), func(v mcp.Resource) string { return v.URI })
	case mcp.MethodPromptsList:
		r.lists.prompts, r.lists.next, err = page(r, s.prompts(ctx, who), func(v mcp.Prompt) string { return v.Name })
	case mcp.MethodResourcesTemplatesList:
		r.lists.templates, r.lists.next, err = page(r, s.templates(ctx, who), func(v mcp.ResourceTemplate) string { return v.URITemplate.Raw() })
	}
	return err
}

// hooks put a request's lists in the place of what mcp-go knows.
func hooks() *server.Hooks {
	h := &server.Hooks{}
	h.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, res *mcp.ListResourcesResult) {
		l := listsOf(ctx)
		res.Resources, res.NextCursor = l.resources, mcp.Cursor(l.next)
	})
	h.AddAfterListResourceTemplates(func(ctx context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, res *mcp.ListResourceTemplatesResult) {
		l := listsOf(ctx)
		res.ResourceTemplates, res.NextCursor = l.templates, mcp.Cursor(l.next)
	})
	h.AddAfterListPrompts(func(ctx context.Context, _ any, _ *mcp.ListPromptsRequest, res *mcp.ListPromptsResult) {
		l := listsOf(ctx)
		res.Prompts, res.NextCursor = l.prompts, mcp.Cursor(l.next)
	})
	return h
}

func listsOf(ctx context.Context) lists {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		panic("BUG: list without its request")
	}
	return r.lists
}

// page sorts items by their keys and returns those that stand after the request's
// cursor, and the cursor for the rest. A cursor names the last key that was seen, so
// that what is added or removed meanwhile neither repeats nor hides another item.
func page[T any](r *request, items []T, key func(T) string) (part []T, next string, err *rpcError) {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	if raw, ok := r.fields["cursor"]; ok {
		given, _ := text(raw)
		last, ok := openCursor(r.method, given)
		if !ok {
			return nil, "", rpcErrorf(mcp.INVALID_PARAMS, "unknown cursor")
		}
		items = slices.DeleteFunc(items, func(v T) bool { return key(v) <= last })
	}
	if len(items) > pageSize {
		items = items[:pageSize:pageSize]
		next = cursor(r.method, key(items[pageSize-1]))
	}
	return append([]T{}, items...), next, nil
}

// cursor is opaque to clients, and of one list alone.
func cursor(method, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(method + "\n" + key))
}

func openCursor(method, c string) (key string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(c)
	if err != nil || len(c) > maxURI*2 {
		return "", false
	}
	key, ok = strings.CutPrefix(string(raw), method+"\n")
	return key, ok && cursor(method, key) == c
}
