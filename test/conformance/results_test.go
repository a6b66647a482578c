package conformance

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestReadResults(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	got, err := readResults(fstest.MapFS{
		"server-ping-2026-11-30T18-55-04-358Z/checks.json":       file(`[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING","errorMessage":"hm"}]`),
		"server-tasks-a-2026-11-30T18-55-04-358Z/checks.json":    file(`[{"id":"c","status":"FAILURE","errorMessage":"no"},{"id":"d","status":"NEW"},{"id":"e","status":"INFO"}]`),
		"server-tools-list-2026-11-30T18-55-04-358Z/checks.json": file(`[]`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := got.count(); c != (counts{scenarios: 3, passed: 1, failed: 2, warned: 1}) {
		t.Errorf("counts %v", c)
	}
	scored, unscored := got.split("tasks-")
	if f := scored.failures(); len(f) != 0 {
		t.Errorf("failures of the scored: %q", f)
	}
	if f := unscored.failures(); !slices.Equal(f, []string{"FAILURE: tasks-a: c no", "NEW: tasks-a: d "}) {
		t.Errorf("failures of the others: %q", f)
	}
	if n := scored.notable(); !slices.Equal(n, []string{"WARNING: ping: b hm"}) {
		t.Errorf("notable %q", n)
	}
	if all, none := got.split(""); len(all) != 3 || len(none) != 0 {
		t.Errorf("without a prefix: %d and %d", len(all), len(none))
	}
	for name, dir := range map[string]fstest.MapFS{
		"nothing":          {},
		"not a scenario":   {"client-ping-2026-11-30T18-55-04-358Z/checks.json": file(`[]`)},
		"without a time":   {"server-ping/checks.json": file(`[]`)},
		"no JSON":          {"server-ping-2026-11-30T18-55-04-358Z/checks.json": file(`[`)},
		"an object":        {"server-ping-2026-11-30T18-55-04-358Z/checks.json": file(`{}`)},
		"only other files": {"server-ping-2026-11-30T18-55-04-358Z/stdout.txt": file(``)},
	} {
		if got, err := readResults(dir); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}
