package mcpserver

import "bytes"

// manyRows is from how many rows on a list is written as a table.
const manyRows = 8

// columns words a result as text: the same JSON, but for each of its lists of many
// objects with equal members, which becomes {"cols": […], "rows": [[…], …]} with a
// row on each line. Names then stand there once, and not in every row.
func columns(structured []byte) string {
	if !bytes.Contains(structured, []byte(`:[{"`)) {
		return string(structured)
	}
	out := make([]byte, 0, len(structured))
	from := 0 // of what has not been written
	for _, m := range membersOf(structured, nil) {
		if m.value[0] != '[' {
			continue
		}
		if table, ok := appendTable(append(out, structured[from:m.at]...), m.value); ok {
			out, from = table, m.at+len(m.value)
		}
	}
	return string(append(out, structured[from:]...))
}

// appendTable writes a list as a table, if it is one.
func appendTable(out, list []byte) ([]byte, bool) {
	rows := itemsOf(list, nil)
	if len(rows) < manyRows || rows[0][0] != '{' {
		return nil, false
	}
	names := membersOf(rows[0], nil)
	if len(names) == 0 {
		return nil, false
	}
	out = append(out, `{"cols":[`...)
	for _, n := range names {
		out = append(append(out, n.name...), ',')
	}
	out = append(out[:len(out)-1], `],"rows":[`...)
	cells := make([]member, 0, len(names))
	for _, row := range rows {
		if row[0] != '{' {
			return nil, false
		}
		cells = membersOf(row, cells[:0])
		if len(cells) != len(names) {
			return nil, false
		}
		out = append(out, "\n["...)
		for i, c := range cells {
			if !bytes.Equal(c.name, names[i].name) {
				return nil, false
			}
			out = append(append(out, c.value...), ',')
		}
		out = append(out[:len(out)-1], "],"...)
	}
	return append(out[:len(out)-1], "]}"...), true
}
