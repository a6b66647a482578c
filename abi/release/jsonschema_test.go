package release

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// The JSON Schemas of plugin.yaml and of a release are for editors and for tools
// in other languages; the host itself decides by Validate. They are written from
// the types and comments of package abi by go generate.
func TestJSONSchemasAreCurrent(t *testing.T) {
	src := readSources(t, "..")
	for file, v := range map[string]any{"plugin.json": abi.Manifest{}, "release.json": abi.Release{}} {
		got := schemaFile(t, src, reflect.TypeOf(v))
		path := filepath.Join("schema", file)
		if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is behind the types; run: go generate ./abi/release", path)
		}
	}
}

func TestJSONSchemasFitTheGoldenFiles(t *testing.T) {
	yamlText, err := os.ReadFile(filepath.Join("testdata", "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	plugin, _, err := yamlToJSON(yamlText)
	if err != nil {
		t.Fatal(err)
	}
	release, err := os.ReadFile(filepath.Join("testdata", "release.json"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		schema       string
		doc          []byte
		old, changed string // what makes it invalid
	}{
		{"plugin.json", plugin, `"category":"connector"`, `"category":"gadget"`},
		{"plugin.json", plugin, `"name":"helpdesk-suite"`, `"name":"Helpdesk"`},
		{"plugin.json", plugin, `"method":"DELETE"`, `"methd":"DELETE"`},
		{"plugin.json", plugin, `"capabilities":["fetch"],`, ``},
		{"plugin.json", plugin, `"max_len":4`, `"max_len":"4"`},
		{"release.json", release, `"format":1`, `"format":"1"`},
		{"release.json", release, `"registry":"registry.example",`, ``},
	}
	for _, tt := range tests {
		s := compileFile(t, filepath.Join("schema", tt.schema))
		if err := s.Validate(decodeAny(t, tt.doc)); err != nil {
			t.Errorf("%s: %v", tt.schema, err)
		}
		bad := bytes.Replace(tt.doc, []byte(tt.old), []byte(tt.changed), 1)
		if bytes.Equal(bad, tt.doc) {
			t.Fatalf("%s: %s is not in the document", tt.schema, tt.old)
		}
		if s.Validate(decodeAny(t, bad)) == nil {
			t.Errorf("%s accepts %s", tt.schema, tt.changed)
		}
	}
}

func compileFile(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("drawbridge:file", decodeAny(t, text)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("drawbridge:file")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decodeAny(t *testing.T, doc []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Sources are the comments and constants of package abi.
type sources struct {
	types  map[string]string   // comment, by type
	fields map[string]string   // comment, by Type.Field
	enums  map[string][]string // values, by type
}

func readSources(t *testing.T, dir string) *sources {
	t.Helper()
	s := &sources{types: map[string]string{}, fields: map[string]string{}, enums: map[string][]string{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				s.add(g)
			}
		}
	}
	return s
}

func (s *sources) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.types[spec.Name.Name] = oneLine(g.Doc.Text())
			st, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range st.Fields.List {
				s.fields[spec.Name.Name+"."+f.Names[0].Name] = oneLine(f.Doc.Text() + f.Comment.Text())
			}
		case *ast.ValueSpec:
			typ, ok := spec.Type.(*ast.Ident)
			if !ok || g.Tok != token.CONST {
				continue
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value, err := strconv.Unquote(lit.Value)
				if err == nil {
					s.enums[typ.Name] = append(s.enums[typ.Name], value)
				}
			}
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Patterns are the rules that an editor can show while one types; Validate has
// all of them.
func patterns() map[string]string {
	return map[string]string{
		"Manifest.Name": `^[a-z][a-z0-9-]{0,40}$`, "Release.Name": `^[a-z][a-z0-9-]{0,40}$`,
		"Connector.ID": `^[a-z][a-z0-9]{0,20}$`, "Setting.Name": `^[a-z][a-z0-9_]{0,30}$`,
		"Tool.Name": `^[a-z][a-z0-9]*(_[a-z0-9]+)*$`, "Request.Method": `^[A-Z]+$`, "Request.Path": `^/`,
		"Module.SHA256": `^[0-9a-f]{64}$`, "Source.Commit": `^([0-9a-f]{40}|[0-9a-f]{64})$`,
		"Manifest.Homepage": `^https://`, "Release.Homepage": `^https://`, "Source.Repo": `^https://`, "Module.URL": `^https://`,
	}
}

type object = map[string]any

func schemaFile(t *testing.T, src *sources, typ reflect.Type) []byte {
	t.Helper()
	defs := object{}
	root := src.structSchema(typ, defs)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = typ.Name()
	root["$defs"] = defs
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (s *sources) structSchema(typ reflect.Type, defs object) object {
	properties, required := object{}, []string{}
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.fieldSchema(f.Type, defs)
		key := typ.Name() + "." + f.Name
		if text := s.fields[key]; text != "" {
			p["description"] = text
		}
		if pattern, ok := patterns()[key]; ok {
			p["pattern"] = pattern
		}
		properties[name] = p
		if options == "" && !emptyIsDefault(key) {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	if text := s.types[typ.Name()]; text != "" {
		out["description"] = text
	}
	return out
}

// EmptyIsDefault names the fields that a release spells out and plugin.yaml may
// leave away.
func emptyIsDefault(key string) bool { return key == "Tool.Reads" }

func (s *sources) fieldSchema(typ reflect.Type, defs object) object {
	if typ == reflect.TypeFor[json.RawMessage]() {
		return object{"type": "object"}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return s.fieldSchema(typ.Elem(), defs)
	case reflect.Slice:
		return object{"type": "array", "items": s.fieldSchema(typ.Elem(), defs)}
	case reflect.Struct:
		if _, ok := defs[typ.Name()]; !ok {
			defs[typ.Name()] = object{} // ends recursion
			defs[typ.Name()] = s.structSchema(typ, defs)
		}
		return object{"$ref": "#/$defs/" + typ.Name()}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "minimum": 0}
	case reflect.String:
		if values := s.enums[typ.Name()]; len(values) > 0 {
			return object{"type": "string", "enum": values}
		}
		return object{"type": "string"}
	default:
		panic("BUG: no schema for " + typ.String())
	}
}
