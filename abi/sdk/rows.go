package sdk

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Result is what the steps of one trip brought.
type Result struct {
	abi.Answer
}

// Exists is the outcome of an [Exists] step.
func (r *Result) Exists(as string) (bool, error) {
	var yes bool
	err := r.decode(as, &yes)
	return yes, err
}

// HTML is the outcome of an [HTML] step, and whether it was cut at the limit.
func (r *Result) HTML(as string) (html string, truncated bool, err error) {
	var v struct {
		HTML      string `json:"html"`
		Truncated bool   `json:"truncated"`
	}
	err = r.decode(as, &v)
	return v.HTML, v.Truncated, err
}

func (r *Result) decode(as string, into any) error {
	raw, ok := r.Data[as]
	if !ok {
		return abi.Errorf(abi.ErrInvalidResult, "decoding", "no step of this trip is called %q", as)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return abi.Errorf(abi.ErrInvalidResult, "decoding "+as, "%w", err)
	}
	return nil
}

// Rows decodes the table of an [Extract] step into structs, by the fields' json
// names. A column without a field is left out; a field without a column keeps
// its zero value; null leaves the zero value too, so that an optional column is
// best a pointer. A nested table decodes into a slice of structs. No rows is an
// empty slice, never nil.
func Rows[T any](r *Result, as string) ([]T, error) {
	return decodeTable[T](r.Data[as], as)
}

// FetchedRows is [Rows] for what [Context.Fetch] extracted from a response.
func FetchedRows[T any](a *abi.FetchAnswer) ([]T, error) {
	return decodeTable[T](a.Table, "table")
}

// Row is [Rows] for a schema that yields one row, such as [Fields].
func Row[T any](r *Result, as string) (T, error) {
	rows, err := Rows[T](r, as)
	if err == nil && len(rows) != 1 {
		err = abi.Errorf(abi.ErrInvalidResult, "decoding "+as, "one row expected, not %d", len(rows))
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return rows[0], nil
}

// A wireTable is abi.Table with its cells left as they came.
type wireTable struct {
	Cols []string            `json:"cols"`
	Rows [][]json.RawMessage `json:"rows"`
}

func decodeTable[T any](raw json.RawMessage, as string) ([]T, error) {
	rows := []T{}
	if raw == nil {
		return nil, abi.Errorf(abi.ErrInvalidResult, "decoding", "no step of this trip is called %q", as)
	}
	if err := fillTable(raw, reflect.ValueOf(&rows).Elem()); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidResult, "decoding "+as, "%w", err)
	}
	return rows, nil
}

// FillTable sets dst, a slice of structs, to a table's rows.
func fillTable(raw json.RawMessage, dst reflect.Value) error {
	var t wireTable
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	elem := dst.Type().Elem()
	if elem.Kind() != reflect.Struct {
		return abi.Errorf(abi.ErrInvalidResult, "", "rows decode into structs, not %s", elem)
	}
	fields := columnFields(elem, t.Cols)
	out := reflect.MakeSlice(dst.Type(), len(t.Rows), len(t.Rows))
	for i, row := range t.Rows {
		if len(row) != len(t.Cols) {
			return abi.Errorf(abi.ErrInvalidResult, "", "row %d has %d cells for %d columns", i, len(row), len(t.Cols))
		}
		for j, cell := range row {
			if fields[j] < 0 {
				continue
			}
			if err := fillCell(cell, out.Index(i).Field(fields[j])); err != nil {
				return abi.Errorf(abi.ErrInvalidResult, "", "row %d, column %q: %w", i, t.Cols[j], err)
			}
		}
	}
	dst.Set(out)
	return nil
}

func fillCell(cell json.RawMessage, dst reflect.Value) error {
	if isTable(dst.Type()) && string(cell) != "null" {
		return fillTable(cell, dst)
	}
	return json.Unmarshal(cell, dst.Addr().Interface())
}

func isTable(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// ColumnFields gives, for each column, the index of its field, or -1.
func columnFields(t reflect.Type, cols []string) []int {
	byName := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		byName[name] = i
	}
	out := make([]int, len(cols))
	for i, c := range cols {
		out[i] = -1
		if f, ok := byName[c]; ok {
			out[i] = f
		}
	}
	return out
}
