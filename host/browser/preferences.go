package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// maxPreferences bounds the file that we read; Chromium's are some 100 KiB.
const maxPreferences = 8 << 20

// neverPredict is Chromium's setting "no preloading".
const neverPredict = 2

// quietPreferences switches off in a profile what no flag does: requests that
// the browser sends ahead of the user. Those that a page asks for by speculation
// rules do not pass the guard. The profile's lock is held.
func quietPreferences(profile string) error {
	path := filepath.Join(profile, "Default", "Preferences")
	prefs, err := readPreferences(path)
	if err != nil {
		return err
	}
	net, ok := prefs["net"].(map[string]any)
	if !ok {
		net = map[string]any{}
	}
	if v, ok := net["network_prediction_options"].(float64); ok && v == neverPredict {
		return nil
	}
	net["network_prediction_options"] = neverPredict
	prefs["net"] = net
	buf, err := json.Marshal(prefs)
	if err != nil {
		return fmt.Errorf("encoding the profile's preferences: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the profile: %w", err)
	}
	if err := os.WriteFile(path, buf, 0o600); err != nil {
		return fmt.Errorf("writing the profile's preferences: %w", err)
	}
	return nil
}

// readPreferences reads the file as it is. One that is no JSON is what Chromium
// would start without; a missing one is empty.
func readPreferences(path string) (map[string]any, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the profile's preferences: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	buf, err := io.ReadAll(io.LimitReader(f, maxPreferences+1))
	if err != nil {
		return nil, fmt.Errorf("reading the profile's preferences: %w", err)
	}
	if len(buf) > maxPreferences {
		return nil, abi.Errorf(abi.ErrLimitExceeded, "launch", "the preferences %q are larger than %d bytes", path, maxPreferences)
	}
	var prefs map[string]any
	if json.Unmarshal(buf, &prefs) != nil || prefs == nil {
		return map[string]any{}, nil
	}
	return prefs, nil
}
