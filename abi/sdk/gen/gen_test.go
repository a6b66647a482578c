package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func loaded(t *testing.T) *model {
	t.Helper()
	m, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A change of package abi reaches every SDK in the same commit.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := loaded(t).files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Errorf("%v; run go generate ./abi/sdk/gen", err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("abi/sdk/%s is behind package abi; run go generate ./abi/sdk/gen", name)
		}
	}
}

// What is closed in abi is all there, in every language.
func TestCodesAndOperationsAreComplete(t *testing.T) {
	m := loaded(t)
	want := map[string][]string{}
	for _, c := range abi.Codes() {
		want["Code"] = append(want["Code"], string(c))
	}
	for _, o := range abi.Ops() {
		want["Op"] = append(want["Op"], string(o))
	}
	for _, e := range m.enums {
		var got []string
		for _, v := range e.values {
			got = append(got, v.text)
		}
		if w, ok := want[e.name]; ok && !slices.Equal(got, w) {
			t.Errorf("%s: got %q, want %q", e.name, got, w)
		}
		delete(want, e.name)
	}
	if len(want) > 0 {
		t.Errorf("not generated: %v", want)
	}
	files, err := m.files()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		for _, c := range abi.Codes() {
			if !strings.Contains(string(text), `"`+string(c)+`"`) {
				t.Errorf("%s lacks the code %q", name, c)
			}
		}
	}
}

// The schema names every member that encoding/json writes for the golden documents.
func TestSchemaKnowsGoldenMembers(t *testing.T) {
	text, err := loaded(t).schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for file, def := range map[string]string{
		"answer": "Answer", "call_input": "CallInput", "call_error": "CallOutput", "description": "Description", "extraction": "Extraction",
		"fetch_answer": "FetchAnswer", "fetch_request": "FetchRequest", "program": "Program", "progress": "ProgressReport", "table": "Table",
	} {
		golden, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(golden, &members); err != nil {
			t.Fatal(err)
		}
		for name := range members {
			if _, ok := schema.Defs[def].Properties[name]; !ok {
				t.Errorf("the schema of %s lacks %q", def, name)
			}
		}
		for _, name := range schema.Defs[def].Required {
			if _, ok := members[name]; !ok {
				t.Errorf("the schema of %s requires %q, which %s.json lacks", def, name, file)
			}
		}
	}
}

func TestUpper(t *testing.T) {
	for in, want := range map[string]string{
		"MaxHostCalls": "MAX_HOST_CALLS", "OpHTML": "OP_HTML", "MaxHTML": "MAX_HTML", "MaxJSONDepth": "MAX_JSON_DEPTH",
		"Version": "VERSION", "GuestCPUMillis": "GUEST_CPU_MILLIS",
	} {
		if got := upper(in); got != want {
			t.Errorf("upper(%q) = %q, want %q", in, got, want)
		}
	}
}
