package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/test/bench/page"
)

// What is measured.
const (
	caseTools   = "tools"   // from starting the process to the list of its tools
	caseFirst   = "first"   // from starting it to the rows of the page, browser started and page loaded
	caseRead    = "read"    // the rows of the loaded page
	caseLoad    = "load"    // going to the page, and its rows
	caseServer  = "server"  // resident memory of the server's processes
	caseBrowser = "browser" // of its browser's
)

// A sample is one measurement.
type sample struct {
	Value float64 `json:"value"`           // ms, or bytes for memory
	Bytes int     `json:"bytes,omitempty"` // of the whole answer
	Text  int     `json:"text,omitempty"`  // bytes of the texts in it
	Err   string  `json:"error,omitempty"`
}

// A series is what was measured of one case, one sample a round; so the samples of
// two series with the same index are of the same round.
type series struct {
	server, tool, name string
	samples            []sample
}

func (s *series) add(took time.Duration, a answer, err error) {
	x := sample{Value: float64(took.Microseconds()) / 1000, Bytes: a.bytes, Text: len(a.text)}
	if err != nil {
		x = sample{Err: err.Error()}
	}
	s.samples = append(s.samples, x)
}

// A meter measures servers in turn. In each session every server is started, the
// page is read and loaded by every server's every way, one after another, and the
// memory is looked at; then all are ended. The order turns with every round.
type meter struct {
	servers      []*server
	reads, loads int
	progress     io.Writer
	all          []*series
	round        int
}

// run measures that many sessions.
func (m *meter) run(ctx context.Context, sessions int) error {
	for i := range sessions {
		fmt.Fprintf(m.progress, "measuring: session %d of %d\n", i+1, sessions)
		if err := m.session(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// A seat is a server in a session: running, or the reason why it isn't.
type seat struct {
	*server
	in  *session
	err error
}

func (m *meter) session(ctx context.Context) (err error) {
	var seats []*seat
	for _, s := range m.servers {
		seats = append(seats, &seat{server: s})
	}
	defer func() {
		for _, s := range seats {
			if s.in != nil {
				err = errors.Join(err, s.in.end(ctx))
			}
		}
	}()
	for _, s := range turned(seats, m.round) {
		m.start(ctx, s)
	}
	m.round++
	for range m.reads {
		m.each(ctx, seats, caseRead, way.read)
	}
	for range m.loads {
		m.each(ctx, seats, caseLoad, way.load)
	}
	for _, s := range seats {
		m.memory(s)
	}
	return nil
}

// start starts a server and goes to the page by its first way. A server that can't
// be started fails every case of the session with the same error.
func (m *meter) start(ctx context.Context, s *seat) {
	begin := time.Now()
	s.in, s.err = s.server.start(ctx)
	m.series(s, "", caseTools).add(time.Since(begin), answer{}, s.err)
	m.take(ctx, s, m.series(s, "", caseFirst), begin, s.ways[0].load())
}

// each measures one round of a case, by every way of every server.
func (m *meter) each(ctx context.Context, seats []*seat, name string, steps func(way) []call) {
	type turn struct {
		s *seat
		w way
	}
	var turns []turn
	for _, s := range seats {
		for _, w := range s.ways {
			turns = append(turns, turn{s, w})
		}
	}
	for _, t := range turned(turns, m.round) {
		m.take(ctx, t.s, m.series(t.s, t.w.tool, name), time.Now(), steps(t.w))
	}
	m.round++
}

// take makes calls, and adds how long it took since begin, or why it failed. An
// answer that lacks a field of the page is a failure.
func (m *meter) take(ctx context.Context, s *seat, to *series, begin time.Time, list []call) {
	if s.err != nil {
		to.add(0, answer{}, s.err)
		return
	}
	a, err := s.in.calls(ctx, list)
	took := time.Since(begin)
	if err == nil {
		err = complete(a.text)
	}
	to.add(took, a, err)
}

// complete reports an answer that doesn't hold every field of the page.
func complete(text string) error {
	missing := 0
	for r := range page.Rows {
		for c := range page.Cols {
			if !strings.Contains(text, page.Cell(r, c)) {
				missing++
			}
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of the page's %d fields are not in the answer", missing, page.Rows*page.Cols)
	}
	return nil
}

func (m *meter) memory(s *seat) {
	var ours, browsers int64
	err := s.err
	if err == nil {
		ours, browsers, err = s.in.memory()
	}
	for name, n := range map[string]int64{caseServer: ours, caseBrowser: browsers} {
		x := sample{Value: float64(n)}
		if err != nil {
			x = sample{Err: err.Error()}
		}
		to := m.series(s, "", name)
		to.samples = append(to.samples, x)
	}
}

func (in *session) memory() (server, browser int64, err error) {
	roots, err := in.roots()
	if err != nil {
		return 0, 0, err
	}
	list, err := descendants(procDir, roots)
	if err != nil {
		return 0, 0, err
	}
	return split(list)
}

// series finds one, or begins it. The tool is "" for what doesn't depend on it.
func (m *meter) series(s *seat, tool, name string) *series {
	for _, x := range m.all {
		if x.server == s.key && x.tool == tool && x.name == name {
			return x
		}
	}
	x := &series{server: s.key, tool: tool, name: name}
	m.all = append(m.all, x)
	return x
}

// turned is a list that begins at its nth element, and goes round.
func turned[T any](list []T, n int) []T {
	n %= len(list)
	return append(append([]T{}, list[n:]...), list[:n]...)
}
