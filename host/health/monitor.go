package health

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// When checks are made, unless Options say otherwise.
const (
	Every   = 10 * time.Minute // between two checks of a connector that is used
	Idle    = time.Hour        // without a call, after which it is checked no more
	Again   = 10 * time.Second // between two checks that calls to a paused connector ask for
	Timeout = 20 * time.Second // of one check
)

// Options are what a Monitor is made of. Check is required; the rest has defaults.
type Options struct {
	// Check visits the connector's page and returns nil if somebody is signed in,
	// auth_expired if nobody is, and any other error if it can't tell or the page
	// is not what it was. Checks are made one at a time.
	Check func(ctx context.Context, id string) *abi.Error
	// Changed is told each change of a state, after it. It may call the Monitor.
	Changed func(was, is Status)
	Now     func() time.Time // default time.Now

	Every, Idle, Again, Timeout time.Duration
}

// A Monitor knows how connectors are. Its methods may be called from any goroutine.
type Monitor struct {
	o    Options
	turn chan struct{} // who has its token may check

	mu     sync.Mutex
	conns  map[string]*entry
	logins map[string]*login // by group
	clock  uint64            // counts changes, so that what began before one is told from what began after
}

// A flight is one check that any number of callers wait for.
type flight struct {
	done chan struct{}
	err  *abi.Error // valid when done is closed
}

// A Ticket says when a call began. The zero Ticket is of a call that says nothing.
type Ticket struct {
	entry *entry
	clock uint64
}

// New makes a Monitor that knows of no connector.
func New(o Options) *Monitor {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Changed == nil {
		o.Changed = func(Status, Status) {}
	}
	for _, d := range []struct {
		to        *time.Duration
		otherwise time.Duration
	}{{&o.Every, Every}, {&o.Idle, Idle}, {&o.Again, Again}, {&o.Timeout, Timeout}} {
		if *d.to <= 0 {
			*d.to = d.otherwise
		}
	}
	m := &Monitor{o: o, turn: make(chan struct{}, 1), conns: map[string]*entry{}, logins: map[string]*login{}}
	m.turn <- struct{}{}
	return m
}

// Set says which connectors there are. What is known of one that is among them as
// it was stays known.
func (m *Monitor) Set(list []Connector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	conns, logins := map[string]*entry{}, map[string]*login{}
	for _, c := range list {
		e, ok := m.conns[c.ID]
		if ok && e.Connector == c {
			logins[c.Group] = m.logins[c.Group]
		} else {
			e = &entry{Connector: c}
		}
		conns[c.ID] = e
	}
	for _, c := range list {
		if logins[c.Group] == nil {
			logins[c.Group] = &login{}
		}
	}
	m.conns, m.logins = conns, logins
}

// List is the status of every connector, sorted by id.
func (m *Monitor) List() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.statuses(func(*entry) bool { return true })
}

// statuses are those of the entries that want accepts; m.mu is held.
func (m *Monitor) statuses(want func(*entry) bool) []Status {
	list := []Status{}
	for _, e := range m.conns {
		if want(e) {
			list = append(list, e.status(m.logins[e.Group]))
		}
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Enter is asked before a call is tried. For a paused connector it has one check
// made, unless one was made just now, and returns the error that the call is to
// be answered with if that changes nothing.
func (m *Monitor) Enter(ctx context.Context, id string) (Ticket, error) {
	m.mu.Lock()
	e, ok := m.conns[id]
	if !ok {
		m.mu.Unlock()
		return Ticket{}, nil
	}
	now := m.o.Now()
	if e.used.IsZero() || now.Sub(e.used) > m.o.Idle {
		e.next = now.Add(m.o.Every)
	}
	e.used = now
	probe, err := m.paused(e)
	var f *flight
	if err != nil && (probe.flight != nil || now.Sub(probe.tried) >= m.o.Again) {
		f = m.begin(probe) //nolint:contextcheck // a check serves all who wait for it
	}
	m.mu.Unlock()
	if f != nil {
		m.wait(ctx, f)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.paused(e); err != nil {
		return Ticket{}, err
	}
	return Ticket{entry: e, clock: m.clock}, nil
}

// paused is why e's calls are not tried, and the connector whose check can end
// that. Where nothing can be checked nothing is paused: calls are the check.
// m.mu is held.
func (m *Monitor) paused(e *entry) (*entry, error) {
	s := e.status(m.logins[e.Group])
	if s.Err == nil {
		return nil, nil
	}
	probe := e
	if !e.HasPage {
		probe = m.sibling(e)
	}
	if probe == nil {
		return nil, nil
	}
	return probe, s.refusal()
}

// sibling is another connector with e's login that has a page to check; m.mu is held.
func (m *Monitor) sibling(e *entry) *entry {
	for _, id := range slices.Sorted(maps.Keys(m.conns)) {
		if o := m.conns[id]; o.HasPage && o.Group == e.Group {
			return o
		}
	}
	return nil
}

// wait waits for a check, for as long as calls have to be patient.
func (m *Monitor) wait(ctx context.Context, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, m.o.Again)
	defer cancel()
	select {
	case <-f.done:
	case <-ctx.Done():
	}
}

// Report says how a call ended. Success shows that somebody is signed in, and
// auth_expired that nobody is; other errors are that call's own. What began
// before the login changed says nothing about it.
func (m *Monitor) Report(t Ticket, err error) {
	switch {
	case t.entry == nil:
	case err == nil:
		m.settle(t, nil)
	default:
		if e := asError(err); e.Code == abi.ErrAuthExpired {
			m.settle(t, e)
		}
	}
}

// LoggedIn says that somebody has just signed in at a connector: it and all that
// share its login go on.
func (m *Monitor) LoggedIn(id string) {
	m.mu.Lock()
	e, ok := m.conns[id]
	t := Ticket{entry: e, clock: m.clock}
	m.mu.Unlock()
	if ok {
		m.settle(t, nil)
		m.mu.Lock()
		m.clock++
		m.logins[e.Group].changed = m.clock // calls that began before it found nobody, and may say so yet
		m.mu.Unlock()
	}
}

// LoggedOut says that a connector's session was forgotten here. Whether the site
// signs in again by itself is not known, for it and for all that share its login;
// what was known to be wrong still is.
func (m *Monitor) LoggedOut(id string) {
	m.mu.Lock()
	e, ok := m.conns[id]
	if !ok {
		m.mu.Unlock()
		return
	}
	mates := func(o *entry) bool { return o.Group == e.Group }
	was := m.statuses(mates)
	m.clock++
	m.logins[e.Group].changed = m.clock // calls that began before it say nothing any more
	for _, o := range m.conns {
		if mates(o) && o.failed == nil {
			o.known, o.since, o.changed = false, time.Time{}, m.clock
		}
	}
	is := m.statuses(mates)
	m.mu.Unlock()
	m.tell(was, is)
}

// tell tells of the statuses that changed; m.mu is not held.
func (m *Monitor) tell(was, is []Status) {
	for i := range is {
		if was[i].State != is[i].State {
			m.o.Changed(was[i], is[i])
		}
	}
}

// settle takes in what a call or a check has found.
func (m *Monitor) settle(t Ticket, err *abi.Error) {
	m.mu.Lock()
	e := t.entry
	l, there := m.logins[e.Group]
	if !there || m.conns[e.ID] != e {
		m.mu.Unlock()
		return // it was removed or replaced meanwhile
	}
	mates := func(o *entry) bool { return o.Group == e.Group }
	was := m.statuses(mates)
	now := m.o.Now()
	if l.changed <= t.clock && (err == nil || err.Code == abi.ErrAuthExpired) && (l.lost == nil) != (err == nil) {
		m.clock++
		l.lost, l.since, l.changed = err, now, m.clock
	}
	if e.changed <= t.clock && (err == nil || err.Code != abi.ErrAuthExpired) && e.set(err, now) {
		m.clock++
		e.changed = m.clock
	}
	is := m.statuses(mates)
	m.mu.Unlock()
	m.tell(was, is)
}
