package main

import (
	"cmp"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// model lists what is wanted by its name, and values in the order of the source,
// so that the output is the same whatever order files are read in.
func (l *loader) model() *model {
	m := &model{limits: l.limits()}
	for _, name := range l.pkg.Scope().Names() {
		if !l.wanted[name] {
			continue
		}
		obj := l.pkg.Scope().Lookup(name)
		doc := l.docs[obj.Pos()]
		if s, ok := obj.Type().Underlying().(*types.Struct); ok {
			m.structs = append(m.structs, structure{name: name, doc: doc, fields: l.fields(s)})
			continue
		}
		m.enums = append(m.enums, enum{name: name, doc: doc, values: l.constants(obj.Type())})
	}
	return m
}

func (l *loader) fields(s *types.Struct) []field {
	var all []field
	for i := range s.NumFields() {
		name, options, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
		f := s.Field(i)
		all = append(all, field{json: name, doc: l.docs[f.Pos()], typ: f.Type(), omit: strings.HasPrefix(options, "omit")})
	}
	return all
}

// constants are the exported ones of type t.
func (l *loader) constants(t types.Type) []value {
	var found []*types.Const
	for _, name := range l.pkg.Scope().Names() {
		if c, ok := l.pkg.Scope().Lookup(name).(*types.Const); ok && c.Exported() && types.Identical(c.Type(), t) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *types.Const) int { return cmp.Compare(a.Pos(), b.Pos()) })
	all := make([]value, 0, len(found))
	for _, c := range found {
		v := value{name: c.Name(), doc: l.docs[c.Pos()]}
		if c.Val().Kind() == constant.String {
			v.text, v.isText = constant.StringVal(c.Val()), true
		} else {
			v.number, _ = constant.Int64Val(c.Val())
		}
		all = append(all, v)
	}
	return all
}

// limits are limits.go: version, namespace, and numbers with and without a unit of time.
func (l *loader) limits() []value {
	timeout := l.pkg.Scope().Lookup("DefaultCallTimeout").Type()
	all := slices.Concat(l.constants(types.Typ[types.UntypedInt]), l.constants(l.pkg.Scope().Lookup("Namespace").Type()))
	for _, v := range l.constants(timeout) {
		v.name, v.number = v.name+"Millis", v.number/1e6
		all = append(all, v)
	}
	return all
}
