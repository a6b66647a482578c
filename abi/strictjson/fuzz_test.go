package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

func FuzzDecode(f *testing.F) {
	for _, tr := range traps(f) {
		f.Add([]byte(*tr.JSON))
		f.Add([]byte(tr.Twin))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var free, lax any
		err := strictjson.Decode(data, &free, strictjson.AnyText(), strictjson.AnyKeys())
		laxErr := json.Unmarshal(data, &lax)
		if err == nil && (laxErr != nil || !reflect.DeepEqual(free, lax)) {
			t.Errorf("accepted, and encoding/json says %v, %v", lax, laxErr)
		}
		if err == nil {
			dec := json.NewDecoder(bytes.NewReader(data))
			dec.UseNumber()
			var want any
			got, ok := strictjson.Value(data)
			checkMembers(t, data)
			if dec.Decode(&want) != nil || !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("Value = %#v, %v, want %#v", got, ok, want)
			}
		}
		if err == nil && hasDuplicate(t, data) {
			t.Error("accepted with a duplicate key")
		}
		var refused *strictjson.Error
		if err != nil && (!errors.As(err, &refused) || refused.Reason == "" || refused.Path == "" || refused.Path[0] != '$') {
			t.Errorf("refused without reason or path: %v", err)
		}
		var m manifest
		if strictjson.Decode(data, &m) == nil {
			checkTyped(t, data, m)
		}
		fixed := strictjson.ReplaceLoneSurrogates(data)
		if again := strictjson.Check(fixed, strictjson.AnyText(), strictjson.AnyKeys()); errors.Is(again, strictjson.LoneSurrogate) {
			t.Errorf("a lone surrogate is left in %q", fixed)
		}
	})
}

// checkMembers asserts that Members and encoding/json see the same object.
func checkMembers(t *testing.T, data []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	isObject := json.Unmarshal(data, &want) == nil && want != nil
	got, err := strictjson.Members(data, strictjson.AnyText(), strictjson.AnyKeys())
	if err != nil || isObject != (got != nil) || isObject && !reflect.DeepEqual(got, want) {
		t.Errorf("Members = %s, %v, want %s", got, err, want)
	}
}

// checkTyped asserts that an accepted document has no other reading: a decoder
// that ignores case finds the same value in it.
func checkTyped(t *testing.T, data []byte, m manifest) {
	t.Helper()
	var lax manifest
	if err := json.Unmarshal(data, &lax); err != nil || !reflect.DeepEqual(m, lax) {
		t.Errorf("accepted as %+v, encoding/json says %+v, %v", m, lax, err)
	}
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &keys); err != nil {
		t.Fatal(err)
	}
	for k := range keys {
		switch k {
		case "id", "destructive", "token", "wasm", "matches", "tools", "labels", "raw":
		default:
			t.Errorf("accepted with the key %q", k)
		}
	}
}

// hasDuplicate looks for equal keys with another tokenizer.
func hasDuplicate(t *testing.T, data []byte) bool {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var walk func() bool
	walk = func() bool {
		tok, err := d.Token()
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("accepted, and the tokenizer says %v", err)
		}
		open, ok := tok.(json.Delim)
		if !ok {
			return false
		}
		seen, dup := map[string]bool{}, false
		for d.More() {
			if open == '{' {
				key, err := d.Token()
				if err != nil {
					t.Fatal(err)
				}
				k, _ := key.(string)
				dup = dup || seen[k]
				seen[k] = true
			}
			dup = walk() || dup
		}
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		return dup
	}
	return walk()
}
