package mantiscompare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

type object = map[string]any

// A Change is one entry of a bug's history.
type Change struct {
	Date   string `json:"date"`
	User   string `json:"user"`
	Field  string `json:"field"`
	Change string `json:"change"`
}

// List compares the result of a tool that lists with the bugs that it has to have,
// in that order; total is how many match in all. It returns one line for each
// difference, none if all is right.
func (t *Truth) List(result []byte, ids []int, total int) []string {
	rows := []any{}
	for _, id := range ids {
		b := t.Bug(id)
		if b == nil {
			return []string{fmt.Sprintf("bug %d is not in the truth", id)}
		}
		rows = append(rows, t.row(b))
	}
	return compare(object{"total": total, "bugs": rows}, result)
}

// Detail compares the result of get_bug with a bug. The history is compared if it
// is given; choices have to be absent.
func (t *Truth) Detail(result []byte, id int, history []Change) []string {
	b := t.Bug(id)
	if b == nil {
		return []string{fmt.Sprintf("bug %d is not in the truth", id)}
	}
	want := t.detail(b)
	if history == nil {
		var got struct {
			History []Change `json:"history"`
		}
		if err := json.Unmarshal(result, &got); err != nil || got.History == nil {
			return []string{fmt.Sprintf("the result has no history: %v", err)}
		}
		history = got.History
	}
	want["history"] = history
	return compare(want, result)
}

// row is what a list shows.
func (t *Truth) row(b *Bug) object {
	stored := object{
		"id": b.ID, "summary": b.Summary, "status": b.Status, "resolution": b.Resolution, "priority": b.Priority, "severity": b.Severity,
		"project": b.Project, "category": b.Category, "handler": b.Handler, "updated": b.Updated, "notes": b.Notes, "url": t.url(b),
	}
	for name, v := range stored {
		stored[name] = t.shown("list."+name, v)
	}
	return stored
}

// detail is what a bug's page shows.
func (t *Truth) detail(b *Bug) object {
	stored := object{
		"id": b.ID, "summary": b.Summary, "project": b.Project, "category": b.Category, "status": b.Status, "resolution": b.Resolution,
		"priority": b.Priority, "severity": b.Severity, "reproducibility": b.Reproducibility, "view": b.View, "version": b.Version,
		"reporter": b.Reporter, "handler": b.Handler, "submitted": b.Submitted, "updated": b.Updated, "due": b.Due,
		"description": b.Description, "steps_to_reproduce": b.Steps, "additional_information": b.Additional, "tags": b.Tags,
	}
	for name, v := range stored {
		stored[name] = t.shown(name, v)
	}
	files, notes := []any{}, []any{}
	for _, f := range b.Attachments {
		files = append(files, object{"id": f.ID, "name": f.Name})
	}
	for i := range b.Notes {
		notes = append(notes, t.note(&b.Notes[i]))
	}
	maps.Copy(stored, object{"attachments": files, "notes": notes, "truncated": false, "choices": nil, "url": t.url(b)})
	return stored
}

func (t *Truth) note(n *Note) object {
	stored := object{"id": n.ID, "author": n.Author, "submitted": n.Submitted, "private": n.View, "text": n.Text}
	for name, v := range stored {
		stored[name] = t.shown("notes."+name, v)
	}
	return stored
}

func (t *Truth) url(b *Bug) string { return t.Base + "/view.php?id=" + strconv.Itoa(b.ID) }

// compare holds a JSON document against what it has to be.
func compare(want any, result []byte) []string {
	got, err := decode(result)
	if err != nil {
		return []string{fmt.Sprintf("the result can't be read: %v", err)}
	}
	data, err := json.Marshal(want)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	plain, err := decode(data)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return differences("result", plain, got)
}

// decode reads numbers as they are written.
func decode(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// differences goes through both documents; a field that one of them has alone is a
// difference.
func differences(at string, want, got any) []string {
	switch w := want.(type) {
	case object:
		g, ok := got.(object)
		if !ok {
			return []string{at + " is not an object"}
		}
		return inObject(at, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return []string{fmt.Sprintf("%s has %d elements, want %d", at, len(g), len(w))}
		}
		var lines []string
		for i := range w {
			lines = append(lines, differences(fmt.Sprintf("%s[%d]", at, i), w[i], g[i])...)
		}
		return lines
	}
	if want != got {
		return []string{fmt.Sprintf("%s: %q, want %q", at, fmt.Sprint(got), fmt.Sprint(want))}
	}
	return nil
}

func inObject(at string, want, got object) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		v, ok := got[name]
		if !ok {
			lines = append(lines, at+": no field "+strconv.Quote(name))
			continue
		}
		lines = append(lines, differences(at+"."+name, want[name], v)...)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			lines = append(lines, fmt.Sprintf("%s: the field %q is not compared with anything", at, name))
		}
	}
	return lines
}
