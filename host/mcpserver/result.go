package mcpserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host"
)

const maxErrorText = 4_000 // characters of an error's message or hint

// result words what a call ended with: the same facts as structuredContent and as
// text, since some clients show the model one and some the other; or an error,
// as text alone, because structuredContent has to fit the tool's output schema. A
// result that can't be parted comes whole, and its text is cut after limit characters.
func (s *Server) result(ctx context.Context, res host.CallResult, limit int) *mcp.CallToolResult {
	if res.Err != nil {
		return failure(res.Err, res.AuditID)
	}
	structured, ok := compactObject(res.Structured)
	if !ok {
		s.log.ErrorContext(ctx, "result that is not a JSON object", slog.String("audit", res.AuditID))
		return failure(abi.Errorf(abi.ErrInternal, "", "internal error"), res.AuditID)
	}
	meta := originMeta(res.Origin)
	shown, of := clip(columns(structured), limit)
	if of > 0 {
		meta[MetaTruncated] = map[string]int{"shown": limit, "of": of}
		shown += fmt.Sprintf("\n[truncated: the first %d of %d characters; ask for less, or read structuredContent]", limit, of)
	}
	return worded(structured, shown, res.Images, resultMeta(meta, res.AuditID))
}

func originMeta(origin string) map[string]any {
	meta := map[string]any{}
	if origin != "" {
		meta[MetaOrigin] = origin
	}
	return meta
}

// worded puts a result together.
func worded(structured json.RawMessage, shown string, images []host.Image, meta *mcp.Meta) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Result:               mcp.Result{Meta: meta},
		Content:              append([]mcp.Content{mcp.NewTextContent(shown)}, pictures(images)...),
		RawStructuredContent: structured,
	}
}

// compactObject returns a JSON object without white space between its parts; most
// have none, and come back as they are. ok is false for what is no object.
func compactObject(raw json.RawMessage) (compact json.RawMessage, ok bool) {
	err := strictjson.Check(raw, strictjson.MaxBytes(max(len(raw), 1)), strictjson.AnyText(), strictjson.AnyKeys())
	if err != nil || !isObject(raw) {
		return nil, false
	}
	if !spaced(raw) {
		return raw, true
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil, false
	}
	return b.Bytes(), true
}

// spaced reports whether white space stands outside the strings of a JSON text.
func spaced(raw []byte) bool {
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && c <= ' ':
			return true
		}
	}
	return false
}

// pictures are the images that a result names by their handles. Their bytes stand
// here alone, once: structuredContent has no more than the handles.
func pictures(images []host.Image) []mcp.Content {
	list := make([]mcp.Content, 0, len(images))
	for _, img := range images {
		c := mcp.NewImageContent(base64.StdEncoding.EncodeToString(img.Data), img.MIME)
		c.Meta = &mcp.Meta{AdditionalFields: map[string]any{MetaImage: string(img.Handle)}}
		list = append(list, c)
	}
	return list
}

// failure words a failed call for the model: code, message, and what to do next.
func failure(e *abi.Error, audit string) *mcp.CallToolResult {
	msg, _ := clip(e.Error(), maxErrorText)
	if e.Code == abi.ErrInternal {
		msg = "internal error"
		if audit != "" {
			msg += " (audit " + audit + ")"
		}
	}
	hint := e.Hint
	if hint == "" || e.Code == abi.ErrInternal {
		hint = usualHint(e.Code)
	}
	meta := map[string]any{MetaCode: string(e.Code)}
	if e.Reason != "" {
		meta[MetaReason] = string(e.Reason)
	}
	return &mcp.CallToolResult{
		Result:  mcp.Result{Meta: resultMeta(meta, audit)},
		Content: []mcp.Content{mcp.NewTextContent(spelled(e.Code, msg, hint))},
		IsError: true,
	}
}

// spelled is an error's text: its code, what is wrong, and what to do next.
func spelled(code abi.Code, msg, hint string) string {
	hint, _ = clip(hint, maxErrorText)
	return string(code) + ": " + msg + "\nhint: " + hint
}

// resultMeta is a result's _meta, or nil if there is nothing to say.
func resultMeta(fields map[string]any, audit string) *mcp.Meta {
	if audit != "" {
		fields[MetaAudit] = audit
	}
	if len(fields) == 0 {
		return nil
	}
	return &mcp.Meta{AdditionalFields: fields}
}

// clip returns at most n characters of s, and how many s has if that is more.
func clip(s string, n int) (shown string, of int) {
	if len(s) <= n {
		return s, 0
	}
	if of = utf8.RuneCountInString(s); of <= n {
		return s, 0
	}
	return cut(s, n), of
}
