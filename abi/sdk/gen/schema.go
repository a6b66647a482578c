package main

import (
	"encoding/json"
	"fmt"
	"go/types"
)

// schema writes one JSON Schema (2020-12) with a definition for each document.
// Objects are open: a module ignores fields that it does not know.
func (m *model) schema() ([]byte, error) {
	defs := map[string]any{}
	for _, e := range m.enums {
		def := map[string]any{"type": "string", "description": e.doc}
		var values []string
		for _, v := range e.values {
			values = append(values, v.text)
		}
		if values != nil {
			def["enum"] = values
		}
		defs[e.name] = def
	}
	for _, s := range m.structs {
		properties, required := map[string]any{}, []string{}
		for _, f := range s.fields {
			properties[f.json] = schemaField(f)
			if !f.omit {
				required = append(required, f.json)
			}
		}
		defs[s.name] = map[string]any{"type": "object", "description": s.doc, "properties": properties, "required": required}
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": header, "$defs": defs,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding schema: %w", err)
	}
	return append(text, '\n'), nil
}

func schemaField(f field) map[string]any {
	def := schemaType(f.typ)
	if f.doc != "" {
		def["description"] = f.doc
	}
	return def
}

func schemaType(t types.Type) map[string]any {
	kind, elem := shapeOf(t)
	switch kind {
	case isString:
		return map[string]any{"type": "string"}
	case isBool:
		return map[string]any{"type": "boolean"}
	case isInt:
		return map[string]any{"type": "integer"}
	case isFloat:
		return map[string]any{"type": "number"}
	case isRaw:
		return map[string]any{}
	case isEnum, isStruct:
		return map[string]any{"$ref": "#/$defs/" + nameOf(t)}
	case isList:
		return map[string]any{"type": "array", "items": schemaType(elem)}
	case isMap:
		return map[string]any{"type": "object", "additionalProperties": schemaType(elem)}
	}
	panic("BUG: a shape without a schema")
}
