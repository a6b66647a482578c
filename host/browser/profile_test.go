package browser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestProfileLosesItsServiceWorkers(t *testing.T) {
	dir := t.TempDir()
	worker := filepath.Join(dir, "Default", "Service Worker", "Database")
	cookies := filepath.Join(dir, "Default", "Cookies")
	if err := os.MkdirAll(worker, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cookies, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := prepareProfile(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(worker)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the service workers are still there: %v", err)
	}
	if _, err := os.Stat(cookies); err != nil {
		t.Errorf("the sessions are gone: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "Default", "Preferences")); err != nil {
		t.Errorf("the preferences were not written: %v", err)
	}
}
