package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
)

// noPreloading is Chromium's setting "preload pages: no preloading".
const noPreloading = "2"

// forbidPreloading sets in a profile that pages are never preloaded.
//
// BUG(chromium): what speculation rules prefetch or prerender is sent by the
// browser, with the user's cookies, and shows at no session: no guard sees it. No
// switch and no command turns it off; the user's setting does.
func forbidPreloading(profile string) error {
	dir := filepath.Join(profile, "Default")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the profile's directory: %w", err)
	}
	path := filepath.Join(dir, "Preferences")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the profile's preferences: %w", err)
	}
	text, err := withoutPreloading(old)
	if err != nil {
		return fmt.Errorf("encoding the profile's preferences: %w", err)
	}
	return atomicfile.Write(path, text, 0o600)
}

// withoutPreloading puts the setting into preferences and leaves the others.
// Preferences that are no JSON object start anew, as they do in Chromium.
func withoutPreloading(old []byte) ([]byte, error) {
	var prefs, network map[string]json.RawMessage
	if json.Unmarshal(old, &prefs) != nil || prefs == nil {
		prefs = map[string]json.RawMessage{}
	}
	if json.Unmarshal(prefs["net"], &network) != nil || network == nil {
		network = map[string]json.RawMessage{}
	}
	network["network_prediction_options"] = json.RawMessage(noPreloading)
	var err error
	if prefs["net"], err = json.Marshal(network); err != nil {
		return nil, err
	}
	return json.Marshal(prefs)
}
