package mcpserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// rowsOf is a list of n rows of about the same size.
func rowsOf(n int, text string) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"id": float64(i + 1), "text": text, "tags": []any{"a", "b"}}
	}
	return list
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %.200q", err, raw)
	}
	return v
}

// joined puts a value together again from two pages: a row that stands on both is
// one row, whose long text goes on.
func joined(a, b any) any {
	switch a := a.(type) {
	case []any:
		list := b.([]any)
		if len(a) > 0 && len(list) > 0 && sameRow(a[len(a)-1], list[0]) {
			list[0] = joined(a[len(a)-1], list[0])
			a = a[:len(a)-1]
		}
		return append(a, list...)
	case map[string]any:
		for name, v := range b.(map[string]any) {
			if s, ok := v.(string); ok && len(s) < 50 && s == a[name] {
				continue // it is short and stands on every page
			}
			a[name] = joined(a[name], v)
		}
		return a
	case string:
		return a + b.(string)
	}
	return b
}

func sameRow(a, b any) bool {
	x, ok := a.(map[string]any)
	y, ok2 := b.(map[string]any)
	return ok && ok2 && x["id"] == y["id"]
}

func TestPagesHoldEverythingOnce(t *testing.T) {
	long := strings.Repeat("line <b> & \"quoted\"\n", 3000)
	for what, v := range map[string]any{
		"rows":                map[string]any{"total": 900.0, "issues": rowsOf(900, "short")},
		"rows of emoji":       map[string]any{"issues": rowsOf(400, strings.Repeat("😀", 30))},
		"two lists":           map[string]any{"a": rowsOf(300, "short"), "b": rowsOf(300, "short"), "c": []any{}},
		"one long text":       map[string]any{"id": 7.0, "title": "t", "body": strings.Repeat("äö😀", 40_000)},
		"text before a list":  map[string]any{"body": long, "notes": rowsOf(200, "short")},
		"a long text in rows": map[string]any{"id": 1.0, "notes": append(rowsOf(3, "short"), map[string]any{"id": 4.0, "author": "ada", "text": long}, map[string]any{"id": 5.0, "author": "bob", "text": "end"})},
		"a list in a row":     map[string]any{"groups": []any{map[string]any{"id": 1.0, "name": "g", "rows": rowsOf(500, "x")}, map[string]any{"id": 2.0, "name": "h", "rows": rowsOf(3, "x")}}},
		"below an object":     map[string]any{"detail": map[string]any{"kind": "k", "rows": rowsOf(500, "x")}},
		"a list of texts":     map[string]any{"log": []any{strings.Repeat("a", 5000), strings.Repeat("b", 3000), "c"}},
		"many short lists":    many(20),
		"columns and rows":    map[string]any{"cols": []any{"id", "text"}, "rows": tableRows(800)},
	} {
		t.Run(what, func(t *testing.T) {
			const size = 8000
			pages := paginate(encoded(t, v), size)
			if len(pages) < 2 {
				t.Fatalf("%d pages of %d bytes", len(pages), len(encoded(t, v)))
			}
			var whole any
			for i, p := range pages {
				if len(p.body) > size {
					t.Errorf("page %d has %d bytes", i, len(p.body))
				}
				if len(p.body) < size/2 && i < len(pages)-1 && what != "a list of texts" {
					t.Errorf("page %d of %d has %d bytes only", i, len(pages), len(p.body))
				}
				if whole == nil {
					whole = decoded(t, p.body)
					continue
				}
				whole = joined(whole, decoded(t, p.body))
			}
			if what == "columns and rows" {
				whole.(map[string]any)["cols"] = []any{"id", "text"} // it stood on each page
			}
			if what == "a list of texts" {
				whole, v = texts(whole), texts(v)
			}
			if !reflect.DeepEqual(whole, v) {
				t.Errorf("together they are %.400s\nand not %.400s", encoded(t, whole), encoded(t, v))
			}
			checkParts(t, pages)
		})
	}
}

func texts(v any) (all string) {
	for _, s := range v.(map[string]any)["log"].([]any) {
		all += s.(string)
	}
	return all
}

func tableRows(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = []any{float64(i), "text"}
	}
	return list
}

// many is a result of lists that are short, and together too long for one page.
func many(n int) any {
	m := map[string]any{}
	for i := range n {
		m[fmt.Sprintf("list%02d", i)] = tableRows(50)
	}
	return m
}

// checkParts has each long list and text begin where the page before ended, and end.
func checkParts(t *testing.T, pages []sheet) {
	t.Helper()
	last := map[string]part{}
	for i, p := range pages {
		if len(p.parts) == 0 {
			t.Errorf("page %d tells of nothing", i)
		}
		for _, now := range p.parts {
			before, ok := last[now.At]
			if ok && now.Of != before.Of {
				t.Errorf("page %d: %s has %d, and had %d", i, now.At, now.Of, before.Of)
			}
			if now.First > 0 && now.First != before.Last+1 && now.First != before.Last {
				t.Errorf("page %d: %s begins at %d after %d", i, now.At, now.First, before.Last)
			}
			if now.First > 0 && now.Last+now.Left < now.Of || now.Left > now.Of {
				t.Errorf("page %d: %+v", i, now)
			}
			if now.First == 0 {
				now.Last = before.Last
			}
			last[now.At] = now
		}
	}
	for at, p := range last {
		if p.Last != 0 && (p.Left != 0 || p.Last != p.Of) { // 0: it stood whole on one page
			t.Errorf("%s ends at %d of %d", at, p.Last, p.Of)
		}
	}
}

func TestPagesSayWhatTheyHold(t *testing.T) {
	rows := rowsOf(10, "x")
	rows[3] = map[string]any{"id": 4.0, "text": strings.Repeat("ä", 9000)}
	pages := paginate(encoded(t, map[string]any{"notes": rows, "history": rowsOf(200, "short")}), 8000)
	var got []string
	for _, p := range pages {
		for _, q := range p.parts {
			got = append(got, fmt.Sprintf("%s %d-%d of %d %s, %d left", q.At, q.First, q.Last, q.Of, q.Unit, q.Left))
		}
		got = append(got, "")
	}
	// The history stands before the notes: encoding/json sorts names.
	for _, want := range []string{
		"history 1-187 of 200 rows, 13 left", "notes 0-0 of 10 rows, 10 left",
		"history 188-200 of 200 rows, 0 left", "notes[4].text 1-", " of 9000 characters, ", "notes 4-10 of 10 rows, 0 left",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("no page says %q:\n%s", want, strings.Join(got, "\n"))
		}
	}
}

func TestWhatCannotBeParted(t *testing.T) {
	flat := map[string]any{}
	for i := range 2000 {
		flat[fmt.Sprint(i)] = i
	}
	costly := map[string]any{"rows": []any{map[string]any{"short": rowsOf(12, "x"), "text": strings.Repeat("x", 1_000_000)}}}
	for i := range 66 { // they would stand on each of a thousand pages
		costly["rows"].([]any)[0].(map[string]any)[fmt.Sprint(i)] = strings.Repeat("y", 100)
	}
	for what, v := range map[string]any{
		"far too many pages": costly,
		"far too many rows":  map[string]any{"rows": tableRows(maxNodes + 1)},
		"only short members": flat,
		"a row of them":      map[string]any{"rows": []any{flat, flat}},
		"too many lists":     many(maxParts + 6),
		"a long name":        map[string]any{strings.Repeat("n", 30_000): rowsOf(100, "x")},
	} {
		if pages := paginate(encoded(t, v), 8000); pages != nil {
			t.Errorf("%s: %d pages", what, len(pages))
		}
	}
}

func TestColumns(t *testing.T) {
	row := func(i int) string { return fmt.Sprintf(`{"id":%d,"t\"x":"a, [{\"b","n":[1,{"k":2}]}`, i) }
	list := func(n int) string {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = row(i)
		}
		return "[" + strings.Join(rows, ",") + "]"
	}
	uneven := strings.TrimSuffix(list(20), "]") + `,{"id":7}]`
	turned := strings.TrimSuffix(list(20), "]") + `,{"t\"x":"a","id":1,"n":[]}]`
	mixed := strings.TrimSuffix(list(20), "]") + `,7]`
	for in, table := range map[string]bool{
		`{}`:             false,
		`{"a":1}`:        false,
		`{"a":":[{\"b"}`: false,
		`{"rows":[]}`:    false,
		`{"rows":[{}` + strings.Repeat(",{}", 20) + `]}`: false,
		`{"rows":` + list(manyRows-1) + `}`:              false,
		`{"rows":` + list(manyRows) + `}`:                true,
		`{"a":[1],"rows":` + list(50) + `,"z":{"q":1}}`:  true,
		`{"rows":` + uneven + `}`:                        false,
		`{"rows":` + turned + `}`:                        false,
		`{"rows":` + mixed + `}`:                         false,
	} {
		got := columns([]byte(in))
		if !table {
			if got != in {
				t.Errorf("%.100s became %.100s", in, got)
			}
			continue
		}
		if len(got) >= len(in) || !strings.Contains(got, `"cols":["id","t\"x","n"]`) {
			t.Errorf("%.100s became %.200s", in, got)
		}
		if back := uncolumned(decoded(t, []byte(got))); !reflect.DeepEqual(back, decoded(t, []byte(in))) {
			t.Errorf("%.100s means %.200v", got, back)
		}
	}
	two := columns([]byte(`{"a":` + uneven + `,"b":` + list(9) + `,"c":` + list(9) + `}`))
	if strings.Count(two, `"cols"`) != 2 || !strings.Contains(two, `"a":[{"id":0`) {
		t.Errorf("of three lists two are tables: %s", two)
	}
}

// uncolumned makes objects of tables again.
func uncolumned(v any) any {
	m := v.(map[string]any)
	for name, member := range m {
		table, ok := member.(map[string]any)
		if !ok || table["cols"] == nil {
			continue
		}
		list := []any{}
		for _, r := range table["rows"].([]any) {
			o := map[string]any{}
			for i, c := range table["cols"].([]any) {
				o[c.(string)] = r.([]any)[i]
			}
			list = append(list, o)
		}
		m[name] = list
	}
	return m
}

func FuzzPages(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2,3],"b":"text","c":{"d":[{"e":"f"}]}}`, `{"rows":[{"id":1},{"id":2}]}`, `{"":"","x":null}`, `{"t":"\ud83d\ude00\u2028\\\""}`,
	} {
		f.Add([]byte(seed), 40)
	}
	f.Fuzz(func(t *testing.T, raw []byte, size int) {
		raw, ok := compactObject(raw)
		if !ok || size < 1 || size > 1<<20 {
			return
		}
		sound := func(b []byte) {
			if err := strictjson.Check(b, strictjson.MaxBytes(1<<24), strictjson.AnyText(), strictjson.AnyKeys()); err != nil || !isObject(b) || !utf8.Valid(b) {
				t.Fatalf("%.200q: %v", b, err)
			}
		}
		sound([]byte(columns(raw)))
		names := len(membersOf(raw, nil))
		for _, p := range paginate(raw, size) {
			sound(p.body)
			if n := len(membersOf(p.body, nil)); n != names {
				t.Fatalf("%d members, and not %d", n, names)
			}
		}
	})
}
