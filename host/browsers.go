package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// A supervisor owns the one browser: it launches it when a call first needs it,
// and again after it died, but not in a tight loop. One that is the user's it
// attaches to, and again after the connection was lost.
type supervisor struct {
	launch func(ctx context.Context, headless bool) (*browser.Browser, error)
	attach func(ctx context.Context) (*browser.Browser, error) // in place of launch, if set

	mu      sync.Mutex
	cur     *browser.Browser
	started time.Time       // of the last launch
	quick   int             // launches in a row that lived less than a minute
	kept    browser.Cookies // of a browser that restart ended, until the next one has them
}

// maxQuick is how many browsers may die young before the supervisor gives up
// until the minute has passed.
const maxQuick = 5

// get returns the running browser.
func (s *supervisor) get(ctx context.Context) (*browser.Browser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur != nil {
		select {
		case <-s.cur.Gone():
			err := s.cur.Close()
			s.cur = nil
			if err != nil && ctx.Err() != nil {
				return nil, ctx.Err()
			}
		default:
			return s.cur, nil
		}
	}
	return s.start(ctx, true)
}

// start gets a browser; s.mu is held.
func (s *supervisor) start(ctx context.Context, headless bool) (*browser.Browser, error) {
	if s.attach != nil {
		b, err := s.attach(ctx)
		if err == nil {
			s.cur = b
		}
		return b, err
	}
	if time.Since(s.started) < time.Minute {
		if s.quick++; s.quick > maxQuick {
			return nil, abi.Errorf(abi.ErrBrowserGone, "browser", "the browser ended %d times within a minute", s.quick).WithHint("drawbridge doctor")
		}
	} else {
		s.quick = 0
	}
	s.started = time.Now()
	b, err := s.launch(ctx, headless)
	if err != nil {
		return nil, err
	}
	s.cur = b
	return b, nil
}

// restart ends the browser and starts it headed or headless, with the session's
// cookies carried over in memory: those without an expiry die with a process.
func (s *supervisor) restart(ctx context.Context, headless bool) (*browser.Browser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur != nil {
		cookies, err := s.cur.Cookies(ctx)
		if err != nil && !errors.Is(err, abi.ErrBrowserGone) {
			return nil, err
		}
		s.kept = cookies
		if err := s.cur.Close(); err != nil {
			return nil, err
		}
		s.cur = nil
	}
	s.quick, s.started = 0, time.Time{}
	b, err := s.start(ctx, headless)
	if err != nil {
		return nil, err
	}
	if err := b.SetCookies(ctx, s.kept); err != nil {
		return nil, err
	}
	s.kept = browser.Cookies{}
	return b, nil
}

func (s *supervisor) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur == nil {
		return nil
	}
	err := s.cur.Close()
	s.cur = nil
	return err
}
