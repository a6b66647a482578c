package origin

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func params(names ...string) []abi.Param {
	var list []abi.Param
	for _, n := range names {
		name, typ, ok := strings.Cut(n, ":")
		p := abi.Param{Name: name, Arg: name}
		if ok {
			p.Arg, p.Any = "", abi.ValueType(typ)
		}
		list = append(list, p)
	}
	return list
}

func TestTemplateMatch(t *testing.T) {
	for _, tc := range []struct {
		template string
		params   []abi.Param
		path     string
		want     map[string]string // nil: no match
	}{
		{"/", nil, "/", map[string]string{}},
		{"/", nil, "//", nil},
		{"/a", nil, "/a", map[string]string{}},
		{"/a", nil, "/a/", nil},
		{"/a/", nil, "/a/", map[string]string{}},
		{"/a/", nil, "/a", nil},
		{"/a", nil, "/A", nil},
		{"/a", nil, "/%61", map[string]string{}},
		{"/ticket/{id}", params("id"), "/ticket/12", map[string]string{"id": "12"}},
		{"/ticket/{id}", params("id:int"), "/ticket/12", map[string]string{"id": "12"}},
		{"/ticket/{id}", params("id:int"), "/ticket/012", nil},
		{"/ticket/{id}", params("id:int"), "/ticket/12x", nil},
		{"/ticket/{id}", params("id:int"), "/ticket/%31%32", map[string]string{"id": "12"}},
		{"/ticket/{id}", params("id"), "/ticket/", nil},
		{"/ticket/{id}", params("id"), "/ticket", nil},
		{"/ticket/{id}", params("id"), "/ticket//12", nil},
		{"/ticket/{id}", params("id"), "//ticket/12", nil},
		{"/ticket/{id}", params("id"), "/ticket/12/", nil},
		{"/ticket/{id}", params("id"), "/ticket/12/delete", nil},
		{"/ticket/{id}", params("id"), "/ticket/12;x=1", nil},
		{"/ticket/{id}", params("id"), "/ticket/12%3bx", nil},
		{"/ticket/{id}", params("id"), "/ticket/12%2fdelete", nil},
		{"/ticket/{id}", params("id"), "/ticket/12%2Fdelete", nil},
		{"/ticket/{id}", params("id"), "/ticket/12%5cdelete", nil},
		{"/ticket/{id}", params("id"), "/ticket/12%00", nil},
		{"/ticket/{id}", params("id"), "/ticket/12%0a", nil},
		{"/ticket/{id}", params("id"), "/ticket/12%252fdelete", nil},
		{"/ticket/{id}", params("id"), "/ticket/%2532", nil},
		{"/ticket/{id}", params("id"), "/ticket/100%25", map[string]string{"id": "100%"}},
		{"/ticket/{id}", params("id"), "/ticket/12%", nil},
		{"/ticket/{id}", params("id"), "/ticket/12%zz", nil},
		{"/ticket/{id}", params("id"), "/ticket/%ff", nil},
		{"/ticket/{id}", params("id"), "/ticket/%c0%af", nil},
		{"/ticket/{id}", params("id"), "/ticket/..", nil},
		{"/ticket/{id}", params("id"), "/ticket/%2e%2e", nil},
		{"/ticket/{id}", params("id"), `/ticket/a\b`, nil},
		{"/ticket/{id}", params("id"), "/ticket/a?b", nil},
		{"/ticket/{id}", params("id"), "ticket/12", nil},
		{"/ticket/{id}", params("id"), "", nil},
		{"/x/{id}.json", params("id:int"), "/x/7.json", map[string]string{"id": "7"}},
		{"/x/{id}.json", params("id"), "/x/7.json.json", nil},
		{"/x/{id}.json", params("id"), "/x/.json", nil},
		{"/x/{id}.json", params("id"), "/x/7.jso", nil},
		{"/x/r{a}-{b}", params("a", "b"), "/x/r1-2", map[string]string{"a": "1", "b": "2"}},
		{"/x/r{a}-{b}", params("a", "b"), "/x/r1-2-3", map[string]string{"a": "1", "b": "2-3"}},
		{"/x/r{a}-{b}", params("a", "b"), "/x/r-2", nil},
		{"/x/r{a}-{b}", params("a", "b"), "/x/r1-", nil},
		{"/Seite/Übersicht", nil, "/Seite/%C3%9Cbersicht", map[string]string{}},
		{"/w/{page}", params("page:text"), "/w/a%20b%3Fc", map[string]string{"page": "a b?c"}},
		{"/w/{page}", params("page:slug"), "/w/a%20b", nil},
		{"/w/{page}", params("page:nonsense"), "/w/a", nil},
	} {
		tmpl, err := ParseTemplate(tc.template, tc.params)
		if err != nil {
			t.Fatalf("%s: %v", tc.template, err)
		}
		got, ok := tmpl.Match(tc.path)
		if ok != (tc.want != nil) || ok && !maps.Equal(got, tc.want) {
			t.Errorf("%s, %q: %v %v, want %v", tc.template, tc.path, got, ok, tc.want)
		}
	}
	if _, ok := (Template{}).Match("/"); ok {
		t.Error("the zero template matches")
	}
}

func TestTemplatesRefused(t *testing.T) {
	many := "/" + strings.Repeat("{a}/", 20)
	for _, tc := range []struct {
		path   string
		params []abi.Param
	}{
		{"", nil},
		{"a", nil},
		{"//a", nil},
		{"/a//b", nil},
		{"/a/../b", nil},
		{"/.", nil},
		{"/a;b", nil},
		{`/a\b`, nil},
		{"/a?b", nil},
		{"/a#b", nil},
		{"/a%20b", nil},
		{"/a\x00", nil},
		{"/a\xff", nil},
		{"/{id}", nil},
		{"/a", params("id")},
		{"/{id", params("id")},
		{"/id}", params("id")},
		{"/{}", params("")},
		{"/{a b}", params("a b")},
		{"/{1}", params("1")},
		{"/{a}{b}", params("a", "b")},
		{"/{a}/{a}", params("a")},
		{"/{a}", params("a", "a")},
		{"/{{a}}", params("a")},
		{"/{a}}", params("a")},
		{many, params("a")},
		{"/" + strings.Repeat("a", maxTemplate), nil},
		{"/{a}", params("a", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "c1", "c2", "c3", "c4", "c5", "c6", "c7")},
	} {
		if _, err := ParseTemplate(tc.path, tc.params); err == nil {
			t.Errorf("ParseTemplate(%.60q) is accepted", tc.path)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("/ticket/{id}", "/ticket/12")
	f.Add("/x/r{id}-x", "/x/r%31-x")
	f.Add("/a/", "/a/%2f")
	f.Fuzz(func(t *testing.T, tmpl, path string) {
		parsed, err := ParseTemplate(tmpl, params("id"))
		if err != nil {
			return
		}
		values, ok := parsed.Match(path)
		if !ok {
			return
		}
		if CheckPath(path) != nil {
			t.Errorf("%q matches %q, which is refused", tmpl, path)
		}
		for _, v := range values {
			if v == "" || strings.ContainsAny(v, "/\\;\x00") || v == ".." {
				t.Errorf("%q, %q: value %q", tmpl, path, v)
			}
		}
	})
}

func TestParseQuery(t *testing.T) {
	for raw, want := range map[string][]Pair{
		"":                     nil,
		"a":                    {{"a", ""}},
		"a=":                   {{"a", ""}},
		"a=1&b=2":              {{"a", "1"}, {"b", "2"}},
		"b=2&a=1":              {{"b", "2"}, {"a", "1"}},
		"a=b=c":                {{"a", "b=c"}},
		"a+b=c+d%2B":           {{"a b", "c d+"}},
		"q=%3B%26%3D%25":       {{"q", ";&=%"}},
		"q=%0D%0A%09":          {{"q", "\r\n\t"}},
		"q=%F0%9F%98%80é":      {{"q", "😀é"}},
		"a%5Bb%5D=1&a[c]=2":    {{"a[b]", "1"}, {"a[c]", "2"}},
		"a=%E2%80%A8%EF%BF%BE": {{"a", "\u2028\ufffe"}},
	} {
		if got, err := ParseQuery(raw); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v, want %q", raw, got, err, want)
		}
	}
}

func TestParseQueryRefuses(t *testing.T) {
	for _, raw := range []string{
		"Action=Steal;id=11", "id=11;Action=Steal", "a=1;", ";", "a=1&a=2", "a=1&%61=2", "a+b=1&a%20b=2", "&", "a=1&", "&a=1", "a=1&&b=2",
		"=1", "=", "%=1", "a=%", "a=%2", "a=%zz", "a=%+1", "a=%ff", "a=%C0%80", "a=\xff", "a=%00", "a=%1b", "a=%7f", "a=%C2%85",
		"a%00=1", "a%0A=1", "%E2%80=1", strings.Repeat("a&", MaxPairs) + "b",
	} {
		if got, err := ParseQuery(raw); err == nil {
			t.Errorf("%q: %q, want an error", raw, got)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add("a=1&b=%20+&c")
	f.Add("Action=Steal;id=11")
	f.Fuzz(func(t *testing.T, raw string) {
		pairs, err := ParseQuery(raw)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, p := range pairs {
			if seen[p.Name] || p.Name == "" || !CleanText(p.Value) {
				t.Errorf("%q: %q", raw, pairs)
			}
			seen[p.Name] = true
		}
		if len(pairs) > MaxPairs || strings.Contains(raw, ";") {
			t.Errorf("%q is accepted", raw)
		}
	})
}

func TestValidValue(t *testing.T) {
	for _, tc := range []struct {
		typ   abi.ValueType
		max   int
		value string
		want  bool
	}{
		{abi.ValueInt, 0, "0", true},
		{abi.ValueInt, 0, "123456789012345678", true},
		{abi.ValueInt, 0, "1234567890123456789", false},
		{abi.ValueInt, 0, "01", false},
		{abi.ValueInt, 0, "-1", false},
		{abi.ValueInt, 0, "+1", false},
		{abi.ValueInt, 0, "", false},
		{abi.ValueInt, 0, "1.0", false},
		{abi.ValueInt, 0, "1e3", false},
		{abi.ValueInt, 0, " 1", false},
		{abi.ValueInt, 0, "１", false},
		{abi.ValueInt, 2, "123", false},
		{abi.ValueSlug, 0, "a-B_9.c", true},
		{abi.ValueSlug, 0, "", false},
		{abi.ValueSlug, 0, "..", false},
		{abi.ValueSlug, 0, "a..b", false},
		{abi.ValueSlug, 0, ".a", false},
		{abi.ValueSlug, 0, "a.", false},
		{abi.ValueSlug, 0, "a/b", false},
		{abi.ValueSlug, 0, "a b", false},
		{abi.ValueSlug, 0, "é", false},
		{abi.ValueHex, 0, "09af", true},
		{abi.ValueHex, 0, "AF", false},
		{abi.ValueHex, 0, "", false},
		{abi.ValueHex, 0, "0x1", false},
		{abi.ValueText, 0, "", true},
		{abi.ValueText, 0, "é\r\n😀", true},
		{abi.ValueText, 0, "\x00", false},
		{abi.ValueText, 0, "\xff", false},
		{abi.ValueText, 0, strings.Repeat("a", 256), true},
		{abi.ValueText, 0, strings.Repeat("a", 257), false},
		{abi.ValueText, 300, strings.Repeat("a", 257), true},
		{"", 0, "a", false},
		{"other", 0, "a", false},
	} {
		if got := ValidValue(tc.typ, tc.max, tc.value); got != tc.want {
			t.Errorf("%s, max %d, %.30q: %v, want %v", tc.typ, tc.max, tc.value, got, tc.want)
		}
	}
}
