package results

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	readme, numbers := filepath.Join(dir, "README.md"), filepath.Join(dir, "out.json")
	if err := os.WriteFile(readme, []byte("<!-- x: begin -->\n<!-- x: end -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var o Output
	flags := flag.NewFlagSet("x", flag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse([]string{"-out", numbers, "-readme", readme}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := o.Write(&out, "x", "| 1 |\n", map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{readme: "<!-- x: begin -->\n| 1 |\n<!-- x: end -->\n", numbers: "{\n  \"a\": 1\n}\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, want %q (%v)", path, got, want, err)
		}
	}
	if out.String() != "| 1 |\n" {
		t.Errorf("it printed %q", out.String())
	}
	if err := o.Write(&out, "y", "", nil); err == nil {
		t.Error("a section that isn't there was written")
	}
	if err := o.Write(&out, "x", "", make(chan int)); err == nil {
		t.Error("what is no JSON was written")
	}
	if err := new(Output).Write(&out, "y", "", make(chan int)); err != nil {
		t.Errorf("without files: %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		want float64
		v    []float64
	}{{0, nil}, {2, []float64{3, 1, 2}}, {1.5, []float64{2, 1}}, {7, []float64{7}}, {2.5, []float64{9, 2, 3, 1}}} {
		if got := Median(c.v); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.v, got, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	program := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct{ text, want string }{
		"chromium": {"echo Chromium 156.0.8078.114 built on Debian 13", "156.0.8078.114"},
		"node":     {"echo v20.20.2", "20.20.2"},
		"helm":     {`echo 'version.BuildInfo{Version:"v4.3", GitCommit:""}'`, "4.3"},
		"krew":     {"echo 'OPTION VALUE'; echo 'GitTag v0.4.3'", "0.4.3"},
		"silent":   {"true", "of an unknown version"},
		"broken":   {"echo 1.2.3; exit 1", "of an unknown version"},
		"untagged": {"echo 'GitTag unknown'", "of an unknown version"},
	} {
		if got := Version(t.Context(), program(name, c.text), "--version"); got != c.want {
			t.Errorf("%s is %q, want %q", name, got, c.want)
		}
	}
	if got := Version(t.Context(), filepath.Join(dir, "nothing")); got != "of an unknown version" {
		t.Errorf("what isn't there is %q", got)
	}
}
