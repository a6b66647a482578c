package strictjson

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// structKeys are the keys that encoding/json knows for a struct, with the type
// behind each; a nil type takes any value.
type structKeys struct {
	types map[string]reflect.Type
}

func (k *structKeys) has(key []byte) bool {
	_, ok := k.types[string(key)]
	return ok
}

// folded returns the known key that key would pass for, or "".
func (k *structKeys) folded(key []byte) string {
	for name := range k.types {
		if bytes.EqualFold(key, []byte(name)) {
			return name
		}
	}
	return ""
}

// keysOf returns the keys of a struct type, which nobody changes.
func keysOf(t reflect.Type) *structKeys {
	if v, ok := structs.Load(t); ok {
		if k, ok := v.(*structKeys); ok {
			return k
		}
	}
	found := map[string][]candidate{}
	collect(t, 0, nil, found)
	k := &structKeys{types: make(map[string]reflect.Type, len(found))}
	for name, list := range found {
		if c, ok := dominant(list); ok {
			k.types[name] = c.t
		}
	}
	structs.Store(t, k)
	return k
}

// A candidate is a field that would take a key, before embedding is settled.
type candidate struct {
	t      reflect.Type
	depth  int // how many embedded structs lie above it
	tagged bool
}

// collect gathers the fields of t and of what it embeds, by key.
func collect(t reflect.Type, depth int, above []reflect.Type, found map[string][]candidate) {
	if slices.Contains(above, t) {
		return
	}
	above = append(slices.Clip(above), t)
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, opts, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		embedded := f.Type
		if f.Anonymous && embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		if f.Anonymous && name == "" && embedded.Kind() == reflect.Struct {
			collect(embedded, depth+1, above, found)
			continue
		}
		if !f.IsExported() {
			continue
		}
		c := candidate{t: f.Type, depth: depth, tagged: name != ""}
		if name == "" {
			name = f.Name
		}
		if hasOption(opts, "string") && isScalar(f.Type) {
			c.t = nil // a quoted scalar: left to encoding/json
		}
		found[name] = append(found[name], c)
	}
}

// dominant picks the field that Go's and encoding/json's rules pick: the least
// nested, then the tagged one, and none if that leaves two.
func dominant(list []candidate) (candidate, bool) {
	best, unique := list[0], true
	for _, c := range list[1:] {
		switch {
		case c.depth < best.depth, c.depth == best.depth && c.tagged && !best.tagged:
			best, unique = c, true
		case c.depth == best.depth && c.tagged == best.tagged:
			unique = false
		}
	}
	return best, unique
}

// validName reports whether encoding/json takes a tag's name.
func validName(name string) bool {
	if name == "" {
		return false
	}
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// isScalar reports whether encoding/json heeds the option "string" for t.
func isScalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 || t.Kind() == reflect.String
}

func hasOption(opts, want string) bool {
	for opts != "" {
		var o string
		if o, opts, _ = strings.Cut(opts, ","); o == want {
			return true
		}
	}
	return false
}

// A keySet holds the keys of one object. Few keys are compared one by one, so
// that most objects need no map; many go into maps, so that a hostile object
// costs linear time.
type keySet struct {
	few   [8][]byte
	n     int
	exact map[string]bool
	folds map[string]bool
}

// has reports whether the key, or with fold a key equal to it after folding, is
// in the set.
func (s *keySet) has(key []byte, fold bool) bool {
	switch {
	case s.exact == nil:
		for _, k := range s.few[:s.n] {
			if bytes.Equal(k, key) || fold && bytes.EqualFold(k, key) {
				return true
			}
		}
		return false
	case fold:
		return s.folds[foldKey(key)]
	}
	return s.exact[string(key)]
}

// add puts a key in; fold says whether it will be asked for by folding.
func (s *keySet) add(key []byte, fold bool) {
	if s.exact == nil && s.n < len(s.few) {
		s.few[s.n] = key
		s.n++
		return
	}
	if s.exact == nil {
		s.exact, s.folds = map[string]bool{}, map[string]bool{}
		for _, k := range s.few[:s.n] {
			s.put(k, fold)
		}
	}
	s.put(key, fold)
}

func (s *keySet) put(key []byte, fold bool) {
	s.exact[string(key)] = true
	if fold {
		s.folds[foldKey(key)] = true
	}
}

// foldKey maps keys that bytes.EqualFold calls equal to one string.
func foldKey(key []byte) string {
	var b strings.Builder
	for len(key) > 0 {
		r, n := utf8.DecodeRune(key)
		key = key[n:]
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		b.WriteRune(least)
	}
	return b.String()
}
