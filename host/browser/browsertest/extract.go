package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// hostile overwrites what a careless reader would call.
const hostile = `<script>
for (const o of [Element.prototype, Document.prototype, Node.prototype, Array.prototype, String.prototype, JSON, Object, Promise.prototype, Map.prototype])
	for (const k of Object.getOwnPropertyNames(o)) try { if (k !== "constructor") o[k] = () => { throw new Error("hostile") } } catch {}
window.fetch = window.setTimeout = window.MutationObserver = () => { throw new Error("hostile") };
</script>`

const tickets = `<title>Tickets</title><body>
<form id=f><input name=children value=c><input name=querySelectorAll><input name=textContent><input name=getAttribute>
<table id=list><tbody>
<tr class=t><td class=id>#12</td><td class=s><a href="/t/12?a=b">  Über
 die   Brücke</a></td><td class=n> 1.50 </td><td class=tag><i>a</i><i>b</i></td><td><input class=v value=x><input type=checkbox class=c></td></tr>
<tr class=t><td class=id>id 007</td><td class=s><a href="/t/7">&lt;b&gt; "q" \ 田中 &#x1F469;&#x200D;&#x1F4BB;</a></td><td class=n>-3e2</td><td class=tag></td><td><input class=v value=""><b class=star></b></td></tr>
</tbody></table></form>
<div id=p>one<br>two<p>three</p></div><div id=own>own<b>not</b> text</div><input id=pw type=password value=secret>
<p id=none></p><a rel=next href="?page=2">next</a>
<iframe id=fr srcdoc="<table><tr class=r><td>in frame</td></tr></table>"></iframe>
<div id=host></div><script>host.attachShadow({mode:"open"}).innerHTML="<ul><li>in shadow</li></ul>"</script>
<div id=closed></div><script>closed.attachShadow({mode:"closed"}).innerHTML="<ul><li>x</li></ul>"</script>
<section class=outer><h2>A</h2><p class=c>1</p><p class=c>2</p></section><section class=outer><h2>B</h2></section>
`

func testExtract(t *testing.T, s Subject) {
	site := NewSite(t)
	site.HTML("/tickets", tickets+hostile)
	site.HTML("/big", bigTable(1000))
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/tickets"))
	for _, c := range extractCases(site) {
		t.Run(c.name, func(t *testing.T) {
			x, err := p.Extract(deadline(t), c.e)
			if c.code != "" {
				e := errorOf(t, err, c.code)
				for _, word := range c.says {
					if !strings.Contains(e.Msg, word) {
						t.Errorf("error %q does not name %q", e.Msg, word)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var table abi.Table
			if err := json.Unmarshal(x.Table, &table); err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(table.Rows); err != nil || string(got) != c.rows || len(table.Rows) != x.Rows {
				t.Errorf("rows = %s (%d), want %s", got, x.Rows, c.rows)
			}
			if x.Next != c.next || x.Truncated != c.truncated {
				t.Errorf("next %q, truncated %v", x.Next, x.Truncated)
			}
		})
	}
	t.Run("frame", func(t *testing.T) {
		e := abi.Extraction{Within: []string{"#fr"}, Rows: "tr.r", Cols: []abi.Col{{Name: "a", Selector: "td"}}}
		eventually(t, "the frame's table", func() bool {
			x, err := p.Extract(deadline(t), e)
			return err == nil && string(x.Table) == `{"cols":["a"],"rows":[["in frame"]]}`
		})
	})
	t.Run("column-wise", func(t *testing.T) { testColumnWise(t, s, site) })
	t.Run("html", func(t *testing.T) { testExtractHTML(t, s, site) })
}

type extractCase struct {
	name      string
	e         abi.Extraction
	rows      string
	next      string
	truncated bool
	code      abi.Code
	says      []string
}

func extractCases(site *Site) []extractCase {
	rows := func(cols ...abi.Col) abi.Extraction { return abi.Extraction{Rows: "tr.t", Cols: cols} }
	single := func(c abi.Col) abi.Extraction {
		c.Name = "a"
		return abi.Extraction{Cols: []abi.Col{c}}
	}
	id := abi.Col{Name: "id", Selector: ".id", Type: abi.TypeInt}
	return []extractCase{
		{
			name: "types", e: rows(id, abi.Col{Name: "s", Selector: ".s"}, abi.Col{Name: "n", Selector: ".n", Type: abi.TypeNumber}, abi.Col{Name: "star", Selector: ".star", Kind: abi.KindExists}),
			rows: `[[12,"Über die Brücke",1.5,false],[7,"\u003cb\u003e \"q\" \\ 田中 👩‍💻",-300,true]]`,
		},
		{
			name: "url", e: rows(abi.Col{Name: "u", Selector: "a", Kind: abi.KindURL}, abi.Col{Name: "h", Selector: "a", Kind: abi.KindAttr, Attr: "href"}),
			rows: fmt.Sprintf(`[["%[1]s/t/12?a=b","/t/12?a=b"],["%[1]s/t/7","/t/7"]]`, site.Origin("app")),
		},
		{name: "list", e: rows(abi.Col{Name: "l", Selector: ".tag i", List: true, Optional: true}), rows: `[[["a","b"]],[[]]]`},
		{name: "list-missing", e: rows(abi.Col{Name: "l", Selector: ".tag i", List: true}), code: abi.ErrSelectorDrift, says: []string{`"l"`, "row 2", `".tag i"`}},
		{name: "value", e: rows(abi.Col{Name: "v", Selector: ".v", Kind: abi.KindValue}), rows: `[["x"],[""]]`},
		{name: "optional", e: rows(abi.Col{Name: "c", Selector: ".c", Kind: abi.KindValue, Optional: true}), rows: `[["on"],[null]]`},
		{name: "missing", e: rows(id, abi.Col{Name: "c", Selector: ".c"}), code: abi.ErrSelectorDrift, says: []string{`"c"`, "row 2", `".c"`}},
		{name: "no-attribute", e: rows(abi.Col{Name: "d", Selector: "a", Kind: abi.KindAttr, Attr: "data-x"}), code: abi.ErrSelectorDrift, says: []string{`"d"`, "row 1", "data-x"}},
		{name: "not-a-number", e: rows(abi.Col{Name: "n", Selector: ".s", Type: abi.TypeNumber}), code: abi.ErrSelectorDrift, says: []string{`"n"`, "row 1", "Brücke", "number"}},
		{name: "no-rows", e: abi.Extraction{Rows: ".gone", Cols: []abi.Col{id}}, code: abi.ErrSelectorDrift, says: []string{`".gone"`}},
		{name: "not-empty", e: abi.Extraction{Rows: ".gone", Empty: ".also-gone", Cols: []abi.Col{id}}, code: abi.ErrSelectorDrift, says: []string{`".gone"`, `".also-gone"`}},
		{name: "empty", e: abi.Extraction{Rows: ".gone", Empty: "#none", Cols: []abi.Col{id}}, rows: `[]`},
		{name: "limit", e: abi.Extraction{Rows: "tr.t", Limit: 1, Cols: []abi.Col{id}}, rows: `[[12]]`, truncated: true},
		{name: "next", e: abi.Extraction{Rows: "tr.t", Limit: 2, Cols: []abi.Col{id}, Next: &abi.Follow{Selector: "a[rel=next]", Max: 3}}, rows: `[[12],[7]]`, next: site.URL("app", "/tickets?page=2")},
		{name: "no-next", e: abi.Extraction{Rows: "tr.t", Cols: []abi.Col{id}, Next: &abi.Follow{Selector: "a[rel=prev]", Max: 3}}, rows: `[[12],[7]]`},
		{name: "lines", e: single(abi.Col{Selector: "#p", Kind: abi.KindLines}), rows: `[["one\ntwo\n\nthree"]]`},
		{name: "own", e: single(abi.Col{Selector: "#own", Kind: abi.KindOwnText}), rows: `[["own text"]]`},
		{name: "raw", e: single(abi.Col{Selector: ".n", Kind: abi.KindRaw}), rows: `[[" 1.50 "]]`},
		{name: "form", e: single(abi.Col{Selector: "#f", Kind: abi.KindAttr, Attr: "id"}), rows: `[["f"]]`},
		{name: "password", e: single(abi.Col{Selector: "#pw", Kind: abi.KindValue}), code: abi.ErrCapabilityDenied},
		{name: "shadow", e: abi.Extraction{Within: []string{"#host"}, Rows: "li", Cols: []abi.Col{{Name: "a"}}}, rows: `[["in shadow"]]`},
		{name: "closed-shadow", e: abi.Extraction{Within: []string{"#closed"}, Rows: "li", Cols: []abi.Col{{Name: "a"}}}, code: abi.ErrSelectorDrift, says: []string{`"#closed"`}},
		{
			name: "nested", e: abi.Extraction{Rows: ".outer", Cols: []abi.Col{{Name: "h", Selector: "h2"}, {Name: "c", Kind: abi.KindNested, Optional: true, Nested: &abi.Extraction{Rows: ".c", Cols: []abi.Col{{Name: "n", Type: abi.TypeInt}}}}}},
			rows: `[["A",{"cols":["n"],"rows":[[1],[2]]}],["B",{"cols":["n"],"rows":[]}]]`,
		},
		{name: "nested-missing", e: abi.Extraction{Rows: ".outer", Cols: []abi.Col{{Name: "c", Kind: abi.KindNested, Nested: &abi.Extraction{Rows: ".c", Cols: []abi.Col{{Name: "n"}}}}}}, code: abi.ErrSelectorDrift, says: []string{`"c"`, "row 2", `".c"`}},
		{name: "bad-selector", e: rows(abi.Col{Name: "x", Selector: "a["}), code: abi.ErrInvalidArgs, says: []string{`"a["`}},
		{name: "bad-rows", e: abi.Extraction{Rows: ":::", Cols: []abi.Col{id}}, code: abi.ErrInvalidArgs},
		{name: "no-columns", e: abi.Extraction{Rows: "tr.t"}, code: abi.ErrInvalidArgs},
		{name: "bad-kind", e: single(abi.Col{Kind: "script"}), code: abi.ErrInvalidArgs},
		{name: "bad-type", e: single(abi.Col{Type: "date"}), code: abi.ErrInvalidArgs},
		{name: "attr-without-name", e: single(abi.Col{Kind: abi.KindAttr}), code: abi.ErrInvalidArgs},
	}
}

func bigTable(n int) string {
	var b strings.Builder
	b.WriteString("<title>big</title><table>")
	for i := range n {
		fmt.Fprintf(&b, `<tr class=t><td class=id>%d</td><td class=a><a href=/t/%[1]d>row %[1]d &amp; more</a></td><td class=l><i>x</i><i>%[1]d</i></td>`, i)
		if i%3 == 0 {
			b.WriteString(`<td class=o>opt</td>`)
		}
		if i%100 == 0 {
			fmt.Fprintf(&b, `<td><table><tr class=t><td class=id>1%d</td><td class=a><a href=/x>inner</a></td><td class=l><i>y</i></td></tr></table></td>`, i)
		}
		b.WriteString("</tr>\n")
	}
	return b.String() + "</table>"
}

// testColumnWise compares the way that large tables are read with the one for
// small ones, on rows that stand in each other.
func testColumnWise(t *testing.T, s Subject, site *Site) {
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/big"))
	cols := func(prefix string) []abi.Col {
		return []abi.Col{
			{Name: "id", Selector: prefix + ".id", Type: abi.TypeInt},
			{Name: "a", Selector: prefix + ".a a"},
			{Name: "l", Selector: prefix + ".l i", List: true},
			{Name: "o", Selector: prefix + ".o", Optional: true},
		}
	}
	fast, err := p.Extract(deadline(t), abi.Extraction{Rows: "tr.t", Cols: cols("")})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := p.Extract(deadline(t), abi.Extraction{Rows: "tr.t", Cols: cols(":scope ")})
	if err != nil {
		t.Fatal(err)
	}
	if fast.Rows != 1010 || string(fast.Table) != string(slow.Table) {
		t.Errorf("%d rows by column, %d by row; they differ", fast.Rows, slow.Rows)
	}
}

// testExtractHTML reads markup that must not run or load anything.
func testExtractHTML(t *testing.T, s Subject, site *Site) {
	p := open(t, s, allow)
	visit(t, p, site.URL("app", "/big"))
	site.Forget()
	html := `<table><tr class=r><td><a href="y?1">a<br>b</a><img src=/loaded onerror="fetch('/ran')"><script>fetch('/ran')</script></td></tr></table><iframe src=/loaded></iframe>`
	e := abi.Extraction{Rows: ".r", Cols: []abi.Col{{Name: "u", Selector: "a", Kind: abi.KindURL}, {Name: "l", Selector: "a", Kind: abi.KindLines}}}
	x, err := p.ExtractHTML(deadline(t), html, site.URL("app", "/dir/x"), e)
	if want := fmt.Sprintf(`{"cols":["u","l"],"rows":[["%s","a\nb"]]}`, site.URL("app", "/dir/y?1")); err != nil || string(x.Table) != want {
		t.Errorf("ExtractHTML = %s, %v, want %s", x.Table, err, want)
	}
	_, err = p.ExtractHTML(deadline(t), "<p>", site.URL("app", "/"), e)
	wantCode(t, err, abi.ErrSelectorDrift)
	e.Within = []string{"iframe"}
	_, err = p.ExtractHTML(deadline(t), html, site.URL("app", "/"), e)
	wantCode(t, err, abi.ErrInvalidArgs)
	if site.Saw("/loaded") || site.Saw("/ran") {
		t.Errorf("the markup was rendered: %v", site.Hits())
	}
	// More than fits into one answer is cut between rows.
	wide := strings.Repeat(`<tr class=r><td><a href=x>`+strings.Repeat("ä", 2000)+`</a></td></tr>`, 300)
	x, err = p.ExtractHTML(deadline(t), "<table>"+wide, site.URL("app", "/"), e2())
	if err != nil || !x.Truncated || x.Rows == 0 || x.Rows >= 300 || len(x.Table) > abi.MaxAnswer || !json.Valid(x.Table) {
		t.Errorf("%d rows, %d bytes, truncated %v, %v", x.Rows, len(x.Table), x.Truncated, err)
	}
	// A lone surrogate does not make the answer ill-formed.
	site.Handle("/lone", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<p id=x></p><script>x.textContent="a\ud800b"</script>`)
	})
	visit(t, p, site.URL("app", "/lone"))
	x, err = p.Extract(deadline(t), abi.Extraction{Cols: []abi.Col{{Name: "a", Selector: "#x"}}})
	if err != nil || string(x.Table) != `{"cols":["a"],"rows":[["a`+"\uFFFD"+`b"]]}` {
		t.Errorf("lone surrogate: %s, %v", x.Table, err)
	}
}

func e2() abi.Extraction {
	return abi.Extraction{Rows: ".r", Cols: []abi.Col{{Name: "a", Selector: "a"}}}
}
