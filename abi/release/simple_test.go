package release

import (
	"encoding/json"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

const tableSchema = `{"type":"object","properties":{"cols":{"type":"array","maxItems":2,"minItems":1,"items":{"type":"string","maxLength":3}},` +
	`"rows":{"type":"array","items":{"type":"array","items":{"type":["string","integer","null"]}}},"more":{"type":"boolean"},"n":{"type":"integer"},` +
	`"id":{"type":"string","minLength":2,"description":"an id"}},"required":["cols"],"additionalProperties":false}`

func TestSimpleAgreesWithTheLibrary(t *testing.T) {
	s, err := CompileSchema(json.RawMessage(tableSchema))
	if err != nil || s.simple == nil {
		t.Fatalf("not simple: %v", err)
	}
	for _, doc := range []string{
		`{"cols":["a"]}`, `{"cols":["äöü"]}`, `{"cols":["a"],"rows":[["a",1,null],[]],"more":true,"n":-12,"id":"äö"}`,
	} {
		v, _ := strictjson.Value([]byte(doc))
		if fits := s.simple.fits([]byte(doc)); !fits || s.validate(v) != nil {
			t.Errorf("%s: the short way says %v, the library %v", doc, fits, s.validate(v))
		}
	}
	for _, doc := range []string{
		`{}`, `[]`, `1`, `{"cols":[]}`, `{"cols":["a","b","c"]}`, `{"cols":["abcd"]}`, `{"cols":[1]}`, `{"cols":["a"],"x":1}`,
		`{"cols":["a"],"rows":[[true]]}`, `{"cols":["a"],"rows":[1]}`, `{"cols":["a"],"more":null}`, `{"cols":["a"],"n":1.5}`, `{"cols":["a"],"n":"1"}`,
		`{"cols":["a"],"id":"ä"}`,
	} {
		if s.simple.fits([]byte(doc)) || s.Validate([]byte(doc)) == nil {
			t.Errorf("%s is said to fit", doc)
		}
	}
}

func TestNotSimple(t *testing.T) {
	for _, member := range []string{
		`{"type":"string","pattern":"^a"}`, `{"type":"string","enum":["a"]}`, `{"type":"integer","minimum":1}`, `{"anyOf":[{"type":"string"}]}`,
		`{"type":"array","uniqueItems":true}`, `{"type":["string","array"],"maxLength":3}`, `{"maxItems":3}`, `{"const":1}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","maxLength":3}`,
		`{"type":"object","properties":{"a":{"not":{}}}}`, `{"$ref":"#/$defs/a"}`,
	} {
		s, err := CompileSchema(json.RawMessage(`{"type":"object","$defs":{"a":{"type":"string"}},"properties":{"m":` + member + `}}`))
		if err != nil {
			t.Errorf("%s: %v", member, err)
		} else if s.simple != nil {
			t.Errorf("%s is taken for a simple schema", member)
		}
	}
}

// FuzzSimple holds the short way against the library: what fits the one, fits the
// other.
func FuzzSimple(f *testing.F) {
	f.Add(tableSchema, `{"cols":["a"],"rows":[["a",1,null]]}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"number"}}}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, schema, doc string) {
		s, err := CompileSchema(json.RawMessage(schema))
		if err != nil || s.simple == nil || strictjson.Check([]byte(doc), strictjson.AnyText(), strictjson.AnyKeys()) != nil {
			return
		}
		if s.simple.fits([]byte(doc)) {
			v, _ := strictjson.Value([]byte(doc))
			if err := s.compiled.Validate(v); err != nil {
				t.Errorf("%s fits %s by the short way: %v", doc, schema, err)
			}
		}
	})
}
