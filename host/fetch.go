package host

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/guard"
)

// Fetch serves the host call fetch: one request in the page's own origin, with
// its cookies. The page's guard judges it like every other request of the tab.
func (g *grantedPage) Fetch(ctx context.Context, request []byte) ([]byte, error) {
	if err := g.may(abi.CapFetch); err != nil {
		return nil, err
	}
	ans, err := g.fetch(ctx, request)
	if err != nil {
		ans = &abi.FetchAnswer{Error: Safe(err).Data()}
	}
	out, err := json.Marshal(ans)
	if err == nil && len(out) > abi.MaxAnswer {
		e := abi.Errorf(abi.ErrLimitExceeded, "fetch", "%d bytes are more than %d", len(out), abi.MaxAnswer)
		return json.Marshal(&abi.FetchAnswer{Error: e.Data()})
	}
	return out, err
}

func (g *grantedPage) fetch(ctx context.Context, request []byte) (*abi.FetchAnswer, error) {
	var req abi.FetchRequest
	if err := strictjson.Decode(request, &req, strictjson.MaxBytes(abi.MaxBody+abi.MaxProgram), strictjson.AnyText()); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "fetch", "%w", err)
	}
	if req.V != abi.Version {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "fetch", "version %d is not %d", req.V, abi.Version)
	}
	u, err := g.site.url(req.Path)
	if err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "fetch", "path %q: %w", req.Path, err)
	}
	f := browser.Fetch{Method: strings.ToUpper(req.Method), URL: u.String(), Accept: req.Accept}
	if f.Method == "" {
		f.Method = "GET"
	}
	if err := g.body(ctx, req.Body, &f); err != nil {
		return nil, err
	}
	_ = g.page.Refused() // what was refused before is not this request's
	err = g.guard.CheckFetch(guard.Observed{Method: f.Method, URL: f.URL, ContentType: f.ContentType, Body: f.Body})
	if err != nil {
		return nil, err
	}
	res, err := g.page.Fetch(ctx, f)
	if err != nil {
		return nil, g.refusedFetch(err, f.URL)
	}
	return g.parse(ctx, &req, res)
}

// refusedFetch prefers the guard's reason to the browser's "failed to fetch".
func (g *grantedPage) refusedFetch(err error, target string) error {
	for _, r := range g.page.Refused() {
		if r.URL == target {
			return r.Err
		}
	}
	return err
}

// body encodes the fields that a module gave, with form tokens read from the page.
func (g *grantedPage) body(ctx context.Context, b *abi.FetchBody, f *browser.Fetch) error {
	if b == nil {
		return nil
	}
	fields, err := g.tokens(ctx, b.Fields)
	if err != nil {
		return err
	}
	switch b.Encoding {
	case abi.EncodingNone:
		return nil
	case abi.EncodingURLEncoded:
		f.ContentType, f.Body = "application/x-www-form-urlencoded", urlEncode(fields)
		return nil
	case abi.EncodingMultipart:
		f.ContentType, f.Body, err = multipartEncode(fields)
		return err
	case abi.EncodingJSON:
		f.ContentType, f.Body = "application/json", b.JSON
		return nil
	}
	return abi.Errorf(abi.ErrInvalidArgs, "fetch", "encoding %q is unknown", b.Encoding)
}

// tokens fills in the form tokens that fields ask for, read from the page in one
// message, so that a module need not carry them. It could read them all the same,
// as it could any other hidden field.
func (g *grantedPage) tokens(ctx context.Context, fields []abi.Field) ([]abi.Field, error) {
	fields = slices.Clone(fields)
	var selectors []string
	for _, f := range fields {
		if f.Token != "" {
			selectors = append(selectors, f.Token)
		}
	}
	if len(selectors) == 0 {
		return fields, nil
	}
	values, err := g.page.Values(ctx, selectors)
	if err != nil {
		return nil, err
	}
	for i := range fields {
		if fields[i].Token != "" {
			fields[i].Value, values = values[0], values[1:]
		}
	}
	return fields, nil
}

// urlEncode keeps the fields' order, as a form does.
func urlEncode(fields []abi.Field) []byte {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = url.QueryEscape(f.Name) + "=" + url.QueryEscape(f.Value)
	}
	return []byte(strings.Join(parts, "&"))
}

func multipartEncode(fields []abi.Field) (contentType string, body []byte, err error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, f := range fields {
		if err := w.WriteField(f.Name, f.Value); err != nil {
			return "", nil, err
		}
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	return w.FormDataContentType(), buf.Bytes(), nil
}

// parse makes of a response what the module asked for.
func (g *grantedPage) parse(ctx context.Context, req *abi.FetchRequest, res browser.Response) (*abi.FetchAnswer, error) {
	ans := &abi.FetchAnswer{OK: true, Status: res.Status, URL: res.URL, ContentType: res.ContentType}
	switch req.Parse {
	case abi.ParseText, "":
		ans.Text = string(res.Body)
	case abi.ParseJSON:
		body := strictjson.ReplaceLoneSurrogates(res.Body)
		if err := strictjson.Check(body, strictjson.AnyText(), strictjson.AnyKeys()); err != nil {
			return nil, abi.Errorf(abi.ErrSelectorDrift, "fetch", "%q answered %d with something that is not JSON: %w", res.URL, res.Status, err)
		}
		ans.JSON = body
	case abi.ParseHTML:
		if req.Schema == nil {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "fetch", `"schema" is missing`)
		}
		got, err := g.page.ExtractHTML(ctx, string(res.Body), res.URL, *req.Schema)
		if err != nil {
			return nil, err
		}
		ans.Table = got.Table
	default:
		return nil, abi.Errorf(abi.ErrInvalidArgs, "fetch", "parse %q is unknown", req.Parse)
	}
	return ans, nil
}
