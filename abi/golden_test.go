package abi_test

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// Examples is one example of each document that crosses the boundary, with every
// field in use somewhere.
func examples() map[string]any {
	extraction := abi.Extraction{
		Within: []string{"iframe#list", "x-table"}, Rows: "tr.issue", Limit: 100, Empty: "#no-issues",
		Next: &abi.Follow{Selector: "a.next", Max: 3},
		Cols: []abi.Col{
			{Name: "id", Selector: "td.id", Type: abi.TypeInt},
			{Name: "title", Selector: "td.title", Kind: abi.KindLines},
			{Name: "score", Selector: "td.score", Type: abi.TypeNumber, Optional: true},
			{Name: "url", Selector: "td.title a", Kind: abi.KindURL},
			{Name: "login", Kind: abi.KindAttr, Attr: "data-login"},
			{Name: "urgent", Selector: ".urgent", Kind: abi.KindExists, Type: abi.TypeBool},
			{Name: "labels", Selector: ".label", List: true, Optional: true},
			{Name: "notes", Kind: abi.KindNested, Nested: &abi.Extraction{Rows: ".note", Cols: []abi.Col{{Name: "text", Kind: abi.KindRaw}}}},
		},
	}
	table := abi.Table{
		Cols: []string{"id", "title", "score", "url", "login", "urgent", "labels", "notes"},
		Rows: [][]any{
			{12, "Füße\n\"<b>&\" 😀\u2028", 0.5, "https://tracker.example/issues/12", "ann", true, []string{"bug", "ui"}, abi.Table{Cols: []string{"text"}, Rows: [][]any{{" x "}}}},
			{-9, "", nil, "https://tracker.example/issues/9", "", false, nil, abi.Table{Cols: []string{"text"}, Rows: [][]any{}}},
		},
	}
	return map[string]any{
		"call_input": abi.CallInput{
			V: 1, Tool: "tracker.list", Args: json.RawMessage(`{"status":"open"}`), Now: 1767323045000, Seed: 4294967295,
			Settings: map[string]string{"base_url": "https://tracker.example"}, Locale: "en-GB",
		},
		"call_output": abi.CallOutput{OK: true, Result: json.RawMessage(`{"issues":[{"id":12}]}`)},
		"call_error":  abi.CallOutput{Error: &abi.ErrorData{Code: abi.ErrAuthExpired, Message: "signed out", Hint: "drawbridge login tracker"}},
		"description": abi.Description{V: 1, Tools: []string{"tracker.get", "tracker.list"}},
		"program": abi.Program{V: 1, Steps: []abi.Step{
			{Op: abi.OpNavigate, Path: "/issues?status=open", Wait: "#issues"},
			{Op: abi.OpWait, Selector: ".spinner", State: abi.StateDetached, TimeoutMS: 5000},
			{Op: abi.OpExtract, As: "issues", Schema: &extraction},
			{Op: abi.OpExists, As: "more", Selector: "a.next", Within: []string{"iframe#list"}},
			{Op: abi.OpPage, As: "page"},
			{Op: abi.OpHTML, As: "body", Selector: "#main", Max: 65536},
			{Op: abi.OpSnapshot, As: "tree", Selector: "#main", Max: 16384},
		}},
		"program_act": abi.Program{V: 1, Steps: []abi.Step{
			{Op: abi.OpNavigate, Path: "/issues/12"},
			{Op: abi.OpFill, Selector: "#body", Value: "Done\r\n"},
			{Op: abi.OpSelect, Selector: "#state", Value: "closed"},
			{Op: abi.OpCheck, Selector: "#notify", Checked: true},
			{Op: abi.OpPress, Selector: "#body", Key: "Tab"},
			{Op: abi.OpClick, Selector: "#send", Wait: "#flash"},
		}},
		"program_screenshot": abi.Program{V: 1, Steps: []abi.Step{
			{Op: abi.OpNavigate, Path: "/issues/12"},
			{Op: abi.OpScreenshot, As: "chart", Selector: "#burndown", Within: []string{"iframe#charts"}},
			{Op: abi.OpScreenshot, As: "window"},
		}},
		"answer_screenshot": abi.Answer{
			OK: true, Page: &abi.PageInfo{URL: "https://tracker.example/issues/12", Title: "Crash on save"},
			Data: map[string]json.RawMessage{"chart": raw(abi.ImageHandle("image:4QRSTUVWXYZ23456"))},
		},
		"extraction": extraction,
		"table":      table,
		"answer": abi.Answer{
			OK: true, Page: &abi.PageInfo{URL: "https://tracker.example/issues", Title: "Issues"}, Truncated: true,
			Data:    map[string]json.RawMessage{"issues": raw(table), "more": json.RawMessage("true")},
			Dialogs: []abi.DialogInfo{{Type: "alert", Message: "Saved", Accepted: true}},
		},
		"answer_error":  abi.Answer{Step: 2, Error: &abi.ErrorData{Code: abi.ErrSelectorDrift, Message: `nothing matches "tr.issue"`}},
		"fetch_request": abi.FetchRequest{V: 1, Method: "POST", Path: "/comment?id=12", Accept: "text/html", Parse: abi.ParseHTML, Schema: &extraction, Body: &abi.FetchBody{Encoding: abi.EncodingURLEncoded, Fields: []abi.Field{{Name: "csrf", Token: "input[name=csrf]"}, {Name: "text", Value: "a&b"}}}},
		"fetch_json":    abi.FetchRequest{V: 1, Method: "POST", Path: "/graphql", Parse: abi.ParseJSON, Body: &abi.FetchBody{Encoding: abi.EncodingJSON, JSON: json.RawMessage(`{"operation":"list"}`)}},
		"fetch_answer":  abi.FetchAnswer{OK: true, Status: 422, URL: "https://tracker.example/comment", ContentType: "text/html; charset=utf-8", Text: "x", JSON: json.RawMessage(`[]`), Table: raw(table)},
		"fetch_error":   abi.FetchAnswer{Error: &abi.ErrorData{Code: abi.ErrOriginDenied, Message: `"/other" is not in reads`}},
		"progress":      abi.ProgressReport{V: 1, Done: 2, Total: 5, Message: "page 2 of 5"},
	}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func TestGoldenDocuments(t *testing.T) {
	for name, v := range examples() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "golden", name+".json")
			got := indented(t, v)
			want := golden.Check(t, file, got)
			back := reflect.New(reflect.TypeOf(v))
			strict(t, want, back.Interface())
			if again := indented(t, back.Elem().Interface()); !bytes.Equal(again, want) {
				t.Errorf("read and written again:\n got %s\nwant %s", again, want)
			}
		})
	}
}

// A file that no document belongs to any more would freeze nothing.
func TestGoldenFilesAreAllUsed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := examples()[strings.TrimSuffix(filepath.Base(f), ".json")]; !ok {
			t.Errorf("%s belongs to no document", f)
		}
	}
}

// Every field of a document stands in some golden file: a new field is frozen
// with the change that adds it.
func TestGoldenFilesUseEveryField(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range examples() {
		markFields(reflect.ValueOf(v), seen)
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[abi.CallInput](), reflect.TypeFor[abi.CallOutput](), reflect.TypeFor[abi.Description](), reflect.TypeFor[abi.ErrorData](),
		reflect.TypeFor[abi.Program](), reflect.TypeFor[abi.Step](), reflect.TypeFor[abi.Answer](), reflect.TypeFor[abi.PageInfo](), reflect.TypeFor[abi.DialogInfo](),
		reflect.TypeFor[abi.FetchRequest](), reflect.TypeFor[abi.FetchBody](), reflect.TypeFor[abi.Field](), reflect.TypeFor[abi.FetchAnswer](), reflect.TypeFor[abi.ProgressReport](),
		reflect.TypeFor[abi.Extraction](), reflect.TypeFor[abi.Follow](), reflect.TypeFor[abi.Col](), reflect.TypeFor[abi.Table](),
	} {
		for f := range typ.Fields() {
			if !seen[typ.Name()+"."+f.Name] {
				t.Errorf("no golden file uses %s.%s", typ.Name(), f.Name)
			}
		}
	}
}

func markFields(v reflect.Value, seen map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			markFields(v.Elem(), seen)
		}
	case reflect.Slice:
		for i := range v.Len() {
			markFields(v.Index(i), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				seen[v.Type().Name()+"."+v.Type().Field(i).Name] = true
			}
			markFields(v.Field(i), seen)
		}
	default:
	}
}

// Guests ignore what they do not know, and a struct decoder has to.
func TestUnknownFieldsAreIgnoredByGuests(t *testing.T) {
	for name, v := range examples() {
		doc := bytes.Replace(indented(t, v), []byte("{"), []byte(`{"grease_5e1f":[{"a":null}],`), 1)
		back := reflect.New(reflect.TypeOf(v))
		if err := json.Unmarshal(doc, back.Interface()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(indented(t, back.Elem().Interface()), indented(t, v)) {
			t.Errorf("%s: an unknown field changed what was read", name)
		}
	}
}

func strict(t *testing.T, doc []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Errorf("%v in %s", err, doc)
	}
}

func packageComment(t *testing.T) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f.Doc.Text()
}

// The examples in the specification are what the types say.
func TestSpecificationExamples(t *testing.T) {
	var examples []string
	open := false
	for line := range strings.Lines(packageComment(t)) {
		switch {
		case strings.HasPrefix(line, "\t{"):
			examples, open = append(examples, line), true
		case open && strings.HasPrefix(line, "\t "):
			examples[len(examples)-1] += line
		default:
			open = false
		}
	}
	documents := []any{&abi.CallInput{}, &abi.Program{}, &abi.Answer{}, &abi.CallOutput{}, &abi.Answer{}, &abi.CallOutput{}}
	if len(examples) != len(documents) {
		t.Fatalf("%d examples, want %d", len(examples), len(documents))
	}
	for i, example := range examples {
		strict(t, []byte(example), documents[i])
	}
	program, answer := documents[1].(*abi.Program), documents[2].(*abi.Answer)
	var table abi.Table
	strict(t, answer.Data[program.Steps[1].As], &table)
	for i, c := range program.Steps[1].Schema.Cols {
		if table.Cols[i] != c.Name {
			t.Errorf("the example asks for the column %q and gets %q", c.Name, table.Cols[i])
		}
	}
}

// The specification names everything that is closed.
func TestSpecificationIsComplete(t *testing.T) {
	text := packageComment(t)
	words := strings.FieldsFunc(text, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_", r) })
	var names []string
	for _, c := range abi.Codes() {
		names = append(names, string(c))
	}
	for _, c := range abi.Capabilities() {
		names = append(names, string(c))
	}
	for _, op := range abi.Ops() {
		names = append(names, string(op))
	}
	for _, name := range names {
		if !slices.Contains(words, name) {
			t.Errorf("the specification does not name %q", name)
		}
	}
	if !strings.Contains(text, abi.Namespace) {
		t.Error("the specification does not name the host's namespace")
	}
}
