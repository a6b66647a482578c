package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestQuietPreferences(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"missing": {"", `{"net":{"network_prediction_options":2}}`},
		"kept":    {`{"a":[1,"<"],"net":{"b":true}}`, `{"a":[1,"<"],"net":{"b":true,"network_prediction_options":2}}`},
		"changed": {`{"net":{"network_prediction_options":0}}`, `{"net":{"network_prediction_options":2}}`},
		"already": {`{ "net": {"network_prediction_options": 2} }`, `{ "net": {"network_prediction_options": 2} }`},
		"broken":  {`{"net":`, `{"net":{"network_prediction_options":2}}`},
		"null":    {`null`, `{"net":{"network_prediction_options":2}}`},
		"odd":     {`{"net":[]}`, `{"net":{"network_prediction_options":2}}`},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "Default", "Preferences")
		if c.before != "" {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := quietPreferences(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := os.ReadFile(path)
		if err != nil || canonical(t, got) != canonical(t, []byte(c.after)) {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.after)
		}
	}
}

func canonical(t *testing.T, b []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestHugePreferences(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "Default", "Preferences")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, maxPreferences+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := quietPreferences(dir); err == nil {
		t.Error("a huge file was read")
	}
}
