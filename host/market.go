package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// A SearchQuery says what to look for; the zero value finds every connector.
type SearchQuery struct {
	Text     string `json:"text,omitempty"`     // words that all have to be found; a host or URL counts for where a plugin works
	Registry string `json:"registry,omitempty"` // only in this one
	Host     string `json:"host,omitempty"`     // only what works with this host or URL
	Tool     string `json:"tool,omitempty"`     // only what has a tool of that name or title
	Category string `json:"category,omitempty"` // in place of connector
	All      bool   `json:"all,omitempty"`      // every category
	Refresh  bool   `json:"refresh,omitempty"`  // fetch the registries' newest snapshots first
}

// A SearchResult is what a search found, the best first.
type SearchResult struct {
	Found    []FoundPlugin   `json:"plugins"`
	Refused  []RefusedPlugin `json:"refused"`        // what the registries have and nobody can install
	Problems []Refusal       `json:"errors"`         // why registries could not be searched
	Warnings []string        `json:"warnings"`       // registries from which nothing can be installed now, or that couldn't be asked
	More     int             `json:"more,omitempty"` // found as well, and too much to list
}

// A FoundPlugin is a plugin's newest version in a registry. Its signature was
// checked.
type FoundPlugin struct {
	Name        string      `json:"plugin"` // namespace/name
	Version     string      `json:"version"`
	Channel     string      `json:"channel"`
	Published   time.Time   `json:"published"`
	Registry    string      `json:"registry"`
	Category    string      `json:"category"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Signer      string      `json:"signer"`
	Origins     []string    `json:"origins"`
	Tools       []FoundTool `json:"tools"`
	Installed   string      `json:"installed,omitempty"`
}

// A FoundTool is one tool of a plugin that was found.
type FoundTool struct {
	Name        string `json:"tool"`        // as it is listed
	Destructive bool   `json:"destructive"` // it changes data
}

// A RefusedPlugin is one that a registry has and nobody can install.
type RefusedPlugin struct {
	Plugin string  `json:"plugin"` // namespace/name
	Error  Refusal `json:"error"`
}

func refusedPlugins(list []registry.Refused) []RefusedPlugin {
	out := make([]RefusedPlugin, len(list))
	for i, r := range list {
		out[i] = RefusedPlugin{r.Plugin, Refusal{Code: r.Code, Reason: r.Reason, Why: r.Why}}
	}
	return out
}

// freshFor is how old a registry's copy may be for a search.
const freshFor = 10 * time.Minute

// Search finds plugins in the copies of the trusted registries. They are fetched
// first if that is long ago, if one has expired, if q asks for it, or if nothing is
// found. One that can't be reached is searched as it was.
func (h *Host) Search(ctx context.Context, q SearchQuery, progress func(string)) (SearchResult, error) {
	fetched := q.Refresh || h.copiesAreOld()
	if fetched {
		h.fetchForSearch(ctx, progress)
	}
	res, err := h.search(ctx, q)
	if err == nil && len(res.Found) == 0 && !fetched {
		h.fetchForSearch(ctx, progress)
		res, err = h.search(ctx, q)
	}
	return res, err
}

func (h *Host) fetchForSearch(ctx context.Context, progress func(string)) {
	progress("asking the registries for what is new")
	h.refreshAll(ctx)
	h.fetched.Store(h.now().UnixNano())
}

// copiesAreOld reports whether the registries are to be fetched before a search.
func (h *Host) copiesAreOld() bool {
	age := h.now().Sub(time.Unix(0, h.fetched.Load()))
	if age < 0 || age > freshFor {
		return true
	}
	all, err := h.opts.Registry.Registries()
	return err != nil || slices.ContainsFunc(all, func(r registry.Registry) bool { return !r.Builtin && !h.now().Before(r.Expires) })
}

func (h *Host) search(ctx context.Context, q SearchQuery) (SearchResult, error) {
	if !knownCategory(q.Category) {
		return SearchResult{}, abi.Errorf(abi.ErrInvalidArgs, "search", "there is no category %q", q.Category).
			WithHint("one of connector, pipeline-node, mcp-server, tool and other")
	}
	installed, err := h.opts.Registry.Installed()
	if err != nil {
		return SearchResult{}, err
	}
	hits, refused, err := h.opts.Registry.Search(ctx, registry.Query{
		Text: q.Text, Registry: q.Registry, Host: q.Host, Tool: q.Tool, Category: abi.Category(q.Category), All: q.All,
		Known: h.ownHosts(installed),
	})
	if errors.Is(err, abi.ErrNotFound) || errors.Is(err, abi.ErrInvalidArgs) || ctx.Err() != nil {
		return SearchResult{}, err
	}
	res := SearchResult{Found: []FoundPlugin{}, Refused: refusedPlugins(refused), Problems: problemsOf(err), Warnings: append(h.expiryWarnings(), h.silenceWarnings()...)}
	size := 0
	for i, hit := range hits {
		f := found(hit.Offer, installed)
		if size += sizeOf(f); size > maxFound {
			res.More = len(hits) - i
			break
		}
		res.Found = append(res.Found, f)
	}
	return res, nil
}

// expiryWarnings says which registries have expired.
func (h *Host) expiryWarnings() []string {
	list := []string{}
	expired := h.expiredRegistries()
	for _, id := range slices.Sorted(maps.Keys(expired)) {
		list = append(list, fmt.Sprintf("the snapshot of registry %q expired at %s: nothing of it can be installed until its maintainer signs a newer one",
			id, expired[id].UTC().Format(time.RFC3339)))
	}
	return list
}

// maxFound bounds what a search answers with, in bytes of text.
const maxFound = 2 << 20

func sizeOf(f FoundPlugin) int {
	n := 500 + len(f.Title) + len(f.Description)
	for _, s := range f.Origins {
		n += len(s) + 8
	}
	for _, t := range f.Tools {
		n += len(t.Name) + 32
	}
	return n
}

func knownCategory(c string) bool {
	return c == "" || slices.Contains([]abi.Category{
		abi.CategoryConnector, abi.CategoryPipelineNode, abi.CategoryMCPServer, abi.CategoryTool, abi.CategoryOther,
	}, abi.Category(c))
}

// problemsOf takes a joined error apart.
func problemsOf(err error) []Refusal {
	list := []Refusal{}
	if err == nil {
		return list
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, e := range all {
		list = append(list, *refusal(e))
	}
	return list
}

func found(o registry.Offer, installed []registry.Entry) FoundPlugin {
	f := FoundPlugin{
		Name: o.Plugin(), Version: o.Version.Version, Channel: string(o.Version.Channel), Published: o.Version.Published.Time,
		Registry: o.Registry, Category: string(o.Category), Title: o.Title, Description: o.Description, Signer: string(o.Signer),
		Origins: orNone(o.Origins), Tools: []FoundTool{},
	}
	for _, t := range o.Tools {
		f.Tools = append(f.Tools, FoundTool{t.Name, t.Destructive})
	}
	for _, e := range installed {
		if e.Plugin() == f.Name && e.Registry == f.Registry {
			f.Installed = e.Version
		}
	}
	return f
}

// ownHosts are the hosts in the user's settings, by plugin.
func (h *Host) ownHosts(installed []registry.Entry) map[string][]string {
	hosts := map[string][]string{}
	for _, e := range installed {
		settings, err := h.settings.get(e.Plugin())
		if err != nil {
			continue // whoever needs them says so
		}
		for _, value := range settings {
			if u, err := origin.ParseURL(value); err == nil && strings.Contains(value, "://") {
				hosts[e.Plugin()] = append(hosts[e.Plugin()], u.Host())
			}
		}
	}
	return hosts
}

// A PluginName is one name that a command can be given.
type PluginName struct {
	Name string `json:"plugin"` // namespace/name
}

// Names lists what is installed and what the registries' copies offer. Nothing is
// fetched.
func (h *Host) Names(ctx context.Context) ([]PluginName, error) {
	installed, err := h.opts.Registry.Installed()
	if err != nil {
		return nil, err
	}
	list := []PluginName{}
	for _, e := range installed {
		list = append(list, PluginName{e.Plugin()})
	}
	hits, _, err := h.opts.Registry.Search(ctx, registry.Query{All: true})
	for _, hit := range hits {
		if n := (PluginName{hit.Plugin()}); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	if len(list) > 0 {
		return list, nil // what can't be read is for others to tell
	}
	return list, err
}
