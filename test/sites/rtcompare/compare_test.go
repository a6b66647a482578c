package rtcompare

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// load reads the committed truth, and a result that the connector gave.
func load(t *testing.T, name string) (truth *Truth, result []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "truth", "rt.json"))
	if err != nil {
		t.Fatal(err)
	}
	truth, err = ParseTruth(data, "http://127.0.0.1:9131")
	if err != nil {
		t.Fatal(err)
	}
	result, err = os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return truth, result
}

func everything(*Ticket) bool { return true }

func mine(k *Ticket) bool { return k.Owner == "mlindqvist" && k.IsActive() }

func TestTrueResultsHaveNoDifference(t *testing.T) {
	truth, list := load(t, "list.json")
	if d := truth.List(list, truth.Newest(everything), 76); len(d) > 0 {
		t.Errorf("list: %q", d)
	}
	truth, own := load(t, "mine.json")
	if ids := truth.Newest(mine); len(ids) != 5 || len(truth.List(own, ids, 5)) > 0 {
		t.Errorf("own tickets: %q of %v", truth.List(own, ids, 5), ids)
	}
	for id, name := range map[int]string{4: "ticket-4.json", 5: "ticket-5.json"} {
		truth, detail := load(t, name)
		if d := truth.Detail(detail, id); len(d) > 0 {
			t.Errorf("%s: %q", name, d)
		}
	}
}

// TestEveryChangeOfAResultIsSeen changes each value of a true result, each alone,
// takes each field and each element out, and adds one.
func TestEveryChangeOfAResultIsSeen(t *testing.T) {
	truth, own := load(t, "mine.json")
	everyMutant(t, own, func(mutant []byte) []string { return truth.List(mutant, truth.Newest(mine), 5) })
	for id, name := range map[int]string{4: "ticket-4.json", 5: "ticket-5.json"} {
		truth, detail := load(t, name)
		everyMutant(t, detail, func(mutant []byte) []string { return truth.Detail(mutant, id) })
	}
}

func everyMutant(t *testing.T, result []byte, compare func([]byte) []string) {
	t.Helper()
	n := 0
	for mutant := range mutants(t, result) {
		n++
		if len(compare(mutant)) == 0 {
			t.Errorf("not seen: %s", firstDifference(result, mutant))
		}
	}
	if n < 50 {
		t.Errorf("only %d mutants", n)
	}
}

// TestEveryChangeOfTheTruthIsSeen changes what is stored.
func TestEveryChangeOfTheTruthIsSeen(t *testing.T) {
	other := "x"
	for name, change := range map[string]func(*Ticket){
		"subject":          func(k *Ticket) { k.Subject += " " },
		"status":           func(k *Ticket) { k.Status = "open" },
		"queue":            func(k *Ticket) { k.Queue = "Billing" },
		"priority":         func(k *Ticket) { k.Priority = 50 },
		"priority between": func(k *Ticket) { k.Priority = 1 },
		"owner":            func(k *Ticket) { k.Owner = "wchen" },
		"no owner":         func(k *Ticket) { k.Owner = "Nobody" },
		"requestor":        func(k *Ticket) { k.Requestors = append(k.Requestors, "wchen") },
		"no requestor":     func(k *Ticket) { k.Requestors = nil },
		"created":          func(k *Ticket) { k.Created = "2026-01-10 10:49:01" },
		"updated":          func(k *Ticket) { k.Updated = "2026-01-12 09:02:00" },
		"no due date":      func(k *Ticket) { k.Due = "1970-01-01 00:00:00" },
		"custom field":     func(k *Ticket) { k.CustomFields["Severity"] = []string{"block"} },
		"one more field":   func(k *Ticket) { k.CustomFields["Tags"] = []string{"ux"} },
		"event":            func(k *Ticket) { k.Transactions[2].Type = "Comment" },
		"old status":       func(k *Ticket) { k.Transactions[1].Old = &other },
		"author":           func(k *Ticket) { k.Transactions[2].Author = "wchen" },
		"when":             func(k *Ticket) { k.Transactions[2].Created = "2026-01-12 09:01:01" },
		"text":             func(k *Ticket) { *k.Transactions[2].Parts[0].Text += "." },
		"indent":           func(k *Ticket) { *k.Transactions[2].Parts[0].Text = " " + *k.Transactions[2].Parts[0].Text },
		"blank line":       func(k *Ticket) { *k.Transactions[2].Parts[0].Text += "\n\n" },
		"name of a file":   func(k *Ticket) { k.Transactions[0].Parts[1].Name = &other },
		"number of a file": func(k *Ticket) { k.Transactions[0].Parts[1].ID++ },
		"a file less":      func(k *Ticket) { k.Transactions[0].Parts = k.Transactions[0].Parts[:1] },
		"order":            func(k *Ticket) { x := k.Transactions; x[0], x[1] = x[1], x[0] },
		"one less":         func(k *Ticket) { k.Transactions = k.Transactions[:2] },
		"number":           func(k *Ticket) { k.Transactions[2].ID++ },
	} {
		truth, detail := load(t, "ticket-4.json")
		change(truth.Ticket(4))
		if len(truth.Detail(detail, 4)) == 0 {
			t.Errorf("not seen: %s", name)
		}
	}
}

func TestOrderAndCount(t *testing.T) {
	truth, list := load(t, "list.json")
	ids := truth.Newest(everything)
	ids[3], ids[4] = ids[4], ids[3]
	if d := truth.List(list, ids, 76); len(d) == 0 {
		t.Error("another order is not seen")
	}
	if d := truth.List(list, truth.Newest(everything), 75); len(d) != 1 || !strings.Contains(d[0], "total") {
		t.Errorf("another total: %q", d)
	}
	for _, broken := range []string{`[]`, `{}`, `null`, `{"total":0,"tickets":null}`, `{"total":76`, ``} {
		if d := truth.List([]byte(broken), truth.Newest(everything), 76); len(d) == 0 {
			t.Errorf("%s has no difference", broken)
		}
	}
}

func TestEveryRuleHasAReasonAndIsUsed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Why == "" || r.Shown == nil || seen[r.Field] {
			t.Errorf("the rule for %q has no reason, does nothing, or stands twice", r.Field)
		}
		seen[r.Field] = true
	}
	truth, _ := load(t, "list.json")
	row, x := truth.row(&truth.Tickets[0]), truth.event(&truth.Tickets[0].Transactions[0])
	for field := range seen {
		name, inHistory := strings.CutPrefix(field, "history.")
		_, ok := row[name]
		if inHistory {
			_, ok = x[name]
		}
		if !ok && field != "custom_fields" {
			t.Errorf("the rule for %q belongs to no field", field)
		}
	}
}

func TestExpandTabs(t *testing.T) {
	for in, want := range map[string]string{
		"\ta": "        a", "ab\tc": "ab      c", "1234567\t8": "1234567 8", "12345678\t9": "12345678        9", "a\n\tb": "a\n        b", "é\tb": "é       b",
	} {
		if got := expandTabs(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func firstDifference(a, b []byte) string {
	var x, y bytes.Buffer
	_, _ = json.Indent(&x, a, "", ""), json.Indent(&y, b, "", "")
	left, right := strings.Split(x.String(), "\n"), strings.Split(y.String(), "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return left[i] + " as " + right[i]
		}
	}
	return "the end"
}
