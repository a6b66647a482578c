package gate

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

func subject() Subject {
	return Subject{
		Principal:    Principal{ID: "c_1", Name: "laptop"},
		Client:       "Some Agent 1.0",
		Connector:    "tracker",
		Tool:         "tracker.add_comment",
		Title:        "Comment on a ticket",
		Definition:   []byte(`{"name":"add_comment"}`),
		ModuleSHA256: strings.Repeat("ab", 32),
		Release:      "acme/tracker@1.2.3",
		Args:         json.RawMessage(`{"id":12,"text":"Grüße\nzweite Zeile"}`),
		Origin:       "https://tracker.example",
		Account:      "ada",
		Destructive:  true,
		Writes:       []string{"POST /ticket/12/comment, once", "text = text"},
	}
}

func TestPreimageGolden(t *testing.T) {
	golden.Check(t, filepath.Join("testdata", "approval.preimage.golden"), subject().preimage())
}

// Every field, the fields of fields included, by reflection: a field that is
// added and forgotten in the preimage fails here.
func TestDigestChangesWithEveryField(t *testing.T) {
	base, err := DigestOf(subject())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(base), "sha256:") || len(base) != 71 {
		t.Errorf("digest %q", base)
	}
	seen := map[Digest]string{base: "nothing"}
	try := func(what string, s Subject) {
		t.Helper()
		d, err := DigestOf(s)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[d]; ok {
			t.Errorf("changing %s gives the digest of changing %s", what, other)
		}
		seen[d] = what
	}
	var walk func(path string, at []int, typ reflect.Type)
	walk = func(path string, at []int, typ reflect.Type) {
		s := subject()
		v := reflect.ValueOf(&s).Elem()
		if len(at) > 0 {
			v = v.FieldByIndex(at)
		}
		switch {
		case typ == reflect.TypeFor[json.RawMessage]():
			v.SetBytes([]byte(`{"id":76,"text":"Grüße\nzweite Zeile"}`))
		case typ.Kind() == reflect.String:
			v.SetString(v.String() + "x")
		case typ.Kind() == reflect.Bool:
			v.SetBool(!v.Bool())
		case typ == reflect.TypeFor[[]byte]():
			v.SetBytes([]byte(`{"name":"add_comments"}`))
		case typ == reflect.TypeFor[[]string]():
			v.Set(reflect.ValueOf([]string{"POST /ticket/12/comment, once"}))
		case typ.Kind() == reflect.Struct:
			for i := range typ.NumField() {
				walk(path+"."+typ.Field(i).Name, append(append([]int{}, at...), i), typ.Field(i).Type)
			}
			return
		default:
			t.Fatalf("%s has type %v: say how to change it", path, typ)
		}
		try(path, s)
	}
	walk("", nil, reflect.TypeFor[Subject]())

	for what, change := range map[string]func(*Subject){
		"a line moved from one field to the next": func(s *Subject) { s.Client, s.Connector = "Some Agent 1.0\nconnector 7:tracker", "" },
		"writes joined":              func(s *Subject) { s.Writes = []string{"POST /ticket/12/comment, oncetext = text"} },
		"writes swapped":             func(s *Subject) { s.Writes[0], s.Writes[1] = s.Writes[1], s.Writes[0] },
		"a write more":               func(s *Subject) { s.Writes = append(s.Writes, "") },
		"no writes":                  func(s *Subject) { s.Writes = nil },
		"account and origin swapped": func(s *Subject) { s.Account, s.Origin = s.Origin, s.Account },
		"argument as a string":       func(s *Subject) { s.Args = json.RawMessage(`{"id":"12","text":"Grüße\nzweite Zeile"}`) },
		"argument more":              func(s *Subject) { s.Args = json.RawMessage(`{"id":12,"text":"Grüße\nzweite Zeile","x":null}`) },
		"key in another case":        func(s *Subject) { s.Args = json.RawMessage(`{"ID":12,"text":"Grüße\nzweite Zeile"}`) },
		"decomposed umlaut":          func(s *Subject) { s.Args = json.RawMessage(`{"id":12,"text":"Gru\u0308ße\nzweite Zeile"}`) },
		"white space in text":        func(s *Subject) { s.Args = json.RawMessage(`{"id":12,"text":"Grüße\nzweite Zeile "}`) },
	} {
		s := subject()
		change(&s)
		try(what, s)
	}
}

func TestDigestOfOneCallWrittenDifferently(t *testing.T) {
	base, err := DigestOf(subject())
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		`{"text":"Grüße\nzweite Zeile","id":12}`,
		" {\t\"id\" : 12.0 ,\r\n\"text\":\"Gr\\u00fc\\u00DFe\\u000azweite Zeile\"}\n",
		`{"id":1.2e1,"text":"Grüße\nzweite Zeile"}`,
		`{"id":120E-1,"text":"Grüße\nzweite Zeile"}`,
	} {
		s := subject()
		s.Args = json.RawMessage(args)
		if d, err := DigestOf(s); err != nil || d != base {
			t.Errorf("%s: %s, %v", args, d, err)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for name, args := range map[string]string{
		"empty":                  "",
		"blank":                  "  ",
		"array":                  "[]",
		"string":                 `"x"`,
		"null":                   "null",
		"unfinished":             `{"a":1`,
		"trailing":               `{"a":1} {"b":2}`,
		"trailing brace":         `{}}`,
		"byte order mark":        "\ufeff{}",
		"not UTF-8":              "{\"a\":\"\xff\"}",
		"duplicate key":          `{"id":12,"id":76}`,
		"duplicate, escaped":     `{"id":12,"\u0069d":76}`,
		"nested duplicate":       `{"x":[{"id":12,"id":76}]}`,
		"lone surrogate":         `{"a":"\ud800"}`,
		"reversed surrogates":    `{"a":"\udc00\ud800"}`,
		"2^53+1":                 `{"id":9007199254740993}`,
		"-(2^53+1)":              `{"id":-9007199254740993}`,
		"long fraction":          `{"x":0.12345678901234567890}`,
		"too large":              `{"x":1e400}`,
		"too small":              `{"x":1e-400}`,
		"absurd exponent":        `{"x":1e999999999999}`,
		"absurd small exponent":  `{"x":1e-999999999999}`,
		"zero, absurd exponent":  `{"x":0e999999999999}`,
		"number in another form": `{"x":0x10}`,
		"leading zero":           `{"x":012}`,
		"NaN":                    `{"x":NaN}`,
		"comment":                `{/*x*/}`,
		"single quotes":          `{'a':1}`,
		"control character":      "{\"a\":\"\x01\"}",
		"too deep":               strings.Repeat(`{"a":`, 129) + "1" + strings.Repeat("}", 129),
		"too deep, unfinished":   `{"a":` + strings.Repeat("[", 500_000),
		"too long":               `{"a":"` + strings.Repeat("x", abi.MaxArgs) + `"}`,
	} {
		got, err := Canonical(json.RawMessage(args))
		if !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%s became %.80s, %v", name, got, err)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{ }`:                         `{}`,
		`{"b":1,"a":[true,null,"x"]}`: `{"a":[true,null,"x"],"b":1}`,
		`{"n":0.1}`:                   `{"n":0.1}`,
		`{"n":-0.0}`:                  `{"n":0}`,
		`{"n":1E21}`:                  `{"n":1e+21}`,
		`{"n":9007199254740992}`:      `{"n":9007199254740992}`,
		`{"n":100000000000000000000}`: `{"n":100000000000000000000}`,
		`{"n":5e-324}`:                `{"n":5e-324}`,
		`{"n":1.50}`:                  `{"n":1.5}`,
		`{"n":0.000}`:                 `{"n":0}`,
		`{"😀":1,"\ufb33":2}`:          `{"😀":1,"` + "\ufb33" + `":2}`,
	} {
		got, err := Canonical(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", in, got, err, want)
		}
	}
	if got, err := Canonical(nil); err != nil || string(got) != "{}" {
		t.Errorf("nil became %s, %v", got, err)
	}
	deep := strings.Repeat(`{"a":`, 128) + "1" + strings.Repeat("}", 128)
	if _, err := Canonical(json.RawMessage(deep)); err != nil {
		t.Error(err)
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"id":12,"text":"x"}`))
	f.Add([]byte(`{"n":[1e21,0.1,-0,5e-324,9007199254740993]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := Canonical(data)
		if err != nil {
			return
		}
		if !json.Valid(data) || !json.Valid(once) {
			t.Fatalf("%q was taken for JSON and became %q", data, once)
		}
		twice, err := Canonical(once)
		if err != nil || string(twice) != string(once) {
			t.Errorf("%q became %q and then %q, %v", data, once, twice, err)
		}
	})
}
