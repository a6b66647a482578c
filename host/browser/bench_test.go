package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/browser/browsertest"
)

// issueList is a list as trackers show it: n rows of 12 fields.
func issueList(n int) string {
	var b strings.Builder
	b.WriteString("<title>Issues</title><table id=list><tbody>")
	for i := range n {
		fmt.Fprintf(&b, `<tr class=t><td class=sel><input value=%[1]d></td><td class=prio><img alt=high></td><td class=id><a>#%[1]d</a></td>`+
			`<td class=notes><a>%[1]d</a></td><td class=att>2</td><td class=cat>Network</td><td class=sev>major</td><td class=st><span>assigned</span></td>`+
			`<td class=upd><time datetime=2026-11-30>Nov 30</time></td><td class=sum><a href="/t/%[1]d">Printer %[1]d on the third floor is out of paper</a></td>`+
			`<td class=rep>Ada L.</td></tr>`, i)
	}
	return b.String() + "</table>"
}

func issueSchema() abi.Extraction {
	return abi.Extraction{Rows: "tr.t", Cols: []abi.Col{
		{Name: "select", Selector: ".sel input", Kind: abi.KindValue},
		{Name: "priority", Selector: ".prio img", Kind: abi.KindAttr, Attr: "alt"},
		{Name: "id", Selector: ".id a", Type: abi.TypeInt},
		{Name: "notes", Selector: ".notes a", Type: abi.TypeInt},
		{Name: "attachments", Selector: ".att"},
		{Name: "category", Selector: ".cat"},
		{Name: "severity", Selector: ".sev"},
		{Name: "status", Selector: ".st span"},
		{Name: "updated", Selector: ".upd time", Kind: abi.KindAttr, Attr: "datetime"},
		{Name: "url", Selector: ".sum a", Kind: abi.KindURL},
		{Name: "summary", Selector: ".sum a"},
		{Name: "reporter", Selector: ".rep"},
	}}
}

// BenchmarkExtract compares Extract with the same message sent bare.
func BenchmarkExtract(b *testing.B) {
	site := browsertest.NewSite(b)
	for _, n := range []int{50, 1000} {
		site.HTML("/list", issueList(n))
		p, err := shared(b).Open(b.Context(), browser.Policy{Check: func(browser.Request) error { return nil }})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Navigate(b.Context(), browser.Navigation{URL: site.URL("app", "/list")}); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("rows=%d/raw", n), func(b *testing.B) {
			for b.Loop() {
				if size, err := p.RawExtract(b.Context(), issueSchema()); err != nil || size == 0 {
					b.Fatal(size, err)
				}
			}
		})
		b.Run(fmt.Sprintf("rows=%d/extract", n), func(b *testing.B) {
			for b.Loop() {
				x, err := p.Extract(b.Context(), issueSchema())
				if err != nil || x.Rows != n {
					b.Fatal(x.Rows, err)
				}
				b.ReportMetric(float64(len(x.Table)), "table-bytes")
			}
		})
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
