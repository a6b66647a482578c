package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// made is a report of two servers and few cases: everything that a cell can say.
func made() *report {
	s := func(values ...float64) (list []sample) {
		for _, v := range values {
			if v < 0 {
				list = append(list, sample{Err: "it | <b>broke</b>\n`now`"})
				continue
			}
			list = append(list, sample{Value: v, Bytes: int(v) * 1000, Text: int(v) * 500})
		}
		return list
	}
	m := &meter{
		servers: []*server{
			{key: "drawbridge", name: "drawbridge", version: "dev", ways: []way{{tool: "list"}}},
			{key: "a", name: "a-mcp", version: "1.2.3", ways: []way{{tool: "script"}, {tool: "snapshot"}}},
			{key: "b", name: "b-mcp", version: "4.5.6", ways: []way{{tool: "eval"}, {tool: "snap"}}},
		},
		all: []*series{
			{"drawbridge", "list", caseRead, s(10, 20, 30)},
			{"a", "script", caseRead, s(2000, 1000, 6000)},
			{"a", "snapshot", caseRead, s(-1, 40, 45)},
			{"b", "eval", caseRead, s(-1, -1, -1)},
			{"b", "snap", caseRead, s(1, 2, 3)},
			{"drawbridge", "list", caseLoad, s(-1, 10)},
			{"a", "script", caseLoad, s(70, 70)},
			{"drawbridge", "", caseFirst, s(100)},
			{"a", "", caseFirst, s(300)},
			{"b", "", caseFirst, s(290)},
			{"drawbridge", "", caseServer, s(20 << 20)},
			{"a", "", caseServer, s(40 << 20)},
			{"b", "", caseServer, s(10 << 20)},
		},
	}
	r := &report{
		Machine:  machine{Go: "go1.26", OS: "linux/amd64", CPUs: 2, MemoryGiB: 8, Chromium: "1.2", Node: "3.4", LoadBefore: 0.2, LoadAfter: 2},
		Sessions: 1, Reads: 3, Loads: 2,
	}
	r.fill(m)
	return r
}

func TestTable(t *testing.T) {
	golden.Check(t, filepath.Join("testdata", "table.md"), []byte(made().table()))
}

func TestRatioIsThatOfTheRounds(t *testing.T) {
	r := made()
	got, _ := r.find(caseRead, "a", "script") // 200, 50, 200 times; of the medians it would be 100
	if got.Ratio != 200 || got.Median != 2000 {
		t.Errorf("ratio = %v, median = %v", got.Ratio, got.Median)
	}
	got, _ = r.find(caseLoad, "a", "script") // only the round in which drawbridge's worked counts
	if got.Ratio != 7 || got.Failed != 0 {
		t.Errorf("ratio = %v, failed = %d", got.Ratio, got.Failed)
	}
	got, _ = r.find(caseRead, "b", "eval")
	if got.Ratio != 0 || got.Median != 0 || got.Failed != 3 || got.Error == "" {
		t.Errorf("of a case that failed: %+v", got)
	}
}

func TestAFailureIsNoGoalMet(t *testing.T) {
	r := made()
	for _, w := range rows() {
		if w.name == caseRead && w.way == 0 && w.goals != nil && !strings.HasSuffix(r.goal(w), ": not met") {
			t.Errorf("goal = %q, and one of the servers failed", r.goal(w))
		}
	}
	if got := (&report{Servers: made().Servers}).goal(row{name: caseRead, most: 1, show: ms}); got != "≤ 1.0 ms: not met" {
		t.Errorf("goal without a result = %q", got)
	}
}

func TestJSONKeepsEverySample(t *testing.T) {
	data, err := json.Marshal(made())
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if got, _ := back.find(caseRead, "a", "snapshot"); len(got.Samples) != 3 || got.Samples[0].Err == "" || got.Samples[1].Value != 40 {
		t.Errorf("samples = %+v", got.Samples)
	}
}

func TestPlain(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a | b\nc", `a \| b c`},
		{"<script>`x`", "&lt;script>'x'"},
		{strings.Repeat("ü", 200), strings.Repeat("ü", maxError) + "…"},
	} {
		if got := plain(tt.text); got != tt.want {
			t.Errorf("plain(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestBusy(t *testing.T) {
	for _, tt := range []struct {
		load float64
		want string
	}{{0.3, "Little else"}, {1.0, "Little else"}, {1.1, "loaded with other work"}, {11, "loaded with other work"}} {
		if got := (machine{CPUs: 2, LoadBefore: tt.load}).busy(); !strings.Contains(got, tt.want) {
			t.Errorf("busy at %v = %q", tt.load, got)
		}
	}
}
