package mantiscompare

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// sample is a truth with what the rules are for.
func sample(t *testing.T) *Truth {
	t.Helper()
	truth, err := ParseTruth([]byte(`{"site":"mantis","bugs":[
		{"id":4,"project":"Web","category":"ux","reporter":"ada","handler":"","status":"new","priority":"none","severity":"minor","resolution":"wont fix",
		 "reproducibility":"unable to duplicate","view":"public","version":"","summary":"<b>One</b> & two","description":"\ta ~12\n  b ~13","stepsToReproduce":"x~12",
		 "additionalInformation":"","submitted":1768042140,"updated":1768208460,"due":1771670940,"tags":["ux"],
		 "notes":[{"id":12,"author":"bo","view":"private","submitted":1768208460,"text":"~12"}],"attachments":[{"id":1,"name":"Größe.csv"}]},
		{"id":5,"project":"Web","category":"ux","reporter":"bo","handler":"ada","status":"closed","priority":"high","severity":"minor","resolution":"fixed",
		 "reproducibility":"always","view":"private","version":"4.2.0","summary":"Two","description":"d","stepsToReproduce":"","additionalInformation":"",
		 "submitted":1768042140,"updated":1768208460,"due":null,"tags":[],"notes":[],"attachments":[]}]}`), "http://mantis.example")
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

const shownBug = `{"id":4,"summary":"One & two","project":"Web","category":"ux","status":"new","resolution":"won't fix","priority":"none","severity":"minor",
	"reproducibility":"unable to reproduce","view":"public","version":null,"reporter":"ada","handler":null,"submitted":"2026-01-10T10:49","updated":"2026-01-12T09:01",
	"due":null,"description":"    a 0000004:0000012\n  b ~13","steps_to_reproduce":"x~12","additional_information":"","tags":["ux"],
	"attachments":[{"id":1,"name":"Größe.csv"}],"notes":[{"id":12,"author":"bo","submitted":"2026-01-12T09:01","private":true,"text":"0000004:0000012"}],
	"history":[{"date":"2026-01-10T10:49","user":"ada","field":"New Issue","change":""}],"truncated":false,"choices":null,"url":"http://mantis.example/view.php?id=4"}`

const shownList = `{"total":3,"bugs":[
	{"id":5,"summary":"Two","status":"closed","resolution":"fixed","priority":"high","severity":"minor","project":"Web","category":"ux","handler":"ada","updated":"2026-01-12","notes":0,"url":"http://mantis.example/view.php?id=5"},
	{"id":4,"summary":"One & two","status":"new","resolution":"won't fix","priority":null,"severity":"minor","project":"Web","category":"ux","handler":null,"updated":"2026-01-12","notes":1,"url":"http://mantis.example/view.php?id=4"}]}`

func shownHistory() []Change {
	return []Change{{Date: "2026-01-10T10:49", User: "ada", Field: "New Issue"}}
}

func TestTrueResultsHaveNoDifference(t *testing.T) {
	truth := sample(t)
	if d := truth.Detail([]byte(shownBug), 4, shownHistory()); len(d) > 0 {
		t.Errorf("detail: %q", d)
	}
	if d := truth.Detail([]byte(shownBug), 4, nil); len(d) > 0 {
		t.Errorf("detail, any history: %q", d)
	}
	if d := truth.List([]byte(shownList), []int{5, 4}, 3); len(d) > 0 {
		t.Errorf("list: %q", d)
	}
}

// TestEveryChangeIsSeen changes each value of a true result, each alone, takes each
// field and each element out, and adds one.
func TestEveryChangeIsSeen(t *testing.T) {
	truth := sample(t)
	for name, c := range map[string]struct {
		document string
		compare  func([]byte) []string
	}{
		"detail": {shownBug, func(m []byte) []string { return truth.Detail(m, 4, shownHistory()) }},
		"list":   {shownList, func(m []byte) []string { return truth.List(m, []int{5, 4}, 3) }},
	} {
		root, err := decode([]byte(c.document))
		if err != nil {
			t.Fatal(err)
		}
		mutants := variants(root)
		if len(mutants) < 50 {
			t.Errorf("%s has only %d mutants", name, len(mutants))
		}
		for _, m := range mutants {
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.compare(data)) == 0 {
				t.Errorf("%s: not seen: %s", name, data)
			}
		}
	}
}

// variants are the documents that differ from v in one place.
func variants(v any) []any {
	var out []any
	switch v := v.(type) {
	case object:
		for name, field := range v {
			for _, other := range variants(field) {
				changed := maps.Clone(v)
				changed[name] = other
				out = append(out, changed)
			}
			without := maps.Clone(v)
			delete(without, name)
			out = append(out, without)
		}
		more := maps.Clone(v)
		more["more"] = "x"
		return append(out, more)
	case []any:
		for i := range v {
			for _, other := range variants(v[i]) {
				changed := slices.Clone(v)
				changed[i] = other
				out = append(out, changed)
			}
			out = append(out, slices.Delete(slices.Clone(v), i, i+1))
		}
		return append(out, append(slices.Clone(v), "x"))
	case string:
		return []any{v + "~", " " + v, nil}
	case json.Number:
		return []any{json.Number("1" + v.String())}
	case bool:
		return []any{!v}
	}
	return []any{"something"}
}

func TestOrderCountAndRubbish(t *testing.T) {
	truth := sample(t)
	for name, d := range map[string][]string{
		"another order": truth.List([]byte(shownList), []int{4, 5}, 3),
		"another total": truth.List([]byte(shownList), []int{5, 4}, 2),
		"no such bug":   truth.List([]byte(shownList), []int{5, 9}, 3),
		"another bug":   truth.Detail([]byte(shownBug), 5, nil),
		"unknown bug":   truth.Detail([]byte(shownBug), 9, nil),
		"no history":    truth.Detail([]byte(strings.Replace(shownBug, `"history":[`, `"past":[`, 1)), 4, nil),
		"an array":      truth.Detail([]byte(`[]`), 4, shownHistory()),
		"cut off":       truth.List([]byte(shownList[:40]), []int{5, 4}, 3),
		"nothing":       truth.List(nil, []int{5, 4}, 3),
	} {
		if len(d) == 0 {
			t.Errorf("%s has no difference", name)
		}
	}
	for _, broken := range []string{``, `{}`, `{"bugs":[]}`, `[]`} {
		if _, err := ParseTruth([]byte(broken), ""); err == nil {
			t.Errorf("%q is taken for a truth", broken)
		}
	}
}

func TestEveryRuleHasAReasonAndBelongsToAField(t *testing.T) {
	truth := sample(t)
	fields := map[string]bool{}
	for name := range truth.detail(&truth.Bugs[0]) {
		fields[name] = true
	}
	for name := range truth.row(&truth.Bugs[0]) {
		fields["list."+name] = true
	}
	for name := range truth.note(&truth.Bugs[0].Notes[0]) {
		fields["notes."+name] = true
	}
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Why == "" || r.Shown == nil || seen[r.Field] || !fields[r.Field] {
			t.Errorf("the rule for %q has no reason, does nothing, stands twice, or belongs to no field", r.Field)
		}
		seen[r.Field] = true
	}
}
