package main

import (
	"fmt"
	"go/types"
	"strings"
)

// assemblyScript writes a class for each document, which writes itself as JSON and
// reads itself from a parsed value. What is missing or of another type in there
// stays as in a new object, and what is unknown is passed over.
func (m *model) assemblyScript() []byte {
	var b strings.Builder
	b.WriteString("// " + header + "\n\nimport { Value, Writer } from \"./json\";\n\n")
	for _, v := range m.limits {
		comment(&b, "", "//", v.doc)
		typ := "i64"
		if v.isText {
			typ = "string"
		}
		fmt.Fprintf(&b, "export const %s: %s = %s;\n", v.name, typ, literal(v))
	}
	for _, e := range m.enums {
		b.WriteByte('\n')
		comment(&b, "", "//", e.doc)
		fmt.Fprintf(&b, "export type %s = string;\n", e.name)
		for _, v := range e.values {
			comment(&b, "", "//", v.doc)
			fmt.Fprintf(&b, "export const %s: %s = %q;\n", v.name, e.name, v.text)
		}
	}
	for _, s := range m.structs {
		b.WriteByte('\n')
		comment(&b, "", "//", s.doc)
		fmt.Fprintf(&b, "export class %s {\n", s.name)
		for _, f := range s.fields {
			comment(&b, "  ", "//", f.doc)
			fmt.Fprintf(&b, "  %s: %s = %s;\n", f.json, asField(f.typ), asZero(f.typ))
		}
		asWrite(&b, s)
		asRead(&b, s)
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

func asWrite(b *strings.Builder, s structure) {
	b.WriteString("\n  write(w: Writer): void {\n    w.open();\n")
	for _, f := range s.fields {
		kind, elem := shapeOf(f.typ)
		if kind == isRaw || kind == isStruct && isPointer(f.typ) {
			fmt.Fprintf(b, "    const %s_ = this.%s;\n    if (%s_ !== null) {\n      w.key(%q);\n      %s_.write(w);\n    }", f.json, f.json, f.json, f.json, f.json)
			if !f.omit {
				fmt.Fprintf(b, " else {\n      w.key(%q);\n      w.null_();\n    }", f.json)
			}
			b.WriteByte('\n')
			continue
		}
		indent := "    "
		if f.omit {
			fmt.Fprintf(b, "    if (%s) {\n", asNonZero("this."+f.json, kind))
			indent = "      "
		}
		fmt.Fprintf(b, "%sw.key(%q);\n", indent, f.json)
		asWriteValue(b, indent, "this."+f.json, f.typ, elem, 0)
		if f.omit {
			b.WriteString("    }\n")
		}
	}
	b.WriteString("    w.close();\n  }\n")
}

func asWriteValue(b *strings.Builder, indent, expr string, t, elem types.Type, depth int) {
	kind, _ := shapeOf(t)
	i := fmt.Sprintf("i%d", depth)
	switch kind {
	case isString, isEnum:
		fmt.Fprintf(b, "%sw.str(%s);\n", indent, expr)
	case isBool:
		fmt.Fprintf(b, "%sw.bool_(%s);\n", indent, expr)
	case isInt:
		fmt.Fprintf(b, "%sw.int(%s);\n", indent, expr)
	case isFloat:
		fmt.Fprintf(b, "%sw.num(%s);\n", indent, expr)
	case isRaw, isStruct:
		fmt.Fprintf(b, "%s%s.write(w);\n", indent, expr)
	case isList:
		_, inner := shapeOf(elem)
		fmt.Fprintf(b, "%sw.openList();\n%sfor (let %s = 0; %s < %s.length; %s++) {\n%s  w.item();\n", indent, indent, i, i, expr, i, indent)
		asWriteValue(b, indent+"  ", expr+"["+i+"]", elem, inner, depth+1)
		fmt.Fprintf(b, "%s}\n%sw.closeList();\n", indent, indent)
	case isMap:
		_, inner := shapeOf(elem)
		fmt.Fprintf(b, "%sw.open();\n%sfor (let %s = 0, k = %s.keys(); %s < k.length; %s++) {\n%s  w.key(k[%s]);\n", indent, indent, i, expr, i, i, indent, i)
		asWriteValue(b, indent+"  ", expr+".get(k["+i+"])", elem, inner, depth+1)
		fmt.Fprintf(b, "%s}\n%sw.close();\n", indent, indent)
	}
}

func asNonZero(expr string, kind shape) string {
	switch kind {
	case isBool:
		return expr
	case isInt, isFloat:
		return expr + " != 0"
	case isMap:
		return expr + ".size > 0"
	case isString, isEnum, isRaw, isStruct, isList:
		return expr + ".length > 0"
	}
	panic("BUG: a shape without a zero in AssemblyScript")
}

func asRead(b *strings.Builder, s structure) {
	fmt.Fprintf(b, "\n  static read(v: Value): %s {\n    const out = new %s();\n", s.name, s.name)
	for _, f := range s.fields {
		name := f.json + "_"
		fmt.Fprintf(b, "    const %s = v.get(%q);\n    if (%s !== null) {\n", name, f.json, name)
		asReadInto(b, "      ", "out."+f.json, name, f.typ, 0)
		b.WriteString("    }\n")
	}
	b.WriteString("    return out;\n  }\n")
}

// asReadInto writes the statements that read the value from into the target.
func asReadInto(b *strings.Builder, indent, target, from string, t types.Type, depth int) {
	kind, elem := shapeOf(t)
	i := fmt.Sprintf("i%d", depth)
	switch kind {
	case isList:
		fmt.Fprintf(b, "%sfor (let %s = 0; %s < %s.items.length; %s++) {\n", indent, i, i, from, i)
		item := asReadItem(b, indent+"  ", from+".items["+i+"]", elem, depth)
		fmt.Fprintf(b, "%s  %s.push(%s);\n%s}\n", indent, target, item, indent)
	case isMap:
		fmt.Fprintf(b, "%sfor (let %s = 0; %s < %s.names.length; %s++) {\n", indent, i, i, from, i)
		item := asReadItem(b, indent+"  ", from+".items["+i+"]", elem, depth)
		fmt.Fprintf(b, "%s  %s.set(%s.names[%s], %s);\n%s}\n", indent, target, from, i, item, indent)
	case isString, isEnum, isBool, isInt, isFloat, isRaw, isStruct:
		fmt.Fprintf(b, "%s%s = %s;\n", indent, target, asReadValue(from, t, kind))
	}
}

func asReadValue(from string, t types.Type, kind shape) string {
	switch kind {
	case isString, isEnum:
		return from + ".str()"
	case isBool:
		return from + ".bool_()"
	case isInt:
		return from + ".int()"
	case isFloat:
		return from + ".num()"
	case isStruct:
		return nameOf(t) + ".read(" + from + ")"
	case isRaw:
		return from
	case isList, isMap:
	}
	panic("BUG: a shape that AssemblyScript does not read")
}

// asReadItem writes what reads an element, and returns the expression that it is.
func asReadItem(b *strings.Builder, indent, from string, t types.Type, depth int) string {
	kind, _ := shapeOf(t)
	if kind != isList && kind != isMap {
		return asReadValue(from, t, kind)
	}
	item := fmt.Sprintf("item%d", depth)
	fmt.Fprintf(b, "%sconst %s: %s = %s;\n", indent, item, asType(t), asZero(t))
	asReadInto(b, indent, item, from, t, depth+1)
	return item
}

// asField is the type of a field or variable, AsType that of an element.
func asField(t types.Type) string {
	if kind, _ := shapeOf(t); kind == isRaw || kind == isStruct && isPointer(t) {
		return asType(t) + " | null"
	}
	return asType(t)
}

func asType(t types.Type) string {
	kind, elem := shapeOf(t)
	switch kind {
	case isString:
		return "string"
	case isBool:
		return "bool"
	case isInt:
		return "i64"
	case isFloat:
		return "f64"
	case isRaw:
		return "Value"
	case isEnum, isStruct:
		return nameOf(t)
	case isList:
		return "Array<" + asType(elem) + ">"
	case isMap:
		return "Map<string, " + asType(elem) + ">"
	}
	panic("BUG: a shape without a type in AssemblyScript")
}

func asZero(t types.Type) string {
	kind, _ := shapeOf(t)
	switch kind {
	case isString, isEnum:
		return `""`
	case isBool:
		return "false"
	case isInt, isFloat:
		return "0"
	case isRaw:
		return "null"
	case isStruct:
		if isPointer(t) {
			return "null"
		}
		return "new " + asType(t) + "()"
	case isList:
		return "[]"
	case isMap:
		return "new " + asType(t) + "()"
	}
	panic("BUG: a shape without a zero in AssemblyScript")
}
