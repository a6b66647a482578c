package host

import (
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestHealthIsTheConnectorsLastWord(t *testing.T) {
	var h healths
	at := time.Unix(1_800_000_000, 0)
	if got := h.of("tracker"); got != (Health{Status: "unknown"}) {
		t.Errorf("at first %+v", got)
	}
	h.note("tracker", nil, at)
	if got := h.of("tracker"); got.Status != "ok" || !got.At.Equal(at) {
		t.Errorf("after a success %+v", got)
	}
	for _, code := range []abi.Code{abi.ErrInvalidArgs, abi.ErrNotFound, abi.ErrForbidden, abi.ErrConfirmationDenied, abi.ErrLimitExceeded, abi.ErrOutcomeUnknown} {
		if h.note("tracker", &abi.Error{Code: code}, at); h.of("tracker").Status != "ok" {
			t.Errorf("%s, which is about a call, made it %+v", code, h.of("tracker"))
		}
	}
	h.note("tracker", &abi.Error{Code: abi.ErrAuthExpired, Hint: "drawbridge login tracker"}, at)
	if got := h.of("tracker"); got.Status != "auth_expired" || got.Hint != "drawbridge login tracker" {
		t.Errorf("signed out %+v", got)
	}
	if got := h.of("other"); got.Status != "unknown" {
		t.Errorf("another connector %+v", got)
	}
	if h.note("tracker", nil, at); h.of("tracker").Hint != "" {
		t.Error("a success keeps the hint")
	}
}
