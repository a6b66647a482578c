package main

import (
	"fmt"
	"go/types"
	"strings"
)

// typeScript writes types alone, and the lists of what is closed.
func (m *model) typeScript() []byte {
	var b strings.Builder
	b.WriteString("// " + header + "\n\n")
	for _, v := range m.limits {
		comment(&b, "", "//", v.doc)
		fmt.Fprintf(&b, "export const %s = %s;\n", v.name, literal(v))
	}
	for _, e := range m.enums {
		b.WriteByte('\n')
		comment(&b, "", "//", e.doc)
		if len(e.values) == 0 {
			fmt.Fprintf(&b, "export type %s = string;\n", e.name)
			continue
		}
		fmt.Fprintf(&b, "export const %ss = [\n", e.name)
		for _, v := range e.values {
			fmt.Fprintf(&b, "  %q,", v.text)
			comment(&b, " ", "//", oneLine(v.doc))
			if v.doc == "" {
				b.WriteByte('\n')
			}
		}
		fmt.Fprintf(&b, "] as const;\nexport type %s = (typeof %ss)[number];\n", e.name, e.name)
	}
	for _, s := range m.structs {
		b.WriteByte('\n')
		comment(&b, "", "//", s.doc)
		fmt.Fprintf(&b, "export interface %s {\n", s.name)
		for _, f := range s.fields {
			comment(&b, "  ", "//", f.doc)
			optional := ""
			if f.omit {
				optional = "?"
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", f.json, optional, tsType(f.typ))
		}
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

func tsType(t types.Type) string {
	kind, elem := shapeOf(t)
	switch kind {
	case isString:
		return "string"
	case isBool:
		return "boolean"
	case isInt, isFloat:
		return "number"
	case isRaw:
		return "unknown"
	case isEnum, isStruct:
		return nameOf(t)
	case isList:
		return tsType(elem) + "[]"
	case isMap:
		return "Record<string, " + tsType(elem) + ">"
	}
	panic("BUG: a shape without a type in TypeScript")
}

func literal(v value) string {
	if v.isText {
		return fmt.Sprintf("%q", v.text)
	}
	return fmt.Sprint(v.number)
}

func oneLine(doc string) string { return strings.Join(strings.Fields(doc), " ") }
