package host

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
)

// A journal writes the audit log: for a destructive call one row that is on
// disk before anything is sent, and one after; for a reading call one row, off
// the call's path.
type journal struct {
	log    *audit.Log
	logger *slog.Logger
	queue  chan func()
	wg     sync.WaitGroup
}
