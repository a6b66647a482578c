package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// results is what each command prints with --json: zero values, whose types are the
// contract. A command that isn't here is in noResults.
func results() map[string]any {
	return map[string]any{
		"approvals": approvalsResult{}, "audit": auditResult{}, "audit verify": audit.Report{}, "check": connectorsResult{},
		"clients add": control.NewClient{}, "clients list": clientsResult{}, "clients may-ask": control.NewClient{}, "clients may-ask --off": mayAskResult{},
		"clients revoke": clientRemovedResult{}, "completion": scriptResult{},
		"connector build": builtResult{}, "connector check": moduleResult{}, "connector propose": registry.Proposal{}, "connector publish": changed{}, "connector sign": signedResult{},
		"doctor": doctorResult{}, "info": host.PluginDetails{}, "install": installedResult{},
		"key export": exportedKey{}, "key import": keysResult{}, "key list": keysResult{}, "key new": newKeyResult{}, "key remove": keyRemovedResult{},
		"key renew": keyResult{}, "key show": keyResult{}, "key verify": keyVerdict{},
		"list": pluginsResult{}, "lock export": exported{}, "login": loginResult{}, "logout": logoutResult{}, "logs": logsResult{}, "man": manualResult{},
		"mcp --print-config": clientConfigResult{}, "outdated": outdatedResult{}, "pin": host.PluginInfo{}, "remove": host.Removed{}, "rollback": host.PluginInfo{},
		"registry accept": changed{}, "registry add": host.RegistryInfo{}, "registry add-publisher": changed{}, "registry check": registry.CheckReport{},
		"registry fetch": fetchedResult{}, "registry init": registryMadeResult{}, "registry list": registriesResult{}, "registry list --removed": removedRegistriesResult{}, "registry log": registry.History{},
		"registry mirror": registry.MirrorReport{}, "registry pending": pendingResult{}, "registry push": pushedResult{}, "registry refresh": refreshed{},
		"registry remove": registryRemovedResult{}, "registry remove-publisher": changed{}, "registry revoke": changed{}, "registry rotate": changed{},
		"registry set-url": host.RegistryInfo{}, "registry sign": pendingResult{}, "registry yank": changed{},
		"search": host.SearchResult{}, "service install": serviceInstalled{}, "service remove": serviceRemoved{}, "service status": serviceState{},
		"stop": stopResult{}, "sync": host.SyncReport{}, "sync distrust": teamRemovedResult{}, "sync list": teamsResult{}, "sync list --removed": formerTeamsResult{}, "sync trust": host.TeamInfo{},
		"tools": toolsResult{}, "tools TOOL": control.Tool{}, "unpin": host.PluginInfo{}, "update": updatedResult{}, "verify": verifiedResult{},
		"version": versionResult{},
	}
}

// noResults are the commands whose output is no result of ours, and why.
func noResults() map[string]string {
	return map[string]string{
		"call":          "prints what the tool returned, an object by its own schema",
		"demo":          "shows to a person how other commands are used",
		"mcp":           "standard output is the client's",
		"serve":         "runs until it is stopped",
		"logs --follow": "one record a line, without an end",
	}
}

// Every command with --json has a result of a known shape, and a change to a shape
// is a change to a file.
func TestShapesOfJSON(t *testing.T) {
	all := results()
	for _, c := range commandsOf(rootOf(&bytes.Buffer{})) {
		path := strings.TrimPrefix(c.CommandPath(), "drawbridge ")
		_, has := all[path]
		_, none := noResults()[path]
		if c.RunE != nil && !isGroup(c) && has == none {
			t.Errorf("%s: its result has to be in one of results and noResults", path)
		}
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "drawbridge %s\n", path)
		s := shaper{t: t, out: &b, command: path}
		s.object(reflect.TypeOf(all[path]), "  ")
	}
	golden.Check(t, "testdata/shapes.txt", []byte(b.String()))
}

// isGroup reports whether a command only holds others: it shows its help.
func isGroup(c *cobra.Command) bool {
	return c.HasSubCommands() && strings.TrimSpace(strings.TrimPrefix(c.Use, c.Name())) == "" && c.Name() != "audit"
}

// A shaper writes the shape of a result and finds what is against the rules.
type shaper struct {
	t       *testing.T
	out     io.Writer
	command string
}

var snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// facts are the names that mean the same in every command, and so have one kind.
func facts() map[string]string {
	return map[string]string{
		"plugin": "text", "version": "text", "registry": "text", "connector": "text", "tool": "text", "client": "text", "team": "text", "channel": "text",
		"fingerprint": "text", "signer": "text", "release": "text", "module": "text", "file": "text", "dir": "text", "url": "text",
		"code": "text", "reason": "text", "message": "text", "hint": "text", "error": "object", "errors": "list", "verdict": "text",
		"snapshot": "number", "lock_version": "number", "module_bytes": "number", "bytes": "number",
		"expires": "time", "published": "time", "created": "time", "added": "time", "issued": "time", "removed": "boolean",
		"plugins": "list", "registries": "list", "connectors": "list", "tools": "list", "clients": "list", "teams": "list", "keys": "list", "checks": "list",
	}
}

// otherwise are the places where a name means something else, and why.
func otherwise() map[string]string {
	return map[string]string{
		"registry check: added":   "sentences that a new version adds",
		"registry check: removed": "sentences that it takes away",
	}
}

func (s shaper) object(typ reflect.Type, indent string) {
	if typ.Kind() != reflect.Struct {
		s.t.Errorf("%s: %s is no object", s.command, typ)
		return
	}
	for f := range typ.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			s.object(f.Type, indent)
			continue
		}
		s.member(name, opts, f.Type, indent)
	}
}

func (s shaper) member(name, opts string, typ reflect.Type, indent string) {
	place := s.command + ": " + name
	if !snake.MatchString(name) {
		s.t.Errorf("%s is not in snake case", place)
	}
	may := ""
	if opts != "" {
		may = "?"
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	kind := kindOfJSON(typ)
	if want, ok := facts()[name]; ok && want != kind {
		if _, ok := otherwise()[place]; !ok {
			s.t.Errorf("%s is a %s, and elsewhere a %s", place, kind, want)
		}
	}
	if strings.HasSuffix(name, "_at") || strings.HasSuffix(name, "_time") {
		s.t.Errorf("%s: a time has no suffix", place)
	}
	fmt.Fprintf(s.out, "%s%s%s: %s", indent, name, may, kind)
	switch kind {
	case "object":
		fmt.Fprintln(s.out)
		s.object(typ, indent+"  ")
	case "list":
		// With omitzero a list that is asked for is there, if it is empty too.
		if opts == "omitempty" {
			s.t.Errorf("%s is left out if it is empty: a list is always there", place)
		}
		of := kindOfJSON(typ.Elem())
		fmt.Fprintf(s.out, " of %s\n", of)
		if of == "object" {
			s.object(typ.Elem(), indent+"  ")
		}
	case "":
		s.t.Errorf("%s: what becomes of a %s?", place, typ)
	default:
		fmt.Fprintln(s.out)
	}
}

func kindOfJSON(typ reflect.Type) string {
	switch typ {
	case reflect.TypeFor[json.RawMessage]():
		return "any"
	case reflect.TypeFor[time.Time](), reflect.TypeFor[registry.Time]():
		return "time"
	}
	switch typ.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "number"
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "list"
	}
	return ""
}

// wrongJSON says what is wrong with what a command printed with --json; args are
// its command line.
func wrongJSON(args []string, text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return fmt.Errorf("it is not one JSON object: %w", err)
	}
	path := resultOf(args)
	if _, ok := noResults()[path]; ok && members["error"] == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	if err := wrongValues("", v); err != nil {
		return err
	}
	into := any(&errorResult{})
	if _, ok := members["error"]; !ok || len(members) > 1 {
		zero, ok := results()[path]
		if !ok {
			return fmt.Errorf("nobody knows the result of %q", path)
		}
		into = reflect.New(reflect.TypeOf(zero)).Interface()
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the result of %q: %w", path, err)
	}
	if e, ok := into.(*errorResult); ok && (e.Error.Code == "" || e.Error.Message == "") {
		return fmt.Errorf("an error without a code or a message")
	}
	return nil
}

// resultOf is a command line's key in results or noResults.
func resultOf(args []string) string {
	root := rootOf(&bytes.Buffer{})
	cmd, rest, err := root.Find(args)
	if err != nil {
		return ""
	}
	path := strings.TrimPrefix(cmd.CommandPath(), "drawbridge ")
	for _, with := range []string{path + " --off", path + " --print-config", path + " --follow", path + " --removed"} {
		flag := strings.TrimPrefix(with, path+" ")
		_, one := results()[with]
		_, none := noResults()[with]
		if (one || none) && slices.Contains(rest, flag) {
			return with
		}
	}
	if path == "tools" && slices.ContainsFunc(rest, func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		return "tools TOOL"
	}
	return path
}

// wrongValues finds names that aren't in snake case, nulls, and times that aren't
// in UTC. What stands in a tool's schema or arguments is not ours.
func wrongValues(name string, v any) error {
	switch v := v.(type) {
	case nil:
		return fmt.Errorf("%s is null", name)
	case string:
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil && (t.Location() != time.UTC || !strings.HasSuffix(v, "Z")) {
			return fmt.Errorf("%s is %q, which is not in UTC", name, v)
		}
	case []any:
		for _, item := range v {
			if err := wrongValues(name, item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range v {
			if !snake.MatchString(key) {
				return fmt.Errorf("the name %q is not in snake case", key)
			}
			if key == "input" || key == "args" {
				continue
			}
			if err := wrongValues(key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestWrongJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"plugins": []}`: "",
		`{"error": {"code": "internal", "message": "x"}}`: "",
		`[]`:                               "not one JSON object",
		`{"plugins": []}{}`:                "not one JSON object",
		`{"plugins": null}`:                "plugins is null",
		`{"plugins": [{"plugIn": "a/b"}]}`: "snake case",
		`{"plugins": [{"name": "a/b"}]}`:   "unknown field",
		`{"plugins": [{"plugin": "2026-12-01T05:30:00+05:30"}]}`: "not in UTC",
		`{"error": {"code": "internal"}}`:                        "without a code or a message",
		`{"error": "it is broken"}`:                              "cannot unmarshal",
	} {
		err := wrongJSON([]string{"list", "--json"}, []byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := wrongJSON([]string{"call", "x"}, []byte(`{"anyThing": null}`)); err != nil {
		t.Errorf("the result of a tool: %v", err)
	}
}

// A wrong command line is told as an object too, wherever in it --json stands.
func TestErrorsAsJSON(t *testing.T) {
	for _, c := range commandsOf(rootOf(&bytes.Buffer{})) {
		path := strings.Fields(c.CommandPath())[1:]
		var out, msg bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &msg, getenv: func(string) string { return "" }}
		args := slices.Concat(path, []string{"--no-such-flag", "--json"})
		code := a.run(args)
		if err := wrongJSON(args, out.Bytes()); err != nil || code != exitUsage || msg.Len() > 0 {
			t.Errorf("drawbridge %q ends with %d: %v\n%s%s", args, code, err, out.String(), msg.String())
		}
	}
	if wantsJSON([]string{"call", "x", "--", "--json"}) {
		t.Error("what stands behind -- is a flag")
	}
	if e := errorOf(usage(fmt.Errorf("wrong"))); e.Code != abi.ErrInvalidArgs || e.Message != "wrong" {
		t.Errorf("a wrong command line is %+v", e)
	}
}
