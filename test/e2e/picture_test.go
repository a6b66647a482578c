package e2e

import (
	"bytes"
	"encoding/json"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
	"github.com/drawbridge-mcp/drawbridge/test/mcpfixture"
)

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// mcpClient is somebody else's client of a world's tools, over HTTP.
func mcpClient(w *harness.World, token string) *mcp.ClientSession {
	w.T.Helper()
	url, stop, err := mcpfixture.ServeHTTP(w.T.Context(), mcpserver.New(w.Host, mcpserver.Options{}), false)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(stop)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).
		Connect(w.T.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1}, nil)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = c.Close() })
	return c
}

// TestPictureOfAnIssue calls the bundled tool that shows a page, as a client does:
// the picture is content beside the result, and stays to be read for a while by
// whoever called, and by nobody else.
func TestPictureOfAnIssue(t *testing.T) {
	w := tracker(t)
	c := mcpClient(w, mcpfixture.TokenAlice)
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "tracker_picture", Arguments: map[string]any{"id": 12}})
	if err != nil || res.IsError || len(res.Content) != 2 {
		t.Fatalf("%v: %+v", err, res)
	}
	shot, ok := res.Content[1].(*mcp.ImageContent)
	if !ok || len(shot.Data) > abi.MaxImage {
		t.Fatalf("the second content is %T", res.Content[1])
	}
	if img, err := png.Decode(bytes.NewReader(shot.Data)); err != nil || img.Bounds().Dx() < 300 || shot.MIMEType != "image/png" {
		t.Errorf("%s: %v", shot.MIMEType, err)
	}
	var out struct {
		ID            int
		Picture, Text string
		Truncated     bool
		URL           string
	}
	told, err := json.Marshal(res.StructuredContent)
	if err != nil || json.Unmarshal(told, &out) != nil {
		t.Fatal(err)
	}
	title := ""
	for _, is := range w.Site.Truth().Issues {
		if is.ID == 12 {
			title = collapsed(is.Title)
		}
	}
	if out.ID != 12 || out.Picture != shot.Meta[mcpserver.MetaImage] || !strings.Contains(out.Text, title) || out.Truncated || !strings.HasSuffix(out.URL, "/issues/12") {
		t.Errorf("the result is %s", told)
	}
	call, _ := res.Meta[mcpserver.MetaAudit].(string)
	uri := "drawbridge://screenshots/" + call
	kept, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(kept.Contents) != 1 || !bytes.Equal(kept.Contents[0].Blob, shot.Data) {
		t.Errorf("%s: %v", uri, err)
	}
	if kept, err := mcpClient(w, "bob-token").ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
		t.Errorf("another client reads %d pictures", len(kept.Contents))
	}
	res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "tracker_picture", Arguments: map[string]any{"id": 9001}})
	if err != nil || !res.IsError || len(res.Content) != 1 || res.Meta[mcpserver.MetaCode] != string(abi.ErrNotFound) {
		t.Errorf("%v: %+v", err, res)
	}
}
