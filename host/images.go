package host

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// imagePrefix begins a handle, so that a person who meets one knows what it is.
const imagePrefix = "image:"

// An album holds the pictures of one call. A handle is random, so that neither a
// page nor an earlier call can name one.
type album struct{ taken []Image }

// screenshot runs one screenshot step. The module gets no more than the handle.
func (g *grantedPage) screenshot(ctx context.Context, s *abi.Step, ans *abi.Answer) error {
	if s.As == "" {
		return abi.Errorf(abi.ErrInvalidArgs, "screenshot", `"as" is empty`)
	}
	if len(g.album.taken) >= abi.MaxImages {
		return abi.Errorf(abi.ErrLimitExceeded, "screenshot", "more than %d pictures in one call", abi.MaxImages)
	}
	pic, err := g.page.Screenshot(ctx, s.Within, s.Selector)
	if err != nil {
		return err
	}
	if err := g.here(); err != nil { // the page may have moved meanwhile
		return err
	}
	img := Image{Handle: abi.ImageHandle(imagePrefix + rand.Text()[:16]), MIME: pic.MIME, Data: pic.Data}
	g.album.taken = append(g.album.taken, img)
	return put(ans, s, img.Handle, nil)
}

// last returns the picture that was taken last, or nil.
func (a *album) last() *Image {
	if len(a.taken) == 0 {
		return nil
	}
	return &a.taken[len(a.taken)-1]
}

// named returns the pictures whose handles stand in a result, each once, in the
// result's order.
func (a *album) named(result json.RawMessage) []Image {
	var v any
	if len(a.taken) == 0 || json.Unmarshal(result, &v) != nil {
		return nil
	}
	var out []Image
	eachString(v, func(s string) {
		i := slices.IndexFunc(a.taken, func(img Image) bool { return string(img.Handle) == s })
		if i >= 0 && !slices.ContainsFunc(out, func(img Image) bool { return string(img.Handle) == s }) {
			out = append(out, a.taken[i])
		}
	})
	return out
}

// eachString calls f for the strings in a JSON value; members in order of their names.
func eachString(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, e := range v {
			eachString(e, f)
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			eachString(v[name], f)
		}
	}
}

// keptShots is how many calls' pictures are kept, in memory.
const keptShots = 8

// Shots are the last pictures of the newest calls that took any.
type shots struct {
	mu   sync.Mutex
	list []shot // oldest first
}

type shot struct {
	principal, call string
	image           Image
}

func (s *shots) keep(principal, call string, img *Image) {
	if img == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, shot{principal, call, *img})
	if over := len(s.list) - keptShots; over > 0 {
		s.list = slices.Delete(s.list, 0, over)
	}
}

// Screenshot returns the last picture that a call took, by the id of the call in
// the audit log, to the client that made the call, even if the call then failed.
// Only those of the newest calls are kept, and none outlives the daemon.
func (h *Host) Screenshot(_ context.Context, p Principal, call string) (Image, error) {
	h.shots.mu.Lock()
	defer h.shots.mu.Unlock()
	for _, s := range h.shots.list {
		if s.principal == p.ID && s.call == call {
			return s.image, nil
		}
	}
	return Image{}, abi.Errorf(abi.ErrNotFound, "screenshot", "no picture of call %q is kept", abi.Shorten(call, 40))
}
