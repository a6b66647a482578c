package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

var (
	//go:embed package.json
	packageJSON []byte
	//go:embed package-lock.json
	packageLock []byte
)

const installTimeout = 5 * time.Minute

// A peerSet is the other servers, installed.
type peerSet struct {
	node    string // the program
	modules string // node_modules
}

// installPeers installs what package-lock.json pins into .cache/npm at the top of
// the repository, once. No script of a package runs, and no browser is downloaded.
func installPeers(ctx context.Context, source string) (peerSet, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return peerSet{}, errors.New("the other servers need Node: there is no node on the PATH")
	}
	if node, err = filepath.EvalSymlinks(node); err != nil {
		return peerSet{}, err
	}
	sum := sha256.Sum256(append(append([]byte{}, packageJSON...), packageLock...))
	dir := filepath.Join(source, ".cache", "npm", "peers-"+hex.EncodeToString(sum[:6]))
	set, complete := peerSet{node, filepath.Join(dir, "node_modules")}, filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return set, nil
	}
	if err := npmInstall(ctx, dir); err != nil {
		return peerSet{}, err
	}
	return set, os.WriteFile(complete, nil, 0o600)
}

func npmInstall(ctx context.Context, dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("the other servers come from npm: there is no npm on the PATH")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range map[string][]byte{"package.json": packageJSON, "package-lock.json": packageLock} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), noDownloads()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm could not install the other servers: %w\n%s", err, tail(out))
	}
	return nil
}

func noDownloads() []string {
	return []string{"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1", "PUPPETEER_SKIP_DOWNLOAD=1"}
}

// peerEnv is the other servers' environment but for HOME: they download nothing and
// look for no newer version of themselves.
func peerEnv() []string {
	env := append(noDownloads(), "CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS=1")
	for _, name := range []string{"PATH", "LANG", "TZ", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// rowsJS returns the table as arrays of texts, as drawbridge's connector does. It
// is for the servers whose way to read is a script of the caller's.
const rowsJS = `() => Array.from(document.querySelectorAll('tr.row'), r => Array.from(r.querySelectorAll('td'), c => c.textContent))`

// servers describes how to start and use them: without a window, with a profile of
// their own that ends with them, in their default settings otherwise.
func (s peerSet) servers(chromium, url string) []*server {
	args := func(pkg, bin string, flags ...string) []string {
		return append([]string{s.node, filepath.Join(s.modules, filepath.FromSlash(pkg), filepath.FromSlash(bin)), "--headless", "--isolated"}, flags...)
	}
	playwright := args("@playwright/mcp", "cli.js", "--executable-path", chromium)
	devtools := args("chrome-devtools-mcp", "build/src/bin/chrome-devtools-mcp.js", "--no-usage-statistics", "--no-performance-crux", "--executablePath", chromium)
	if os.Getuid() == 0 { // Chromium refuses its sandbox to root
		playwright, devtools = append(playwright, "--no-sandbox"), append(devtools, "--chromeArg=--no-sandbox")
	}
	pageID := map[string]any{"pageId": 1} // the tab that the browser starts with
	script := map[string]any{"function": rowsJS}
	return []*server{
		{
			key: "playwright", name: "@playwright/mcp", version: s.version("@playwright/mcp"), argv: playwright,
			ways: []way{
				{tool: "browser_evaluate", args: script, open: &call{"browser_navigate", map[string]any{"url": url}}},
				{tool: "browser_snapshot", args: map[string]any{}, open: &call{"browser_navigate", map[string]any{"url": url}}},
			},
		},
		{
			key: "devtools", name: "chrome-devtools-mcp", version: s.version("chrome-devtools-mcp"), argv: devtools,
			ways: []way{
				{tool: "evaluate_script", args: with(script, pageID), open: &call{"navigate_page", with(pageID, map[string]any{"url": url})}},
				{tool: "take_snapshot", args: pageID, open: &call{"navigate_page", with(pageID, map[string]any{"url": url})}},
			},
		},
	}
}

// version is what the installed package says of itself.
func (s peerSet) version(pkg string) string {
	var p struct{ Version string }
	text, err := os.ReadFile(filepath.Join(s.modules, filepath.FromSlash(pkg), "package.json"))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return "of an unknown version"
	}
	return p.Version
}

func with(a, b map[string]any) map[string]any {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// maxSaid is how much of a program's words stands in an error.
const maxSaid = 2000

// tail is the end of a text, where a program says why it failed.
func tail(text []byte) string {
	return strings.TrimSpace(string(text[max(0, len(text)-maxSaid):]))
}
