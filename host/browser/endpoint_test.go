package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
)

func FuzzReadEndpoint(f *testing.F) {
	f.Add("9222\n/devtools/browser/0f0f0f0f-0000-4000-8000-ABCDEF012345")
	f.Add("0\n\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := readEndpoint(strings.NewReader(text))
		if err != nil {
			return
		}
		if again, err := ParseEndpoint(e.URL()); err != nil || again != e {
			t.Errorf("%q became %+v, which is %+v, %v", text, e, again, err)
		}
	})
}

func TestIsDownload(t *testing.T) {
	for header, want := range map[string]bool{
		"":                                   false,
		"Content-Type: text/html; charset=x": false, "Content-Type: application/json": false, "Content-Type: image/svg+xml": false,
		"Content-Type: application/xhtml+xml": false, "Content-Type: application/problem+json": false,
		"Content-Type: application/octet-stream": true, "content-type: application/zip": true, "Content-Type: application/pdf": true,
		"Content-Type: application/vnd.ms-excel": true,
		"Content-Disposition: inline":            false, "Content-Disposition: inline; filename=a": false,
		"Content-Disposition: attachment": true, "CONTENT-DISPOSITION: ATTACHMENT; filename=a": true, "Content-Disposition: ;": true,
	} {
		var h []*fetch.HeaderEntry
		if name, value, ok := strings.Cut(header, ": "); ok {
			h = append(h, &fetch.HeaderEntry{Name: name, Value: value})
		}
		if got := isDownload(h); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
