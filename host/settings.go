package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// A settingsFile keeps what the user set for each plugin, such as the address
// of a self-hosted system. It holds no secrets.
type settingsFile struct {
	path string
	mu   sync.Mutex
}

// settingsDoc is the file's format.
type settingsDoc struct {
	Format  int                          `json:"format"` // 1
	Plugins map[string]map[string]string `json:"plugins"`
}

func (s *settingsFile) read() (settingsDoc, error) {
	var doc settingsDoc
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return settingsDoc{Format: 1, Plugins: map[string]map[string]string{}}, nil
	}
	if err != nil {
		return doc, fmt.Errorf("reading settings: %w", err)
	}
	if err := strictjson.Decode(data, &doc, strictjson.MaxBytes(abi.MaxMetadata)); err != nil {
		return doc, fmt.Errorf("reading settings file %q: %w", s.path, err)
	}
	if doc.Format != 1 {
		return doc, fmt.Errorf("settings file %q has format %d, want 1", s.path, doc.Format)
	}
	if doc.Plugins == nil {
		doc.Plugins = map[string]map[string]string{}
	}
	return doc, nil
}

// get returns what is set for a plugin.
func (s *settingsFile) get(plugin string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc, err := s.read()
	return doc.Plugins[plugin], err
}

// differ reports whether setting values would change what is set for a plugin.
func (s *settingsFile) differ(plugin string, values map[string]string) (bool, error) {
	before, err := s.get(plugin)
	if err != nil {
		return false, err
	}
	for name, value := range values {
		if old, ok := before[name]; !ok || old != value {
			return true, nil
		}
	}
	return false, nil
}

// set adds values to what is set for a plugin.
func (s *settingsFile) set(plugin string, values map[string]string) error {
	return s.change(func(plugins map[string]map[string]string) {
		merged := maps.Clone(plugins[plugin])
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, values)
		plugins[plugin] = merged
	})
}

// remove forgets what is set for a plugin.
func (s *settingsFile) remove(plugin string) error {
	return s.change(func(plugins map[string]map[string]string) { delete(plugins, plugin) })
}

func (s *settingsFile) change(f func(plugins map[string]map[string]string)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc, err := s.read()
	if err != nil {
		return err
	}
	f(doc.Plugins)
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path, append(data, '\n'), 0o600)
}
