package sdk

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

type cellRow struct {
	A string  `json:"a"`
	B *string `json:"b"`
	N int     `json:"n"`
}

// FuzzAnswer holds the short way through an answer against encoding/json, for
// what a host sends: valid JSON.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"ok":true,"data":{"t":{"cols":["a","b","n"],"rows":[["x","y",1],["\u00e4",null,2]]}}}`,
		` { "ok" : false , "step" : 2 , "error" : { "code" : "timeout" , "message" : "a } ] \" , b" } } `,
		`{"ok":true,"page":{"url":"http://x/","title":"[\\"},"data":{},"truncated":true}`,
		`{"ok":true,"data":{"t":{"cols":["a","b"],"rows":[["\\\"x\\\\","\\n, \\\""],["","]"],[null,"\\\\"]]}}}`,
		`{"ok":true,"data":null}`, `{"\u006fk":true}`, `{"data":{"\u0074":1,"u":[]}}`, `{}`, `[]`, `{"ok":true,"data":{"t":{"rows":[[1]],"cols":["n"]}},"data":{}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw := []byte(s)
		if !json.Valid(raw) || hasTwins(raw) {
			return
		}
		got, ok := splitAnswer(raw)
		if !ok {
			return // the long way it is
		}
		var want abi.Answer
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%s is taken, and encoding/json says %v", s, err)
		}
		if len(got.Data) != len(want.Data) {
			t.Fatalf("%s: data %q, want %q", s, got.Data, want.Data)
		}
		for as, v := range want.Data {
			checkTable(t, got.Data[as], v)
		}
		got.Data, want.Data = nil, nil
		if !reflect.DeepEqual(got.Answer, want) {
			t.Errorf("%s is read as %+v, want %+v", s, got.Answer, want)
		}
	})
}

func checkTable(t *testing.T, got, want json.RawMessage) {
	t.Helper()
	if !sameJSON(got, want) {
		t.Fatalf("got %s, want %s", got, want)
	}
	checkCells(t, got, want)
	var table struct {
		Cols []string            `json:"cols"`
		Rows [][]json.RawMessage `json:"rows"`
	}
	var rows []cellRow
	fast := fillTable(got, reflect.ValueOf(&rows).Elem())
	if fast != nil || json.Unmarshal(want, &table) != nil {
		return
	}
	for i, row := range table.Rows {
		var slow cellRow
		for j, cell := range row {
			switch table.Cols[j] {
			case "a":
				_ = json.Unmarshal(cell, &slow.A)
			case "b":
				_ = json.Unmarshal(cell, &slow.B)
			case "n":
				_ = json.Unmarshal(cell, &slow.N)
			}
		}
		if !reflect.DeepEqual(slow, rows[i]) {
			t.Errorf("row %d of %s is %+v, want %+v", i, want, rows[i], slow)
		}
	}
}

// checkCells holds Cells against encoding/json.
func checkCells(t *testing.T, got, want json.RawMessage) {
	t.Helper()
	var slow struct {
		Cols []string   `json:"cols"`
		Rows [][]string `json:"rows"`
	}
	r := &Result{abi.Answer{Data: map[string]json.RawMessage{"t": got}}}
	cols, rows, err := Cells(r, "t")
	if err != nil {
		return
	}
	if err := json.Unmarshal(want, &slow); err != nil {
		t.Fatalf("Cells takes %s, and encoding/json says %v", want, err)
	}
	for i := range slow.Rows {
		if !slices.Equal(rows[i], slow.Rows[i]) {
			t.Errorf("row %d of %s is %q, want %q", i, want, rows[i], slow.Rows[i])
		}
	}
	if !slices.Equal(cols, slow.Cols) || len(rows) != len(slow.Rows) {
		t.Errorf("%s has columns %q and %d rows, want %q and %d", want, cols, len(rows), slow.Cols, len(slow.Rows))
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// hasTwins reports whether a key of an object comes twice, or differs from one
// that is known by case alone; the host writes neither.
func hasTwins(raw []byte) bool {
	again, err := json.Marshal(json.RawMessage(raw))
	if err != nil {
		return true
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return true
	}
	back, err := json.Marshal(v)
	if err != nil || len(back) < len(again) {
		return true
	}
	return hasCapitals(v)
}

func hasCapitals(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, hasCapitals)
	case map[string]any:
		for k, e := range v {
			for _, r := range k {
				if r > 'z' || r >= 'A' && r <= 'Z' {
					return true
				}
			}
			if hasCapitals(e) {
				return true
			}
		}
	}
	return false
}
