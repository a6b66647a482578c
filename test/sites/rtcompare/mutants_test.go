package rtcompare

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"testing"
)

// mutants yields a document for each place in it: with another value there, with
// nothing there, and for objects and lists with something more.
func mutants(t *testing.T, document []byte) iter.Seq[[]byte] {
	t.Helper()
	root, err := decode(document)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func([]byte) bool) {
		vary(root, func(mutant any) bool {
			data, err := json.Marshal(mutant)
			if err != nil {
				t.Fatal(err)
			}
			return yield(data)
		})
	}
}

// vary calls emit with every variant of v, until emit says no more.
func vary(v any, emit func(any) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		return varyObject(v, emit)
	case []any:
		return varyList(v, emit)
	case string:
		return emit(v+"~") && emit(" "+v) && emit(nil)
	case json.Number:
		return emit(json.Number("1" + v.String()))
	case bool:
		return emit(!v)
	}
	return emit("something")
}

func varyObject(v map[string]any, emit func(any) bool) bool {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		with := func(x any) bool {
			changed := maps.Clone(v)
			changed[name] = x
			return emit(changed)
		}
		without := maps.Clone(v)
		delete(without, name)
		if !vary(v[name], with) || !emit(without) {
			return false
		}
	}
	more := maps.Clone(v)
	more["more"] = "x"
	return emit(more)
}

func varyList(v []any, emit func(any) bool) bool {
	for i := range v {
		with := func(x any) bool {
			changed := slices.Clone(v)
			changed[i] = x
			return emit(changed)
		}
		if !vary(v[i], with) || !emit(slices.Delete(slices.Clone(v), i, i+1)) {
			return false
		}
	}
	if len(v) > 1 {
		turned := slices.Clone(v)
		turned[0], turned[1] = turned[1], turned[0]
		if !emit(turned) {
			return false
		}
	}
	return emit(append(slices.Clone(v), "x"))
}
