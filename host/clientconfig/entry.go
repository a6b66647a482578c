package clientconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/BurntSushi/toml"
)

// Entry returns what the configuration's entry starts; ok is false if it has no
// entry, or can't be read. An entry that starts nothing has no command.
func (c Client) Entry(text string) (e Entry, ok bool) {
	doc, err := c.parse(text)
	if err != nil {
		return Entry{}, false
	}
	servers, _ := doc[c.section].(map[string]any)
	own, ok := servers[ServerName].(map[string]any)
	if !ok {
		return Entry{}, false
	}
	e.Command, _ = own["command"].(string)
	args, _ := own["args"].([]any)
	for _, a := range args {
		arg, _ := a.(string) // what is no text starts nothing that we know
		e.Args = append(e.Args, arg)
	}
	env, _ := own["env"].(map[string]any)
	for name, v := range env {
		if value, ok := v.(string); ok {
			e = e.with(name, value)
		}
	}
	return e, true
}

// Keeping adds the variables of an earlier entry but those named in own, which
// whoever made e decides on, and returns the names of what was added, sorted.
func (e Entry) Keeping(earlier Entry, own ...string) (Entry, []string) {
	var kept []string
	for _, name := range slices.Sorted(maps.Keys(earlier.Env)) {
		if _, set := e.Env[name]; set || slices.Contains(own, name) {
			continue
		}
		e = e.with(name, earlier.Env[name])
		kept = append(kept, name)
	}
	return e, kept
}

// with is the entry with one more variable.
func (e Entry) with(name, value string) Entry {
	env := maps.Clone(e.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[name] = value
	e.Env = env
	return e
}

// parse reads a whole configuration.
func (c Client) parse(text string) (doc map[string]any, err error) {
	if c.toml {
		_, err = toml.Decode(text, &doc)
	} else {
		err = json.Unmarshal([]byte(plainJSON(text)), &doc)
	}
	return doc, err
}

// onlyEntryChanged makes sure, by reading both, that a changed text differs from
// the old one in our entry alone.
func (c Client) onlyEntryChanged(old, text string) error {
	before, err := c.parse(old)
	if err != nil {
		return err
	}
	after, err := c.parse(text)
	if err != nil {
		return fmt.Errorf("BUG: the changed text can't be read: %w", err)
	}
	for _, doc := range []map[string]any{before, after} {
		if servers, ok := doc[c.section].(map[string]any); ok {
			if delete(servers, ServerName); len(servers) == 0 {
				delete(doc, c.section)
			}
		}
	}
	if !reflect.DeepEqual(before, after) {
		return errors.New("BUG: more than the entry changed")
	}
	return nil
}
