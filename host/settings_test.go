package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSettingsMergeAndGo(t *testing.T) {
	s := &settingsFile{path: filepath.Join(t.TempDir(), "settings.json")}
	if got, err := s.get("a/b"); err != nil || len(got) != 0 {
		t.Fatalf("get = %v, %v", got, err)
	}
	for _, values := range []map[string]string{{"base_url": "https://x.example", "n": "1"}, {"n": "2"}} {
		if err := s.set("a/b", values); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.get("a/b"); err != nil || got["base_url"] != "https://x.example" || got["n"] != "2" {
		t.Errorf("get = %v, %v", got, err)
	}
	if err := s.set("a/b", nil); err != nil { // an update that sets nothing
		t.Fatal(err)
	}
	if got, err := s.get("a/b"); err != nil || len(got) != 2 {
		t.Errorf("setting nothing left %v, %v", got, err)
	}
	if err := s.remove("a/b"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.get("a/b"); err != nil || len(got) != 0 {
		t.Errorf("after removal: %v, %v", got, err)
	}
}

func TestSettingsBrokenFileIsAnError(t *testing.T) {
	for _, text := range []string{`{"format":1,"format":2}`, `{"format":9}`, `{"format":1,"plugins":{},"x":1}`, `nonsense`} {
		path := filepath.Join(t.TempDir(), "settings.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &settingsFile{path: path}
		if _, err := s.get("a/b"); err == nil {
			t.Errorf("%q was accepted", text)
		}
		if err := s.set("a/b", map[string]string{"n": "1"}); err == nil {
			t.Errorf("%q was overwritten", text)
		}
	}
}
