package clientconfig

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

func entryOf(c Client) Entry {
	return Entry{Command: "/usr/local/bin/drawbridge", Args: []string{"mcp", "--client", c.ID}}
}

func TestSnippets(t *testing.T) {
	for _, c := range Clients() {
		golden.Check(t, "testdata/snippet-"+c.ID, []byte(c.Snippet(entryOf(c))))
		e := entryOf(c)
		e.Env = map[string]string{"DRAWBRIDGE_HOME": `/home/ada/my "home"`}
		if got, ok := c.Entry(c.Snippet(e)); !ok || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: the entry reads back as %+v, %v", c.ID, got, ok)
		}
	}
	if !slices.IsSorted(IDs()) || len(IDs()) != 6 {
		t.Errorf("clients %q", IDs())
	}
	if _, err := Find("emacs"); !errors.Is(err, abi.ErrInvalidArgs) || !strings.Contains(err.Error(), "claude, claude-desktop, codex") {
		t.Errorf("an unknown client: %v", err)
	}
}

func TestFiles(t *testing.T) {
	env := func(os string, vars ...string) Environment {
		return Environment{OS: os, Getenv: func(name string) string {
			for _, v := range vars {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}}
	}
	for _, c := range []struct {
		id   string
		env  Environment
		want string
	}{
		{"claude", env("linux", "HOME=/home/ada"), "/home/ada/.claude.json"},
		{"claude", env("linux", "HOME=/home/ada", "CLAUDE_CONFIG_DIR=/c"), "/c/.claude.json"},
		{"claude-desktop", env("darwin", "HOME=/Users/ada"), "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", env("windows", "APPDATA=/roaming"), "/roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", env("windows", "USERPROFILE=/ada"), ""},
		{"claude-desktop", env("linux", "HOME=/home/ada"), ""},
		{"codex", env("linux", "HOME=/home/ada"), "/home/ada/.codex/config.toml"},
		{"codex", env("linux", "HOME=/home/ada", "CODEX_HOME=/x"), "/x/config.toml"},
		{"cursor", env("darwin", "HOME=/Users/ada"), "/Users/ada/.cursor/mcp.json"},
		{"gemini", env("linux", "HOME=/home/ada"), "/home/ada/.gemini/settings.json"},
		{"vscode", env("linux", "HOME=/home/ada"), "/home/ada/.config/Code/User/mcp.json"},
		{"vscode", env("linux", "HOME=/home/ada", "XDG_CONFIG_HOME=/conf"), "/conf/Code/User/mcp.json"},
		{"vscode", env("darwin", "HOME=/Users/ada"), "/Users/ada/Library/Application Support/Code/User/mcp.json"},
		{"cursor", env("linux"), ""},
	} {
		client, err := Find(c.id)
		if err != nil {
			t.Fatal(err)
		}
		if got := client.File(c.env); got != c.want {
			t.Errorf("%s: %q, want %q", c.id, got, c.want)
		}
	}
}

// What is put in is there, and all the rest is as it was, byte for byte.
func TestPutKeepsTheRest(t *testing.T) {
	for name, c := range map[string]struct{ client, old string }{
		"claude-others":     {"claude", "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  },\n  \"projects\": {\"/a\": {\"mcpServers\": {\"drawbridge\": {\"command\": \"mine\"}}}}\n}\n"},
		"cursor-replaced":   {"cursor", "{\"mcpServers\": {\"a\": {\"url\": \"https://a\"}, \"drawbridge\": {\"command\": \"/old/drawbridge\", \"env\": {\"X\": \"1\"}}, \"b\": {}}}"},
		"gemini-no-section": {"gemini", "{\n  // what I like\n  \"theme\": \"dark\", /* \"mcpServers\": {} */\n  \"list\": [1, 2,],\n}\n"},
		"vscode-comments":   {"vscode", "// my servers\n{\n\t\"inputs\": [],\n\t\"servers\": {\n\t\t// nothing yet, \"drawbridge\": {}\n\t},\n}\n"},
		"vscode-empty":      {"vscode", "{}"},
		"codex-replaced":    {"codex", "model = \"o\" # mine\n[ mcp_servers . \"drawbridge\" ] # old\ncommand = '/old/drawbridge'\nargs = [\"mcp\", 'x',]\nenabled = true\n\n[mcp_servers.drawbridge.env]\n# mine too\nX = \"a # b\"\n\n# the other one\n[mcp_servers.other]\ncommand = \"x\"\nargs = [\n  \"y\",\n]\n"},
		"codex-last":        {"codex", "[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.drawbridge.env]\nX = \"1\"\n\n# the end\n"},
		"codex-others":      {"codex", "model = \"o\"\n\n[mcp_servers.other]\ncommand = \"x\"\nargs = [\n  \"y\",\n]"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := Find(c.client)
			if err != nil {
				t.Fatal(err)
			}
			text, err := client.Put(c.old, entryOf(client))
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/put-"+name, []byte(text))
			if got, ok := client.Entry(text); !ok || !reflect.DeepEqual(got, entryOf(client)) {
				t.Errorf("the entry reads back as %+v, %v", got, ok)
			}
			again, err := client.Put(text, entryOf(client))
			if err != nil || again != text {
				t.Errorf("a second time it is\n%s%v", again, err)
			}
		})
	}
}

// A file of a million comments is read in one pass.
func TestManyComments(t *testing.T) {
	text := strings.Repeat("//\n", 500_000) + "{" + strings.Repeat("/**/", 500_000) + `"mcpServers": {"drawbridge": {"command": "x"}}}`
	client, err := Find("cursor")
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := client.Entry(text); !ok || e.Command != "x" {
		t.Errorf("it starts %q, %v", e.Command, ok)
	}
}

// What can't be changed safely is refused, with the client's own way as the hint.
func TestPutRefuses(t *testing.T) {
	for _, c := range []struct{ client, old, says string }{
		{"cursor", "[1]", "no object"},
		{"cursor", `{"mcpServers": [1]}`, "no object"},
		{"cursor", `{"mcpServers": {}, "mcpServers": {}}`, "twice"},
		{"cursor", `{"mcpServers": {"drawbridge": 1, "drawbridge": 2}}`, "twice"},
		{"cursor", `{"a": 1 "b": 2}`, ""},
		{"cursor", `{"a": 1`, ""},
		{"cursor", `{"mcpServers": {"a": {}`, ""},
		{"cursor", `{"a": "unfinished}`, ""},
		{"cursor", `{"a": 1} trailing`, ""},
		{"cursor", "\ufeff{}", "no object"},
		{"codex", "[mcp_servers.drawbridge]\nargs = [\n  \"mcp\",\n]\n", "take it out first"},
		{"codex", "[mcp_servers.drawbridge]\nargs = [ # ]\n[\"x\"]]\n", "take it out first"},
		{"codex", "[mcp_servers.drawbridge]\nenv = { X = \"1\" }\n", "take it out first"},
		{"codex", "[mcp_servers.drawbridge]\nnote = \"\"\"\n[x]\n\"\"\"\n", "take it out first"},
		{"codex", "note = '''\n[mcp_servers.drawbridge]\n'''\n", "take it out first"},
		{"codex", "[[mcp_servers.drawbridge]]\ncommand = \"x\"\n", ""},
		{"codex", "[mcp_servers.drawbridge] command = \"x\"\n", "take it out first"},
		{"codex", "[mcp_servers]\nother = { command = \"x\" }\n", "tables of their own"},
		{"codex", "mcp_servers = { other = { command = \"x\" } }\n", "tables of their own"},
		{"codex", "mcp_servers.other.command = \"x\"\n", "tables of their own"},
		{"codex", "a = \"\"\"\n[x]\n", "within a string"},
	} {
		client, err := Find(c.client)
		if err != nil {
			t.Fatal(err)
		}
		text, err := client.Put(c.old, entryOf(client))
		var e *abi.Error
		if !errors.As(err, &e) || e.Code != abi.ErrUnsupportedAction || e.Hint == "" || !strings.Contains(e.Msg, c.says) || text != "" {
			t.Errorf("%q: %q, %v", c.old, text, err)
		}
	}
}

// The clients' own commands, as a shell takes them.
func TestByHand(t *testing.T) {
	for id, want := range map[string]string{
		"claude": `claude mcp add --env 'A=1' --env 'B=it'\''s' --scope user drawbridge -- '/opt/my bridge' mcp --client claude`,
		"codex":  `codex mcp add drawbridge --env 'A=1' --env 'B=it'\''s' -- '/opt/my bridge' mcp --client codex`,
		"cursor": `drawbridge mcp --print-config cursor`,

		"claude-desktop": `drawbridge mcp --print-config claude-desktop`,
		"gemini":         `gemini mcp add --scope user -e 'A=1' -e 'B=it'\''s' drawbridge '/opt/my bridge' mcp -- --client gemini`,
		"vscode":         `code --add-mcp '{"name":"drawbridge","command":"/opt/my bridge","args":["mcp","--client","vscode"],"env":{"A":"1","B":"it'\''s"}}'`,
	} {
		c, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		e := entryOf(c)
		e.Command, e.Env = "/opt/my bridge", map[string]string{"B": "it's", "A": "1"}
		if got := c.byHand(e); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func TestEntry(t *testing.T) {
	for _, c := range []struct {
		client, text string
		want         Entry
		ok           bool
	}{
		{"cursor", "", Entry{}, false},
		{"cursor", `{"mcpServers": {"other": {"command": "x"}}}`, Entry{}, false},
		{"cursor", `{"mcpServers": ["drawbridge"]}`, Entry{}, false},
		{"cursor", `{"mcpServers": {"drawbridge": {"url": "http://127.0.0.1:8407/mcp"}}}`, Entry{}, true},
		{"cursor", `{"mcpServers": {"drawbridge": {"command": 1, "args": "x", "env": {"A": 1, "B": "b"}}}}`, Entry{Env: map[string]string{"B": "b"}}, true},
		{"vscode", `{"servers": {"drawbridge": {"command": "/x y", "args": ["mcp", "--client", "a b"],},},} // done`, Entry{Command: "/x y", Args: []string{"mcp", "--client", "a b"}}, true},
		{"codex", "[mcp_servers.other]\ncommand = \"x\"\n[mcp_servers.drawbridge]\n# it\ncommand = '/a b'\n", Entry{Command: "/a b"}, true},
		{"codex", "mcp_servers = {drawbridge = {command = 'x', env = {T = \"a\\tb\"}}}", Entry{Command: "x", Env: map[string]string{"T": "a\tb"}}, true},
		{"codex", "[mcp_servers.drawbridge.env]\n[tools]\ncommand = \"x\"\n", Entry{}, true},
		{"codex", "[mcp_servers.drawbridge]\ncommand = x\n", Entry{}, false},
	} {
		client, err := Find(c.client)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := client.Entry(c.text); !reflect.DeepEqual(got, c.want) || ok != c.ok {
			t.Errorf("%s %q: %+v, %v", c.client, c.text, got, ok)
		}
	}
}

// What a person put into the entry's environment, such as a token, outlives the
// entry.
func TestEntryKeepsVariables(t *testing.T) {
	for _, c := range Clients() {
		old := entryOf(c)
		old.Env = map[string]string{"DRAWBRIDGE_TOKEN": "t\"1", "DRAWBRIDGE_HOME": "/old", "X": "old"}
		there, ok := c.Entry(c.Snippet(old))
		if !ok {
			t.Fatalf("%s can't read its own snippet", c.ID)
		}
		e := entryOf(c)
		e.Env = map[string]string{"X": "new"}
		e, kept := e.Keeping(there, "DRAWBRIDGE_HOME")
		text, err := c.Put(c.Snippet(old), e)
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		got, _ := c.Entry(text)
		want := map[string]string{"DRAWBRIDGE_TOKEN": "t\"1", "X": "new"}
		if !reflect.DeepEqual(got.Env, want) || !slices.Equal(kept, []string{"DRAWBRIDGE_TOKEN"}) {
			t.Errorf("%s: %v, kept %q", c.ID, got.Env, kept)
		}
	}
}

// Whatever a file holds, either it is refused or only the entry changed.
func FuzzPut(f *testing.F) {
	for _, s := range []string{"{}", `{"mcpServers": {"a": 1,}, // x` + "\n}", `{"mcpServers": {"drawbridge": {}}}`, `{"a": "\"/*", "b": [1, /* , */ 2]}`, "[", "{\"a\\u0062\": 1}"} {
		f.Add(s)
	}
	client, err := Find("cursor")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, old string) {
		text, err := client.Put(old, entryOf(client))
		if err != nil {
			if strings.Contains(err.Error(), "BUG") {
				t.Error(err)
			}
			return
		}
		if !json.Valid([]byte(plainJSON(text))) {
			t.Errorf("%q becomes %q", old, text)
		}
		if got, ok := client.Entry(text); !ok || got.Command != "/usr/local/bin/drawbridge" {
			t.Errorf("%q becomes %q, whose entry is %+v", old, text, got)
		}
	})
}

// A table that is put in stands there once, is the one that counts, and another
// time nothing changes.
func FuzzPutTOML(f *testing.F) {
	for _, s := range []string{"", "a = 1", "[mcp_servers.drawbridge]\ncommand = 'x'\n# y\n[z]", "[mcp_servers.drawbridge.env]\nA = \"[b]\"\n", "[mcp_servers.b]\n\n[[c]]", "a = \"\"\"\n\"\"\""} {
		f.Add(s)
	}
	client, err := Find("codex")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, old string) {
		text, err := client.Put(old, entryOf(client))
		if err != nil || strings.Contains(old, "/usr/local/bin/drawbridge") {
			return
		}
		if got, ok := client.Entry(text); !ok || got.Command != "/usr/local/bin/drawbridge" || strings.Count(text, client.Snippet(entryOf(client))) != 1 {
			t.Errorf("%q becomes %q, whose entry is %+v", old, text, got)
		}
		if again, err := client.Put(text, entryOf(client)); err != nil || again != text {
			t.Errorf("%q becomes %q, and then %q, %v", old, text, again, err)
		}
	})
}
