package health

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Run checks each connector that is used, every Options.Every, until ctx ends.
func (m *Monitor) Run(ctx context.Context) {
	t := time.NewTicker(m.o.Every / 10)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		for _, id := range m.due() {
			_ = m.Check(ctx, id) // what it finds is kept
		}
	}
}

// due lists the connectors whose check is due.
func (m *Monitor) due() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.o.Now()
	var list []string
	for _, id := range slices.Sorted(maps.Keys(m.conns)) {
		e := m.conns[id]
		if e.HasPage && !e.used.IsZero() && now.Sub(e.used) <= m.o.Idle && !now.Before(e.next) {
			list = append(list, id)
		}
	}
	return list
}

// ErrNoPage is the cause of a check that has nothing to look at.
var ErrNoPage = errors.New("it declares no page to check")

// Check checks a connector now and returns what it found, nil if somebody is
// signed in. It joins a check that is under way. A check that ctx leaves goes on.
func (m *Monitor) Check(ctx context.Context, id string) error {
	m.mu.Lock()
	e, ok := m.conns[id]
	var err *abi.Error
	switch {
	case !ok:
		err = abi.Errorf(abi.ErrNotFound, "check", "no connector %q is installed", id).WithHint("drawbridge list")
	case !e.HasPage:
		err = abi.Errorf(abi.ErrUnsupportedAction, "check", "connector %q: %w", id, ErrNoPage)
	}
	if err != nil {
		m.mu.Unlock()
		return err
	}
	f := m.begin(e) //nolint:contextcheck // a check serves all who wait for it
	m.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.err != nil {
		return f.err
	}
	return nil
}

// begin starts a check of e, or finds the one under way; m.mu is held.
func (m *Monitor) begin(e *entry) *flight {
	if e.flight == nil {
		e.flight = &flight{done: make(chan struct{})}
		e.tried = m.o.Now()
		go m.fly(e, e.flight)
	}
	return e.flight
}

// fly makes one check, when its turn has come. Those who asked for it may leave.
func (m *Monitor) fly(e *entry, f *flight) {
	<-m.turn // each that has it ends within its deadline
	m.mu.Lock()
	t := Ticket{entry: e, clock: m.clock}
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), m.o.Timeout)
	f.err = m.o.Check(ctx, e.ID)
	cancel()
	m.turn <- struct{}{}
	if f.err == nil || !saysNothing(f.err.Code) {
		m.settle(t, f.err)
	}
	m.mu.Lock()
	e.flight, e.checked = nil, m.o.Now()
	e.next = e.checked.Add(m.o.Every)
	m.mu.Unlock()
	close(f.done)
}

// asError is err as an abi.Error; one that is none is our own fault.
func asError(err error) *abi.Error {
	if e, ok := errors.AsType[*abi.Error](err); ok {
		return e
	}
	return abi.Errorf(abi.ErrInternal, "health", "%w", err)
}
