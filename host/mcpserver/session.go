package mcpserver

import (
	"strings"
	"sync"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"
)

// A session is what mcp-go remembers about a client: in the old era from its
// initialize on, in the new one for a single request.
type session struct {
	// onSubscribe is told what subscriptions/listen asks for, as far as it is
	// served. Only that request sets it.
	onSubscribe func(mcp.SubscriptionFilter)

	mu      sync.Mutex
	ready   bool
	info    mcp.Implementation
	caps    mcp.ClientCapabilities
	version string
}

// Initialize is called when the client's initialize was answered.
func (s *session) Initialize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
}

// Initialized reports whether it was.
func (s *session) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// NotificationChannel takes what mcp-go would send on its own. Nothing of it goes
// out: notifications are written where they belong by progress.go and hub.go.
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return make(chan mcp.JSONRPCNotification, 1)
}

// SessionID is empty: requests are told apart by ids of ours.
func (s *session) SessionID() string { return "" }

// GetClientInfo returns what the client says it is.
func (s *session) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// SetClientInfo records what the client says it is.
func (s *session) SetClientInfo(i mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = i
}

// GetClientCapabilities returns what the client says it can do.
func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caps
}

// SetClientCapabilities records what the client says it can do.
func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caps = c
}

// ProtocolVersion returns the revision that initialize agreed on.
func (s *session) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// SetProtocolVersion records it.
func (s *session) SetProtocolVersion(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = v
}

// SetSubscriptionFilter is how mcp-go says what a subscriptions/listen request
// gets, and with the zero filter that it has ended.
func (s *session) SetSubscriptionFilter(f mcp.SubscriptionFilter) {
	if s.onSubscribe != nil {
		s.onSubscribe(f)
	}
}

// SubscriptionFilter reports no subscription: mcp-go has nothing to deliver.
func (s *session) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	return mcp.SubscriptionFilter{}, false
}

// clientName is what the client calls itself, for display: short, one line,
// printable.
func (s *session) clientName() string {
	info := s.GetClientInfo()
	name := strings.TrimSpace(info.Name + " " + info.Version)
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	return cut(name, 64)
}

// cut returns at most n runes of s.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
