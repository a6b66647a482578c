package sdk

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"

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

// Snapshot is the outcome of a [Snapshot] step, and whether it was cut at the limit.
func (r *Result) Snapshot(as string) (text string, truncated bool, err error) {
	var v struct {
		Text      string `json:"text"`
		Truncated bool   `json:"truncated"`
	}
	err = r.decode(as, &v)
	return v.Text, v.Truncated, err
}

// Image is the handle of the picture that a [Shot] step took.
func (r *Result) Image(as string) (abi.ImageHandle, error) {
	var h abi.ImageHandle
	err := r.decode(as, &h)
	return h, err
}

func (r *Result) decode(as string, into any) error {
	raw, ok := r.Data[as]
	if !ok {
		return noStep(as)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return abi.Errorf(abi.ErrInvalidResult, "decoding "+as, "%w", err)
	}
	return nil
}

func noStep(as string) error {
	return abi.Errorf(abi.ErrInvalidResult, "decoding", "no step of this trip is called %q", as)
}

// Rows decodes the table of an [Extract] step into structs, by the fields' json
// names. A column without a field is left out; a field without a column keeps
// its zero value; null leaves the zero value too, so that an optional column is
// best a pointer. A nested table decodes into a slice of structs. No rows is an
// empty slice, never nil.
func Rows[T any](r *Result, as string) ([]T, error) {
	return decodeTable[T](r.Data[as], as)
}

// Cells is the table of an [Extract] step as it came: the names of its columns and,
// for each row, what its cells say, "" for null. It is the quickest way to read a
// table whose columns are all texts, and to return one. No rows is an empty slice,
// never nil.
func Cells(r *Result, as string) (cols []string, rows [][]string, err error) {
	raw := r.Data[as]
	if raw == nil {
		return nil, nil, noStep(as)
	}
	t, err := readTable(raw)
	if err != nil {
		return nil, nil, abi.Errorf(abi.ErrInvalidResult, "decoding "+as, "%w", err)
	}
	rows = make([][]string, len(t.Rows))
	var cells [][]byte
	for i, row := range t.Rows {
		if cells, err = readRow(row, cells[:0]); err == nil {
			rows[i], err = texts(cells)
		}
		if err != nil {
			return nil, nil, abi.Errorf(abi.ErrInvalidResult, "decoding "+as, "row %d: %w", i, err)
		}
	}
	return t.Cols, rows, nil
}

func texts(cells [][]byte) ([]string, error) {
	out := make([]string, len(cells))
	for j, cell := range cells {
		if plainText(cell) {
			out[j] = string(cell[1 : len(cell)-1])
		} else if err := json.Unmarshal(cell, &out[j]); err != nil {
			return nil, err
		}
	}
	return out, nil
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

// A wireTable is abi.Table with its rows left as they came.
type wireTable struct {
	Cols []string          `json:"cols"`
	Rows []json.RawMessage `json:"rows"`
}

func readTable(raw json.RawMessage) (t wireTable, err error) {
	ok := splitObject(raw, func(key, value []byte) {
		switch string(key) {
		case "cols":
			err = json.Unmarshal(value, &t.Cols)
		case "rows":
			rows, list := splitArray(value, nil)
			if !list {
				err = json.Unmarshal(value, &t.Rows)
			}
			for _, row := range rows {
				t.Rows = append(t.Rows, row)
			}
		}
	})
	if !ok {
		t = wireTable{}
		err = json.Unmarshal(raw, &t)
	}
	return t, err
}

func decodeTable[T any](raw json.RawMessage, as string) ([]T, error) {
	rows := []T{}
	if raw == nil {
		return nil, noStep(as)
	}
	if err := fillTable(raw, reflect.ValueOf(&rows).Elem()); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidResult, "decoding "+as, "%w", err)
	}
	return rows, nil
}

// FillTable sets dst, a slice of structs, to a table's rows.
func fillTable(raw json.RawMessage, dst reflect.Value) error {
	t, err := readTable(raw)
	if err != nil {
		return err
	}
	elem := dst.Type().Elem()
	if elem.Kind() != reflect.Struct {
		return abi.Errorf(abi.ErrInvalidResult, "", "rows decode into structs, not %s", elem)
	}
	fields := columnFields(elem, t.Cols)
	out := reflect.MakeSlice(dst.Type(), len(t.Rows), len(t.Rows))
	var cells [][]byte
	for i, row := range t.Rows {
		if cells, err = readRow(row, cells[:0]); err != nil {
			return err
		}
		if len(cells) != len(t.Cols) {
			return abi.Errorf(abi.ErrInvalidResult, "", "row %d has %d cells for %d columns", i, len(cells), len(t.Cols))
		}
		for j, cell := range cells {
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

func readRow(row json.RawMessage, into [][]byte) ([][]byte, error) {
	cells, ok := splitArray(row, into)
	if ok {
		return cells, nil
	}
	var list []json.RawMessage
	err := json.Unmarshal(row, &list)
	cells = into
	for _, cell := range list {
		cells = append(cells, cell)
	}
	return cells, err
}

func fillCell(cell []byte, dst reflect.Value) error {
	switch t := dst.Type(); {
	case t == reflect.TypeFor[string]() && plainText(cell):
		dst.SetString(string(cell[1 : len(cell)-1]))
		return nil
	case t == reflect.TypeFor[*string]() && plainText(cell):
		text := string(cell[1 : len(cell)-1])
		dst.Set(reflect.ValueOf(&text))
		return nil
	case isTable(t) && string(cell) != "null":
		return fillTable(cell, dst)
	}
	return json.Unmarshal(cell, dst.Addr().Interface())
}

// plainText reports whether a cell is a string that means what it spells.
func plainText(cell []byte) bool {
	return len(cell) >= 2 && cell[0] == '"' && bytes.IndexByte(cell, '\\') < 0 && utf8.Valid(cell)
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
