package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// span is one member of the outermost object.
type span struct {
	key      string
	from, to int // of its value
}

// unmarshal decodes an accepted document into p. What a struct keeps as
// json.RawMessage is as a rule nearly all of the document, and taken as it is:
// encoding/json would read it twice more.
func unmarshal(data []byte, p reflect.Value, top []span) error {
	fields, ok := rawFields(p.Type().Elem())
	if !ok {
		return json.Unmarshal(data, p.Interface())
	}
	for _, m := range top {
		i, ok := fields[m.key]
		if !ok {
			return fmt.Errorf("BUG: no field for the accepted key %q", m.key)
		}
		f, value := p.Elem().Field(i), data[m.from:m.to]
		if raw, ok := reflect.TypeAssert[*json.RawMessage](f.Addr()); ok {
			*raw = bytes.Clone(value)
			continue
		}
		if err := json.Unmarshal(value, f.Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// rawFields returns the fields of a struct by their keys, if it holds a
// json.RawMessage and each of its fields has a plain tag.
func rawFields(t reflect.Type) (map[string]int, bool) {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil, false
	}
	fields, raw := map[string]int{}, false
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || !validName(name) || name == "-" || hasOption(opts, "string") {
			return nil, false
		}
		if _, twice := fields[name]; twice {
			return nil, false
		}
		fields[name] = i
		raw = raw || f.Type == reflect.TypeFor[json.RawMessage]()
	}
	return fields, raw
}
