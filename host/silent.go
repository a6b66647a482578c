package host

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// silentRegistries are those that couldn't be fetched when they were last asked for
// what is new. The zero value has none.
type silentRegistries struct {
	mu  sync.Mutex
	all map[string]error // by id
}

// note keeps how the last fetch of a registry ended.
func (s *silentRegistries) note(id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.all, id)
		return
	}
	if s.all == nil {
		s.all = map[string]error{}
	}
	s.all[id] = err
}

// why is the error of a registry's last fetch; nil if it is known to have succeeded,
// or not to have been tried.
func (s *silentRegistries) why(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// silenceWarnings says which of the registries are looked at as they were.
func (h *Host) silenceWarnings() []string {
	list := []string{}
	added, err := h.opts.Registry.Registries()
	if err != nil && len(added) == 0 {
		return list // it is told beside this
	}
	why := map[string]error{}
	for _, r := range added {
		if err := h.silent.why(r.ID); err != nil && !r.Builtin {
			why[r.ID] = err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(why)) {
		list = append(list, silenceWarning(id, why[id]))
	}
	return list
}

func silenceWarning(id string, why error) string {
	return fmt.Sprintf("registry %q was not fetched, and is shown as it was before: %s", id, Safe(why).Error())
}
