package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// A plugin is one installed release, verified and ready to run.
type plugin struct {
	ref     string // namespace/name@version
	release abi.Release
	sha256  string // of the module that was verified
	signer  string // fingerprint of its publisher
	module  *sandbox.Module
	life    *life
}

// A connector is one web system of a plugin, with the user's settings.
type connector struct {
	plugin   *plugin
	def      *abi.Connector
	settings map[string]string
	site     *site
	prompts  []*prompt
}

// A tool is what tools/call names.
type tool struct {
	ToolDef
	conn       *connector
	def        *abi.Tool
	in, out    *release.Schema
	definition []byte // canonical JSON of the whole signed definition: what an approval is bound to
	reads      []abi.Request
	writes     []abi.Request
}

// A catalog is every loaded tool. It is replaced as a whole, never changed.
type catalog struct {
	plugins    map[string]*plugin    // by namespace/name
	connectors map[string]*connector // by connector id
	tools      map[string]*tool      // by listed name and by dotted name
	prompts    map[string]*prompt    // by listed name
	list       []ToolDef             // sorted by name
	problems   map[string]*abi.Error // by namespace/name: why it is not loaded
	revoked    map[string]*abi.Error // by listed and by dotted name of tools: why they must not run
	unread     map[string]*abi.Error // by namespace/name: refused, and its tools are not known
}

// load builds the catalog from what is installed. A plugin that can't be
// trusted or read is left out and reported; the others go on.
func (h *Host) load() (*catalog, error) {
	installed, err := h.opts.Registry.Installed()
	if err != nil {
		return nil, err
	}
	c := &catalog{
		plugins: map[string]*plugin{}, connectors: map[string]*connector{},
		tools: map[string]*tool{}, prompts: map[string]*prompt{}, problems: map[string]*abi.Error{},
		revoked: map[string]*abi.Error{}, unread: map[string]*abi.Error{},
	}
	for _, in := range installed {
		if err := c.add(h, in); err != nil {
			c.problems[in.Plugin()] = Safe(err)
			c.noteRefused(h, in.Plugin())
		}
	}
	for name, t := range c.tools {
		if name == t.Name {
			c.list = append(c.list, t.ToolDef)
		}
	}
	slices.SortFunc(c.list, func(a, b ToolDef) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// add loads one installed plugin; it changes c only if all of it is usable.
func (c *catalog) add(h *Host, in registry.Entry) error {
	loaded, err := h.opts.Registry.Load(in.Plugin())
	if err != nil {
		return err
	}
	for _, w := range loaded.Warnings {
		h.opts.Logger.Warn("plugin needs attention", slog.String("plugin", in.Plugin()), slog.String("warning", w))
	}
	p := &plugin{ref: in.Plugin() + "@" + in.Version, release: loaded.Release, sha256: loaded.Release.Module.SHA256, signer: string(in.Signer)}
	if p.release.Category != abi.CategoryConnector {
		c.plugins[in.Plugin()] = p
		return nil
	}
	if p.module, err = h.module(loaded); err != nil {
		return err
	}
	p.life = newLife(p.module.Close)
	settings, err := h.settings.get(in.Plugin())
	if err != nil {
		return err
	}
	var conns []*connector
	var tools []*tool
	for i := range p.release.Connectors {
		conn, list, err := newConnector(p, &p.release.Connectors[i], settings)
		if err != nil {
			return err
		}
		conns, tools = append(conns, conn), append(tools, list...)
	}
	if err := c.collision(conns, tools); err != nil {
		return err
	}
	c.plugins[in.Plugin()] = p
	for _, conn := range conns {
		c.connectors[conn.def.ID] = conn
		for _, p := range conn.prompts {
			c.prompts[p.Name] = p // the connector's id is its own, so the name is
		}
	}
	for _, t := range tools {
		c.tools[t.Name], c.tools[t.Dotted] = t, t
	}
	return nil
}

// module opens a module that was verified. Machine code that is not there, because
// its cache was cleared or this version has another engine, is made again; nothing
// is asked, since the bytes are those that were agreed to.
//
//nolint:contextcheck // a host that was begun to be loaded is loaded
func (h *Host) module(loaded registry.Loaded) (*sandbox.Module, error) {
	m, err := h.opts.Sandbox.Module(loaded.Wasm, loaded.Release.Capabilities)
	if !errors.Is(err, sandbox.ErrNotCompiled) {
		return m, err
	}
	h.opts.Logger.Info("compiling again", slog.String("plugin", loaded.Entry.Plugin()))
	if _, err := h.opts.Sandbox.Compile(context.Background(), loaded.Wasm); err != nil { // the sandbox has a deadline of its own
		return nil, err
	}
	return h.opts.Sandbox.Module(loaded.Wasm, loaded.Release.Capabilities)
}

// collision refuses names that another plugin already has.
func (c *catalog) collision(conns []*connector, tools []*tool) error {
	for _, conn := range conns {
		if other, ok := c.connectors[conn.def.ID]; ok {
			return abi.Errorf(abi.ErrInvalidArgs, "load", "connector %q is already there, from %s", conn.def.ID, other.plugin.ref)
		}
	}
	for _, t := range tools {
		if other, ok := c.tools[t.Name]; ok {
			return abi.Errorf(abi.ErrInvalidArgs, "load", "tool %q is already there, from %s", t.Name, other.conn.plugin.ref)
		}
	}
	return nil
}

func newConnector(p *plugin, def *abi.Connector, given map[string]string) (*connector, []*tool, error) {
	settings := map[string]string{}
	for _, s := range def.Settings {
		settings[s.Name] = s.Default
	}
	for name, value := range given {
		if _, ok := settings[name]; ok {
			settings[name] = value
		}
	}
	s, err := resolve(def, settings)
	if err != nil {
		return nil, nil, err
	}
	conn := &connector{plugin: p, def: def, settings: settings, site: s}
	var tools []*tool
	for i := range def.Tools {
		t, err := newTool(conn, &def.Tools[i])
		if err != nil {
			return nil, nil, err
		}
		tools = append(tools, t)
	}
	for i := range def.Prompts {
		p, err := newPrompt(conn, &def.Prompts[i])
		if err != nil {
			return nil, nil, err
		}
		conn.prompts = append(conn.prompts, p)
	}
	return conn, tools, nil
}

// Define words a connector's tool as clients see it.
func Define(connector string, def *abi.Tool) ToolDef {
	return ToolDef{
		Name: connector + "_" + def.Name, Dotted: connector + "." + def.Name,
		Title: def.Title, Description: def.Description, Input: def.Input, Output: def.Output,
		ReadOnly: !def.IsDestructive(), Destructive: def.IsDestructive(), Idempotent: def.Idempotent, OpenWorld: true,
		MaxResult: def.MaxResult,
	}
}

func newTool(conn *connector, def *abi.Tool) (*tool, error) {
	t := &tool{conn: conn, def: def, ToolDef: Define(conn.def.ID, def)}
	var err error
	if t.in, err = release.CompileSchema(def.Input); err != nil {
		return nil, fmt.Errorf("input schema of %s: %w", t.Dotted, err)
	}
	if t.out, err = release.CompileSchema(def.Output); err != nil {
		return nil, fmt.Errorf("output schema of %s: %w", t.Dotted, err)
	}
	if t.definition, err = release.CanonicalTool(*def); err != nil {
		return nil, err
	}
	if t.reads, err = conn.site.requests(def.Reads, conn.settings, conn.def); err != nil {
		return nil, err
	}
	t.writes, err = conn.site.requests(def.Writes, conn.settings, conn.def)
	return t, err
}
