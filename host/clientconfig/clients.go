package clientconfig

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// ServerName is the name that the entry has in every client.
const ServerName = "drawbridge"

// An Entry is what a client has to start.
type Entry struct {
	Command string            // absolute path of the program
	Args    []string          // its arguments
	Env     map[string]string // variables that it needs beside the client's; may be nil
}

// A Client is one MCP client.
type Client struct {
	ID      string // as the user names it, such as "cursor"
	Title   string
	section string // of the file's top object or table
	toml    bool
	typed   bool // an entry says that it is of type stdio
	file    func(Environment) string
	add     func(Entry) string // the client's own command that does the same; nil if it has none
}

// An Environment says where a user's files are.
type Environment struct {
	OS     string // as runtime.GOOS
	Getenv func(string) string
}

// toolTimeout is how many seconds a client is told to wait where it has a limit
// of its own: a call may wait 45 s for a person and then run for 120.
const toolTimeout = 180

// Clients is the table of clients, sorted by id. Files and entries were compared
// with what the clients' makers say of them: these pages, files of repositories and
// issues.
//
//	claude          https://code.claude.com/docs/en/mcp. The file, ~/.claude.json for
//	                the scope user, stands there and in issue 4193 of
//	                anthropics/claude-code; CLAUDE_CONFIG_DIR moves it: issue 48448
//	claude-desktop  https://modelcontextprotocol.io/quickstart/user, which is
//	                modelcontextprotocol/docs quickstart/user.mdx: macOS and Windows
//	                only, and no type
//	codex           https://developers.openai.com/codex/mcp, and openai/codex
//	                docs/config.md: tool_timeout_sec is 60 by default. That its own
//	                command replaces an entry: codex-rs/cli/src/mcp_cmd.rs
//	cursor          https://cursor.com/docs/mcp, formerly
//	                https://docs.cursor.com/context/model-context-protocol; of the
//	                type only what others quote of it was seen
//	gemini          https://geminicli.com/docs/tools/mcp-server, which is
//	                google-gemini/gemini-cli docs/tools/mcp-server.md: timeout is 10
//	                minutes by default, and there is no type
//	vscode          https://code.visualstudio.com/docs/copilot/reference/mcp-configuration,
//	                which is microsoft/vscode-docs docs/copilot/reference/mcp-configuration.md:
//	                the section is servers, and the type is required
func Clients() []Client {
	return []Client{
		{
			ID: "claude", Title: "Claude Code", section: "mcpServers", typed: true,
			add: func(e Entry) string {
				return "claude mcp add" + e.env("--env") + " --scope user " + ServerName + " -- " + e.line()
			},
			file: func(e Environment) string {
				if dir := e.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
					return filepath.Join(dir, ".claude.json")
				}
				return e.home(".claude.json")
			},
		},
		{
			ID: "claude-desktop", Title: "Claude Desktop", section: "mcpServers",
			file: desktopFile,
		},
		{
			ID: "codex", Title: "Codex", section: "mcp_servers", toml: true,
			add: func(e Entry) string { return "codex mcp add " + ServerName + e.env("--env") + " -- " + e.line() },
			file: func(e Environment) string {
				if dir := e.Getenv("CODEX_HOME"); dir != "" {
					return filepath.Join(dir, "config.toml")
				}
				return e.home(".codex", "config.toml")
			},
		},
		{
			ID: "cursor", Title: "Cursor", section: "mcpServers", typed: true,
			file: func(e Environment) string { return e.home(".cursor", "mcp.json") },
		},
		{
			ID: "gemini", Title: "Gemini CLI", section: "mcpServers",
			add: func(e Entry) string {
				// What begins with a dash would be an option of gemini's.
				if i := slices.IndexFunc(e.Args, func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
					e.Args = slices.Insert(slices.Clone(e.Args), i, "--")
				}
				return "gemini mcp add --scope user" + e.env("-e") + " " + ServerName + " " + e.line()
			},
			file: func(e Environment) string { return e.home(".gemini", "settings.json") },
		},
		{
			ID: "vscode", Title: "VS Code", section: "servers", typed: true,
			add:  codeAdd,
			file: codeFile,
		},
	}
}

// desktopFile is Claude Desktop's file, which there is on two systems.
func desktopFile(e Environment) string {
	const name = "claude_desktop_config.json"
	switch {
	case e.OS == "darwin":
		return e.home("Library", "Application Support", "Claude", name)
	case e.OS == "windows" && e.Getenv("APPDATA") != "":
		return filepath.Join(e.Getenv("APPDATA"), "Claude", name)
	}
	return ""
}

// codeAdd has VS Code take an entry, which it wants as JSON with a name.
func codeAdd(e Entry) string {
	named := struct {
		Name    string            `json:"name"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env,omitempty"`
	}{ServerName, e.Command, e.Args, e.Env}
	text, _ := json.Marshal(named) // strings can't fail
	return "code --add-mcp " + platform.ShellQuote(string(text))
}

// codeFile is mcp.json of VS Code's default profile.
func codeFile(e Environment) string {
	switch e.OS {
	case "darwin":
		return e.home("Library", "Application Support", "Code", "User", "mcp.json")
	case "windows":
		return filepath.Join(e.Getenv("APPDATA"), "Code", "User", "mcp.json")
	}
	if dir := e.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "Code", "User", "mcp.json")
	}
	return e.home(".config", "Code", "User", "mcp.json")
}

func (e Environment) home(parts ...string) string {
	home := e.Getenv("HOME")
	if e.OS == "windows" {
		home = e.Getenv("USERPROFILE")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// IDs lists the clients' ids.
func IDs() []string {
	var ids []string
	for _, c := range Clients() {
		ids = append(ids, c.ID)
	}
	return ids
}

// Find returns the client with this id.
func Find(id string) (Client, error) {
	all := Clients()
	i := slices.IndexFunc(all, func(c Client) bool { return c.ID == id })
	if i < 0 {
		return Client{}, abi.Errorf(abi.ErrInvalidArgs, "", "no client %q is known, only %s", id, strings.Join(IDs(), ", "))
	}
	return all[i], nil
}

// File is where the client keeps its configuration for one user; empty if there
// is no home directory, or the client is not made for the system.
func (c Client) File(e Environment) string { return c.file(e) }

// Snippet is a whole configuration that holds the entry and nothing else.
func (c Client) Snippet(e Entry) string {
	if c.toml {
		return tomlTable(c.section, e)
	}
	return "{\n  " + quoted(c.section) + ": {\n    " + quoted(ServerName) + ": " + c.jsonEntry(e, "    ") + "\n  }\n}\n"
}

// Put returns the configuration old with the entry in it, in place of one that is
// there, and everything else as it was. It refuses what it can't change safely.
func (c Client) Put(old string, e Entry) (string, error) {
	if strings.TrimSpace(old) == "" {
		return c.Snippet(e), nil
	}
	var text string
	var err error
	if c.toml {
		text, err = putTOML(old, c.section, e)
	} else {
		text, err = putJSON(old, c.section, func(indent string) string { return c.jsonEntry(e, indent) })
	}
	if err == nil {
		err = c.onlyEntryChanged(old, text)
	}
	if err != nil {
		return "", abi.Errorf(abi.ErrUnsupportedAction, "", "the configuration of %s can't be changed safely: %w", c.Title, err).
			WithHint("%s", c.byHand(e))
	}
	return text, nil
}

// byHand is a command that gets the entry into the client's configuration in
// another way than Put, or that says what has to go in.
func (c Client) byHand(e Entry) string {
	if c.add != nil {
		return c.add(e)
	}
	return "drawbridge mcp --print-config " + c.ID
}

// line is the entry as a command line.
func (e Entry) line() string {
	words := []string{platform.ShellQuote(e.Command)}
	for _, a := range e.Args {
		words = append(words, platform.ShellQuote(a))
	}
	return strings.Join(words, " ")
}

// env has the entry's variables as options of one name, with a blank before each.
func (e Entry) env(option string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		b.WriteString(" " + option + " " + platform.ShellQuote(name+"="+e.Env[name]))
	}
	return b.String()
}

// Damaged is why a configuration that names our server can't be read, by its client
// neither; nil if it can, or does not name it.
func (c Client) Damaged(text string) error {
	if !strings.Contains(text, ServerName) {
		return nil
	}
	_, err := c.parse(text)
	return err
}

// jsonEntry is the entry as JSON whose later lines begin with indent.
func (c Client) jsonEntry(e Entry, indent string) string {
	entry := struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env,omitempty"`
	}{Command: e.Command, Args: e.Args, Env: e.Env}
	if c.typed {
		entry.Type = "stdio"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, "  ")
	_ = enc.Encode(entry) // strings can't fail
	return strings.TrimSuffix(b.String(), "\n")
}

// quoted is a string as JSON, which is a basic string of TOML too.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings can't fail
	return strings.TrimSuffix(b.String(), "\n")
}
