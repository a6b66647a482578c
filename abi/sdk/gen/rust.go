package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// rust writes a struct for each document, with the traits Write and Read of the
// crate's json module. It needs alloc and nothing else.
func (m *model) rust() []byte {
	var b strings.Builder
	b.WriteString("// " + header + "\n\nuse crate::json::{Read, Value, Write, Writer};\n" +
		"use alloc::{boxed::Box, string::String, vec::Vec};\n\n")
	for _, v := range m.limits {
		comment(&b, "", "///", v.doc)
		fmt.Fprintf(&b, "pub const %s: %s = %s;\n", upper(v.name), rustConst(v), literal(v))
	}
	for _, e := range m.enums {
		b.WriteByte('\n')
		comment(&b, "", "///", e.doc)
		fmt.Fprintf(&b, "pub type %s = String;\n", e.name)
		for _, v := range e.values {
			comment(&b, "", "///", v.doc)
			fmt.Fprintf(&b, "pub const %s: &str = %q;\n", upper(v.name), v.text)
		}
	}
	for _, s := range m.structs {
		b.WriteByte('\n')
		comment(&b, "", "///", s.doc)
		fmt.Fprintf(&b, "#[derive(Clone, Debug, Default, PartialEq)]\npub struct %s {\n", s.name)
		for _, f := range s.fields {
			comment(&b, "    ", "///", f.doc)
			fmt.Fprintf(&b, "    pub %s: %s,\n", rustName(f.json), rustType(f.typ))
		}
		b.WriteString("}\n")
		rustImpl(&b, s)
	}
	return []byte(b.String())
}

func rustImpl(b *strings.Builder, s structure) {
	fmt.Fprintf(b, "\nimpl Write for %s {\n    fn write(&self, w: &mut Writer) {\n        w.open();\n", s.name)
	for _, f := range s.fields {
		call := "field"
		if f.omit {
			call = "field_unless_zero"
		}
		fmt.Fprintf(b, "        w.%s(%q, &self.%s);\n", call, f.json, rustName(f.json))
	}
	b.WriteString("        w.close();\n    }\n}\n")
	fmt.Fprintf(b, "\nimpl Read for %s {\n    fn read(v: &Value) -> Self {\n        Self {\n", s.name)
	for _, f := range s.fields {
		fmt.Fprintf(b, "            %s: v.field(%q),\n", rustName(f.json), f.json)
	}
	b.WriteString("        }\n    }\n}\n")
}

// rustName sets keywords apart.
func rustName(name string) string {
	if slices.Contains([]string{"as", "type"}, name) {
		return name + "_"
	}
	return name
}

func rustConst(v value) string {
	if v.isText {
		return "&str"
	}
	return "i64"
}

func rustType(t types.Type) string {
	kind, elem := shapeOf(t)
	switch kind {
	case isString:
		return "String"
	case isBool:
		return "bool"
	case isInt:
		return "i64"
	case isFloat:
		return "f64"
	case isRaw:
		return "Value"
	case isEnum:
		return nameOf(t)
	case isStruct:
		if isPointer(t) {
			return "Option<Box<" + nameOf(t) + ">>"
		}
		return nameOf(t)
	case isList:
		return "Vec<" + rustType(elem) + ">"
	case isMap:
		return "Vec<(String, " + rustType(elem) + ")>"
	}
	panic("BUG: a shape without a type in Rust")
}
