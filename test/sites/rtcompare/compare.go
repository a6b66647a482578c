package rtcompare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// List compares the result of a tool that lists with the tickets that it has to
// have, in that order; total is how many match in all. It returns one line for
// each difference, none if all is right.
func (t *Truth) List(result []byte, ids []int, total int) []string {
	var d diff
	got := d.object("result", result)
	d.closed("result", got, "total", "tickets")
	d.equal("total", total, got["total"])
	rows, _ := got["tickets"].([]any)
	if shown := idsOf(rows); !reflect.DeepEqual(shown, plain(ids)) {
		d.addf("ids: %v, want %v", shown, ids)
		return d.lines
	}
	for i, id := range ids {
		ticket := t.Ticket(id)
		if ticket == nil {
			d.addf("ticket %d is not in the truth", id)
			continue
		}
		d.fields("ticket "+strconv.Itoa(id), t.row(ticket), rows[i])
	}
	return d.lines
}

// Detail compares the result of get_ticket with a ticket.
func (t *Truth) Detail(result []byte, id int) []string {
	var d diff
	got := d.object("result", result)
	ticket := t.Ticket(id)
	if ticket == nil {
		return []string{fmt.Sprintf("ticket %d is not in the truth", id)}
	}
	want := t.row(ticket)
	want["custom_fields"] = t.shown("custom_fields", ticket.CustomFields)
	want["truncated"] = false
	ids := []int{}
	for _, x := range ticket.Transactions {
		ids = append(ids, x.ID)
	}
	history, _ := got["history"].([]any)
	if shown := idsOf(history); !reflect.DeepEqual(shown, plain(ids)) {
		d.addf("transactions: %v, want %v", shown, ids)
		return d.lines
	}
	for i := range ids {
		d.fields(fmt.Sprintf("ticket %d, transaction %d", id, ids[i]), t.event(&ticket.Transactions[i]), history[i])
	}
	delete(got, "history")
	d.fields("ticket "+strconv.Itoa(id), want, got)
	return d.lines
}

// row is what a list and a ticket's page show.
func (t *Truth) row(k *Ticket) map[string]any {
	stored := map[string]any{
		"id": k.ID, "subject": k.Subject, "status": k.Status, "queue": k.Queue, "owner": k.Owner,
		"priority": k.Priority, "requestors": k.Requestors,
		"created": k.Created, "updated": k.Updated, "due": k.Due,
		"url": t.Base + "/Ticket/Display.html?id=" + strconv.Itoa(k.ID),
	}
	for name, v := range stored {
		stored[name] = t.shown(name, v)
	}
	return stored
}

func (t *Truth) event(x *Transaction) map[string]any {
	stored := map[string]any{
		"id": x.ID, "created": x.Created, "author": x.Author, "event": x, "text": x.Parts, "attachments": x.Parts,
	}
	for name, v := range stored {
		stored[name] = t.shown("history."+name, v)
	}
	return stored
}

// A diff collects differences.
type diff struct{ lines []string }

func (d *diff) addf(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// object reads a JSON object with numbers as they are written.
func (d *diff) object(what string, data []byte) map[string]any {
	v, err := decode(data)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		d.addf("%s is not an object: %.200s", what, data)
		return map[string]any{}
	}
	return object
}

// fields compares an object with what it has to be, field by field.
func (d *diff) fields(what string, want map[string]any, got any) {
	object, ok := got.(map[string]any)
	if !ok {
		d.addf("%s is not an object", what)
		return
	}
	names := slices.Sorted(maps.Keys(want))
	d.closed(what, object, names...)
	for _, name := range names {
		if _, ok := object[name]; ok {
			d.equal(what+", "+name, want[name], object[name])
		}
	}
}

// closed asks for exactly these fields: one that nobody compares is a
// difference.
func (d *diff) closed(what string, object map[string]any, names ...string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, name) {
			d.addf("%s: the field %q is not compared with anything", what, name)
		}
	}
	for _, name := range names {
		if _, ok := object[name]; !ok {
			d.addf("%s: no field %q", what, name)
		}
	}
}

func (d *diff) equal(what string, want, got any) {
	if w := plain(want); !reflect.DeepEqual(w, got) {
		d.addf("%s: %q, want %q", what, fmt.Sprint(got), fmt.Sprint(w))
	}
}

// plain turns a value into what decode makes of its JSON.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	out, err := decode(data)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return out
}

func decode(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func idsOf(rows []any) any {
	ids := []any{}
	for _, r := range rows {
		object, _ := r.(map[string]any)
		ids = append(ids, object["id"])
	}
	return ids
}
