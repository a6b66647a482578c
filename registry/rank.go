package registry

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

// A Query says what a search looks for. The zero Query finds every connector.
type Query struct {
	Text     string       // words that all have to be found; a host or URL counts for where a plugin works
	Registry string       // only in this one; empty means all
	Host     string       // only what works with this host or URL
	Tool     string       // only what has a tool whose name or title contains this
	Category abi.Category // only this one; empty means connector
	All      bool         // every category
	// Known are the hosts that plugins ("namespace/name") are known to work with
	// beside what their releases say: the user's own addresses.
	Known map[string][]string
}

// A Hit is an offer that a search found. Higher scores fit better.
type Hit struct {
	Offer
	Score int
}

// What a word is worth by where it stands: a plugin's name first.
const (
	scoreName        = 100
	scoreNamePrefix  = 70
	scoreNamePart    = 50
	scoreHost        = 45
	scoreTitle       = 40
	scoreOwnHost     = 35 // the user gives the address, and it is called like the plugin
	scoreNamespace   = 30
	scoreTool        = 20
	scoreDescription = 10
	scoreToolText    = 5
)

// maxQuery bounds a query's text, in bytes.
const maxQuery = 500

// Search finds plugins in what the registries offer, the best first. What a
// registry has and can't be offered comes beside it if its name fits; the error tells of registries
// that couldn't be read, while the others are searched.
func (c *Client) Search(ctx context.Context, q Query) ([]Hit, []Refused, error) {
	if len(q.Text) > maxQuery || len(q.Host) > maxQuery || len(q.Tool) > maxQuery {
		return nil, nil, abi.Errorf(abi.ErrInvalidArgs, "search", "a query of more than %d bytes", maxQuery)
	}
	registries, err := c.Registries()
	if q.Registry != "" {
		registries = slices.DeleteFunc(registries, func(r Registry) bool { return r.ID != q.Registry })
		if len(registries) == 0 {
			_, _, err := c.registryState(q.Registry)
			return nil, nil, err
		}
	}
	problems := []error{err}
	hits, refused := []Hit{}, []Refused{}
	for _, r := range registries {
		offers, bad, err := c.Offers(ctx, r.ID)
		problems = append(problems, err)
		refused = append(refused, slices.DeleteFunc(bad, func(r Refused) bool { return !q.mayMean(r.Plugin) })...)
		for _, o := range offers {
			if score, ok := q.score(o); ok {
				hits = append(hits, Hit{o, score})
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Name, b.Name), strings.Compare(a.Plugin(), b.Plugin()))
	})
	return hits, refused, errors.Join(problems...)
}

// mayMean reports whether a query may be for a plugin of which nothing is known but
// its name ("namespace/name"), because nothing else of it is vouched for.
func (q Query) mayMean(plugin string) bool {
	words := strings.Fields(strings.ToLower(q.Text + " " + q.Host + " " + q.Tool))
	_, name, _ := strings.Cut(plugin, "/")
	return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool {
		return strings.Contains(plugin, w) || strings.Contains(w, name)
	})
}

// score says how well an offer fits, and whether it does.
func (q Query) score(o Offer) (int, bool) {
	category := cmp.Or(q.Category, abi.CategoryConnector)
	if !q.All && o.Category != category {
		return 0, false
	}
	if q.Host != "" && q.worksWith(o, q.Host) == 0 {
		return 0, false
	}
	if q.Tool != "" && !slices.ContainsFunc(o.Tools, func(t OfferTool) bool {
		return contains(t.Name, q.Tool) || contains(t.Title, q.Tool)
	}) {
		return 0, false
	}
	total := 0
	for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
		score := max(o.scoreWord(word), q.worksWith(o, word))
		if score == 0 {
			return 0, false
		}
		total += score
	}
	return total, true
}

// scoreWord is what a word in lower case is worth by the best place that holds it.
func (o Offer) scoreWord(word string) int {
	switch {
	case o.Name == word, o.Plugin() == word:
		return scoreName
	case strings.HasPrefix(o.Name, word):
		return scoreNamePrefix
	case strings.Contains(o.Name, word):
		return scoreNamePart
	case contains(o.Title, word):
		return scoreTitle
	case strings.Contains(o.Plugin(), word):
		return scoreNamespace
	}
	best := 0
	if contains(o.Description, word) {
		best = scoreDescription
	}
	for _, t := range o.Tools {
		switch {
		case contains(t.Name, word) || contains(t.Title, word):
			return scoreTool
		case contains(t.Description, word):
			best = max(best, scoreToolText)
		}
	}
	return best
}

// worksWith says what it is worth that a plugin works with a host; word is one, or
// a URL. Where the user gives the address, no release names it: then a label of
// the host that is the plugin's name has to do.
func (q Query) worksWith(o Offer, word string) int {
	host, ok := hostOf(word)
	if !ok {
		return 0
	}
	own := false
	for _, pattern := range o.Origins {
		if strings.HasPrefix(pattern, "{") {
			own = true
			continue
		}
		if p, err := origin.ParsePattern(pattern); err == nil && p.MatchHost(host) {
			return scoreHost
		}
	}
	if slices.Contains(q.Known[o.Plugin()], host) {
		return scoreHost
	}
	labels := strings.FieldsFunc(host, func(r rune) bool { return r == '.' || r == '-' })
	names := strings.FieldsFunc(strings.ToLower(o.Name+" "+o.Title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if own && slices.ContainsFunc(labels, func(l string) bool { return len(l) > 1 && slices.Contains(names, l) }) {
		return scoreOwnHost
	}
	return 0
}

// hostOf reads a host with a dot, or a URL.
func hostOf(word string) (string, bool) {
	switch {
	case strings.Contains(word, "://"):
	case strings.Contains(strings.Trim(word, "."), ".") || strings.HasPrefix(word, "localhost"):
		word = "https://" + word
	default:
		return "", false
	}
	u, err := origin.ParseURL(word)
	return u.Host(), err == nil
}

// contains reports whether s holds part, whatever their case.
func contains(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}
